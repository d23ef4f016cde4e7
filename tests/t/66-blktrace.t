#!/bin/sh
# shellcheck disable=SC2016
# Block traces: what blkparse and btt say where they are right, and what is true where
# they are not. The samples are real captures with those programs' own answers.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
DATA=${DATA:-$ROOT/tests/data}/blktrace
TOOL=$ROOT/tests/help
block='j["layers"]["block"]'

# Events, as lines and as a number: all of them.
for t in mix/mix fm/fm sched/sched part/loop1 err/err cc/cc; do
	sample=${t%/*}
	"$IOPS" report --format blkparse "$DATA/$t" >lines.txt 2>err.txt; is "$sample: lines: status" $? 0
	if [ -e "$DATA/$t.events.txt.gz" ]; then zcat "$DATA/$t.events.txt.gz"; else cat "$DATA/$t.events.txt"; fi >want.txt
	ok "$sample: lines equal blkparse's" cmp lines.txt want.txt
	"$IOPS" report --json -o "$sample.json" "$DATA/$t" 2>err.txt; is "$sample: status" $? 0
	is "$sample: as many events" "$(json "$sample.json" "$block"'["events"]')" "$(wc -l <want.txt)"
	ok "$sample: matches the schema" /usr/bin/python3 -W ignore -m jsonschema -i "$sample.json" "$ROOT/share/report-1.schema.json"
done
"$IOPS" report --format blkparse "$DATA/ftrace/loop0.bin" | head -n "$(wc -l <"$DATA/ftrace/blkparse.txt")" >lines.txt
ok "ftrace: lines equal blkparse's" cmp lines.txt "$DATA/ftrace/blkparse.txt"

# Latencies: btt is right where nothing is split. Of a request, each bio is one.
"$IOPS" report --json -o ts.json "$DATA/ts"
is "mix: latencies equal btt's" "$(/usr/bin/python3 "$TOOL/blkbtt.py" mix.json "$DATA/mix/mix.btt.avg")" "7 []"
is "fm: latencies equal btt's" "$(/usr/bin/python3 "$TOOL/blkbtt.py" fm.json "$DATA/fm/fm.btt.avg.gz")" "7 []"
is "sched: latencies equal btt's" "$(/usr/bin/python3 "$TOOL/blkbtt.py" sched.json "$DATA/sched/sched.btt.avg.gz")" "7 []"
is "ts: latencies equal btt's" "$(/usr/bin/python3 "$TOOL/blkbtt.py" ts.json "$DATA/ts/ts.btt.avg")" "4 []"

# Counts and bytes, as in mix.stats.txt.
of='lambda s, k: ('"$block"'[s][k]["operations"], '"$block"'[s][k]["bytes"] // 1024)'
is "mix: queued, as blkparse counts" "$(json mix.json "[($of)('queued', k) for k in ('read', 'write')]")" "[(20, 80), (73, 680)]"
is "mix: merged" "$(json mix.json "[($of)('merged', k) for k in ('read', 'write')]")" "[(0, 0), (30, 164)]"
is "mix: issued; blkparse takes 4 flushes for reads" "$(json mix.json "[($of)('issued', k) for k in ('read', 'write', 'flush')]")" "[(20, 80), (43, 680), (4, 0)]"
is "mix: completed; blkparse counts the 2 ends of flushes as writes" "$(json mix.json "[($of)('completed', k) for k in ('read', 'write', 'flush')] + [${block}['finished']]")" "[(20, 80), (43, 680), (4, 0), 2]"
is "mix: plugs and unplugs" "$(json mix.json "(${block}['plugged'], ${block}['unplugged'])")" "(57, 57)"
is "mix: total is the data that was completed" "$(json mix.json '[(j["total"][k]["operations"], j["total"][k]["bytes"]) for k in ("read", "write", "all")]')" "[(20, 81920), (43, 696320), (63, 778240)]"
is "mix: by who queued it, not who issued or completed it" "$(json mix.json 'sorted((p["pid"], p["command"], p["read"]["operations"], p["write"]["operations"]) for p in j["by"]["process"])')" \
	"[(44, 'kworker/u16:2', 0, 2), (192, 'jbd2/loop0-8', 0, 4), (207, 'dd', 0, 12), (210, 'fio', 20, 20), (212, 'sync', 0, 5)]"
is "mix: the device has its name" "$(json mix.json "[(d['device'], d['name']) for d in ${block}['by']['device']] + [j['by']['file'][0]['path']]")" "[('7:0', 'loop0'), '/dev/loop0']"
is "mix: the clock" "$(json mix.json 'j["run"]["started_at"][:19]')" 2026-11-20T18:02:08
is "sched: issued; blkparse takes 10 flushes for reads" "$(json sched.json "[($of)('issued', k)[0] for k in ('read', 'write', 'flush')]")" "[50, 19, 10]"
is "cc: a thread that is renamed has its own name" "$(json cc.json 'sorted((p["pid"], p["command"]) for p in j["by"]["process"])')" "[(220, 'python3'), (221, 'worker')]"
is "mix: seeks, as btt counts and adds them" "$(json mix.json "[(q['count'], q['sum']) for q in (${block}['by']['device'][0]['seek_sectors'][k] for k in ('queued', 'issued'))]")" \
	"[(93, 2188720), (63, 2188560)]"
is "err: what failed is an error, not an operation" "$(json err.json '(j["total"]["write"]["operations"], j["total"]["write"]["errors"], j["errors"])')" \
	"(0, 1, [{'call': 'block:complete', 'errno': 'EIO', 'count': 1}])"
is "part: remaps" "$(json part.json "${block}['remapped']")" 4

# What no sample has: a bio that is split, one that is put back twice, a request that ends
# in two parts. btt loses the first, counts the wait of the second from the wrong event.
/usr/bin/python3 - <<'END'
import struct
n = 0
def rec(out, ns, act, cats, sector, count, pdu=b""):
    global n
    n += 1
    out.write(struct.pack("<IIQQIIIIIHH", 0x65617407, n, ns, sector, count * 512, act | sum(1 << 16 + c for c in cats), 50, 7 << 20, 0, 0, len(pdu)) + pdu)
Q, G, R, D, C, X = 1, 4, 6, 7, 8, 13
out = open("split", "wb")
rec(out, 1000, Q, (1, 4), 100, 16)
rec(out, 1100, X, (1,), 100, 8, struct.pack(">Q", 108))
for t, s in ((2000, 100), (3000, 108)):
    rec(out, t, G, (1, 4), s, 8)
    rec(out, t + 100, D, (1, 6, 8), s, 8)
rec(out, 5000, C, (1, 7, 8), 108, 8)
rec(out, 6000, C, (1, 7, 8), 100, 8)
out, n = open("back", "wb"), 0
rec(out, 1000, Q, (0, 4), 50, 8)
rec(out, 1500, G, (0, 4), 50, 8)
for t in (2000, 3000):
    rec(out, t, D, (0, 6, 8), 50, 8)
    rec(out, t + 100, R, (0, 5, 8), 50, 8)
    rec(out, t + 200, R, (0, 5, 8), 50, 8)
rec(out, 4000, D, (0, 6, 8), 50, 8)
rec(out, 4400, C, (0, 7, 8), 50, 8)
out, n = open("parts", "wb"), 0
rec(out, 1000, Q, (0, 4), 50, 16)
rec(out, 2000, D, (0, 6, 8), 50, 16)
rec(out, 2500, C, (0, 7, 8), 50, 8)
rec(out, 3000, C, (0, 7, 8), 58, 8)
END
spans="{k: (v['count'], v['sum']) for k, v in ${block}['latency_ns'].items() if v['count']}"
for t in split back parts; do
	"$IOPS" report --json -o $t.json $t; is "$t: status" $? 0
done
is "split: each part has its way, the whole its end" "$(json split.json "$spans")" "{'q2g': (2, 3000), 'd2c': (2, 5800), 'q2c': (1, 5000)}"
is "... and is one, queued; two, completed" "$(json split.json "(${block}['queued']['write']['operations'], ${block}['completed']['write']['operations'], ${block}['split'])")" "(1, 2, 1)"
is "put back: from the last issue" "$(json back.json "$spans")" "{'q2g': (1, 500), 'd2c': (1, 400), 'q2c': (1, 3400)}"
is "... never less than nothing at once" "$(json back.json "(${block}['requeued']['read']['operations'], ${block}['queue_depth']['max'])")" "(4, 1)"
is "in parts: each from the issue, the end with the last" "$(json parts.json "$spans")" "{'d2c': (2, 1500), 'q2c': (1, 2000)}"
is "... bytes add up" "$(json parts.json 'j["total"]["read"]["bytes"]')" 8192

# A trace without completions.
/usr/bin/python3 - "$DATA/mix/mix.blktrace.0" <<'END'
import struct, sys
data, at = open(sys.argv[1], "rb").read(), 0
out = {"issue": open("i.dump", "wb"), "queue": open("q.dump", "wb")}
while at < len(data):
    action, = struct.unpack_from("<I", data, at + 28)
    n = 48 + struct.unpack_from("<H", data, at + 46)[0]
    kind = {1: "queue", 7: "issue"}.get(action & 0xff) if not action & 0x04000000 else None
    for k in ("issue", "queue"):
        if action & 0x04000000 or kind == k or (k == "issue" and kind):
            rec = bytearray(data[at:at + n])
            rec[4:8] = bytes(4)
            out[k].write(rec)
    at += n
END
"$IOPS" report --json -o i.json i.dump
is "no completions: what was issued" "$(json i.json "j['total']['all']['operations'] == sum(${block}['issued'][k]['operations'] for k in ('read', 'write')) > 0")" True
"$IOPS" report --json -o q.json q.dump
is "not issued either: what was queued" "$(json q.json "j['total']['all']['operations'] == sum(${block}['queued'][k]['operations'] for k in ('read', 'write')) > 0")" True

# One trace in several ways.
keep='{k: v for k, v in j.items() if k not in ("run", "reported_at")}'
json mix.json "$keep" >want.txt
mkdir few && cp "$DATA"/mix/mix.blktrace.* few/
for way in "$DATA/mix" "$DATA/mix/mix.blktrace.0" "$DATA/mix/mix.blktrace.3 $DATA/mix/mix" few; do
	# shellcheck disable=SC2086
	"$IOPS" report --json -o x.json $way
	json x.json "$keep" >got.txt
	ok "the same by ${way##*/}" cmp want.txt got.txt
