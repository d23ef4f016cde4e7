#!/bin/sh
# shellcheck disable=SC2016,SC2094,SC2317,SC3045
# A mounted folder behaves as the folder does, and every operation on it is told once.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

[ -w /dev/fuse ] || skip_all "no /dev/fuse"
"$IOPS" doctor --json | tr -d ' \t\n' | grep -q '"name":"mount","status":"\(works\|limited\)"' ||
	skip_all "iops doctor says that nothing can be mounted here"
"$IOPS" doctor --json | tr -d ' \t\n' | grep -q '"name":"mount","status":"works"' && ROOTLY=1
trap 'umount -l "$DIR"/mnt* 2>/dev/null; cd /; rm -rf "$DIR"' EXIT

new() { rm -rf src mnt; mkdir src mnt; }
# m NAME OPTIONS... -- COMMAND: below a mount, the report in NAME.json
m() {
	to=$1; shift
	timeout -s KILL 60 "$IOPS" mount -o "$to.json" "$@"
}


# As tests/compare.py, but of a mount: reads, writes and syncs of mkio's files.
cat >mkio.py <<'P'
import json, sys
want, got, mnt = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), sys.argv[3]
bad, rows = [], {}
def same(what, w, g):
    if w != g:
        bad.append(f"{what}: done {w}, seen {g}")
for f in got["by"]["file"]:
    if f["path"] in rows:
        bad.append(f"{f['path']}: two rows")
    rows[f["path"]] = f
none = {"operations": 0, "bytes": 0}
sums = {"read": [0, 0], "write": [0, 0]}
for path, w in want["files"].items():
    if not path.startswith(mnt + "/"):
        continue
    g = rows.get(path[len(mnt):], {})
    for kind in ("read", "write"):
        for n, key in enumerate(("operations", "bytes")):
            same(f"{path} {kind} {key}", w[kind][key], g.get(kind, none)[key])
            sums[kind][n] += w[kind][key]
for kind, (ops, size) in sums.items():
    same(f"total {kind}", [ops, size], [got["total"][kind][k] for k in ("operations", "bytes")])
if len(sys.argv) > 4:
    same("sync", int(sys.argv[4]), got["total"]["sync"]["operations"])
same("lost", 0, got["run"]["lost"])
same("backend", "fuse", got["run"]["backend"])
print("\n".join(bad[:20]))
sys.exit(bool(bad))
P
exact() {	# name syncs mkio-arguments...
	title=$1 syncs=$2; shift 2
	new
	m exact src mnt -- "$HELP/mkio" -o "$DIR/want.json" "$@" || echo "status $?"
	ok "$title" /usr/bin/python3 mkio.py want.json exact.json "$DIR/mnt" "$syncs"
}
exact "sizes and offsets" 0 'write f 4096*20' 'read f 512*80' 'pwrite f 100*3 5' 'pread f 100*4 50' \
	'readv f 300*5' 'writev g 300*5' 'preadv f 60*5 10' 'pwritev g 60*5 10' 'write f 1*7' 'read f 1*3'
exact "syncs" 3 'write f 10*2' 'fsync f 2' 'fdatasync f 1'
exact "appended" 0 'append h 77*9'
exact "a file without a name" 0 'unlinked u 10*3'
exact "one of another folder" 0 'openat_rel . rel 10*2' 'dup d 10*4'
exact "8 threads" 0 -t 8 'write f%t 100*50' 'read f%t 100*50'
exact "5 processes" 0 -f 5 'write f%t 100*20' 'read f%t 64*20'
exact "a signal every 300 us" 0 -S 300 -t 4 'write f%t 100*200'
exact "a megabyte at a time" 0 'write f 1048576*4' 'read f 1048576*4'

new
m pid --by process,file,call src mnt -- sh -c 'echo $$ >&3; echo hello >f; exec cat f >/dev/null' 3>pid
is "the process that it was" "$(json pid.json '[(r["pid"], r["write"]["operations"], r["read"]["bytes"]) for r in j["by"]["process"] if r["write"]["operations"]]')" \
	"[($(cat pid), 1, 6)]"
is "the path begins at the mount point" "$(json pid.json '[r["path"] for r in j["by"]["file"] if r["write"]["bytes"]]')" "['/f']"
is "nothing is left mounted" "$(grep -c " $DIR/mnt " /proc/mounts)" 0
is "written to the source" "$(cat src/f)" hello

