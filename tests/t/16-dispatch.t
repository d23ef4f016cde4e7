#!/bin/sh
# shellcheck disable=SC2016
# The command's own calls are dispatched, not filtered, until there is a reason; whatever
# becomes of that, all is counted and the program sees nothing.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
PY=/usr/bin/python3

needs_fast_path
seccomp() { "$IOPS" run -q -o /dev/null "$@" | tr -s '\t\n' ' '; }
[ "$(seccomp -- grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status)" = "NoNewPrivs: 0 Seccomp: 0 " ] ||
	skip_all "calls cannot be dispatched before Linux 6.4"
# run NAME OPTIONS... -- COMMAND: the words that it prints, and whether all was verified
run() { timeout -s KILL 60 "$IOPS" run --json -o got.json "$@" 2>&1; echo "$? $(json got.json "$verified")"; }

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod 777 . && cp "$IOPS" ./iops; then
	is "nor for a user without rights" "$(setpriv --reuid 65534 --regid 65534 --clear-groups ./iops run -q -o /dev/null -- \
		grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\t\n' ' ')" "NoNewPrivs: 0 Seccomp: 0 "
else
	skip "takes root"
fi
# Who runs little but short programs gets a filter, but not at the price of no_new_privs,
# where root has begun it: then set-id programs would lose their rights.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	is "new privileges stay possible for whom root has let go" "$("$IOPS" run -q -o /dev/null -- setpriv --reuid 65534 --regid 65534 --clear-groups \
		sh -c 'for i in 1 2 3 4 5 6; do grep ^NoNew /proc/self/status; done' | tr -s '\t\n' ' ' | tr ' ' '\n' | sort | uniq -c | tr -s ' \n' ' ')" " 6 0 6 NoNewPrivs: "
else
	skip "takes root"
fi
# Nothing of it can be read or written to any more, so that no place can be patched.
cat >dump.py <<'EOP'
import ctypes, os
fd = os.open("/dev/null", os.O_WRONLY)
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) # PR_SET_DUMPABLE
for i in range(500): os.write(fd, b"abc"); os.getppid(); os.getpgid(0)
print("good")
EOP
if [ -x ./iops ]; then
	is "what cannot be read by a user without rights goes on" "$(setpriv --reuid 65534 --regid 65534 --clear-groups timeout -s KILL 30 \
		./iops run -q -o /dev/null -- $PY dump.py 2>&1)" good
else
	skip "takes root"
fi
is "there is a filter with --no-patch" "$(seccomp --no-patch -- grep ^Seccomp: /proc/self/status)" "Seccomp: 2 "
is "... and where calls with paths count" "$(seccomp -e all -- grep ^Seccomp: /proc/self/status)" "Seccomp: 2 "
for what in short long; do
	cat >children.py <<'EOP'
import subprocess, sys
more = 40 if sys.argv[1] == "long" else 0
for i in range(6):
    subprocess.run([sys.executable, "-ISc", f"for i in range({more}): open('/dev/null', 'wb', 0).write(b'x')\nprint(open('/proc/self/status').read().split('Seccomp:')[1].split()[0])"])
EOP
	case $what in short) want="0 0 2 2 2 2 " ;; *) want="0 0 0 0 0 0 " ;; esac
	is "not below it either what children run, until they prove to be short: $what" "$(seccomp -- $PY children.py $what)" "$want"
done
is "what the command itself becomes is not" "$(seccomp -- sh -c 'exec env grep ^Seccomp: /proc/self/status')" "Seccomp: 0 "
is "not a call of a short program stops" "$(json p.json 'j["run"]["fast_path"]["stopped"], j["run"]["fast_path"]["operations"] > 0')" "(0, True)"

