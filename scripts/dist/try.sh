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
. scripts/dist/suites.sh
. scripts/dist/log.sh
arch=x86_64
[[ $(id -u) == 0 ]] || { echo "skipped: dist-test needs root"; exit 0; }
work=$(mktemp -d "${TRY_FOLDER:-/var/tmp}/fathom-try.XXXXXX")
binfmt=/proc/sys/fs/binfmt_misc
trap 'rm -rf --one-file-system "$work"; [[ -z ${registered:-} ]] || echo -1 >"$binfmt/fathom-aarch64"' EXIT
failed=0

one() { compgen -G "$dist/$1" | head -1 || true; }
# The file that a function tries is its own $file.
told() { [[ ${faulty:-} == *" $1 "* ]] || kept "$1" "passed: $2"; }
fault() { kept "$1" "FAILED: $2" >&2; failed=1 faulty+=" $1 "; }
kept() { # NAME WORDS: what this run tells first of a name takes the place of what others told.
    [[ ${named:-} == *" $1 "* ]] || forget "dist-test: $1"
    named+=" $1 "
    note "${file:-}" "dist-test: $1: $2"
}

# A minimal Debian, made once per suite and set of packages; then copied.
root_of() {
    local suite=$1 packages=$2 name=$3 kept
    kept=${ROOTS:-/var/tmp/fathom-roots}/${suite/\//-}-${packages//[ ,]/-}.tar
    mkdir -p "$(dirname "$kept")"
    if [[ ! -e $kept ]]; then
        bootstrap "$suite" "$packages" "$kept.part.tar" || return
        mv "$kept.part.tar" "$kept"
    fi
    rm -rf --one-file-system "${work:?}/$name"
    mkdir "$work/$name"
    tar -xf "$kept" -C "$work/$name" --exclude='./dev/*'
}

within() { # ROOT COMMAND: with /proc and a few devices, as a user who is not root.
    root=$1 command=$2 user=${3:-1234} unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
        mount --make-rprivate /
        mount --bind "$root" "$root"
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
    local name=diskspd-linux.tar.gz file newest
    file=$(one "diskspd-*-$arch-linux.tar.gz")
    [[ $file ]] || { echo "dist-test: $name: skipped: not built"; return; }
    for suite in focal bullseye bookworm; do
        root_of "$suite" "" "tar-$suite" || continue
        local root=$work/tar-$suite
        tar -xzf "$file" -C "$root/usr" --strip-components=1
        local glibc line
        glibc=$(chroot "$root" /usr/bin/ldd --version | sed -n '1s/.* //p')
        line=$(within "$root" "$measure") || { fault "$name" "on $suite"; continue; }
        told "$name" "$suite, glibc $glibc, not root: $line"
    done
    # No root file system with glibc 2.28 can be had everywhere: there, what is asked of it is compared.
    newest=$(objdump -T "$root/usr/bin/diskspd" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -Vu | tail -1)
    [[ $(printf '%s\n' "$newest" 2.28 | sort -V | tail -1) == 2.28 ]] || fault "$name" "it asks for glibc $newest"
    told "$name" "of all its symbols, the newest are those of glibc $newest"
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

aarch64_static() {
    local file root=$work/aarch64 line
    file=$(one "diskspd-*-aarch64-linux-static.tar.gz")
    [[ $file ]] || { echo "dist-test: aarch64, static: skipped: not built"; return; }
    mkdir -p "$root/tmp"
    chmod 1777 "$root/tmp"
    tar -xzf "$file" -C "$root" --strip-components=1
    line=$(chroot --userspec=1234:1234 "$root" /bin/diskspd -c8M -b4K -r -w30 -o4 -d1 -W0 -L /tmp/x.dat |
        grep -m1 '^total:') || { fault "aarch64, static" "in an empty root"; return; }
    chroot "$root" /bin/diskspd --verify -c1M -b4K -w100 -d1 -W0 /tmp/y.dat >/dev/null ||
        fault "aarch64, static" "--verify"
    told "aarch64, static" "an empty root: $line; verified"
    image
}

# Programs of aarch64 run by qemu-user, which the kernel is told to start; it has no io_uring.
emulate() {
    type -P qemu-aarch64-static arch-test >/dev/null || return 1
    [[ -e $binfmt/register ]] || mount -t binfmt_misc none "$binfmt" 2>/dev/null || return 1
    ! arch-test arm64 >/dev/null || return 0
    printf '%s' ':fathom-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00' \
        ':\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff' \
        ":$(type -P qemu-aarch64-static):F" >"$binfmt/register"
    registered=yes
}

aarch64() {
    local file root line
    emulate || { echo "dist-test: aarch64: skipped: it needs qemu-aarch64-static, arch-test and binfmt_misc"; return; }
    local arch=aarch64
    aarch64_static
    file=$(one "diskspd-*-aarch64-linux.tar.gz")
    [[ $file ]] || { echo "dist-test: aarch64, others: skipped: not built"; return; }
    root_of bookworm/arm64 "ca-certificates,python3,python3-venv,libblkid1" arm64
    root=$work/arm64
    registries "$root"
    files_of "$root" >"$work/before"
    tar -xzf "$file" -C "$root/usr" --strip-components=1
    line=$(within "$root" "$measure") || { fault "aarch64, archive" "a run"; return; }
    told "aarch64, archive" "bookworm: $line"
    tar -tzf "$file" | sed -n 's,^[^/]*/\(.*[^/]\)$,\1,p' | (cd "$root/usr" && xargs rm)
    file=$(one 'fathom-diskspd_*_arm64.deb')
    cp "$file" "$root/diskspd.deb"
    chroot "$root" dpkg -i /diskspd.deb >/dev/null 2>"$work/err" || { cat "$work/err"; fault "aarch64, deb" install; return; }
    line=$(within "$root" "$measure") || { fault "aarch64, deb" "a run"; return; }
    chroot "$root" dpkg -r fathom-diskspd >/dev/null
    rm "$root/diskspd.deb"
    nothing_left "aarch64, deb" "$root" && told "aarch64, deb" "dpkg -i, $line; dpkg -r left nothing"
    rpm_in "aarch64, rpm" "$root" "$(one 'fathom-diskspd-*.aarch64.rpm')"
    file=$(one "fathom_storage-*_aarch64.whl")
    [[ $file ]] || { echo "dist-test: aarch64, wheel: skipped: not built"; return; }
    install -D -m 644 "$file" "$root/wheels/$(basename "$file")"
    lab_in "aarch64, wheel" "$root" "python3 -m venv v; v/bin/pip -q install /wheels/$(basename "$file")
        PATH=/tmp/v/bin:\$PATH" "v/bin/pip -q uninstall -y fathom-storage; test ! -e v/bin/fathom; uname -m"
    lab_deb "aarch64, lab's deb" bookworm/arm64 3.11 arm64
}

nothing_left() { # NAME ROOT
    files_of "$2" >"$work/after"
    diff "$work/before" "$work/after" >"$work/left" || { cat "$work/left"; fault "$1" "it left something"; return 1; }
}

image() {
    local file layer root=$work/image-$arch line
    file=$(one "diskspd-*-$arch-image.tar")
    [[ $file ]] || { echo "dist-test: image: skipped: not built"; return; }
    local layout=$work/oci-$arch
    mkdir -p "$layout" "$root"
    tar -xf "$file" -C "$layout"
    if type -P skopeo >/dev/null; then
        skopeo inspect "oci-archive:$file" >/dev/null || { fault image "skopeo refuses it"; return; }
    fi
    layer=$(python3 - "$layout" <<'PY'
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
    told "image, $arch" "layout, digests, entry point in the layer alone: $line"
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
    nothing_left deb "$root" && told deb "dpkg -i, $line; man; bash, zsh and fish complete; dpkg -r left nothing"
}

rpm_() {
    root_of bookworm "python3,libblkid1" rpm
    files_of "$work/rpm" >"$work/before"
    rpm_in rpm "$work/rpm" "$(one "fathom-diskspd-*.$arch.rpm")"
    rpm_in "lab's rpm" "$work/rpm" "$(one "fathom-diskspd-*.$arch.rpm")" "$(one "fathom-lab-*.$arch.rpm")"
}

# The root is a Debian's, whose packages RPM does not know: what ours need is looked for by its own files.
rpm_in() { # NAME ROOT FILES...
    local name=$1 root=$2 file=${*: -1} line use=$measure
    shift 2
    [[ $* ]] && type -P rpm >/dev/null || { echo "dist-test: $name: skipped: not built, or no rpm here"; return; }
    (($# == 1)) || use="$lab > /dev/null; fathom --version"
    rpm -qp --requires "$@" 2>/dev/null | sort -u | while read -r need; do
        case $need in
            rpmlib* | fathom-diskspd* | rtld* | /bin/sh) ;;
            /*) [[ -e $root$need ]] || echo "$need" ;;
            *) compgen -G "$root/lib/*/${need%%(*}" >/dev/null || echo "$need" ;;
        esac
    done >"$work/missing"
    [[ ! -s $work/missing ]] || fault "$name" "nothing in Debian is what it needs: $(tr '\n' ' ' <"$work/missing")"
    rpm --root "$root" --dbpath /rpmdb --nodeps --ignorearch -i "$@" 2>"$work/err" ||
        { cat "$work/err"; fault "$name" install; return; }
    line=$(within "$root" "$use" 2>"$work/err" | tail -1) || { tail -5 "$work/err"; fault "$name" "a run"; return; }
    [[ -e $root/usr/share/man/man1/diskspd.1 ]] || fault "$name" "no manual page"
    rpm -qp --qf '%{NAME}\n' "$@" 2>/dev/null |
        xargs rpm --root "$root" --dbpath /rpmdb --nodeps -e 2>"$work/err" || { cat "$work/err"; fault "$name" "rpm -e"; }
    rm -rf "$root/rpmdb"
    nothing_left "$name" "$root" && told "$name" "rpm -i, $line; rpm -e left nothing"
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

# Both packages by apt, which fetches what they depend on; then away again.
lab_deb() { # NAME SUITE PYTHON ARCH
    local name=$1 suite=$2 python=$3 root=$work/lab-$3-$4 file line size apt
    file=$(one "fathom-lab_*+python$3_$4.deb")
    root_of "$suite" "apt,ca-certificates,man-db,bash-completion" "lab-$python-$4" || return 0
    registries "$root"
    rm -f "$root"/etc/dpkg/dpkg.cfg.d/*
    mkdir "$root/debs"
    cp "$(one "fathom-diskspd_*_$4.deb")" "$file" "$root/debs" 2>/dev/null ||
        { echo "dist-test: $name: skipped: not built"; return; }
    apt="DEBIAN_FRONTEND=noninteractive apt-get -qq -o APT::Sandbox::User=root"
    within "$root" "$apt update; $apt install -y --no-install-recommends /debs/*.deb" 0 >"$work/out" 2>&1 ||
        { tail -5 "$work/out"; fault "$name" install; return; }
    size=$(du -sm "$root/usr/lib/fathom-lab" | cut -f1)
    line=$(within "$root" "$lab; man fathom | grep -q tunes; fathom --version
        . /usr/share/bash-completion/completions/fathom; COMP_WORDS=(fathom asse) COMP_CWORD=1
        _fathom; [[ \${COMPREPLY[0]} == assess ]]" 2>"$work/err" | tail -1) ||
        { tail -5 "$work/err"; fault "$name" "a run"; return; }
    # The package snap of Debian has a /usr/bin/fathom, too.
    [[ $name != "lab's deb, bookworm" ]] ||
        within "$root" "cd /debs; $apt download snap; PATH=/usr/sbin:/sbin:\$PATH dpkg -i snap_*.deb 2>&1 | grep -q conflicting; rm snap_*.deb" 0 \
            >/dev/null 2>"$work/err" || { cat "$work/err"; fault "$name" "it does not conflict with snap"; }
    within "$root" "$apt purge -y fathom-lab fathom-diskspd" 0 >"$work/out" 2>&1 ||
        { tail -5 "$work/out"; fault "$name" purge; return; }
    rm -r "$root/debs"
    find "$root" -xdev \( -name '*fathom*' -o -name '*diskspd*' \) ! -path '*/var/log/*' >"$work/left"
    [[ ! -s $work/left ]] || { cat "$work/left"; fault "$name" "it left something"; return; }
    told "$name" "apt install, python$python, $size MiB in a folder of its own, $line; assess, list, report, man, completion; purge left nothing"
}

lab_bookworm() { lab_deb "lab's deb, bookworm" bookworm 3.11 amd64; }
lab_noble() { lab_deb "lab's deb, noble" noble 3.12 amd64; }
lab_trixie() { lab_deb "lab's deb, trixie" trixie 3.13 amd64; }

# From the source distribution alone, with a compiler and this machine's Rust: by pip, and diskspd by cargo.
sources() {
    local file line config root=$work/sources quick=:
    file=$(compgen -G "$dist/fathom_storage-*.tar.gz" | head -1)
    [[ $file ]] || { echo "dist-test: sources: skipped: not built"; return; }
    root_of bookworm "ca-certificates,gcc,libc6-dev,python3,python3-venv" sources
    registries "$root"
    mkdir -p "$root/opt/rust" "$root/build/source"
    tar -xzf "$file" -C "$root/build/source" --strip-components=1
    cp "$file" "$root/build"
    mkdir "$root/build/cargo"
    config=${CARGO_HOME:-$HOME/.cargo}/config.toml
    [[ ! -e $config ]] || cp "$config" "$root/build/cargo"
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

for artefact in tarball static image deb rpm_ lab_bookworm lab_noble lab_trixie wheel sources aarch64; do
    if [[ -z ${ONLY:-} || " $ONLY " == *" $artefact "* ]]; then
        "$artefact"
    fi
done
exit "$failed"
