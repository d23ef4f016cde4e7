#!/bin/sh
# shellcheck disable=SC2086
# Where calls read and write, and of which name, though what moves that is no call of
# theirs: requests that are answered later, and threads and processes beside them.
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

for mode in $MODES --no-filter; do
	[ $mode = default ] && mode=
	for how in threads processes forks inherits; do
		is "$how that share a position, $mode" \
			"$(cd w && for seed in 1 2 3; do /usr/bin/python3 "$ROOT/tests/shared.py" "$IOPS" $seed $how 0 $mode 2>&1; done | head -n 5)" ""
	done
	for locked in "" locked; do # that stops; each number says where it was read
		"$IOPS" run $mode -q -o /dev/null -l w/sought.iops -- "$HELP/resought" w/sought w/sought.want 300 $locked
		is "a position that another thread sets $locked, $mode" \
			"$? $("$IOPS" export --to csv w/sought.iops | awk -F, '
				NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
				$at["call"] == "read" && $at["path"] ~ /sought$/ && $at["result"] == 8 { print $at["offset"] }' | paste - w/sought.want | awk -F'\t' '
				$1 == $2 { good++; next }
				$1 == "" { unknown++; next }
				{ wrong++ }
				END { print (good > 100) + 0, wrong + 0, '"${locked:+unknown +} 0"' }')" "0 1 0 0"
	done
	is "two names of one file, $mode" "$(cd w && /usr/bin/python3 "$ROOT/tests/linked.py" "$IOPS" $mode 2>&1)" \
		"one:1x30 one:2x30"
	is "files that come after each other, $mode" "$(cd w && /usr/bin/python3 "$ROOT/tests/anew.py" "$IOPS" $mode 2>&1)" \
		"once:0,10,20 then:0,10"
	# Where all stop, a position that is back by chance looks as if nobody had moved it.
	case $mode in --no-*) continue ;; esac
	is "... and move it" \
		"$(cd w && for seed in 1 2 3; do /usr/bin/python3 "$ROOT/tests/shared.py" "$IOPS" $seed threads 5 $mode 2>&1; done | head -n 5)" ""
done
plan
