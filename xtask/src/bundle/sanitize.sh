#!/bin/sh
# Runs every test that runs on a GPU under compute-sanitizer's four tools, and each kernel that is broken on purpose under the tool
# that is to see it. On one H200 with 32 cores that takes seven minutes.
#   sanitize.sh FOLDER      the folder for the reports
# A line for each program and tool says what came of it. Exits 1 unless all ended and nothing was found. processes.txt has a line for each process:
# tool, program, share of the cases, tests, exit, tests that passed, seconds, their names, what the tool said.
#
# TOOLS, TESTS: only these tools, programs. JOBS: processes at a time, as many as there are cores if it is not set. SECONDS_ALL: how long all
# may take, 420; what has not ended then is ended, and said to be NOT DONE.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/unpack.sh"
out=${1:?a folder for the reports}
mkdir -p "$out"
: > "$out/processes.txt"
tools=${TOOLS:-racecheck memcheck initcheck synccheck}
for name in ${TESTS:-}; do
    [ -x "$programs/tests/$name" ] || { echo "there is no program tests/$name" >&2; exit 1; }
done
end=$(($(date +%s) + ${SECONDS_ALL:-420}))
export programs out end waited

# What is sized by the chip, or repeated for the sake of time, is small: tests/support/sanitized.rs.
export TRANSPOSE_TESTS_SANITIZED=1
export TRANSPOSE_LOAD_SHARED=1 TRANSPOSE_LOAD_SECONDS=4 TRANSPOSE_LOAD_THREADS=4 TRANSPOSE_LOAD_STREAMS=2
export TRANSPOSE_STRESS_SECONDS=4

# Tests of so many launches that racecheck, which follows every access to shared memory on the host, takes minutes for, and of so many streams
# that every tool does: each is run by so many processes side by side, each of which checks its share of the cases. And those of several threads, each in a process of its own.
long='
in_place small_shapes 12
in_place slots_that_start_anywhere 12
in_place extreme_options 8
in_place short_cycles 8
in_place many_panels 4
in_place staged_tiles 4
in_place tuples 4
in_place rows_that_do_not_fit 4
in_place random_cases 2
host matrices_by_every_way 8
host in_place_by_every_algorithm 8
host in_place_beyond_the_devices_memory 2
permutations gaps_and_odd_starts 12
permutations every_order_element_and_gap 8
permutations every_element 6
permutations every_order_of_up_to_four_axes 6
permutations steps_and_mirrors 6
permutations random_moves 2
permutations short_rows_with_gaps 2
permutations runs_of_narrow_words 2
fast_paths full_rounds 12
fast_paths few_columns 2
fast_paths more_columns 2
fast_paths few_rows 2
transposes tile_edges 8
transposes layouts 4
squares batches 8
squares single_squares 2
study shapes 8
study blocks 8
study layouts 8
study random_cases 2
arithmetic transposes_of_every_size 4
arithmetic channels_in_order 8
arithmetic channels_of_their_own 8
arithmetic mirrored_pixels 16
arithmetic windows_on_units 8
arithmetic lines 8
arithmetic cropped_pixels 8
arithmetic pixels_of_few_channels 4
in_place several_at_once 1
lifetimes threads_share_a_device 1
streams one_buffer_for_many_threads 1
streams sixty_four_threads 1
streams moves_between_streams 1
interop cudarc_and_this_library_on_one_stream_and_on_two 1
interop default_streams_of_two_threads 1
'
# Tests whose launches are waited for, under a tool that otherwise reports what is not there (docs/decisions/059). racecheck loses track of launches that
# several threads queue on one stream, whatever the kernel ("Detected a failure to track a kernel launch", which it counts as a hazard), or never
# ends. initcheck says in some runs of shards, and of tables that come with launches, that they were not written when they were, for a
# reason that is not known.
waited='
racecheck in_place several_at_once
racecheck lifetimes threads_share_a_device
racecheck streams one_buffer_for_many_threads
racecheck streams sixty_four_threads
racecheck interop cudarc_and_this_library_on_one_stream_and_on_two
racecheck interop default_streams_of_two_threads
initcheck sharded
initcheck arithmetic
'
# Tests that are run on request, whose names say no family.
on_request='
load on_a_gpu
stress over_and_over_on_a_gpu
'
# What each broken kernel is found by; the tools see nothing in those that are not here.
broken='
memcheck off_by_one_edge
memcheck tile_without_padding
memcheck misaligned_store
racecheck missing_barrier
initcheck source_never_written
synccheck divergent_barrier
'