# Before its first instruction a program is as the kernel makes it, however it comes to be.
begins() { timeout -s KILL 60 "$@" sh -c 'for p; do "$p" || exit; done; exec "$1"' sh "$HELP/begins" "$HELP/begins-late" "$HELP/begins" "$HELP/begins-late"; }
bare=$(begins env)
is "a program finds what the kernel gives it" "$(begins "$IOPS" run --json -o p.json --) $(json p.json "$verified")" "$bare True"
is "... also where it ignores what a breakpoint raises" "$(trap '' TRAP; begins "$IOPS" run -q -o /dev/null --)" "$bare"
is "... and where it has that blocked" "$(begins env --block-signal=TRAP,SYS "$IOPS" run -q -o /dev/null --)" "$bare"
is "... and where there is no room for a descriptor" "$(begins "$IOPS" run -q -o /dev/null -- prlimit -n3)" "$(begins prlimit -n3)"
# Whoever is stopped as it begins, or before, has no descriptor and no place of ours.
cat >stops.py <<'EOP'
import os, signal, sys, time
prog, null, odd, met = sys.argv[1], os.open("/dev/null", os.O_WRONLY), 0, 0
for i in range(200):
    pid = os.fork()
    if not pid:
        os.dup2(null, 1)
        os.close(null)
        os.execv(prog, [prog, "rw", "50", "1"])
    end = time.perf_counter() + (200 + i * 37 % 1300) / 1e6
    while time.perf_counter() < end: pass
    os.kill(pid, signal.SIGSTOP)
    if not os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1]): continue
    if os.readlink(f"/proc/{pid}/exe") == prog:
        met += 1
        odd += any("memfd:iops" in os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
        odd += open(f"/proc/{pid}/syscall").read().split()[-1].startswith("0x7000")
    os.kill(pid, signal.SIGCONT)
    odd += os.waitpid(pid, 0)[1] != 0
print(met > 5, odd)
EOP
is "a program that is stopped as it begins has nothing of ours" "$(run -- $PY stops.py "$HELP/loop" | tr "\n" " ")" "True 0 0 True "
is "... which is nothing but the stack" "$(echo "$bare" | cut -d' ' -f1-3 | sort -u)" "0 202 3"

# A call whose signal waits behind a stop of its group has not been made: it is not to be
# taken for a write of as many bytes as its number is.
storms=$("$HELP/storms" 150 60 | md5sum)
for mode in default --no-patch; do
	[ $mode = default ] && mode=
	is "all is written while a process is stopped and goes on $mode" "$("$IOPS" run ${mode:+"$mode"} -q -o /dev/null -- "$HELP/storms" 150 60 | md5sum)" "$storms"
done

# Whether an address can be read, as libraries ask the kernel, in handlers too: no signal of
# ours that the kernel would have to let through.
cat >probe.py <<'EOP'
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 5
signal.signal(signal.SIGSEGV, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSEGV])
def state(): # that it is blocked, and caught
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return [int(status[name], 16) >> 10 & 1 for name in ("SigBlk", "SigCgt")]
asked = {(libc.syscall(14, how, 0x5000, 0, 8), ctypes.get_errno()) for how in (-1, 3, -1, 1 << 32 | 7) for _ in range(5)}
print(asked, state())
EOP
# A program that limits its memory has of it what it would have without us.
cat >limits.py <<'EOP'
import ctypes, os, resource, sys, threading
def limit(n):
    if sys.argv[1] == "prlimit": resource.setrlimit(resource.RLIMIT_AS, (n, n))
    else: assert not ctypes.CDLL(None).syscall(160, 9, (ctypes.c_ulong * 2)(n, n))
def work():
    fd = os.open("/dev/null", os.O_WRONLY)
    for _ in range(300): os.write(fd, b"x")
work()
mine = [line.split()[0].split("-") for line in open("/proc/self/maps") if not line.startswith("7001")]
limit(sum(int(to, 16) - int(at, 16) for at, to in mine) + (120 << 20))
print(len(bytearray(90 << 20)))
threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
EOP
for mode in "" --patch-after=1; do
	# shellcheck disable=SC2086
	is "what cannot be read $mode" "$(run $mode -- $PY probe.py | tr '\n' ' ')" "{(-1, 14)} [1, 1] 0 True "
	for how in prlimit setrlimit; do
		# shellcheck disable=SC2086
		is "memory is limited from inside $mode: $how" "$(run $mode -- $PY limits.py $how | tr '\n' ' ')$(
			json got.json 'j["total"]["write"]["operations"] > 900, j["run"]["fast_path"]["stopped"] < 100')" "94371840 0 True (True, True)"
	done
