#!/bin/sh
# shellcheck disable=SC2016
# Block devices as the kernel's blktrace tells of them, live.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

field() {	# of doctor's row
	"$IOPS" doctor --json >doctor.json
	json doctor.json "[b['$1'] for b in j['backends'] if b['name'] == 'blktrace'][0]"
}

# What can be said without any rights.
status "not with layers that it does not see" 2 "$IOPS" trace -b blktrace --layers cache -d 1
status "... nor filters of what it is not told" 2 "$IOPS" trace -b blktrace --uid 0 -d 1
status "... nor a folder of rows" 2 "$IOPS" trace -b blktrace -o rows.d/ -d 1
status "a node that is none" 2 "$IOPS" trace -b blktrace --device /dev/null -d 1
status "a backend that trace does not know" 2 "$IOPS" trace -b ptrace -d 1
status "eBPF takes one device" 2 "$IOPS" trace --device 8:0 --device 8:16 -d 1
is "a row of the doctor" "$(field status | grep -c -x -E 'works|limited|no')" 1

# Out of reach: one line, which names a way out.
can=$(field status)
if [ "$can" = no ]; then
	"$IOPS" trace -b blktrace -d 1 >cannot 2>&1
	is "where it cannot be had: status" $? 1
	is "... one line" "$(grep -c . cannot)" 1
	ok "... and no report" sh -c '! grep -q complete cannot'
	"$IOPS" trace -b blktrace -- true >cannot 2>&1
	is "... of a command" "$? $(grep -c . cannot)" "125 1"
fi
if [ "$(id -u)" = 0 ] && chmod 755 . && command -v setpriv >/dev/null; then
	setpriv --reuid=65534 --regid=65534 --clear-groups "$IOPS" trace -b blktrace -d 1 >cannot 2>&1
	is "without root: status, one line" "$? $(grep -c 'root' cannot) $(grep -c . cannot)" "1 1 1"
	if unshare -m true 2>/dev/null; then
		unshare -m sh -c 'umount -l /sys/kernel/debug; exec setpriv --reuid=65534 --regid=65534 --clear-groups "$0" trace -b blktrace -d 1' "$IOPS" >cannot 2>&1
		is "... nor debugfs: the same" "$? $(grep -c 'takes root' cannot) $(grep -c iops: cannot)" "1 1 1"
	else
		skip "no mount namespaces"
	fi
else
	skip "no other user"
fi
enough() { skip "$1"; plan; }
[ "$can" = works ] || enough "blktrace: $(field reason)"

