#!/bin/sh
# shellcheck disable=SC2086,SC2016,SC3045
# The command's exit status, streams and signals pass through; failures have their own.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

status "exit 0" 0 "$IOPS" run true
status "exit 7" 7 "$IOPS" run -- sh -c 'exit 7'
status "SIGTERM" 143 sh -c '"$0" run -- sh -c "kill -TERM \$\$"; exit $?' "$IOPS"
status "SIGKILL" 137 sh -c '"$0" run -- sh -c "kill -KILL \$\$"; exit $?' "$IOPS"
status "SIGSEGV" 139 sh -c '"$0" run -- sh -c "kill -SEGV \$\$"; exit $?' "$IOPS"
is "it dies of the signal itself" "$(/usr/bin/python3 -c 'import subprocess,sys
print(subprocess.run([sys.argv[1], "run", "-q", "--", "sh", "-c", "kill -USR2 $$"], stderr=subprocess.DEVNULL).returncode)' "$IOPS")" -12
status "not found" 127 "$IOPS" run nosuchcommand
touch plain; status "not executable" 126 "$IOPS" run ./plain
status "a script without #!" 5 sh -c 'echo exit 5 >s; chmod +x s; "$0" run ./s' "$IOPS"
status "no command" 2 "$IOPS" run
status "no verb" 2 "$IOPS"
status "unknown verb" 2 "$IOPS" nosuch
status "unknown option" 2 "$IOPS" run --nosuch true
status "wrong value" 2 "$IOPS" run --by nosuch true
# One line that says what, and how to get help.
while read -r words; do
	# shellcheck disable=SC2086
	status "iops $words: wrong usage" 2 "$IOPS" $words
	is "... says how to get help, in one line" "$(grep -c "^iops: .*; 'iops help.*' tells more\$" status.out) $(wc -l <status.out)" "1 1"
done <<-EOF
	nosuch
	help nosuch
	help run nosuch
	run
	run --nosuch true
	run -o
	run --by nosuch true
	run --columns reads,nosuch true
	run --sort nosuch true
	run --top x true
	run --color x true
	run --format nosuch true
	run -f blkparse true
	run --type , true
	run --pid 0 true
	run -e nosuch true
	run -b nosuch true
	run -i 0 true
	run --patch-after x true
	run --layers -b proc true
	run --wait -b proc true
	attach
	attach x
	report
	report --from nosuch x
	report --from-time x x
	report -g x x
	export --to nosuch x
	export x
	merge
	diff x
	diff -f csv x x
	trace --layers nosuch true
	trace -p x
	trace -p 1 true
	trace -b proc true
	trace --snapshot all true
	mount x
	doctor x
	doctor -f csv
	tag-by-pid x
EOF
# Nor do names make it more than one, or more to a terminal than letters.
printf 'a\nb\033[31mc\302\233m\303\244\377' >name
status "a name with control characters" 127 "$IOPS" run "$(cat name)"
is "... is told legibly" "$(cat status.out)" 'iops: a\012b\033[31mc\302\233m'"$(printf '\303\244')"'\377: No such file or directory'
long=$(printf '%04000d' 0)
status "a long name" 126 "$IOPS" run "./$long"
is "... does not hide why" "$(cat status.out)" "iops: ./$long: File name too long"
status "the command's own options are its own" 0 "$IOPS" run sh -c 'exit 0' --by nosuch -o x
status "-o in a missing directory" 125 "$IOPS" run -o nosuch/x true
status "report to a full disk" 125 "$IOPS" run -o /dev/full true
status "... but the command's own failure wins" 3 "$IOPS" run -o /dev/full sh -c 'exit 3'
ok "... and says what was full" sh -c '"$0" run -o /dev/full true 2>&1 | grep -q "iops: .*No space left"' "$IOPS"
# Faults are its own, if it sends them to its whole group.
cat >group.sh <<-'EOF'
	for s in ABRT SEGV BUS FPE ILL TRAP SYS; do trap "echo $s" $s; done
	for s in ABRT SEGV BUS FPE ILL TRAP SYS; do kill -$s 0; sleep 0.02; done
	exit 7
EOF
is "signals of faults to its group" "$(setsid -w "$IOPS" run -q -o group.txt -- sh group.sh | tr '\n' ' '; [ -s group.txt ] && echo reported)" \
	"ABRT SEGV BUS FPE ILL TRAP SYS reported"
# A reader that does not read: the report can be given up.
for sig in TERM INT HUP QUIT; do
	is "a report that nobody reads, and SIG$sig" "$(/usr/bin/python3 "$ROOT/tests/unread.py" SIG$sig "$IOPS" run --json -o - -l unread.iops -- sh -c 'cat /etc/passwd >/dev/null')" \
		"125 True iops: nobody read the report, and it was given up"
	status "... the log is whole" 0 "$IOPS" report unread.iops
