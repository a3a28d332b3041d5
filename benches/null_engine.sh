#!/bin/sh
# I/Os per second of one pinned thread at queue depth 128 with latency on, against an engine that does
# nothing: the cost of the tool itself. With fio installed: A B A B, and the median of the ratios.
set -eu
diskspd=$1
pairs=${PAIRS:-5}
ours() {
    "$diskspd" --engine=null -b4K -r -o128 -t1 -a0 -d1 -W0 -L -f1G null |
        awk -F'|' '/^total:/ { gsub(/ /, "", $4); print $4; exit }'
}
theirs() {
    fio --name=null --ioengine=null --rw=randread --bs=4k --size=1g --iodepth=128 --norandommap \
        --random_generator=tausworthe --time_based --runtime=1 --cpus_allowed=0 \
        --output-format=json | sed -n 's/^ *"iops" : \([0-9.]*\),*/\1/p' | head -n 1
}
echo "| pair | diskspd IOPS | fio IOPS | ratio |"
echo "|---|---|---|---|"
for pair in $(seq "$pairs"); do
    a=$(ours)
    if command -v fio >/dev/null 2>&1; then b=$(theirs); else b=; fi
    awk -v n="$pair" -v a="$a" -v b="$b" 'BEGIN {
        printf "| %d | %.0f | %s | %s |\n", n, a, b == "" ? "not installed" : sprintf("%.0f", b),
            b == "" ? "" : sprintf("%.2f", a / b) }'
done | tee /dev/stderr | awk -F'|' '$5 + 0 > 0 { r[++n] = $5 + 0 }
    END { if (n) { for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++)
        if (r[j] < r[i]) { t = r[i]; r[i] = r[j]; r[j] = t }
        printf "median of ratios: %.2f\n", r[int((n + 1) / 2)] } }'