done
zcat "$DATA/mix/mix.dump.gz" >mix.dump
"$IOPS" report --json -o x.json mix.dump mix.dump; json x.json "$keep" >got.txt
ok "the same of a dump, named twice" cmp want.txt got.txt
is "... whose clock nobody knows" "$(json x.json 'j["run"].get("started_at")')" None
cat "$DATA"/mix/mix.blktrace.* | "$IOPS" report --json -o x.json -; json x.json "$keep" >got.txt
ok "the same of a pipe, in the order of CPUs" cmp want.txt got.txt
/usr/bin/python3 - "$DATA"/mix/mix.blktrace.? <<'END'
import os, struct, sys
os.mkdir("big"); os.mkdir("v8")
for cpu, name in enumerate(sys.argv[1:]):
    data, at = open(name, "rb").read(), 0
    big, v8 = open("big/mix.blktrace.%d" % cpu, "wb"), open("v8/mix.blktrace.%d" % cpu, "wb")
    while at < len(data):
        h = struct.unpack_from("<IIQQIIIIIHH", data, at)
        pdu = data[at + 48:at + 48 + h[10]]
        at += 48 + h[10]
        v8.write(struct.pack("<IIQQIIQIIHH12x", h[0] + 1, *h[1:5], h[6], h[5], *h[7:]) + pdu)
        if h[5] == 0x04000001:
            pdu = struct.pack(">II", *struct.unpack("<II", pdu))
        elif h[5] & 0xffff0100 == 0x04000100:
            pdu = pdu[7::-1] + pdu[8:]
        big.write(struct.pack(">IIQQIIIIIHH", *h) + pdu)