truncate -s 64M img
truncate -s 16M img2
LOOP=$(losetup -f --show img 2>/dev/null) || enough "no loop devices"
SECOND=$(losetup -f --show img2)
N=${LOOP#/dev/} M=${SECOND#/dev/} DEV=$(cat "/sys/block/$N/dev")
# shellcheck disable=SC2317 # the trap calls it
clean() {
	cd /
	losetup -d "$LOOP" "$SECOND"
	rm -rf "$DIR"
}
trap clean EXIT
cat >b.py <<'END'
import json, sys
j = json.load(open(sys.argv[1]))
b = j["layers"]["block"]
d = {x["name"]: x for x in b["by"]["device"]}
n = lambda s: (s["operations"], s["bytes"])
t = lambda k: b["latency_ns"][k]["count"]
print(eval(sys.argv[2]))
END
b() { /usr/bin/python3 b.py "$@"; }
trace() { "$IOPS" trace -q -b blktrace --device "$LOOP" "$@"; }
idle() { is "... the device is as before" "$(find "/sys/kernel/debug/block/$N" -maxdepth 1 -name 'trace[0-9]*' | wc -l) $(find /run -maxdepth 1 -name "iops-blktrace-$DEV" | wc -l)" "0 0"; }
begun() {	# until somebody traces it: not long after that it runs
	for _ in $(seq 300); do
		[ -e "/sys/kernel/debug/block/$N/trace0" ] && break
		sleep 0.1
	done
	sleep 0.7
}

# One request each, of this size, there.
trace -o w.json -l w.log -- dd if=/dev/zero of="$LOOP" bs=4096 count=25 seek=3 oflag=direct 2>/dev/null
is "writes: status" $? 0
is "... completed on the device" "$(b w.json "n(d['$N']['write']), n(d['$N']['read'])[1] >= 0, d['$N']['device']")" "((25, 102400), True, '$DEV')"
is "... queued, issued and completed alike" "$(b w.json '[n(b[s]["write"]) for s in ("queued", "issued", "completed")]')" "[(25, 102400), (25, 102400), (25, 102400)]"
is "... in the total, with the process" "$(b w.json 'n(j["total"]["write"]), [(p["command"], n(p["write"])) for p in j["by"]["process"] if p["write"]["operations"]]')" "((25, 102400), [('dd', (25, 102400))])"
is "... and the node" "$(b w.json "[f['path'] for f in j['by']['file']]")" "['$LOOP']"
is "... each with its times" "$(b w.json '[t(k) >= 25 for k in ("q2g", "d2c", "q2c")], b["latency_ns"]["q2c"]["sum"] >= b["latency_ns"]["d2c"]["sum"] > 0')" "([True, True, True], True)"
is "... by blktrace, nothing lost" "$(b w.json 'j["run"]["backend"], j["run"]["lost"], j["run"]["exit"]["code"]')" "('blktrace', 0, 0)"
ok "... matches the schema" /usr/bin/python3 -m jsonschema -i w.json "$ROOT/share/report-1.schema.json"
"$IOPS" report --json w.log >w2.json
is "a log tells the same" "$(json w2.json 'all(j[k] == json.load(open("w.json"))[k] for k in ("total", "by", "layers"))')" True
is "... and is exported" "$("$IOPS" export --to jsonl w.log | grep '"layer":"block"' | grep -c '"call":"block:complete".*"offset":12288,')" 1
idle
trace -o s.json -- sh -c 'exit 5'
is "the command's status" $? 5

# fio: its own figures, those of the kernel, and its process.
if command -v fio >/dev/null; then
	grep " $N " /proc/diskstats >before
	trace -o fio.json -- fio --name=x --filename="$LOOP" --direct=1 --ioengine=libaio --iodepth=8 --thread \
		--rw=randrw --bs=4k --size=8M --output-format=json --output=job.json
	grep " $N " /proc/diskstats >after
	is "fio: its own figures; the kernel's; its queue depth; its process" "$(/usr/bin/python3 "$ROOT/tests/fiosame.py" "$N" process)" "True
True
True
True"
else
	skip "no fio"
fi

# Kinds, beside blktrace's own of the same work.
work() {
	blkdiscard -o 1M -l 2M "$LOOP"
	dd if=/dev/zero of="$LOOP" bs=256k count=16 oflag=direct
	dd if="$LOOP" of=/dev/null bs=64k count=10 iflag=direct
} >/dev/null 2>&1
if command -v blktrace >/dev/null; then
	mkdir saved
	blktrace -d "$LOOP" -D saved -o x >/dev/null 2>&1 & pid=$!
	begun
	work
	kill -INT $pid
	wait $pid
	"$IOPS" report --json saved >saved.json
	"$IOPS" trace -q -b blktrace --device "$DEV" -o live.json -d 4 >out 2>&1 & pid=$!
	begun
	work
	wait $pid
	is "for a while, of a device by number: status" $? 0
	cat >same.py <<'END'
import json
a, b = (json.load(open(f))["layers"]["block"] for f in ("saved.json", "live.json"))
n = lambda x: {s: {k: (v["operations"], v["bytes"]) for k, v in x[s].items() if isinstance(v, dict)} for s in ("queued", "merged", "issued", "completed", "requeued")}
print(n(a) == n(b) or (n(a), n(b)), a["split"] == b["split"], n(b)["completed"]["discard"], n(b)["completed"]["read"][0] >= 10)
END
	is "... the same kinds as of blktrace" "$(/usr/bin/python3 same.py)" "True True (1, 2097152) True"
	ok "a table" sh -c '"$0" trace -b blktrace --device "$1" -o - -- dd if="$1" of=/dev/null bs=4k count=3 iflag=direct 2>/dev/null | grep -q "^completed "' "$IOPS" "$LOOP"
else
	skip "no blktrace"
fi

# Several devices, or all.
both() { dd if="$LOOP" of=/dev/null bs=4k count=7 iflag=direct; dd if="$SECOND" of=/dev/null bs=8k count=9 iflag=direct; } 2>/dev/null
both_sh='dd if="$0" of=/dev/null bs=4k count=7 iflag=direct; dd if="$1" of=/dev/null bs=8k count=9 iflag=direct'
trace --device "$SECOND" -o two.json -- sh -c "$both_sh" "$LOOP" "$SECOND" 2>/dev/null
is "two devices" "$(b two.json "n(d['$N']['read']), n(d['$M']['read'])")" "((7, 28672), (9, 73728))"
"$IOPS" trace -q -b blktrace -o all.json -- sh -c "$both_sh" "$LOOP" "$SECOND" 2>/dev/null
is "all of them" "$(b all.json "n(d['$N']['read']), n(d['$M']['read'])")" "((7, 28672), (9, 73728))"

# Of a process, and of commands of a name.
sh -c 'while [ ! -e go ]; do sleep 0.1; done; dd if="$0" of=/dev/null bs=4k count=32 iflag=direct 2>/dev/null; sleep 0.5' "$LOOP" & pid=$!
trace -o p.json -p $pid & us=$!
begun
both
touch go
wait $us
is "a process and its children, until it ends" "$? $(b p.json "n(d['$N']['read']), [p['command'] for p in j['by']['process']]")" "0 ((32, 131072), ['dd'])"
trace -o c.json --comm cat -- sh -c 'dd if="$0" of=/dev/null bs=4k count=5 iflag=direct 2>/dev/null; cat "$0" >/dev/null' "$LOOP"
is "commands of a name" "$(b c.json "[p['command'] for p in j['by']['process']], d['$N']['read']['bytes']")" "(['cat'], 67108864)"
trace -o z.json --min-size 64K -- sh -c 'dd if="$0" of=/dev/null bs=4k count=5 iflag=direct; dd if="$0" of=/dev/null bs=64k count=5 iflag=direct' "$LOOP" 2>/dev/null
is "what is large" "$(b z.json "n(d['$N']['read'])")" "(5, 327680)"

# A part of a disk, with what is on it.
if command -v addpart >/dev/null && addpart "$SECOND" 1 2048 8192 2>/dev/null; then
	sleep 0.5
	"$IOPS" trace -q -b blktrace --device "${SECOND}p1" -o part.json -- sh -c "$both_sh" "${SECOND}p1" "$SECOND" 2>/dev/null
	is "a partition" "$(b part.json "n(d['${M}p1']['read']), len(d)")" "((7, 28672), 1)"
	delpart "$SECOND" 1
else
	skip "no partitions"
fi

# Signals end it, with a report.
for sig in INT TERM; do
	env --default-signal=INT "$IOPS" trace -q -b blktrace --device "$LOOP" -o sig.json >out 2>&1 & pid=$!
	begun
	both
	kill -$sig $pid
	wait $pid
	is "SIG$sig: status and report" "$? $(b sig.json "n(d['$N']['read'])")" "0 (7, 28672)"
	idle
done

# Without its front end the tracer ends as well, and reports.
"$IOPS" trace -q -b blktrace --device "$LOOP" -o front.json -d 60 >out 2>&1 & pid=$!
begun
both
kill -9 $pid
wait $pid 2>/dev/null
for _ in $(seq 50); do
	[ -s front.json ] && break
	sleep 0.1
done
is "the front end is killed: a report" "$(b front.json "n(d['$N']['read'])")" "(7, 28672)"
idle

# What is taken away is told.
trace --buffer 16K -o lost.json -- sh -c 'kill -STOP $(pgrep -f "[-]b blktrace .*-o lost.json" | grep -v -x $PPID); dd if="$0" of=/dev/null bs=4k count=4000 iflag=direct 2>/dev/null; kill -CONT $(pgrep -f "[-]b blktrace .*-o lost.json")' "$LOOP"
trace -o none.json -- dd if="$LOOP" of=/dev/null bs=4k count=400 iflag=direct 2>/dev/null
is "events that found no room are lost, and told" "$(json lost.json 'j["run"]["lost"] > 1000')" True
is "... all of them" "$(b lost.json '0.98 < (b["events"] + j["run"]["lost"]) / 10 / json.load(open("none.json"))["layers"]["block"]["events"] < 1.02 or (b["events"], j["run"]["lost"])')" True

# Another tracer has it.
if command -v blktrace >/dev/null; then
	blktrace -d "$LOOP" -D saved -o y >/dev/null 2>&1 & pid=$!
	begun
	trace -o busy.json -d 1 >busy 2>&1
	is "taken: status, one line with the way out" "$? $(grep -c "^iops: $LOOP: .*blktrace -k -d $LOOP\$" busy) $(grep -c . busy)" "1 1 1"
	trace --device "$SECOND" -o busy.json -d 1 >busy 2>&1
	is "... one of two" "$? $(grep -c . busy)" "1 1"
	"$IOPS" trace -b blktrace --device "$SECOND" --device "$LOOP" -o busy.json -d 1 >busy 2>&1
	is "... the second one: the first is as before" "$? $(grep -c . busy) $(find "/sys/kernel/debug/block/$M" -name 'trace[0-9]*' | wc -l)" "1 1 0"
	is "... and the other goes on" "$(find "/sys/kernel/debug/block/$N" -name trace0 | wc -l)" 1
	kill -INT $pid
	wait $pid
else
	skip "no blktrace"
fi
trace -o first.json -d 30 >out 2>&1 & pid=$!
begun
trace -o busy.json -d 1 >busy 2>&1
is "by another iops: status, one line" "$? $(grep -c "^iops: $LOOP: another iops" busy) $(grep -c . busy)" "1 1 1"

# Killed, with all of it: the next one takes its place.
kill -9 $(pgrep -f '[-]b blktrace .*-o first.json')
wait $pid 2>/dev/null
is "killed: the trace is left over" "$(find "/sys/kernel/debug/block/$N" -name trace0 | wc -l)" 1
trace -o next.json -- dd if="$LOOP" of=/dev/null bs=4k count=11 iflag=direct 2>/dev/null
is "... and no hindrance" "$? $(b next.json "n(d['$N']['read'])")" "0 (11, 45056)"
idle
# A left-over of somebody else's is not ours to free.
if command -v blktrace >/dev/null; then
	trace -o first.json -d 30 >out 2>&1 & pid=$!
	begun
	kill -9 $(pgrep -f '[-]b blktrace .*-o first.json')
	wait $pid 2>/dev/null
	blktrace -k -d "$LOOP" >/dev/null 2>&1
	blktrace -d "$LOOP" -D saved -o z >/dev/null 2>&1 & pid=$!
	begun
	trace -o busy.json -d 1 >busy 2>&1
	is "... of another program: it stays" "$? $(grep -c "blktrace -k" busy)" "1 1"
	kill -INT $pid
	wait $pid
	is "... and goes on to its end" "$?" 0
	trace -o next.json -- true
	idle
else
	skip "no blktrace"
	skip "no blktrace"
fi
plan
