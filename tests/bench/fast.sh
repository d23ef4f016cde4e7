#!/bin/sh
# shellcheck disable=SC2034,SC2086,SC2154
# The fast path against the bare program and strace, in the same run, in turn: what an
# operation costs, and how much longer real programs take. ROUNDS: how often. "filter" is
# a seccomp program that looks where calls come from and does nothing: the kernel's part.
IOPS=${IOPS:-$PWD/build/iops} HELP=${HELP:-$PWD/build/help}
ROUNDS=${ROUNDS:-7} N=${N:-1000000}
dir=$(mktemp -d) || exit 1
src=$(cd "$(dirname "$0")/../.." && pwd)
cd "$dir" || exit 1
trap 'cd /; rm -rf "$dir"' EXIT
iops="$IOPS run -q -o /dev/null --"
logs="$IOPS run -q -o /dev/null -l run.iops --"
filter="$HELP/filtered"
strace="strace -f --seccomp-bpf -e trace=read,write,pread64,pwrite64,readv,writev -o /dev/null"

middle() { sort -n "$1" | sed -n "$((($(wc -l <"$1") + 1) / 2))p"; }

# A command that stands still until it is attached to.
attached() {
	# shellcheck disable=SC2016
	sh -c 'kill -STOP $$; exec "$@"' sh "$@" & pid=$!
	until grep -q '^State:.T' /proc/$pid/status; do sleep 0.01; done
	$IOPS attach -q -o /dev/null $pid & tracer=$!
	while grep -q '^TracerPid:.0' /proc/$pid/status; do sleep 0.01; done
	sleep 0.1
	kill -CONT $pid
	wait $pid $tracer
}

# What an operation costs, by the program's own clock: least, and in the middle.
each() {	# title SIZE N rw|file
	rm -f ns.*
	for _ in $(seq "$ROUNDS"); do
		"$HELP/loop" "$4" "$3" "$2" >>ns.bare
		$iops "$HELP/loop" "$4" "$3" "$2" >>ns.iops
		$filter "$HELP/loop" "$4" "$3" "$2" >>ns.filter
		attached "$HELP/loop" "$4" "$3" "$2" >>ns.attach
		$logs "$HELP/loop" "$4" "$3" "$2" >>ns.log
		taskset -c 0 "$HELP/loop" "$4" "$3" "$2" >>ns.bare1
		taskset -c 0 $iops "$HELP/loop" "$4" "$3" "$2" >>ns.iops1
		$strace "$HELP/loop" "$4" $(($3 / 50)) "$2" >>ns.strace
	done
	for what in bare iops filter attach log strace bare1 iops1; do
		echo "$what $(sort -n ns.$what | head -1) $(middle ns.$what)"
	done | awk -v t="$1" '
		{ least[$1] = $2; mid[$1] = $3 }
		function over(k, b) { return sprintf("+%.0f ns (least %.0f), %.2f times", mid[k] - mid[b], least[k] - least[b], mid[k] / mid[b]) }
		END {
			printf "%-28s bare %.0f ns; iops %s\n", t, mid["bare"], over("iops", "bare")
			printf "%-28s a filter alone %s\n", "", over("filter", "bare")
			printf "%-28s attached to %s\n", "", over("attach", "bare")
			printf "%-28s with the log %s\n", "", over("log", "bare")
			printf "%-28s strace %s: %.0f times iops\n", "", over("strace", "bare"), (mid["strace"] - mid["bare"]) / (mid["iops"] - mid["bare"])
			printf "%-28s all on one CPU: iops %s\n", "", over("iops1", "bare1")
		}'
}
# Of /dev/zero and /dev/null, which do as little as can be; and of a file in memory.
each "1 byte" 1 "$N" rw
each "4 KiB" 4096 $((N / 4)) rw
each "64 KiB" 65536 $((N / 20)) rw
each "4 KiB of a file" 4096 $((N / 4)) file
each "64 KiB of a file" 65536 $((N / 20)) file

# Requests of io_uring and of Linux AIO. strace sees the calls alone.
requests() {	# title N DEPTH calls helper [file]
	rm -f ns.*
	for _ in $(seq "$ROUNDS"); do
		"$HELP/$5" loop $6 "$2" "$3" >>ns.bare
		$iops "$HELP/$5" loop $6 "$2" "$3" >>ns.iops
		strace -f --seccomp-bpf -e trace="$4" -o /dev/null "$HELP/$5" loop $6 $(($2 / 10)) "$3" >>ns.strace
	done
	echo "$(middle ns.bare) $(middle ns.iops) $(middle ns.strace)" | awk -v t="$1" '
		{ printf "%-28s bare %.0f ns; iops +%.0f ns, strace +%.0f: %.1f times iops\n", t, $1, $2 - $1, $3 - $1, ($3 - $1) / ($2 - $1) }'
}
if "$HELP/flights" loop 1 1 >/dev/null 2>&1; then
	requests "io_uring, one at a time" 100000 1 io_uring_enter flights
	requests "io_uring, 32 at a time" 200000 32 io_uring_enter flights
fi
if "$HELP/submits" loop aio.tmp 1 1 >/dev/null 2>&1; then
	requests "Linux AIO, one at a time" 100000 1 io_submit,io_getevents submits aio.tmp
	requests "Linux AIO, 32 at a time" 200000 32 io_submit,io_getevents submits aio.tmp
fi

