#!/bin/sh
# shellcheck disable=SC2086
# Sites that are hot, in all ways that are hard on who patches them: what is counted, and
# what the program sees, is the same in all MODES. TIMES: how often; ONLY: what alone;
# SLOW_ONLY: where there is but one path; HARD: also what no patch survives.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
export IOPS
TIMES=${TIMES:-1} k=0

hot() {		# program scenario...
	prog=$1; shift
	case " $* " in *" ${ONLY:-$1} "*) ;; *) return ;; esac
	runs $prog || { skip "$why"; return; }
	# What the machine itself refuses is left out.
	case $1 in
	int80 | tsc) lacks $1 && { skip "$* ($prog $mode): not on this machine"; return; } ;;
	rmdirs) lacks int80 && set -- "$@" plain ;;
	regs) lacks stack && set -- "$@" addresses ;;
	esac
	rm -rf w; mkdir w
	k=$((k + 1))
	(cd w && timeout -s KILL 60 "$IOPS" run $opt -l ../$k.iops --wait --by file,process,thread,type,kind --json \
		-o ../$k.got -- "$HELP/$prog" -o ../$k.want "$@" </dev/null >../out.txt 2>&1); st=$?
	[ $st = 0 ] || echo "status $st" >>out.txt
	echo "$* ($prog $mode)" >$k.title
	is "$* ($prog $mode): as without a tracer" "$(cat out.txt)" ""
}
seen() {	# what all the runs before have done, at once: that is quicker
	[ $k -gt 0 ] || return
	/usr/bin/python3 "$ROOT/tests/hotcheck.py" "$mode" $(seq $k)
	for i in $(seq $k); do
		is "$(cat $i.title): all is seen" "$(cat $i.wrong)" ""
	done
	rm -f ./*.want ./*.got ./*.iops ./*.wrong
	k=0
}

each='barrier|barrier 16 2 10 0|barrier 16 2 10 1|signals alt eintr|jump|jump alt eintr|cancel|births|execs|forks|killed|
trap block|trap ignore|trap handle|faults|bad|regs'
more='signals|stopcont|trap|outlive|files|rename|heirs|numbers|ignores|spared block|spared ignore|spared all|spared once|shorts|
shorts signals|shorts filter|tsync|filtered|chdirs|cwds|fs_kin|rmdirs|jailed|jailed mounts|reopen|asks|dups|dup_race|accepts|shared|append|
seeks|late|kin|many|rights|limit_as|
limit_files|trap_later|gs|gs hot|far|jit|selfmod|selfmod part|reload|own_filter|own_filter hot|own_filter hot pc|
tsc|tsc hot|dispatch|moved|refused|sigsys|int80|unmap|unmap protect|unmap over|unstub|unstub protect|unstub drop|unstub fork|scribble'
# Not for what lies in text that others copy or write to, or what counts its own address
# space: nobody who patches and maps can do that.
hard='limit_as hot|jit text|scribble threads'
on32='barrier 8 2 10 0|signals eintr|cancel|births|execs|forks|killed|bad|seeks|limit_files|asks|trap handle'

all_of() {	# program scenarios
	prog=$1
	OLDIFS=$IFS; IFS='|'
	# shellcheck disable=SC2046
	set -- $(echo "$2" | tr -d '\n')
	IFS=$OLDIFS
	for scenario; do
		hot $prog $scenario
	done
}

# Exactly what a report says, but for the time of its making and the paths taken.
words() {
	json "$1" '[j.pop("reported_at", 0), j["run"].pop("fast_path", 0)] and json.dumps(j)'
}

# Two filters of its own, with an exec in between; and a number that is another file's by
# the time that it is hot, after calls that stop because they are wanted.
cat >few.py <<'EOP'
import ctypes, os, struct, subprocess, sys
def again():
    c = ctypes.CDLL(None); code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
    prog = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(code)))
    assert c.prctl(38, 1, 0, 0, 0) == 0 and c.prctl(22, 2, prog, 0, 0) == 0
def lock():
    again(); os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
def number():
    x = os.open("w/x", os.O_WRONLY | os.O_CREAT); os.close(os.dup(x)); os.close(x)
    y = os.open("w/y", os.O_WRONLY | os.O_CREAT); assert x == y
    for i in range(200): os.write(y, b"123")
def heir():
    os.dup2(os.open("w/s", os.O_WRONLY | os.O_CREAT), 9)
    for i in range(200): os.write(9, b"123")
    subprocess.run(["sh", "-c", "printf ab >&9; dd if=/dev/zero bs=3 count=100 >&9 2>/dev/null; exec 9>w/t; printf ab >&9;"
                    "exec 9>&-; exec 9>>w/s; printf ab >&9"], close_fds=False, check=True)
    for i in range(50): os.write(9, b"123")
def orphan():
    os.dup2(os.open("w/o", os.O_WRONLY | os.O_CREAT), 9)
    for i in range(100): os.write(9, b"123")
    r, w = os.pipe(); pid = os.fork()
    if pid: os.closerange(3, 10); sys.exit(os.waitpid(pid, 0)[1])
    os.close(w); os.read(r, 1)
    for i in range(100): os.write(9, b"123")
    subprocess.run(["sh", "-c", "printf ab >&9"], close_fds=False, check=True)
    for i in range(50): os.write(9, b"123")
def unshare():
    x = os.open("w/u", os.O_WRONLY | os.O_CREAT)
    for i in range(100): os.write(x, b"123")
    assert ctypes.CDLL(None).unshare(0x400) == 0 # CLONE_FILES
    for i in range(100): os.write(x, b"123")
globals()[sys.argv[1]]()
EOP
few() {
	timeout -s KILL 60 "$IOPS" run $opt -q -o /dev/null -- /usr/bin/python3 few.py lock
	is "a filter, an exec, another filter ($mode)" "$?" 0
	"$IOPS" run $opt -e data,dup --json -o got.json -- /usr/bin/python3 few.py number
	is "a number of another file, after dup(2) ($mode)" \
		"$(json got.json '[(f["path"][-2:], f["write"]["operations"]) for f in j["by"]["file"] if f["path"][-4:-1] == "/w/" and f["write"]["operations"]]')" "[('/y', 200)]"
	"$IOPS" run $opt --json -o got.json -- /usr/bin/python3 few.py heir
	is "what is run shares a position, and uses its number again ($mode)" \
		"$(json got.json 'sorted((f["path"][-2:], f["write"]["operations"], f["write"]["bytes"], f["write_extent"], f["consecutive_writes"], f["random_writes"])
			for f in j["by"]["file"] if f["path"][-4:-1] == "/w/" and f["write"]["operations"])')" "[('/s', 352, 1054, 1052, 350, 1), ('/t', 1, 2, 2, 0, 0)]"
	"$IOPS" run $opt --json -o got.json -- /usr/bin/python3 few.py unshare
	is "a table of its own where it was alone ($mode)" \
		"$(json got.json '[(f["write"]["operations"], f["write_extent"]) for f in j["by"]["file"] if f["path"].endswith("/w/u")]')" "[(200, 600)]"
	"$IOPS" run $opt --no-follow -q -o /dev/null -l got.iops -- /usr/bin/python3 few.py heir
	is "... is known, or not said, where what is run is not counted ($mode)" \
		"$("$IOPS" export --to csv got.iops | grep /w/s, | awk -F, 'NR > 200 && $19 != "" && $19 != 902 + 3 * (NR - 201) { print } END { print NR }')" 250
	"$IOPS" run $opt --json -o got.json -- /usr/bin/python3 few.py orphan
	is "... also when who opened it has closed it ($mode)" \
		"$(json got.json '[(f["write"]["operations"], f["write_extent"], f["consecutive_writes"], f["random_writes"]) for f in j["by"]["file"] if f["path"].endswith("/w/o")]')" \
		"[(251, 752, 250, 0)]"
}

noappend=$(/usr/bin/python3 -c "
import os, tempfile
f = tempfile.TemporaryFile()
try: print(os.pwritev(f.fileno(), [b'x'], 0, 0x20))
except OSError: print(0)")
others() {
	rm -rf w; mkdir w
	few
	if runs hot && [ "$mode" = --patch-after=1 ]; then
		is "a site is patched among threads once SIGTRAP, which is handled, is not blocked any more" \
			"$("$IOPS" run $opt --json -o later.json -- "$HELP/hot" -o w/later.want trap_later patched 2>&1
			json later.json 'j["run"]["fast_path"]["operations"] > 5000')" True
	fi
	still=$(setarch -R echo setarch -R 2>/dev/null) # its addresses, where that is allowed
	is "a heap grows as far as without us ($mode)" "$($still timeout -s KILL 60 "$IOPS" run $opt -q -o /dev/null -- "$HELP/grower")" 256
	is "commands of shell scripts share positions: all as without patches ($mode)" \
		"$(cd w && /usr/bin/python3 "$ROOT/tests/places.py" "$IOPS" 1 $((20 * TIMES)) $opt)" many
	# RWF_APPEND; RWF_NOAPPEND is refused by kernels before 6.9, and then nothing is written.
	"$IOPS" run $opt -q -o /dev/null -l w/flags.iops -- /usr/bin/python3 -c "
import os
a = os.open('w/flagged', os.O_RDWR | os.O_CREAT)
b = os.open('w/flagged', os.O_WRONLY | os.O_APPEND)
os.write(a, b'0123456789')
for i in range(50):
    os.pwritev(a, [b'ab', b'c'], 2, os.RWF_APPEND)
    os.pwritev(a, [b'd'], -1, os.RWF_APPEND)
    os.pwritev(b, [b'e'], 3, 0)
    try: os.pwritev(b, [b'f'], 1, 0x20)
    except OSError: pass
    os.pwritev(a, [b'gh'], 4, 0)" >out.txt 2>&1
	# shellcheck disable=SC2016
	is "what is appended for a flag of the call is where it is ($mode)" \
		"$(cat out.txt; "$IOPS" export --to csv w/flags.iops | awk -F, '
			NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			$at["path"] ~ /flagged$/ && $at["result"] > 0 { if (n++) print $at["offset"] }' | tr '\n' ' ')" \
		"$(awk 'BEGIN { at = 10; for (i = 0; i < 50; i++) { printf "%d %d %d ", at, at + 3, at + 4; if ('"$noappend"') printf "1 "; printf "4 "; at += 5 } }')"
	for seed in unseen shared $(seq $((2 * TIMES))); do
		is "one file is appended to, cut and grown by many: no place is wrong ($mode, $seed)" \
			"$(cd w && /usr/bin/python3 "$ROOT/tests/ends.py" "$IOPS" $seed $opt)" most
	done
	is "directories move, are exchanged, removed and gone through: each file is where it was written ($mode)" \
		"$(cd w && /usr/bin/python3 "$ROOT/tests/dirs.py" "$IOPS" 1 $((12 * TIMES)) $opt)" many
	"$IOPS" run $opt --json -o got.json -- /usr/bin/python3 -c "
for i in range(100): open('/proc/mounts').read(); open('/proc/net/dev').read()"
	is "links of /proc to who asks lead to itself ($mode)" \
		"$(json got.json 'sorted(f["path"].replace(str(j["run"]["pids"][0]), "PID") for f in j["by"]["file"] if f["path"].startswith("/proc"))')" \
		"['/proc/PID/mounts', '/proc/PID/net/dev']"
	rm -f w/log*
	(while [ ! -s w/log ]; do sleep 0.05; done; sleep 0.2; mv w/log w/log.1) &
	timeout -s KILL 60 "$IOPS" run $opt --json -o got.json -- /usr/bin/python3 -c "
import os, time
f = open('w/log', 'w'); end = None
while not end or time.monotonic() < end:
    os.write(f.fileno(), b'x')
    if not end and os.path.exists('w/log.1'): end = time.monotonic() + 0.5"
	wait $!
	is "what somebody else renames is noticed ($mode)" \
		"$(json got.json 'sorted(f["path"].split("/")[-1] for f in j["by"]["file"] if "/w/log" in f["path"] and f["write"]["operations"])')" "['log', 'log.1']"
	# By the directory that it is in, beside a thread whose last record but one was a name.
	rm -rf w/is w/was; mkdir w/is
	(while [ ! -s w/is/x ]; do sleep 0.05; done; sleep 0.2; mv w/is w/was) &
	timeout -s KILL 60 "$IOPS" run $opt --json -o got.json -- /usr/bin/python3 -c "
import os, threading, time
def names():
    for i in range(10000): os.symlink('t', 'l'); os.unlink('l')
    named.set()
    while not end or time.monotonic() < end: time.sleep(0.1)
os.chdir('w/is'); end = None; named = threading.Event()
f = os.open('f', os.O_CREAT | os.O_WRONLY)
t = threading.Thread(target=names); t.start(); named.wait()
while not end or time.monotonic() < end:
    os.write(f, b'x'); g = os.open('x', os.O_CREAT | os.O_WRONLY | os.O_APPEND); os.write(g, b'x'); os.close(g); time.sleep(0.002)
    if not end and os.path.exists('../was'): end = time.monotonic() + 0.5
t.join()"
	wait $!
	is "... and the directory that it is in ($mode)" \
		"$(json got.json 'sorted(f["path"].split("/w/")[1] for f in j["by"]["file"] if "/w/" in f["path"] and f["write"]["operations"])')" "['is/f', 'is/x', 'was/f', 'was/x']"
	rm -rf w; mkdir w
	(cd w && "$HELP/denied" 332 "$IOPS" run $opt -l ../1.iops --wait --by file,process,thread,type,kind --json -o ../1.got -- \
		"$HELP/hot" -o ../1.want shorts >../out.txt 2>&1)
	/usr/bin/python3 "$ROOT/tests/hotcheck.py" "$mode" 1
	is "where statx(2) is forbidden, what is closed at once is known too ($mode)" "$(cat out.txt 1.wrong)" ""
	"$IOPS" run $opt --json -o got.json -- "$HELP/hotdl" w/dl "$HELP/plug1.so" "$HELP/plug2.so" >out.txt 2>&1
	is "shared objects come and go ($mode)" "$? $(cat out.txt)" "0 "
	is "... and all is seen" "$(json got.json '[(f["write"]["operations"], f["write"]["bytes"]) for f in j["by"]["file"] if f["path"].endswith("/dl")]')" "[(2000, 6000)]"

	is "children whose parent is killed while it makes them ($mode)" "$(timeout -s KILL 60 "$IOPS" run $opt -q -o /dev/null -- "$HELP/orphans" 60)" "0 killed, 0"

	# The command may end by what it has done to itself; iops goes on to its report.
	rm -f got.json
	timeout -s KILL 60 "$IOPS" run $opt --json -o got.json -- "$HELP/hot" -o w/want.json scribble threads >out.txt 2>&1; st=$?
	# shellcheck disable=SC2016
	ok "scribbles while others are hot: exit $st, and a report ($mode)" sh -c '[ $1 -lt 124 ] || [ $1 = 139 ] && [ -s got.json ]' - $st

	timeout -s KILL 60 "$IOPS" run $opt --by process,thread,call,file -l x.iops --json -o a.json -- \
		"$HELP/hot" -o w/want.json barrier >out.txt 2>&1
	"$IOPS" report --by process,thread,call,file --json -o b.json x.iops
	words a.json >a.txt; words b.json >b.txt
	ok "the log says what the report says ($mode)" sh -c '[ -s a.txt ] && diff a.txt b.txt'

	(cd w && timeout -s KILL 60 "$IOPS" run $opt -q -o /dev/null -- "$HELP/hot" -o left.json outlive)
	i=0; while [ ! -s w/left.json ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
	is "a child outlives the command, and does all it would ($mode)" "$(wc -c <w/outlive)" 2191
}

cat >kill.py <<'EOP'
import json, os, signal, subprocess, sys, time
iops, hot, victim, log, *opts = sys.argv[1:]
p = subprocess.Popen([iops, "run", *opts, "--json", "-o", "k.json", "-l", "k.iops", "--", hot, "endless"])

def exes():
    for d in os.listdir("/proc"):
        try:
            if d.isdigit() and os.readlink(f"/proc/{d}/cwd") == os.getcwd():
                yield int(d), os.readlink(f"/proc/{d}/exe")
        except OSError:
            pass

def size():
    return os.path.getsize("endless") if os.path.exists("endless") else 0

def until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.002)
    return what()

if not until(lambda: size() > 3000):
    print("it does not run")
who = [pid for pid, exe in exes() if exe == os.path.realpath(hot if victim == "target" else iops)]
for pid in who:
    if victim == "target" or pid != p.pid:
        os.kill(pid, signal.SIGKILL)
p.wait()
if not until(lambda: not any(exe == os.path.realpath(hot) for _, exe in exes())):
    print("the target is still there")
    [os.kill(pid, signal.SIGKILL) for pid, exe in exes() if exe == os.path.realpath(hot)]
if victim == "target":
    run = json.load(open("k.json"))
    writes = sum(f["write"]["operations"] for f in run["by"]["file"] if f["path"].endswith("/endless"))
    # The last one may have been done, but not have come back.
    if writes not in (size(), size() - 1) or not run["run"]["complete"] or run["run"]["exit"] != {"signal": "SIGKILL"}:
        print(writes, size(), run["run"])
print("good")
EOP
kills() {
	for victim in target tracer; do
		rm -rf w; mkdir w
		is "kill -9 of the $victim while hot ($mode)" \
			"$(cd w && timeout -s KILL 60 /usr/bin/python3 ../kill.py "$IOPS" "$HELP/hot" $victim x $opt 2>/dev/null)" good
	done
}

# Its code is read anew from its files all the time, also while it is just being changed.
renewed() {
	[ "$mode" != --no-patch ] || return
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		# shellcheck disable=SC2086
		timeout -s KILL 60 "$IOPS" run -q $opt --json -o renewed.json -- "$HELP/renews" 20000 renewed.txt
		echo "$? $(json renewed.json 'j["run"]["verified"]["threads"] - j["run"]["verified"]["matched"]')"
	done >renewed.all 2>&1
	is "code that is brought back by madvise(2) ($mode)" "$(sort -u renewed.all | tr "\n" " ")" "0 0 good "
}

for _ in $(seq "$TIMES"); do
	for mode in $MODES; do
		opt=$mode; [ "$mode" != default ] || opt=
		all_of hot "$each|$more${HARD:+|$hard}"
		[ "$mode" = --no-patch ] || all_of hot-musl "$each"
		[ "$mode" != default ] || all_of hot32 "$on32"
		seen
		[ -n "$ONLY" ] || { others; kills; renewed; }
	done
done
plan
