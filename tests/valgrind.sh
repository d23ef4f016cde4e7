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
$v "$top/build/iops" run --wait --by file,process,thread,type,kind --json -o got.json -l log.iops -- "$m" -o want.json \
	-t 4 'write f%t 100*50' 'read f%t 100*50' 'sendfile f%t g%t 10*2' 'mmsg 10*5' 'pipe 10*5' 'spawn 2'
/usr/bin/python3 "$top/tests/compare.py" want.json got.json
$v "$top/build/iops" run -H --by file,dir,call,error -e all -o table.txt -- sh -c 'cat /etc/passwd nosuch | head -1; exit 0' >/dev/null 2>&1
$v "$top/build/iops" run -f csv -i 0.1 -o rows.csv -- sleep 0.3
sleep 60 & pid=$!
$v "$top/build/iops" attach -d 0.5 -o attach.txt $pid
kill $pid
# What is read later: logs, whole and cut, texts, sums of them, exports.
head -c 3000 log.iops >cut.iops
$v "$top/build/iops" report --json -H -o again.json log.iops
/usr/bin/python3 "$top/tests/compare.py" want.json again.json
$v "$top/build/iops" report -l copy.iops -o again.txt -P '*f1' --from-time 0 log.iops "$top/tests/data/fs_usage/wide.txt"
$v "$top/build/iops" report -o cut.txt cut.iops 2>/dev/null || [ $? = 3 ]
$v "$top/build/iops" report -o fuse.txt "$top/tests/data/fuse-trace/calls.trace"
strace -f -ttt -y -o text sh -c 'cat /etc/passwd | wc' >/dev/null
$v "$top/build/iops" report -o text.txt text
$v "$top/build/iops" merge --json -o sum.json got.json log.iops text
$v "$top/build/iops" diff -o diff.txt got.json text
for to in csv jsonl chrome folded sqlite avro fio; do
	$v "$top/build/iops" export --to $to -o "out.$to" log.iops 2>/dev/null
done
# Only what valgrind says of iops's own processes: the command's log ends at its exec.
# The child that tries the hook ends at the hook's own instructions, of which valgrind knows
# nothing, and is the copy of one thread: what another thread holds is lost there by nature.
bad=$(grep -l 'Invalid\|uninitialised\|Warning: bad' valgrind.* || true)
for log in $(grep -l 'definitely lost' valgrind.* || true); do
	grep -q 'signal 4 (SIGILL)' "$log" && grep -q 'by .*: try_hook ' "$log" || bad="$bad $log"
done
for log in $bad; do cat "$log"; done >&2
[ -z "$bad" ] || exit 1
echo "valgrind: clean, $(find . -name 'valgrind.*' | wc -l) processes"
