#!/bin/sh
# shellcheck disable=SC2016
# The operations of a log in the forms of other tools.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
export LC_ALL=C.UTF-8

cat >work.py <<'EOP'
import os, random
random.seed(5)
def some(names, n):
    fds = [os.open(f, os.O_RDWR | os.O_CREAT, 0o644) for f in names]
    for fd in fds: os.write(fd, b"x" * 300000)
    for i in range(n):
        fd = random.choice(fds)
        size, at = random.choice([1, 512, 4096, 70001]), random.randrange(250000)
        k = random.randrange(8)
        if k < 3: os.pread(fd, size, at)
        elif k < 6: os.pwrite(fd, b"y" * size, at)
        elif k == 6: os.fsync(fd)
        else: os.lseek(fd, at, 0); os.read(fd, size); os.write(fd, b"z" * 10)
some(["a b", "c:d"], 200)
if not os.fork(): some(["e"], 50); os._exit(0)
os.wait()
some([b"n\xff;o"], 20)
EOP
"$IOPS" run -l x.iops -o r.json --json -- /usr/bin/python3 work.py
"$IOPS" run -l m.iops -o m.json --json -e all -- "$HELP/mkio" -o want.json 'write f 4096*10' 'sendfile f g 1000*2' \
	'read f 512*70' 'pipe 10*3' 'openfail 2' 'fsync f 2' 'pipe_again 2'
x() { "$IOPS" export --to "$@"; }
total() { json "$1" '[j["total"][k][v] for k in ("read", "write") for v in ("operations", "bytes")]'; }

