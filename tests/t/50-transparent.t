#!/bin/sh
# shellcheck disable=SC2086,SC2016
# A program that looks at all it can see of itself sees the same with and without iops.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

cp "$HELP/selfview" . || skip_all "selfview was not built"
chmod 755 . selfview; cp "$IOPS" iops; chmod 755 iops
view() { env -i PATH="$PATH" "$@" 2>err | grep -v '^tracer-visible: ' | cat; }

same() {	# name tracer...
	title=$1; shift
	view ./selfview >bare.txt
	view "$@" ./selfview >traced.txt
	ok "$title" diff bare.txt traced.txt
}
view ./selfview >one.txt; view ./selfview >two.txt
ok "the view is stable, and whole" sh -c 'cmp one.txt two.txt && [ $(wc -l <one.txt) -gt 250 ] && ! grep -q "built without" one.txt'
same "state, and results of calls" ./iops run -q -o /dev/null --
same "... without a filter" ./iops run -q -o /dev/null --no-filter --
for mode in $MODES $BPFMODE; do
	[ "$mode" = default ] || same "... with $mode" ./iops run -q -o /dev/null $mode --
done
same "... by counters" ./iops run -q -o /dev/null -b proc --
if [ "$(id -u)" = 0 ]; then
	nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	view $nobody ./selfview >bare.txt
	view $nobody ./iops run -q -o /dev/null -- ./selfview >traced.txt
	ok "... without privileges" diff bare.txt traced.txt
	view $nobody ./iops run -q -o /dev/null --no-filter -- ./selfview >traced.txt
	ok "... without privileges or a filter" diff bare.txt traced.txt
	for mode in $MODES; do
		[ "$mode" != default ] || continue
		view $nobody ./iops run -q -o /dev/null $mode -- ./selfview >traced.txt
		ok "... without privileges, with $mode" diff bare.txt traced.txt
	done
else
	skip "needs root to become nobody"
fi
closed() { env -i PATH="$PATH" "$@" 2>&- <&- | grep -v '^tracer-visible: '; }
closed ./selfview >bare.txt; closed ./iops run -q -o /dev/null ./selfview >traced.txt
ok "closed streams stay closed" diff bare.txt traced.txt
ignored() { sh -c 'trap "" INT HUP USR1 PIPE CHLD; exec "$@"' - env -i PATH="$PATH" "$@" 2>/dev/null | grep -v '^tracer-visible: '; }
ignored ./selfview view >bare.txt; ignored ./iops run -q -o /dev/null ./selfview view >traced.txt
ok "ignored signals stay ignored" diff bare.txt traced.txt
# Those that the C library keeps for itself, too.
kept() {
	env -i PATH="$PATH" /usr/bin/python3 -c 'import ctypes, os, struct, sys
call = ctypes.CDLL(None).syscall
for sig in 32, 33: call(13, sig, struct.pack("QQQQ", 1, 0, 0, 0), None, 8)
call(14, 0, struct.pack("Q", 3 << 31), None, 8)
os.execv(sys.argv[1], sys.argv[1:])' "$@" 2>/dev/null | grep -v '^tracer-visible: '
}
kept ./selfview view >bare.txt; kept ./iops run -q -o /dev/null ./selfview view >traced.txt
ok "... and those of the C library" sh -c 'diff bare.txt traced.txt && grep -q "SigBlk:.0000000180000000" bare.txt && grep -q "SigIgn:.000000018" bare.txt'

# Signals that are ignored reach a tracee, and stops and our own interrupts end its calls.
waits() { timeout 60 "$IOPS" run $mode -q -o /dev/null -- "$HELP/waiter" "$@" 2>&1; echo $?; }
for mode in --no-filter $MODES; do
	mode=${mode#default}
	is "waits last as long as without us ${mode:-as usual}" "$(waits)" 0
	is "... and are interrupted by stops" "$(waits stops)" 0
	is "... and by the first signal that is handled" "$(waits often)" 0
	# Below a filter a wait that nobody wants to know of never stops.
	[ "$mode" = --no-patch ] || is "... not by what another thread ignores" "$(waits threads)" 0
done
for mode in --no-patch --patch-after=40; do
	"$HELP/waiter" >waits.txt & pid=$!
	sleep 0.2; timeout 60 "$IOPS" attach $mode -q -o /dev/null $pid 2>waits.err; st=$?
	wait $pid
	is "... attached to, $mode" "$? $st$(cat waits.txt waits.err)" "0 0"
done

for how in "exit 3" "_exit 255" "thread-exit 4" "pthread_exit 7" "sig 15" "sig 9" "raise 10" "abort" "segv" \
	"int3" "pipe" "thread-exec" "vfork" "clone 8388625" "fpe" "ill" "bus"; do
	# shellcheck disable=SC2086
	./selfview die $how >/dev/null 2>&1; bare=$?
	# shellcheck disable=SC2086
	./iops run -q -o /dev/null ./selfview die $how >/dev/null 2>&1
	is "dying by $how" $? $bare
	case $MODES in *--patch-after*)
		# shellcheck disable=SC2086
		./iops run -q -o /dev/null --patch-after=1 ./selfview die $how >/dev/null 2>&1
		is "... with its sites patched" $? $bare ;;
	esac
