#!/bin/sh
# shellcheck disable=SC2086
# The same of programs with signals, faults and memory of their own, which are to find
# nothing there that was not there before.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=tests/attach.sh
. "$ROOT/tests/attach.sh"

# A handler of SIGSYS of its own is called when it should be, for what it forks too, and is all
# that there is to be seen; not where it is to be called once.
cat >handler.py <<'EOP'
import ctypes, os, signal, subprocess, sys, time
libc = ctypes.CDLL(None)
hits, seen, bad = [], set(), []
old = ctypes.create_string_buffer(152)
signal.signal(signal.SIGSYS, lambda *_: hits.append(1))
libc.sigaction(31, None, old)       # handler, mask, flags, restorer
if sys.argv[1] == "once":
    old[136:140] = (int.from_bytes(old[136:140], "little") | 0x80000000).to_bytes(4, "little")
if sys.argv[1] == "blocks":
    old[8:16] = b"\xff" * 8
libc.sigaction(31, old, None)
fd = os.open("/dev/null", os.O_WRONLY)
open("ready", "w").write("x")
n = 0
until = time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    if sys.argv[1] == "once":
        os.write(fd, b"x")
        continue
    os.kill(os.getpid(), signal.SIGSYS)
    n += 1
    for i in range(20): os.write(fd, b"x")
    libc.sigaction(31, None, old)
    seen.add(bytes(old)[:16] + bytes(old)[136:140])
    if n % 50 == 0:
        pid = os.fork()
        if not pid:
            hits.clear()
            os.kill(os.getpid(), signal.SIGSYS)
            os.write(fd, b"x")
            os._exit(len(hits))
        if os.waitpid(pid, 0)[1] != 256: bad.append("fork")
        if subprocess.run(["/bin/sh", "-c", "kill -SYS $$"]).returncode != -31: bad.append("exec")
    time.sleep(0.001)
print(n == len(hits), len(seen), bad)
EOP
handles() {	# how, seconds
	rm -f ready; /usr/bin/python3 handler.py "$@" >handler.txt & pid=$!
	while [ ! -s ready ]; do sleep 0.05; done
}
for how in always blocks; do
	handles $how 6
	before=$(first)
	for _ in 1 2 3; do timeout 10 "$IOPS" attach -q -d 0.5 --json -o f.json $pid; done
	is "a handler of SIGSYS of its own ($how)" "$(clean) $(json f.json "$all_verified"', "reason" in j["run"]["fast_path"], j["run"]["fast_path"]["operations"] > 100 + 3 * j["run"]["fast_path"]["stopped"]')" "$before (True, False, True)"
	wait $pid
	is "... is called as ever" "$? $(cat handler.txt)" "0 True 1 []"
	handles $how 3
	"$IOPS" attach -q -o /dev/null $pid & tracer=$!
	sleep 0.7; tracing=$(tracer_of $pid); kill -KILL "$tracing"; wait $tracer
	wait $pid
	is "... also when iops is killed" "$? $(cut -d' ' -f1 handler.txt)" "0 True"
done
# Nor is any other signal lost that is about to be handled as iops is killed.
cat >sends.py <<'EOP'
import os, signal, threading, time
hits, n, until = [], 0, time.monotonic() + 2
signal.signal(signal.SIGUSR1, lambda *_: hits.append(1))
def reads():
    with open("/dev/zero", "rb", 0) as f:
        while time.monotonic() < until: f.read(1)
        time.sleep(0.1)
threading.Thread(target=reads).start()
open("ready", "w").write("x")
while time.monotonic() < until:
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    n += 1
print(n == len(hits) or (n, len(hits)))
EOP
for mode in "" --no-patch; do
	all=
	for _ in 1 2 3 4 5 6; do
		rm -f ready; /usr/bin/python3 sends.py >sends.txt & pid=$!
		while [ ! -s ready ]; do sleep 0.02; done
		"$IOPS" attach -q $mode -o /dev/null $pid & tracer=$!
		sleep 0.5; kill -KILL "$(tracer_of $pid)"; wait $tracer
		wait $pid; all="$all$?$(cat sends.txt) "
	done
	is "no signal is lost when iops is killed $mode" "$all" "0True 0True 0True 0True 0True 0True "
done

handles once 1
timeout 10 "$IOPS" attach -q -d 0.3 --json -o f.json $pid
wait $pid
is "... not if it is to be called once: that is told" "$(json f.json 'j["run"]["fast_path"]["reason"], j["run"]["fast_path"]["operations"], '"$all_verified")" "('process $pid handles SIGSYS', 0, True)"