done

# What an exec does not find is not asked for at a stop.
"$HELP/vain" >vain.txt
for mode in "" --patch-after=1 --no-patch; do
	# shellcheck disable=SC2086
	is "exec of nothing $mode" "$(timeout -s KILL 60 "$IOPS" run -q -o /dev/null $mode -- "$HELP/vain" | diff vain.txt - && echo same)" same
	# shellcheck disable=SC2086
	is "... while signals come" "$(run $mode -- "$HELP/vain" 3000 | tr '\n' ' ')" "0 0 0 True "
done

# Of fcntl(2) only what makes a descriptor or changes one is told of, where nobody asks for
# more: paths and counts are right all the same.
for mode in "" --patch-after=1 --no-patch "-e all"; do
	case $mode in -e*) calls="[(24000, 6000)]" ;; *) calls="[]" ;; esac
	# shellcheck disable=SC2086
	is "fcntl between writes, while signals come $mode" "$(run $mode -- "$HELP/dups" 2000 | tr '\n' ' ';
		json got.json '[(f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if (f["path"] or "").endswith(("/a", "/b"))], [(c["all"]["operations"], c["all"]["errors"]) for c in j["by"]["call"] if c["call"] == "fcntl"]'; stat -c %s a)" \
		"a 16000 8000 b 6000 0 True ([(8000, 16000), (2000, 6000)], $calls)
8003"
done

