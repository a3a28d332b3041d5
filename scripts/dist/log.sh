# The lines on artefacts are kept for scripts/dist/table.py; other scripts read this file and name the log.
log=$(cd "${1:-target/dist}" && pwd).log

forget() { # WORDS: the lines of earlier times that begin so.
    [[ -e $log ]] || return 0
    grep -vF "  $1: " "$log" >"$log.new" || true
    mv "$log.new" "$log"
}

note() { # FILE LINE: told, and kept with the digest of the file that it is about.
    echo "$2"
    [[ ! -f ${1:-} ]] || echo "$(sha256sum "$1" | cut -c1-64)  $(basename "$1")  $2" >>"$log"
}