done
is "... with the command's own failure" "$(/usr/bin/python3 "$ROOT/tests/unread.py" SIGTERM "$IOPS" run --json -o - sh -c 'exit 3')" \
	"3 True iops: nobody read the report, and it was given up"
# A closed pipe: the reader is gone before the report comes.
is "report to a closed pipe" "$(/usr/bin/python3 -c 'import subprocess,sys,os
r,w=os.pipe(); os.close(r)
print(subprocess.run([sys.argv[1], "run", "-o", "-", "true"], stdout=w, stderr=subprocess.DEVNULL).returncode)' "$IOPS")" 125

is "standard output is the command's alone" "$("$IOPS" run -- echo hello 2>/dev/null)" hello
is "standard input too" "$(echo data | "$IOPS" run -- cat 2>/dev/null)" data
ok "the report is on standard error" sh -c '"$0" run true 2>&1 >/dev/null | grep -q "^iops: true .*exit 0 .*ptrace, complete"' "$IOPS"
ok "-o - is standard output" sh -c '"$0" run -o - true 2>/dev/null | grep -q "^iops: true"' "$IOPS"
"$IOPS" run -o r.json true
is "-o x.json is JSON" "$(json r.json 'j["schema"]')" iops.report/1
"$IOPS" run -o r.csv true
is "-o x.csv is CSV" "$(head -c 5 r.csv)" "path,"
echo 'old text that is far longer than nothing' >keep; "$IOPS" run -o keep nosuchcommand 2>/dev/null
is "a run that never was leaves the old report" "$(cut -c1-8 keep)" "old text"

ok "descendants that go on do not hold it up" timeout 3 "$IOPS" run -o r.json -- sh -c 'sleep 5 >/dev/null 2>&1 &'
is "... and are named" "$(json r.json 'j["run"]["still_running"], j["run"]["still_running_processes"][0]["command"]')" "(1, 'sleep')"
ok "--wait waits for them" sh -c '"$0" run --wait -o w.json -- sh -c "(sleep 0.3; echo late) & exit 0" >/dev/null' "$IOPS"
ok "... and counts what they did" test "$(json w.json 'j["run"]["elapsed_ns"] > 300000000 and j["run"]["still_running"] == 0')" = True
is "... until they are not waited for any more" "$("$IOPS" run --wait -d 0.5 --json -o w.json -- sh -c 'sleep 20 & echo $! >rest; exit 0'; json w.json '500e6 <= j["run"]["elapsed_ns"] < 20e9, j["run"]["still_running"]'; kill "$(cat rest)")" "(True, 1)"
for mode in -bptrace --no-patch $BPFMODE; do
	for sig in INT TERM HUP; do
		rm -f ended rest
		env --default-signal=$sig "$IOPS" run $mode --wait --json -o w.json -- sh -c 'sleep 60 & echo $! >rest; echo $$ >ended; exit 7' & pid=$!
		for _ in $(seq 400); do
			if [ -s ended ] && grep -q '^State:.Z' "/proc/$(cat ended)/status"; then break; fi
			sleep 0.05
		done
		sleep 0.3; alive=$(kill -0 $pid && echo waits)
		kill -$sig $pid; wait $pid
		is "... until SIG$sig ($mode)" "$? $alive $(json w.json 'j["run"]["still_running"], j["run"]["still_running_processes"][0]["command"], j["run"]["exit"]')" "7 waits (1, 'sleep', {'code': 7})"
		kill "$(cat rest)"
	done
done
for few in 9 10 11 12; do
	is "$few open files are few, not fatal" "$(for _ in 1 2 3 4 5; do (ulimit -n $few; timeout 20 "$IOPS" run -q -o few.txt /bin/sh -c 'exit 3'; echo $?); done | tr '\n' ' ')" "3 3 3 3 3 "
done
is "... and why they are slow is said" "$(ulimit -n 32; "$IOPS" run --json -o few.json true; json few.json 'j["run"]["fast_path"]["status"], j["run"]["fast_path"]["reason"]')" "('off', 'the limit of open files is too low')"
is "--no-follow: what is not counted is not checked either" "$("$IOPS" run --no-follow --json -o - -- sh -c 'echo a >a; sh -c "echo bcd >b"; cat a >c' 2>/dev/null >n.json; json n.json 'sorted(j["run"]["verified"].items())')" "[('matched', 1), ('threads', 1), ('unchecked', 0)]"
is "--no-follow" "$("$IOPS" run --no-follow --json -o - -- sh -c 'echo a >a; sh -c "echo bcd >b"' 2>/dev/null >n.json; json n.json 'j["total"]["write"]["bytes"]')" 2
ok "a reader that goes away ends the writer" sh -c 'timeout 5 sh -c "\"$0\" run -o r -- yes | head -1"' "$IOPS"
ok "a command that closes its input ends the writer before it" sh -c 'timeout 5 sh -c "yes | \"$0\" run -o r -- sh -c \"exec <&-; sleep 0.2\""' "$IOPS"

