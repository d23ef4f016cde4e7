#!/bin/sh
# shellcheck disable=SC2086,SC2016
# A log says what the report of the run said, whatever happens to it; TIMES=10 does more.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
export LC_ALL=C.UTF-8 GLIBC_TUNABLES=glibc.malloc.arena_max=1
TIMES=${TIMES:-1}
all=file,dir,type,process,thread,command,call,kind,device,mount,error,host

# The report of the log with the same options is the report of the run.
agree() {
	title=$1 opts=$2; shift 2
	rm -rf d; mkdir d
	(cd d && "$IOPS" run $opts -l ../x.iops -o ../a.out -- "$@" >/dev/null 2>&1 </dev/null)
	"$IOPS" report $opts -o b.out x.iops 2>err.txt || echo "status $?" >>err.txt
	grep -v '"reported_at"' a.out >a.txt; grep -v '"reported_at"' b.out >b.txt
	is "$title, ${opts:-table}: the log is whole" "$(cat err.txt)" ""
	ok "... and says the same" sh -c '[ -s a.txt ] && diff a.txt b.txt'
}

printf '#include <stdio.h>\nint main(void) { return puts("x") < 0; }\n' >m.c
seq 60000 | sort -R --random-source=m.c >numbers
cat >threads.py <<'EOP'
import os, threading
def f(i):
    with open(str(i), "wb") as o: o.write(b"x" * 1000 * i)
    with open(str(i), "rb") as o: o.read()
t = [threading.Thread(target=f, args=(i,)) for i in range(12)]
[x.start() for x in t]; [x.join() for x in t]
open(b"n\xff\xfe", "wb").write(b"y")
os.truncate("3", 10)
EOP
(for i in $(seq 300); do echo "insert into t values($i, 'row $i');"; done) >inserts
work() {	# options
	agree "cp -r" "$1" cp -r /usr/include/asm-generic c
	agree "tar | gzip" "$1" sh -c 'tar cf - /usr/include/asm-generic 2>/dev/null | gzip -1 >t.gz'
	agree "sqlite3" "$1" sh -c 'sqlite3 db "create table t(a, b)"; sqlite3 db <../inserts'
	agree "git" "$1" sh -c 'git init -q r; cd r; seq 999 >f; git add f; git -c user.name=a -c user.email=b commit -qm x; git log; git clone -q . ../s'
	agree "python3 with threads" "$1" /usr/bin/python3 -B ../threads.py
	agree "gcc" "$1" gcc -c ../m.c
	agree "sort --parallel" "$1" sort --parallel=2 -S 200k ../numbers -o out
	agree "dd" "$1" dd if=/dev/zero of=x bs=4096 count=200 conv=fsync
	agree "find | grep" "$1" sh -c 'find /usr/include/linux -name "*.h" | grep -c a'
	agree "xz" "$1" sh -c 'xz -1 -T2 -c ../numbers >n.xz'
	agree "failing and killed children" "$1" sh -c 'cat nosuch; sh -c "kill -9 \$\$"; (exit 7); ls / | head -1; kill -TERM $$'
}
work --json
more="|-H|--by $all|--by $all -f csv|--json -e all --by $all|--json -P *.h|-e sync,meta --by call,error -v|--type pipe --by process"
OLDIFS=$IFS; IFS='|'; set -f
for opts in $more; do
	IFS=$OLDIFS; set +f
	agree "mkio" "$opts" "$HELP/mkio" -t 2 'write f%t.h 100*9' 'read f%t.h 64*9' 'sendfile f0.h g 100*3' 'pipe 10*3' \
		'mmsg 10*4' 'pipe_again 2' 'tee 10*2' 'openfail 2' 'fsync f0.h 2'
	set -f
done
IFS=$OLDIFS; set +f
agree "shell" "--by $all" sh -c 'ls /usr/include | sort | head -3; cat nosuch'

"$HELP/loop" idle 2000000 0 >/dev/null & pid=$!
"$IOPS" attach -d 0.5 --json -l at.iops -o a.out $pid; kill -PIPE $pid
"$IOPS" report --json -o b.out at.iops
is "attach: the log says the same" "$(grep -v reported_at a.out | cksum)" "$(grep -v reported_at b.out | cksum)"

