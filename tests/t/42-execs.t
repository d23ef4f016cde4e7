#!/bin/sh
# shellcheck disable=SC2086
# What a new program costs, and that it is none the worse for it: an exec is made without a
# stop before it, and what was opened for it is closed by itself.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
PY=/usr/bin/python3

needs_fast_path

# Each stop is a wait of the program's own: what it counts by the time that it can say so.
cat >execs.sh <<'EOS'
for i in 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9; do
	grep ^voluntary /proc/self/status
done
EOS
"$IOPS" run --json -o p.json -- dash execs.sh >stops
least=$(cut -f2 stops | sort -n | head -1)
if grep -q '"status": *"on"' p.json && [ "$("$IOPS" run -q -o /dev/null -- grep ^Seccomp: /proc/self/status | tr -d '\t')" = Seccomp:0 ]; then
	ok "a child has stopped $least times by the time that its program runs" test "$least" -le 7
else
	skip "calls cannot be dispatched before Linux 6.4"
fi
# By where they are in the C library: a sanitizer has some functions of its own in its place.
if [ "$(nproc)" -gt 1 ] && ! grep -q __asan_init "$IOPS"; then
	for _ in 0 1 2 3 4; do "$IOPS" run -q -o /dev/null -- "$HELP/firsts"; done | sort -n >firsts
	ok "15 calls that many programs make stop one $(head -1 firsts) times" test "$(head -1 firsts)" -le 5
else
	skip "takes two CPUs, and no sanitizer"
fi

# An exec that fails, whatever for, leaves the program as it was.
printf 'no program' >bad; cp /bin/true hidden; printf '#!/nothing/there\n' >lost; mkfifo pipe; chmod 755 bad lost; chmod 644 hidden
cat >fails.py <<'EOP'
import ctypes, errno, os, signal, sys, threading
how = sys.argv[1:]
caught = []
if "caught" in how: signal.signal(signal.SIGTRAP, lambda *a: caught.append(1))
if "ignored" in how: signal.signal(signal.SIGTRAP, signal.SIG_IGN)
if "blocked" in how: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP, signal.SIGUSR1])
if "alarms" in how:
    signal.signal(signal.SIGALRM, lambda *a: caught.append(0)); signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
def tries():
    out = []
    for name, args in (("./bad", ["a"]), ("./hidden", ["a"]), ("./lost", ["a"]), ("/", ["a"]), ("./pipe", ["a"]), ("/bin/true", ["x" * 200000]), ("./bad/x", ["a"])):
        try: os.execve(os.path.abspath(name), args, {"A": "b"})
        except OSError as x: out.append(errno.errorcode[x.errno])
    out.append([ctypes.CDLL(None, use_errno=True).syscall(322, os.open("/dev/null", 0), b"", None, None, 0x1000), ctypes.get_errno()])
    return out
said = []
if "thread" in how:
    ts = [threading.Thread(target=lambda: said.append(tries())) for i in range(4)]
    [t.start() for t in ts]; [t.join() for t in ts]
else:
    for i in range(20): said.append(tries())
signal.setitimer(signal.ITIMER_REAL, 0)
assert all(s == said[0] for s in said)
print(how, said[0], sorted(s.name for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])), signal.getsignal(signal.SIGTRAP) == signal.SIG_IGN, bool(caught), flush=True)
os.kill(os.getpid(), signal.SIGTRAP) if "caught" in how else None
print(1 in caught, flush=True)
os.execv("/bin/echo", ["echo", "done"])
EOP
tried() { for how in "" caught ignored blocked "caught blocked" thread "thread caught" alarms "alarms thread"; do timeout -s KILL 60 "$@" $PY fails.py $how; done; }
bare=$(tried env)
for mode in "" --patch-after=1 --no-patch; do
	is "an exec that fails leaves all as it was $mode" "$(tried "$IOPS" run ${mode:+"$mode"} --json -o p.json -- 2>&1; json p.json "$verified")" "$bare
True"
done
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod 777 . && cp "$IOPS" ./iops; then
	is "nor of a user without rights" "$(tried setpriv --reuid 65534 --regid 65534 --clear-groups ./iops run -q -o /dev/null -- 2>&1)" \
		"$(tried setpriv --reuid 65534 --regid 65534 --clear-groups 2>&1)"
else
	skip "takes root"
fi

