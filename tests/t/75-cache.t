#!/bin/sh
# shellcheck disable=SC2016
# The page cache and page faults: what iops trace tells of them is what mincore(2) and
# getrusage(2) say, page by page.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
keep_cache
[ "$BPFMODE" ] || skip_all "eBPF: it takes root and a kernel with BTF"
grep -aq btf_trace_mm_filemap_get_pages /sys/kernel/btf/vmlinux ||
	skip_all "the kernel does not tell what reads ask of the page cache"
PATH=$PATH:/sbin:/usr/sbin

# A file system of its own, so that nobody else reads there.
mkdir m
truncate -s 64M image
{ mkfs.ext4 -q -F image && mount -o loop image m; } 2>/dev/null || skip_all "no loop device with ext4"
trap 'cd /; umount "$DIR/m"; rm -rf "$DIR"' EXIT
dev=$(stat -c '%Hd:%Ld' m)

# What the scripts share: which pages are there, and what the reports say of a file.
cat >pages.py <<'END'
import ctypes, json, mmap, os, resource, sys, time
P = mmap.PAGESIZE
c = ctypes.CDLL(None, use_errno=True)
c.mmap.restype = ctypes.c_void_p
c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
for f in c.mincore, c.munmap, c.madvise: f.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_void_p] * (f is c.mincore) + [ctypes.c_int] * (f is c.madvise)
def there(fd, wait=False):
    size = os.fstat(fd).st_size
    v = (ctypes.c_ubyte * ((size + P - 1) // P))()
    a = c.mmap(None, size, 1, 1, fd, 0)
    if wait: time.sleep(.02)
    assert c.mincore(a, size, v) == 0
    c.munmap(a, size)
    return [x & 1 for x in v]
def cold(fd):
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    assert not any(there(fd))
def row(report, name, layer="cache"):
    r = [f for f in json.load(open(report))["layers"][layer]["by"]["file"] if f["path"].endswith("/" + name)]
    assert len(r) <= 1, r
    return r[0] if r else {}
def same(report, name, layer="cache", **want):
    r = row(report, name, layer)
    got = {k: r.get(k, 0) for k in want}
    assert got == want, (got, want)
END

# Reads of any kind, at any place, of pages that are there or not.
cat >reads.py <<'END'
from pages import *
import random
random.seed(int(sys.argv[2]))
fd = os.open(sys.argv[1], os.O_RDWR)
size, buf, n = os.fstat(fd).st_size, bytearray(1 << 20), dict(hits=0, misses=0, readahead=0)
null = os.open("/dev/null", os.O_WRONLY)
cold(fd)
for i in range(60):
    if random.random() < .2: cold(fd)
    at, want = random.randrange(size), random.choice([1, 100, P, 2 * P, 65536, 300000, 1 << 20])
    if random.random() < .3: at -= at % P
    how, before = random.choice("pread read readv sendfile".split()), there(fd)
    os.lseek(fd, at, 0)
    m = memoryview(buf)[:want]
    got = os.preadv(fd, [m], at) if how == "pread" else os.readv(fd, [m[:want // 2], m[want // 2:]]) if how == "readv" else \
        os.sendfile(null, fd, at, want) if how == "sendfile" else len(os.read(fd, want))
    after, pages = there(fd, True), range(at // P, (at + got - 1) // P + 1)
    n["hits"] += sum(before[p] for p in pages)
    n["misses"] += sum(1 - before[p] for p in pages)
    n["readahead"] += sum(a and not b for p, (a, b) in enumerate(zip(after, before)) if p not in pages)
json.dump(n, open("want.json", "w"))
END
head -c 1000001 /dev/urandom >m/data
truncate -s 900000 m/sparse
for file in data sparse; do
	for seed in 1 2; do
		"$IOPS" trace --layers cache -o r.json -- /usr/bin/python3 reads.py m/$file $seed
		ok "hits, misses and readahead of $file, $seed" /usr/bin/python3 -c 'from pages import *; same("r.json", sys.argv[1], **json.load(open("want.json")))' $file
	done
done
is "device and inode" "$(json r.json '[(f["device"], f["inode"]) for f in j["layers"]["cache"]["by"]["file"] if f["path"].endswith("/sparse")]')" \
	"[('$dev', $(stat -c %i m/sparse))]"
ok "by the schema" /usr/bin/python3 -m jsonschema -i r.json "$ROOT/share/report-1.schema.json"

# 245 pages are 1000001 bytes.
cat m/data >/dev/null
"$IOPS" trace --layers cache -o r.json -- cat m/data >/dev/null
ok "what is there is found" /usr/bin/python3 -c 'from pages import *; same("r.json", "data", hits=245, misses=0, readahead=0, evicted=0)'
is "... and the ratio says so" "$(/usr/bin/python3 -c 'from pages import *; print(row("r.json", "data")["hit_ratio"])')" 1
"$IOPS" trace --layers cache -o r.json -- dd if=m/data of=/dev/null bs=1 count=20000 status=none
ok "a page counts as often as it is read" /usr/bin/python3 -c 'from pages import *; same("r.json", "data", hits=20000, misses=0)'
is "nothing is lost" "$(json r.json 'j["run"]["lost"]')" 0

# Writes.
cat >writes.py <<'END'
from pages import *
fd = os.open("m/w", os.O_RDWR | os.O_CREAT)
for i in range(10): os.pwrite(fd, b"x" * P, i * P)
os.fsync(fd)
os.pwrite(fd, b"y", 3 * P + 5)
os.pwrite(fd, b"y", 3 * P + 6)
os.fsync(fd)
os.pwrite(fd, b"z" * (1 << 20), 64 * P)
os.fsync(fd)
os.ftruncate(fd, 64 * P)
os.posix_fadvise(fd, 0, 8 * P, os.POSIX_FADV_DONTNEED)
os.close(fd)
os.unlink("m/w")
END
"$IOPS" trace --layers cache -o w.json -l w.iops -- /usr/bin/python3 writes.py
ok "pages that writes add and make dirty, and that are written" /usr/bin/python3 -c '
from pages import *
big = (1 << 20) // P
same("w.json", "w", hits=0, misses=0, readahead=0, added=10 + big, dirtied=11 + big, written=11 + big)'
ok "pages that are dropped, and why" /usr/bin/python3 -c '
from pages import *
big = (1 << 20) // P
same("w.json", "w", evicted=10 + big, invalidated=8, dropped=2 + big, reclaimed=0)'
is "writeback takes time" "$(json w.json 'j["layers"]["cache"]["writeback_ns"]["count"] >= 3 and j["layers"]["cache"]["writeback_ns"]["min"] > 0')" True
"$IOPS" report --json w.iops >again.json
is "a saved log gives the same" "$(json again.json 'j["layers"]["cache"] == json.load(open("w.json"))["layers"]["cache"]')" True
is "operations of the cache are none of the program" \
	"$(json w.json '[r["call"] for r in j["by"]["call"] if ":" in r["call"]]')" "[]"

# Mappings: each page touched on its own, with nothing read ahead or mapped around.
cat >maps.py <<'END'
from pages import *
fd = os.open("m/data", os.O_RDWR)
size = os.fstat(fd).st_size
a = c.mmap(None, size, 3, 1, fd, 0)
assert c.madvise(a, size, 1) == 0	# MADV_RANDOM
cold(fd)
b = (ctypes.c_ubyte * size).from_address(a)
u = resource.getrusage(0)
x = [b[i * P] for i in range(0, 32, 2)]	# 16 pages that are not there
v = resource.getrusage(0)
c.munmap(a, size)
a = c.mmap(None, size, 3, 1, fd, 0)
b = (ctypes.c_ubyte * size).from_address(a)
# Are there. Too far apart to be mapped at once, as neighbours mostly are, but not always.
x += [b[i * P] for i in (0, 16, 0, 16)]
b[0] = 1	# is mapped, to be read
b[40 * P] = 1	# is not there
os.fsync(fd)
print(v.ru_majflt - u.ru_majflt)
END
"$IOPS" trace --layers cache,fault -o f.json -- /usr/bin/python3 maps.py >major
ok "major and minor faults, reads and writes" /usr/bin/python3 -c '
from pages import *
assert open("major").read() == "16\n"
r = row("f.json", "data", "fault")
assert (r["major"], r["minor"], r["read"], r["write"]) == (17, 3, 18, 2), r'
ok "... as hits and misses of the cache" /usr/bin/python3 -c '
from pages import *
same("f.json", "data", mapped_misses=17, misses=17, mapped_hits=2, dirtied=2)'
is "faults take time" "$(json f.json '[j["layers"]["fault"][k]["count"] > 0 and j["layers"]["fault"][k]["min"] > 0 for k in ("major_ns", "minor_ns")]')" "[True, True]"
is "all faults of mapped files are those of the processes" "$(json f.json '[sum(r[k] for r in j["layers"]["fault"]["by"]["process"]) == sum(r[k] for r in j["layers"]["fault"]["by"]["file"]) == j["layers"]["fault"][k] for k in ("major", "minor", "read", "write")]')" "[True, True, True, True]"
ok "by the schema" /usr/bin/python3 -m jsonschema -i f.json "$ROOT/share/report-1.schema.json"

# Who: each process has its own.
"$IOPS" trace --layers cache -o p.json -- sh -c 'cat m/data >/dev/null; head -c 40960 m/sparse >/dev/null; :'
ok "by process" /usr/bin/python3 - <<'END'
from pages import *
r = {p["command"]: p for p in json.load(open("p.json"))["layers"]["cache"]["by"]["process"]}
cat, head = r["cat"], r["head"]
for p in cat, head: p["plain"] = p["hits"] + p["misses"] - p["mapped_hits"] - p["mapped_misses"]
n = row("p.json", "sparse"); n = n["hits"] + n["misses"]
assert n == 10, n
assert 245 <= cat["plain"] < 300 and 10 <= head["plain"] < 60, (cat, head)
END
/usr/bin/python3 -c 'from pages import *; cold(os.open("m/data", os.O_RDONLY))'
"$IOPS" trace --layers cache -d 1.5 -o all.json & iops=$!
listens $iops
dd if=m/data of=/dev/null bs=65536 status=none & dd=$!
wait $dd $iops
ok "the whole machine: another process, and not iops" /usr/bin/python3 - $dd $iops <<'END'
from pages import *
r = row("all.json", "data")
assert r["hits"] + r["misses"] == 245 and r["misses"] > 0, r
rows = {p["pid"]: p for p in json.load(open("all.json"))["layers"]["cache"]["by"]["process"]}
dd = rows[int(sys.argv[1])]
assert dd["command"] == "dd" and dd["misses"] >= r["misses"], dd
assert int(sys.argv[2]) not in rows
END
"$IOPS" trace --layers cache --device "$dev" -o d.json -- sh -c 'cat m/data image >/dev/null'
is "--device keeps one file system" "$(json d.json '{f["device"] for f in j["layers"]["cache"]["by"]["file"]}')" "{'$dev'}"

# Names: below the mount that programs use, also of what only its inode is known of.
mkdir bind; mount --bind m bind
"$IOPS" trace --layers cache -o n.json -- /usr/bin/python3 -c '
import os
fd = os.open("bind/new", os.O_RDWR | os.O_CREAT); os.write(fd, b"x" * 8192); os.close(fd); os.sync()'
umount bind
is "a file has one name" "$(json n.json '[(f["path"], f["dirtied"], f["written"]) for f in j["layers"]["cache"]["by"]["file"] if f["path"].endswith("/new")]')" "[('$DIR/bind/new', 2, 2)]"

# Files that lie where others lay that are gone, with their numbers.
taskset -c 0 "$IOPS" trace --layers cache -o g.json -- /usr/bin/python3 -c '
import os, time
for i in range(200):
    if i % 2: time.sleep(.03)	# until the kernel gives the memory to others
    fd = os.open("m/%d.x" % i, os.O_RDWR | os.O_CREAT); os.write(fd, b"x" * 4096); os.pread(fd, 4096, 0); os.close(fd); os.unlink("m/%d.x" % i)'
is "one file is not taken for another" \
	"$(json g.json '(lambda f: (len(f), {(r["added"], r["dirtied"], r["hits"], r["dropped"]) for r in f}))([r for r in j["layers"]["cache"]["by"]["file"] if r["path"].endswith(".x")])')" \
	"(200, {(1, 1, 1, 1)})"

# What another process writes into a file later is not of those that are traced.
mkfifo begin over
(read -r _ <begin; dd if=/dev/zero of=m/e bs=1M count=4 conv=notrunc,fsync 2>/dev/null; echo >over) &
"$IOPS" trace --layers cache -o e.json -- sh -c 'echo x >m/e; sync m/e; echo >begin; read -r _ <over'
is "what another one writes to the file later is not ours" \
	"$(json e.json '[(f["dirtied"], f["written"]) for f in j["layers"]["cache"]["by"]["file"] if f["path"].endswith("/e")]')" "[(1, 1)]"

# Rows.
"$IOPS" trace --layers cache,fault --plain -q -o rows -- /usr/bin/python3 reads.py m/data 3
ok "streams: columns, words, sums" /usr/bin/python3 - <<'END'
import csv, glob, json
from pages import *
rows = list(csv.reader(open(*glob.glob("rows/cache/*.csv"))))
assert rows[0][:11] == "timestamp,pid,command,event_type,inode,page_index,size_pages,cpu_id,device_id,count,mono_ns".split(",")
rows = [dict(zip(rows[0], r)) for r in rows[1:]]
mine = [r for r in rows if r["filename"].endswith("/m/data")]
assert {r["event_type"] for r in rows} <= set("HIT MISS DIRTY WRITEBACK_START WRITEBACK_END EVICT INVALIDATE DROP READAHEAD RECLAIM ADD".split())
want = json.load(open("want.json"))
got = {k: sum(int(r["count"]) for r in mine if r["event_type"] == e) for k, e in dict(hits="HIT", misses="MISS", readahead="READAHEAD").items()}
assert got == want, (got, want)
st = os.stat("m/data")
assert {(int(r["inode"]), int(r["device_id"])) for r in mine} == {(st.st_ino, os.major(st.st_dev) << 20 | os.minor(st.st_dev))}
assert any(r["page_index"] == "0" for r in mine)
assert all(0 <= int(r["page_index"]) <= int(r["page_index"]) + int(r["span_pages"]) <= 245 for r in mine)
assert all(int(r["count"]) == int(r["span_pages"]) for r in mine if r["event_type"] == "MISS")
rows = list(csv.reader(open(*glob.glob("rows/pagefault/*.csv"))))
assert rows[0][:10] == "timestamp,pid,tid,command,fault_type,severity,inode,offset,address,dev_id".split(",")
rows = [dict(zip(rows[0], r)) for r in rows[1:]]
assert rows and {r["severity"] for r in rows} <= {"MAJOR", "MINOR"} and {r["fault_type"] for r in rows} <= {"READ", "WRITE"}
assert any(r["offset"] == "0" or int(r["offset"]) < P for r in rows)
END
plan
