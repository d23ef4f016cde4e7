# shellcheck shell=sh disable=SC2034,SC2046
# TAP in plain sh. Source it, call is/ok/fails, end with plan. Each script works in a
# folder of its own, which is removed. What was wrong goes to standard error, as prove(1)
# keeps the rest to itself, and to a file that is shown once more at the end of them all.
IOPS=${IOPS:-$PWD/build/iops} HELP=${HELP:-$PWD/build/help} n=0 bad=0
ROOT=$(cd "${0%/*}/../.." && pwd)
# How a target is run: by stops alone, as usual, and with its sites patched at once.
MODES=${MODES:---no-patch default --patch-after=1}
# By eBPF too, where that is allowed.
BPFMODE=
"$IOPS" doctor --json 2>/dev/null | tr -d ' \t\n' | grep -q '"name":"bpf","status":"works"' && BPFMODE=--backend=bpf
DIR=$(mktemp -d) || exit 1
cd "$DIR" || exit 1
trap 'cd /; rm -rf "$DIR"' EXIT

wrong() { sed "1s|^|# $0 $n:\n|" | tee -a "${FAILED:-/dev/null}" >&2; }
ok() {		# name command...
	name=$1; shift; n=$((n + 1))
	if "$@" >ok.out 2>&1; then echo "ok $n - $name"
	else echo "not ok $n - $name"; { echo "# $name"; sed 's/^/# /' ok.out | head -20; } | wrong; bad=1; fi
}
fails() {	# name command...
	name=$1; shift
	# shellcheck disable=SC2016
	ok "$name" sh -c '! "$@"' - "$@"
}
is() {		# name got want
	n=$((n + 1))
	if [ "$2" = "$3" ]; then echo "ok $n - $1"
	else echo "not ok $n - $1"; printf '# %s\n# got:  %s\n# want: %s\n' "$1" "$2" "$3" | wrong; bad=1; fi
}
status() {	# name wanted-status command...
	name=$1 want=$2; shift 2
	"$@" >status.out 2>&1; is "$name" $? "$want"
}
json() {	# file python-expression of j
	/usr/bin/python3 -c 'import json,sys; j=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}
# For sh -c: a command that begins when its process is traced, however long that takes.
# shellcheck disable=SC2016
TRACED='while grep -q "^TracerPid:.0" /proc/$$/status; do sleep 0.02; done; exec "$0" "$@"'
# Until iops attached to what it was to be: its tracer waits for what the kernel tells.
# epoll_wait(2) and epoll_pwait(2), on the machine that has eBPF here.
listens() {	# pid of iops that uses eBPF
	until grep -qsE '^(232|281) ' $(pgrep -P "$1" | sed 's|.*|/proc/&/syscall|') /dev/null; do
		kill -0 "$1" 2>/dev/null || return
		sleep 0.02
	done
}
# Whether this machine refuses what some tests take: tests/help/can.c.
lacks() { "$HELP/can" "$@"; [ $? = 1 ]; }
# Whether a helper was built, and is a program for this machine; else why not, in $why.
runs() {
	if ! [ -x "$HELP/$1" ]; then why="$1 could not be built"
	elif lacks run "$HELP/$1"; then why="$1: this machine has no such programs"
	else return 0; fi
	return 1
}
skip() { n=$((n + 1)); echo "ok $n # SKIP $1"; }
skip_all() { let_cache; echo "1..0 # SKIP $1"; exit 0; }
# Whether there is a fast path here; what "true" was counted as is in p.json.
needs_fast_path() {
	"$IOPS" run --json -o p.json true
	case $(json p.json 'j["run"]["fast_path"]') in
	*"'status': 'on'"*) ;;
	*) skip_all "there is no fast path here" ;;
	esac
}
# What the kernel has counted is what was counted here, of all threads, and nothing is lost.
verified='j["run"]["verified"]["threads"] == j["run"]["verified"]["matched"] and j["run"]["complete"]'
# Where the kernel is told to empty the page cache of what is not used: not during a test of
# what is in it. Until plan or skip_all.
DAMON=
keep_cache() {
	for damon in /sys/kernel/mm/damon/admin/kdamonds/*/state; do
		[ -w "$damon" ] && [ "$(cat "$damon")" = on ] && echo off >"$damon" && DAMON="$DAMON $damon"
	done
}
let_cache() { for damon in $DAMON; do echo on >"$damon"; done; }
plan() { let_cache; echo "1..$n"; exit $bad; }