# A filter that lets everything through: PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP.
cat >judged.py <<'EOP'
import ctypes, os, time
libc = ctypes.CDLL(None)
allow = ctypes.create_string_buffer(b"\x06\0\0\0\0\0\xff\x7f")
class Prog(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("at", ctypes.c_void_p)]
assert not libc.prctl(38, 1, 0, 0, 0)
assert not libc.prctl(22, 2, ctypes.byref(Prog(1, ctypes.addressof(allow))))
fd = os.open("/dev/null", os.O_WRONLY)
open("ready", "w").write("x")
while True:
    os.write(fd, b"x")
    time.sleep(0.002)
EOP
rm -f ready; /usr/bin/python3 judged.py & pid=$!
while [ ! -s ready ]; do sleep 0.05; done
timeout 10 "$IOPS" attach -d 0.3 -o judged.txt -l judged.iops $pid
kill -KILL $pid; wait $pid 2>/dev/null
is "so is a filter, without being asked" "$(grep '^fast path' judged.txt)" "fast path: no call took it; process $pid has a seccomp filter"
is "... as its log does" "$("$IOPS" report judged.iops | grep '^fast path')" "$(grep '^fast path' judged.txt)"

# Once for long, and again and again.
sigown() {
	rm -f own.txt; "$HELP/sigown" "$@" >own.txt & pid=$!
	while [ ! -s own.txt ]; do sleep 0.02; done
}
sigown 5
timeout 10 "$IOPS" attach -q -d 1 --json -o g.json $pid
for _ in $(seq 20); do timeout 10 "$IOPS" attach -q -d 0.05 -o /dev/null $pid; done
wait $pid
is "SIGSYS is ignored, by what it runs too" "$? $(tail -n 1 own.txt) $(json g.json "$all_verified"' and j["run"]["fast_path"]["operations"] > 100 + 3 * j["run"]["fast_path"]["stopped"]')" "0 good True"

sigown 3 handles
for _ in 1 2 3 4 5 6; do timeout 10 "$IOPS" attach -q -d 0.2 --json -o h.json $pid; done
wait $pid
is "... and handled now and then" "$? $(tail -n 1 own.txt) $(json h.json "$all_verified")" "0 good True"

# begin_py FILE: in the background, up to where it is ready
begin_py() {
	rm -f ready
	/usr/bin/python3 "$1" >"$1.txt" & pid=$!
	while [ ! -s ready ]; do sleep 0.05; done
}
cat >asks.py <<'EOP'
import ctypes, os, time
libc = ctypes.CDLL(None)
none, old, seen = bytes(200), ctypes.create_string_buffer(b"\xff" * 200), set()
fd = os.open("/dev/null", os.O_WRONLY)
open("ready", "w").write("x")
for i in range(1000):
    for action in None, none:
        seen.add((libc.sigaction(31, action, old), bytes(old)[:16] == bytes(16)))
    os.write(fd, b"x")
    time.sleep(0.002)
print(seen)
EOP
begin_py asks.py
before=$(first)
timeout 10 "$IOPS" attach -q -d 0.4 --json -o h.json $pid
is "SIGSYS is looked at and set to its default: no handler is there, and none is lost" "$(clean) $(json h.json "$all_verified"' and j["run"]["fast_path"]["operations"] > 20 + 3 * j["run"]["fast_path"]["stopped"]')" "$before True"
wait $pid
is "... for the program there was none" "$(cat asks.py.txt)" "{(0, True)}"

# A thread that blocks SIGSYS alone, as in its handler, cannot be dispatched: it does not see
# what is there for the others either, and what it sets stays, and is called.
cat >blocks.py <<'EOP'
import ctypes, os, signal, sys, threading, time
libc = ctypes.CDLL(None)
hits, seen = [], set()
def action(new=None):
    old = ctypes.create_string_buffer(200)
    return libc.sigaction(31, new, old), old[:16] + old[136:140]
def asks(sets):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSYS])
    mine = action()
    open("ready", "w").write("x")
    for i in range(500):
        seen.add(action() == mine)
        if sets and i == 100:
            seen.add(action(handler) == mine)
            mine = action()
            seen.add(mine[1] == handler[:16] + handler[136:140])
        os.write(fd, b"x")
        time.sleep(0.002)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGSYS])
    seen.add(action() == mine)