# What is open beyond an exec is known from before, what is closed by it is not taken for
# what comes next.
cat >heirs.py <<'EOP'
import ctypes, fcntl, os, sys
libc = ctypes.CDLL(None)
for n in "abcdef": open(n, "w").write(n * 100)
# What the next program has of this: a, at its position; c, by dup(2); not b, d, e.
def program(step):
    me = [sys.executable, sys.argv[0], str(step)]
    a = os.open("a", os.O_RDONLY); os.set_inheritable(a, True); os.read(a, 10)
    b = os.open("b", os.O_RDONLY)
    c = os.open("c", os.O_RDONLY); os.read(c, 20); os.dup2(c, 40)
    d = os.open("d", os.O_RDONLY); os.set_inheritable(d, True); fcntl.fcntl(d, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    e = os.open("e", os.O_RDONLY); os.set_inheritable(e, True)
    libc.syscall(436, e, e, 4) # close_range(2), CLOSE_RANGE_CLOEXEC
    os.environ["FDS"] = f"{a} {b} {c} {d} {e}"
    os.execv(me[0], me)
def use():
    a, b, c, d, e = map(int, os.environ["FDS"].split())
    os.read(a, 7); os.read(40, 8)
    for fd in b, c, d, e:
        try: os.read(fd, 1); print("open", fd)
        except OSError: pass
    f = [os.open("f", os.O_RDONLY) for i in range(4)]
    for fd in f: os.read(fd, 9)
    os.lseek(a, 0, 0); os.read(a, 5); os.close(a); os.close(40)
    for fd in f: os.close(fd)
step = int(sys.argv[1])
if step: use()
if step < 3:
    pid = os.fork() if step == 1 else 0
    if pid: os.waitpid(pid, 0)
    else: program(step + 1)
EOP
for mode in "" --patch-after=1 --no-patch; do
	rm -f heirs.iops
	# shellcheck disable=SC2086
	is "beyond an exec $mode" "$(run $mode -l heirs.iops -- $PY heirs.py 0 | tr '\n' ' ')" "0 True "
	"$IOPS" export --to csv heirs.iops | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["path"] ~ /\/[a-f]$/ && ($at["kind"] == "read" || $at["kind"] == "write") {
			sub(/.*\//, "", $at["path"]); print $at["kind"], $at["path"], $at["offset"], $at["result"] }' >heirs.txt
	is "... each read where it was" "$(grep -c '' heirs.txt) $(grep '^read' heirs.txt | sort | uniq -c | awk '{ printf "%s %s@%s+%s  ", $1, $3, $4, $5 }')" \
		"51 3 a@0+10  3 a@0+5  3 a@10+7  3 c@0+20  3 c@20+8  12 f@0+9  "
done

# A thread that has descriptors of its own and runs another program; and a position that is
# moved by who is not traced.
cat >apart.py <<'EOP'
import ctypes, os, sys, threading
def program():
    assert ctypes.CDLL(None).unshare(0x400) == 0 # CLONE_FILES
    os.dup2(os.open("apartb", os.O_RDONLY), 9); os.read(9, 5)
    os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
if len(sys.argv) > 1: os.read(9, 7); sys.exit()
for n in "apart", "apartb": open(n, "w").write(100 * "x")
os.dup2(os.open("apart", os.O_RDONLY), 9); os.read(9, 50)
t = threading.Thread(target=program); t.start(); t.join()
EOP
cat >moved.sh <<'EOP'
echo a >&7; : >moved.at
while [ ! -e moved.go ]; do :; done
exec sh -c 'echo bc >&7'
EOP
places() { "$IOPS" export --to csv "$1" | awk -F, -v file="$2" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["path"] ~ file && ($at["kind"] == "read" || $at["kind"] == "write") { sub(/.*\//, "", $at["path"])
		printf "%s %s@%s+%s  ", $at["kind"], $at["path"], $at["offset"], $at["result"] }'; }
for mode in "" --patch-after=1 --no-patch; do
	rm -f apart.iops moved.iops moved.go moved.at
	# shellcheck disable=SC2086
	is "exec by a thread apart $mode" "$(run $mode -l apart.iops -- $PY apart.py | tr '\n' ' ')$(places apart.iops '/apartb?$')" \
		"0 True write apart@0+100  write apartb@0+100  read apart@0+50  read apartb@0+5  read apartb@5+7  "
	# shellcheck disable=SC2086
	exec 7>moved; run $mode -l moved.iops -- sh moved.sh >moved.txt & while [ ! -e moved.at ]; do sleep 0.01; done
	echo outside >&7; : >moved.go; wait $!; exec 7>&-
	is "... a position that others have moved" "$(tr '\n' ' ' <moved.txt)$(places moved.iops '/moved$')" "0 True write moved@0+2  write moved@10+3  "
done

# What was not open is not what is opened there later; a mount is not another one that had
# its id before.
cat >before.py <<'EOP'
import os
open("before", "w").write("abc")
fd = os.open("before", os.O_RDONLY); os.close(fd)
for i in range(3):
    try: os.read(fd, 1)
    except OSError as e: assert e.errno == 9
assert os.open("before", os.O_RDONLY) == fd
os.read(fd, 2)
EOP
cat >mounts.py <<'EOP'
import ctypes, os
c = ctypes.CDLL(None)
for n in "m1", "m2": os.makedirs(n, exist_ok=True)
for n in "m1", "m2", "m1":
    assert c.mount(b"none", n.encode(), b"tmpfs", 0, None) == 0
    fd = os.open(n + "/mounted", os.O_CREAT | os.O_WRONLY, 0o600); os.write(fd, b"abc"); os.close(fd)
    assert c.umount2(n.encode(), 0) == 0
EOP
for mode in "" --patch-after=1 --no-patch; do
	rm -f before.iops
	# shellcheck disable=SC2086
	is "what was not open $mode" "$(run $mode -l before.iops -- $PY before.py | tr '\n' ' ')$(places before.iops '/before$')" \
		"0 True write before@0+3  read before@0+2  "
	if unshare -m true 2>/dev/null; then
		# shellcheck disable=SC2086
		is "... mounts that have had the same id" "$(timeout 60 unshare -m "$IOPS" run --json -o got.json --by mount $mode -- $PY mounts.py; echo $?) $(
			json got.json 'sorted((m["mount"][-2:], m["write"]["bytes"]) for m in j["by"]["mount"] if m["write"]["bytes"])')" "0 [('m1', 6), ('m2', 3)]"
	else
		skip "mounts: takes root"
	fi
done

# Nothing is patched then, and all is seen all the same.
lib=$(/sbin/ldconfig -p | sed -n 's/.*libZydis.so.[0-9].* => //p')
if unshare -m true 2>/dev/null && [ "$lib" ]; then
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount --bind /dev/null "$1" && shift && exec "$@"' sh "$lib" \
		"$IOPS" run --json -o got.json -- "$HELP/mkio" 'write f 4096*300' >/dev/null 2>lib.err
	is "without the library that reads code: all is seen, and that is said once" "$? $(grep -c 'libZydis.*apt install' lib.err) $(wc -l <lib.err) $(
		json got.json '[f["write"]["bytes"] for f in j["by"]["file"] if f["path"].endswith("/f")], j["run"]["verified"]["matched"], j["run"]["fast_path"]["stopped"] > 50')" \
		"0 1 1 ([1228800], 1, True)"
else
	skip "no library to hide: takes root"
fi

# What the parent has called from the child has too, before and after it changes its code.
cat >code.py <<'EOP'
import ctypes, mmap, os, subprocess, sys
lib = ctypes.CDLL(sys.argv[1])
fd = os.open("/dev/null", os.O_WRONLY)
def change(f, offset, code):
    at = ctypes.cast(f, ctypes.c_void_p).value
    def protect(how): assert not ctypes.CDLL(None).mprotect(ctypes.c_void_p(at & ~4095), 8192, how)
    protect(mmap.PROT_READ | mmap.PROT_WRITE)
    ctypes.memmove(at + offset, code, len(code))
    protect(mmap.PROT_READ | mmap.PROT_EXEC)
def work(): return [lib.plug_write(fd, b"abc", 3) for i in range(20)]
def across(): return [lib.plug_across(fd, b"abc", 3) for i in range(20)]
if len(sys.argv) > 2:
    change(lib.plug_write, 1, b"\x27") # getpid
    change(lib.plug_across, 5, b"\x90\x90") # no call
    print(work() == [os.getpid()] * 20, across() == [1] * 20)
else:
    print(work() == [3] * 20, across() == [3] * 20)
    sys.stdout.flush()
    if os.fork() == 0: os.execv(sys.executable, [sys.executable, sys.argv[0], sys.argv[1], "child"])
    print(os.wait()[1], work() == [3] * 20, across() == [3] * 20)
EOP
is "code that a child changes is what it runs" "$(run -- $PY code.py "$HELP/plug1.so" | tr '\n' ' ')" "True True True True 0 True True 0 True "
is "... and the rest is counted" "$(json got.json '[f["write"]["operations"] for f in j["by"]["file"] if f["path"] == "/dev/null"]')" "[80]"

cat >sys.py <<'EOP'
import ctypes, mmap, os, signal, sys, threading
fd = os.open("out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
def work(n):
    for i in range(n): os.write(fd, b"x")
def mine(): # the signal is its own, each time: Python makes one of two that come close together
    r, w = os.pipe2(os.O_NONBLOCK); work(100)
    signal.signal(signal.SIGSYS, lambda *_: None); signal.set_wakeup_fd(w)
    for i in range(50): os.kill(os.getpid(), signal.SIGSYS); work(2)
    return r
def came(r): print(len(os.read(r, 1000)))
def alone(): came(mine())
def threads(): # ... while others work
    many = [threading.Thread(target=work, args=(200,)) for i in range(6)]
    for t in many: t.start()
    r = mine()
    for t in many: t.join()
    came(r)
def ignored():
    signal.signal(signal.SIGSYS, signal.SIG_IGN); work(100)
    os.kill(os.getpid(), signal.SIGSYS)
    print(signal.getsignal(signal.SIGSYS) == signal.SIG_IGN)
def made(): # calls from where nothing can be patched
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\x48\x89\xf8\x48\x89\xf7\x48\x89\xd6\x48\x89\xca\x0f\x05\xc3") # syscall(rdi; rsi, rdx, rcx)
    call = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 2, ctypes.c_char_p, ctypes.c_long)(
        ctypes.addressof(ctypes.c_char.from_buffer(page)))
    print(all(call(39, 0, b"", 0) == os.getpid() for i in range(1000)), sum(call(1, fd, b"abc", 3) for i in range(100)))
every = set(range(1, 65)) - {signal.SIGKILL, signal.SIGSTOP, 32, 33}
def masks(): # all are blocked, and are so still after whatever call
    signal.pthread_sigmask(signal.SIG_SETMASK, every)
    for call in os.getppid, os.getpgrp, os.getuid, os.getgid, os.getlogin, os.sched_yield, os.times:
        try: call()
        except OSError: pass
        if signal.pthread_sigmask(signal.SIG_BLOCK, []) != every: print(call)
    print("masks")
def blocked(): # that signal alone is blocked, and comes
    work(50); signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSYS]); work(50)
    os.kill(os.getpid(), signal.SIGSYS); work(50)
    print(signal.sigtimedwait([signal.SIGSYS], 1).si_signo, signal.SIGSYS in signal.pthread_sigmask(signal.SIG_BLOCK, []))
def others(): # all are blocked but that one
    work(50); signal.pthread_sigmask(signal.SIG_SETMASK, every - {signal.SIGSYS}); work(50)
    print(signal.pthread_sigmask(signal.SIG_BLOCK, []) == every - {signal.SIGSYS})
def waiting(): # a SIGTRAP waits, at an exec too
    work(50); signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP])
    signal.pthread_kill(threading.get_ident(), signal.SIGTRAP); work(50)
    if len(sys.argv) == 2: os.execv(sys.executable, [sys.executable, sys.argv[0], "waiting", "again"])
    print(signal.sigtimedwait([signal.SIGTRAP], 1).si_signo)
