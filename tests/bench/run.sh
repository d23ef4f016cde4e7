#!/bin/sh
# Ratios against the bare program and against strace, in the same run, both ways round.
# Times of their own mean little on a shared machine; N and ROUNDS set how much is done.
IOPS=${IOPS:-$PWD/build/iops} HELP=${HELP:-$PWD/build/help} BENCH=${BENCH:-$PWD/build/bench}
N=${N:-100000} ROUNDS=${ROUNDS:-5}
here=$(cd "${0%/*}" && pwd)
dir=$(mktemp -d) || exit 1
cd "$dir" || exit 1
trap 'cd /; rm -rf "$dir"' EXIT

ms() {		# command...: milliseconds that it takes
	from=$(date +%s%N); "$@" >/dev/null 2>&1 || echo "failed: $*" >&2; to=$(date +%s%N)
	echo $(((to - from) / 1000))
}
compare() {	# title A B: each a command line; median of B over A
	: >a; : >b
	for i in $(seq "$ROUNDS"); do
		# shellcheck disable=SC2086
		if [ $((i % 2)) = 0 ]; then ms $2 >>a; ms $3 >>b; else ms $3 >>b; ms $2 >>a; fi
	done
	A=$(sort -n a | sed -n "$(((ROUNDS + 1) / 2))p") B=$(sort -n b | sed -n "$(((ROUNDS + 1) / 2))p")
	awk -v t="$1" -v a="$A" -v b="$B" 'BEGIN { printf "%-66s %6.2f   (%.1f ms, %.1f ms)\n", t, b / a, b / 1000, a / 1000 }'
}
strace="strace -f --seccomp-bpf -e trace=read,write -o /dev/null"
iops="$IOPS run -q -o /dev/null --"
compare "$N one-byte reads and writes: iops over strace --seccomp-bpf" "$strace $HELP/loop io $N" "$iops $HELP/loop io $N"
compare "... both kept on one CPU" "taskset -c 0 $strace $HELP/loop io $N" "taskset -c 0 $iops $HELP/loop io $N"
if [ "$(id -u)" = 0 ] && chmod 777 . && cp "$IOPS" "$HELP/loop" . ; then
	nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	compare "... iops without leave to follow its tracee's CPU, over with it" \
		"$iops ./loop io $N" "setpriv --bounding-set -sys_nice --inh-caps -sys_nice $iops ./loop io $N"
	compare "... without privileges, over strace likewise" "$nobody $strace ./loop io $N" "$nobody ./iops run -q -o /dev/null -- ./loop io $N"
fi
compare "calls that are no I/O: iops over bare" "$HELP/loop other $((N * 50))" "$iops $HELP/loop other $((N * 50))"
compare "nothing at all: iops run true over true" "true" "$iops true"
alone=$($iops "$HELP/loop" idle 20000 0) among=$($iops "$HELP/loop" idle 20000 2000)
awk -v a="$alone" -v b="$among" 'BEGIN { printf "%-66s %6.2f\n", "a busy thread among 2,000 idle ones, over alone", b / a }'
# shellcheck disable=SC2046
$iops "$HELP/loop" pair 3 | awk '{ printf "%-66s %6.2f\n", "two equal busy threads: one over the other", $1 / $2 }'
compare "the same with a log, over without" "$iops $HELP/loop io $N" "$IOPS run -q -o /dev/null -l run.iops -- $HELP/loop io $N"
# Text of strace: how fast it is read, beside counting its words.
strace -f -ttt -T -o one "$HELP/mkio" -o w -t 4 'write f%t 100*2000' 'read f%t 64*2000' 'pwrite g%t 4096*500 7'
for i in $(seq "$((${MB:-100} * 1000000 / $(stat -c %s one)))"); do cat one; done >text
compare "$(($(stat -c %s text) / 1000000)) MB of strace text: iops report over wc -w" "wc -w text" "$IOPS report -q text"
awk -v s="$(stat -c %s text)" -v us="$B" 'BEGIN { printf "%-66s %6.0f\n", "... MB a second", s / us }'
# A block trace of many events, in order; both print what they do by default.
/usr/bin/python3 "$here/../help/blkgrow.py" "$here"/../data/blktrace/mix/mix.blktrace.? "${REPEAT:-4000}" >trace
printf '#!/bin/sh\nexec blkparse -i - <trace\n' >blkparse.sh
chmod +x blkparse.sh
compare "$((439 * ${REPEAT:-4000})) block events: blkparse over iops report" "$IOPS report trace" "./blkparse.sh"
awk -v n="$((439 * ${REPEAT:-4000}))" -v us="$A" 'BEGIN { printf "%-66s %6.1f\n", "... million events a second", n / us }'
"$BENCH"