handler = ctypes.create_string_buffer(200)
signal.signal(signal.SIGSYS, lambda *_: hits.append(1))
libc.sigaction(31, None, handler)
if "handles" not in sys.argv: action(bytes(200))
if "sets" in sys.argv: handler[8:16] = b"\0\2" + bytes(6)
fd = os.open("/dev/null", os.O_WRONLY)
if "alone" in sys.argv:
    asks("sets" in sys.argv)
else:
    thread = threading.Thread(target=asks, args=("sets" in sys.argv,))
    thread.start()
    while thread.is_alive(): os.write(fd, b"x"); time.sleep(0.001)
if "handles" in sys.argv or "sets" in sys.argv:
    os.kill(os.getpid(), signal.SIGSYS)
print(seen, hits)
EOP
for how in "handles alone" "handles" "alone" "sets" "sets alone" "sets handles"; do
	rm -f ready; /usr/bin/python3 blocks.py $how >blocks.txt & pid=$!
	while [ ! -s ready ]; do sleep 0.02; done
	for _ in 1 2 3; do timeout 10 "$IOPS" attach -q -d 0.2 --json -o h.json $pid; done
	called='[1]'; [ "$how" != alone ] || called='[]'
	wait $pid
	is "who blocks SIGSYS sees no handler of ours ($how)" "$? $(cat blocks.txt) $(json h.json "$all_verified")" "0 {True} $called True"
done

# Pointers that lead nowhere, where the kernel would take a handler away that is blocked.
cat >faults.py <<'EOP'
import ctypes, faulthandler, signal, time
libc = ctypes.CDLL(None, use_errno=True)
faulthandler.enable()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSEGV])
libc.mmap.restype = ctypes.c_void_p
nowhere = libc.mmap(None, 4096, 0, 0x22, -1, 0)
old, seen = ctypes.create_string_buffer(200), set()
open("ready", "w").write("x")
for i in range(1000):
    seen.add((libc.open(ctypes.c_void_p(nowhere), 0), ctypes.get_errno()))
    libc.sigaction(11, None, old)
    seen.add(bytes(old)[:16] + bytes(old)[136:140])
    seen.add(signal.SIGSEGV in signal.pthread_sigmask(signal.SIG_BLOCK, []))
    time.sleep(0.002)
print(len(seen), (-1, 14) in seen, True in seen)
EOP
begin_py faults.py
timeout 10 "$IOPS" attach -q -d 0.4 -o /dev/null $pid
timeout 10 "$IOPS" attach -q -d 0.4 --json -o j.json $pid
wait $pid
is "faults of ours change nothing about those of the program" "$(cat faults.py.txt) $(json j.json "$all_verified")" "3 True True True"

cat >made.py <<'EOP'
import ctypes, mmap, os, time
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\xb8\x01\x00\x00\x00\x0f\x05\xc3")        # mov $1, %eax; syscall; ret
at = ctypes.addressof(ctypes.c_char.from_buffer(page))
write = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_long)(at)
fd, good = os.open("made", os.O_WRONLY | os.O_CREAT, 0o600), 0
open("ready", "w").write("x")
until = time.monotonic() + 0.8
n = 0
while time.monotonic() < until:
    good += write(fd, b"abc", 3) == 3
    n += 1
print(n == good, os.fstat(fd).st_size == 3 * n)
EOP
begin_py made.py
timeout 10 "$IOPS" attach -q -d 0.4 --json -o i.json $pid
is "where no site can be patched a call takes one signal, and no more" "$(json i.json "$all_verified"' and j["run"]["fast_path"]["operations"] > 100 + 30 * j["run"]["fast_path"]["stopped"]')" True
wait $pid
is "... and the program is none the wiser" "$(cat made.py.txt)" "True True"

# What the hook leaves to the tracer; what is in it when the fast path ends; what runs in
# its memory and is not traced.
for mode in messages asleep lent; do
	rm -f led.txt; "$HELP/led" $mode 2 >led.txt & pid=$!
	while [ ! -s led.txt ]; do sleep 0.05; done
	timeout 10 "$IOPS" attach -q -d 1 --json -o l.json $pid
	wait $pid
	is "led into the hook: $mode" "$? $(tail -n 1 led.txt; sed '1d;$d' led.txt) $(json l.json "$all_verified")" "0 good True"
done

