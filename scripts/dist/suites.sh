# Minimal root file systems of Debian and Ubuntu; other scripts read this file.
SKIPPED=77

bootstrap() { # SUITE[/ARCH] PACKAGES PLACE: a folder, or an archive if called .tar; SKIPPED without its keys.
    local suite=${1%/*} packages=$2 place=$3 words=() mirror=()
    [[ $1 != */* ]] || words=(--arch="${1#*/}")
    case $suite in
        focal | jammy | noble)
            # Debian's package ubuntu-keyring, from Debian 13 on; it can be installed on Debian 12, too.
            local keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
            [[ -e $keys ]] || { echo "skipped: $suite: the keys of Ubuntu are missing: $keys"; return "$SKIPPED"; }
            words+=(--keyring="$keys" --components=main,universe)
            mirror=(http://archive.ubuntu.com/ubuntu)
            ;;
    esac
    mmdebstrap --quiet --variant=minbase "${words[@]}" ${packages:+--include="$packages"} \
        "$suite" "$place" "${mirror[@]}"
}