for f in x:r m:m; do
	log=${f%:*}.iops rep=${f#*:}.json
	want=$(total "$rep")
	x jsonl -o o.jsonl "$log"; x csv -o o.csv "$log"; x sqlite -o o.db "$log"
	is "jsonl has the report's totals" "$(/usr/bin/python3 -c 'import json
rows = [json.loads(l) for l in open("o.jsonl")]
assert all(r["schema"] == "iops.op/1" for r in rows)
print([sum(r[v] for r in rows if r["kind"] == k and r["errno"] is None) for k in ("read", "write") for v in ("operations", "bytes")])')" "$want"
	is "... and csv" "$(/usr/bin/python3 -c 'import csv
rows = list(csv.DictReader(open("o.csv", newline="", errors="surrogateescape")))
print([sum(int(r[v]) for r in rows if r["kind"] == k and not r["errno"]) for k in ("read", "write") for v in ("operations", "bytes")])')" "$want"
	is "... and sqlite" "[$(sqlite3 -separator ', ' o.db "select sum(operations * (kind = 'read')), sum(bytes * (kind = 'read')), sum(operations * (kind = 'write')), sum(bytes * (kind = 'write')) from op where errno is null")]" "$want"
	is "... whose view has every row" "$(sqlite3 o.db 'select (select count(*) from op_row) = count(*) from op')" 1
	is "folded bytes are all of them" "$(x folded "$log" | awk '{ n += $NF } END { print n }')" "$(json "$rep" 'sum(c[k]["bytes"] for c in j["by"]["call"] for k in ("read", "write", "peek") if k in c)')"
done
is "errors are rows with their names" "$(sqlite3 o.db "select count(*) from op where errno = 'EAGAIN' and bytes = 0")" 2
is "a two-sided call is two rows" "$(sqlite3 o.db "select side, count(*), sum(bytes) from op where call = 'sendfile' group by side" | paste -sd' ')" "0|2|2000 1|2|2000"
is "every operation has its process" "$(sqlite3 o.db 'select count(*) from op left join process p on p.id = process_id where p.pid is not op.pid')" 0
ok "the run is told of" sh -c '[ "$(sqlite3 o.db "select run_id, lost from run")" = "$0|0" ]' "$(json m.json 'j["run"]["id"]')"
ok "an export is replaced" "$IOPS" export --to sqlite -o o.db x.iops
echo mine >mine.db
fails "... another file is not" "$IOPS" export --to sqlite -o mine.db x.iops
is "... and stays as it was" "$(cat mine.db)" mine
"$IOPS" run -q -o /dev/null -l many.iops -- dd if=/dev/zero of=/dev/null bs=1 count=400000 2>/dev/null
mkdir half
for sig in HUP:129 INT:130 TERM:143; do
	env --default-signal="${sig%:*}" "$IOPS" export --to sqlite -o half/o.db many.iops & pid=$!
	while kill -0 $pid && [ ! "$(ls half)" ]; do :; done
	was=$(find half -type f | wc -l); kill "-${sig%:*}" $pid; wait $pid
	is "half a database is not left behind by SIG${sig%:*}" "$? $was $(ls half)" "${sig#*:} 1 "
done
for to in "sqlite:a file" "fio:a folder"; do
	status "${to%:*} needs a name" 2 "$IOPS" export --to "${to%:*}" -o - x.iops
	is "... is told" "$(cat status.out)" "iops: export: --to ${to%:*} makes ${to#*:}: name it by --output; 'iops help export' tells more"
done
is "a path that is no UTF-8 is a blob" "$(x sqlite -o n.db x.iops; sqlite3 n.db "select typeof(path) from file where hex(path) like '%2F6EFF3B6F'")" blob
x jsonl -o o.jsonl x.iops
is "... and base64 in jsonl" "$(/usr/bin/python3 -c 'import base64, json
print({base64.b64decode(r["path_base64"]).split(b"/")[-1] for r in map(json.loads, open("o.jsonl")) if "path_base64" in r})')" "{b'n\\xff;o'}"
is "folded lines have two semicolons" "$(x folded x.iops | LC_ALL=C grep -cav '^[^;]*;[^;]*;[^;]* [0-9]*$')" 0
is "folded operations" "$(x folded --weight operations x.iops | awk '{ n += $NF } END { print n }')" "$(sqlite3 n.db 'select sum(operations) from op where result >= 0')"
ok "folded time" sh -c '[ "$("$0" export --to folded --weight time x.iops | awk "{ n += \$NF } END { print n }")" = "$(sqlite3 n.db "select sum(duration_ns) from op where side = 0")" ]' "$IOPS"

for f in csv jsonl chrome avro folded; do
	fails "$f: a full disk is told" "$IOPS" export --to $f -o /dev/full x.iops
	fails "$f: a wrong folder is told" "$IOPS" export --to $f -o nowhere/x x.iops
done

# What two exporters need is no burden of the others.
is "the program itself needs neither libavro nor libsqlite3" "$(readelf -d "$IOPS" | grep -c 'NEEDED.*\(avro\|sqlite\)')" 0
mkdir lib
for f in avro sqlite; do
	lib=$(grep -aom1 "lib${f}[0-9]*\.so[.0-9]*" "$IOPS")
	: >"lib/$lib"
	status "$f: a library that cannot be loaded is a failure" 1 env LD_LIBRARY_PATH="$PWD/lib" "$IOPS" export --to $f -o late.out x.iops
	is "... told in one line that names it and its package" "$(grep -c "^iops: .*$lib: .*(Debian: apt install lib$f" status.out) $(wc -l <status.out)" "1 1"
	ok "... before there is any output" test ! -e late.out
	gcc -shared -x c /dev/null -o "lib/$lib"
	status "... as is one without a function" 1 env LD_LIBRARY_PATH="$PWD/lib" "$IOPS" export --to $f -o late.out x.iops
	is "... which is named" "$(grep -c "^iops: .*$lib: undefined symbol: $f" status.out) $(wc -l <status.out)" "1 1"
done

if command -v node >/dev/null; then
	x chrome -o o.trace x.iops
	is "chrome: all events, of read and written bytes" "$(node -e 'const t = JSON.parse(require("fs").readFileSync("o.trace"))
let n = [0, 0, 0, 0]
for (const e of t.traceEvents) if ((e.ph == "X" || e.ph == "i") && e.args && !e.args.errno) {
	if (e.cat == "read") { n[0]++; n[1] += e.args.bytes }
	if (e.cat == "write") { n[2]++; n[3] += e.args.bytes } }
console.log("[" + n.join(", ") + "]")')" "$(total r.json)"
	ok "... names for processes, throughput, exits" node -e 'const t = JSON.parse(require("fs").readFileSync("o.trace")).traceEvents
for (const [ph, name] of [["M", "process_name"], ["M", "thread_name"], ["C", "throughput"], ["i", "exit"]])
	if (!t.some(e => e.ph == ph && e.name == name)) throw ph + name'
else
	skip "no node to read chrome events"; skip "no node to read chrome events"
fi

x avro -o o.avro x.iops
if ! command -v npm >/dev/null; then
	skip "no npm to get a reader of avro"
elif ! timeout 60 npm install --silent --no-audit --no-fund avsc >npm.out 2>&1; then
	skip "npm cannot get avsc"
else
	is "avro: totals as another library reads them" "$(node -e 'const avsc = require("avsc"), n = [0, 0, 0, 0]
const one = v => v && v.long !== undefined ? v.long : v
avsc.createFileDecoder("o.avro")
	.on("data", r => { if (r.errno) return
		const at = { read: 0, write: 2 }[r.kind]
		if (at !== undefined) { n[at] += Number(one(r.operations)); n[at + 1] += Number(one(r.bytes)) } })
	.on("end", () => console.log("[" + n.join(", ") + "]"))')" "$(total r.json)"
fi

if command -v fio >/dev/null; then
	x fio -o replay x.iops 2>fio.err
	ok "fio: shellcheck finds nothing in the script" shellcheck replay/replay.sh
	fails "... a folder that is not empty stays" "$IOPS" export --to fio -o replay x.iops
	ls -ln --time-style=full-iso 'a b' 'c:d' e >before
	SPARSE=1 "$IOPS" run -l y.iops -q -o y.txt -- sh replay/replay.sh >fio.out 2>&1
	is "... fio is content" $? 0
	ls -ln --time-style=full-iso 'a b' 'c:d' e >after
	ok "... and leaves the files alone that were seen" cmp before after
	x jsonl -o y.jsonl y.iops
	is "... does the same sizes and offsets in the same order, file by file" "$(/usr/bin/python3 -c 'import base64, json
def ops(name, path):
    of = {}
    for r in map(json.loads, open(name)):
        p = r["path_base64"] if "path_base64" in r else r["path"]
        if "path_base64" in r: p = base64.b64decode(p).decode(errors="replace")
        if r["type"] == "regular" and (r["result"] > 0 or r["kind"] == "sync") and r["kind"] in ("read", "write", "sync") and path(r, p):
            of.setdefault(p, []).append((r["kind"], r["bytes"], r["offset"] if r["kind"] != "sync" else 0))
    return of
names = dict((l.split(b"\t")[0].decode(), l.rstrip(b"\n").split(b"\t")[3].decode(errors="replace")) for l in open("replay/files.txt", "rb"))
want = ops("o.jsonl", lambda r, p: True)
got = ops("y.jsonl", lambda r, p: r["command"].startswith("fio") and p.split("/")[-1] in names)
got = {names[p.split("/")[-1]]: v for p, v in got.items()}
mine = [p for p in want if p.split("/")[-1] in ("a b", "c:d", "e", "n\ufffd;o")]
print(len(mine), [p for p in mine if want[p] != got.get(p)])')" "4 []"
	mkdir full; echo mine >full/mine
	fails "... a folder with something else in it stays" sh replay/replay.sh full
	ok "... the recorded times can be kept" env TIMED=1 SPARSE=1 sh replay/replay.sh data2
else
	skip "no fio to replay with"
fi
plan
