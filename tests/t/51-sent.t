#!/bin/sh
# shellcheck disable=SC2086
# Signals that look as if they were of our making, and some that end calls before their
# time: a program gets them as it would without us.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

whole='j["run"]["verified"]["threads"] == j["run"]["verified"]["matched"] and j["run"]["lost"] == 0'
since() { [ "$(printf '%s\n%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]; }
got() { timeout -s KILL 30 "$@" >out.txt 2>&1; echo "$? $(cat out.txt)"; }

for what in blocked fault frame flood alone apart; do
	case $what in
	frame) [ "$(uname -m)" = x86_64 ] || { skip "$what: only of x86_64"; continue; } ;;
	alone | apart) since 6.9 || { skip "$what: needs Linux 6.9"; continue; } ;;
	esac
	bare=$(got "$HELP/sent" $what)
	for mode in "" --patch-after=1 --no-patch; do
		is "$what${mode:+, $mode}" "$(got "$IOPS" run -q $mode --json -o a.json -- "$HELP/sent" $what)" "$bare"
		is "... counted" "$(json a.json "$whole")" True
	done
done

# Both sides of a transfer within one file begin at the same place, which moves once.
cat >within.py <<'EOP'
import os
fd = os.open("within", os.O_RDWR | os.O_CREAT)
os.write(fd, bytes(1000))
os.lseek(fd, 50, os.SEEK_SET)
for i in range(20): os.read(fd, 1)
os.sendfile(fd, fd, None, 100)
os.read(fd, 7)
EOP
for mode in "" --patch-after=1 --no-patch; do
	rm -f within
	"$IOPS" run -q $mode -l within.iops -o /dev/null -- /usr/bin/python3 within.py
	is "from a file to itself${mode:+, $mode}" "$("$IOPS" export --to jsonl within.iops |
		/usr/bin/python3 -c 'import json, sys
o = [json.loads(l) for l in sys.stdin]
o = [x for x in o if str(x.get("path", "")).endswith("/within") and x["result"] in (100, 7)]
print([(x["call"], x["offset"]) for x in o])')" "[('sendfile', 70), ('sendfile', 70), ('read', 170)]"
done

plan
