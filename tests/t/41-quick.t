#!/bin/sh
# shellcheck disable=SC2086
# What shells and servers do all the time does not stop them: redirections, pipes, children,
# messages with control data.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# A shell moves its descriptors about for each redirection: that is no reason to stop it.
cat >redirects.sh <<'EOS'
switches() {
	while read -r key n; do
		[ "$key" != voluntary_ctxt_switches: ] || echo "$n"
	done <"/proc/$$/status"
}
turn() {
	echo "$1" >>all
	echo x >>one
	{ echo abc; echo de >&2; } >>out 2>>err
	read -r line <one
	[ "$line" = x ] || exit 1
}
turn 7
before=$(switches)
for i in 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9; do
	for n in 0 1 2 3 4 5 6 7 8 9; do turn "$n"; done
done
echo $(($(switches) - before)) >switches
exec 5>five 6>&5
echo 12345 >&6
exec 6>&-
echo 67 >&5
EOS
for mode in "" --patch-after=1 --no-patch; do
	rm -f all one out err five
	"$IOPS" run ${mode:+"$mode"} --json -o redirects.json -- dash redirects.sh
	is "a shell's redirections $mode" "$(json redirects.json 'sorted((f["path"].replace("'"$DIR"'/", ""), f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["write"]["operations"] and f["path"].startswith("'"$DIR"'"))')" \
		"[('all', 201, 402), ('err', 201, 603), ('five', 2, 9), ('one', 201, 402), ('out', 201, 804), ('switches', 1, $(wc -c <switches))]"
	[ "$mode" = --no-patch ] || ok "... do not stop it: $(cat switches) times in 200 turns $mode" test "$(cat switches)" -lt 100
done

# Pipes that are closed before anybody could ask what they were: each has its own name.
cat >pipes.py <<'EOP'
import ctypes, os, signal, sys, threading
def pipes(n):
    for i in range(n):
        r, w = os.pipe()
        assert os.fstat(r).st_ino == os.fstat(w).st_ino and not os.get_inheritable(r)
        os.write(w, b"abc"); os.write(w, b"d"); assert os.read(r, 9) == b"abcd"
        os.close(r); os.close(w)
def plain(): pipes(500)
def signals():
    signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    pipes(2000)
    signal.setitimer(signal.ITIMER_REAL, 0)
def threads():
    ts = [threading.Thread(target=pipes, args=(500,)) for i in range(4)]
    [t.start() for t in ts]; [t.join() for t in ts]
def old():
    call = ctypes.CDLL(None).syscall; fds = (ctypes.c_int * 2)()
    for i in range(300):
        assert call(22, fds) == 0 and fds[0] != fds[1]
        os.write(fds[1], b"a"); os.write(fds[1], b"bcd"); assert os.read(fds[0], 9) == b"abcd"
        os.close(fds[0]); os.close(fds[1])
    assert call(22, None) == -1 and call(293, fds, -1) == -1
def switches(): return int(open("/proc/self/status").read().split("\nvoluntary_ctxt_switches:")[1].split()[0])
def quick():
    pipes(10); before = switches(); pipes(1000); after = switches()
    assert os.write(os.open("quick", os.O_WRONLY | os.O_CREAT), b"%d\n" % (after - before))
globals()[sys.argv[1]]()
EOP
for mode in "" --patch-after=1 --no-patch; do
	for kind in "plain 500" "signals 2000" "threads 2000" "old 300"; do
		"$IOPS" run ${mode:+"$mode"} --json -o pipes.json -- /usr/bin/python3 -S pipes.py ${kind% *}
		is "pipes, $kind $mode" "$? $(json pipes.json 'sorted((f["type"], f["path"] and f["path"][:6], f["read"]["operations"], f["read"]["bytes"], f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["type"] == "pipe" or not f["path"]) == [("pipe", "pipe:[", 1, 4, 2, 4)] * '${kind#* })" "0 True"
	done
	[ "$mode" = --no-patch ] && continue
	rm -f quick
	"$IOPS" run ${mode:+"$mode"} -o quick.out -- /usr/bin/python3 -S pipes.py quick
	ok "... do not stop their program: $(cat quick) times in 1,000 pipes $mode" test "$(cat quick)" -lt 100
done

# Children by several calls, each with a file of its own, and grandchildren.
cat >children.py <<'EOP'
import ctypes, os, signal, sys, threading
libc = ctypes.CDLL(None); SIGCHLD = 17
tid = (ctypes.c_int * 2)()
def libc_fork(): return os.fork()
def fork(): return libc.syscall(57)
def clone(): return libc.syscall(56, SIGCHLD, None, None, None, None)
def ids():
    pid = libc.syscall(56, SIGCHLD | 0x1300000, None, tid, ctypes.c_void_p(ctypes.addressof(tid) + 4), None)
    assert tid[0] == pid if pid else tid[1] == os.getpid()
    return pid
def files(): return libc.syscall(56, SIGCHLD | 0x400, None, None, None, None)
def child(name, n):
    fd = os.open("child.%s.%d" % (name, n), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, b"12345"); os.write(fd, b"67"); os.close(fd)
def forks(name, n):
    for i in range(n):
        pid = globals()[name]()
        if not pid:
            child(name, i)
            if i % 10 == 0:
                grand = globals()[name]()
                if not grand: child(name + ".grand", i); os._exit(0)
                assert os.waitpid(grand, 0) == (grand, 0)
            os._exit(0)
        while True:
            try: got = os.waitpid(pid, 0); break
            except InterruptedError: pass
        assert got == (pid, 0), got
kinds = ["libc_fork", "fork", "clone", "ids", "files"]
if sys.argv[1] == "signals":
    signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 2e-4, 2e-4)