status "the status of the command" 7 "$IOPS" mount -o r src mnt -- sh -c 'exit 7'
status "killed by a signal" 143 sh -c '"$0" mount -o r src mnt -- sh -c "kill -TERM \$\$"; exit $?' "$IOPS"
status "no such command" 127 "$IOPS" mount -o r src mnt -- /nonexistent/x
is "it runs in the mount point" "$("$IOPS" mount -o r src mnt -- pwd)" "$DIR/mnt"

# What cannot be.
says() {	# name status pattern command...
	name=$1 want=$2 pattern=$3; shift 3
	"$@" >out 2>&1; got=$?
	is "$name: status" $got "$want"
	ok "$name: one line that says it" sh -c '[ "$(wc -l <out)" = 1 ] && grep -q "^iops: .*$1" out' - "$pattern"
}
: >plain; mkdir full; : >full/x; mkdir src/in
says "no source" 2 "none: No such file" "$IOPS" mount none mnt
says "no mount point" 2 "none: No such file" "$IOPS" mount src none
says "not a folder" 2 "plain: Not a directory" "$IOPS" mount src plain
says "not empty" 2 "full: is not empty" "$IOPS" mount src full
says "inside the source" 2 "inside the source" "$IOPS" mount src src/in
says "the source inside it" 2 "the source is inside it" "$IOPS" mount src/in src
says "the source itself" 2 "the source itself" "$IOPS" mount src src
says "one word" 2 "a source and a mount point" "$IOPS" mount src
says "a command and --daemon" 2 "either a command or --daemon" "$IOPS" mount --daemon src mnt -- true

# The true errors.
new
m err src mnt -- sh -c 'cat none; mkdir src2/x; : >f; mkdir f; rmdir f; ln -s x l; cat l' 2>/dev/null
is "errors by their names" "$(json err.json 'sorted({(e["call"], e["errno"]) for e in j["errors"]} & {("lookup", "ENOENT"), ("rmdir", "ENOTDIR")})')" "[('lookup', 'ENOENT')]"
if [ "$ROOTLY" ] && mkdir small ro && mount -t tmpfs -o size=64k none small 2>/dev/null; then
	rm -rf mnt; mkdir mnt
	m full small mnt -- sh -c 'dd if=/dev/zero of=f bs=4k count=100 2>/dev/null; true'
	is "a full source" "$(json full.json '[e for e in j["errors"] if e["errno"] == "ENOSPC"][0]["call"]')" write
	mount -o remount,ro small
	is "a source that is read-only" "$("$IOPS" mount -o r small mnt -- sh -c 'echo x 2>&1 >g | grep -o "Read-only file system"' 2>&1)" "Read-only file system"
	umount small
else
	skip "no tmpfs can be mounted here"; skip "likewise"
fi

# What a file system is to do: the same on the mount as on the source.
cat >does.py <<'P'
import ctypes, errno, fcntl, mmap, os, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def e(f, *a, **k):
    try:
        return f(*a, **k)
    except OSError as x:
        return errno.errorcode[x.errno]
def say(*a): print(*a)
f = os.open("a", os.O_RDWR | os.O_CREAT, 0o640)
os.write(f, b"x" * 10000)
m = mmap.mmap(f, 10000)
m[5:9] = b"abcd"; m.flush()
say("mmap", os.pread(f, 6, 4), m[5:9]); m.close()
os.link("a", "b"); say("link", os.stat("a").st_nlink, os.stat("a").st_ino == os.stat("b").st_ino)
os.unlink("a"); os.unlink("b")
say("unlinked", os.fstat(f).st_nlink, os.pread(f, 2, 5), os.write(f, b"more")); os.close(f)
t = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600); os.write(t, b"tmp")
say("tmpfile", libc.linkat(-100, b"/proc/self/fd/%d" % t, -100, b"named", 0x400), open("named").read())
t = os.open(".", os.O_TMPFILE | os.O_EXCL | os.O_RDWR, 0o600)
say("tmpfile excl", libc.linkat(-100, b"/proc/self/fd/%d" % t, -100, b"named2", 0x400), ctypes.get_errno() == errno.ENOENT)
os.symlink("named", "s"); say("symlink", os.readlink("s"), os.lstat("s").st_size)
for k in (b"user.k", b"trusted.t"):
    say(k, e(os.setxattr, "named", k, b"v"), e(os.getxattr, "named", k))