END
for way in big v8; do
	"$IOPS" report --json -o x.json $way; is "$way: status" $? 0
	json x.json "$keep" >got.txt
	ok "the same of the other $way" cmp want.txt got.txt
	is "... with its clock" "$(json x.json 'j["run"]["started_at"]')" "$(json mix.json 'j["run"]["started_at"]')"
done

# Damage: status 3, what was lost is said, and the rest is kept.
events=$(/usr/bin/python3 "$TOOL/blkbad.py" "$DATA/mix/mix.blktrace.0" bad)
left=$((events - 153))
while read -r kind events words; do
	"$IOPS" report --json -o x.json "bad/$kind" 2>err.txt; is "$kind: status" $? 3
	ok "$kind: said" grep -q "x.blktrace.0: .*$words" err.txt
	is "$kind: the rest is there" "$(json x.json "${block}['events']")" "$events"
	status "$kind: lines" 3 "$IOPS" report --format blkparse "bad/$kind"
	status "$kind: export" 3 "$IOPS" export --to csv -o x.csv "bad/$kind"
done <<END
cut-header $((439 - left)) byte 7712: 20 bytes of a record that is cut
cut-pdu $((439 - left)) byte 7712: 50 bytes of a record that is cut
magic 438 byte 7712: 56 bytes are no record
version6 438 1 record of an unknown version
version8 438 1 record of an unknown version
pdu-len 439 1 record with a wrong length of payload
action 439 1 event of an unknown kind
note 439 1 note of an unknown kind
time-back 439 1 record has a wrong time
time-ahead 439 1 record has a wrong time
time-little 439 1 record has a wrong time
time-first 439 1 record has a wrong time
time-last 439 1 record has a wrong time
twice 439 1 record was there twice
zeros 439 byte 15376: 100 bytes are no record
ones 439 byte 15376: 100 bytes are no record
random 133 5000 bytes are no record
comm 439 1 name without an end
gap 429 10 records are missing by their numbers
cpu 439 1 record of another CPU than the file's
missing 133 there is no such file
END
elapsed=$(json mix.json 'j["run"]["elapsed_ns"]')
for kind in back ahead little first last; do
	"$IOPS" report --json -o x.json "bad/time-$kind" 2>err.txt
	is "time-$kind: nothing else is blamed" "$(wc -l <err.txt)" 1
	is "... and time is as it was, but for the last one" "$(json x.json "$elapsed"' - j["run"]["elapsed_ns"] < 10000000')" True
