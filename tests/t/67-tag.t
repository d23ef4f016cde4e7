#!/bin/sh
# The tag helper: every answer as the protocol says, at once, and none to what is no trace.
# shellcheck disable=SC2016,SC2094,SC2317
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
export IOPS
in="$DATA/blktrace/tag"
[ "$DATA" ] || in="$ROOT/tests/data/blktrace/tag"
drive() { /usr/bin/python3 "$ROOT/tests/tagdrive.py" "$@"; }
tag() { "$IOPS" tag-by-pid "$@"; }
same() { cmp "$1" "$2"; }
zcat "$in/mix-sorted.in.gz" >mix
cp "$in/cc.in" cc

# The captures.
tag <cc >out
ok "cc: byte for byte" same out "$in/cc.out"
tag <mix >out
ok "mix: byte for byte" same out "$in/mix-sorted.nogroups.out"
ok "the test's model says the same of cc" sh -c 'python3 "$1" model cc | cmp - "$2"' - "$ROOT/tests/tagdrive.py" "$in/cc.out"
ok "and of mix" sh -c 'python3 "$1" model mix | cmp - "$2"' - "$ROOT/tests/tagdrive.py" "$in/mix-sorted.nogroups.out"
tag -g fiogrp:210 -g writers:207,212 <mix >out
is "groups: as many bytes" "$(wc -c <out)" 3276
is "their labels are their names" "$(grep -a -c -e 'fiogrp' -e 'writers' out)" 1
drive model mix -g fiogrp:210 -g writers:207,212 >want
ok "byte for byte" same out want
tag --group=fiogrp:210 --group writers:207 -g writers:212 <mix >out
ok "a group is given in parts as well" same out want
tag -g old:210,207 -g fiogrp:210 -g writers:207,212 <mix >out
ok "a pid in two groups is in the last" same out want
is "a name may hold blanks and colons come first" "$(tag -g 'my group:210' <mix | grep -a -c 'my group')" 1

# A host that waits for every answer.
for f in cc mix; do
	all=$(drive model $f | wc -c)
	is "$f: lockstep" "$(drive step $f)" "$(drive step $f | sed 's/ .*//') records, status 0"
	is "$f: byte by byte" "$(drive bytes $f)" "$(drive step $f)"
	ok "$f: the answers were not nothing" test "$all" -gt 100
done
is "mix: 451 records" "$(drive step mix)" "451 records, status 0"
is "lockstep with groups" "$(drive step mix -g fiogrp:210 -g writers:207,212)" "451 records, status 0"

# Both byte orders and versions.
drive swapped mix >swapped; drive wide mix >wide
drive wide swapped >wide2
is "the other byte order is answered in it" "$(drive step swapped)" "451 records, status 0"
is "version 8" "$(drive step wide)" "451 records, status 0"
is "byte by byte too" "$(drive bytes wide)" "451 records, status 0"
tag <wide >out
ok "and gives what version 7 gives" same out "$in/mix-sorted.nogroups.out"
ok "converted twice as well" same wide wide2
cat mix wide mix >both
is "the versions may follow one another" "$(drive step both)" "1353 records, status 0"
cat mix swapped >both
tag <both >out 2>err
is "the byte orders may not" $? 3
ok "up to there all is answered" same out "$in/mix-sorted.nogroups.out"

# Records that captures seldom hold.
record() { # action pid payload...
	python3 -c '
import struct, sys
p = sys.argv[3].encode().decode("unicode_escape").encode("latin1")
sys.stdout.buffer.write(struct.pack("=IIQQIIIIIHH", 0x65617407, 1, 2, 3, 4096, int(sys.argv[1], 16), int(sys.argv[2]), 4, 0, 0, len(p)) + p)' "$@"
}
labels() { tr -c '[:print:]' '\n' | grep '(' | paste -sd ' '; }
record 110001 5 '' >s
is "a process without a name" "$(tag <s | od -An -tx1 | tr -d ' \n')" \
	0100000000000000060000003f2028352900020000000000000000000000
{ record 110001 5 ''; record 4000000 5 'late\0\0\0\0\0\0\0\0\0\0\0\0'; record 110001 5 ''; record 110001 5 ''; } >s
is "named later, it has a new tag" "$(tag <s | labels)" "? (5) late (5)"
{ record 4000000 5 'a\0'; record 110001 5 ''; record 4000000 5 'a\0'; record 420007 5 ''; } >s
is "named again by the same name too" "$(tag <s | labels)" "a (5) a (5)"
{ record 4000000 5 'x'; record 110001 5 ''; record 4000000 6 'sixteen-bytes-xy'; record 110001 6 ''; record 4000000 7 '\0'; record 110001 7 ''
	record 4000000 8 ''; record 110001 8 ''; record 4000000 9 'name\0junk'; record 110001 9 ''; } >s
is "names without an end, without anything, with more" "$(tag <s | labels)" "x (5) sixteen-bytes-x (6)  (7)  (8) name (9)"
{ record 110101 5 '\34\0\0\0\0\0\0\0'; record 420107 5 '\34\0\0\0\0\0\0\0'; } >s
is "requests with a cgroup have tags" "$(tag <s | labels), $(tag <s | wc -c) bytes" "? (5), $((18 + 12 + 12)) bytes"
{ record 4000001 5 '\1\0\0\0\2\0\0\0'; record 4000102 5 'x'; record 4000007 5 ''; record 110002 5 ''; record 110063 5 ''
	record 880008 5 ''; record ffff0007 5 ''; record 0 0 ''; } >s