for k in kinds: forks(k, 40)
if sys.argv[1] == "threads":
    ts = [threading.Thread(target=forks, args=("libc_fork", 20)) for i in range(3)]
    [t.start() for t in ts]; [t.join() for t in ts]
signal.setitimer(signal.ITIMER_REAL, 0)
EOP
for mode in "" --patch-after=1 --no-patch; do
	for kind in "plain 80 280 8 28" "signals 80 280 8 28" "threads 200 700 20 70"; do
		set -- $kind
		timeout 60 "$IOPS" run ${mode:+"$mode"} --json -o children.json -- /usr/bin/python3 -S children.py "$1"
		is "children, $1 $mode" "$? $(json children.json '(lambda c: [(k, sum(c.get("child.%s%s.%d" % (k, g, i), (0, 0))[0] for i in range(40)), sum(c.get("child.%s%s.%d" % (k, g, i), (0, 0))[1] for i in range(40))) for k in ("libc_fork", "fork", "clone", "ids", "files") for g in ("", ".grand")])({f["path"].split("/")[-1]: (f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["path"]})')" \
			"0 [('libc_fork', $2, $3), ('libc_fork', $4, $5), ('fork', 80, 280), ('fork', 8, 28), ('clone', 80, 280), ('clone', 8, 28), ('ids', 80, 280), ('ids', 8, 28), ('files', 80, 280), ('files', 8, 28)]"
		is "... agree with the kernel" "$(json children.json '(j["run"]["verified"]["threads"] - j["run"]["verified"]["matched"], j["run"]["complete"])')" "(0, True)"
	done
done

# What is sent with control data, unlike what is received, brings nothing.
cat >sends.py <<'EOP'
import os, socket, struct
def switches(): return int(open("/proc/self/status").read().split("\nvoluntary_ctxt_switches:")[1].split()[0])
a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for i in range(2))
b.bind(("127.0.0.1", 0))
def send(n):
    for i in range(n):
        assert a.sendmsg([b"abc", b"de"], [(socket.IPPROTO_IP, socket.IP_TTL, struct.pack("i", 5))], 0, b.getsockname()) == 5
        assert b.recv(9) == b"abcde"
send(10); before = switches(); send(1000); after = switches()
assert os.write(os.open("sends", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), b"%d\n" % (after - before))
EOP
for mode in "" --patch-after=1 --no-patch; do
	"$IOPS" run ${mode:+"$mode"} --json -o sends.json -- /usr/bin/python3 -S sends.py
	is "messages with control data $mode" "$? $(json sends.json '[(c["call"], c["all"]["operations"], c["all"]["bytes"]) for c in j["by"]["call"] if c["call"] in ("sendmsg", "recvfrom")]')" "0 [('sendmsg', 1010, 5050), ('recvfrom', 1010, 5050)]"
	[ "$mode" = --no-patch ] || ok "... do not stop who sends them: $(cat sends) times in 1,000 $mode" test "$(cat sends)" -lt 100
done

# Who has room for control data stops when descriptors have come, and only then: each of
# them is known, however soon it is closed.
cat >comes.py <<'EOP'
import array, os, signal, socket, struct, sys, threading
def switches(): return int(open("/proc/thread-self/status").read().split("\nvoluntary_ctxt_switches:")[1].split()[0])
how = sys.argv[1]
caught = []
if how == "signals":
    signal.signal(signal.SIGALRM, lambda *a: caught.append(0)); signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