done
"$IOPS" report --json -o x.json bad/gap 2>err.txt
is "a gap is counted as lost" "$(json x.json '(j["run"]["lost"], j["run"]["complete"])')" "(10, False)"
head -c 20 "$DATA/mix/mix.blktrace.0" >short
status "a pipe that ends in its first record" 3 sh -c '"$0" report - <short' "$IOPS"

# Other verbs know the files of all CPUs by one name, too.
for way in "$DATA/mix/mix" "$DATA/mix/mix.blktrace.2" few; do
	"$IOPS" merge --json -o x.json "$way"; is "merge ${way##*/}: status" $? 0
	json x.json "$keep" >got.txt
	ok "... is all of it" cmp want.txt got.txt
done
"$IOPS" merge --json -o x.json "$DATA/mix/mix" "$DATA/fm"
is "merge of two" "$(json x.json "(${block}['events'], j['run']['elapsed_ns'])")" "(621, 7668465467)"
"$IOPS" diff --json -o x.json few "$DATA/mix/mix"; is "diff of a trace and itself: status" $? 0
is "... is nothing" "$(json x.json '[j["elapsed_ns"]["change"]] + [j["total"][k]["bytes"]["change"] for k in ("read", "write")]')" "[0, 0, 0]"
rm few/mix.blktrace.0
for way in few few/ few/mix few//mix; do
	status "a file that is not there: merge $way" 3 "$IOPS" merge -o /dev/null "$way"
	"$IOPS" report -q -o /dev/null "$way" 2>err.txt
	ok "... is said" grep -q '^iops: few/\{1,2\}mix.blktrace.0: there is no such file' err.txt
done
ok "... with no slash too many" sh -c '"$0" report -q -o /dev/null few/ 2>&1 | grep -q "^iops: few/mix"' "$IOPS"

# Groups.
"$IOPS" report --json -o g.json -g fiogrp:210 -g writers:207,212 "$DATA/mix"
is "groups" "$(json g.json 'sorted((g["group"] or "", g["read"]["operations"], g["write"]["operations"]) for g in j["by"]["group"])')" "[('', 0, 6), ('fiogrp', 20, 20), ('writers', 0, 17)]"
ok "... match the schema" /usr/bin/python3 -W ignore -m jsonschema -i g.json "$ROOT/share/report-1.schema.json"
for wrong in nocolon :1 x: x:1,y 'x:1,'; do
	status "-g $wrong is refused" 2 "$IOPS" report -g "$wrong" "$DATA/mix"
done
status "lines are of block traces only" 1 "$IOPS" report --format blkparse /etc/passwd
status "... and of reports" 2 "$IOPS" run --format blkparse true

# Series, logs, exports.
"$IOPS" report --json -i 1 "$DATA/ts" >rows.json
is "a row a second, as btt counts" "$(head -4 rows.json | /usr/bin/python3 -c 'import json, sys; print([sum(json.loads(l)[k]["operations"] for k in ("read", "write")) for l in sys.stdin])')" "[13, 9, 19, 13]"
"$IOPS" report -l mix.iops --json -o a.json "$DATA/mix"; "$IOPS" report --json -o b.json mix.iops
json a.json "$keep" >a.txt; json b.json "$keep" >b.txt
ok "by way of a log it is the same" cmp a.txt b.txt
for to in csv jsonl chrome sqlite; do
	status "to $to" 0 "$IOPS" export --to $to -o "out.$to" "$DATA/mix"
done
status "to fio" 0 "$IOPS" export --to fio -o out.fio "$DATA/mix"
is "the main layer's rows are the total" "$(grep -c '"layer":"main"' out.jsonl)" 63
plan
