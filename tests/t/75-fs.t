#!/bin/sh
# shellcheck disable=SC2086,SC2016,SC2317
# Rows of the streams fs and io_uring say exactly what was done.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

[ "$BPFMODE" ] || skip_all "eBPF: it takes root and a kernel with BTF"
DIR=$(pwd -P)

# Rows of a stream in order, and how those between two marks compare with what is wanted.
cat >rows.py <<'EOP'
import csv, glob, io, subprocess, sys
csv.field_size_limit(1 << 20)
def rows(folder, stream="fs"):
    out = []
    for f in sorted(glob.glob("%s/%s/*" % (folder, stream))):
        text = subprocess.run(["zstd", "-dcq", f], stdout=subprocess.PIPE, check=True).stdout if f.endswith(".zst") else open(f, "rb").read()
        out += csv.DictReader(io.StringIO(text.decode(errors="surrogateescape"), newline=""))
    return out
def between(all, first, last):
    mark = [i for i, r in enumerate(all) if r["filename"].endswith(first) or r["filename"].endswith(last)]
    pid = all[mark[0]]["pid"]
    return [r for r in all[mark[0] + 1:mark[-1]] if r["pid"] == pid]
def compare(folder, wanted):
    got = between(rows(folder), "/iops-begin", "/iops-end")
    want = [dict(f.split("=", 1) for f in l.rstrip("\n").split("\t") if f) for l in open(wanted)]
    bad = 0
    for i in range(max(len(got), len(want))):
        g, w = got[i] if i < len(got) else {}, want[i] if i < len(want) else {}
        d = ["%s: got %r want %r" % (k, g.get(k), v) for k, v in w.items() if g.get(k) != v]
        if not w or not g: d = ["only %s" % ("wanted" if w else "got")]
        if not bad and d or bad and bad < 5 and d: print(i, (w or g).get("operation"), (w or g).get("filename"), *d, sep="\n  ")
        bad += bool(d)
        if g.get("operation") != w.get("operation"): break
    print("%d of %d rows differ" % (bad, len(want)) if bad else "same")
EOP
py() {	# code [argument]
	/usr/bin/python3 -c "from rows import *
$1" "$2"
}

# A directory seen twice, and an overlay.
mkdir w w/real w/bind w/low w/up w/tmp w/over
echo same >w/real/same; echo low >w/low/low; echo no >w/secret; chmod 600 w/secret
bind=- over=-
umount_all() {
	cd "$DIR" || return
	[ $bind = - ] || umount "$bind" || umount -l "$bind"
	[ $over = - ] || umount "$over" || umount -l "$over"
}
trap 'umount_all; cd /; rm -rf "$DIR"' EXIT
mount --bind w/real w/bind 2>/dev/null && bind=$DIR/w/bind
mount -t overlay iops -o lowerdir=w/low,upperdir=w/up,workdir=w/tmp w/over 2>/dev/null && over=$DIR/w/over
[ $bind != - ] || skip "no bind mounts here"
[ $over != - ] || skip "no overlay here"

(cd w && "$IOPS" trace --layers fs -o "$DIR/ops" -q -- "$HELP/fsops" "$DIR/w" "$DIR/w/real" $bind $over >../want.txt 2>../err.txt)
is "every operation, once, with all that it did" "$(py 'compare("ops", "want.txt")')" same

# The columns of IO Tracer come first, as it has them.
seed=timestamp,operation,pid,tid,command,filename,size,offset,bytes_completed,inode,device,flags,duration_ns,return_value,errno,mmap_prot,mmap_flags,address,cmdline,ppid,container_id,fs_type,mono_ns
is "columns" "$(zstd -dcq ops/fs/*.zst | head -1 | cut -c1-${#seed})" "$seed"
is "a thread does one thing after the other" "$(py '
r = between(rows("ops"), "/iops-begin", "/iops-end")
print([x["operation"] for x, y in zip(r, r[1:]) if not 0 < int(x["mono_ns"]) + int(x["duration_ns"]) <= int(y["mono_ns"])])')" "[]"

# Processes: none is too short to be known.
printf '#!/bin/sh\nexit 3\n' >script; chmod +x script
"$IOPS" trace --layers fs -o life -q -- sh -c '/bin/true one "two  three"; ./script; ./nosuch; sh -c "kill -TERM \$\$"; :' 2>/dev/null
is "programs, with the words that they were given" "$(py '
for r in rows("life"):
    if r["operation"] == "process_exec": print(r["filename"].rsplit("/")[-1], r["return_value"], r["errno"], r["cmdline"].split(";")[0], sep="|")')" \
"$(cat <<END
$(basename "$(readlink -f /bin/sh)")|0||sh -c /bin/true one "two  three"
true|0||/bin/true one two  three
$(basename "$(readlink -f /bin/sh)")|0||/bin/sh ./script
nosuch|-2|ENOENT|sh -c /bin/true one "two  three"
$(basename "$(readlink -f /bin/sh)")|0||sh -c kill -TERM \$\$
END
)"
is "... and how they ended" "$(py '
top = rows("life")[0]
print([(r["return_value"], r["flags"], r["ppid"] == top["pid"]) for r in rows("life") if r["operation"] == "process_exit"])')" \
	"[('0', '', True), ('3', '', True), ('127', '', True), ('', 'SIGTERM', True), ('0', '', False)]"
is "every row has the line of its process" "$(py 'print([r["operation"] for r in rows("life") if not r["cmdline"]])')" "[]"

