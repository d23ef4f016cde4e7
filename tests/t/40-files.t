#!/bin/sh
# shellcheck disable=SC2086,SC2016
# Every byte goes to the right file, whatever happens to names and descriptors.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# Each case writes (or reads) a number of bytes that is its own, so that sums tell.
cat >case.py <<'EOF'
import array, os, socket, sys
def w(fd, n): assert os.write(fd, b"x" * n) == n
def new(p): return os.open(p, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
def dup():
    a = new("a"); b = os.dup(a); os.dup2(a, 77); w(b, 11); w(77, 13)
def fork():
    a = new("a")
    if not os.fork(): w(a, 7); os._exit(0)
    os.wait(); w(a, 9)
def execs():
    a = new("a"); os.set_inheritable(a, True); os.dup2(a, 9)
    if not os.fork(): os.execv("/bin/sh", ["sh", "-c", "echo 12345 >&9"])
    os.wait()
def cloexec():
    a = new("a"); b = new("b"); os.dup2(a, 9, inheritable=False)
    if not os.fork(): os.execv("/bin/sh", ["sh", "-c", "exec 9>c; echo 12345 >&9"])
    os.wait()
def scm():
    s, t = socket.socketpair(); a = new("a")
    socket.send_fds(s, [b"z"], [a]); os.close(a); b = new("other")
    _, fds, _, _ = socket.recv_fds(t, 1, 1); w(fds[0], 21); w(b, 1)
def scms():
    import ctypes as c
    class vec(c.Structure): _fields_ = [("base", c.c_void_p), ("len", c.c_size_t)]
    class mmsg(c.Structure): _fields_ = [("name", c.c_void_p), ("namelen", c.c_uint), ("vec", c.c_void_p), ("nvec", c.c_size_t),
        ("control", c.c_void_p), ("controllen", c.c_size_t), ("flags", c.c_int), ("pad", c.c_int), ("len", c.c_uint), ("end", c.c_int)]
    s, t = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a = new("a"); b = new("b"); ms = (mmsg * 2)()
    control = [c.create_string_buffer(24) for m in ms]; data = [c.create_string_buffer(8) for m in ms]
    vecs = [vec(c.addressof(d), 8) for d in data]
    for m, v, x in zip(ms, vecs, control): m.vec = c.addressof(v); m.nvec = 1; m.control = c.addressof(x); m.controllen = 24
    for i in range(300): w(a, 1); os.close(os.dup(a))
    [socket.send_fds(s, [b"z"], [f]) for f in (a, b)]; os.close(a); os.close(b)
    assert c.CDLL(None).recvmmsg(t.fileno(), ms, 2, 0, None) == 2
    for x, n in zip(control, (21, 13)): f = int.from_bytes(x[16:20], "little"); w(f, n); os.close(f); w(new("other"), 1)
def rename():
    a = new("a"); w(a, 5); os.rename("a", "b"); w(a, 6)
def unlink():
    a = new("a"); w(a, 5); os.unlink("a"); w(a, 6)
def again():
    for i in range(5):
        a = new("a"); w(a, 3); os.unlink("a"); os.close(a)
        b = new("b"); w(b, 4); os.close(b); assert a == b
def relative():
    os.mkdir("d"); os.chdir("d"); a = new("../d/./x"); w(a, 5); d = os.open(".", os.O_RDONLY)
    os.chdir("/"); b = os.open("y", os.O_WRONLY | os.O_CREAT, dir_fd=d); w(b, 6)
def dirrename():
    os.mkdir("d"); a = new("d/x"); w(a, 5); os.rename("d", "e"); w(a, 6)
def threads():
    import threading
    def t(i):
        for k in range(50):
            fd = new("t%d" % i); w(fd, i + 1); os.close(fd)
    ts = [threading.Thread(target=t, args=(i,)) for i in range(4)]
    [x.start() for x in ts]; [x.join() for x in ts]
def links():
    os.mkdir("d"); os.symlink("d", "e"); os.close(new("a")); os.symlink("a", "l")
    for i in range(300):
        f = os.open("l", os.O_WRONLY); w(f, 1); os.close(f)
        f = os.open("e/x", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW); w(f, 2); os.close(f)
        d = os.open("e/..", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        f = os.open("y", os.O_WRONLY | os.O_CREAT, dir_fd=d); w(f, 3); os.close(f); os.close(d)
        f = os.open("z%d" % (i % 2), os.O_WRONLY | os.O_CREAT | os.O_EXCL); w(f, 4); os.close(f); os.unlink("z%d" % (i % 2))
def root():
    p = os.getcwd() + "/a"; os.makedirs("r" + os.getcwd())
    for i in range(300): a = new(p); w(a, 1); os.close(a)
    os.chroot("r")
    for i in range(300): a = new(p); w(a, 2); os.close(a)
def ends():
    os.mkdir("d"); os.mkdir("d/s"); os.symlink("d", "e")
    def under(p, n, k):
        d = os.open(p, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        f = os.open(n, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, dir_fd=d); w(f, k); os.close(f); os.close(d)
    for i in range(300): under("e/", "v1", 1); under("e/.", "v2", 2); under("./e/./", "v3", 3)
    os.chdir("d/s")
    for i in range(300): under("../.", "u", 5)
def apart():
    import ctypes, threading; c = ctypes.CDLL(None)
    p = os.getcwd() + "/a"; os.makedirs("r" + os.getcwd()); both = threading.Barrier(2)
    def other():
        assert c.unshare(0x200) == 0; os.chroot("r"); os.chdir("/"); both.wait()
        for i in range(300): a = new(p); b = new("b"); w(a, 2); w(b, 3); os.close(a); os.close(b)
    t = threading.Thread(target=other); t.start(); both.wait()
    for i in range(300): a = new(p); b = new("b"); w(a, 1); w(b, 4); os.close(a); os.close(b)
    t.join()
def gone():
    import ctypes, threading, time; c = ctypes.CDLL(None)
    p = os.getcwd() + "/a"; os.makedirs("r" + os.getcwd()); done = threading.Event()
    tracer = open("/proc/self/status").read().split("TracerPid:")[1].split()[0]; open("../tracer", "w").write(tracer)
    def put(n): a = new(p); w(a, n); os.close(a); a = new("b"); w(a, n); os.close(a)
    def other():
        assert c.unshare(0x200) == 0; os.chroot("r"); os.chdir("/")
        for i in range(300): put(1)
        os.kill(int(tracer), 19)
        for i in range(10): put(20)
        done.set()
    threading.Thread(target=other).start(); done.wait(); time.sleep(.2); os._exit(0)
def mounts():
    import ctypes; c = ctypes.CDLL(None)
    os.mkdir("m"); os.mkdir("n")
    for i in range(300): a = new("m/a"); w(a, 1); os.close(a)
    assert c.unshare(0x20000) == 0 and c.mount(b"none", b"/", None, 1 << 18 | 1 << 14, None) == 0
    assert c.mount(b"n", b"m", None, 1 << 12, None) == 0
    for i in range(300): a = new("m/a"); w(a, 2); os.close(a)
def offsets():
    a = new("a"); w(a, 100); w(a, 100); os.lseek(a, 50, 0); os.read(a, 10); os.pread(a, 10, 150)
    b = os.open("a", os.O_WRONLY | os.O_APPEND); w(b, 30)
def swaps():
    os.mkdir("d0"); os.mkdir("d1")
    for i in range(300):
        k = i % 2
        os.symlink("f%d" % k, "l"); f = os.open("l", os.O_WRONLY | os.O_CREAT); w(f, 1 + k); os.close(f); os.unlink("l")
        os.symlink("d%d" % k, "t"); os.rename("t", "e"); f = os.open("e/x", os.O_WRONLY | os.O_CREAT); w(f, 3 + k); os.close(f)
def swapsat():
    os.makedirs("p/q"); os.mkdir("d0"); os.mkdir("d1"); p = os.open("p", os.O_RDONLY); f = os.open("l", os.O_WRONLY | os.O_CREAT); w(f, 1); os.close(f)
    for i in range(300):
        k = i % 2
        os.symlink("../d%d" % k, "e", dir_fd=p); f = os.open("p/e/x", os.O_WRONLY | os.O_CREAT); w(f, 1 + k); os.close(f)
        os.rename("p", "o"); f = os.open("o/q/../e/y", os.O_WRONLY | os.O_CREAT); w(f, 3 + k); os.close(f)
        os.rename("o", "p"); os.unlink("e", dir_fd=p); f = os.open("p/e", os.O_WRONLY | os.O_CREAT); w(f, 5); os.close(f); os.unlink("e", dir_fd=p)
def ups():
    os.makedirs("a/c"); os.mkdir("b"); os.symlink("a/c", "l")
    for i in range(300):
        f = os.open("a/c/../c/f", os.O_WRONLY | os.O_CREAT); w(f, 1); os.close(f); f = os.open("l/../g", os.O_WRONLY | os.O_CREAT); w(f, 4); os.close(f)
        os.rename("a/c", "b/c"); f = os.open("b/c/../c/f", os.O_WRONLY); w(f, 2); os.close(f); os.rename("b/c", "a/c")
def put(p, n): f = os.open(p, os.O_WRONLY | os.O_CREAT); w(f, n); os.close(f)
def misses():
    import time
    os.mkdir("b"); os.symlink("data", "cur"); time.sleep(.05)
    for i in range(300):
        put("cur", 1)
        try: os.symlink("x", "cur")
        except FileExistsError: pass
        os.symlink("y", "b/cur"); os.unlink("b/cur"); os.unlink("data")
def under():
    os.makedirs("d0/s"); os.makedirs("d1/s"); os.mkdir("p"); os.symlink("p", "q")
    for i in range(300):
        k = i % 2
        os.symlink("d%d" % k, "t"); os.rename("t", "cur"); put("cur/s/x", 1 + k)
        os.symlink("../d%d" % k, "p/l"); put("q/l/y", 3 + k); os.unlink("p/l")
        os.symlink("d%d/s" % k, "u"); put("u/../z", 5 + k); os.unlink("u")
def instead():
    os.mkdir("r")
    for i in range(300):
        os.mkdir("d"); put("d/x", 1); os.unlink("d/x"); os.rmdir("d")
        os.symlink("r", "d"); put("d/x", 2); os.unlink("d/x"); os.unlink("d")
def relinked():
    import time
    os.makedirs("t/s"); os.symlink("t", "l")
    for i in range(20):
        d = os.open("l", os.O_RDONLY); time.sleep(.02); put("l/s/x", 1); os.close(d)
        os.unlink("l"); os.makedirs("l/s"); put("l/s/x", 2)
        os.unlink("l/s/x"); os.rmdir("l/s"); os.rmdir("l"); os.symlink("t", "l")
def twins():
    for i in range(300):
        f = os.open("a", os.O_WRONLY | os.O_CREAT); w(f, 1); os.rename("a", "b"); w(f, 2); os.link("b", "a"); w(f, 4); os.close(f); os.unlink("a"); os.unlink("b")
        f = os.open("c", os.O_WRONLY | os.O_CREAT); os.link("c", "e"); os.rename("c", "e"); w(f, 8); os.close(f); os.unlink("c"); os.unlink("e")
os.mkdir(sys.argv[1]); os.chdir(sys.argv[1]); globals()[sys.argv[1]]()
EOF
cat >show.py <<'EOF'
import json, sys
j = json.load(open(sys.argv[1])); root = sys.argv[2]
sums = {}
for f in j["by"]["file"]:
    p = f["path"] or "?"
    if f["type"] == "regular" and p.startswith(root):
        p = p[len(root) + 1:]
        if f["write"]["operations"] or p == "?": sums[p] = sums.get(p, 0) + f["write"]["bytes"]
    elif p == "?" or f["type"] == "unknown": sums["?"] = sums.get("?", 0) + 1
print(" ".join("%s=%d" % x for x in sorted(sums.items())))
EOF
files() {	# case want
	for mode in '' --no-filter --patch-after=1; do
		rm -rf "$1"
		# shellcheck disable=SC2086
		"$IOPS" run $mode --json -o got.json -- /usr/bin/python3 case.py "$1" || echo "# status $?"
		is "$1 $mode" "$(/usr/bin/python3 show.py got.json "$DIR/$1")" "$2"
	done
}
DIR=$(pwd -P)
files dup "a=24"
files fork "a=16"
files execs "a=6"
files cloexec "c=6"
files scm "a=21 other=1"
files scms "a=321 b=13 other=2"
files rename "a=5 b=6"
files unlink "a=5 a (deleted)=6"
files again "a=15 b=20"
files relative "d/x=5 d/y=6"
files dirrename "d/x=5 e/x=6"
files threads "t0=50 t1=100 t2=150 t3=200"

files links "a=300 d/x=600 y=900 z0=600 z1=600"
files swaps "d0/x=450 d1/x=600 f0=150 f1=300"
files swapsat "d0/x=150 d0/y=450 d1/x=300 d1/y=600 l=1 p/e=1500"
files ups "a/c/f=300 a/g=1200 b/c/f=600"
files misses "data=300"
files under "d0/s/x=150 d0/y=450 d0/z=750 d1/s/x=300 d1/y=600 d1/z=900"
files instead "d/x=300 r/x=600"
files relinked "l/s/x=40 t/s/x=20"
files twins "a=300 b=1800 c=2400"
files ends "d/u=1500 d/v1=300 d/v2=600 d/v3=900"

# What each finds there is its own.
for mode in '' --no-filter --patch-after=1; do
	# shellcheck disable=SC2086
	"$IOPS" run $mode --json -o got.json -- sh -c 'for f in net/dev net/tcp net/dev mounts; do cat /proc/$f; done' >/dev/null
	is "links of /proc that lead each to itself $mode" "$(/usr/bin/python3 -c 'import json, re
f = [f["path"].split("/", 3) for f in json.load(open("got.json"))["by"]["file"] if re.match("/proc/[0-9]+/", f["path"]) and f["read"]["bytes"]]
print(sorted(x[3] for x in f), len({x[2] for x in f}))')" "['mounts', 'net/dev', 'net/dev', 'net/tcp'] 4"
done
# To the kernel a file of /proc/PID/net is deleted once somebody has looked for it again. A
# name is asked for again after 0.1 s.
cat >kept.py <<'EOF'
import os, time
fd = os.open("/proc/self/net/dev", 0)
for i in range(100): os.pread(fd, 9, 0)
os.stat("/proc/self/net/dev")
end = time.monotonic() + 0.5
while time.monotonic() < end: os.pread(fd, 9, 0); time.sleep(0.001)
assert os.readlink("/proc/self/fd/%d" % fd) == "/proc/%d/net/dev (deleted)" % os.getpid()
EOF
for mode in "" --patch-after=1 --no-patch $BPFMODE; do
	"$IOPS" run $mode --json -o kept.json -- /usr/bin/python3 kept.py
	is "nobody deletes a file of /proc $mode" "$? $(json kept.json '[f["path"].split("/", 3)[3] for f in j["by"]["file"] if f["path"] and "/net/dev" in f["path"] and f["read"]["operations"] > 100]')" \
		"0 ['net/dev']"
done
if [ "$(id -u)" = 0 ]; then
	files root "a=300 r$DIR/root/a=600"
	files mounts "m/a=900"
	files apart "a=300 b=1200 r/b=900 r$DIR/apart/a=600"
	# What a thread did that is gone by the time that it is read, its group with it.
	for mode in '' --patch-after=1; do
		rm -rf gone tracer
		# shellcheck disable=SC2086
		"$IOPS" run $mode --json -o got.json -- /usr/bin/python3 case.py gone & run=$!
		until grep -q '^State:.T' "/proc/$(cat tracer)/status" || ! kill -0 $run; do sleep 0.05; done 2>/dev/null
		sleep 1; kill -CONT "$(cat tracer)"; wait $run
		is "gone $mode" "$(/usr/bin/python3 show.py got.json "$DIR/gone")" "r/b=500 r$DIR/gone/a=500"
	done
else
	for _ in 1 2 3 4 5 6 7 8 9 10 11; do skip "another root, other mounts: not root"; done
fi

files offsets "a=230"
row='[f for f in j["by"]["file"] if f["path"].endswith("offsets/a")][0]'
is "device and inode" "$(json got.json "${row}['device'], ${row}['inode']")" \
	"$(/usr/bin/python3 -c 'import os; s=os.stat("offsets/a"); print(("%d:%d" % (os.major(s.st_dev), os.minor(s.st_dev)), s.st_ino))')"
is "sequential, consecutive and random writes" \
	"$(json got.json "${row}['sequential_writes'], ${row}['consecutive_writes'], ${row}['random_writes'], ${row}['write_extent']")" "(2, 2, 0, 230)"
is "... and reads" "$(json got.json "${row}['sequential_reads'], ${row}['consecutive_reads'], ${row}['random_reads'], ${row}['read_extent']")" "(1, 0, 0, 160)"

echo text >in; "$IOPS" run --json -o got.json -- cat <in >out 2>/dev/null
is "inherited descriptors" "$(json got.json 'sorted(f["path"].rsplit("/")[-1] for f in j["by"]["file"] if 5 in (f["read"]["bytes"], f["write"]["bytes"]))')" "['in', 'out']"
"$IOPS" run -e meta --json -o m.json -- sh -c 'cat nosuch1; cat ./nosuch/../nosuch2; ls -d .; mv in in2; rm in2' >/dev/null 2>&1
is "failed opens have their absolute path" "$(json m.json 'sorted(f["path"].rsplit("/")[-1] for f in j["by"]["file"] if f.get("meta", {}).get("errors") and "nosuch" in f["path"])')" "['nosuch1', 'nosuch2']"
is "... and are listed by call" "$(json m.json '[e["count"] >= 2 for e in j["errors"] if e["call"] == "openat" and e["errno"] == "ENOENT"]')" "[True]"
printf 'x' >"$(printf 'bad\377name')"
"$IOPS" run --json -o u.json -- sh -c 'cat bad*' >/dev/null
is "a name that is no UTF-8" "$(json u.json '[__import__("base64").b64decode(f["path_base64"])[-8:] for f in j["by"]["file"] if "path_base64" in f]')" "[b'bad\\xffname']"
is "types" "$("$IOPS" run --json --by type -o ty.json -- sh -c 'echo x | cat >/dev/null; cat /etc/hostname >y'; json ty.json 'sorted(t["type"] for t in j["by"]["type"])')" "['char', 'pipe', 'regular']"
cat >deep.py <<'EOP'
import os
os.mkdir("deep"); os.chdir("deep")
for i in range(25): os.mkdir("d" * 200); os.chdir("d" * 200)
for i in range(4):
    fd = os.open("f%d" % i, os.O_WRONLY | os.O_CREAT)
    for k in range(3): os.write(fd, b"x" * (i + 1))
    os.close(fd)
EOP
for mode in "" --no-patch; do
	# shellcheck disable=SC2086
	"$IOPS" run $mode --json -o deep.json -- /usr/bin/python3 -B deep.py; rm -rf deep
	is "paths longer than can be told $mode" "$(json deep.json 'sorted((f["write"]["bytes"], f["type"], f["inode"] > 0) for f in j["by"]["file"] if f["path"] is None)')" \
		"[(3, 'regular', True), (6, 'regular', True), (9, 'regular', True), (12, 'regular', True)]"
done

# A file that is not open any more by the time that anybody may ask.
for how in "" --no-patch --patch-after=1; do
	for way in exchanged unnamed linked; do
		right=0
		for _ in 1 2 3; do
			rm -rf named; mkdir named
			# shellcheck disable=SC2086
			want=$(cd named && "$IOPS" run -q --json -o ../named.json $how -- "$HELP/named" $way)
			got=$(json named.json '[f["path"].split("#")[0] for f in j["by"]["file"] if f["write"]["bytes"] >= 70][0]')
			[ -n "$want" ] && [ "$got" = "$want" ] && right=$((right + 1))
		done
		is "a name that has changed since: $way $how" $right 3
	done
done

# A link that somebody else makes lead elsewhere: what a file says tells where it was. To a
# directory, and to what a process has for itself, which is not what we have.
mkdir r1 r2; echo r1 >r1/f; echo r2 >r2/f; ln -s r1 current; ln -s /proc/self/cwd own; mkdir own.d; echo own >own.d/f
cat >flipped.py <<'EOP'
import os, sys, time
seen = {"r1": 0, "r2": 0}
base = os.getcwd()
os.chdir("own.d")
end = time.time() + 1
while time.time() < end:
    with open(base + "/current/f") as f: seen[f.read().strip()] += 1
    with open(base + "/own/f") as f: assert f.read() == "own\n"
    time.sleep(0.002)
print(sorted(seen.items()))
EOP
for mode in "" --patch-after=1 --no-patch; do
	(while sleep 0.15; do ln -s r2 next; mv -T next current; sleep 0.15; ln -s r1 next; mv -T next current; done) & flips=$!
	timeout 30 "$IOPS" run ${mode:+"$mode"} --json -l flipped.iops -o flipped.json -- /usr/bin/python3 -S flipped.py >flipped.txt
	kill $flips; wait $flips 2>/dev/null; rm -f next
	is "a link that others make lead elsewhere $mode" "$("$IOPS" export --to jsonl flipped.iops | python3 -c '
import collections, json, sys
n = collections.Counter(o["path"][-4:-2] for o in map(json.loads, sys.stdin) if o["call"] == "read" and o["result"] == 3 and o["path"].endswith("/f"))
print(sorted(n.items()))')" "$(cat flipped.txt)"
	is "... and one to its own directory $mode" "$(json flipped.json 'sum(f["read"]["operations"] for f in j["by"]["file"] if f["path"] and f["path"].endswith(("/own.d/f", "/own/f"))) > 10, [f["path"] for f in j["by"]["file"] if f["path"] and f["path"].endswith("/f") and f["path"].split("/")[-2] not in ("r1", "r2", "own", "own.d", "current")]')" "(True, [])"
done

# What is odd about a name changes nothing about whose it is.
mkdir -p deep/er; echo deep >deep/er/f
cat >odd.py <<'EOP'
import os
os.chdir("deep/er")
for path in "//proc//self/cwd/./f", "/proc/self//cwd/f", "/./proc/thread-self/cwd///f", "/dev//fd/0", "/./dev/stdin":
    for i in range(60):
        fd = os.open(path, os.O_RDONLY)
        os.read(fd, 5); os.close(fd)
EOP
for mode in "" --patch-after=1 --no-patch; do
	"$IOPS" run ${mode:+"$mode"} --json -o odd.json -- /usr/bin/python3 -S odd.py <deep/er/f
	is "names that are spelled oddly $mode" "$(json odd.json '[(f["path"], f["read"]["operations"]) for f in j["by"]["file"] if f["path"] and (f["path"].endswith(("/f", "stdin")) or "/fd" in f["path"])]')" "[('$DIR/deep/er/f', 300)]"
done

# Descriptors of calls that hardly anyone makes: open_tree(2), mq_open(3).
cat >rare.py <<'EOP'
import ctypes, os
call = ctypes.CDLL(None).syscall
for i in range(50):
    tree = call(428, -100, b".", 0)
    fd = os.open("rare", os.O_WRONLY | os.O_CREAT, dir_fd=tree)
    os.write(fd, b"abc"); os.close(fd); os.close(tree)
    queue = call(240, b"iopsq", os.O_RDWR | os.O_CREAT, 0o600, None)
    os.read(queue, 80); os.close(queue)
call(241, b"iopsq")
EOP
for mode in "" --patch-after=1 --no-patch; do
	"$IOPS" run ${mode:+"$mode"} --json -o rare.json -- /usr/bin/python3 -S rare.py
	is "files by descriptors that are rare $mode" "$(json rare.json 'sorted((f["path"], f["read"]["operations"], f["write"]["operations"]) for f in j["by"]["file"] if f["path"] and f["path"].endswith(("/rare", "iopsq")))')" "[('/iopsq', 50, 0), ('$DIR/rare', 0, 50)]"
done

# A descriptor that another thread puts one file after the other on: each row is of one file.
cat >swaps.py <<'EOP'
import os, threading
for i in range(4): os.close(os.open("swap%d" % i, os.O_WRONLY | os.O_CREAT, 0o600))
os.dup2(os.open("swap0", os.O_WRONLY), 100)
def swap():
    for i in range(4000):
        fd = os.open("swap%d" % (i % 4), os.O_WRONLY); os.dup2(fd, 100); os.close(fd)
thread = threading.Thread(target=swap); thread.start()
while thread.is_alive(): os.write(100, b"abc")
EOP
for mode in "" --patch-after=1 --no-patch; do
	"$IOPS" run ${mode:+"$mode"} --json -o swaps.json -- /usr/bin/python3 -S swaps.py
	is "each row is of one file $mode" "$(json swaps.json '[(f["path"], f["inode"]) for f in j["by"]["file"] if f["write"]["operations"] and f["path"] and __import__("os").stat(f["path"]).st_ino != f["inode"]]')" "[]"
done
plan
