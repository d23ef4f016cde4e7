#!/bin/sh
# shellcheck disable=SC2016,SC2086
# What a new thread costs, and that it is none the worse for it: it is made by the hook, and
# its first operation is one like any other.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
PY=/usr/bin/python3

needs_fast_path

# One after the other, and beside each other; more than 200 of them have a filter in the end.
ops() {		# threads, at a time, operations of each; options
	threads=$1 at=$2 each=$3; shift 3
	"$IOPS" run "$@" --json -o f.json -- "$HELP/births" ops $threads $at $each
	json f.json "$verified"', sum(f["read"]["operations"] for f in j["by"]["file"] if f["path"] == "/dev/zero") == '$((threads * each))", j['run']['fast_path']['stopped'] $most"
}
most='<= 5'
is "100 threads, one after the other" "$(ops 100 1 1)" "(True, True, True)"
is "600 threads, one after the other" "$(ops 600 1 1)" "(True, True, True)"
is "600 threads, 16 at a time" "$(ops 600 16 3)" "(True, True, True)"
is "600 threads, all at once" "$(ops 600 600 2)" "(True, True, True)"
most='>= 600'
is "... that all stop" "$(ops 600 16 1 --no-patch)" "(True, True, True)"
"$IOPS" run -q --json -o f.json -- sh -c 'for i in 1 2 3 4 5 6; do /bin/true; done; "$1" ops 600 16 1' sh "$HELP/births"
is "... below a filter from the beginning" "$(json f.json "$verified"', j["run"]["fast_path"]["stopped"] < 60')" "(True, True)"

# Each tells of itself by one stop: its maker need not stop before. Without us it has none.
if [ "$("$IOPS" run -q -o /dev/null -- grep ^Seccomp: /proc/self/status | tr -d '\t')" = Seccomp:0 ]; then
	for made in 150 600; do
		stops=$(for _ in 1 2 3; do "$IOPS" run -q -o /dev/null -- "$HELP/births" waits $made; done | sort -n | tail -1)
		ok "$made threads stop who makes them $stops times" test "$stops" -le $((made + 60))
	done
else
	skip "calls cannot be dispatched before Linux 6.4"
	skip "calls cannot be dispatched before Linux 6.4"
fi

# What is of 32 bits cannot be dispatched: all its calls would stop, where there is no filter.
if runs births32; then
	stops=$("$IOPS" run -q -o /dev/null -- "$HELP/births32" waits 100)
	ok "100 threads of 32 bits stop who makes them $stops times" test "$stops" -le 400
	# By the program that is run, not by what has its name here.
	cp "$HELP/births32" grep
	is "... but not what is only named like one" "$(env -u PATH "$IOPS" run -q -o /dev/null -- grep -c nothing /dev/null) $(env -u PATH "$IOPS" run -q -o /dev/null -- grep ^Seccomp: /proc/self/status)" "0 $("$IOPS" run -q -o /dev/null -- /bin/grep ^Seccomp: /proc/self/status)"
	rm grep
else
	skip "$why"
	skip "$why"
fi

# Both sides find behind the call what the kernel leaves there.
odd=$("$HELP/births" odd)
for mode in default "--patch-after 1" --no-patch; do
	options=$mode; [ "$mode" != default ] || options=
	for us in 0 50 300; do
		is "registers of maker and thread, $mode, a signal each $us us" "$("$IOPS" run $options -q --json -o f.json -- "$HELP/births" regs 250 $us) $(json f.json "$verified")" "0 wrong, signals: $((us > 0)) True"
	done
	is "what cannot be made says so, $mode" "$("$IOPS" run $options -q -o /dev/null -- "$HELP/births" odd)" "$odd"
done

# Programs that are run by several threads while one of these has the filter put there.
loads='sum(f["read"]["operations"] for f in j["by"]["file"] if f["path"].endswith("/libc.so.6"))'
"$IOPS" run -q --json -o f.json -- /bin/true; each=$(json f.json "$loads")
for mode in default "--patch-after 1" --no-patch; do
	options=$mode; [ "$mode" != default ] || options=
	all=
	for _ in 1 2 3 4 5 6 7 8; do
		"$IOPS" run $options -q --json -o f.json -- "$HELP/births" spawns 16 5
		all="$all$(json f.json "($verified, $loads) == (True, 81 * $each)") "
	done
	is "threads that run programs, $mode" "$all" "True True True True True True True True "
done
# The first thread of the command is in a call as its memory gets a filter.
for run in "" env; do
	is "a write goes on while another thread makes calls ${run:+(by $run)}" "$("$IOPS" run -q -o /dev/null -- $run "$HELP/births" strays)" 1048576
done

# What has threads forks, its child has some, and one of those runs a program.
cat >forks.py <<'EOP'
import os, sys, threading, time
def reads(n):
    with open("/dev/zero", "rb", 0) as f:
        for _ in range(n): f.read(1)
def threads(n):
    ts = [threading.Thread(target=reads, args=(5,)) for _ in range(n)]
    [t.start() for t in ts]; [t.join() for t in ts]
threads(20)
for i in range(8):
    stays = threading.Event()
    other = threading.Thread(target=stays.wait)
    if i % 2: other.start()
    pid = os.fork()
    if not pid:
        threads(20)
        run = threading.Thread(target=os.execv, args=("/bin/dd", ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=5", "status=none"]))
        run.start(); time.sleep(10); os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    stays.set()
    if i % 2: other.join()
EOP
is "what has threads forks what has threads" "$("$IOPS" run -q --json -o f.json -- $PY forks.py; echo $? "$(json f.json "$verified"', sum(f["read"]["operations"] for f in j["by"]["file"] if f["path"] == "/dev/zero")')")" "0 (True, 940)"

# Its group stops and goes on, or is killed, in the middle of it.
cat >stops.py <<'EOP'
import os, signal, subprocess, sys, time
left = 0
for i in range(int(sys.argv[1])):
    p = subprocess.Popen(sys.argv[2:])
    until = time.monotonic() + 0.15
    while time.monotonic() < until and i % 2:
        os.kill(p.pid, signal.SIGSTOP); time.sleep(0.0007)
        os.kill(p.pid, signal.SIGCONT); time.sleep(0.0013)
    if not i % 2:
        time.sleep(0.02 + i * 0.003); p.kill()
    left += p.wait() != (-9 if not i % 2 else 0)
print(left)
EOP
is "stopped, and killed, as it makes threads" "$("$IOPS" run -q --json -o f.json -- $PY stops.py 10 "$HELP/births" ops 1500 4 2; json f.json "$verified")" "0
True"
plan
