# Read by the other scripts, which set $here: unpacks the programs once and sets $programs to their folder.
archive=$here/programs.tar.xz
programs=$here/programs-$(cksum < "$archive" | cut -d ' ' -f 1)
if ! [ -d "$programs" ]; then
    # Into a folder of this process: of several that unpack side by side, the first gives its folder the name, and the others drop theirs.
    part=$(mktemp -d "$here/unpacking.XXXXXX") || exit 1
    tar -xJf "$archive" -C "$part" || python3 -m tarfile -e "$archive" "$part" || exit 1
    # Those of another archive go.
    for old in "$here"/programs-*/; do
        [ "$old" = "$programs/" ] || rm -rf "$old"
    done
    chmod 755 "$part"
    mv -T "$part" "$programs" 2> /dev/null || rm -rf "$part"
    [ -d "$programs" ] || exit 1
fi
