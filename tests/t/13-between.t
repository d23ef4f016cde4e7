#!/bin/sh
# shellcheck disable=SC2086
# Calls between requests that are answered later: where they read and write, and of which
# name, though what moves that is no call.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

mkdir w
if (cd w && "$HELP/between" . 1 1 >/dev/null 2>&1); then
	for mode in $MODES; do
		[ $mode = default ] && mode=
		for seed in 1 2 3 4; do
			is "between requests of io_uring and of Linux AIO, $seed $mode" \
				"$(cd w && /usr/bin/python3 "$ROOT/tests/between.py" "$IOPS" "$HELP/between" $seed 800 $mode 2>&1 | head -n 5)" ""
		done
	done
else
	skip "io_uring or Linux AIO is not allowed here"
fi
plan
