#!/bin/sh
# shellcheck disable=SC2086
# Who attaches to a program that wants SIGSYS, the dispatch of calls, a filter or the
# memory for itself, or does odd things in threads that cannot be dispatched: it is as
# without us, and nothing of ours is left.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=tests/attach.sh
. "$ROOT/tests/attach.sh"

wants() {	# what: attached to for as long as it needs; its status and word
	rm -f ready acted; timeout -s KILL 60 "$HELP/wants" "$1" >said.txt & outer=$!
	while [ ! -e ready ] && kill -0 $outer 2>/dev/null; do sleep 0.02; done
	timeout -s KILL 50 "$IOPS" attach -q $mode --json -o f.json "$(pgrep -P $outer)" & attach=$!
	while [ ! -e acted ] && kill -0 $outer 2>/dev/null; do sleep 0.02; done
	sleep 0.1; pkill -INT -P $attach
	wait $outer; echo "$? $(cat said.txt)"
	wait $attach
}
for mode in "" --no-patch; do
	for what in $("$HELP/wants"); do
		is "$what $mode" "$(wants "$what") $(json f.json "$all_verified")" "0 good True"
	done
done
plan
