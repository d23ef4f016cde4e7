#!/bin/sh
# shellcheck disable=SC2086
# Attached to in the middle of what makes and ends threads.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

whole='j["run"]["complete"] and j["run"]["verified"]["threads"] == j["run"]["verified"]["matched"]'

# A thread that is being made meanwhile is ours as well, and does not run into breakpoints
# that nobody answers for.
for mode in "" --patch-after=1 --no-patch; do
	"$HELP/inclone" >inclone.txt & pid=$!
	while [ ! -s inclone.txt ]; do sleep 0.05; done
	if grep -q cannot inclone.txt; then skip "needs userfaultfd(2)"; continue; fi
	timeout -s KILL 30 "$IOPS" attach -q $mode --json -o a.json $pid & tracer=$!
	wait $pid; status=$?
	wait $tracer
	is "a thread in the making${mode:+, $mode}" "$? $status $(tail -n 1 inclone.txt | grep -c '^[1-9][0-9]*$')" "0 0 1"
	is "... is counted" "$(json a.json "$whole"', j["run"]["verified"]["threads"]')" "(True, 3)"
done

# Who becomes another program waits for threads that wait for us, and we for it.
for mode in "" --patch-after=1 --no-patch; do
	"$HELP/execs" & pid=$!
	i=0; while [ $i -lt "${TIMES:-20}" ]; do
		timeout -s KILL 20 "$IOPS" attach -q $mode -d 0.05 --json -o b.json $pid 2>b.err || { got="status $? $(cat b.err)"; break; }
		got="$(json b.json 'j["run"]["backend"], j["run"]["complete"], j["run"]["verified"]["threads"] - j["run"]["verified"]["matched"]')$(cat b.err)"
		[ "$got" = "('ptrace', True, 0)" ] || break
		kill -0 $pid || { got=ended; break; }
		i=$((i + 1))
	done
	is "execve(2) by threads, again and again${mode:+, $mode}" "$i $got" "${TIMES:-20} ('ptrace', True, 0)"
	kill $pid
	{ wait $pid; } 2>/dev/null
	is "... of which it knows nothing" $? 143
done

# Nor of how a wait goes on that our stops have interrupted: its filter knows no
# restart_syscall(2), and kills.
for mode in "" --no-patch; do
	[ "$(uname -m)" = x86_64 ] || break
	/usr/bin/python3 -c '
import ctypes, struct
nr = 219 # restart_syscall
code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, nr, 6, 0, 0, 0x80000000, 6, 0, 0, 0x7fff0000)
held = ctypes.create_string_buffer(code)
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, struct.pack("HxxxxxxP", 4, ctypes.addressof(held))) == 0
print("ready", flush=True)
for i in range(15): libc.poll(None, 0, 200)
print("good")' >waits.txt & pid=$!
	while [ ! -s waits.txt ]; do sleep 0.05; done
	for _ in 1 2 3 4 5; do timeout -s KILL 20 "$IOPS" attach -q $mode -d 0.1 -o /dev/null $pid || break; done
	wait $pid
	is "a wait below a filter of its own${mode:+, $mode}" "$? $(tail -n 1 waits.txt)" "0 good"
done

# Sections that begin anew when somebody else had the CPU: rseq(2).
"$HELP/rseqs" 4 6 >rseqs.txt & pid=$!
while [ ! -s rseqs.txt ]; do sleep 0.05; done
if grep -q none rseqs.txt; then
	skip "no rseq(2) here"
else
	times=0
	while [ $times -lt 20 ] && timeout -s KILL 20 "$IOPS" attach -q -d 0.02 -o /dev/null $pid; do times=$((times + 1)); done 2>/dev/null
	wait $pid
	is "sections of rseq(2) are left as by any stop" "$? $(tail -n 1 rseqs.txt) $((times > 2))" "0 good 1"
fi

# A wait that was begun anew for us ends by an exec of another thread: what is run knows
# nothing of it.
/usr/bin/python3 -c '
import os, select, threading, time
def execs():
    while "TracerPid:\t0\n" in open("/proc/self/status").read(): time.sleep(0.05)
    time.sleep(1)
    os.execvp("dd", ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=20000", "status=none"])
print("ready", flush=True)
threading.Thread(target=execs).start()
select.epoll().poll(60)' >execs.txt & pid=$!
while [ ! -s execs.txt ]; do sleep 0.05; done
sleep 0.3
timeout -s KILL 60 "$IOPS" attach --json -o f.json $pid; wait $pid
is "an exec out of a wait" "$? $(json f.json 'j["total"]["read"]["operations"] >= 20000, j["run"]["fast_path"]["status"] != "on" or j["run"]["fast_path"]["stopped"] < 1000')" "0 (True, True)"

# Whose front end is killed just as it has made the tracer is let go.
sleep 60 & pid=$!
for ms in 01 02 03 04 05 06 07 08 09 12 15 18 21 25 30; do
	"$IOPS" attach -q -o /dev/null $pid & front=$!
	sleep 0.0$ms
	kill -KILL $front
	{ wait $front; } 2>/dev/null
done
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	grep -q '^TracerPid:.0' /proc/$pid/status && ! pgrep -f "attach -q -o /dev/null $pid\$" >/dev/null && break
	sleep 0.2
done
is "a front end that is killed at its start" "$(sed -n 's/TracerPid:.//p' /proc/$pid/status) $(pgrep -f "attach -q -o /dev/null $pid\$")" "0 "
kill $pid

plan
