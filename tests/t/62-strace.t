#!/bin/sh
# shellcheck disable=SC2086,SC2016,SC2046
# Text of strace with many sets of options: each says what mkio knows it did.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
command -v strace >/dev/null || skip_all "no strace here"
export GLIBC_TUNABLES=glibc.malloc.arena_max=1

imported() {	# name strace-options... -- mkio-options... ops...
	title=$1; shift
	rm -rf w s; mkdir w s
	opts=
	while [ "$1" != -- ]; do opts="$opts $1"; shift; done
	shift
	case $opts in
	*2*) (cd w && strace ${opts%2} "$HELP/mkio" -o ../want.json "$@" 2>../s/out) ;;
	*) (cd w && strace $opts -o ../s/out "$HELP/mkio" -o ../want.json "$@") ;;
	esac
	"$IOPS" report --json s/* >got.json 2>err.txt || echo "status $?" >>err.txt
	is "strace$opts, $title: all of it is read" "$(cat err.txt)" ""
	ok "strace$opts, $title" /usr/bin/python3 "$ROOT/tests/compare.py" want.json got.json w
}

all='write@f@4096*20|read@f@512*80|pwrite@f@100*3@5|pread@f@100*4@50|readv@f@300*5|writev@g@300*5|
preadv@f@60*5@10|pwritev@g@60*5@10|preadv2@f@60*3@-1|pwritev2@g@60*3@-1|append@h@77*9|sendfile@f@s@1000*3|
copy_file_range@f@c@1000*3|splice@f@512*4|tee@100*3|vmsplice@4096*2|pipe@1000*5|pipe_again@4|sock@200*6|
send@200*6|sendmsg@100*5|mmsg@50*20|peek@30*4|trunc_dgram@3|udp@100*4|tcp@1000*5|pty@20*3|zero@4096*5|
null@100*5|eventfd@3|memfd@1000*4|eof@f@3|badf@3|isdir@2|rdonly@f@2|fsync@f@2|fdatasync@f@2|
sync_file_range@f@1|msync@1|syncfs@f@1|openfail@3|stat@f@2|unlinked@u@10*3|dup@d@10*4|scm@p@10*3|
openat_rel@.@rel@10*2|write@f@0*3|write@f@1*7'
words() { echo "$all" | tr -d '\n' | tr '@' ' '; }

for opts in "-f" "-f -ttt -T -y" "-f -tt -yy -v" "-f -r -x -s 30" "-f -xx -i -n" "-ff -ttt -y" \
	"-f -t -s 4096 -C -q 2" "-f -T -y 2" "-ff -y" "-f -ttt -y -a 1 -X verbose"; do
	strace $opts -o /dev/null true 2>/dev/null || case $opts in
	*2) ;;
	*) skip "this strace does not know $opts"; continue ;;
	esac
	OLDIFS=$IFS; IFS='|'
	set -- $(words)
	IFS=$OLDIFS
	imported "all calls" $opts -- "$@"
	imported "8 threads" $opts -- -t 8 'write f%t 100*50' 'read f%t 100*50' 'pipe 10*5'
	imported "forks and execs" $opts -- -f 3 -x 2 'write f%t 100*20' 'read f%t 64*20' 'send 10*5'
	imported "spawn, short threads" $opts -- 'vfork 3' 'fork 5' 'thread_storm 20' 'spawn 2'
	imported "signals" $opts -- -S 300 -t 4 'write f%t 100*100' 'pipe 10*20' 'blockread 20000 3'
done
# Stacks take strace a second a call.
imported "stacks" -f -T -k -y -- 'write f 100*3' 'read f 64*4' 'pipe 10*2'
plan