def aside(): # calls that have to stop, one after the other
    c = ctypes.CDLL(None); work(100)
    for i in range(600): os.close(c.eventfd(0, 0)); c.syscall(600)
    print(os.eventfd(0) == fd + 1)
def dispatch(): # it wants that for itself
    work(50)
    print(ctypes.CDLL(None).prctl(59, 0, 0, 0, 0)); work(50)
globals()[sys.argv[1]]()
EOP
for mode in "" --patch-after=1; do
	for what in "alone 50 200" "threads 50 1400" "ignored True 100" "made True.300 100" "masks masks 0" "dispatch 0 100" \
		"blocked 31.True 150" "others True 100" "waiting 5 200" "aside True 100"; do
		# shellcheck disable=SC2086
		set -- $what
		is "SIGSYS and its like: $1 $mode" "$(run $mode -- $PY sys.py "$1" | tr '\n' ' ')$(json got.json 'sum(f["write"]["operations"] for f in j["by"]["file"] if f["path"].endswith("/out"))')" \
			"$(echo "$2" | tr . ' ') 0 True $3"
	done
done

cat >kin.py <<'EOP'
import os, signal, subprocess, sys, threading
def spawn(n):
    for i in range(n): subprocess.run(["true"], check=True)
def child(work, *args):
    pid = os.fork()
    if pid == 0:
        work(*args); os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
