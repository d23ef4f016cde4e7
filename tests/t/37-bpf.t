#!/bin/sh
# shellcheck disable=SC2016
# The eBPF backend: what no other can see, what it loses, and that nobody notices it.
# (Its exactness is in 10-exact.t.)
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
[ "$BPFMODE" ] || skip_all "eBPF: it takes root and a kernel with BTF"

if "$HELP/uring" file >/dev/null 2>&1; then
	for how in plain async sqpoll; do
		"$IOPS" run -b bpf -e all --json -o u.json -- "$HELP/uring" $how "$DIR/file" >want.json
		ok "every request of io_uring, $how" /usr/bin/python3 - <<-'END'
			import json
			want, j = json.load(open("want.json")), json.load(open("u.json"))
			kinds = [k for k in ("read", "write", "sync", "meta")]
			got = {r["call"]: [sum(r[k][x] for k in kinds if k in r) for x in ("operations", "errors")] +
			       [sum(r[k][x] for k in kinds[:2] if k in r) for x in ("bytes", "requested_bytes")]
			       for r in j["by"]["call"] if r["call"].startswith("io_uring")}
			assert got == want, (got, want)
			v = j["run"]["verified"]
			assert v["matched"] == v["threads"] > 0, (v, j["run"]["still_running"], j["run"]["elapsed_ns"])
		END
	done
	"$IOPS" run -b bpf -l u.iops -o /dev/null -- "$HELP/uring" "$DIR/file" >/dev/null
	"$IOPS" export --to jsonl u.iops >u.jsonl
	ok "io_uring: offsets, also of the position, and files, also registered ones" /usr/bin/python3 - "$DIR" <<-'END'
		import json, sys
		rows = [json.loads(l) for l in open("u.jsonl")]
		uring = [r for r in rows if r["call"].startswith("io_uring")]
		w = [r["offset"] for r in uring if r["call"] == "io_uring:WRITE" and r["path"] == sys.argv[1] + "/file"]
		assert w == [i * 4096 for i in range(50)], w
		p = [r["offset"] for r in uring if r["path"] == sys.argv[1] + "/file.position"]
		assert p == [i * 512 for i in range(5)], p
		f = [(r["path"], r["offset"]) for r in uring if r["call"] == "io_uring:WRITE_FIXED"]
		assert f == [(sys.argv[1] + "/file", i * 2048) for i in range(7)], f
	END
	"$IOPS" run -b bpf --json -o u.json -- "$HELP/moved"
	is "a directory that io_uring renames" \
		"$(json u.json 'sorted((r["path"].replace("'"$DIR"'/", ""), r["write"]["bytes"]) for r in j["by"]["file"] if r["write"]["operations"])')" \
		"[('u1/f', 3), ('u2/f', 12)]"
else
	skip "io_uring is not allowed here"
fi

if "$HELP/aio" file >/dev/null 2>&1; then
	"$IOPS" run -b bpf --json -o u.json -- "$HELP/aio" file >want.json
	ok "every request of Linux AIO" /usr/bin/python3 - <<-'END'
		import json
		want, j = json.load(open("want.json")), json.load(open("u.json"))
		got = {r["call"]: [sum(r[k]["operations"] for k in ("read", "write", "sync") if k in r), r["read"]["bytes"] + r["write"]["bytes"]]
		       for r in j["by"]["call"] if r["call"].startswith("aio")}
		assert got == want, (got, want)
		assert all(r[k]["requested_bytes"] == r[k]["bytes"] for r in j["by"]["call"] if r["call"] == "aio:pwritev" for k in ["write"])
	END
else
	skip "Linux AIO is not allowed here"
fi

# Vectors of any length, in each of several messages.
cat >vectors.py <<'END'
import ctypes, socket
class iovec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
class mmsghdr(ctypes.Structure): _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.c_void_p),
    ("iovlen", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t), ("flags", ctypes.c_size_t), ("len", ctypes.c_size_t)]
c, buf = ctypes.CDLL(None), ctypes.create_string_buffer(10)
v = (iovec * 12)(*[(ctypes.addressof(buf), 10)] * 12)
m = (mmsghdr * 3)(*[(None, 0, ctypes.addressof(v), 12)] * 3)
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
assert c.sendmmsg(a.fileno(), m, 3, 0) == 3
END
"$IOPS" run -b bpf --json -o v.json -- /usr/bin/python3 vectors.py
is "all that vectors of messages ask for" \
	"$(json v.json '[(r["write"]["bytes"], r["write"]["requested_bytes"]) for r in j["by"]["call"] if r["call"] == "sendmmsg"]')" "[(360, 360)]"