ms() {		# command: milliseconds that it takes
	from=$(date +%s%N); sh -c "$1" >/dev/null 2>&1 || echo "failed: $1" >&2; to=$(date +%s%N)
	echo $(((to - from) / 1000))
}
program() {	# title, what to do before, command
	rm -f us.*
	for i in $(seq "$ROUNDS"); do
		for what in bare iops filter $([ "$i" -gt 2 ] || echo strace); do
			eval "with=\$$what"
			eval "$2"
			ms "$with $3" >>us.$what
		done
	done
	for what in bare iops filter strace; do echo "$what $(sort -n us.$what | head -1) $(middle us.$what)"; done | awk -v t="$1" '
		{ least[$1] = $2; mid[$1] = $3 }
		END { printf "%-28s iops %.2f times bare (least %.2f), a filter alone %.2f, strace %.1f   (%.0f ms)\n", t,
			mid["iops"] / mid["bare"], least["iops"] / least["bare"], mid["filter"] / mid["bare"],
			least["strace"] / least["bare"], mid["bare"] / 1000 }'
}
bare=
cp -r /usr/include tree
git init -q repo && cp -r tree/linux repo/a && cp -r tree/linux repo/b && cd repo && git add . &&
	git -c user.name=a -c user.email=a@b commit -qm all && cd ..
for i in $(seq 30); do
	echo "$i" >repo/f; git -C repo add f; git -C repo -c user.name=a -c user.email=a@b commit -qm "$i"
done
git init -q big && for i in 1 2 3; do cp -r tree big/$i; done && git -C big add . &&
	git -C big -c user.name=a -c user.email=a@b commit -qm all
awk 'BEGIN { print "create table t(a primary key, b);"; for (i = 0; i < 3000; i++) print "insert into t values(" i ", " i * 7 % 1000 ");"; print "select sum(b) from t;" }' >in.sql
cat >walk.py <<'EOP'
import os
for d, _, names in os.walk("tree"):
    for n in names:
        if os.path.isfile(os.path.join(d, n)):
            with open(os.path.join(d, n), "rb") as f:
                sum(map(len, f))
EOP
cat >in.c <<'EOP'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
int main(void) { char b[99]; return snprintf(b, sizeof(b), "%d", rand()) > 98; }
EOP
program "tar" "rm -f in.tar" "tar cf in.tar tree"
program "tar into a pipe" : "sh -c 'tar cf - tree | cat'"
program "tar from a pipe" "rm -rf out; mkdir out; tar cf in.tar tree" "sh -c 'cat in.tar | tar xf - -C out'"
# In a directory of its own: what a new file costs goes by how many there were before.
program "sqlite3, 3,000 transactions" "rm -rf db; mkdir db" "sqlite3 -cmd 'pragma synchronous=off' db/x.db '.read in.sql'"
# The interpreter itself, not a script that looks for one.
python=$(python3 -c 'import sys; print(sys.executable)')
program "python3 reads a tree" : "$python walk.py"
program "cp -r" "rm -rf out" "cp -r tree out"
program "git status" : "git -C repo status"
program "git status, 25,000 files" : "git -C big status"
program "git log -p" : "git -C repo log -p"
program "gcc -O2 -c" : "gcc -O2 -c in.c -o in.o"
program "gcc -O2 -c, 450 lines" : "gcc -std=gnu11 -D_GNU_SOURCE -O2 -I$src/include -c $src/src/source/ptrace/fast/paths.c -o in.o"
mkdir mk && for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sed "s/main/main$i/" in.c >mk/f$i.c; done
cat >mk/Makefile <<'EOM'
all: $(patsubst %.c,%.o,$(wildcard *.c))
%.o: %.c
	gcc -O2 -c $< -o $@
EOM
program "make, 12 files by gcc" "rm -f mk/*.o" "make -s -C mk"
cat >redirects.sh <<'EOS'
i=0
while [ $i -lt 10000 ]; do
	echo $i >>redirected
	i=$((i + 1))
done
EOS
cat >spawns.sh <<'EOS'
for i in 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9; do
	for x in $(echo a b c | sed 's/b/d/'); do
		(echo "$i$x" | cat) >spawned
	done
done
EOS
program "sh, 10,000 redirections" "rm -f redirected" "sh redirects.sh"
program "sh, 80 pipes" : "sh spawns.sh"
program "4 threads append to a file" : "$HELP/loop append 50000 4"
program "3,000 threads, 10 reads each" : "$HELP/births ops 3000 16 10"
program "true" : "true"

# Requests a second: the server below iops, the client not.
redis() {	# command that runs the server
	$1 redis-server --port 7611 --save '' --appendonly no >/dev/null 2>&1 &
	for _ in $(seq 100); do redis-cli -p 7611 ping >/dev/null 2>&1 && break; sleep 0.05; done
	redis-benchmark -p 7611 -n 60000 -c 20 -t set,get --csv 2>/dev/null | awk -F'"' 'NR > 1 { n += $4 } END { print n / 2 }'
	redis-cli -p 7611 shutdown nosave >/dev/null 2>&1
	wait
}
rm -f rps.*
for _ in $(seq "$ROUNDS"); do redis "" >>rps.bare; redis "$iops" >>rps.iops; done
redis "$strace" >rps.strace
awk -v b="$(middle rps.bare)" -v i="$(middle rps.iops)" -v s="$(cat rps.strace)" 'BEGIN { printf "%-28s %.2f times bare in time a request, strace %.1f   (%.0f requests a second)\n", "redis, set and get", b / i, b / s, b }'
