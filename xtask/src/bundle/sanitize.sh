#!/bin/sh
# Runs the GPU half of every test under compute-sanitizer's tools, and then each kernel that is broken
# on purpose, under the tool that can see it.
#   sanitize.sh FOLDER      the folder for the reports
here=$(cd "$(dirname "$0")" && pwd)
. "$here/unpack.sh"
out=${1:?a folder for the reports}
mkdir -p "$out"

export programs out
# racecheck does not get through thousands of launches that nobody waits for between.
export TRANSPOSE_TURNS=6
# The requests that the suite expects to be refused are no errors of kernels. Each test is a process of its own, for some take long.
check='
    log=$out/$0-$1-${2#gpu::}.log
    timeout "${SECONDS_EACH:-600}" compute-sanitizer --tool "$0" --report-api-errors no --error-exitcode 9 \
        "$programs/tests/$1" "$2" --exact > "$log" 2>&1
    echo "$0 $1 $2: exit $?, $(grep -h "ERROR SUMMARY\|RACECHECK SUMMARY" "$log" | tail -n 1)"
'
for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
    for test in "$programs"/tests/*; do
        "$test" --list 2> /dev/null | sed -n "s/^\(gpu::.*\): test\$/$tool $(basename "$test") \1/p"
    done
done | xargs -P "$(nproc)" -n 3 sh -c "$check"

broken() {
    BROKEN=$2 timeout 60 compute-sanitizer --tool "$1" --error-exitcode 9 \
        "$programs/tests/broken" --ignored on_a_gpu --exact > "$out/$1-$2.log" 2>&1
    case $(grep -c '^========= .*\(Invalid\|Uninitialized\|Race reported\|Barrier error\|ERROR:\)' "$out/$1-$2.log") in
        0) echo "$1 $2: nothing found" ;;
        *) echo "$1 $2: $(grep -m 1 '^========= .*\(Invalid\|Uninitialized\|Race reported\|Barrier error\|ERROR:\)' "$out/$1-$2.log")" ;;
    esac
}
for tool in memcheck racecheck initcheck synccheck; do broken $tool sound; done
for name in off_by_one_edge tile_without_padding misaligned_store; do broken memcheck $name; done
for name in missing_barrier; do broken racecheck $name; done
for name in source_never_written; do broken initcheck $name; done
for name in divergent_barrier barrier_after_exit; do broken synccheck $name; done
for name in overlapping_stores source_overwritten tile_never_written; do
    for tool in memcheck racecheck initcheck synccheck; do broken $tool $name; done
done