# Attached to, the target has no tracer, and is not stopped once. On a machine that is
# busy with others the reader may come too late for once.
"$HELP/loop" rw 100000000 1 >loop.out &
loop=$!
sleep 0.2
for _ in 1 2 3 4 5 6; do
	"$IOPS" attach -b bpf -d 0.5 --json -o a.json $loop &
	sleep 0.3
	is "no TracerPid" "$(grep TracerPid /proc/$loop/status | cut -f2)" 0
	wait $!
	[ "$(json a.json 'j["run"]["lost"]')" != 0 ] || break
done
is "attach sees the calls" "$(json a.json 'j["total"]["read"]["operations"] > 1000')" True
is "and gives the names of files that were open before" \
	"$(json a.json 'sorted(r["path"] for r in j["by"]["file"] if r["all"]["operations"] > 100)')" "['/dev/null', '/dev/zero']"
is "nothing is lost" "$(json a.json 'j["run"]["lost"]')" 0
ok "the target goes on" kill -0 $loop
kill $loop

# With a ring much too small, what was seen and what was lost are all there was.
# On a machine of its own the tracer may keep up for once.
for _ in 1 2 3 4 5 6; do
	taskset -c 0 "$IOPS" trace --layers fs --buffer 64K --json -o l.json -- "$HELP/loop" rw 1000000 1 >/dev/null
	[ "$(json l.json 'j["run"]["lost"]')" = 0 ] || break
done
ok "losses are counted exactly" /usr/bin/python3 - <<'END'
import json
j = json.load(open("l.json"))
rows = [r for r in j["by"]["file"] if r["path"] in ("/dev/null", "/dev/zero")]
seen = sum(r["all"]["operations"] for r in rows)
print(seen, j["run"]["lost"])
assert j["run"]["lost"] > 0 and not j["run"]["complete"]
assert 2000000 <= seen + j["run"]["lost"] < 2000100, seen + j["run"]["lost"]
END

# Summed up in the kernel: the same numbers.
"$IOPS" trace --layers fs --aggregate --json -o s.json -- "$HELP/loop" rw 100000 700 >loop.out
ok "--aggregate gives the same counts, bytes and sizes" /usr/bin/python3 - <<'END'
import json
j = json.load(open("s.json"))
rows = {r["path"]: r for r in j["by"]["file"]}
for path, kind in (("/dev/zero", "read"), ("/dev/null", "write")):
    s = rows[path][kind]
    assert s["operations"] == 100000 and s["bytes"] == 70000000 and s["size_bytes"]["p50"] in range(690, 711), s
    assert s["latency_ns"]["count"] == 100000 and 0 < s["time_ns"] < j["run"]["elapsed_ns"], s
h = [b for b in j["histogram"]["size_bytes"] if b["from"] == 512][0]
assert h["read"]["operations"] >= 100000 and h["read"]["bytes"] >= 70000000, h
assert j["run"]["lost"] == 0
END

# The whole machine: other programs too, not ourselves.
"$IOPS" trace --layers fs -d 3 --by process,file --json -o w.json & iops=$!
listens $iops
dd if=/dev/zero of=seen bs=1000 count=77 2>/dev/null
wait $iops
is "the whole machine" "$(json w.json '[(r["write"]["operations"], r["write"]["bytes"]) for r in j["by"]["file"] if (r["path"] or "").endswith("/seen")]')" "[(77, 77000)]"
is "but not iops itself" "$(json w.json '[r for r in j["by"]["process"] if r.get("exe") == "'"$IOPS"'" and r["all"]["operations"]]')" "[]"

# Filters in the kernel.
mkdir -p in/deep out
work='for i in 1 2 3; do echo hello >in/deep/f; echo hello >out/f; done; head -c 100000 /dev/zero >in/big; sleep 0.06; cat in/big >/dev/null'
paths() { json "$1" 'sorted(r["path"].split("/")[-1] for r in j["by"]["file"] if r["all"]["operations"])'; }
"$IOPS" trace --layers fs --under in --json -o f.json -- sh -c "$work"
is "--under keeps what is below a directory" "$(paths f.json)" "['big', 'f']"
is "--under, counts" "$(json f.json '[(r["write"]["operations"], r["write"]["bytes"]) for r in j["by"]["file"] if (r["path"] or "").endswith("/deep/f")]')" "[(3, 18)]"
"$IOPS" trace --layers fs --comm cat --json -o f.json -- sh -c "$work"
is "--comm keeps a command" "$(json f.json 'sorted({r["command"] for r in j["by"]["process"] if r["all"]["operations"]})')" "['cat']"
"$IOPS" trace --layers fs --min-size 4K --json -o f.json -- sh -c "$work"
is "--min-size keeps the large ones" "$(json f.json 'j["total"]["all"]["size_bytes"]["min"] >= 4096 and j["total"]["write"]["operations"] > 20')" True
dev=$(stat -c '%Hd:%Ld' in)
"$IOPS" trace --layers fs --device "$dev" --json -o f.json -- sh -c "$work"
is "--device keeps one file system" "$(json f.json 'sorted({r["device"] for r in j["by"]["file"] if r["all"]["operations"]})')" "['$dev']"
"$IOPS" trace --layers fs --min-latency 0.05 --json -o f.json -- sh -c 'sleep 0.1 | cat'
is "--min-latency keeps the slow ones" "$(json f.json 'j["total"]["all"]["operations"]')" 1
"$IOPS" trace --layers fs --uid 65534 --json -o f.json -- sh -c 'echo a >/dev/null; setpriv --reuid 65534 sh -c "echo b >/dev/null"'
is "--uid keeps a user's" "$(json f.json 'j["total"]["write"]["operations"]')" 1

