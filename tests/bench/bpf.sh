#!/bin/sh
# shellcheck disable=SC2086
# The eBPF backend against the bare program: what an operation costs and whether any is
# lost, how long loading takes, and what tracing a whole machine that does nothing costs.
IOPS=${IOPS:-$PWD/build/iops} HELP=${HELP:-$PWD/build/help}
ROUNDS=${ROUNDS:-7} N=${N:-2000000}
"$IOPS" doctor --json | tr -d ' \t\n' | grep -q '"name":"bpf","status":"works"' ||
	{ echo "eBPF: skipped, it takes root and a kernel with BTF"; exit 0; }
dir=$(mktemp -d) || exit 1
cd "$dir" || exit 1
trap 'cd /; rm -rf "$dir"' EXIT

lost() { tr -d ' \t\n' <"$1" | grep -o '"lost":[0-9]*' | head -1 | cut -d: -f2; }
for _ in $(seq "$ROUNDS"); do
	"$HELP/loop" rw "$N" 1 >>ns.bare
	"$IOPS" run -b bpf -q -o r.json -- "$HELP/loop" rw "$N" 1 >>ns.bpf
	lost r.json >>lost.bpf
	"$IOPS" trace --layers fs --aggregate -q -o r.json -- "$HELP/loop" rw "$N" 1 >>ns.sums
	lost r.json >>lost.sums
	from=$(date +%s%N); "$IOPS" run -b bpf -q -o /dev/null -- true; to=$(date +%s%N)
	echo $(((to - from) / 1000000)) >>ms.calls
	from=$(date +%s%N); "$IOPS" trace --layers all -q -o r.json -- true; to=$(date +%s%N)
	echo $(((to - from) / 1000000)) >>ms.all
done
middle() { sort -n "$1" | sed -n "$((($(wc -l <"$1") + 1) / 2))p"; }
sum() { awk '{ n += $1 } END { print n }' "$1"; }
for what in bpf sums; do
	awk -v b="$(middle ns.bare)" -v i="$(middle ns.$what)" -v bl="$(sort -n ns.bare | head -1)" \
		-v il="$(sort -n ns.$what | head -1)" -v l="$(sum lost.$what)" -v n="$N" -v r="$ROUNDS" -v w="$what" 'BEGIN {
		printf "%-28s bare %.0f ns; iops +%.0f ns (least %.0f), %.1f million a second, %d of %.0f lost\n",
			w == "bpf" ? "1 byte, -b bpf" : "1 byte, --aggregate", b, i - b, il - bl, 1000 / i, l, 2 * n * r }'
done
echo "start, work and end of true   -b bpf $(middle ms.calls) ms, trace of every layer $(middle ms.all) ms"

# By the time that the tracer itself and the programs in the kernel take, once they run.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
programs() { bpftool prog show 2>/dev/null | grep -o 'run_time_ns [0-9]*' | awk '{ n += $2 } END { print n / 1e9 }'; }
sysctl -q kernel.bpf_stats_enabled=1 2>/dev/null
"$IOPS" trace -d 14 -q -o idle.json & iops=$!
sleep 3
tracer=$(pgrep -P $iops | head -1) t0=$(ticks "${tracer:-$iops}") p0=$(programs)
sleep 10
t1=$(ticks "${tracer:-$iops}") p1=$(programs)
sysctl -q kernel.bpf_stats_enabled=0 2>/dev/null
wait $iops
awk -v t=$((t1 - t0)) -v hz="$(getconf CLK_TCK)" -v p="$p0 $p1" 'BEGIN { split(p, a, " ")
	printf "%-28s the tracer %.2f %%, its programs %.2f %% of a CPU\n", "the whole machine, idle", 100 * t / hz / 10, 100 * (a[2] - a[1]) / 10 }'
