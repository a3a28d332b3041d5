#!/bin/sh
# The main job on an embedded default: a mixed 8 KiB random load with latency on a scratch file.
set -eu
diskspd=$1
scratch=$(mktemp -d "${TMPDIR:-.}/demo.XXXXXX")
trap 'rm -rf "$scratch"' EXIT INT TERM
# -Sh goes past the page cache; a file system without O_DIRECT (such as tmpfs) takes the default.
cache=-Sh
probe="$scratch/probe"
dd if=/dev/zero of="$probe" bs=4096 count=1 oflag=direct 2>/dev/null || cache=-Sb
rm -f "$probe"
echo "Creating a scratch file of 256 MiB and running 10 s of 8 KiB random I/O, 30 % writes:"
"$diskspd" -c256M -b8K -r -w30 -o8 -t2 -d10 -W2 "$cache" -L -D "$scratch/scratch.dat"
