#!/bin/sh
# Compares the simulator's counts with those of this machine's GPU, for every kernel and several
# shapes and elements. Needs Nsight Compute's ncu, and leaves the clocks alone.
#   counters.sh FOLDER      the folder for the tables and ncu's own output
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?a folder for the tables}
profile=$here/examples/profile
mkdir -p "$out"

compare() { # name rows cols element kernels
    set -- "$1" --rows "$2" --cols "$3" --element "$4" --kernel "$5"
    name=$1
    shift
    ncu --clock-control none --csv --page raw --metrics "$("$profile" --metrics)" \
        "$profile" --device cuda "$@" > "$out/$name.csv" 2> "$out/$name.log"
    if "$profile" --ncu "$out/$name.csv" "$@" > "$out/$name.md" 2>> "$out/$name.log"; then
        # Instructions of PTX and of the GPU are different ones; all else should agree.
        awk -F '|' -v name="$name" '
            /^\| [a-z]/ {
                launches++; other = 0
                for (i = 3; i < NF - 1; i++) if ($i ~ /≠|\?/) other = 1
                differ += other
            }
            END { print name ": " launches " launches, " differ + 0 " that differ" }' "$out/$name.md"
    else
        echo "$name: not compared: $(tail -n 1 "$out/$name.log")"
    fi
}

# In place, the number of launches may depend on the chip: each algorithm by itself.
in_place="square two-stage three-stage four-stage four-stage-fused decomposed cycle-following"
others=$("$profile" --list | grep -vxF "$(echo "$in_place" | tr ' ' '\n')" | tr '\n' ',')
for case in "512 512 1" "512 512 2" "512 512 4" "512 512 8" "512 512 16" \
            "777 1000 1" "777 1000 4" "777 1000 8" "2048 2048 4"; do
    set -- $case
    compare "$1x$2x$3" "$1" "$2" "$3" "${others%,}"
done
for algorithm in $in_place; do
    compare "$algorithm" 480 720 4 "$algorithm"
done
