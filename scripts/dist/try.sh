#!/usr/bin/env bash
# Installs and uses what `make dist` has built, each artefact in a root file system of its own that has
# nothing else, and takes it away again.
#
#     scripts/dist/try.sh [FOLDER]          of the artefacts; target/dist
#
# Needs root (chroot) and mmdebstrap. A line per artefact says what was done; what cannot be done here is
# told as skipped.
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
        mmdebstrap --quiet --format=tar --variant=minbase ${packages:+--include="$packages"} "$suite" "$kept.part"
        mv "$kept.part" "$kept"
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
        exec chroot --userspec="$user:$user" "$root" /usr/bin/env -i HOME=/tmp PATH=/usr/bin:/bin LC_ALL=C.UTF-8 \
            PIP_CERT=/etc/ssl/certs/ca-certificates.crt /bin/bash -ec "cd /tmp; $command"'
}

files_of() { (cd "$1" && find . -xdev \( -type f -o -type l \) ! -path './dev/*' ! -path './var/cache/*' \
    ! -path './var/log/*' ! -path './var/lib/dpkg/*' ! -path './etc/ld.so.cache' ! -path './tmp/*' \
    ! -path './var/lib/apt/*' | sort); }

measure='diskspd -c8M -b4K -r -w30 -o4 -d1 -W0 -L x.dat > told && grep -q "^total:" told && grep -m1 "^total:" told'

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
    # A thousand threads end: musl's own allocator took half a minute.
    local began=$SECONDS
    chroot "$root" /bin/diskspd -c64M -b4K -r -o1 -t1000 -d1 -W0 /tmp/x.dat >/dev/null || fault static "1000 threads"
    told static "1,000 threads for 1 s took $((SECONDS - began)) s"
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

lab='fathom assess --seconds 10 --size-mib 64 . > told && grep -qi verdict told && fathom list | tail -1
    fathom report e1 -o page.html > /dev/null && test -s page.html && diskspd -? > /dev/null'

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
    for one in /etc/pip.conf /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
        [[ -e $one ]] && install -D -m 644 "$one" "$root$one"
    done
    install -D -m 644 "$file" "$root/wheels/$(basename "$file")"
    local inside=/wheels/$(basename "$file")
    lab_in "wheel, pip" "$root" "python3 -m venv v; v/bin/pip -q install $inside; PATH=/tmp/v/bin:\$PATH
        echo size \$(du -sm v/lib | cut -f1) MiB >&2" "v/bin/pip -q uninstall -y fathom-storage; test ! -e v/bin/diskspd; du -sm v | cut -f1"
    lab_in "wheel, pipx" "$root" "pipx install $inside >&2; PATH=/tmp/.local/bin:\$PATH" \
        "pipx uninstall fathom-storage >&2; test ! -e .local/bin/fathom; echo gone"
}

for artefact in tarball static image deb rpm_ wheel; do
    if [[ -z ${ONLY:-} || " $ONLY " == *" $artefact "* ]]; then
        "$artefact"
    fi
done
exit "$failed"