m="$HELP/mkio"
"$IOPS" run -q -o p1.txt -l - -- "$m" -o w 'write f 100*30' 'read f 64*9' | "$IOPS" report -q - >p2.txt
ok "through a pipe" cmp p1.txt p2.txt
"$IOPS" run -q -o p1.txt -l - -- "$m" -o w 'write f 100*3' | cat | "$IOPS" report -q -l copy.iops -o p2.txt -
ok "... and kept on the way" sh -c 'cmp p1.txt p2.txt && "$0" report -q copy.iops | cmp p1.txt -' "$IOPS"

# Killed at any moment, all but the last second is there.
cat >kill.py <<'EOP'
import json, mmap, os, random, signal, struct, subprocess, sys, time
iops, who, seed = sys.argv[1:]
random.seed(int(seed))
work = '''
import mmap, os, struct, time
m = mmap.mmap(os.open("count", os.O_RDWR), 8)
fd = os.open("counted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
n, end = 0, time.monotonic() + 4
while time.monotonic() < end:
    os.write(fd, b"x"); n += 1
    struct.pack_into("q", m, 0, n)
    if n % 100 == 0: time.sleep(0.01)
'''
open("count", "wb").write(b"\0" * 8)
fd = os.open("count", os.O_RDONLY)
m = mmap.mmap(fd, 8, prot=mmap.PROT_READ)
p = subprocess.Popen([iops, "run", "-q", "-o", "k.txt", "-l", "k.iops", "--", "/usr/bin/python3", "-c", work])
children = lambda pid: [int(x) for x in open(f"/proc/{pid}/task/{pid}/children").read().split()]
is_iops = lambda pid: os.readlink(f"/proc/{pid}/exe") == os.path.realpath(iops)
samples, end = [], time.monotonic() + random.uniform(0.2, 2.6)
while time.monotonic() < end:
    samples.append((time.monotonic(), struct.unpack_from("q", m)[0]))
    time.sleep(0.02)
tracer = [c for c in children(p.pid) if is_iops(c)]
victims = {"tracer": tracer, "front": [p.pid], "both": [p.pid] + tracer}[who]
for v in victims: os.kill(v, signal.SIGKILL)
at = time.monotonic()
p.wait()
time.sleep(0.1)
for d in os.listdir("/proc"):
    try:
        if d.isdigit() and os.getcwd() == os.readlink(f"/proc/{d}/cwd") and os.readlink(f"/proc/{d}/exe").startswith("/usr/bin/python3") and int(d) != os.getpid():
            os.kill(int(d), signal.SIGKILL)
    except OSError: pass
time.sleep(0.2)
done = struct.unpack_from("q", m)[0]
r = subprocess.run([iops, "report", "--json", "k.iops"], capture_output=True)
safe = max([n for t, n in samples if t < at - 1.2], default=0)
seen = 0
if r.stdout:
    j = json.loads(r.stdout)
    seen = sum(f["write"]["operations"] for f in j["by"]["file"] if f["path"].endswith("/counted"))
# The last one may have been written, and the program killed before it counted that.
good = safe <= seen <= done + 1 and r.returncode >= 0 and \
    (r.returncode == 3 and b"no end" in r.stderr or
     r.returncode == 1 and os.path.getsize("k.iops") == 0 and not safe or
     r.returncode == 0 and who == "front" and seen >= done)
print(who, safe, seen, done, r.returncode, file=sys.stderr)
print("good" if good else (who, safe, seen, done, r.returncode, r.stderr))
EOP
for i in $(seq $((4 * TIMES))); do
	for who in tracer front both; do
		is "kill -9 $who, $i" "$(/usr/bin/python3 kill.py "$IOPS" $who $i 2>kill.err)" good
	done
done

# Damaged, it is known to be, or everything is there.
cat >harm.py <<'EOP'
import random, subprocess, sys
iops, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
log = open(name, "rb").read()
def report():
    with open("harmed.iops", "wb") as f: f.write(bad)
    r = subprocess.run([iops, "report", "--json", "harmed.iops"], capture_output=True)
    return r.returncode, b"\n".join(l for l in r.stdout.split(b"\n") if b'"reported_at"' not in l)
