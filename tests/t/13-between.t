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

# The end of a thread may come before that of the call that it is in, which is made.
cut() {	# how many, how they end
	for _ in $(seq "$1"); do
		rm -f cut; "$IOPS" run $mode --wait --json -o c.json -- "$HELP/cutoff" "$DIR/cut" 15 "$2"
		json c.json '"%d %s" % (sum(f["write"]["bytes"] for f in j["by"]["file"] if f["path"] == "'"$DIR"'/cut"), j["run"]["verified"]["threads"] == j["run"]["verified"]["matched"])' >counted
		[ "$(stat -c %s cut) True" = "$(cat counted)" ] || echo "$(stat -c %s cut) $(cat counted)"
	done
}
for mode in $MODES; do
	[ $mode = default ] && mode=
	is "calls that a thread dies in, $mode" "$(cut 12 exec; cut 3 exit; cut 3 kill)" ""
done
# What appends to a file begins where it ends, whoever has made it longer, or it is not known.
grown() {	# how, option...
	how=$1; shift
	"$IOPS" run "$@" -q -o /dev/null -l grown.iops -- "$HELP/grown" $how "$DIR/grown" >grown.want || return
	"$IOPS" export --to csv grown.iops | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["call"] == "write" && $at["path"] ~ /grown$/ && $at["result"] == 7 { print $at["offset"] "" }' | paste - grown.want |
		awk -F'\t' '$1 != $2 && ($1 != "" || "'$how'" == "cut") { print "told", $1, "is", $2 } END { print NR }'
}
for mode in $MODES; do
	[ $mode = default ] && mode=
	for want in data,sync all data,ftruncate; do
		is "appends behind what cuts a file, -e $want $mode" "$(grown cut -e $want $mode)" 6
	done
	is "appends behind a write from nobody knows where $mode" "$(for _ in 1 2 3 4 5 6; do grown unknown $mode; done | sort -u)" 5
done
# The kernel takes the command of fcntl(2) for an int.
cat >wide.py <<'EOP'
import ctypes, os
fcntl, wide = ctypes.CDLL(None).syscall, lambda n: ctypes.c_ulong(5 << 32 | n)
for i in range(200):
    fd = os.open("wide", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, b"x" * 10); os.lseek(fd, 0, 0)
    assert fcntl(72, wide(fd), wide(0), ctypes.c_long(60)) == 60       # F_DUPFD
    os.write(60, b"abc"); os.close(60); os.lseek(fd, 0, 0)
    assert fcntl(72, wide(fd), wide(4), ctypes.c_long(os.O_APPEND)) == 0   # F_SETFL
    os.write(fd, b"y"); os.close(fd)
EOP
for mode in $MODES; do
	[ $mode = default ] && mode=
	"$IOPS" run $mode -q -o /dev/null -l wide.iops -- /usr/bin/python3 wide.py
	is "numbers that are wider than the kernel looks, $mode" "$("$IOPS" export --to csv wide.iops | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["call"] != "write" { next }
		$at["path"] !~ /wide$/ { lost++ }
		$at["result"] == 3 && $at["offset"] == 0 { third++ }
		$at["result"] == 1 && $at["offset"] != 10 && $at["offset"] != "" { wrong++ }
		END { print third + 0, lost + 0, wrong + 0 }')" "200 0 0"
done
plan