done

# What a blocking call transfers is not cut short by what only wakes a tracee. What is told
# of it is what it has done, and agrees with what the kernel has counted.
cp "$HELP/halves" .
# Whoever reads goes while others are in the middle of writing: to python3 SIGPIPE, which
# each attempt to go on raises, is ignored. More than once, and with another one waiting.
cat >gone.py <<'EOP'
import os, signal, socket, sys, time
part, parts, much = b"x" * 200000, [b"x" * 100000] * 2, b"x" * 9000000 # in time: it is to have begun before the other one goes
ways = {"write": lambda w: os.write(w, part), "writev": lambda w: os.writev(w, parts),
        "send": lambda w: s.send(much), "sendfile": lambda w: os.sendfile(w, f, 0, 200000)}
open("gone.in", "wb").write(part); f = os.open("gone.in", os.O_RDONLY)
for how, way in ways.items():
    for reads in 1000, 0:
        if how == "send": s, peer = socket.socketpair(); r, w = peer.fileno(), s.fileno()
        else: r, w = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(w); time.sleep(0.2); reads and os.read(r, reads); time.sleep(0.1)
            os.kill(os.getppid(), signal.SIGURG); os._exit(0)
        if how == "send": peer.close()
        else: os.close(r)
        got = way(w); again = []
        for _ in range(2):
            try: again.append(way(w))
            except BrokenPipeError: again.append("EPIPE")
        if how == "send": got = got > 0; s.close()
        else: os.close(w)
        print(how, reads, got, again, os.waitpid(pid, 0)[1])
EOP
/usr/bin/python3 gone.py >gone.want
whole='j["run"]["complete"] and j["run"]["verified"]["matched"] == j["run"]["verified"]["threads"]'
for mode in $MODES --no-filter; do
	[ "$mode" = default ] && mode=
	all=
	for how in write writev send sendmsg sendfile recv recvmsg random getrandom pread readv preadv copy copy_more send_to_file; do
		[ "$("$IOPS" run -q $mode --json -o half.json -- ./halves $how ignored)" = "$(./halves $how ignored)" ] &&
			[ "$(json half.json "$whole")" = True ] || all="$all $how"
	done
	is "signals that are ignored, in the middle of transfers${mode:+, $mode}" "$all" ""
	all=
	for how in write writev send sendmsg; do
		# Who has room again before it looks whether there is a signal goes on.
		for _ in 1 2 3 4 5; do
			"$IOPS" run -q $mode --json -o half.json -- ./halves $how handled >half.txt
			read -r asked got wrong <half.txt
			[ "$got" = 400000 ] || break
		done
		[ "$asked$wrong" = 400000 ] && [ "$got" -gt 0 ] && [ "$got" -lt 400000 ] &&
			[ "$(json half.json "$whole")" = True ] || all="$all $how"
	done
	is "... and such as are handled, which end them" "$all" ""
	is "... and who reads goes meanwhile" "$(timeout 30 "$IOPS" run -q $mode --json -o half.json -- /usr/bin/python3 gone.py | diff - gone.want; json half.json "$whole")" True
	all=
	for us in 0 20 50 100 150 200 300 500 1000 3000; do
		for how in write send sendmsg sendfile; do
			status=$("$IOPS" run -q $mode --json -o half.json -- ./halves $how ignored 300 kill $us 2>half.err; echo $?)
			[ "$status" = 137 ] && [ "$(json half.json "$whole")" = True ] ||
				all="$all $how:$us:$status:$(json half.json 'j["run"]["verified"]')$(cat half.err)"
		done
	done
	for _ in 1 2 3 4; do
		status=$("$IOPS" run -q $mode --json -o half.json -- ./halves write ignored 3000 /bin/true; echo $?)
		[ "$status" = 0 ] && [ "$(json half.json "$whole")" = True ] || all="$all exec:$status"
	done
	is "... whoever is killed in them, or becomes another program" "$all" ""
	is "... more than a call can take" "$("$IOPS" run -q $mode --json -o half.json -- ./halves much ignored; json half.json "$whole")" "$(printf '3221225472 2147479552\nTrue')"