# Paths: renamed, unlinked, bind-mounted, relative.
cat >paths.py <<'END'
import os, sys
f = open("one", "w", 1)
f.write("1\n")
os.rename("one", "two"); f.write("2\n")
os.unlink("two"); f.write("3\n")
os.mkdir("d"); g = open("d/x", "w", 1); os.rename("d", "e"); g.write("4\n")
END
"$IOPS" run -b bpf --json -o p.json -- /usr/bin/python3 paths.py
is "names follow renames, of directories too, and unlinks" \
	"$(json p.json 'sorted((r["path"].replace("'"$DIR"'/", ""), r["write"]["bytes"]) for r in j["by"]["file"] if r["write"]["operations"])')" \
	"[('e/x', 2), ('one', 2), ('two', 2), ('two (deleted)', 2)]"
mkdir m real; echo abc >real/f
if mount --bind real m 2>/dev/null; then
	"$IOPS" run -b bpf --json -o p.json -- sh -c 'cd m && cat f >/dev/null'
	is "a path through a bind mount" "$(json p.json '[r["read"]["bytes"] for r in j["by"]["file"] if r["path"] == "'"$DIR"'/m/f"]')" "[4]"
	"$IOPS" run -b bpf --json -o p.json -- /usr/bin/python3 -c '
for path in ("real/f", "m/f", "real/f") * 3: open(path, "rb", 0).read(4)'
	is "paths of one file through two mounts" \
		"$(json p.json 'sorted((r["path"].replace("'"$DIR"'/", ""), r["read"]["bytes"]) for r in j["by"]["file"] if r["path"].endswith("/f"))')" \
		"[('m/f', 12), ('real/f', 24)]"
	umount m
	cat >mounts.py <<-'END'
		import ctypes
		c = ctypes.CDLL(None)
		for i in range(6):
		    for at in "m", "n":
		        assert c.mount(b"real", at.encode(), None, 4096, None) == 0
		        open(at + "/f", "rb", 0).read(4)
		        assert c.umount2(at.encode(), 0) == 0
	END
	mkdir n
	"$IOPS" run -b bpf --json -o p.json -- /usr/bin/python3 mounts.py
	is "a mount that lies where another one lay" \
		"$(json p.json 'sorted((r["path"].replace("'"$DIR"'/", ""), r["read"]["bytes"]) for r in j["by"]["file"] if r["path"].endswith("/f"))')" \
		"[('m/f', 24), ('n/f', 24)]"
else
	skip "no mount here"
	skip "no mount here"
	skip "no mount here"
fi

# A call is about what its descriptor was when it began, whatever becomes of that.
cat >changed.py <<'END'
import os, threading, time
a, b = os.pipe()
f = os.open("plain", os.O_RDWR | os.O_CREAT)
t = threading.Thread(target=os.read, args=(a, 100)); t.start()
time.sleep(.3)
os.dup2(f, a)
os.write(b, b"x" * 77)
t.join()
END
"$IOPS" run -b bpf --json -o p.json -- /usr/bin/python3 changed.py
is "a descriptor that becomes another file during a call" \
	"$(json p.json '[r["path"].startswith("pipe:") for r in j["by"]["file"] if r["read"]["bytes"] == 77]')" "[True]"
"$IOPS" trace --layers fs --plain -q -o changed -- /usr/bin/python3 changed.py >/dev/null 2>&1
is "... and its row" "$(cat changed/fs/*.csv | grep ',read,' | grep -c ',plain\|/plain')" 0

# Files that lie in memory where others lay that are gone.
cat >again.py <<'END'
import ctypes, os, struct, sys, time
def touch(path):
    fd = os.open(path, os.O_RDWR | os.O_CREAT); os.write(fd, b"x"); os.close(fd)
for i in range(200):
    touch("%s/%d.x" % (sys.argv[1], i)); os.unlink("%s/%d.x" % (sys.argv[1], i))
    if i % 2: time.sleep(.03)	# until the kernel gives the memory to others
