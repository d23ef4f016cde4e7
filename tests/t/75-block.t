#!/bin/sh
# shellcheck disable=SC2016
# Requests to block devices, as a scripted workload made them.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root"
[ -n "$BPFMODE" ] || skip_all "no eBPF here"
truncate -s 64M img
LOOP=$(losetup -f --show img 2>/dev/null) || skip_all "no loop devices"
N=${LOOP#/dev/} ZRAM='' SECOND=''
DEV=$(cat "/sys/block/$N/dev")
# shellcheck disable=SC2317 # the trap calls it
clean() {
	cd /
	umount "$DIR/mnt" "$DIR/small" 2>/dev/null
	losetup -d "$LOOP"
	[ -z "$SECOND" ] || losetup -d "$SECOND" 2>/dev/null
	[ -z "$ZRAM" ] || echo "$ZRAM" >/sys/class/zram-control/hot_remove
	rm -rf "$DIR"
}
trap clean EXIT
mkdir mnt small

# While another tracer comes or goes the kernel leaves out events, which is told as lost;
# of such a run nothing exact can be said.
trace() {	# report arguments...
	report=$1; shift
	for try in 1 2 3 4 5 6; do
		"$IOPS" trace -q --layers block -o "$report" "$@" >trace.out 2>&1
		status=$?
		[ "$(json "$report" 'j["run"]["lost"]')" = 0 ] && break
		sleep 0.$try
	done
	return "$status"
}
rows() {	# rows-file arguments...
	rows=$1; shift
	for try in 1 2 3 4 5 6; do
		rm -rf folder
		"$IOPS" trace -q --layers block --plain -o folder/ "$@" >trace.out 2>&1
		status=$?
		[ "$(json folder/manifest.json 'j["streams"]["block"]["lost"]')" = 0 ] && break
		sleep 0.$try
	done
	cat folder/block/*.csv >"$rows"
	return "$status"
}
cat >b.py <<'EOF'
import json, sys
j = json.load(open(sys.argv[1]))
b = j["layers"]["block"]
d = ([x for x in b["by"]["device"] if x.get("name") == sys.argv[2]] + [None])[0]
f = {x["path"]: x for x in b["by"]["file"]}
w = json.load(open(sys.argv[4]))["layers"]["block"] if len(sys.argv) > 4 else None
n = lambda s: (s["operations"], s["bytes"])
print(eval(sys.argv[3]))
EOF
b() {	# report expression of b, d (the device), f (files by path), n (operations, bytes)
	# other report: w
	/usr/bin/python3 b.py "$1" "$N" "$2" ${3:+"$3"}
}

# Direct writes and reads: one request each, of this size, there.
dd if=/dev/zero of="$LOOP" bs=1M count=1 oflag=direct 2>/dev/null
trace w.json -l w.log -- dd if=/dev/zero of="$LOOP" bs=4096 count=25 seek=3 oflag=direct
is "status" $? 0
is "writes: completed on the device" "$(b w.json 'n(d["write"]), n(d["read"])')" "((25, 102400), (0, 0))"
is "... that is named" "$(b w.json 'd["device"]')" "$DEV"
is "... queued, issued and completed alike" \
	"$(b w.json '[n(b[s]["write"]) for s in ("queued", "issued", "completed")]')" "[(25, 102400), (25, 102400), (25, 102400)]"
is "... none merged, requeued or split" "$(b w.json 'b["merged"]["write"]["operations"], b["requeued"]["write"]["operations"], b["split"]')" "(0, 0, 0)"
is "... file is the device, process the writer" \
	"$(b w.json "n(f['$LOOP']['write']), [p['command'] for p in b['by']['process'] if p['write']['operations']]")" "((25, 102400), ['dd'])"
is "... one after the other" "$(b w.json 'd["queue_depth"]["max"], d["issued"]')" "(1, {'consecutive': 24, 'elsewhere': 0})"
is "... each with its times" "$(b w.json '[b["latency_ns"][k]["count"] == b["completed"]["all"]["operations"] for k in ("d2c", "q2c", "q2g")]')" "[True, True, True]"
is "... which add up" "$(b w.json 'b["latency_ns"]["q2c"]["sum"] >= b["latency_ns"]["d2c"]["sum"] + b["latency_ns"]["q2g"]["sum"] > 0')" True
ok "... matches the schema" /usr/bin/python3 -m jsonschema -i w.json "$ROOT/share/report-1.schema.json"
"$IOPS" report --json w.log >w2.json
is "a log tells the same" "$(json w2.json 'j["layers"] == json.load(open("w.json"))["layers"]')" True
"$IOPS" merge --json w.json w.log >w3.json
is "a report and a log add up" "$(b w3.json '(n(d["write"]), [b["latency_ns"][k]["count"] for k in ("q2g", "d2c", "q2c")] == [2 * w["latency_ns"][k]["count"] for k in ("q2g", "d2c", "q2c")], b["events"] == 2 * w["events"], d["issued"], d["queue_depth"]["max"], b["completed"]["all"]["bytes"] == 2 * w["completed"]["all"]["bytes"])' "$PWD/w.json")" \
	"((50, 204800), True, True, {'consecutive': 48, 'elsewhere': 0}, 1, True)"
ok "... and match the schema" /usr/bin/python3 -m jsonschema -i w3.json "$ROOT/share/report-1.schema.json"
is "a table of 80 columns" "$("$IOPS" report w.log | sed -n '/^block layer/,/^file/{/^file/d;p}' | awk 'length > 80' | wc -l)" 0
ok "... with stages, times and devices" sh -c '"$0" report w.log | grep -q "^completed .* 25 " && "$0" report w.log | grep -q "^d2c issued to completed" && "$0" report w.log | grep -q "^$1 "' "$IOPS" "$N"

rows r.csv -- dd if="$LOOP" of=/dev/null bs=16k count=10 skip=2 iflag=direct
head -n 1 r.csv | tr , '\n' | head -n 17 | tr '\n' , >cols
is "rows: the seed's columns first" "$(cat cols)" "timestamp,operation,pid,tid,command,sector,size,latency_ms,device,flags,cpu_id,ppid,queue_latency_ms,command_flags,operation_code,request_id,mono_ns,"
/usr/bin/python3 - "$DEV" >rows.out <<'EOF'
import csv, sys
rows = [r for r in csv.DictReader(open("r.csv")) if r["device"] == sys.argv[1]]
print([int(r["sector"]) for r in rows] == [64 + 32 * i for i in range(10)])
print({(r["operation"], r["size"], r["operation_code"], r["command"], r["errno"], r["bytes_completed"]) for r in rows})
print(all(r["disk"] == r["filename"].replace("/dev/", "") and float(r["total_latency_ms"]) >= float(r["latency_ms"]) > 0
          and r["inode"] and r["request_id"] and r["pid"] == r["tid"] and r["cpu_id"] for r in rows))
EOF
is "... one for each request: place, size, operation, result" "$(cat rows.out)" "True
{('read', '16384', 'REQ_OP_READ', 'dd', '', '16384')}
True"

trace l.json --min-latency 10 -- dd if="$LOOP" of=/dev/null bs=16k count=10 iflag=direct
is "nothing took as long" "$(json l.json '"block" in j.get("layers", {}) and j["layers"]["block"]["events"]')" False
trace l.json --min-size 8K -- sh -c 'dd if="$0" of=/dev/null bs=16k count=10 iflag=direct; dd if="$0" of=/dev/null bs=4k count=10 iflag=direct' "$LOOP"
is "only what is large" "$(b l.json 'n(d["read"]), n(b["queued"]["read"])[0] == b["completed"]["read"]["operations"]')" "((10, 163840), True)"

# What is larger than the device takes is cut; what is not written is not data.
trace s.json -- dd if=/dev/zero of="$LOOP" bs=4M count=3 oflag=direct
is "large writes: all bytes, in parts" "$(b s.json 'd["write"]["bytes"], b["split"] > 0, b["queued"]["write"]["bytes"], b["issued"]["write"]["operations"] == d["write"]["operations"]')" "(12582912, True, 12582912, True)"
if blkdiscard -o 1M -l 8M "$LOOP" 2>/dev/null; then
	trace d.json -- blkdiscard -o 1M -l 8M "$LOOP"
	is "discard" "$(b d.json 'n(d["discard"]), n(d["write"])')" "((1, 8388608), (0, 0))"
else
	skip "the loop device cannot discard"
fi

# Files on the device: who wrote them, though others write them back.
if mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "$LOOP" 2>/dev/null && mount "$LOOP" mnt; then
	sync
	trace f.json -- dd if=/dev/zero of=mnt/a bs=64k count=16 conv=fsync
	is "fsync: bytes of the file, by its writer" "$(b f.json "f['$DIR/mnt/a']['write']['bytes'], f['$DIR/mnt/a']['inode'], f['$DIR/mnt/a']['device'], f['$DIR/mnt/a']['type']")" \
		"(1048576, $(stat -c %i mnt/a), '$DEV', 'regular')"
	is "... and none else's" "$(b f.json "[(p['command'], p['write']['bytes'] >= 1048576) for p in b['by']['process'] if p['write']['bytes']]")" "[('dd', True)]"
	trace k.json -- sh -c 'mkdir -p mnt/d; dd if=/dev/zero of=mnt/d/b bs=4k count=300 2>/dev/null; sync'
	is "written back by the kernel: the file and its writer" \
		"$(b k.json "f['$DIR/mnt/d/b']['write']['bytes'], [p['command'] for p in b['by']['process'] if p['write']['bytes'] >= 1228800]")" "(1228800, ['dd'])"
	is "... every bio has its time, merged or not" \
		"$(b k.json 'b["latency_ns"]["q2c"]["count"] - sum(b["queued"][c]["operations"] for c in ("read", "write", "flush", "discard")) - b["split"], b["latency_ns"]["d2c"]["count"] - b["completed"]["all"]["operations"]')" "(0, 0)"
	# The other one begins when ours is written, and is over before ours is.
	mkfifo begin over
	(read -r _ <begin; dd if=/dev/zero of=mnt/e bs=1M count=4 conv=notrunc,fsync 2>/dev/null; echo >over) &
	trace x.json -- sh -c 'echo x >mnt/e; sync mnt/e; if [ -e begin ]; then echo >begin; read -r _ <over; rm begin; fi'
	wait $!
	is "what another one writes to the file later is not ours" "$(b x.json "0 < f['$DIR/mnt/e']['write']['bytes'] <= 4096")" True
	mv mnt/d/b mnt/c
	trace o.json -- dd if=/dev/zero of=mnt/c bs=8k count=20 oflag=direct conv=notrunc
	is "direct I/O: the file by its name of now" "$(b o.json "n(f['$DIR/mnt/c']['write'])")" "(20, 163840)"
	echo 1 >/proc/sys/vm/drop_caches
	trace c.json -- dd if=mnt/c of=/dev/null bs=4k
	is "reading ahead: the file" "$(b c.json "f['$DIR/mnt/c']['read']['bytes']")" "$(stat -c %s mnt/c)"
	umount mnt
else
	skip "no ext4"
fi

# The file behind the loop device has no room: the device fails.
if mount -t tmpfs -o size=1m none small && truncate -s 8M small/img && SECOND=$(losetup -f --show small/img); then
	N=${SECOND#/dev/}
	rows e.csv -- dd if=/dev/zero of="$SECOND" bs=64k count=40 oflag=direct
	is "a failing device: status of the command" $? 1
	trace e.json -l e.log -- dd if=/dev/zero of="$SECOND" bs=64k count=40 oflag=direct
	is "... is an error of the request" "$(b e.json 'b["completed"]["write"]["errors"], d["write"]["errors"], b["issued"]["write"]["operations"] - d["write"]["operations"]')" "(1, 1, 1)"
	is "... with its number" "$("$IOPS" export --to jsonl e.log | grep -c '"call":"block:complete".*"errno":"ENOSPC"')" 1
	is "... in a row" "$(cut -d, -f21 e.csv | grep -c ENOSPC)" 1
	losetup -d "$SECOND"
	SECOND='' N=${LOOP#/dev/}
	umount small
else
	skip "no tmpfs that is too small"
fi

# A device without requests: only bios.
if [ -w /sys/class/zram-control/hot_remove ] && ZRAM=$(cat /sys/class/zram-control/hot_add) && echo 16M >"/sys/block/zram$ZRAM/disksize"; then
	N=zram$ZRAM
	trace z.json -- dd if=/dev/zero of="/dev/$N" bs=4k count=50 oflag=direct
	is "bios without requests" "$(b z.json 'n(d["write"]), n(b["queued"]["write"]), b["latency_ns"]["q2c"]["count"] >= 50, "latency_ns" in d["write"]')" "((50, 204800), (50, 204800), True, False)"
	N=${LOOP#/dev/}
else
	skip "no zram"
fi

# The whole machine, and one process of it.
for try in 1 2 3 4 5 6; do
	"$IOPS" trace -q --layers block -o m.json -d 3 >trace.out 2>&1 & pid=$!
	listens $pid
	dd if="$LOOP" of=/dev/null bs=4k count=64 iflag=direct 2>/dev/null
	wait $pid
	[ "$(json m.json 'j["run"]["lost"]')" = 0 ] && break
	sleep 0.$try
done
is "the whole machine" "$(b m.json 'n(d["read"])')" "(64, 262144)"
for try in 1 2 3 4 5 6; do
	sh -c 'while [ ! -e "$1" ]; do sleep 0.05; done; exec dd if="$0" of=/dev/null bs=4k count=32 iflag=direct 2>/dev/null' "$LOOP" go.$try & pid=$!
	"$IOPS" trace -q --layers block -o p.json -p $pid >trace.out 2>&1 & us=$!
	listens $us
	: >go.$try
	wait $us
	[ "$(json p.json 'j["run"]["lost"]')" = 0 ] && break
	sleep 0.$try
done
is "a process" "$(b p.json 'n(d["read"]), [p["pid"] for p in b["by"]["process"] if p["read"]["bytes"] >= 131072]')" "((32, 131072), [$pid])"

# fio, the kernel's own counters and ours.
if command -v fio >/dev/null; then
	for try in 1 2 3 4 5 6; do
		grep " $N " /proc/diskstats >before
		"$IOPS" trace -q --layers block -o fio.json -- fio --name=x --filename="$LOOP" --direct=1 --ioengine=libaio --iodepth=8 \
			--rw=randrw --bs=4k --size=64M --output-format=json --output=job.json
		grep " $N " /proc/diskstats >after
		[ "$(json fio.json 'j["run"]["lost"]')" = 0 ] && break
		sleep 0.$try
	done
	is "fio: its own figures, and those of the kernel; its queue depth" "$(/usr/bin/python3 "$ROOT/tests/fiosame.py" "$N")" "True
True
True"
else
	skip "no fio"
fi
plan
