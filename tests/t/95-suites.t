#!/bin/sh
# Other programs' own tests, in short: the same results bare and below iops. "make soak"
# runs them at length.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
export IOPS OUT="$DIR/soak" SCALE=0 LIMIT=60 CACHE="$ROOT/build/soak/src"

suite() {
	sh "$ROOT/tests/soak/run.sh" "$1" >soak.out 2>&1
	case $? in
	77) skip "$(tail -1 soak.out)" ;;
	0) ok "$1: same results, every thread verified" true ;;
	*) ok "$1: same results, every thread verified" sh -c 'cat soak.out; exit 1' ;;
	esac
}
for s in sqlite python redis node java luajit shell edges; do suite $s; done
# A sanitized iops below another one looks for leaks, which no traced program can.
case $IOPS in
*address*) skip "nested: not with a sanitized iops" ;;
*) suite nested ;;
esac
plan