for i in range(200):
    d = "%s/d%d" % (sys.argv[1], i)
    os.mkdir(d); touch(d + "/y"); os.unlink(d + "/y"); os.rmdir(d)
    if i % 2: time.sleep(.03)
c = ctypes.CDLL(None)
for i in range(20):
    fd = c.eventfd(1, 0); os.read(fd, 8); os.close(fd)
    fd = c.timerfd_create(1, 0); c.timerfd_settime(fd, 0, struct.pack("4q", 0, 0, 0, 1), None); os.read(fd, 8); os.close(fd)
END
# Nothing in its own name is to look like what is in there.
mem=$(mktemp -d -p /dev/shm againXXXXXX 2>/dev/null) || mem=$(mktemp -d -p . againXXXXXX)
taskset -c 0 "$IOPS" run -b bpf --json -o p.json -- /usr/bin/python3 again.py "$mem"
rmdir "$mem"
is "a file is not taken for one that lay there before" \
	"$(json p.json '[sorted({r["write"]["operations"] for r in f}) + [len(f)] for f in ([r for r in j["by"]["file"] if end in r["path"]] for end in (".x", "/y"))]')" \
	"[[1, 200], [1, 200]]"
is "... nor one that has no name of its own" \
	"$(json p.json 'sorted((r["path"], r["read"]["operations"]) for r in j["by"]["file"] if r["path"].startswith("anon_inode"))')" \
	"[('anon_inode:[eventfd]', 20), ('anon_inode:[timerfd]', 20)]"

# Where a table of the kernel's has no room left, what is not seen for that is told as lost.
cat >full.py <<'END'
import ctypes, os, struct, subprocess, sys, time
NR = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
c = ctypes.CDLL(None, use_errno=True)
def bpf(cmd, attr):
    attr = ctypes.create_string_buffer(attr, 128)
    r = c.syscall(NR, cmd, attr, 128)
    return r if r >= 0 else -ctypes.get_errno(), attr.raw
def last(name):	# the newest table of that name: as our iops is the one that began last
    id, found = 0, None
    while True:
        r, out = bpf(12, struct.pack("I", id))	# BPF_MAP_GET_NEXT_ID
        if r < 0: return found
        id = struct.unpack_from("I", out, 4)[0]
        fd, _ = bpf(14, struct.pack("I", id))	# BPF_MAP_GET_FD_BY_ID
        if fd < 0: continue
        info = ctypes.create_string_buffer(128)
        bpf(15, struct.pack("IIQ", fd, 80, ctypes.addressof(info)))	# BPF_OBJ_GET_INFO_BY_FD
        if info.raw[24:40].split(b"\0")[0] == name.encode(): found = fd, struct.unpack_from("4I", info.raw, 8)
fd, (key, value, entries, _) = last(sys.argv[1])
k, v = ctypes.create_string_buffer(key), ctypes.create_string_buffer(value)
for i in range(entries):
    struct.pack_into("I", k, 0, 1 << 30 | i)	# no process, and where no bio lies
    bpf(2, struct.pack("IIQQQ", fd, 0, ctypes.addressof(k), ctypes.addressof(v), 0))	# BPF_MAP_UPDATE_ELEM
END
full() {	# layer table command...: how much was lost
	layer=$1 table=$2; shift 2
	"$IOPS" trace --layers "$layer" -o t.json -- sh -c '/usr/bin/python3 full.py "$0"; "$@"' "$table" "$@" >/dev/null 2>&1
	json t.json 'j["run"]["lost"] > 0'
}
is "a process for which there is no room" "$(full fs members sh -c "sleep 0.2 & sleep 0.2 & sleep 0.2 & wait")" True
is "a request for which there is no room" "$(full block block_ios dd if=/dev/zero of=direct bs=4096 count=4 conv=fsync)" True
is "pages on their way for which there is no room" "$(full cache cache_writes dd if=/dev/zero of=direct bs=4096 count=4 conv=fsync)" True

# Who may not is told so; the command did not run.
chmod 755 .
setpriv --reuid 65534 --clear-groups "$IOPS" run -b bpf -- touch never >no.out 2>&1
is "without rights: refused" $? 125
ok "and said what it takes" grep -q "CAP_BPF and CAP_PERFMON" no.out
ok "and nothing ran" test ! -e never
is "doctor says that it works" "$("$IOPS" doctor --json | tr -d ' \t\n' | grep -c '"name":"bpf","status":"works"')" 1
is "exit status" "$("$IOPS" trace -q -o /dev/null --layers fs -- sh -c 'exit 7'; echo $?)" 7
fails "no such process" "$IOPS" trace -p 4194000
plan
