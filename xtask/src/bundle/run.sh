#!/bin/sh
# Runs the bundled programs on this machine; needs an NVIDIA driver, tar and xz (or Python).
#   run.sh              every test
#   run.sh list         the names of the programs
#   run.sh NAME ARGS…   one program, such as: run.sh quickstart 16384 16384, or, of several with one name: run.sh tests/host
#   run.sh from_python  tensors of PyTorch and CuPy, where there are these, through the module for Python
here=$(cd "$(dirname "$0")" && pwd)
. "$here/unpack.sh"
case "${1:-}" in
    "")
        failed=0
        for test in "$programs"/tests/*; do
            echo "== $(basename "$test")"
            "$test" --quiet || failed=1
        done
        exit $failed ;;
    list)
        cd "$programs" && ls bench examples python tests ;;
    *)
        name=$1
        shift
        found=
        for program in "$name" "bench/$name" "examples/$name" "tests/$name" "python/$name.py"; do
            [ -f "$programs/$program" ] && found=${found:+$found }$program
        done
        case $found in
            "") echo "no program $name; see: $0 list" >&2; exit 1 ;;
            *" "*) echo "several programs are called $name; say which: $found" >&2; exit 1 ;;
            *.py) exec python3 "$programs/$found" "$@" ;;
            *) exec "$programs/$found" "$@" ;;
        esac ;;
esac
