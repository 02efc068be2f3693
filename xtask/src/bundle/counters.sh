#!/bin/sh
# Compares the simulator's counts with those of this machine's GPU, for every kernel and several
# shapes and elements. Needs Nsight Compute's ncu, and leaves the clocks alone.
#   counters.sh FOLDER      the folder for the tables and ncu's own output
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?a folder for the tables}
profile=$here/examples/profile
mkdir -p "$out"
for case in "512 512 1" "512 512 2" "512 512 4" "512 512 8" "512 512 16" \
            "777 1000 1" "777 1000 4" "777 1000 8" "2048 2048 4"; do
    set -- $case
    name=$1x$2x$3
    ncu --clock-control none --csv --page raw --metrics "$("$profile" --metrics)" \
        "$profile" --device cuda --rows "$1" --cols "$2" --element "$3" \
        > "$out/$name.csv" 2> "$out/$name.log"
    "$profile" --ncu "$out/$name.csv" --rows "$1" --cols "$2" --element "$3" \
        > "$out/$name.md" 2>> "$out/$name.log" || { echo "$name failed"; tail -n 3 "$out/$name.log"; }
    # Instructions of PTX and of the GPU are different ones; all else should agree.
    awk -F '|' -v name="$name" '
        /^\| [a-z]/ { kernels++; other = 0; for (i = 3; i < NF - 1; i++) if ($i ~ /≠|\?/) other = 1; differ += other }
        END { print name ": " kernels " launches, " differ + 0 " that differ" }' "$out/$name.md"
done
