#!/bin/sh
# The main job on an embedded default: a mixed 8 KiB random load with latency on a scratch file.
#
#   scripts/demo.sh DISKSPD      environment: SCRATCH=target
set -eu
diskspd=${1:?usage: demo.sh DISKSPD}
mkdir -p "${SCRATCH:-target}"
scratch=$(mktemp -d "${SCRATCH:-target}/demo.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# -Sh goes past the page cache; a file system without O_DIRECT (such as tmpfs) takes the default.
cache=-Sh
if ! dd if=/dev/zero of="$scratch/probe" bs=4096 count=1 oflag=direct 2>/dev/null; then
    cache=-Sb
    echo "This file system has no O_DIRECT, so the page cache is measured, not the device."
fi
rm -f "$scratch/probe"
echo "Creating a scratch file of 256 MiB, then 12 s of 8 KiB random I/O, 30 % writes; 10 s are measured."
"$diskspd" -c256M -b8K -r -w30 -o8 -t2 -d10 -W2 "$cache" -L -D "$scratch/scratch.dat"
