#!/bin/sh
# shellcheck disable=SC2086,SC2016
# Running processes are seen, and go on unharmed.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

cat >busy.py <<'EOF'
# Threads that write what only they know, under a timer, and count what goes wrong.
import os, signal, sys, threading, time
hits = [0]
def hit(*_): hits[0] += 1
signal.signal(signal.SIGALRM, hit)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
end = time.time() + float(sys.argv[1])
r, w = os.pipe()
bad = []
def pump(i):
    fd = os.open("out%d" % i, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    n = 0
    while time.time() < end:
        if os.write(fd, b"x" * 100) != 100: bad.append("short write")
        n += 1
        if os.pread(fd, 100, 0) != b"x" * 100: bad.append("wrong data")
        time.sleep(0.0005)
    if os.fstat(fd).st_size != 100 * n: bad.append("size")
ts = [threading.Thread(target=pump, args=(i,)) for i in range(6)]
[t.start() for t in ts]
open("ready", "w").write("x")
while time.time() < end: time.sleep(0.01)
[t.join() for t in ts]
print("bad", len(bad), bad[:3], "alarms", hits[0] > 100)
EOF
PY=/usr/bin/python3
wait_ready() { while [ ! -s ready ]; do sleep 0.05; done; rm -f ready; }

$PY busy.py 2 >out.txt & pid=$!; wait_ready
status "--duration" 0 timeout 10 "$IOPS" attach -d 0.5 -o a.json $pid
is "all threads are verified" "$(json a.json 'j["run"]["verified"]')" "{'threads': 7, 'matched': 7, 'unchecked': 0}"
is "all six files have reads and writes" \
	"$(json a.json 'sum(f["read"]["operations"] > 20 and f["write"]["operations"] > 20 and "/out" in f["path"] for f in j["by"]["file"])')" 6
is "elapsed is the time attached" "$(json a.json '0.4e9 < j["run"]["elapsed_ns"] < 1.5e9')" True
status "a second time, to the end" 0 timeout 10 "$IOPS" attach -o b.json $pid
wait $pid
is "the program did not notice" "$(cat out.txt)" "bad 0 [] alarms True"

$PY busy.py 20 >out.txt & pid=$!; wait_ready
i=0; while [ $i -lt "${TIMES:-40}" ]; do timeout 10 "$IOPS" attach -q -d 0.02 -o c.json $pid || break; i=$((i + 1)); done
is "attach and detach again and again" $i "${TIMES:-40}"
is "... it is not left stopped or traced" "$(ps -o stat= -p $pid | grep -c '^[tT]'); $(grep TracerPid /proc/$pid/status | cut -f2)" "0; 0"
"$IOPS" attach -o d.json $pid & tracer=$!
sleep 0.5; kill -INT $tracer; wait $tracer
is "SIGINT detaches and reports" "$? $(json d.json 'j["total"]["write"]["operations"] > 50')" "0 True"
"$IOPS" attach -o d.json $pid & tracer=$!
sleep 0.5; kill -KILL $tracer; sleep 0.5
is "kill -9 of iops leaves it running" "$(grep TracerPid /proc/$pid/status | cut -f2) $(grep -c '[tT] (' /proc/$pid/status)" "0 0"
"$IOPS" attach -o d.json $pid & tracer=$!
sleep 0.3; pkill -KILL -P $tracer; wait $tracer
is "kill -9 of the tracer too" "$? $(grep TracerPid /proc/$pid/status | cut -f2)" "1 0"
$PY -c 'import time, sys
for i in range(40): sys.stdout.write("x"); sys.stdout.flush(); time.sleep(0.05)' >two.txt & other=$!
sleep 0.2
"$IOPS" attach -d 0.5 --by process -o e.json $pid $other
is "two processes" "$(json e.json 'sorted(p["pid"] for p in j["by"]["process"] if p["write"]["operations"])')" \
	"$(printf '%s\n' $pid $other | sort -n | paste -sd, | sed 's/,/, /; s/.*/[&]/')"
kill $pid $other 2>/dev/null; wait

sh -c 'while :; do sh -c "echo x >>forks; exit 0"; done' & pid=$!
sleep 0.2; "$IOPS" attach -d 0.5 -o f.json $pid
is "a program that forks all the time" "$(json f.json 'j["total"]["write"]["operations"] > 5, j["run"]["verified"]["threads"] == j["run"]["verified"]["matched"]')" "(True, True)"
sleep 0.2; before=$(wc -c <forks); sleep 0.3
ok "... goes on" test "$(wc -c <forks)" -gt "$before"
kill -9 $pid; wait $pid 2>/dev/null

sleep 3 & pid=$!
kill -STOP $pid; sleep 0.1; "$IOPS" attach -q -d 0.2 -o g $pid
is "a stopped process stays stopped" "$(ps -o stat= -p $pid | cut -c1)" T
kill -CONT $pid; sleep 0.1
is "... and can be continued" "$(ps -o stat= -p $pid | cut -c1)" S
strace -o /dev/null -p $pid 2>/dev/null & tracer=$!; sleep 0.3
ok "a traced process is refused, by name of its tracer" sh -c '"$0" attach -d 0.2 "$1" 2>&1 | grep -q "already traced by process $2"' "$IOPS" $pid $tracer
is "... so that counters are what is left" "$("$IOPS" attach -d 0.2 --json -o i.json $pid 2>/dev/null; echo $?; json i.json 'j["run"]["backend"], "ptrace is not allowed" in j["run"]["backend_reason"]')" "0
('proc', True)"
kill $tracer; kill $pid; wait 2>/dev/null
status "no such process" 1 "$IOPS" attach -d 0.2 4000000
# Whoever has ended and is not waited for yet, at once or while we are about to begin: its
# end is not awaited a second time.
cat >zombie.py <<'EOF'
import os, sys, time
for after in sys.argv[1:]:
    if not (pid := os.fork()):
        time.sleep(float(after))
        os._exit(0)
    print(pid, flush=True)
time.sleep(600)
EOF
rm -f zombie.txt; $PY zombie.py 0 >zombie.txt & pid=$!
until [ -s zombie.txt ] && grep -qs '^State:.Z' "/proc/$(cat zombie.txt)/status"; do sleep 0.05; done
for backend in auto proc $BPFMODE; do
	status "a zombie: $backend" 1 timeout 20 "$IOPS" attach --backend="${backend#*=}" "$(cat zombie.txt)"
	ok "... is said to be one" grep -q "cannot attach to $(cat zombie.txt): it has ended and waits for its parent (a zombie)" status.out
done
kill $pid; wait $pid 2>/dev/null
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ] && [ "$(id -u)" = 0 ]; then
	status "a thread of the kernel" 1 timeout 20 "$IOPS" attach --backend=ptrace 2
	ok "... is said to be one" grep -q "cannot attach to 2: it is a thread of the kernel" status.out