# What asks for its handler, or sets one, while signals come, and while it is left.
for mode in asks takes; do
	rm -f led.txt; "$HELP/led" $mode 6 >led.txt & pid=$!
	while [ ! -s led.txt ]; do sleep 0.05; done
	i=0; while [ ! "$(sed -n 2p led.txt)" ] && timeout 10 "$IOPS" attach -q -d 0.03 -o /dev/null $pid 2>led.err; do i=$((i + 1)); done
	wait $pid
	is "attached to again and again: $mode" "$? $(tail -n 1 led.txt; sed '1d;$d' led.txt) $((i > 10))" "0 good 1"
done

# The tracer is held up, so that the ring is full: it is larger from then on.
"$HELP/loop" rw 20000000 1 >/dev/null & pid=$!
"$IOPS" attach -q --json -o k.json $pid & attach=$!
tracer=$(tracer_of $pid)
sleep 0.3
kill -STOP "$tracer"; sleep 0.2; kill -CONT "$tracer"; sleep 0.5
size=$(awk '/memfd:iops/ { ours = 1 } ours && $1 == "Rss:" { print $2; exit }' /proc/$pid/smaps)
kill -INT $attach; wait $attach
is "a ring that was full grows" "$((size > 200)) $(json k.json "$all_verified")" "1 True"
kill -KILL $pid; wait $pid 2>/dev/null

if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
	port=$((20000 + $$ % 10000))
	redis-server --port $port --save '' >/dev/null & pid=$!
	for _ in $(seq 50); do redis-cli -p $port ping >/dev/null 2>&1 && break; sleep 0.1; done
	before=$(first)
	redis-benchmark -p $port -q -t set,get -n 100000 >redis.txt 2>&1 & bench=$!
	i=0; while [ $i -lt 8 ] && timeout 10 "$IOPS" attach -q -d 0.1 --json -o g.json $pid; do i=$((i + 1)); done
	wait $bench
	is "redis under load: attached to eight times" "$i $? $(grep -ac 'requests per second' redis.txt) $(json g.json "$all_verified")" "8 0 2 True"
	is "... nothing is left" "$(clean)" "$before"
	redis-cli -p $port shutdown >/dev/null 2>&1
	wait $pid
else
	skip "redis is not installed"
fi
survived=0
for _ in 1 2 3 4 5 6; do
	"$HELP/hot" -o filtered.json filtered 600 & pid=$!
	sleep 0.2
	timeout 10 "$IOPS" attach -q -d 0.2 -o /dev/null $pid
	wait $pid && survived=$((survived + 1))
done
is "one of several threads under a filter of its own: nothing is asked by it" $survived 6

# What a child has from its parent it has closed, and is gone, before anybody could ask.
cat >heirs.py <<'EOP'
import os, time
while not os.path.exists("go"): time.sleep(0.01)
for i in range(20):
    fd = os.open("heir%d" % i, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.write(fd, b"0123456789")
    if not os.fork():
        os.write(fd, b"abc"); os.lseek(fd, 0, 0); os.read(fd, 13); os.close(fd)
        os._exit(0)
    os.wait()
    os.close(fd)
EOP
rm -f go; /usr/bin/python3 heirs.py & pid=$!
sleep 0.2
timeout 10 "$IOPS" attach -q --json -l heirs.iops -o heirs.json $pid & tracer=$!
sleep 0.4; touch go; wait $pid; wait $tracer
is "files that children have from their parents" \
	"$(json heirs.json '[(f["path"][-6:], f["all"]["operations"], f["all"]["bytes"]) for f in j["by"]["file"] if f["type"] == "regular" and "heir" in (f["path"] or "") or f["path"] is None] == [(("/heir%d" % i)[-6:], 3, 26) for i in range(20)]') $(
	"$IOPS" export --to jsonl heirs.iops | python3 -c 'import json, sys; print(sorted({(o["call"], o["offset"]) for o in map(json.loads, sys.stdin) if o["path"] and "/heir" in o["path"] and o["call"] in ("read", "write")}))')" \
	"True [('read', 0), ('write', 0), ('write', 10)]"

# Code that is brought back, madvise(2): a thread may be in what a place of it led to before.
"$HELP/renews" 100000000 /dev/null >renewed.txt 2>&1 & pid=$!
sleep 0.1; ends=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	timeout 10 "$IOPS" attach -q -d 0.1 --json -o renewed.json $pid && ends="$ends."
done
is "code that is brought back by madvise(2) while it is attached to" \
	"$ends $(kill -0 $pid && echo runs) $(json renewed.json "$all_verified")" ".................... runs True"
