# Read by the other scripts, which set $here: unpacks the programs once and sets $programs to their folder.
archive=$here/programs.tar.xz
programs=$here/programs-$(cksum < "$archive" | cut -d ' ' -f 1)
if ! [ -d "$programs" ]; then
    # Those of another archive go.
    rm -rf "$here"/programs-*/
    mkdir "$programs.part" || exit 1
    tar -xJf "$archive" -C "$programs.part" || python3 -m tarfile -e "$archive" "$programs.part" || exit 1
    mv "$programs.part" "$programs"
fi