say("xattr", e(os.setxattr, "named", b"user.k", b"w", os.XATTR_CREATE), e(os.getxattr, "named", b"user.none"), sorted(os.listxattr("named")), e(os.removexattr, "named", b"user.k"), os.listxattr("named") )
f = os.open("sp", os.O_RDWR | os.O_CREAT); os.ftruncate(f, 1 << 20); os.pwrite(f, b"z" * 4096, 524288)
say("holes", os.lseek(f, 0, os.SEEK_DATA), os.lseek(f, 524288, os.SEEK_HOLE), e(os.lseek, f, 600000, os.SEEK_DATA), os.lseek(f, 0, os.SEEK_END), os.fstat(f).st_blocks < 100)
os.posix_fallocate(f, 0, 2 << 20); say("fallocate", os.fstat(f).st_size)
say("punch", libc.fallocate(f, 3, ctypes.c_long(0), ctypes.c_long(1 << 20)), os.pread(f, 3, 524288))
g = os.open("sp2", os.O_RDWR | os.O_CREAT); os.pwrite(f, b"c" * 100, 0)
say("copy_file_range", os.copy_file_range(f, g, 100, 0, 50), os.fstat(g).st_size, os.pread(g, 2, 50))
for b in (b"\xff\xfe odd\n name", b"a" * 255, b"-", b" ", b"\x01", "\u00e4\u4e2d".encode()):
    os.close(os.open(b, os.O_CREAT | os.O_WRONLY)); say(b, b in os.listdir(b"."), os.stat(b).st_size)
say("too long", e(os.open, b"a" * 256, os.O_CREAT))
d = os.open("od", os.O_RDWR | os.O_CREAT | os.O_DIRECT); p = mmap.mmap(-1, 1 << 20); p[:3] = b"dio"
say("O_DIRECT", os.write(d, p), os.preadv(d, [p], 4096), e(os.pread, d, 100, 0) if 0 else "")
os.mkdir("big")
for i in range(2000): os.close(os.open("big/%04d" % i, os.O_CREAT | os.O_WRONLY))
say("large", len(os.listdir("big")), sorted(os.listdir("big"))[1999])
for i in range(0, 2000, 2): os.unlink("big/%04d" % i)
say("half", len(os.listdir("big")), e(os.rmdir, "big"))
with os.scandir("big") as it: say("types", {x.is_file() for x in it})
os.mkdir("r1"); os.mkdir("r2"); open("r1/x", "w").write("1"); open("r2/x", "w").write("2")
r2 = lambda a, b, fl: libc.renameat2(-100, a, -100, b, fl) and errno.errorcode[ctypes.get_errno()]
say("noreplace", r2(b"r1/x", b"r2/x", 1), "exchange", r2(b"r1/x", b"r2/x", 2), open("r1/x").read(), open("r2/x").read())
say("onto full", e(os.rename, "r1", "r2"), "loop", e(os.rename, "r1", "r1/y"))
h = open("r1/x"); os.rename("r1/x", "r1/moved"); say("moved", h.read(), os.listdir("r1"))
say("cwd", e(os.chdir, "r1"), os.getcwd().rsplit("/", 1)[1], os.listdir("."), e(os.chdir, ".."))
os.mkfifo("p"); say("fifo", os.stat("p").st_mode)
os.chmod("named", 0o4755); os.chown("named", 1234, 4321); s = os.stat("named"); say("chown", oct(s.st_mode), s.st_uid, s.st_gid)
os.utime("named", ns=(123456789012345678, 234567890123456789)); s = os.stat("named"); say("utime", s.st_atime_ns, s.st_mtime_ns)
os.truncate("named", 1); say("truncate", os.stat("named").st_size, e(os.truncate, "big", 1))
say("access", os.access("named", os.X_OK), os.access("sp", os.X_OK), os.access("none", os.F_OK))
say("ioctl", fcntl.ioctl(f, 0x80086601, b"\0" * 8)[4:] is not None)
a = os.open("ap", os.O_WRONLY | os.O_CREAT | os.O_APPEND); os.write(a, b"1"); os.truncate("ap", 5); os.write(a, b"2"); say("append", open("ap", "rb").read())
v = os.statvfs("."); say("statvfs", v.f_namemax, v.f_bsize)
say("dir", e(os.open, "r1", os.O_RDWR), e(os.read, os.open("r1", os.O_RDONLY), 1), e(os.open, "none", os.O_RDONLY), e(os.open, "named", os.O_CREAT | os.O_EXCL), e(os.open, "named/x", os.O_RDONLY), e(os.open, "s", os.O_NOFOLLOW))
say("exec", os.spawnl(os.P_WAIT, "/bin/cp", "cp", "/bin/true", "tr"), os.spawnl(os.P_WAIT, "./tr", "tr"))
big = os.open("bigw", os.O_RDWR | os.O_CREAT); say("3 MiB", os.write(big, b"q" * 3000000), len(os.pread(big, 3000000, 0)), os.pwritev(big, [b"a" * 5, b"b" * 7], 2))
def locked(kind):
    pid = os.fork()
    if pid == 0:
        x = os.open("sp", os.O_RDWR)
        r = e(fcntl.lockf, x, kind | fcntl.LOCK_NB, 10, 0) if kind < 8 else 0
        os._exit(1 if r == "EAGAIN" or r == "EACCES" else 0)
    return os.waitpid(pid, 0)[1]