def work(name, n):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
    for i in range(n): os.write(fd, b"abc")
    os.close(fd)
def heir(fd, n):
    for i in range(n): os.write(fd, b"abc")
def prefork(): # children that go on for themselves, after many that did not
    spawn(4)
    for i in range(3): child(work, f"kin{i}", 2000)
def few(): # ... and that do little
    spawn(4)
    for i in range(20): child(work, f"kin{i}", 3)
def shared(): # they have an open file from their parent
    fd = os.open("kin", os.O_WRONLY | os.O_CREAT, 0o600)
    heir(fd, 100); spawn(4)
    for i in range(5): child(heir, fd, 7); heir(fd, 50); child(heir, fd, 300)
def threads(): # they have threads
    def many():
        all = [threading.Thread(target=work, args=(f"kin{i}", 500)) for i in range(4)]
        [t.start() for t in all]; [t.join() for t in all]
    spawn(4); child(many)
def missing(): # most programs along a path are not there
    for i in range(3):
        pid = os.fork()
        if pid == 0:
            for d in range(40):
                try: os.execv(f"/nowhere/{d}", ["x"])
                except FileNotFoundError: pass
            os.execv("/bin/sh", ["sh", "-c", f"echo abc >kin{i}"])
        os.waitpid(pid, 0)