kill -KILL $pid; wait $pid 2>/dev/null

# Memory that it brings itself, and files that others open once it allows that: who waits
# for either while it stands still does so for ever.
"$HELP/faulted" 1 >/dev/null; can=$?
for mode in "" --no-patch; do
	[ $can != 77 ] || { skip "there is no userfaultfd(2) for us"; continue; }
	"$HELP/faulted" 300 1000 >faulted.txt & pid=$!
	sleep 0.2
	timeout -k 1 10 "$IOPS" attach -q $mode -d 0.3 -o /dev/null $pid; st=$?
	timeout -k 1 10 "$IOPS" attach -q $mode --json -o faulted.json $pid
	is "a program that brings its memory itself $mode" "$st $? $(json faulted.json 'j["run"]["lost"]')" "0 0 0"
	wait $pid
	is "... goes on $mode" "$? $(cat faulted.txt)" "0 900"
	"$HELP/faulted" 0 >faulted.txt & pid=$!
	sleep 0.2; ends=
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		timeout -k 1 10 "$IOPS" attach -q $mode -d 0.1 --json -o faulted.json $pid
		ends="$ends$?$(json faulted.json 'j["run"]["notes"]') "
	done
	is "... is let go soon, wherever it is $mode" "$ends$(kill -0 $pid && echo runs)" \
		"0[] 0[] 0[] 0[] 0[] 0[] 0[] 0[] 0[] 0[] 0[] 0[] runs"
	kill -KILL $pid; wait $pid 2>/dev/null
done
"$HELP/allows" 0 >/dev/null; can=$?
for mode in "" --no-patch; do
	[ $can != 77 ] || { skip "fanotify(7) asks nobody here"; continue; }
	"$HELP/allows" 1500 >allows.txt & pid=$!
	sleep 0.2
	timeout -k 1 10 "$IOPS" attach -q $mode -d 0.3 -o /dev/null $pid; st=$?
	timeout -k 1 10 "$IOPS" attach -q $mode --json -o allows.json $pid
	is "a program that allows others to open files $mode" "$st $? $(json allows.json "$all_verified")" "0 0 True"
	wait $pid
	is "... goes on $mode" "$? $(cat allows.txt)" "0 good"
	timeout -k 1 10 "$IOPS" run -q -e all $mode -o /dev/null -- "$HELP/allows" 300 >allows.txt
	is "... below a filter, too $mode" "$? $(cat allows.txt)" "0 good"
done
# Who is only told of them answers nobody: its code is changed as any other's, and then it
# makes many more calls in the same time.
if [ $can != 77 ]; then
	for told in "" told; do
		# shellcheck disable=SC2086
		"$HELP/allows" 900 $told >allows.txt & pid=$!
		sleep 0.2
		timeout -k 1 10 "$IOPS" attach -q --json -o "allows$told.json" $pid
		is "a program that is ${told:-asked} when files are opened" "$? $(json "allows$told.json" "$all_verified")" "0 True"
		wait $pid
	done
	asked=$(json allows.json 'j["total"]["all"]["operations"]')
	is "... whoever is asked does not keep it from being fast" \
		"$(json allowstold.json "j['total']['all']['operations'] > 3 * $asked")" True
fi

# An argument that lies where it may not read, by its own keys, says nothing about our memory.
"$HELP/keyed" 1 own >/dev/null; can=$?
if [ $can != 77 ]; then
	"$HELP/keyed" 100000000 own >/dev/null & pid=$!
	sleep 0.2; had=$(wc -l </proc/$pid/maps)
	timeout 10 "$IOPS" attach -q -d 0.5 --json -o keyed.json $pid
	is "a call whose argument is closed by the program's own keys" \
		"$(json keyed.json "j['run']['notes'], j['total']['all']['errors'] > 100, $all_verified") $(($(wc -l </proc/$pid/maps) - had))" "([], True, True) 0"
	kill -KILL $pid; wait $pid 2>/dev/null
else
	skip "there are no keys of memory here"
fi