# By a thread, a child that shares memory, a script; and a signal that comes meanwhile.
cat >ways.py <<'EOP'
import os, signal, subprocess, sys, threading
way, script = sys.argv[1:3]
if way == "thread": threading.Thread(target=os.execv, args=("/bin/echo", ["echo", "one"])).start(); threading.Event().wait()
for i in range(10):
    if way == "spawn": os.waitpid(os.posix_spawn("/bin/echo", ["echo", str(i)], os.environ), 0)
    if way == "script": subprocess.run([script, str(i)])
    if way == "signals":
        p = subprocess.Popen(["/bin/sh", "-c", "kill -ALRM $$; sleep 5"], stderr=subprocess.DEVNULL)
        print(p.wait(), flush=True)
    if way == "ignored":
        signal.signal(signal.SIGUSR1, signal.SIG_IGN); pid = os.fork()
        if not pid: os.execv("/bin/echo", ["echo", "ignores"])
        for n in range(50): os.kill(pid, signal.SIGUSR1)
        print(os.waitpid(pid, 0)[1], flush=True)
EOP
printf '#!/bin/sh\nexec echo "$@"\n' >script; chmod 755 script
ways() { for way in thread spawn script signals ignored; do timeout -s KILL 60 "$@" $PY ways.py $way "$DIR/script"; done; }
bare=$(ways env)
for mode in "" --patch-after=1; do
	is "however it comes to be $mode" "$(ways "$IOPS" run ${mode:+"$mode"} --json -o p.json -- 2>&1; json p.json "$verified")" "$bare
True"
done
# A signal that would stop it, were it not ignored, or its group an orphan, does not.
cat >stops.py <<'EOP'
import os, signal, sys, time
prog, sig, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if how == "ignored": signal.signal(sig, signal.SIG_IGN)
odd = 0
for i in range(150):
    r, w = os.pipe(); pid = os.fork()
    if not pid:
        os.setsid() if how == "orphan" else os.setpgid(0, 0)
        os.write(w, b"x"); os.close(1)
        os.execv(prog, [prog, "rw", "50", "1"])
    os.read(r, 1); os.close(r); os.close(w)
    for n in range(60):
        end = time.perf_counter() + (20 + i * 7 % 30) / 1e6
        while time.perf_counter() < end: pass
        os.kill(pid, sig)
    got, status = os.waitpid(pid, os.WUNTRACED)
    if os.WIFSTOPPED(status): odd += 1; os.kill(pid, signal.SIGCONT); status = os.waitpid(pid, 0)[1]
    odd += status != 0
print(odd)
EOP
for how in "20 ignored" "22 ignored" "20 orphan"; do
	is "a signal of $how does not stop a program as it begins" "$(timeout -s KILL 60 "$IOPS" run -q -o /dev/null -- $PY stops.py "$HELP/loop" $how)" 0
done

# Who is made with mounts of its own is seen by those, whoever was made before without.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir -p mounted jail/only other/only && ln -s ../other/only mounted/only && echo abc >jail/only/data
	cat >mounts.py <<'EOP'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def child(fn, flags=17):
    pid = os.fork() if flags == 17 else libc.syscall(56, flags, 0, 0, 0, 0)
    if not pid:
        try: fn(); os._exit(0)
        except BaseException as x: print(x, flush=True); os._exit(7)
    assert os.waitpid(pid, 0)[1] == 0
def mount():
    assert not libc.mount(b"none", b"/", None, 0x44000, None) # MS_REC, MS_PRIVATE
    assert not libc.mount(b"jail", b"mounted", None, 0x1000, None) # MS_BIND
def work():
    child(mount)
    fd = os.open(os.getcwd() + "/mounted/only/data", os.O_RDONLY)
    os.read(fd, 3); os.close(fd)
for i in range(3):
    for n in range(3): child(lambda: None)
    child(work, 0x20000 | 17) # CLONE_NEWNS
EOP
	for mode in "" --patch-after=1 --no-patch; do
		"$IOPS" run ${mode:+"$mode"} --json -o p.json -- $PY mounts.py
		is "what has mounts of its own $mode" "$? $(json p.json '[(f["path"].replace("'"$DIR"'/", ""), f["read"]["operations"]) for f in j["by"]["file"] if f["path"].endswith("data") and f["read"]["operations"]]')" "0 [('mounted/only/data', 3)]"
	done
else
	skip "takes root"
fi

# Nor does a pipe that is no program let go who waits for its other end.
cat >fifo.py <<'EOP'
import os, subprocess, sys
os.mkfifo("end"); os.chmod("end", 0o755)
p = subprocess.Popen([sys.executable, "-ISc", "import os; os.open('end', os.O_WRONLY)"])
while open(f"/proc/{p.pid}/syscall").read().split()[0] not in ("257", "2"): pass
for i in range(3):
    try: os.execv("./end", ["end"])
    except PermissionError: pass
    try: os.execv(os.path.abspath("end"), ["end"])
    except PermissionError: pass
try: p.wait(0.3); print("let go")
except subprocess.TimeoutExpired: print("waits")
p.kill(); p.wait()
EOP
is "a pipe that is no program is not opened" "$(rm -f end; timeout -s KILL 60 "$IOPS" run -q -o /dev/null -- $PY fifo.py)" waits
plan
