#!/bin/sh
# Block traces that are hard: I/O that never ends, records out of order, numbers and times
# that are damaged in a stream of all CPUs.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
TOOL=$ROOT/tests/help
block='j["layers"]["block"]'
make() { /usr/bin/python3 "$TOOL/blkmake.py" "$@"; }

# A queue of any length costs each event the same.
ms() { /usr/bin/python3 - "$@" <<'END'
import subprocess, sys, time
least = 1e9
for _ in range(3):
    start = time.time()
    subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
    least = min(least, time.time() - start)
print(int(least * 1000))
END
}
for kind in queued issued back; do
	make $kind 10000 >little
	make $kind 100000 >much
	a=$(ms "$IOPS" report little) b=$(ms "$IOPS" report much)
	ok "$kind: ten times as many take no more than 30 times as long ($a ms, $b ms)" test "$b" -le $((30 * a + 300))
done
"$IOPS" report --json -o x.json much
is "put back and issued again, all are complete" "$(json x.json "[${block}[k]['write']['operations'] for k in ('queued', 'issued', 'requeued', 'completed')]")" "[100000, 200000, 100000, 100000]"
make queued 400000 | "$IOPS" report --json -o x.json - && peak=$( (make queued 400000; make queued 400000) | /usr/bin/python3 -c '
import resource, subprocess, sys
subprocess.run([sys.argv[1], "report", "-q", "-o", "/dev/null", "-"], stdin=sys.stdin, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' "$IOPS")
ok "what never ends is forgotten some time ($peak MiB)" test "$peak" -lt 150

# What is out of order is put in order, and nothing of it is missing.
keep='{k: v for k, v in j.items() if k not in ("run", "reported_at")}'
for kind in ordinary shuffled; do
	make $kind 3000 | "$IOPS" report --json -o $kind.json - 2>err.txt; is "$kind: status" $? 0
	json $kind.json "$keep" >$kind.txt
done
ok "shuffled: the same" cmp ordinary.txt shuffled.txt
is "... and nothing is lost" "$(json shuffled.json '(j["run"]["lost"], j["run"]["complete"])')" "(0, True)"
make holes 1000 | "$IOPS" report --json -o x.json - 2>err.txt; is "holes: status" $? 3
is "holes: what is truly missing" "$(json x.json 'j["run"]["lost"]')" 299
ok "... is said" grep -q "299 records are missing by their numbers" err.txt
make restart 100 | "$IOPS" report --json -o x.json - 2>err.txt; is "two traces, one behind the other: status" $? 0
is "... lose nothing" "$(json x.json 'j["run"]["lost"]')" 0
make number 100 | "$IOPS" report --json -o x.json - 2>err.txt; is "two damaged numbers" "$? $(json x.json 'j["run"]["lost"]')" "0 0"

# One damaged time in a stream.
make ordinary 3000 >good
"$IOPS" report --json -o good.json good
for change in 'high 3000 5000000000' 'low 3000 -1000000000' 'far 7000 4611686018427387904' 'little 4001 500000' 'last 8999 4611686018427387904'; do
	# shellcheck disable=SC2086
	set -- $change
	/usr/bin/python3 - "$2" "$3" <<'END'
import struct, sys
data, at = bytearray(open("good", "rb").read()), 48 * int(sys.argv[1]) + 8
data[at:at + 8] = struct.pack("<Q", struct.unpack_from("<Q", data, at)[0] + int(sys.argv[2]))
open("bad", "wb").write(data)
END
	"$IOPS" report --json -o x.json bad 2>err.txt; is "$1: status" $? 3
	is "$1: said, and no more" "$(sed 's/.*byte [0-9]*: //' err.txt)" "1 record has a wrong time and counts at that of the one before; the report covers the rest"
	is "$1: all events are there" "$(json x.json "${block}['events']")" 9000
	is "$1: time is as it was" "$(json x.json '(j["run"]["elapsed_ns"] - '"$(json good.json 'j["run"]["elapsed_ns"]')"') // 10000')" "$([ "$1" = last ] && echo -1 || echo 0)"
done

# Names that come late; numbers that no machine has.
make late 10 | "$IOPS" report --json -l late.iops -o x.json -; is "a late name: status" $? 0
name='[j["by"]["process"][0]["command"], '"$block"'["by"]["process"][0]["command"]]'
is "... is that of all before" "$(json x.json "$name")" "['latecomer', 'latecomer']"
"$IOPS" report --json -o x.json late.iops
is "... in a log, too" "$(json x.json "$name")" "['latecomer', 'latecomer']"
make pids 70000 >many
peak() { /usr/bin/python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' "$@"; }
memory=$(peak "$IOPS" report -q -o /dev/null many 2>err.txt)
ok "70000 processes in bounded memory ($memory MiB)" test "$memory" -lt 300
ok "... and it is said" grep -q 'more than 65536 processes' err.txt
make devices 70000 >many
memory=$(peak "$IOPS" report -q -o /dev/null many 2>err.txt)
ok "70000 devices in bounded memory ($memory MiB)" test "$memory" -lt 100
ok "... and that the rest has no sums of its own is said" grep -q "more than 4096 devices" err.txt
"$IOPS" report --json -o x.json many
is "... and no event is lost" "$(json x.json "${block}['events']")" 210000
plan