def back(): # the exec fails, and the child goes on below a filter that was for another
    for i in range(4):
        pid = os.fork()
        if pid == 0:
            try: os.execv("/etc/passwd", ["x"])
            except PermissionError: pass
            work(f"kin{i}", 300); os._exit(0)
        os.waitpid(pid, 0)
globals()[sys.argv[1]]()
EOP
for mode in "" --patch-after=1 --no-patch; do
	for what in "prefork 6000 18000" "few 60 180" "shared 1885 5655" "threads 2000 6000" "missing 3 12" "back 1200 3600"; do
		# shellcheck disable=SC2086
		set -- $what; rm -f kin*[0-9] kin
		is "children: $1 $mode" "$(run $mode -l got.iops --wait -- $PY kin.py "$1" | tr '\n' ' ')$(
			json got.json 'sum(f["write"]["operations"] for f in j["by"]["file"] if "/kin" in f["path"]), sum(f["write"]["bytes"] for f in j["by"]["file"] if "/kin" in f["path"])')" \
			"0 True ($2, $3)"
		is "... each operation at its place" "$("$IOPS" export --to csv got.iops | awk -F, '
			NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			$at["path"] ~ /\/kin[0-9]*$/ && $at["kind"] == "write" { n++; if ($at["offset"] == "") none++; else if (seen[$at["path"], $at["offset"]]++) twice++ }
			END { print none + 0, twice + 0, n }')" "0 0 $2"
		[ "$mode" = --no-patch ] || [ "$1" != prefork ] ||
			is "... and most of them without a stop" "$(json got.json 'j["run"]["fast_path"]["operations"] > 5000')" True
	done
done

# What cannot be dispatched is below the filter from its beginning.
if runs mkio32; then
	is "the command becomes a program of 32 bits" "$(run -- sh -c 'exec "$0" -o want.json "write f32 10*300"' "$HELP/mkio32" | tr '\n' ' ')$(
		json got.json '[(f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["path"].endswith("/f32")]')" "0 True [(300, 3000)]"
else
	skip "$why"
fi
is "memory is limited" "$(run -- sh -c 'ulimit -v 300000; exec dd if=/dev/zero of=limited bs=10 count=500 status=none' | tr '\n' ' ')$(
	json got.json '[(f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["path"].endswith("/limited")]')" "0 True [(500, 5000)]"
is "SIGTRAP and SIGSYS are ignored from the start" "$(trap '' TRAP SYS; run -- dd if=/dev/zero of=ignoring bs=10 count=500 status=none | tr '\n' ' ')$(
	json got.json '[(f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["path"].endswith("/ignoring")]')" "0 True [(500, 5000)]"
is "... or before an exec" "$(run -- sh -c 'trap "" TRAP SYS; exec dd if=/dev/zero of=ignores bs=10 count=500 status=none' | tr '\n' ' ')$(
	json got.json '[(f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["path"].endswith("/ignores")]')" "0 True [(500, 5000)]"

