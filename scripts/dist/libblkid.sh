#!/usr/bin/env bash
# Builds libblkid.a for the static binary, of Debian's source package of util-linux.
#
#     scripts/dist/libblkid.sh TARGET FOLDER        TARGET as zig names it, such as x86_64-linux-musl
#
# libblkid is under the LGPL 2.1 or later: who has the static binary may build it again with another
# libblkid by this script, with its source put into FOLDER/source (docs/artefacts.md).
set -euo pipefail
target=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
zig=${ZIG:-python3 -m ziglang}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0} LC_ALL=C TZ=UTC

fetch() {
    # With lists and a cache of its own, so that nothing of this machine's apt is changed.
    local state=$folder/apt
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    local key=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb-src [signed-by=$key] http://deb.debian.org/debian bookworm main" >"$state/sources.list"
    local settings=(
        -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=root
    )
    mkdir -p "$folder/packed"
    apt-get "${settings[@]}" update -qq
    (cd "$folder/packed" && apt-get "${settings[@]}" source -qq --download-only util-linux)
}

# Debian's orig archive alone: its patches concern programs and messages, not what is recognised.
compgen -G "$folder/packed/*.orig.tar.xz" >/dev/null || fetch
if [[ ! -d $folder/source ]]; then
    mkdir "$folder/source"
    tar -xJf "$folder"/packed/*.orig.tar.xz -C "$folder/source" --strip-components=1
fi
build=$folder/$target
rm -rf "$build"
mkdir "$build"
cd "$build"
# No path of this folder may come into the library: it would differ from folder to folder.
flags="-O2 -g0 -fPIC -ffunction-sections -fdata-sections -ffile-prefix-map=$folder=util-linux"
../source/configure --quiet --host="$target" \
    --disable-all-programs --enable-libblkid --enable-libuuid=no --disable-shared --enable-static \
    --disable-nls --disable-asciidoc --without-python --without-systemd --without-udev --without-econf \
    CC="$zig cc -target $target" AR="$zig ar" RANLIB="$zig ranlib" CFLAGS="$flags" >configure.out 2>&1 ||
    { tail -20 configure.out; exit 1; }
make -s -j"${JOBS:-2}" libblkid.la >make.out 2>&1 || { tail -20 make.out; exit 1; }
cp .libs/libblkid.a "$folder/libblkid-$target.a"
echo "$folder/libblkid-$target.a"
