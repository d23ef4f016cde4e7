#!/bin/sh
# shellcheck disable=SC2016,SC2086,SC2317
# Saved traces as no iops writes them, inputs that fail while they are read, and outputs
# that must not take the place of something else.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
DATA=${DATA:-$ROOT/tests/data}
esc=$(printf '\033')

cat >write.py <<'EOP'
import sys
sys.path.insert(0, sys.argv[1])
from logwrite import *
op = lambda **k: {**dict(kind=READ, call=b"read", path=b"/x", pid=5, start=1, dur=1, want=5, ret=5, off=0), **k}
log("long.iops", [op(kind=OTHER, call=c * 3000, ret=-2, off=None) for c in (b"a", b"b", b"c", b"d")])
log("late.iops", [op(), op(start=2**64 - 3)])
log("backend.iops", [op()], {5: b"\033]0;x\a\033[2J"})
log("name.iops", [op(path=b"/" + b"\xff" * 65000)])
log("ident.iops", [op()], ident=b"\xff")
log("lost.iops", [op(), dict(kind=LOST, pid=0, fd=-1, start=2, ret=500)], end={9: 10**9})
for i, host in enumerate((b"alpha", b"beta", b"gamma")):
    at = 1700000000 * 10**9 + i * 10**9
    log(f"m{i}.iops", [op(path=b"/etc/a")], {3: host, 7: at}, ident=b"id-%d" % i)
log("z.iops", [op(path=b"/etc/z", start=5), op(path=b"/etc/z", start=25 * 10**8)],
    {3: b"zeta", 7: 1700000000 * 10**9}, ident=b"id-z")
EOP
/usr/bin/python3 write.py "$ROOT/tests"

status "names of calls may have any length" 0 timeout 60 "$IOPS" report long.iops
ok "... in the table they are cut" grep -q 'errors 4 (a* ENOENT 1' status.out
"$IOPS" report --json -o long.json long.iops
status "... as in a report that is summed" 0 timeout 60 "$IOPS" merge long.json
status "a time at the end of all times gives no rows without end" 0 timeout 20 "$IOPS" report -i 1 -o rows.txt late.iops
ok "... but few" test "$(grep -c ' s ' rows.txt)" -lt 10
fails "what a log says traced it stays out of the terminal" sh -c '"$0" report backend.iops | grep -q "$1"' "$IOPS" "$esc"
for to in csv jsonl avro; do
	status "a name of 65,000 bytes that are no text, to $to" 0 "$IOPS" export --to $to -o name.out name.iops
done
utf8() { /usr/bin/python3 -c 'import json, sys; json.loads(open(sys.argv[1], "rb").read().decode("utf-8"))' "$1"; }
"$IOPS" report --json -o ident.json ident.iops; ok "JSON is UTF-8 whatever a run's id is" utf8 ident.json
odd=$(printf 'o\377.iops'); cp lost.iops "$odd"
"$IOPS" diff --json -o odd.json "$odd" late.iops; ok "... and whatever a file's name is" utf8 odd.json
is "a comparison says what is not whole" "$(/usr/bin/python3 -c 'import json
j = json.loads(open("odd.json", "rb").read())
print([(j[k]["complete"], j[k]["lost"]) for k in "ab"])')" "[(False, 500), (True, 0)]"
for list in ',' ''; do
	for option in pid type by; do
		status "a list that names nothing is none: --$option '$list'" 2 "$IOPS" report --$option "$list" late.iops
	done
done
status "a width beyond all sense" 0 env COLUMNS=99999999999999 "$IOPS" report -o wide.txt late.iops
ok "... is none" test "$(wc -c <wide.txt)" -lt 10000
status "a process id is not cut to one" 2 "$IOPS" report --pid 4294967301 late.iops