# A supervisor's filter outranks ours: each call is to stop, from the child's first one on.
"$HELP/notified" 1; can=$?
if [ $can != 2 ]; then
	for mode in "" --patch-after=1 --no-patch; do
		n_seen=0
		for _ in 1 2 3 4 5 6 7 8; do
			# shellcheck disable=SC2086
			[ "$(run $mode -- "$HELP/notified" 20) $(json got.json '[f["read"]["bytes"] for f in j["by"]["file"] if f["path"] == "/dev/zero"]')" = "0 True [540]" ] &&
				n_seen=$((n_seen + 1))
		done
		is "calls that a supervisor lets go on $mode" $n_seen 8
		# shellcheck disable=SC2086
		is "... and those that it answers itself, which are none" "$(run $mode -- "$HELP/notified" 20 answers) $(json got.json '[f["read"]["bytes"] for f in j["by"]["file"] if f["path"] == "/dev/zero"]')" "0 True [450]"
	done
else
	skip "there is no listener of seccomp(2)"
fi

# A program that keeps itself from its own memory, and with it from ours.
GLIBC_TUNABLES=glibc.pthread.rseq=0; export GLIBC_TUNABLES
"$HELP/keyed" 1 >/dev/null; can=$?
for mode in "" "--patch-after 1" --no-patch --no-filter; do
	[ $can != 77 ] || { skip "there are no keys of memory here"; continue; }
	# shellcheck disable=SC2086
	is "memory that is closed by keys $mode" "$(run $mode -- "$HELP/keyed" 2000 | tr '\n' ' ')$(
		json got.json '[(f["all"]["operations"], f["all"]["bytes"]) for f in j["by"]["file"] if f["path"] in ("/dev/null", "/dev/zero")]')" "good 0 True [(2000, 200000), (2000, 200000)]"
	# shellcheck disable=SC2086
	is "... an argument of a call in such memory $mode" "$(run $mode -- "$HELP/keyed" 2000 own | tr '\n' ' ')$(
		json got.json '[(f["all"]["operations"], f["all"]["bytes"], f["all"]["errors"]) for f in j["by"]["file"] if f["path"] == "/dev/null"]')" "good 0 True [(2000, 2000, 2000)]"
done
unset GLIBC_TUNABLES

# Whoever asks for memory that a stopped program is to bring waits for ever.
"$HELP/faulted" 1 >/dev/null; can=$?
if [ $can != 77 ]; then
	for mode in "" "-e all" --no-patch; do
		# shellcheck disable=SC2086
		is "arguments in memory that the program itself brings $mode" "$(run $mode -- "$HELP/faulted" 16 | tr '\n' ' ')$(
			json got.json '[(f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["path"] == "/dev/null"]')" "48 0 True [(96, 65840)]"
	done
	is "... below a filter" "$(run -- sh -c 'for i in 1 2 3 4 5; do /bin/true; done; "$0" 16; exit' "$HELP/faulted" | tr '\n' ' ')$(
		json got.json '[(f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["path"] == "/dev/null"]')" "48 0 True [(96, 65840)]"
else
	skip "there is no userfaultfd(2) for us"
fi

# A handler of SIGSYS means filters, one of SIGTRAP that a place cannot be patched once
# there are threads: so it has to be before. That is how every Go program is.
is "threads that call from one place, for whatever it is" "$(run -- "$HELP/oneplace" threads 20000 | tr '\n' ' ')$(
	json got.json '[f["write"]["operations"] for f in j["by"]["file"] if f["path"] == "/dev/null"], j["run"]["fast_path"]["stopped"] < 200')" \
	"0 True ([20000], True)"
# Our pages are gone, or something else is there, all at once for threads in the hook.
for how in unmap map code protect gap; do
	is "low memory is used by the program: $how" "$(run -- "$HELP/quits" $how 400 | tr '\n' ' ')$(
		json got.json 'j["run"]["fast_path"]["operations"] > 10000')" "good 0 True True"
done
for mode in "" --patch-after=1 --no-patch; do
	# shellcheck disable=SC2086
	is "a program that steps through itself $mode" "$(run $mode -- "$HELP/oneplace" steps 300 | tr '\n' ' ')$(
		json got.json '[f[k]["operations"] for f in j["by"]["file"] for k in ("write", "read") if f["path"] == {"write": "/dev/null", "read": "/dev/zero"}[k]]')" "1 0 True [300, 300]"
done
plan
