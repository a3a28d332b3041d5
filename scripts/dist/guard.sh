#!/usr/bin/env bash
# Runs the whole guard suite with the static binary of `make dist`.
#
#     scripts/dist/guard.sh [FOLDER]          of the artefacts; target/dist
#
# The tests themselves are built as static programs, too, with the same libblkid in them: those that ask the
# guard in their own process ask the one of the static binary. Those that start diskspd start the very file
# of the archive. Needs root, as `make test` does for loop devices and mounts. TURN="flock FILE" is put before
# each part, where others use these devices, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
arch=$(uname -m)
dist=$(cd "${1:-target/dist}" && pwd)
archive=$(compgen -G "$dist/diskspd-*-$arch-linux-static.tar.gz" | head -1) ||
    { echo "make dist first: $dist has no static archive" >&2; exit 1; }
target=$arch-unknown-linux-musl
bin=$PWD/.venv/bin
carried=$PWD/target/dist-work/libblkid/$arch
cache=/var/tmp/fathom-zig
. scripts/dist/log.sh
forget dist-guard
suites=(--lib --test kernel --test cli)

built=$(FATHOM_LIBBLKID=$carried CARGO_TARGET_DIR=target/static-tests CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 \
    ZIG_GLOBAL_CACHE_DIR=$cache ZIG_LOCAL_CACHE_DIR=$cache CARGO_ZIGBUILD_CACHE_DIR=$cache/zigbuild PATH=$bin:$PATH \
    cargo-zigbuild test --no-run --locked --target "$target" -p fathom-storage -p fathom-storage-core "${suites[@]}" \
    --message-format=json | python3 -c '
import json, sys
for line in sys.stdin:
    told = json.loads(line)
    if told.get("executable"):
        print(told["target"]["name"], told["profile"]["test"], told["executable"])')
# Cargo gave the tests the path of its own build: there stands what is to be tried.
own=$(awk '$1 == "diskspd" && $2 == "False" { print $3 }' <<<"$built")
tar -xzOf "$archive" --wildcards '*/bin/diskspd' >"$own.tried"
chmod 755 "$own.tried"
mv "$own.tried" "$own"
note "$archive" "dist-guard: $(sha256sum "$own" | cut -c1-16)... of $(basename "$archive")"

failed=0
suite() { # NAME FOLDER FILTERS...: each a part of a test's path.
    local name=$1 folder=$2 program words
    shift 2
    program=$(awk -v name="$name" '$1 == name && $2 == "True" { print $3 }' <<<"$built")
    # shellcheck disable=SC2086 # It is a command with words.
    (cd "$folder" && ${TURN:-} "$program" "$@") >target/dist-guard.out 2>&1 || failed=1
    words=$(grep '^test result' target/dist-guard.out || tail -1 target/dist-guard.out)
    note "$archive" "dist-guard: $name $*: $words"
    grep -E '^(failures:|    [a-z_:]+$)|skipped' target/dist-guard.out | sort -u || true
}

suite fathom_core crates/core guard signature prepare break_
for part in danger:: guarded:: prepare:: "unseen:: policy:: privileges" "meanwhile:: states:: sources:: json_places::" \
    "verify_journal:: break_"; do
    # shellcheck disable=SC2086 # Several filters.
    suite kernel crates/cli $part
done
suite cli crates/cli explain:: hostile_names:: break_
for file in tests/python/test_guard_*.py tests/python/test_{no_false_refusal,exchanges,meanwhile,kills,breaks,own_stores,permission}.py; do
    # Those that ask no other program than the lab's own library; what once broke the guard is tried whole.
    [[ $file == *breaks* ]] || grep -q "diskspd" "$file" || continue
    # shellcheck disable=SC2086 # It is a command with words.
    DISKSPD=$own ${TURN:-} "$bin/python" -m pytest -q "$file" >target/dist-guard.out 2>&1 || failed=1
    note "$archive" "dist-guard: python, $(basename "$file"): $(tail -1 target/dist-guard.out)"
    grep '^FAILED' target/dist-guard.out || true
done
exit "$failed"