is "only what is queued or issued has one" "$(tag <s | wc -c)" 32
record 110001 4294967295 '' >s
is "any pid" "$(tag <s | labels)" "? (4294967295)"
record 880008 5 "$(printf '%065535d' 0)" >s
is "the longest payload" "$(tag <s | wc -c)" 4
is "byte by byte" "$(drive bytes s)" "1 records, status 0"
record 4000000 5 'a\377\1b\0' >s; record 110001 5 '' >>s
is "names are bytes" "$(LC_ALL=C tag <s | od -An -c | tr -d ' \n' | grep -c 'a377001b(5)')" 1

# Nothing, and what is no trace.
status "nothing is no error" 0 "$IOPS" tag-by-pid </dev/null
is "and has no answer" "$(tag </dev/null | wc -c)" 0
refused() {	# name words; the stream is s, its good part good
	tag <s >out 2>err
	is "$1: status" $? 3
	is "$1: one line that says it" "$(grep -c "^iops: standard input: .*$2" err)/$(wc -l <err)" 1/1
	drive model good >want
	ok "$1: what came before is answered" same out want
}
: >good
echo 'not a block trace at all, whatever it may hold' >s
refused "a text" 'not a block trace'
head -c 100000 /dev/urandom | sed 's/^/x/' >s
refused "noise" 'not a block trace'
printf 'abcd' >s
refused "four bytes" 'not a block trace'
printf 'a' >s
refused "a byte" 'ends in the middle'
{ head -c 1 mix; printf '\0'; tail -c +3 mix; } >s
refused "a magic with a wrong byte" 'not a block trace'
head -c 48 mix | { printf '\006'; tail -c +2; } >s
refused "version 6" 'another version'
size=$(wc -c <mix)
for cut in 1 4 47 48 55; do
	head -c "$cut" mix >s
	refused "cut after $cut bytes" "ends in the middle of a record, at byte $cut"
done
# The first record of mix has 56 bytes, the last one 48.
head -c $((size - 48)) mix >good
head -c $((size - 1)) mix >s
refused "cut in the last record" "at byte $((size - 1))"
{ cat good; printf '\377\276\255\336'; tail -c 44 mix; cat mix; } >s
refused "a damaged magic in the middle" "byte $((size - 48)): no record"
{ cat good; printf '\011tae'; tail -c 44 mix; } >s
refused "a version that is not known" "byte $((size - 48)): .*another version"
# A host that waits gets no answer to that one, but an end.
is "a host in lockstep sees the end at once" "$(drive step s 2>&1 | grep -v ^iops)" "the helper ended: 0 bytes of 4"

# Streams that do not come, and do not go.
status "standard input is closed" 1 sh -c '"$IOPS" tag-by-pid <&-'
ok "and that is said" grep -q '^iops: standard input: ' status.out
status "standard output is closed" 1 sh -c '"$IOPS" tag-by-pid <mix >&-'
ok "and that is said" grep -q '^iops: standard output: ' status.out
if [ -w /dev/full ]; then
	status "standard output is full" 1 sh -c '"$IOPS" tag-by-pid <mix >/dev/full'
	ok "and that is said" grep -q 'cannot write tags to standard output: ' status.out
fi
ok "the reader has gone" sh -c 'mkfifo f; (exec 3<f) & exec 4>f; wait; "$IOPS" tag-by-pid <mix >&4 2>err; test $? = 1 && grep -q "standard output: Broken pipe" err'
status "a folder" 1 sh -c '"$IOPS" tag-by-pid <.'
cat mix mix mix mix mix mix mix mix >repeat; cat repeat repeat repeat >thrice
is "pipes that are full, empty and slow" "$(drive slow thrice)" "equal status 0"
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null && ! grep -q __asan_init "$IOPS"; then
	strace -o /dev/null -e inject=read:error=EINTR:when=20+3 -e inject=write:error=EINTR:when=1+2 "$IOPS" tag-by-pid <mix >out
	ok "calls that are interrupted" same out "$in/mix-sorted.nogroups.out"
else
	skip "calls that are interrupted: no strace"
fi

# Many processes, and without end.
drive many cc 3000 >many
is "many processes" "$(drive pipe many)" "equal status 0"
is "some of them in a group" "$(drive pipe many -g "some:$(seq -s, 100500 2 102000)" -g one:100001)" "equal status 0"
if grep -q __asan_init "$IOPS"; then
	skip "memory: the program is instrumented"
else
	drive many cc 1000000 | (prlimit --as=$((80 << 20)) "$IOPS" tag-by-pid; echo "status $?" >memory) | tail -c 12 | od -An -tu4 >out
	is "a million processes are answered in 80 MiB" "$(cat memory)" "status 0"
	is "each with its tags" "$(awk '{ print $1, $3 }' out)" "2 0"
fi

# Wrong usage.
for g in '' : name name: :12 name:x name:1,x "name:1," name:,1 name:1,,2 'name: 1' name:-1 name:+1 name:1.5 name:0x10 name:2147483648 \
	name:99999999999999999999999 'name:1 ' name:1:2; do
	tag -g "$g" <mix >out 2>err
	is "-g '$g' is refused" "$?, $(wc -c <out) bytes, $(grep -c -F -- "iops: --group $g: not NAME:PID[,PID...]" err) of $(wc -l <err)" "2, 0 bytes, 1 of 1"
done
status "-g without a value" 2 "$IOPS" tag-by-pid -g
status "a word too many" 2 "$IOPS" tag-by-pid -g a:1 file
ok "which is named" grep -q 'unexpected file' status.out
status "an option of others" 2 "$IOPS" tag-by-pid --json
status "pids to the last" 0 "$IOPS" tag-by-pid -g a:0,1,2147483647 </dev/null
ok "help" sh -c '"$IOPS" help tag-by-pid | grep -q -- "--group NAME:PID" && "$IOPS" help | grep -q "^  tag-by-pid "'
plan