else
	skip "no thread of the kernel is to be seen here"
fi
for backend in auto proc $BPFMODE; do
	for after in 0.05 0.1 0.2 0.4 0.6; do
		rm -f zombie.txt; $PY zombie.py $after >zombie.txt & pid=$!
		until [ -s zombie.txt ]; do sleep 0.02; done
		timeout 20 "$IOPS" attach -q --backend="${backend#*=}" "$(cat zombie.txt)" 2>/dev/null
		r=$?
		kill $pid; wait $pid 2>/dev/null
		[ $r -le 1 ] || break
	done
	is "one that becomes one: $backend" "$r $after" "0 0.6"
done
$PY -c 'import threading, time
def f():
    print(threading.get_native_id(), flush=True)
    while 1: open("/dev/null").close(); time.sleep(0.01)
threading.Thread(target=f).start()' >tid.txt & pid=$!
until [ -s tid.txt ]; do sleep 0.05; done
for backend in auto $BPFMODE; do
	"$IOPS" attach --backend="${backend#*=}" -d 0.5 -e meta --json -o tid.json "$(cat tid.txt)" $pid
	is "a thread stands for its process: $backend" "$(json tid.json '[p["pid"] for p in j["by"]["process"]], j["total"]["meta"]["operations"] > 5')" "([$pid], True)"
done
kill $pid; wait $pid 2>/dev/null
status "not a process id" 2 "$IOPS" attach x
status "no process id" 2 "$IOPS" attach

# Calls that a stop would end with EINTR, in a program that would tell.
$PY -c 'import select, socket, time
open("ready", "w").write("x")
e = select.epoll(); s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("sock"); e.register(s)
s2 = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s2.bind("sock2")
import struct, ctypes
libc = ctypes.CDLL(None, use_errno=True)
s2.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 2, 0))
b = ctypes.create_string_buffer(10)
r = libc.recv(s2.fileno(), b, 10, 0)
print(r, ctypes.get_errno())' >eintr.txt & pid=$!; wait_ready
for i in 1 2 3; do "$IOPS" attach -q -d 0.1 -o h $pid; done
wait $pid
is "no call ends with EINTR on our account" "$(cat eintr.txt)" "-1 11"

# What a task that ends before its first stop had done before is not ours.
"$HELP/leaver" >leaver.txt & pid=$!
until [ -s leaver.txt ]; do sleep 0.05; done
"$IOPS" attach --json -o leaver.json $pid
wait $pid
is "a thread that ends before its first stop" "$(json leaver.json 'j["run"]["verified"]["threads"] == j["run"]["verified"]["matched"] + j["run"]["verified"]["unchecked"], j["ledger"]["rchar"], j["run"]["complete"]')" "(True, 0, True)"