done

# Another thread takes the signal that has woken this one.
for mode in --no-patch --no-filter; do
	case $mode in --no-filter) waits="recv read accept write writev epoll sigtimedwait semtimedop semop" ;; *) waits="recv read write writev" ;; esac
	all=
	for how in $waits; do
		for _ in 1 2; do
			[ "$("$IOPS" run -q $mode --json -o stolen.json -- "$HELP/stolen" $how) $(json stolen.json "$whole")" = "0 True" ] || all="$all $how"
		done
	done
	is "signals that are ignored, and that another thread takes, $mode" "$all" ""
done

# Whoever stops as soon as it was continued is seen to stop each time.
cat >stops.py <<'EOP'
import os, signal, sys, time
pid = os.fork()
if not pid:
    os.setpgid(0, 0)
    command = sys.argv[2:] + ["sh", "-c", "for i in 1 2 3 4 5; do kill -%s $$; done; exit 3" % sys.argv[1]]
    os.execvp(command[0], command)
stops, until = 0, time.time() + 20
while True:
    got, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
    if not got:
        if time.time() > until: os.killpg(pid, signal.SIGKILL); until += 9
        time.sleep(0.005)
    elif os.WIFSTOPPED(status): stops += 1; os.killpg(pid, signal.SIGCONT)
    else: break
print(stops, os.waitstatus_to_exitcode(status))
EOP
for mode in $MODES; do
	[ "$mode" = default ] && mode=
	is "stopped again at once${mode:+, $mode}" "$(for sig in STOP TSTP TTIN; do /usr/bin/python3 stops.py $sig "$IOPS" run -q $mode -o p.txt --; done | tr '\n' ' ')" "5 3 5 3 5 3 "
done

P=$HELP/ptydrive
[ -x "$P" ] || { plan; }
job() {		# name script-words... -- the shell command is iops or bare, by $RUN
	title=$1; shift
	ok "$title" timeout 30 "$P" -t 10 "$@" -- env -i PATH="$PATH" TERM=dumb bash --norc --noprofile -i
}
R="$DIR/iops run -q -o /dev/null"
job "Ctrl-C reaches the command" 'sleep:300' "send:$R sh -c 'trap \"echo got-\"int INT; echo rea\"\"dy; sleep 5; exit 6'; echo st=\$?\n" \
	'expect:ready' 'sleep:200' 'send:\003' 'expect:got-int' 'expect:st=6' 'send:exit\n'
job "Ctrl-C ends the command" 'sleep:300' "send:$R sh -c 'echo rea\"\"dy; exec sleep 5'\n" \
	'expect:ready' 'sleep:200' 'send:\003' 'sleep:300' 'send:echo st=$?\n' 'expect:st=130' 'send:exit\n'
job "Ctrl-Z stops the job and fg continues it" 'sleep:300' "send:$R sh -c 'echo rea\"\"dy; sleep 1; echo do\"\"ne'; echo st=\$?\n" \
	'expect:ready' 'sleep:200' 'send:\032' 'expect:Stopped' 'send:jobs\n' 'expect:Stopped' 'send:fg; echo fg=$?\n' \
	'expect:done' 'expect:fg=0' 'send:exit\n'
job "bg continues it as well" 'sleep:300' "send:$R sh -c 'echo rea\"\"dy; sleep 1; echo do\"\"ne'\n" \
	'expect:ready' 'sleep:200' 'send:\032' 'expect:Stopped' 'send:bg\n' 'expect:done' 'send:wait; exit\n'
job "reading the terminal works" 'sleep:300' "send:$R sh -c 'echo rea\"\"dy; read x; echo got-\$x'\n" \
	'expect:ready' 'sleep:200' 'send:word\n' 'expect:got-word' 'send:exit\n'
timeout 20 "$P" -t 10 'expect:ready' 'sleep:100' hangup -- "$DIR/iops" run -q -o hup.json -- \
	sh -c 'trap "echo hup >>hups; exit 1" HUP; echo ready; i=0; while [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done' >/dev/null 2>&1
sleep 0.5
is "a closed terminal reaches the command once" "$(wc -l <hups)" 1
ok "... and the report is still written" test "$(json hup.json 'j["run"]["exit"]')" = "{'code': 1}"
plan
