#!/bin/sh
# Runs the bundled programs on this machine; needs an NVIDIA driver and nothing else.
#   run.sh              every test
#   run.sh list         the names of the programs
#   run.sh NAME ARGS…   one program, such as: run.sh quickstart 16384 16384
here=$(cd "$(dirname "$0")" && pwd)
case "${1:-}" in
    "")
        failed=0
        for test in "$here"/tests/*; do
            echo "== $(basename "$test")"
            "$test" --quiet || failed=1
        done
        exit $failed ;;
    list)
        ls "$here/tests" "$here/examples" ;;
    *)
        name=$1
        shift
        for folder in examples tests; do
            [ -x "$here/$folder/$name" ] && exec "$here/$folder/$name" "$@"
        done
        echo "no program $name; see: $0 list" >&2
        exit 1 ;;
esac