# One that was there before, with a file that was open before, under its name of now.
/usr/bin/python3 -c '
import os, time
f = os.open("before", os.O_RDWR | os.O_CREAT); os.rename("before", "now")
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
os.write(f, b"12345"); os.close(f)' word &
pid=$!
while [ ! -e ready ]; do sleep 0.01; done
"$IOPS" trace --layers fs -o there -q -p $pid >/dev/null 2>&1 & iops=$!
listens $iops; : >go; wait $iops
is "a process that was there before" "$(py '
w = [r for r in rows("there") if r["operation"] == "write"][0]
print(w["filename"], w["cmdline"].split()[0], w["cmdline"].split()[-1], w["ppid"], w["bytes_completed"])')" \
	"$DIR/now /usr/bin/python3 word $$ 5"
wait

# The same calls by the tables of both machines.
set -- 'write f 4096*2' 'pwrite f 100*3 5000000000' 'pread f 512*2 4999999800' 'preadv f 60*2 5000000000' \
	'pwritev2 f 30*2 70' 'readv f 300*2' 'append g 10*2' 'sendfile f g 50*2' 'badf 2' 'rename g h'
"$IOPS" trace --layers fs -o native -q -- "$HELP/mkio" "$@" >/dev/null 2>&1
if runs mkio32; then
	rm -f f g h
	"$IOPS" trace --layers fs -o narrow -q -- "$HELP/mkio32" "$@" >/dev/null 2>&1
	is "calls of 32-bit programs" "$(py '
def what(d): return [[r[k] for k in ("operation", "filename", "size", "offset", "bytes_completed", "errno", "target", "target_offset")]
                     for r in rows(d) if r["filename"].startswith(sys.argv[1] + "/") or "EBADF" in r["errno"]]
a, b = what("native"), what("narrow")
print(len(a) > 20, [x for x in zip(a, b) if x[0] != x[1]], len(a) - len(b))' "$DIR")" "True [] 0"
else
	skip "$why"
fi

"$IOPS" trace --layers fs -e fsync,rename -o some -q -- /usr/bin/python3 -c 'import os; f = os.open("x", os.O_RDWR | os.O_CREAT); os.fsync(f); os.rename("x", "y")' 2>/dev/null
is "only what -e says, and programs" "$(py 'print([r["operation"] for r in rows("some")])')" "['process_exec', 'fsync', 'rename', 'process_exit']"

# What found no room is counted, one for one.
"$IOPS" trace --layers fs --buffer 64K -o lossy -q -- "$HELP/loop" rw 200000 1 >/dev/null 2>&1
is "rows and losses add up" "$(py '
import json
m = json.load(open("lossy/manifest.json"))["streams"]["fs"]
n = sum(r["operation"] in ("read", "write") and r["size"] == "1" for r in rows("lossy"))
print(n > 0, 0 <= n + m["lost"] - 400000 < 100)')" "True True"
is "... and every loss has a name" "$(py '
import json
print(*json.load(open("lossy/manifest.json"))["notes"]["lost_events"], sep=",")')" "fs,uring,block,cache,net,fault,rows of fs,names and processes"

if "$HELP/uring" file >/dev/null 2>&1; then
	"$IOPS" trace --layers fs,uring -o ring -q -- "$HELP/uring" "$DIR/file" >want.json 2>/dev/null
	is "requests of io_uring" "$(py '
import json
want = json.load(open("want.json"))
r = rows("ring", "io_uring")
got = {}
for x in r:
    g = got.setdefault("io_uring:" + x["opcode"], [0, 0, 0, 0]); bad = int(x["result"]) < 0
    g[bad] += 1; g[2] += 0 if bad or not int(x["length"]) else int(x["result"]); g[3] += 0 if bad else int(x["length"])
print([(k, got.get(k), v) for k, v in want.items() if got.get(k) != v], set(got) - set(want))')" "[] set()"
	is "... their times, rings and errors" "$(py '
r = rows("ring", "io_uring")
print(all(int(x["complete_ns"]) - int(x["submit_ns"]) == int(x["latency_ns"]) > 0 for x in r), {x["ring"] for x in r},
      all((int(x["result"]) < 0) == bool(x["errno"]) for x in r), {x["event_type"] for x in r})')" "True {'1'} True {'COMPLETE'}"
	is "... on files are rows of fs too" "$(py '
a = [(x["filename"], x["offset"], x["length"], x["result"], x["inode"], x["sqe_flags"]) for x in rows("ring", "io_uring") if "READ" in x["opcode"] or "WRITE" in x["opcode"]]
b = [(x["filename"], x["offset"], x["size"], x["return_value"], x["inode"], x["flags"]) for x in rows("ring") if x["call"].startswith("io_uring:") and x["operation"] in ("read", "write")]
print(a == b, len(a) > 100)')" "True True"
else
	skip "io_uring is not allowed here"
fi
if "$HELP/aio" file >/dev/null 2>&1; then
	"$IOPS" trace --layers fs,uring -o aio -q -- "$HELP/aio" "$DIR/file" >want.json 2>/dev/null
	is "requests of Linux AIO are rows of fs" "$(py '
import json
got = {}
for x in rows("aio"):
    if x["call"].startswith("aio:"):
        g = got.setdefault(x["call"], [0, 0]); g[0] += 1; g[1] += int(x["bytes_completed"] or 0)
print(got == json.load(open("want.json")))')" True
else
	skip "Linux AIO is not allowed here"
fi
plan
