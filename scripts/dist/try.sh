#!/usr/bin/env bash
# Installs and uses what `make dist` has built, each artefact in a root file system of its own that has
# nothing else, and takes it away again.
#
#     scripts/dist/try.sh [FOLDER]          of the artefacts; target/dist
#
# Needs root (chroot) and mmdebstrap. A line per artefact says what was done; what cannot be done here is
# told as skipped. ONLY="static image" tries these alone; PROFILE=quick builds sources without what makes the
# compiler slow.
set -euo pipefail
cd "$(dirname "$0")/../.."
dist=$(cd "${1:-target/dist}" && pwd)
arch=x86_64
[[ $(id -u) == 0 ]] || { echo "skipped: dist-test needs root"; exit 0; }
work=$(mktemp -d "${TRY_FOLDER:-/var/tmp}/fathom-try.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
failed=0

one() { compgen -G "$dist/$1" | head -1; }
told() { [[ ${faulty:-} == *" $1 "* ]] || echo "dist-test: $1: passed: $2"; }
fault() { echo "dist-test: $1: FAILED: $2" >&2; failed=1 faulty+=" $1 "; }

# A minimal Debian, made once per suite and set of packages; then copied.
root_of() {
    local suite=$1 packages=$2 name=$3 kept
    kept=${ROOTS:-/var/tmp/fathom-roots}/$suite-${packages//[ ,]/-}.tar
    mkdir -p "$(dirname "$kept")"
    if [[ ! -e $kept ]]; then
        bootstrap "$suite" "$packages" "$kept.part.tar"
        mv "$kept.part.tar" "$kept"
    fi
    mkdir "$work/$name"
    tar -xf "$kept" -C "$work/$name" --exclude='./dev/*'
}

within() { # ROOT COMMAND: with /proc and a few devices, as a user who is not root.
    root=$1 command=$2 user=${3:-1234} unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
        mount --make-rprivate /
        mkdir -p "$root/proc" "$root/dev" "$root/tmp"
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
        if [[ -d $root/opt/rust ]]; then
            mount --bind "$(rustc --print sysroot)" "$root/opt/rust"
            mount -o remount,bind,ro "$root/opt/rust"
        fi
        exec chroot --userspec="$user:$user" "$root" /usr/bin/env -i HOME=/tmp PATH=/usr/bin:/bin LC_ALL=C.UTF-8 \
            SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt /bin/bash -ec "cd /tmp; $command"'
}

# A line of the README's section on installing, without its remark.
readme_line() { sed -n '/^## Install/,/^## Two/p' README.md | grep -m1 "$1" | sed 's/ \{2,\}#.*//'; }

registries() { # ROOT: what clients of package registries need to find them.
    for one in /etc/pip.conf /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
        if [[ -e $one ]]; then install -D -m 644 "$one" "$1$one"; fi
    done
}

files_of() { (cd "$1" && find . -xdev \( -type f -o -type l \) ! -path './dev/*' ! -path './var/cache/*' \
    ! -path './var/log/*' ! -path './var/lib/dpkg/*' ! -path './etc/ld.so.cache' ! -path './tmp/*' \
    ! -path './var/lib/apt/*' | sort); }

# Each command stands alone: a shell with -e goes on where one of several joined by && fails.
measure='diskspd -c8M -b4K -r -w30 -o4 -d1 -W0 -L x.dat > told; grep -m1 "^total:" told'

tarball() {
    local name=diskspd-linux.tar.gz file
    file=$(one "diskspd-*-$arch-linux.tar.gz")
    [[ $file ]] || { echo "dist-test: $name: skipped: not built"; return; }
    for suite in bullseye bookworm; do
        root_of "$suite" "" "tar-$suite"
        local root=$work/tar-$suite
        tar -xzf "$file" -C "$root/usr" --strip-components=1
        local glibc line
        glibc=$(chroot "$root" /usr/bin/ldd --version | sed -n '1s/.* //p')
        line=$(within "$root" "$measure") || { fault "$name" "on $suite"; continue; }
        told "$name" "$suite, glibc $glibc, not root: $line"
    done
}

static() {
    local file root=$work/static line
    file=$(one "diskspd-*-$arch-linux-static.tar.gz")
    [[ $file ]] || { echo "dist-test: static: skipped: not built"; return; }
    mkdir -p "$root/tmp"
    tar -xzf "$file" -C "$root" --strip-components=1
    chmod 1777 "$root/tmp"
    line=$(chroot --userspec=1234:1234 "$root" /bin/diskspd -c8M -b4K -r -w30 -o4 -d1 -W0 -L /tmp/x.dat |
        grep -m1 '^total:') || { fault static "in an empty root"; return; }
    told static "an empty root, nothing but the archive: $line"
    # A thousand threads end: with musl's own allocator that took 32 to 63 s.
    local began=$SECONDS
    chroot "$root" /bin/diskspd -c64M -b4K -r -o1 -t1000 -d1 -W0 /tmp/x.dat >/dev/null || fault static "1000 threads"
    ((SECONDS - began < 25)) || fault static "1,000 threads for 1 s took $((SECONDS - began)) s"
    told static "1,000 threads for 1 s took $((SECONDS - began)) s"
    # A write that libblkid alone would stop: it is in it.
    head -c 1M /dev/zero >"$root/tmp/image"
    printf '\xce\xfa\xad\x1b' | dd of="$root/tmp/image" conv=notrunc status=none
    line=$(chroot "$root" /bin/diskspd -w100 -d1 -W0 /tmp/image 2>&1) && fault static "it wrote over bfs"
    [[ $line == *bfs* ]] || fault static "it does not know bfs: $line"
    told static "an image of bfs is refused by its name"
    as_the_readme_says "$file"
}

as_the_readme_says() { # ARCHIVE: installed by a user, used, and removed as docs/artefacts.md says.
    local root=$work/readme command remove line
    command=$(readme_line linux-static.tar.gz)
    remove=$(sed -n 's/^    \(tar -tzf .*\)$/\1/p' docs/artefacts.md)
    [[ $command && $remove ]] || { fault "README, one binary" "no such line"; return; }
    root_of bullseye "" readme
    install -D -m 644 -t "$root/downloads" "$1"
    line=$(within "$root" "cd /downloads; $command; cd /tmp; PATH=~/.local/bin:\$PATH; $measure; rm x.dat told
        cd /downloads; $remove; find ~ -type f") || { fault "README, one binary" "$line"; return; }
    [[ $(wc -l <<<"$line") == 1 ]] || fault "README, one binary" "it left $line"
    told "README, one binary" "$command: $line; removed, nothing is left"
}

aarch64() {
    local file root=$work/aarch64 line
    file=$(one "diskspd-*-aarch64-linux-static.tar.gz")
    [[ $file ]] && type -P qemu-aarch64-static >/dev/null ||
        { echo "dist-test: aarch64: skipped: not built, or no qemu-aarch64-static here"; return; }
    mkdir -p "$root/tmp"
    chmod 1777 "$root/tmp"
    tar -xzf "$file" -C "$root" --strip-components=1
    cp "$(type -P qemu-aarch64-static)" "$root/qemu"
    line=$(chroot --userspec=1234:1234 "$root" /qemu /bin/diskspd -c8M -b4K -r -w30 -o4 -d1 -W0 -L /tmp/x.dat |
        grep -m1 '^total:') || { fault aarch64 "in an empty root"; return; }
    chroot "$root" /qemu /bin/diskspd --verify -c1M -b4K -w100 -d1 -W0 /tmp/y.dat >/dev/null || fault aarch64 "--verify"
    told aarch64 "under qemu, an empty root: $line; verified"
}

image() {
    local file layer root=$work/image line
    file=$(one "diskspd-*-$arch-image.tar")
    [[ $file ]] || { echo "dist-test: image: skipped: not built"; return; }
    mkdir -p "$work/oci" "$root"
    tar -xf "$file" -C "$work/oci"
    if type -P skopeo >/dev/null; then
        skopeo inspect "oci-archive:$file" >/dev/null || { fault image "skopeo refuses it"; return; }
    fi
    layer=$(python3 - "$work/oci" <<'PY'
import hashlib, json, pathlib, sys
root = pathlib.Path(sys.argv[1])
def blob(one):
    path = root / "blobs" / one["digest"].replace(":", "/")
    body = path.read_bytes()
    assert one["digest"] == "sha256:" + hashlib.sha256(body).hexdigest() and one["size"] == len(body)
    return path
manifest = json.loads(blob(json.loads((root / "index.json").read_text())["manifests"][0]).read_text())
config = json.loads(blob(manifest["config"]).read_text())
assert config["config"]["Entrypoint"] == ["/diskspd"]
print(blob(manifest["layers"][0]))
PY
    )
    tar -xzf "$layer" -C "$root"
    line=$(chroot "$root" /diskspd -c8M -b4K -r -w30 -o4 -d1 -W0 -L /data/x.dat | grep -m1 '^total:') ||
        { fault image "its entry point"; return; }
    told image "layout, digests, entry point in the layer alone: $line"
}

deb() {
    local file root=$work/deb line
    file=$(one "fathom-diskspd_*_amd64.deb")
    [[ $file ]] || { echo "dist-test: deb: skipped: not built"; return; }
    root_of bookworm "man-db,bash-completion,zsh,fish" deb
    # Debian leaves manual pages out of minimal systems only if told so.
    rm -f "$root"/etc/dpkg/dpkg.cfg.d/*
    files_of "$root" >"$work/before"
    cp "$file" "$root/diskspd.deb"
    chroot "$root" dpkg -i /diskspd.deb >"$work/deb.out" 2>&1 || { cat "$work/deb.out"; fault deb install; return; }
    line=$(within "$root" "$measure") || { fault deb "a run"; return; }
    within "$root" 'man diskspd | grep -q DiskSpd' || fault deb "man diskspd"
    within "$root" '. /usr/share/bash-completion/completions/diskspd; COMP_WORDS=(diskspd --verify-o) COMP_CWORD=1
        compopt() { :; }; _diskspd; [[ ${COMPREPLY[0]} == --verify-only* ]]' || fault deb "completion in bash"
    within "$root" 'fish -c "complete -C \"diskspd --verify-o\"" | grep -q verify-only' || fault deb "completion in fish"
    within "$root" 'zsh -fc "autoload -Uz compinit; compinit -D; (( \$+_comps[diskspd] )) && autoload +X _diskspd"' ||
        fault deb "completion in zsh"
    chroot "$root" dpkg -r fathom-diskspd >/dev/null
    rm "$root/diskspd.deb"
    files_of "$root" >"$work/after"
    diff "$work/before" "$work/after" >"$work/left" || { cat "$work/left"; fault deb "it left something"; return; }
    told deb "dpkg -i, $line; man; bash, zsh and fish complete; dpkg -r left nothing"
}

rpm_() {
    local file root=$work/rpm line
    file=$(one "fathom-diskspd-*.$arch.rpm")
    [[ $file ]] && type -P rpm >/dev/null || { echo "dist-test: rpm: skipped: not built, or no rpm here"; return; }
    root_of bullseye "" rpm
    files_of "$root" >"$work/before"
    # This root is a Debian's: the package's needs are compared by name, as there is no other RPM in it.
    rpm -qp --requires "$file" | grep -q libblkid || fault rpm "no libblkid among its needs"
    rpm --root "$root" --dbpath /rpmdb --nodeps -i "$file"
    line=$(within "$root" "$measure") || { fault rpm "a run"; return; }
    [[ -e $root/usr/share/man/man1/diskspd.1 ]] || fault rpm "no manual page"
    rpm --root "$root" --dbpath /rpmdb --nodeps -e fathom-diskspd
    rm -rf "$root/rpmdb"
    files_of "$root" >"$work/after"
    diff "$work/before" "$work/after" || { fault rpm "it left something"; return; }
    told rpm "rpm -i, $line; rpm -e left nothing"
}

lab='fathom assess --seconds 10 --size-mib 64 . > told; grep -qi verdict told; fathom list | tail -1
    fathom report e1 -o page.html > /dev/null; test -s page.html; diskspd -? > /dev/null'

lab_in() { # NAME ROOT INSTALL REMOVE
    local name=$1 root=$2 install=$3 remove=$4 line
    line=$(within "$root" "$install; $lab; $remove" 2>"$work/err" | tail -1) ||
        { tail -5 "$work/err"; fault "$name" "see above"; return; }
    told "$name" "$line; assess, list, report and diskspd"
}

wheel() {
    local file root=$work/wheel
    file=$(one "fathom_storage-*_$arch.whl")
    [[ $file ]] || { echo "dist-test: wheel: skipped: not built"; return; }
    root_of bookworm "ca-certificates,python3,python3-venv,pipx" wheel
    registries "$root"
    install -D -m 644 "$file" "$root/wheels/$(basename "$file")"
    local inside command
    inside=/wheels/$(basename "$file")
    lab_in "wheel, pip" "$root" "python3 -m venv v; v/bin/pip -q install $inside; PATH=/tmp/v/bin:\$PATH
        test -s v/share/man/man1/fathom.1 -a -s v/share/bash-completion/completions/fathom
        du -sm v | cut -f1 > size" "v/bin/pip -q uninstall -y fathom-storage
        test -z \"\$(find v -iname '*fathom*' -o -iname '*diskspd*')\"; echo \$(cat size) MiB"
    command=$(readme_line "^pipx install")
    [[ $command ]] || fault "README, the lab" "no such line"
    lab_in "README, the lab" "$root" "cd /wheels; $command >&2; cd /tmp; PATH=/tmp/.local/bin:\$PATH" \
        "pipx uninstall fathom-storage >&2; test ! -e .local/bin/fathom; test ! -e .local/bin/diskspd; echo $command"
    [[ ${UV:=$(type -P uv)} ]] || { echo "dist-test: wheel, uv: skipped: no uv here (UV=...)"; return; }
    install -m 755 "$UV" "$root/usr/bin/uv"
    lab_in "wheel, uv" "$root" "uv --quiet tool install --python /usr/bin/python3 $inside; PATH=/tmp/.local/bin:\$PATH" \
        "uv --quiet tool uninstall fathom-storage; test ! -e .local/bin/fathom; test ! -e .local/bin/diskspd; echo gone"
}

# From the source distribution alone, with a compiler and this machine's Rust: by pip, and diskspd by cargo.
sources() {
    local file line root=$work/sources quick=""
    file=$(compgen -G "$dist/fathom_storage-*.tar.gz" | head -1)
    [[ $file ]] || { echo "dist-test: sources: skipped: not built"; return; }
    root_of bookworm "ca-certificates,gcc,libc6-dev,python3,python3-venv" sources
    registries "$root"
    mkdir -p "$root/opt/rust" "$root/build/source"
    tar -xzf "$file" -C "$root/build/source" --strip-components=1
    cp "$file" "$root/build"
    chown -R 1234:1234 "$root/build"
    [[ ${PROFILE:-release} == quick ]] && quick="export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=0
        export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1"
    local tools="export PATH=/opt/rust/bin:\$PATH CARGO_HOME=/build/cargo CARGO_TARGET_DIR=/build/target; $quick"
    lab_in "sources, pip" "$root" "$tools; python3 -m venv v; v/bin/pip -q install /build/$(basename "$file")
        PATH=/tmp/v/bin:\$PATH" "v/bin/pip -q uninstall -y fathom-storage; test ! -e v/bin/diskspd; echo removed"
    line=$(within "$root" "$tools; cd /build/source; cargo install --quiet --locked --path crates/cli --root ~/c
        cd /tmp; PATH=~/c/bin:\$PATH; $measure; cargo uninstall --quiet --root ~/c fathom-storage; test ! -e ~/c/bin/diskspd" \
        2>"$work/err") || { tail -5 "$work/err"; fault "sources, cargo install" "see above"; return; }
    told "sources, cargo install" "$line; cargo uninstall leaves no diskspd"
}

for artefact in tarball static image aarch64 deb rpm_ wheel sources; do
    if [[ -z ${ONLY:-} || " $ONLY " == *" $artefact "* ]]; then
        "$artefact"
    fi
done
exit "$failed"