# The processes, a line each: tool, program, share, tests.
processes() {
    tool=$1
    # Those that come to an end soonest with others have company of this many.
    together=8
    [ "$tool" = racecheck ] && together=3
    for program in "$programs"/tests/*; do
        name=$(basename "$program")
        case " ${TESTS:-$name} " in *" $name "*) ;; *) continue ;; esac
        echo "$on_request" | sed -n "s/^$name \(.*\)/$tool $name on_request \1/p"
        "$program" --list 2> /dev/null | sed -n 's/^\(\(gpu\|one_gpu\)::.*\): test$/\1/p' |
            awk -v tool="$tool" -v name="$name" -v together="$together" -v long="$long" '
                BEGIN {
                    lines = split(long, line, "\n")
                    for (i = 1; i <= lines; i++) {
                        split(line[i], word, " ")
                        if (word[1] == name) shares["gpu::" word[2]] = word[3]
                    }
                }
                $1 in shares {
                    of = tool == "racecheck" || name == "host" ? shares[$1] : int((shares[$1] + 7) / 8)
                    for (at = 0; at < of; at++) print tool, name, at "/" of, $1
                    next
                }
                { rest[count++] = $1 }
                END {
                    groups = int((count + together - 1) / together)
                    for (group = 0; group < groups; group++) {
                        tests = ""
                        for (at = group; at < count; at += groups) tests = tests " " rest[at]
                        print tool, name, "0/1" tests
                    }
                }'
    done
}

# One process. The requests that the suite expects to be refused are no errors of kernels.
process='
    set -- $0
    tool=$1 name=$2 share=$3
    shift 3
    log=$out/$tool-$name-$(echo "$1" | sed "s/.*:://")-$(echo "$share" | tr / -).log
    start=$(date +%s)
    code=124 tests=$#
    echo "$waited" | grep -qx "$tool $name\( ${1#gpu::}\)\{0,1\}" && export CUDA_LAUNCH_BLOCKING=1
    # What fails for want of memory, which the tools take much of beside each other, and a tool that fails by itself, is run again.
    for attempt in 1 2 3; do
        [ $attempt = 1 ] || sleep 5
        left=$((end - $(date +%s)))
        [ $left -gt 0 ] || break
        [ $left -lt 150 ] || left=150
        case $share in
            on_request) how=--ignored ;;
            broken) how=--ignored; export BROKEN=${BROKEN:-$1}; set -- on_a_gpu ;;
            *) how=--test-threads=2; export TRANSPOSE_TESTS_SHARE=$share ;;
        esac
        timeout -k 5 $left compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 \
            "$programs/tests/$name" --exact $how "$@" > "$log" 2>&1
        code=$?
        grep -q "were skipped on a GPU" "$log" && code=no-gpu
        case $code in
            124 | 137) break ;;
            0) again="Internal Sanitizer Error" ;;
            *) again="Internal Sanitizer Error\|OutOfMemory\|OUT_OF_MEMORY\|of memory to give" ;;
        esac
        grep -q "$again" "$log" || break
    done
    grep -q "Internal Sanitizer Error" "$log" && code=tool
    passed=$(sed -n "s/^test result: .* \([0-9]*\) passed.*/\1/p" "$log" 2> /dev/null)
    summary=$(grep -h "ERROR SUMMARY\|RACECHECK SUMMARY" "$log" 2> /dev/null | tail -n 1 | sed "s/^=* *//")
    echo "$tool $name $share ${BROKEN:-$tests} $code ${passed:-0} $(($(date +%s) - start)) $(echo "$*" | tr " " ,) $summary" >> "$out/processes.txt"
'

for tool in $tools; do processes "$tool"; done > "$out/all.txt"
{
    # Those in shares begin first, for they are the longest.
    grep '/[2-9] \|/1[0-9] ' "$out/all.txt"
    grep -v '/[2-9] \|/1[0-9] ' "$out/all.txt"
    if [ -z "$TESTS" ] && [ -x "$programs/tests/broken" ]; then
        for tool in $tools; do echo "$tool broken broken sound"; done
        echo "$broken" | sed -n 's/^\([a-z]*\) \([a-z_]*\)$/\1 broken broken \2/p' | grep "^\($(echo $tools | sed 's/ /\\|/g')\) "
    fi
} | xargs -d '\n' -P "${JOBS:-$(nproc)}" -n 1 sh -c "$process"

# What came of it, program by program. A process counts if it ended, all of its tests passed, and nothing was found.
awk '
    $3 == "broken" {
        is_sound = $4 == "sound"
        if (is_sound && $5 == 0) said = "nothing found"
        else if (!is_sound && $5 == 9) said = "found"
        else {
            bad = 1
            if ($5 == 124 || $5 == 137) said = "NOT DONE"
            else if (!is_sound) said = "NOT FOUND"
            else said = $5 == 9 ? "FOUND, and is sound" : "FAILED"
        }
        print $1, "broken kernel", $4 ": " said
        next
    }
    {
        key = $1 " " $2
        if (!(key in processes)) order[keys++] = key
        processes[key]++
        seconds[key] += $7
        if ($5 == 124 || $5 == 137) undone[key]++
        else if ($5 == 9) found_in[key]++
        else if ($5 != 0 || $6 != $4) failed[key]++
        split($3, share, "/")
        if (share[1] + 0 == 0) tests[key] += $4
    }
    END {
        for (i = 0; i < keys; i++) {
            key = order[i]
            said = "clean"
            if (undone[key]) said = undone[key] " NOT DONE"
            if (failed[key]) said = failed[key] " FAILED"
            if (found_in[key]) said = found_in[key] " FOUND ERRORS"
            if (said != "clean") bad = 1
            printf "%s: %d tests, %d processes, %d s in all: %s\n", key, tests[key], processes[key], seconds[key], said
        }
        if (!NR) { print "NOTHING WAS RUN"; bad = 1 }
        exit bad
    }' "$out/processes.txt"
