# What file system calls answer, a line each: results, errno, what stat says. No times of
# now, no inode numbers: the lines are the same on every mount of the same file system.
import array, ctypes, errno, fcntl, os, select, socket, stat, struct, subprocess, sys, threading, time

libc = ctypes.CDLL(None, use_errno=True)


def say(name, f):
    try:
        r = f()
        print(f"{name}: {'done' if r is None else r}")
    except OSError as e:
        print(f"{name}: {errno.errorcode.get(e.errno, e.errno)}")


def st(path, follow=False):
    s = os.stat(path, follow_symlinks=follow)
    return f"{s.st_mode:o} {s.st_nlink} {s.st_uid}:{s.st_gid} {s.st_size if stat.S_ISREG(s.st_mode) else '-'} {s.st_rdev}"


def put(path, data=b"x", mode=0o644):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode)
    os.write(fd, data)
    os.close(fd)


def as_user(uid, gid, groups, f):
    """In a child: its lines come out in order."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        try:
            f()
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.waitpid(pid, 0)


def names():
    os.mkdir("names")
    for n in [b"a", b"a b", b"new\nline", b"\xff\xfe", b"x" * 255, b"\xc3\xa4", b"-r", b"'\"\\", b".hidden", b"..."]:
        say(f"name {n[:12]!r}", lambda: put(b"names/" + n))
    say("name of 256 bytes", lambda: put(b"names/" + b"x" * 256))
    say("list", lambda: sorted(x[:12] for x in os.listdir(b"names")))
    say("component of a file", lambda: put("names/a/b"))
    say("missing folder", lambda: put("names/none/b"))
    say("trailing slash", lambda: os.open("names/a/", os.O_RDONLY))
    say("open of a folder to write", lambda: os.open("names", os.O_RDWR))
    say("O_DIRECTORY of a file", lambda: os.open("names/a", os.O_DIRECTORY))
    os.symlink("loop", "loop")
    say("loop", lambda: os.open("loop", os.O_RDONLY))
    say("O_NOFOLLOW", lambda: os.open("loop", os.O_RDONLY | os.O_NOFOLLOW))
    say("O_PATH of a link", lambda: st("loop"))
    say("long link", lambda: (os.symlink("t" * 4000, "long"), len(os.readlink("long")))[1])
    say("too long link", lambda: os.symlink("t" * 4096, "longer"))
    deep = "deep"
    for i in range(30):
        os.mkdir(deep)
        deep += "/" + "d" * 100
    say("deep", lambda: st("deep"))


def kinds():
    say("fifo", lambda: (os.mkfifo("fifo", 0o620), st("fifo"))[1])
    say("device", lambda: (os.mknod("dev", 0o600 | stat.S_IFCHR, os.makedev(1, 3)), st("dev"))[1])
    say("block device", lambda: (os.mknod("blk", 0o600 | stat.S_IFBLK, os.makedev(7, 77)), st("blk"))[1])
    say("mknod of a file", lambda: (os.mknod("reg", 0o666 | stat.S_IFREG), st("reg"))[1])
    s = socket.socket(socket.AF_UNIX)
    say("socket", lambda: (s.bind("sock"), s.listen(1), st("sock"))[2])
    c = socket.socket(socket.AF_UNIX)
    say("connect", lambda: c.connect("sock"))
    r = os.open("fifo", os.O_RDWR | os.O_NONBLOCK)
    say("write to a fifo", lambda: (os.write(r, b"abc"), os.read(r, 9)))
    put("p")
    say("poll of a file", lambda: select.select([os.open("p", os.O_RDWR)] * 1, [os.open("p", os.O_RDWR)] * 1, [], 1)[0] != [])


def rights():
    os.umask(0o027)
    put("u027", mode=0o666)
    say("umask", lambda: st("u027"))
    os.umask(0)
    os.mkdir("open", 0o777)
    os.mkdir("sticky", 0o1777)
    os.chmod("sticky", 0o1777)
    os.mkdir("closed", 0o700)
    os.mkdir("setgid", 0o777)
    os.chown("setgid", 0, 100)
    os.chmod("setgid", 0o2777)
    put("closed/f"), put("secret", mode=0o600), put("group", mode=0o640), put("sticky/root")
    os.chown("group", 0, 100)

    def nobody():
        put("open/mine", mode=0o666)
        say("owner", lambda: st("open/mine"))
        say("folder's owner", lambda: (os.mkdir("open/dir"), st("open/dir"))[1])
        say("link's owner", lambda: (os.symlink("x", "open/link"), st("open/link"))[1])
        say("fifo's owner", lambda: (os.mkfifo("open/fifo"), st("open/fifo"))[1])
        say("in a setgid folder", lambda: (put("setgid/f"), st("setgid/f"))[1])
        say("folder in a setgid folder", lambda: (os.mkdir("setgid/d"), st("setgid/d"))[1])
        say("secret", lambda: os.open("secret", os.O_RDONLY))
        say("closed", lambda: os.stat("closed/f"))
        say("group", lambda: os.read(os.open("group", os.O_RDONLY), 1))
        say("group, to write", lambda: os.open("group", os.O_WRONLY))
        say("access", lambda: [os.access(p, m) for p in ("secret", "group", "open", "closed") for m in (4, 2, 1)])
        say("sticky", lambda: os.unlink("sticky/root"))
        say("chown", lambda: os.chown("open/mine", 0, 0))
        say("chmod of another's", lambda: os.chmod("secret", 0o666))
        say("utime of another's", lambda: os.utime("group", (1, 1)))
        say("create without leave", lambda: put("new"))
        say("mknod", lambda: os.mknod("open/dev", 0o600 | stat.S_IFCHR, os.makedev(1, 3)))
        say("trusted", lambda: os.setxattr("open/mine", "trusted.a", b"1"))
        say("protected link", lambda: os.link("secret", "open/hard"))
        put("open/suid", mode=0o755)
        os.chmod("open/suid", 0o6755)
        say("suid", lambda: st("open/suid"))
        fd = os.open("open/suid", os.O_WRONLY)
        say("suid, written", lambda: (os.write(fd, b"y"), st("open/suid"))[1])
        os.chmod("open/suid", 0o6755)
        say("suid, truncated", lambda: (os.ftruncate(fd, 0), st("open/suid"))[1])
        os.chmod("open/suid", 0o6755)
        say("suid, O_TRUNC", lambda: (os.close(os.open("open/suid", os.O_WRONLY | os.O_TRUNC)), st("open/suid"))[1])
        os.chmod("open/suid", 0o6755)
        say("suid, chown", lambda: (os.chown("open/suid", -1, 65534), st("open/suid"))[1])

    as_user(65534, 65534, [], nobody)

    def member():
        say("member of the group", lambda: os.read(os.open("group", os.O_RDONLY), 1))
        say("chgrp to an own group", lambda: (put("open/g"), os.chown("open/g", -1, 100), st("open/g"))[2])
        say("chgrp to another", lambda: os.chown("open/g", -1, 101))

    as_user(65533, 65533, [7, 100], member)
    put("rootsuid")
    os.chmod("rootsuid", 0o6777)
    as_user(65534, 65534, [], lambda: os.write(os.open("rootsuid", os.O_WRONLY), b"z"))
    say("root's suid, written by another", lambda: st("rootsuid"))
    os.setxattr("rootsuid", "security.capability", bytes.fromhex("0100000200040000000000000000000000000000"))
    say("capability", lambda: os.listxattr("rootsuid"))
    os.write(os.open("rootsuid", os.O_WRONLY), b"q")
    say("capability, written", lambda: os.listxattr("rootsuid"))


def xattrs():
    put("xa")
    say("set", lambda: os.setxattr("xa", "user.a", b"1" * 1000))
    say("create again", lambda: os.setxattr("xa", "user.a", b"2", os.XATTR_CREATE))
    say("replace none", lambda: os.setxattr("xa", "user.b", b"2", os.XATTR_REPLACE))
    say("trusted", lambda: os.setxattr("xa", "trusted.t", b"\0\1"))
    say("list", lambda: sorted(os.listxattr("xa")))
    say("get", lambda: len(os.getxattr("xa", "user.a")))
    say("get none", lambda: os.getxattr("xa", "user.none"))
    say("no such space", lambda: os.setxattr("xa", "nospace.a", b""))
    say("too large", lambda: os.setxattr("xa", "user.large", b"1" * 65537))
    say("of a link", lambda: os.setxattr("loop", "user.a", b"1", follow_symlinks=False))
    for c in (["setfacl", "-m", "u:65534:rw,g:100:r", "xa"], ["getfacl", "-cn", "xa"],
              ["setfacl", "-d", "-m", "u:65534:rwx,m:rx", "open"], ["getfacl", "-cn", "open"]):
        say(" ".join(c), lambda: subprocess.run(c, capture_output=True, text=True).stdout.split())
    put("open/inherits", mode=0o666)
    say("inherited", lambda: subprocess.run(["getfacl", "-cn", "open/inherits"], capture_output=True, text=True).stdout.split())
    say("mode", lambda: [st("xa"), st("open/inherits")])
    as_user(65534, 65534, [], lambda: say("by ACL", lambda: os.write(os.open("xa", os.O_WRONLY), b"1")))
    as_user(65533, 65533, [], lambda: say("not by ACL", lambda: os.write(os.open("xa", os.O_WRONLY), b"1")))


def times():
    put("t")
    os.utime("t", ns=(1234567890123456789, 987654321987654321))
    s = os.stat("t")
    print("times", s.st_atime_ns, s.st_mtime_ns)
    os.utime("t", ns=(-5_000_000_000, 4_000_000_000_000_000_000))
    s = os.stat("t")
    print("far times", s.st_atime_ns, s.st_mtime_ns)
    fd = os.open("t", os.O_WRONLY)
    os.utime("t", (1, 1))
    os.write(fd, b"1")
    print("write moves mtime", os.stat("t").st_mtime > 1e9, os.fstat(fd).st_mtime > 1e9)
    c = os.stat("t").st_ctime_ns
    time.sleep(0.02)
    os.chmod("t", 0o600)
    print("chmod moves ctime", os.stat("t").st_ctime_ns > c)
    os.mkdir("td")
    os.utime("td", (1, 1))
    put("td/f")
    print("a new name moves mtime", os.stat("td").st_mtime > 1e9)
    print("blocks", os.stat("t").st_blocks, os.stat("t").st_blksize)
    buf = ctypes.create_string_buffer(256)
    rc = libc.statx(-100, b"t", 0, 0xFFF, buf)
    mask, = struct.unpack_from("I", buf, 0)
    print("statx", rc, "btime" if mask & 0x800 else "no btime")


def ioctls():
    put("io", b"1" * 100)
    fd = os.open("io", os.O_RDWR)

    def get(req):
        b = array.array("l", [0])
        fcntl.ioctl(fd, req, b)
        return b[0]

    say("flags", lambda: hex(get(0x80086601)))
    say("set flags", lambda: fcntl.ioctl(fd, 0x40086602, struct.pack("l", get(0x80086601) | 0x80)))
    say("flags again", lambda: hex(get(0x80086601)))
    say("xattr flags", lambda: len(fcntl.ioctl(fd, 0x801C581F, bytes(28))))
    say("chattr +i", lambda: subprocess.run(["chattr", "+i", "io"]).returncode)
    say("immutable", lambda: os.open("io", os.O_WRONLY))
    say("immutable, unlink", lambda: os.unlink("io"))
    say("chattr -i", lambda: subprocess.run(["chattr", "-i", "io"]).returncode)
    say("terminal's", lambda: fcntl.ioctl(fd, 0x5401, bytes(60)))
    say("FIONREAD", lambda: struct.unpack("i", fcntl.ioctl(fd, 0x541B, bytes(4)))[0])
    say("clone", lambda: fcntl.ioctl(os.open("cl", os.O_RDWR | os.O_CREAT), 0x40049409, fd))


def locks():
    put("lk", b"0" * 100)

    def ask(what):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                what()
                os.write(w, b"got")
            except OSError as e:
                os.write(w, errno.errorcode[e.errno].encode())
            os._exit(0)
        os.waitpid(pid, 0)
        return os.read(r, 99).decode()

    fd = os.open("lk", os.O_RDWR)
    again = lambda: os.open("lk", os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX, 10, 5)
    print("the same range", ask(lambda: fcntl.lockf(again(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 7)))
    print("another range", ask(lambda: fcntl.lockf(again(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 17)))
    print("flock beside it", ask(lambda: fcntl.flock(again(), fcntl.LOCK_EX | fcntl.LOCK_NB)))
    os.close(again())
    print("after another close", ask(lambda: fcntl.lockf(again(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 7)))
    fcntl.flock(fd, fcntl.LOCK_EX)
    print("flock", ask(lambda: fcntl.flock(again(), fcntl.LOCK_SH | fcntl.LOCK_NB)))
    print("flock inherited", ask(lambda: fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)))
    got = []

    def wait():
        f = os.open("lk", os.O_RDWR)
        fcntl.flock(f, fcntl.LOCK_EX)
        got.append(1)
        os.close(f)

    waiters = [threading.Thread(target=wait) for _ in range(20)]
    for t in waiters:
        t.start()
    time.sleep(0.2)
    put("meanwhile")
    print("waiting", len(got), "others go on", os.path.exists("meanwhile"))
    os.close(fd)
    for t in waiters:
        t.join()
    print("all got it", len(got))
    say("lease", lambda: fcntl.fcntl(os.open("lk", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK))


def sizes():
    fd = os.open("big", os.O_RDWR | os.O_CREAT)
    say("far write", lambda: os.pwrite(fd, b"x", 5 << 40))
    say("far size", lambda: os.fstat(fd).st_size)
    say("far blocks", lambda: os.fstat(fd).st_blocks)
    say("too far", lambda: os.pwrite(fd, b"x", (1 << 63) - 4097))
    say("too far truncate", lambda: os.ftruncate(fd, (1 << 63) - 1))
    say("negative", lambda: os.ftruncate(fd, -1))
    say("hole", lambda: [os.lseek(fd, 0, os.SEEK_HOLE), os.lseek(fd, 0, os.SEEK_DATA) >= (5 << 40) - 65536])
    os.mkdir("many")
    for i in range(5000):
        os.close(os.open(f"many/{i}", os.O_CREAT | os.O_WRONLY))
    say("many", lambda: len(set(os.listdir("many"))))
    n = 0
    for e in os.scandir("many"):
        os.unlink(e.path)
        n += 1
    print("removed while listed", n, os.listdir("many"))
    v = os.statvfs(".")
    print("statvfs", v.f_bsize, v.f_frsize, v.f_blocks, v.f_files, v.f_namemax)
    say("links", lambda: ([os.link("p", f"many/l{i}") for i in range(300)], os.stat("p").st_nlink)[1])
    say("link of a folder", lambda: os.link("many", "hardmany"))
    say("folder into itself", lambda: os.rename("many", "many/sub"))
    say("folder over a file", lambda: os.rename("many", "p"))
    say("file over a folder", lambda: os.rename("p", "many"))
    say("rmdir", lambda: os.rmdir("many"))
    say("unlink of a folder", lambda: os.unlink("many"))
    say("folder's links", lambda: os.stat("many").st_nlink)
    say("sync of a folder", lambda: os.fsync(os.open("many", os.O_RDONLY)))
    d = os.open("many", os.O_RDONLY)
    for i in range(300):
        os.unlink(f"many/l{i}")
    os.rmdir("many")
    say("removed folder", lambda: [os.listdir(d), os.fstat(d).st_nlink])
    say("file in it", lambda: os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=d))


def programs():
    put("script", b"#!/bin/sh\necho script \"$@\"\n", 0o755)
    say("exec", lambda: subprocess.run(["./script", "a"], capture_output=True).stdout)
    subprocess.run(["cp", "/bin/true", "prog"])
    say("binary", lambda: subprocess.run(["./prog"]).returncode)
    fd = os.open("prog", os.O_RDONLY)
    p = subprocess.Popen(["sh", "-c", "cp /bin/sleep s; ./s 0.5"])
    time.sleep(0.2)
    say("write to what runs", lambda: os.open("s", os.O_WRONLY))
    p.wait()
    put("noexec", b"#!/bin/sh\n", 0o644)
    say("no exec", lambda: subprocess.run(["./noexec"]).returncode)


for f in (names, kinds, rights, xattrs, times, ioctls, locks, sizes, programs):
    if len(sys.argv) < 2 or f.__name__ in sys.argv[1:]:
        print("#", f.__name__)
        f()
        sys.stdout.flush()