fcntl.lockf(f, fcntl.LOCK_EX, 5, 0); say("lockf", locked(fcntl.LOCK_EX), locked(fcntl.LOCK_SH))
fcntl.lockf(f, fcntl.LOCK_UN, 5, 0); say("unlocked", locked(fcntl.LOCK_EX))
fcntl.lockf(f, fcntl.LOCK_SH, 5, 0); say("shared", locked(fcntl.LOCK_SH), locked(fcntl.LOCK_EX))
os.close(os.open("sp", os.O_RDONLY)); say("closed", locked(fcntl.LOCK_EX))
pid = os.fork()
if pid == 0:
    x = os.open("sp", os.O_RDWR); fcntl.flock(x, fcntl.LOCK_EX); open("have", "w").close()
    import time; time.sleep(0.3); os._exit(0)
while not os.path.exists("have"): pass
y = os.open("sp", os.O_RDWR); say("flock", e(fcntl.flock, y, fcntl.LOCK_EX | fcntl.LOCK_NB), e(fcntl.flock, y, fcntl.LOCK_EX), os.waitpid(pid, 0)[1])
import signal
def late(*a): raise InterruptedError(errno.EINTR, "")
signal.signal(signal.SIGALRM, late)
pid = os.fork()
if pid == 0:
    x = os.open("sp2", os.O_RDWR); fcntl.lockf(x, fcntl.LOCK_EX); open("have2", "w").close()
    import time; time.sleep(5); os._exit(0)
while not os.path.exists("have2"): pass
signal.setitimer(signal.ITIMER_REAL, 0.2); say("interrupted", e(fcntl.lockf, g, fcntl.LOCK_EX)); os.kill(pid, 9); os.waitpid(pid, 0)
say("later", e(fcntl.lockf, g, fcntl.LOCK_EX))
# Listed while it changes: what a folder holds is never an older one.
os.mkdir("l"); seen = []
for i in range(300):
    open("l/%d" % i, "w").close()
    if i % 50 == 0: seen.append(len(os.listdir("l")))
    if i % 3 == 0: os.rename("l/%d" % i, "l/x%d" % i); seen.append("x%d" % i in os.listdir("l"))
    if i % 7 == 0: os.unlink("l/%s%d" % ("x" if i % 3 == 0 else "", i)); seen.append(len(os.listdir("l")))
say("listed", seen)
import ctypes; c = ctypes.CDLL(None, use_errno=True)
c.opendir.restype = c.readdir.restype = ctypes.c_void_p
c.readdir.argtypes = c.rewinddir.argtypes = c.closedir.argtypes = [ctypes.c_void_p]
d = c.opendir(b"l")
def rest(n):
    k = 0
    while k < n and c.readdir(d): k += 1
    return k
