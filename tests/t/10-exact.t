#!/bin/sh
# shellcheck disable=SC2086,SC2016
# Every count and byte equals what mkio knows it did. TIMES: how often (default 5).
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# Threads that allocate make glibc read how many CPUs there are: not mkio's doing.
export GLIBC_TUNABLES=glibc.malloc.arena_max=1

exact() {	# name program options... ops...
	title=$1 prog=$2; shift 2
	rm -rf w want.json got.json; mkdir w
	(cd w && timeout -s KILL 120 "$IOPS" run ${MODE:+$MODE} --wait --by file,process,thread,type,kind --json \
		-o ../got.json -- "$HELP/$prog" -o ../want.json "$@") || echo "status $?" >fail.txt
	ok "$title ($prog${MODE:+ $MODE})" /usr/bin/python3 "$ROOT/tests/compare.py" want.json got.json
}

all='write@f@4096*20|read@f@512*80|pwrite@f@100*3@5|pread@f@100*4@50|readv@f@300*5|writev@g@300*5|
preadv@f@60*5@10|pwritev@g@60*5@10|preadv2@f@60*3@-1|pwritev2@g@60*3@-1|append@h@77*9|sendfile@f@s@1000*3|
copy_file_range@f@c@1000*3|splice@f@512*4|tee@100*3|vmsplice@4096*2|pipe@1000*5|pipe_again@4|sock@200*6|
send@200*6|sendmsg@100*5|mmsg@50*20|peek@30*4|trunc_dgram@3|udp@100*4|tcp@1000*5|pty@20*3|zero@4096*5|
null@100*5|eventfd@3|memfd@1000*4|eof@f@3|badf@3|isdir@2|rdonly@f@2|fsync@f@2|fdatasync@f@2|
sync_file_range@f@1|msync@1|syncfs@f@1|openfail@3|stat@f@2|unlinked@u@10*3|dup@d@10*4|scm@p@10*3|
openat_rel@.@rel@10*2|write@f@0*3|write@f@1*7'
# The script as words: @ stands for blanks within one.
words() { echo "$all" | tr -d '\n' | tr '@' ' '; }

run_all() {	# name program options...
	title=$1 prog=$2; shift 2
	OLDIFS=$IFS; IFS='|'
	# shellcheck disable=SC2046
	set -- "$@" $(words)
	IFS=$OLDIFS
	exact "$title" "$prog" "$@"
}

for i in $(seq "${TIMES:-5}"); do
	run_all "all calls and file types, round $i" mkio
done
for prog in mkio mkio32 mkio-musl; do
	runs $prog || { skip "$why"; continue; }
	run_all "all calls and file types" $prog
	exact "8 threads" $prog -t 8 'write f%t 100*50' 'read f%t 100*50' 'pipe 10*5'
	exact "64 threads" $prog -t 64 'write f%t 100*20' 'read f%t 100*20'
	exact "forks" $prog -f 5 'write f%t 100*20' 'read f%t 64*20' 'send 10*5'
	exact "execs" $prog -x 3 'write f 100*20' 'read f 64*20'
	exact "a signal every 300 us, SA_RESTART" $prog -s 300 -t 4 'write f%t 100*200' 'pipe 10*50' 'blockread 20000 3'
	exact "a signal every 300 us, EINTR" $prog -S 300 -t 4 'write f%t 100*200' 'pipe 10*50' 'blockread 20000 3'
	exact "vfork, short threads" $prog 'vfork 5' 'fork 10' 'thread_storm 50'
	# musl's posix_spawn() reads from a pipe of its own.
	[ $prog = mkio-musl ] || exact "spawn" $prog 'spawn 3'
done
MODE=--no-filter
run_all "all calls and file types" mkio
if runs mkio32; then run_all "all calls and file types" mkio32; else skip "$why"; fi
exact "8 threads" mkio -t 8 'write f%t 100*50' 'read f%t 100*50'
exact "signals" mkio -S 300 'write f 100*200' 'blockread 20000 3'
exact "forks and execs" mkio -f 3 'write f%t 100*20' 'spawn 2' 'thread_storm 20'
# The first thread goes without a word when another one runs a program. Its last call too
# was made or was not.
usurped() {	# mode threads
	timeout -s KILL 120 "$IOPS" run ${1:+"$1"} --wait --json -o usurped.json -- "$HELP/usurper" usurped 40 "$2" >size.txt || return
	json usurped.json '[sum(f["write"]["bytes"] for f in j["by"]["file"] if f["path"].endswith("/usurped")) == '"$(cat size.txt)"',
		j["run"]["verified"]["unchecked"], j["run"]["verified"]["matched"] == j["run"]["verified"]["threads"]]'
}
for mode in --no-filter $MODES; do
	mode=${mode#default}
	is "an exec from a thread, alone with the first one ${mode:-as usual}" "$(usurped "$mode" 0)" "[True, 0, True]"
	is "... among others" "$(usurped "$mode" 6)" "[True, 0, True]"
done
[ "$BPFMODE" ] || skip "eBPF: it takes root and a kernel with BTF"
for MODE in $MODES $BPFMODE; do
	[ "$MODE" != default ] || continue
	for prog in mkio mkio-musl; do
		runs $prog || { skip "$why"; continue; }
		run_all "all calls and file types" $prog
		exact "8 threads" $prog -t 8 'write f%t 100*50' 'read f%t 100*50' 'pipe 10*5'
		exact "64 threads" $prog -t 64 'write f%t 100*20' 'read f%t 100*20'
		exact "forks" $prog -f 5 'write f%t 100*20' 'read f%t 64*20' 'send 10*5'
		exact "execs" $prog -x 3 'write f 100*20' 'read f 64*20'
		exact "signals" $prog -S 300 -t 4 'write f%t 100*200' 'pipe 10*50' 'blockread 20000 3'
		exact "vfork, short threads" $prog 'vfork 5' 'fork 10' 'thread_storm 50'
	done
	exact "SA_RESTART" mkio -s 300 -t 4 'write f%t 100*200' 'pipe 10*50' 'blockread 20000 3'
	exact "spawn" mkio 'spawn 3'
	if runs mkio32; then run_all "all calls and file types" mkio32; else skip "$why"; fi
done
# What a filter of its own has refused was not made, whatever is found in its place.
for mode in --no-filter --no-patch default; do
	opt=$mode; [ "$mode" != default ] || opt=
	for call in read write fsync; do
		for how in kill killthread trap; do
			# shellcheck disable=SC2086
			timeout -s KILL 60 "$IOPS" run -q $opt --json -o refused.json -- "$HELP/refused" $how $call refused.txt
			echo "$how $? $(json refused.json 'sum(c["all"]["operations"] for c in j["by"]["call"] if c["call"] in ("pwrite64", "'$call'")), j["run"]["verified"]["matched"]')"
		done 2>/dev/null | tr '\n' ' ' >refused.all
		is "$call(2) that is refused ($mode)" "$(cat refused.all)" \
			"kill 159 (10, 1) killthread 159 (10, 1) trap 0 (10, 1) "
	done
done
plan