# Threads of the kernel's own, which never run anything of the program.
if "$HELP/workers" 0 >/dev/null 2>&1; then
	for opt in --no-patch --patch-after=40; do
		rm -f workers.txt; "$HELP/workers" 4 >workers.txt & pid=$!
		until [ -s workers.txt ]; do sleep 0.05; done
		for _ in 1 2 3; do timeout -s KILL 20 "$IOPS" attach $opt -d 0.3 --json -o workers.json $pid || echo "status $?"; done >attach.txt 2>&1
		wait $pid
		is "threads of io_uring, $opt" "$? $(tail -n 1 workers.txt)$(cat attach.txt) $(json workers.json '(j["run"]["verified"]["threads"], j["total"]["write"]["operations"] > 20,
			j["run"]["complete"], [n["note"] for n in j["run"]["notes"]])')" "0 0 (1, True, False, ['io_uring'])"
	done
else
	skip "io_uring does not work here"; skip "... nor without patches"
fi

# Asked to end as soon as there is a tracer: it reports.
sleep 60 & pid=$!
n_told=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
	rm -f soon.json
	"$IOPS" attach --json -o soon.json $pid 2>soon.txt & front=$!
	i=0; until grep -q . /proc/$front/task/$front/children || [ $i = 5000 ]; do i=$((i + 1)); done
	kill -TERM $front
	wait $front && [ "$(json soon.json 'j["run"]["complete"]')" = True ] && n_told=$((n_told + 1))
done
kill $pid; wait $pid 2>/dev/null
is "an end that is asked for at once" "$n_told$(cat soon.txt)" 10

# What its own filter answers, or a supervisor, in place of the kernel was not done.
matched='j["run"]["verified"]["threads"] == j["run"]["verified"]["matched"] > 0, j["run"]["complete"]'
"$HELP/notified" 1; can=$?
for opt in --no-patch --patch-after=40; do
	for later in "" later; do
		rm -f judged.json; "$HELP/judged" 1500 $later >judged.txt & pid=$!
		sleep 0.3
		timeout 20 "$IOPS" attach $opt -d 0.9 --json -o judged.json $pid
		wait $pid
		is "calls that a filter answers by SIGSYS, $opt $later" "$? $(cat judged.txt) $(json judged.json "$matched")" "0 good (True, True)"
	done
	if [ $can = 2 ]; then skip "there are no supervisors here"; continue; fi
	rm -f judged.json; "$HELP/notified" 9000000 answers & pid=$!
	until child=$(pgrep -P $pid) || ! kill -0 $pid; do sleep 0.02; done
	sleep 0.2
	timeout 20 "$IOPS" attach $opt -d 0.5 --json -o judged.json $pid $child
	is "... and a supervisor, $opt" "$? $(json judged.json "$matched, j['total']['read']['operations'] > 10")" "0 (True, True, True)"
	kill $pid $child; wait $pid 2>/dev/null
done
# Who is traced by somebody else is not one of those that the report is about.
sleep 20 & pid=$!
"$IOPS" attach -q -o /dev/null $pid & other=$!
while grep -q '^TracerPid:.0' /proc/$pid/status; do sleep 0.05; done
sh -c 'while :; do sleep 0.01; done' & two=$!
"$IOPS" attach -d 0.2 --json -o two.json $pid $two 2>said.txt
is "one that cannot be attached to is told, and left out" "$? $(grep -c "cannot attach to $pid: already traced" said.txt) $(json two.json 'j["run"]["pids"]')" "0 1 [$two]"
kill $two; kill -INT $other; wait $other; kill $pid
# The log is closed before the report is written.
sleep 5 & pid=$!
"$IOPS" attach --json -o now.json -l now.iops -d 0.2 $pid; kill $pid
is "the log tells the same time" "$("$IOPS" report --json now.iops | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["run"]["elapsed_ns"])')" "$(json now.json 'j["run"]["elapsed_ns"]')"
# A reader that does not read.
for sig in TERM INT HUP; do
	sh -c 'while :; do cat /etc/passwd; sleep 0.01; done' >/dev/null & pid=$!
	is "a report that nobody reads, and SIG$sig" "$(/usr/bin/python3 "$ROOT/tests/unread.py" SIG$sig "$IOPS" attach --json -o - -l unread.iops -d 0.3 $pid) $(awk '/^TracerPid/ { print $2 }' /proc/$pid/status)" \
		"1 True iops: nobody read the report, and it was given up; the processes go on 0"
	status "... the log is whole" 0 "$IOPS" report unread.iops
	kill $pid; wait $pid
done
plan