def brings(sent, n):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for i in range(n):
        fds = [os.open("%s.%d" % (sent, i % 20), os.O_RDWR | os.O_CREAT | os.O_APPEND) for j in range(1 + i % 3)]
        a.sendmsg([b"abc"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        for fd in fds: os.close(fd)
        data, control, flags, name = b.recvmsg(9, socket.CMSG_SPACE(64))
        assert data == b"abc" and not flags, (data, flags)
        got = array.array("i"); got.frombytes(control[0][2][:len(fds) * 4])
        assert len(got) == len(fds) and len(set(got)) == len(fds)
        for fd in got: os.write(fd, b"12345"); os.close(fd)
def others(n):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    b.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1) # a credential comes with each
    c, d = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    before = switches()
    for i in range(n):
        a.send(b"abc"); data, control, flags, name = b.recvmsg(9, socket.CMSG_SPACE(64))
        assert data == b"abc" and struct.unpack("iii", control[0][2])[0] == os.getpid()
        c.send(b"abcd"); data, control, flags, name = d.recvmsg(9, 256)
        assert data == b"abcd" and not control
        d.setblocking(False)
        try: d.recvmsg(9, 256); assert False
        except BlockingIOError: pass
    return switches() - before
if how == "stops": # another process stops this one, whose first thread gets that, and lets it go on
    import select, time
    r, w = os.pipe(); pid = os.fork()
    if not pid:
        os.close(w)
        while not select.select([r], [], [], 5e-4)[0]:
            os.kill(os.getppid(), signal.SIGSTOP); time.sleep(5e-4)
            os.kill(os.getppid(), signal.SIGCONT)
        os._exit(0)
    t = threading.Thread(target=brings, args=("sent", 240)); t.start(); t.join()
    os.close(w); os.waitpid(pid, 0)
elif how == "threads":
    ts = [threading.Thread(target=brings, args=("sent", 60)) for i in range(4)]
    [t.start() for t in ts]; [t.join() for t in ts]
else: brings("sent", 240)
others(20); n = others(300)
signal.setitimer(signal.ITIMER_REAL, 0)
os.write(os.open("comes", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), b"%d\n" % n)
EOP
for mode in "" --patch-after=1 --no-patch; do
	for how in plain threads signals stops; do
		rm -f sent.*
		timeout 60 "$IOPS" run ${mode:+"$mode"} --json -o comes.json -- /usr/bin/python3 -S comes.py $how
		is "descriptors that come with messages, $how $mode" "$? $(json comes.json '(lambda f: (sum(f.get("sent.%d" % i, (0, 0))[0] for i in range(20)), sum(f.get("sent.%d" % i, (0, 0))[1] for i in range(20))))({f["path"].split("/")[-1]: (f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["path"] and f["path"].startswith("'"$DIR"'")})') $(cat sent.* | wc -c) $(json comes.json '[(c["call"], c["all"]["operations"], c["all"]["bytes"]) for c in j["by"]["call"] if c["call"] == "recvmsg"]')" \
			"0 (480, 2400) 2400 [('recvmsg', 880, 2960)]"
		is "... agree with the kernel" "$(json comes.json '(j["run"]["verified"]["threads"] - j["run"]["verified"]["matched"], j["run"]["complete"])')" "(0, True)"
		[ "$mode$how" != plain ] || ok "... and nobody else stops: $(cat comes) times in 900" test "$(cat comes)" -lt 60
	done
done

for mode in "" --patch-after=1 --no-patch; do
	is "a filter of its own comes while it waits for a message $mode" "$(timeout 60 "$IOPS" run ${mode:+"$mode"} -q -o /dev/null -- "$HELP/controls" filter)" "3 3"
	is "what comes while a process is stopped and goes on $mode" "$(timeout 100 "$IOPS" run ${mode:+"$mode"} -q -o /dev/null -- "$HELP/controls" stops "$([ "$mode" = --no-patch ] && echo 2000 || echo 40000)")" good
	is "what comes is written over $mode" "$(timeout 60 "$IOPS" run ${mode:+"$mode"} -q -o /dev/null -- "$HELP/controls" lengths 300)" good
done

# A filter of its own comes while another thread is in pipe2: descriptors stay what they are.
if [ "$(uname -m)" = x86_64 ]; then
	for _ in 1 2 3 4 5 6; do
		true | timeout 60 "$IOPS" run --json -o pairs.json -- "$HELP/pairs" pairs.out
		echo "$? $(json pairs.json '[f["write"]["operations"] for f in j["by"]["file"] if f["path"] == "'"$DIR"'/pairs.out"]')"
	done >pairs.all
	is "pipes while a filter is put on" "$(sort -u pairs.all)" "0 [10]"
fi

# A call that fails does not tell what will be opened under its number.
cat >late.py <<'EOP'
import os
def fails(call, *args):
    try: call(*args)
    except OSError: return
    raise AssertionError
zero = os.open("/dev/zero", os.O_RDONLY)
for i in range(50):
    os.read(zero, 8); os.dup2(zero, 20); fails(os.dup2, 99, 20); os.close(20)
os.close(zero)
fails(os.dup2, zero, 20); fails(os.read, zero, 1)
late = os.open("late", os.O_RDONLY | os.O_CREAT); assert late == zero; os.read(late, 4)
EOP
for mode in "" --patch-after=1 --no-patch; do
	"$IOPS" run ${mode:+"$mode"} --json -o late.json -- /usr/bin/python3 -S late.py
	is "what has failed before is not the file's $mode" "$? $(json late.json '[(f["read"]["operations"], f["read"]["errors"]) for f in j["by"]["file"] if f["path"] and f["path"].endswith("/late")]')" "0 [(1, 0)]"
done
plan
