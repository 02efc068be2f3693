#!/bin/sh
# Compares the simulator's counts with those of this machine's GPU, for every kernel and several
# shapes and elements. Needs Nsight Compute's ncu, and leaves the clocks alone.
#   counters.sh FOLDER [SECONDS]    the folder for the tables and ncu's own output, and how long it may take: 60 seconds unless
#                                   told. What has not been counted by then is named. All of it takes some minutes.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/unpack.sh"
out=${1:?a folder for the tables}
profile=$programs/bench/profile
mkdir -p "$out"
rm -f "$out"/*.verdict
end=$(($(date +%s) + ${2:-60}))
echo "counting for ${2:-60} seconds at most" >&2

# Runs a program, no longer than there is time.
in_time() {
    left=$((end - $(date +%s)))
    [ "$left" -gt 0 ] && timeout "$left" "$@"
}

# The GPU counts while the simulator still counts what came before.
compare() { # name, profile's arguments
    name=$1
    shift
    in_time ncu --clock-control none --csv --page raw --metrics "$("$profile" --metrics)" \
        "$profile" --device cuda "$@" > "$out/$name.csv" 2> "$out/$name.log"
    verdict "$name" "$@" > "$out/$name.verdict" &
}

verdict() {
    name=$1
    shift
    if in_time "$profile" --ncu "$out/$name.csv" "$@" > "$out/$name.md" 2>> "$out/$name.log"; then
        # Instructions of PTX and of the GPU are different ones; all else should agree.
        awk -F '|' -v name="$name" '
            /^\| [a-z]/ && !/^\| kernel/ {
                launches++; other = 0; moved = 0
                for (i = 3; i < NF - 1; i++) if ($i ~ /≠|\?/) { other = 1; if (i < 7) moved = 1 }
                differ += other; move += moved
            }
            END {
                print name ": " launches " launches, " differ + 0 " that differ, " \
                    move + 0 " of them in requests or sectors"
            }' "$out/$name.md"
    else
        rm -f "$out/$name.md"
        [ "$end" -gt "$(date +%s)" ] && why=$(tail -n 1 "$out/$name.log") || why="no time left"
        echo "$name: not compared: $why"
    fi
}

in_place="square two-stage three-stage four-stage four-stage-fused four-stage-flags decomposed
cycle-following three-stage-carried decomposed-staged square-tuples two-stage-tuples"
in_place=$(echo $in_place | tr ' ' '\n')
others=$("$profile" --list | grep -vxF "$in_place" | tr '\n' ',')
in_place=$(echo "$in_place" | tr '\n' ',')
for case in "512 512 1" "512 512 2" "512 512 4" "512 512 8" "512 512 16" \
            "777 1000 1" "777 1000 4" "777 1000 8" "2048 2048 4"; do
    set -- $case
    compare "$1x$2x$3" --rows "$1" --cols "$2" --element "$3" --kernel "${others%,}"
done
# Kernels in place share out work as they go: here one warp does all of it, so that there is one right
# count.
for case in "480 720 1" "480 720 2" "480 720 4" "480 720 8" "480 720 16" "512 512 4" \
            "525 945 1" "525 945 2" "525 945 4" "525 945 8" "777 1000 1" "777 1000 2" \
            "777 1000 4" "777 1000 8" "1000 1250 1" "1000 1250 2" "1000 1250 4" "343 2401 1"; do
    set -- $case
    compare "in-place-$1x$2x$3" --in-turn --rows "$1" --cols "$2" --element "$3" \
        --kernel "${in_place%,}"
done
wait
cat "$out"/*.verdict

# For each counter, in how many launches the GPU's count is the simulator's.
summary() { # tables
    awk -F '|' '
        /^\| kernel/ { for (i = 3; i < NF; i++) head[last = i] = $i }
        /^\| [a-z]/ && !/^\| kernel/ { all++; for (i = 3; i < NF; i++) same[i] += $i !~ /≠|\?/ }
        END { for (i = 3; i <= last; i++) print "|" head[i] "| " same[i] " of " all " |" }' "$@"
}
for tables in "512x512x*" "777x1000x*" "2048x2048x*" "in-place-*"; do
    set -- "$out"/$tables.md
    [ -f "$1" ] && echo "$tables" && summary "$@"
done
exit 0