say("part", rest(20)); os.unlink("l/298"); os.mkdir("l/sub"); c.rewinddir(d); say("from the start", rest(9999), rest(1))
c.closedir(d); d = c.opendir(b"l"); say("again", rest(9999)); c.closedir(d)
for i in os.listdir("l"): (os.rmdir if i == "sub" else os.unlink)("l/" + i)
say("emptied", os.listdir("l"), e(os.rmdir, "l"))
P
rm -rf bare; mkdir bare
(cd bare && /usr/bin/python3 ../does.py) >bare.txt 2>&1
for how in --direct --cached; do
	new
	m does $how --by call src mnt -- /usr/bin/python3 "$DIR/does.py" >mnt.txt 2>&1
	# Behind the cache of the kernel all of a file is data.
	[ $how = --direct ] || sed -i '/^holes/d' bare.txt mnt.txt
	ok "a file system does what it has to, $how" diff bare.txt mnt.txt
	is "a copy has two sides, $how" "$(json does.json '[(c["read"]["bytes"], c["write"]["bytes"]) for c in j["by"]["call"] if c["call"] == "copy_file_range"]')" "[(100, 100)]"
	ok "without a loss" test "$(json does.json 'j["run"]["lost"]')" = 0
done
ok "those were many calls" test "$(wc -l <bare.txt)" -gt 40

# Large reads take another way than small ones; what is read is the same.
head -c 3000000 /dev/urandom >big
cat >reads.py <<'P'
import os, sys
want = open("../big", "rb").read(); f = os.open("big", os.O_RDONLY); bad = []
for size in (65535, 65536, 65537, 131072, 262143, 1000000, 1048576, 2000000):
    for at in (0, 1, 4095, 4096, 100001, 2900000, 3000000 - size, 2999999, 3000000, 3100000):
        if at >= 0 and os.pread(f, size, at) != want[at:at + size]: bad.append((size, at))
print(bad)
P
for how in --direct --cached; do
	new; cp big src/
	is "large reads, $how" "$(m reads $how src mnt -- /usr/bin/python3 "$DIR/reads.py")" "[]"
done
if command -v strace >/dev/null; then
	new; cp big src/
	timeout -s KILL 60 strace -f -qq -e trace=splice -o spliced "$IOPS" mount -q -o r --direct src mnt -- dd if=big of=/dev/null bs=131072 count=20 2>/dev/null
	is "... go by splice" "$(grep -c 'splice(.*= 131072$' spliced) $(grep -c 'splice(.*= 131088$' spliced)" "20 20"
else
	skip "no strace"
fi

# Nothing but appended to.
new; echo a >src/log; echo a >log
if chattr +a src/log 2>/dev/null; then
	for how in --direct --cached; do
		m append $how src mnt -- sh -c 'echo b >>log; (echo c; echo d) >>log; cat log; echo e 2>&1 >log' >out 2>&1
		is "a file that is only appended to, $how" "$(tr '\n' ' ' <out)" "$([ $how = --direct ] && echo a b c d || echo a b c d b c d) sh: 1: cannot create log: Operation not permitted "
	done
	chattr -a src/log
else
	for _ in 1 2; do skip "no chattr +a here"; done
fi

# Fewer descriptors than files.
new
for i in $(seq 40); do mkdir src/d"$i"; (cd src/d"$i" && seq 20 | xargs touch); done
is "more files than descriptors" "$(ulimit -Sn 300; ulimit -Hn 300; "$IOPS" mount -o r src mnt -- sh -c 'find . | wc -l; mv d1 d2/; ln d2/d1/1 x; echo y >x; cat d2/d1/1; rm -r d3; find . | wc -l' 2>&1 | tr '\n' ' ')" "841 y 821 "

# alike NAME SCRIPT: it says the same in a bare folder and on a mount.
alike() {
	rm -rf bare; mkdir bare
	(cd bare && sh "../$2") >bare.txt 2>&1
	for how in --direct --cached; do
		new
		m alike $how src mnt -- sh "$DIR/$2" >mnt.txt 2>&1
		ok "$1, $how" diff bare.txt mnt.txt
	done
}

# Rights are those of who asks.
if [ "$ROOTLY" ] && command -v setpriv >/dev/null; then
	cat >rights.sh <<'S'