# A log of several runs is as good as these.
"$IOPS" report -q -o several.txt -l several.iops m0.iops m1.iops m2.iops
rows() { json "$1" 'sorted((p["pid"], p.get("host"), p["read"]["operations"]) for p in j["by"]["process"]), sorted((f["path"], f.get("host"), f["read"]["operations"]) for f in j["by"]["file"])'; }
"$IOPS" report --json --by process,file -o a.json m0.iops m1.iops m2.iops z.iops
"$IOPS" report --json --by process,file -o b.json several.iops z.iops
is "a log of three hosts beside one of a fourth" "$(rows b.json)" "$(rows a.json)"
hosts() { "$IOPS" export --to jsonl "$@" | /usr/bin/python3 -c 'import json, sys
print([(r["host"], r["run_id"] or "") for r in map(json.loads, sys.stdin)])'; }
is "... exported" "$(hosts several.iops)" "[('alpha', 'id-0'), ('beta', ''), ('gamma', '')]"
is "... exported beside the fourth" "$(hosts several.iops z.iops)" \
	"[('alpha', 'id-0'), ('zeta', 'id-z'), ('beta', ''), ('gamma', ''), ('zeta', 'id-z')]"
"$IOPS" report -q -o same.txt -l same.iops m0.iops m0.iops
is "... where all are of one host" "$(hosts same.iops m0.iops)" "[('alpha', 'id-0'), ('alpha', ''), ('alpha', 'id-0')]"

# Of z.iops: operations at 22:13:20 and two and a half seconds later.
many() { "$IOPS" report --json -o times.json "$@" z.iops && json times.json 'j["total"]["read"]["operations"]'; }
is "until a second later" "$(many --to-time 2023-11-14T22:13:21Z)" 1
is "... by the clock of another place" "$(many --to-time 2023-11-15T00:13:21+02:00) $(many --to-time 2023-11-14T20:43:21.5-01:30)" "1 1"
is "from a part of a second on" "$(many --from-time 2023-11-14T22:13:22.5Z) $(many --from-time 2023-11-14T22:13:22.500000001Z)" "1 0"
is "until long after all logs" "$(many --to-time 2500-01-01T00:00:00Z)" 2
for time in 2600-01-01T00:00:00Z 2023-02-31T00:00:00Z 2023-11-14T22:13:20.5e9Z 2023-11-14T22:13:20+2 \
	2023-11-14T22:13:20+24:00 2023-11-14T22:13:20Zulu 1969-12-31T23:59:59Z; do
	status "no time: $time" 2 "$IOPS" report --from-time $time z.iops
done

# A block that is cut off is whole in what it says of itself.
"$IOPS" run -q -o w.txt -l cut.iops -- "$HELP/mkio" -o w 'write f 10*900'
/usr/bin/python3 -c 'b = open("cut.iops", "rb").read(); i = b.index(b"iop\xb1\x01\x02"); open("cut.iops", "wb").write(b[:i + 200])'
status "a log that is cut within a block" 3 "$IOPS" report --json -o cut.json cut.iops
is "... says how many operations that was to hold" "$(json cut.json 'j["run"]["lost"] >= 900, j["run"]["complete"]')" "(True, False)"
printf 'nothing\n%s\nnor this\n' "$(cat "$DATA/fs_usage/wide.txt")" >bad.txt
status "lines that cannot be read" 3 "$IOPS" report --json --from fs_usage -o bad.json bad.txt
is "... are lost" "$(json bad.json 'j["run"]["lost"]')" 2

# Read up to an error.
yes 'read(3, "", 4096) = 4096' | head -20000 >long.strace
# A sanitizer cannot look for leaks below another tracer.
inject() { ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" strace -o /dev/null -P long.strace -e inject=read:error=EIO:when="$1" "$IOPS" report --json -o eio.json long.strace; }
if command -v strace >/dev/null; then
	status "an error in the middle of a trace" 3 inject 2+
	is "... is said in the report" "$(json eio.json 'j["run"]["complete"], 0 < j["total"]["read"]["operations"] < 20000')" "(False, True)"
	ok "... and in a line" grep -q '^iops: cannot read long.strace any further: Input/output error' status.out
	status "an error at its beginning" 1 inject 1+
else
	skip "no strace here"
fi

# Files of strace -ff that begin on both sides of midnight.
mkdir ff
cat >ff/t.100 <<'EOL'
23:59:58.000000 execve("/bin/x", ["x"], 0x7f /* 1 var */) = 0 <0.000100>
23:59:58.500000 read(0, "a", 1) = 1 <0.000100>
00:00:02.000000 read(0, "a", 1) = 1 <0.000100>
00:00:02.100000 +++ exited with 0 +++
EOL
cat >ff/t.101 <<'EOL'
00:00:01.000000 read(0, "ab", 2) = 2 <0.000100>
00:00:01.100000 +++ exited with 0 +++
EOL
"$IOPS" report --json -o ff.json ff/t.*
is "files on both sides of midnight" "$(json ff.json 'j["run"]["elapsed_ns"]')" 4100000000
is "... in order" "$("$IOPS" export --to jsonl ff/t.* | /usr/bin/python3 -c 'import json, sys; print([r["bytes"] for r in map(json.loads, sys.stdin) if r["kind"] == "read"])')" "[1, 2, 1]"
printf '%s\n' '7 23:59:59.900000 read(0, "a", 1) = 1' '8 00:00:00.000100 read(0, "a", 1) = 1' \
	'7 23:59:59.999900 read(0, "a", 1) = 1' '8 00:00:01.000100 read(0, "a", 1) = 1' >mid.txt
"$IOPS" report --json -o mid.json mid.txt
is "lines out of order at midnight" "$(json mid.json 'j["run"]["elapsed_ns"]')" 1100100000

printf '%s\n' '7 23:59:58.000000 read(0, "a", 1) = 1' '7 00:30:00.000000 read(0, "a", 1) = 1' \
	'7 13:00:00.000000 read(0, "a", 1) = 1' '7 13:10:00.000000 +++ exited with 0 +++' >long.txt
"$IOPS" report --json -o mid.json long.txt
is "half a day without a line" "$(json mid.json 'j["run"]["elapsed_ns"]')" 47402000000000
mkdir at
printf '%s\n' '08:00:00.000000 read(0, "a", 1) = 1' '11:00:00.000000 vfork() = 200' '11:00:05.000000 read(0, "a", 1) = 1' >at/o.100
printf '%s\n' '11:00:00.000001 execve("/bin/x", ["x"], 0x7f) = 0' '11:00:00.500000 +++ exited with 0 +++' >at/o.200
"$IOPS" report --json -o mid.json at/o.*
is "a child that is run by who was attached to" "$(json mid.json 'j["run"]["elapsed_ns"]')" 10805000000000

# What is written is not what is read, by whatever name, and takes nothing's place for nothing.
mkdir mix; cp "$DATA"/blktrace/mix/* mix/ 2>/dev/null
one=$(find mix -name '*.blktrace.0' | head -1)
before=$(cksum <"$one")
status "the report would take the place of a file of a folder" 1 "$IOPS" report -o "$one" mix
status "... an export as well" 1 "$IOPS" export --to csv -o "$one" mix
status "... of standard input" 1 sh -c '"$0" export --to csv -o late.iops - <late.iops' "$IOPS"
is "... and it stays" "$(cksum <"$one")" "$before"
ok "... said in a line" grep -q '^iops: .* is what is to be written as well' status.out
# In a mount namespace of its own.
cat >small.sh <<'EOP'
mkdir small; mount -t tmpfs -o size=64k none small || exit 77
"$IOPS" report --json -o small/r.json late.iops
before=$(cksum <small/r.json)
head -c 60000 /dev/zero >small/full 2>/dev/null
"$IOPS" report --json --by file,process,thread,call,kind,type -o small/r.json several.iops long.iops
echo "$?" "$([ "$(cksum <small/r.json)" = "$before" ] && echo stays)"
EOP
export IOPS
got=$(unshare -m sh small.sh 2>small.err)
case $? in
0) is "no room for a report: the one that is there stays" "$got" "1 stays" ;;
*) skip "no tmpfs can be mounted here" ;;
esac

for what in help --version --help "run --help" "report -h"; do
	status "$what with nowhere to say it" 1 sh -c '"$0" "$@" >&-' "$IOPS" $what
	status "... on a full disk" 1 sh -c '"$0" "$@" >/dev/full' "$IOPS" $what
	ok "... says so" grep -q '^iops: standard output: ' status.out
done
status "an alarm from before the exec is the command's" 142 sh -c 'exec /usr/bin/perl -e "alarm 1; exec @ARGV" "$0" run -q -o alarm.txt -- sleep 5' "$IOPS"
plan
