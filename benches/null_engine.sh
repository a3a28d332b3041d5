#!/bin/sh
# The cost of the tool itself: I/Os per second of one pinned thread at queue depth 128, with latency on,
# against an engine that does nothing.
#
#   benches/null_engine.sh DISKSPD      environment: PAIRS=5 RUNTIME=1 CPU=0
#
# With fio installed the two take turns (A B A B ...), so that a change of the machine's speed meets both,
# and the median of the ratios is told. fio submits and reaps in batches of the queue depth too. One thing
# differs and favours diskspd: it reads the clock at the edges of a batch, fio once or more per I/O.
set -eu
diskspd=${1:?usage: null_engine.sh DISKSPD}
pairs=${PAIRS:-5} runtime=${RUNTIME:-1} cpu=${CPU:-0}

fail() {
    echo "null_engine.sh: $1" >&2
    exit 1
}

ours() {
    output=$("$diskspd" --engine=null -b4K -r -o128 -t1 "-a$cpu" "-d$runtime" -W0 -L -f1G null) ||
        fail "$diskspd failed with exit code $?"
    echo "$output" | awk -F'|' '/^total:/ { gsub(/ /, "", $4); print $4; exit }'
}

theirs() {
    output=$(fio --name=null --ioengine=null --rw=randread --bs=4k --size=1g --iodepth=128 \
        --iodepth_batch=128 --iodepth_batch_complete_min=128 --norandommap \
        --random_generator=tausworthe --time_based "--runtime=$runtime" "--cpus_allowed=$cpu" \
        --output-format=json) || fail "fio failed with exit code $?"
    echo "$output" | sed -n 's/^ *"iops" : \([0-9.]*\),*/\1/p' | head -n 1
}

# A number above zero, or the end.
checked() {
    echo "$2" | awk '$1 + 0 > 0 { found = 1 } END { exit !found }' || fail "$1 told no IOPS: '$2'"
}

# The median of the words that are given; of an even count the mean of the middle two.
median() {
    printf '%s\n' "$@" | sort -n | awk '{ v[NR] = $1 }
        END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

if command -v fio >/dev/null 2>&1; then with_fio=yes; else with_fio=; fi
all_ours='' all_ratios=''
echo "| pair | diskspd IOPS | fio IOPS | ratio |"
echo "|---:|---:|---:|---:|"
for pair in $(seq "$pairs"); do
    a=$(ours)
    checked diskspd "$a"
    all_ours="$all_ours $a"
    if [ -n "$with_fio" ]; then
        b=$(theirs)
        checked fio "$b"
        ratio=$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.2f", a / b }')
        all_ratios="$all_ratios $ratio"
        printf '| %d | %.0f | %.0f | %s |\n' "$pair" "$a" "$b" "$ratio"
    else
        printf '| %d | %.0f | not installed | |\n' "$pair" "$a"
    fi
done
# Split into words on purpose.
# shellcheck disable=SC2086
printf 'median of diskspd: %.0f IOPS\n' "$(median $all_ours)"
if [ -n "$with_fio" ]; then
    # shellcheck disable=SC2086
    printf 'median of the ratios: %.2f\n' "$(median $all_ratios)"
fi
