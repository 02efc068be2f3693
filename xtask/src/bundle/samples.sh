#!/bin/sh
# Says where the warps of a kernel wait: samples a launch of it instruction by instruction, and lists the instructions at which
# the most samples were taken. Needs Nsight Compute's ncu, and leaves the clocks alone.
#   samples.sh FOLDER KERNEL PROGRAM [ARGUMENT]...    the folder for ncu's own output, an entry point such as tiles_b1, and a
#                                                     program of the bundle (bench/permute) that launches it twice at least
# A load that is asked for late shows as an instruction of several hundredths that waits for `long_sb`; instructions that are
# too many as `not_selected` and `math` all over; lanes that meet in banks as `mio` and `short_sb`.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/unpack.sh"
out=${1:?a folder for what ncu says}
kernel=${2:?an entry point}
program=$programs/${3:?a program, such as bench/permute}
shift 3
mkdir -p "$out" || exit 1
report=$out/$kernel
# The first launch finds nothing in the instruction cache.
ncu --kill yes --clock-control none --section SourceCounters -k "regex:^$kernel\$" -s 1 -c 1 -f -o "$report" \
    "$program" "$@" > "$report.log" 2>&1
# Older ones know no --print-source, and print the machine code by themselves.
by_source() {
    ncu --import "$report.ncu-rep" --page source --csv "$@" > "$report.csv" 2>> "$report.log"
}
by_source --print-source sass || by_source || {
    echo "not sampled: $(tail -n 1 "$report.log")" >&2
    exit 1
}
# All fields are quoted, and none has a quote in it.
awk -v least=0.01 '
    { sub(/^"/, ""); sub(/"$/, ""); fields = split($0, field, "\",\"") }
    !source {
        for (i = 1; i <= fields; i++) {
            if (field[i] == "Source") source = i
            if (field[i] == "Warp Stall Sampling (All Samples)") sampled = i
            if (field[i] == "Instructions Executed") executed = i
            if (field[i] ~ /^stall_/ && field[i] !~ /Not Issued/) reason[i] = substr(field[i], 7)
        }
        next
    }
    {
        lines++
        text[lines] = field[source]; samples[lines] = field[sampled]; executions[lines] = field[executed]
        all += field[sampled]; warps += field[executed]
        most = 0
        for (i in reason) {
            total[reason[i]] += field[i]
            if (field[i] + 0 > most) { most = field[i] + 0; why[lines] = reason[i] }
        }
    }
    END {
        if (!all) { print "no samples"; exit 1 }
        printf "%d samples, %d instructions of warps\n", all, warps
        for (name in total) if (total[name] > all * least) printf "  %.3f %s\n", total[name] / all, name | "sort -rn"
        close("sort -rn")
        print "waiting  executed  instruction, and what its warps wait for most"
        for (i = 1; i <= lines; i++) if (samples[i] > all * least)
            printf "%7.3f %9.4f  %4d %s  (%s)\n", samples[i] / all, executions[i] / warps, i - 1, text[i], why[i]
    }' "$report.csv"