bad = log
status, whole = report()
assert status == 0
random.seed(times)
count = {}
for i in range(times):
    bad = bytearray(log)
    a, b = sorted((random.randrange(len(log)), random.randrange(len(log))))
    how = random.randrange(4)
    if how < 2:
        for n in range(random.choice([1, 1, 3, 20])): bad[random.randrange(len(bad))] ^= 1 << random.randrange(8)
    elif how == 2: del bad[a:]
    else: del bad[a:b]
    status, said = report()
    assert status in (0, 1, 3), (i, status)
    assert status != 0 or said == whole, i
    assert status != 3 or said, i
    count[status] = count.get(status, 0) + 1
print("fine", count, file=sys.stderr); print("fine")
EOP
"$IOPS" run -q -o h.txt -l h.iops -- sh -c 'for i in 1 2 3; do "$0" -o w "write f 100*200" "pwrite g 64*200 9"; sleep 1.1; done' "$m"
is "damage is told" "$(/usr/bin/python3 harm.py "$IOPS" h.iops $((200 * TIMES)) 2>harm.err)" fine

sums() { json "$1" '[j["total"][k][v] for k in ("read", "write", "sync", "all") for v in ("operations", "bytes", "errors", "time_ns")]'; }
add() { /usr/bin/python3 -c 'import sys; print([sum(x) for x in zip(*map(eval, sys.argv[1:]))])' "$@"; }
rep() { o=$1; shift; "$IOPS" report --json -o "$o" "$@"; sums "$o"; }
whole=$(rep w.json h.iops)
for t in 0 0.001 1.5 2.3 100; do
	is "windows that meet at $t s add up" "$(add "$(rep w1.json --to-time $t h.iops)" "$(rep w2.json --from-time $t h.iops)")" "$whole"
done
is "... and so do the windows of a date" "$(at=$(json w.json 'j["run"]["started_at"][:19]')
	add "$(rep w1.json --to-time "${at}.9Z" h.iops)" "$(rep w2.json --from-time "${at}.9Z" h.iops)")" "$whole"

other=$(rep w2.json x.iops)
is "two logs are summed" "$(rep w3.json h.iops x.iops)" "$(add "$whole" "$other")"
is "... in any order" "$(rep w3.json x.iops h.iops)" "$(add "$whole" "$other")"
is "the same log twice is two runs" "$(rep w3.json h.iops h.iops)" "$(add "$whole" "$whole")"
"$IOPS" report -q -o w.txt -l both.iops h.iops x.iops
is "... which can be kept as one log" "$(rep w3.json both.iops)" "$(add "$whole" "$other")"
# Two programs, one after the other, seen as one: by the time of day.
"$IOPS" run -q -o w.txt -l o1.iops -- sh -c '"$0" -o w "write f 10*5"; sleep 0.4; "$0" -o w "write f 20*5"' "$m" &
sleep 0.2
"$IOPS" run -q -o w.txt -l o2.iops -- "$m" -o w 'write f 30*5'
wait
for logs in "o1.iops o2.iops" "o2.iops o1.iops"; do
	"$IOPS" export --to csv -o o.csv $logs
	is "the operations of $logs come by time" "$(/usr/bin/python3 -c 'import csv, itertools
print([k for k, g in itertools.groupby(r["bytes"] for r in csv.DictReader(open("o.csv")) if r["path"].endswith("/f"))])')" "['10', '30', '20']"
done
if unshare --uts true 2>/dev/null; then
	unshare --uts sh -c 'hostname elsewhere; "$0" run -q -o w.txt -l u.iops -- "$1" -o w "write f 10*7"' "$IOPS" "$m"
	"$IOPS" report --json --by host -o u.json u.iops o2.iops
	is "hosts are told apart" "$(json u.json 'sorted((h["host"], h["write"]["operations"] - sum(f["write"]["operations"] for f in j["by"]["file"] if f.get("host") == h["host"])) for h in j["by"]["host"])')" \
		"[('elsewhere', 0), ('$(uname -n)', 0)]"
