#!/usr/bin/env bash
# Proves the README on a machine that has nothing: a minimal Debian or Ubuntu made by mmdebstrap, in it the
# packages that the README names and no more, and a user who is not root runs its two commands.
#
#     scripts/fresh.sh [bookworm|trixie|noble|...] [command ...]
#
# Needs root (mounts and chroot) and mmdebstrap. Rust is this machine's own toolchain, mounted
# read-only, since a Debian's is older than the README asks for. Clients of package registries keep
# the settings that this machine gives them; nothing of them is committed.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${1:-bookworm}
shift || true
commands=("$@")
if ((${#commands[@]} == 0)); then
    commands=("make demo" "make test")
fi
if [[ $(id -u) != 0 ]] || ! type -P mmdebstrap >/dev/null; then
    echo "skipped: make fresh needs root and mmdebstrap"
    exit 0
fi

# The README's own line of packages.
packages=$(sed -n 's/^apt-get install --no-install-recommends \(.*\)$/\1/p' README.md | head -1)
[[ -n $packages ]] || { echo "the README names no packages" >&2; exit 1; }

folder=$(mktemp -d "${FRESH_FOLDER:-/var/tmp}/fathom-fresh.XXXXXX")
root=$folder/root
trap 'rm -rf --one-file-system "$folder"' EXIT

size() { du -sm --one-file-system "$1" | cut -f1; }

echo "fresh: $suite with: $packages"
. scripts/dist/suites.sh
bootstrap "$suite" "ca-certificates ${packages}" "$root" || exit $(($? == SKIPPED ? 0 : 1))
echo "fresh: the root has $(size "$root") MiB"

chroot "$root" useradd --create-home --shell /bin/bash somebody
home=$root/home/somebody
# What is committed, and nothing that this checkout has built.
mkdir "$home/fathom"
git archive HEAD | tar -x -C "$home/fathom"
for file in /etc/pip.conf /etc/resolv.conf /etc/hosts; do
    [[ -e $file ]] && install -D -m 644 "$file" "$root$file"
done
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
toolchain=$(rustc --print sysroot)
mkdir -p "$root/opt/rust" "$home/.cargo"
config=${CARGO_HOME:-$HOME/.cargo}/config.toml
[[ -e $config ]] && cp "$config" "$home/.cargo/config.toml"
chroot "$root" chown -R somebody: /home/somebody
export folder root toolchain

run() {
    # In namespaces of its own: what is mounted and started there ends with it.
    command=$1 unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
        mount --make-rprivate /
        # Else nobody could tell what lies beneath the files: a folder is no mount of its own.
        mount --bind "$root" "$root"
        mount --bind "$toolchain" "$root/opt/rust"
        mount -o remount,bind,ro "$root/opt/rust"
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/tmp"
        exec chroot --userspec=somebody:somebody "$root" /usr/bin/env -i HOME=/home/somebody USER=somebody \
            PATH=/opt/rust/bin:/usr/bin:/bin LANG=C.UTF-8 PIP_FIND_LINKS= \
            PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
            /bin/bash -c "cd ~/fathom && id -un && $command"
    '
}

for command in "${commands[@]}"; do
    before=$(size "$home")
    began=$SECONDS
    echo "fresh: $suite: $command"
    if ! run "$command"; then
        echo "fresh: $suite: $command: FAILED after $((SECONDS - began)) s" >&2
        exit 1
    fi
    echo "fresh: $suite: $command: passed in $((SECONDS - began)) s; the home folder grew from $before to $(size "$home") MiB"
done
