#!/bin/sh
# shellcheck disable=SC2086,SC2016,SC2034
# iops itself under valgrind: no error, no leak, and the same exact counts.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
v="valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite --child-silent-after-fork=no --log-file=$dir/valgrind.%p"
m="$top/build/help/mkio"
$v "$top/build/iops" run --wait --by file,process,thread,type,kind --json -o got.json -- "$m" -o want.json \
	-t 4 'write f%t 100*50' 'read f%t 100*50' 'sendfile f%t g%t 10*2' 'mmsg 10*5' 'pipe 10*5' 'spawn 2'
/usr/bin/python3 "$top/tests/compare.py" want.json got.json
$v "$top/build/iops" run -H --by file,dir,call,error -e all -o table.txt -- sh -c 'cat /etc/passwd nosuch | head -1; exit 0' >/dev/null 2>&1
$v "$top/build/iops" run -f csv -i 0.1 -o rows.csv -- sleep 0.3
sleep 5 & pid=$!
$v "$top/build/iops" attach -d 0.5 -o attach.txt $pid
kill $pid
# Only what valgrind says of iops's own processes: the command's log ends at its exec.
bad=$(grep -l 'Invalid\|definitely lost\|uninitialised\|Warning: bad' valgrind.* || true)
for log in $bad; do cat "$log"; done >&2
[ -z "$bad" ] || exit 1
echo "valgrind: clean, $(find . -name 'valgrind.*' | wc -l) processes"