su() { setpriv --reuid="$1" --regid="$2" --groups "$3" sh -c "$4" 2>&1; }
umask 022; echo secret >s; chmod 600 s; mkdir -m 1777 tmp; mkdir -m 2775 g; chgrp 5555 g; echo x >tmp/roots
mkdir -m 700 shut; echo y >shut/y
su 1000 1000 1000 'cat s; echo $?; echo a >tmp/mine; echo b >new; rm tmp/roots; cat shut/y; mkdir g/no; chmod 777 s; chown 1000 tmp/mine; chown 0 tmp/mine'
su 1000 1000 1000,5555 'mkdir g/yes; echo b >g/f; umask 077; echo >tmp/tight; touch s; ls tmp'
su 1001 1001 1001 'echo c >>tmp/mine; mv tmp/mine tmp/theirs; cat tmp/tight; [ -r s ]; echo $?; [ -x tmp ]; echo $?'
cp /bin/true suid; chmod 6755 suid; su 1000 1000 1000 'echo >>suid'; chmod 6777 suid; su 1000 1000 1000 'echo >>suid'; stat -c %a suid
chmod 6777 suid; su 1000 1000 1000 ': >suid'; stat -c %a suid
stat -c '%n %a %u %g' tmp/* g/* g
if command -v setfacl >/dev/null && setfacl -m u:1000:r s 2>/dev/null; then
	su 1000 1000 1000 'cat s'; su 1001 1001 1001 'cat s'; getfacl -c s; mkdir da; setfacl -d -m u:1000:rwx da; umask 077; echo >da/f; getfacl -c da/f
fi
S
	chmod 755 "$DIR"
	alike "rights are those of who asks" rights.sh
	ok "some were refused" test "$(grep -c denied bare.txt)" -ge 5

	# A crowd makes iops begin threads, in the middle of what it does for somebody.
	cat >crowd.py <<'P'
import os, sys, threading
name, uid, gid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.setgroups([]); os.setresgid(gid, gid, gid); os.setresuid(uid, uid, uid); os.umask(0o22)
def work(n):
    for i in range(120):
        p = "%s/%d.%d" % (name, n, i)
        f = os.open(p, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
        for k in range(8): os.pwrite(f, b"x", k)
        os.pread(f, 8, 0); os.close(f); os.chmod(p, 0o600); os.stat(p)
t = [threading.Thread(target=work, args=(n,)) for n in range(12)]
[x.start() for x in t]; [x.join() for x in t]
P
	cat >crowd.sh <<'S'
umask 022; mkdir -m 1777 one two three root; mkdir -m 700 own
for who in "one 1234 1234" "root 0 0" "two 1234 0" "three 1235 1236"; do
	/usr/bin/python3 ../crowd.py $who &
done
wait
for i in $(seq 40); do mkdir own/$i && echo x >own/$i/f || echo "no $i"; done
for d in one two three root own; do find $d -mindepth 1 -printf "$d %u %g %m\n" | sort | uniq -c; done
S
	alike "... also in a crowd" crowd.sh
	is "... of so many" "$(awk '/^ *1440/ { n++ } END { print n }' bare.txt)" 4
else
	skip "it takes root and setpriv"
fi

# Lines of a FUSE trace, read back.
new
"$IOPS" mount -f fuse-trace --flush -o x.trace src mnt -- sh -c 'echo hello >f; cat f; ln f g; mv g h; mkdir d; rmdir d; truncate -s 3 f; chmod 600 f; rm h' >/dev/null
for word in '  CREATE: path=/f; mode=' '   WRITE: path=/f; offset=0; length_buf=6;' '    READ: path=/f; length=[0-9]*; offset=0;' \
	'    LINK: target=/g; name=/f' '  RENAME: old=/g; new=/h' '   MKDIR: path=/d; mode=511' '   TRUNC: path=/f; length=3' '   CHMOD: path=/f; mode='; do
	ok "a line $word" grep -q "^[0-9]\{8\}-[0-9]\{6\}\.[0-9]\{6\}: $word" x.trace
done
"$IOPS" report --from fuse-trace --json -o back.json x.trace
is "read back" "$(json back.json '(j["total"]["read"]["bytes"], j["total"]["write"]["bytes"], j["total"]["write"]["operations"], j["run"]["damaged"] if "damaged" in j["run"] else False)')" "(6, 6, 1, False)"
new; : >src/old
"$IOPS" mount --clear -o r src mnt -- sh -c ':'
is "--clear empties the source" "$(ls src)" ""

# The log says what the report says.
new
m log --by file,call,process --log x.iops src mnt -- sh -c 'for i in 1 2 3; do echo $i >f$i; cat f$i; done' >/dev/null
"$IOPS" report --by file,call,process --json -o back.json x.iops
is "the log tells the same" "$(json back.json '{k: v for k, v in j.items() if k != "reported_at"}')" "$(json log.json '{k: v for k, v in j.items() if k != "reported_at"}')"

# Without a command: until it is unmounted, or told to end.
mounted() { for _ in $(seq 100); do grep -q " $DIR/mnt fuse" /proc/mounts && return; sleep 0.05; done; return 1; }
unmounted() { for _ in $(seq 100); do grep -q " $DIR/mnt fuse" /proc/mounts || return 0; sleep 0.05; done; return 1; }
for end in 'umount mnt' 'kill -INT $pid' 'kill -TERM $pid'; do
	new
	"$IOPS" mount -o r.json src mnt & pid=$!
	ok "mounted, then $end" mounted
	echo hello >mnt/f
	eval "$end"; wait $pid
	is "$end: status" $? 0
	is "$end: the report" "$(json r.json 'j["total"]["write"]["bytes"]')" 6
	ok "$end: gone" unmounted
done
new
"$IOPS" mount --daemon -o r.json src mnt; is "--daemon: status" $? 0
ok "--daemon: mounted when it returns" grep -q " $DIR/mnt fuse" /proc/mounts
echo hello >mnt/f; umount mnt
for _ in $(seq 100); do [ -s r.json ] && break; sleep 0.05; done
is "--daemon: the report" "$(json r.json 'j["total"]["write"]["bytes"]')" 6
new
"$IOPS" mount --duration 0.3 -o r.json src mnt; is "--duration ends it" $? 0
new
"$IOPS" mount -o r.json src mnt & pid=$!
mounted
says "busy" 2 "FUSE file system is mounted there" "$IOPS" mount src mnt
exec 8>mnt/open; kill -INT $pid; wait $pid
ok "open files: who has them goes on" sh -c 'echo more >&8'
exec 8>&-
is "open files: nothing is lost" "$(cat src/open)" more
ok "open files: gone" unmounted
# Nobody reads the report, and signals come again: a mount in use is served on.
new
mkfifo unread; sleep 8 <>unread >/dev/null & reader=$!
for i in $(seq 300); do echo "$i" >"src/a-long-name-so-that-the-report-is-long-$i"; done
"$IOPS" mount --json -o - src mnt >unread & pid=$!
mounted
cat mnt/a-long-name* >/dev/null
exec 8>mnt/open
for _ in 1 2 3; do kill -INT $pid; sleep 0.7; done
ok "... whoever signals" sh -c 'echo more >&8'
exec 8>&-
cat unread >/dev/null & wait $pid
is "... and nothing is lost" "$? $(cat src/open)" "0 more"
kill $reader; rm unread

# Killed.
new
"$IOPS" mount --log x.iops -o r.json src mnt & pid=$!
mounted
for i in 1 2 3 4 5; do echo "$i" >mnt/f$i; done
sleep 1.6
# shellcheck disable=SC2046
kill -KILL $pid $(ps -o pid= --ppid $pid); wait $pid 2>/dev/null
ok "killed: the mount is gone" unmounted
ok "killed: the folder can be used" ls mnt
"$IOPS" report --json -o back.json x.iops 2>/dev/null
is "killed: the log is there" "$(json back.json 'j["total"]["write"]["operations"]')" 5

# What is run from a folder whose server is traced as well: nobody waits for the other.
new
cp "$(command -v cat)" src/prog
# (The sanitizer of leaks does not work in a tracee.)
is "programs of a folder that a tracee serves" "$(ASAN_OPTIONS=detect_leaks=0 timeout -s KILL 30 "$IOPS" run -q -o /dev/null -- \
	"$IOPS" mount -q -o /dev/null src mnt -- sh -c './prog /dev/null && "$0"/prog /dev/null && echo good' "$PWD/mnt" </dev/null 2>&1)" good
plan
