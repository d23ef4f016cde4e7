# shellcheck shell=sh disable=SC2034,SC2086,SC2154
# Sourced by tests that attach to a program whose call sites are patched, behind lib.sh.
needs_fast_path

AS=	# by what it is run
begin() {	# arguments of mixed
	rm -f mixed.txt; $AS "$HELP/mixed" "$@" >mixed.txt & pid=$!
	while [ ! -s mixed.txt ]; do sleep 0.05; done
	sleep 0.2
}
# Its timer's handler may be running just now, with SIGALRM blocked: look again then.
first() {
	for _ in 1 2 3 4 5; do "$HELP/taskstate" $pid 2>&1; sleep 0.01; done | sort | head -n 1
}
clean() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		state=$("$HELP/taskstate" $pid 2>&1)
		[ "$state" != "$before" ] || break
		sleep 0.02
	done
	echo "$state"
}
# The process that traces it; waits for one.
tracer_of() {
	while grep -q '^TracerPid:.0' "/proc/$1/status"; do sleep 0.05; done
	sed -n 's/TracerPid:\t//p' "/proc/$1/status"
}
all_verified='j["run"]["verified"]["threads"] == j["run"]["verified"]["matched"]'