else
	skip "no other name for this host"
fi

status "a full disk: 125" 125 "$IOPS" run -q -l /dev/full -- true
is "... in one line that names it" "$(grep -c '^iops: .*/dev/full' status.out) $(grep '^iops:' status.out | grep -vc '^iops: true')" "1 1"
ok "... and the report is there" grep -q '^total' status.out
status "... the command's own failure goes first" 7 "$IOPS" run -q -l /dev/full -- sh -c 'exit 7'
status "a folder that is not there: 125" 125 "$IOPS" run -l nowhere/x.iops -- touch ran
fails "... and nothing ran" test -e ran
status "a folder instead of a file: 125" 125 "$IOPS" run -l . -- true
ok "a closed pipe: 125" sh -c '{ "$0" run -q -o pipe.txt -l - -- sh -c "sleep 0.2; echo x >/dev/null"; echo $? >st; } 2>pipe.err | true; [ "$(cat st)" = 125 ] && grep -q "standard output" pipe.err && grep -q ^total pipe.txt' "$IOPS"
status "report says so too" 1 "$IOPS" report -l /dev/full h.iops
: >empty.iops; printf 'iop\261\001' >short.iops; dd if=h.iops of=first.iops bs=36 count=1 status=none
for f in empty.iops short.iops first.iops nosuch .; do
	status "$f is no log: 1" 1 "$IOPS" report $f
done

(for i in $(seq 1500); do echo "insert into t values($i, 'row $i of the table');"; done) >inserts
"$IOPS" run --json -o s.json -l s.iops -- sh -c 'sqlite3 s.db "create table t(a, b)"; sqlite3 s.db <inserts'
ok "at most 10 bytes an operation" /usr/bin/python3 -c 'import json, os
t = json.load(open("s.json"))["total"]
n = sum(t[k]["operations"] + t[k]["errors"] for k in ("read", "write", "sync"))
print(os.path.getsize("s.iops") / n, "bytes each of", n); assert n > 5000 and os.path.getsize("s.iops") <= 10 * n'
sed 's/^/# /' ok.out

# A reader made from the manual page alone.
for f in x h s both at; do
	is "iops-log(5) is enough to read $f" "$(/usr/bin/python3 "$ROOT/tests/logread.py" $f.iops 2>&1)" \
		"$("$IOPS" report --json -o r.json $f.iops; json r.json '"\n".join(sorted("%s %d %d %d" % (c["call"], sum(c[k]["operations"] for k in K if k in c), sum(c[k]["errors"] + c[k]["again"] + c[k]["interrupted"] for k in K if k in c), sum(c[k]["bytes"] for k in K if k in c)) for K in [("read", "write", "sync", "meta", "peek")] for c in j["by"]["call"]))')"
done

# What was left out is not taken for something else later.
for filter in "-P *passwd" "--type regular" "-e read" "-e all" "--pid 1"; do
	(set -f; "$IOPS" run --json -o a.out -l f.iops $filter -- sh -c 'cat /etc/passwd >x; tail -1 <x >/dev/null'; "$IOPS" report --json -o b.out f.iops)
	grep -v '"reported_at"' a.out >a.txt; grep -v '"reported_at"' b.out >b.txt
	ok "the log says the same with $filter" cmp a.txt b.txt
done
("$IOPS" report --json -P "*passwd" -o a.out -l g.iops f.iops; "$IOPS" report --json -o b.out g.iops)
is "... and a log of a log" "$(json a.out 'j["run"]["filtered"], j["ledger"]["explanation"]') $("$IOPS" merge --json a.out | grep -c '"filtered":true')" "$(json b.out 'j["run"]["filtered"], j["ledger"]["explanation"]') 1"
"$IOPS" run -q -o /dev/null -l r.iops -- sh -c 'cat /etc/passwd; sleep 0.02; cat /etc/passwd' >/dev/null
for from in 0 0.004; do
	is "no row ends before it begins, from $from" "$("$IOPS" report -i 0.001 --from-time $from -f csv r.iops | awk -F, '/^$/ { exit } NR > 1 && $2 + 0 < $1 + 0')" ""
done
plan