# SIGTERM to iops alone is passed on; to the whole group it arrives once.
cat >trap.sh <<'EOF'
trap 'echo term >>got; [ -n "$once" ] || exit 9' TERM
echo ready >ready; i=0
while [ $i -lt 30 ]; do sleep 0.1; i=$((i + 1)); done
EOF
rm -f got ready; "$IOPS" run -o r.json -- sh trap.sh & pid=$!
while [ ! -s ready ]; do sleep 0.05; done
kill -TERM $pid; wait $pid
is "SIGTERM to iops reaches the command" "$? $(cat got)" "9 term"
rm -f got ready; setsid sh -c 'echo $$ >group; exec "$0" run -o r.json -- env once=1 sh trap.sh' "$IOPS" & pid=$!
while [ ! -s ready ]; do sleep 0.05; done
/bin/kill -TERM -- -"$(cat group)"; wait $pid
is "SIGTERM to the group arrives once" "$(wc -l <got)" 1
cat >sigs.py <<'EOF'
import os, signal, sys, time
n = {}
def hit(s, f): n[s] = n.get(s, 0) + 1
sigs = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR2, signal.SIGALRM, signal.SIGPROF, signal.SIGIO]
for s in sigs: signal.signal(s, hit)
for s in sigs: os.kill(0, s)
end = time.time() + 0.8
while time.time() < end: time.sleep(0.05)
open("sigs", "w").write(" ".join(str(n.get(s)) for s in sigs)); sys.exit(4)
EOF
status "eight signals to the group" 4 timeout 20 setsid -w "$IOPS" run -q -o r /usr/bin/python3 sigs.py
is "... arrive once each" "$(cat sigs)" "1 1 1 1 1 1 1 1"
status "the command alone is stopped and continued" 3 timeout 10 "$IOPS" run -q -o r -- \
	sh -c '(sleep .2; kill -STOP $$; sleep .2; kill -CONT $$) & wait; exit 3'
is "limits of the command are not ours" "$(sh -c 'ulimit -S -f 1; "$0" run --json -o big.json --by $1 -- sh -c "ulimit -f"' "$IOPS" file,dir,type,process,thread,command,call,kind 2>/dev/null
	json big.json 'j["run"]["exit"]')" "1
{'code': 0}"
# kill -9 of everything of ours: nothing is left standing still.
"$IOPS" run -o r -- sh -c 'echo $$ >cpid; while :; do echo x >y; done' & pid=$!
while [ ! -s cpid ]; do sleep 0.05; done
pkill -KILL -f "$IOPS run -o r -- sh -c echo"; sleep 0.3; wait $pid 2>/dev/null
is "kill -9 leaves no stopped process" "$(ps -o stat= -p "$(cat cpid)" | grep -c '[tT]')" 0
kill -9 "$(cat cpid)" 2>/dev/null
"$IOPS" run -o snap.json -- sh -c 'echo a >a; echo ok >ready2; sleep 1; echo b >b' & pid=$!
while [ ! -s ready2 ]; do sleep 0.05; done
kill -USR1 $pid; sleep 0.3
is "SIGUSR1 writes a snapshot" "$(json snap.json 'j["run"].get("snapshot"), j["total"]["write"]["bytes"]')" "(True, 5)"
wait $pid
is "... and the report at the end replaces it" "$(json snap.json 'j["run"].get("snapshot"), j["total"]["write"]["bytes"]')" "(None, 7)"
ok "many forks" test "$("$IOPS" run --json -o - -- sh -c 'i=0; while [ $i -lt 2000 ]; do (:) ; i=$((i+1)); done' >f.json 2>/dev/null; json f.json 'len(j["by"]["process"]), j["run"]["verified"]["threads"] == j["run"]["verified"]["matched"]')" = "(2001, True)"
# A command is found where execvp(3) finds it: not a directory, not what cannot be run, and
# nowhere behind a folder that cannot be looked into.
mkdir -p found/dir/cmd found/not found/yes
printf '#!/bin/sh\necho yes\n' >found/yes/cmd; cp found/yes/cmd found/not/cmd; chmod +x found/yes/cmd
echo 'echo no interpreter' >found/yes/bare; chmod +x found/yes/bare
ln -s loop found/loop
for path in found/none:found/yes found/dir:found/yes found/not:found/yes found/yes/cmd:found/yes; do
	is "by PATH=$path" "$(PATH=$path "$IOPS" run -q -o /dev/null -- cmd 2>&1)" yes
done
is "in the folder itself" "$(cd found/yes && PATH=/none: "$IOPS" run -q -o /dev/null -- cmd 2>&1)" yes
is "without an interpreter" "$(PATH=found/yes:/bin "$IOPS" run -q -o /dev/null -- bare 2>&1)" "no interpreter"
is "behind a loop" "$(PATH=found/loop:found/yes "$IOPS" run -q -o /dev/null -- cmd 2>&1; echo $?)" "iops: cmd: Too many levels of symbolic links
126"

plan
