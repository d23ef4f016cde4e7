#!/bin/sh
# shellcheck disable=SC2086,SC2016
# Where ptrace is not allowed, counters; and the doctor knows.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

m="$HELP/mkio"
"$IOPS" run -b proc --json -o p.json -- "$m" -o want.json 'write f 4096*100' 'read f 512*80' 'spawn 3' 'fork 3'
is "proc counts operations and bytes of the whole tree, once" \
	"$(json p.json '(j["total"]["write"]["operations"], j["total"]["write"]["bytes"])')" \
	"$(json want.json '(j["write"]["operations"], j["write"]["bytes"])')"
# The kernel's reading of a program, at exec, is among the reads of its counters.
is "... and reads" "$(json p.json '[0 <= j["total"]["read"]["operations"] - w["operations"] < 20 and 0 <= j["total"]["read"]["bytes"] - w["bytes"] < 20000 for w in [json.load(open("want.json"))["read"]]]')" "[True]"
is "... and says what it is" "$(json p.json 'j["run"]["backend"], j["run"]["complete"], "counters only" in j["run"]["backend_reason"]')" "('proc', False, True)"
is "... without latencies" "$(json p.json '"latency_ns" in j["total"]["all"]')" False
status "... with the command's status" 5 "$IOPS" run -b proc -o p sh -c 'exit 5'
"$IOPS" run -b system --json -o s.json -- sh -c 'dd if=/dev/zero of=big bs=1M count=8 conv=fsync 2>/dev/null'
is "system counts what the disks did" "$(json s.json 'j["run"]["backend"], j["run"]["complete"]')" "('system', False)"
ok "... and says that it is the whole machine" sh -c '"$0" run -b system -o - true | grep -q "the whole machine"' "$IOPS"
# A tracer already: the command of an inner iops cannot be traced by it.
"$IOPS" run -q -o outer -- "$IOPS" run --json -o inner.json -- cat /etc/passwd >/dev/null
is "auto falls back to proc, and says why" "$(json inner.json 'j["run"]["backend"], "ptrace is not allowed" in j["run"]["backend_reason"], j["total"]["read"]["bytes"] > 0')" "('proc', True, True)"
fails "-b ptrace insists" "$IOPS" run -q -o outer -- "$IOPS" run -b ptrace -o x -- true
is "IOPS_BACKEND" "$(IOPS_BACKEND=proc "$IOPS" run --json -o - true 2>/dev/null >e.json; json e.json 'j["run"]["backend"]')" proc
status "... that there is none of" 2 env IOPS_BACKEND=prok "$IOPS" run -o - true
is "... is told" "$(cat status.out)" "iops: IOPS_BACKEND prok: auto, ptrace, bpf, proc, system and blktrace are known; 'iops help run' tells more"
status "... unless another one is asked for" 0 env IOPS_BACKEND=prok "$IOPS" run -b proc -q -o - true
is "doctor" "$("$IOPS" doctor --json >d.json; echo $?; json d.json 'sorted(b["name"] for b in j["backends"] if b["status"] in ("works", "limited", "no"))')" "0
['blktrace', 'bpf', 'fast path', 'mount', 'proc', 'ptrace attach', 'ptrace run', 'system']"
status "doctor has no rows for csv" 2 "$IOPS" doctor -f csv
ok "doctor as a table" sh -c '"$0" doctor | grep -q "^ptrace run .*works"' "$IOPS"
sleep 2 & pid=$!
"$IOPS" attach -b proc -d 0.2 --json -o a.json $pid
is "attach by counters" "$(json a.json 'j["run"]["backend"]')" proc
kill $pid

# Programs that use what is not counted yet are named.
cat >uring.py <<'EOF'
import ctypes
import sys
p = (ctypes.c_uint32 * 30)()
p[2] = int(sys.argv[1]) # IORING_SETUP_...
r = ctypes.CDLL(None).syscall(425, 4, p)
print(r >= 0)
EOF
if [ "$(/usr/bin/python3 uring.py 2)" = True ]; then
	"$IOPS" run --json -o u.json -- /usr/bin/python3 uring.py 2 >/dev/null
	is "io_uring with a thread of the kernel's is named" "$(json u.json 'j["run"]["notes"], j["run"]["complete"]')" "([{'note': 'io_uring', 'processes': 1}], False)"
	"$IOPS" run --json -o u.json -- /usr/bin/python3 uring.py 0 >/dev/null
	is "... without it is not, as it is seen" "$(json u.json 'j["run"]["notes"], j["run"]["complete"]')" "([], True)"
else
	skip "io_uring is not allowed here"
fi
"$IOPS" run --json -o a.json -- /usr/bin/python3 -c 'import ctypes, os; c = ctypes.c_ulong(0); ctypes.CDLL(None).syscall(206 if os.uname().machine == "x86_64" else 0, 1, ctypes.byref(c))'
is "aio is not, as it is seen" "$(json a.json 'j["run"]["notes"], j["run"]["complete"]')" "([], True)"
if [ "$(uname -m)" = x86_64 ]; then
	for mode in '' --no-filter; do
		"$IOPS" run --json $mode -o x.json -- /usr/bin/python3 -c 'import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 39)'
		is "a call of x32 is named, known to the kernel or not $mode" "$(json x.json '[n["note"] for n in j["run"]["notes"]], j["run"]["complete"]')" "(['unknown ABI'], False)"
		"$IOPS" run --json $mode -o x.json -- /usr/bin/python3 -c 'import ctypes; [ctypes.CDLL(None).syscall(n) for n in (39, 511, 0x3fffffff, -1, -2**31)]'
		is "... what is no call is not $mode" "$(json x.json 'j["run"]["notes"], j["run"]["complete"]')" "([], True)"
	done
else
	skip "no x32 here"
fi
if [ "$(id -u)" = 0 ]; then
	cp "$IOPS" iops; chmod 755 . iops; cp /usr/bin/id suid; chmod 4755 suid
	nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	is "a set-uid program below the command keeps its rights with --no-filter" \
		"$($nobody ./iops run --no-filter --json -o - -- sh -c './suid -u >&2; :' 2>&1 >suid.json | tail -1)" 0
	is "... and is said to be left alone" "$(json suid.json '[n["note"] for n in j["run"]["notes"]]')" "['handed over']"
	is "... else it is said to have lost them" "$($nobody ./iops run --json -o - -- sh -c './suid -u >&2; :' 2>/dev/null >suid.json; json suid.json '[n["note"] for n in j["run"]["notes"]]')" "['setuid']"
	is "a set-uid command itself keeps them" "$($nobody ./iops run -q -o - -- ./suid -u 2>&1 | grep -c '^0$')" 1
	is "root's tree keeps them anyway" "$(./iops run -q -o /dev/null -- $nobody ./suid -u)" 0
else
	skip "needs root to make a set-uid program"
fi
status "who cannot tell when all have ended is not asked to wait for it" 2 "$IOPS" run --wait -b proc -- true
plan