# A thread that waits for its child of vfork(2) cannot stop; what it shares memory with goes
# on until it can, and is let go with it.
vforked() {	# child, other, ms, [seconds]: attached to until there is the child
	"$HELP/vforks" "$1" "$2" "$3" >vforks.txt & pid=$!
	while [ ! -s vforks.txt ]; do sleep 0.02; done
	sleep 0.1
	timeout 20 "$IOPS" attach -q -d "${4:-0.6}" --json -o vforks.json $pid; st=$?
	wait $pid
	echo "$st $? $(json vforks.json "j['run']['notes'], j['run']['lost'], $all_verified")"
}
for child in sleeps runs both; do
	is "beside a child of vfork(2) that $child for long" "$(vforked $child writes 1600)" "0 0 ([], 0, True)"
	longest=$(tail -n 1 vforks.txt)
	is "... what it shares memory with goes on" "$([ "$longest" -lt 800 ] || echo "$longest ms")" ""
done
for _ in 1 2 3; do # a busy machine may wake it late
	got=$(vforked sleeps waits 1600 0.7); longest=$(tail -n 1 vforks.txt)
	[ "$longest" -ge 560 ] || break
done
is "... what waits there" "$got" "0 0 ([], 0, True)"
is "... has waited once more for what was left" "$([ "$longest" -lt 560 ] || echo "$longest ms")" ""
"$HELP/vforks" sleeps writes 3000 >vforks.txt & pid=$!
while [ ! -s vforks.txt ]; do sleep 0.02; done
timeout 20 "$IOPS" attach -q -d 0.7 -o /dev/null $pid & tracer=$!
sleep 1; kill -STOP $pid; sleep 0.3; was=$(stat -c %s beats); sleep 1; is=$(stat -c %s beats)
kill -CONT $pid; wait $tracer; st=$?; wait $pid
is "... and is stopped by a signal meanwhile" "$((was > 100)) $((is - was)) $st $?" "1 0 0 0"

# What it is about a process that an attach may change for good.
lasting() { grep -E '^Sig(Blk|Ign|Cgt)|^Seccomp:|^TracerPid' "/proc/$1/status"; }
survive() {	# how, how often
	survived=0
	for _ in $(seq "$2"); do
		"$HELP/beside" "$1" >beside.txt & pid=$!
		while [ ! -s beside.txt ]; do sleep 0.05; done
		sleep 0.1
		was=$(lasting $pid)
		# On a busy machine it may not have its turn for so long.
		for long in 0.2 1 3; do
			rm -f beside.json
			timeout 10 "$IOPS" attach -q -d $long --json -o beside.json $pid
			[ "$(json beside.json 'j["total"]["all"]["operations"] > 10')" != True ] || break
		done
		sleep 0.1
		[ "$(lasting $pid) $(cat beside.txt)" = "$was begun" ] &&
			[ "$(json beside.json 'j["total"]["all"]["operations"] > 10 and j["run"]["complete"]')" = True ] &&
			survived=$((survived + 1))
		kill -KILL $pid
		wait $pid
	done 2>/dev/null
}
survive filtered 10
is "a thread under a filter beside one that is not, which has to take everything back" $survived 10
survive kin 8
is "processes in the same memory, which come and are killed: each has its handler back" $survived 8
survive blocked 8
is "who blocks all signals blocks all afterwards" $survived 8

# What is begun and cannot be ended is taken back, and does not stand in the way later.
cat >full.py <<'EOP'
import os, resource
zero = os.open("/dev/zero", os.O_RDONLY)
open("full.txt", "w").close()
resource.setrlimit(resource.RLIMIT_NOFILE, (zero + 1, 1024))
while True:
    os.read(zero, 1)
EOP
rm -f full.txt
python3 full.py & pid=$!
for _ in $(seq 100); do [ ! -e full.txt ] || break; sleep 0.05; done
sleep 0.1
places() { sed 's/ .*//' /proc/$pid/maps; }
before=$(places)
timeout 10 "$IOPS" attach -q -d 0.2 --json -o full.json $pid
is "no descriptor is free: all stops, and no page is left" \
	"$(json full.json 'j["run"]["fast_path"]["operations"], j["run"]["fast_path"]["stopped"] > 10, '"$all_verified") $(places)" "(0, True, True) $before"
prlimit --pid $pid --nofile=1024
timeout 10 "$IOPS" attach -q -d 0.2 --json -o full.json $pid
is "... and is attached to as ever once there are some" \
	"$(json full.json 'j["run"]["fast_path"]["operations"] > 10 * j["run"]["fast_path"]["stopped"]') $(places)" "True $before"
kill -KILL $pid; wait $pid 2>/dev/null

plan
