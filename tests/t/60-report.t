#!/bin/sh
# shellcheck disable=SC2086,SC2016
# The report in all its forms.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
unset COLUMNS NO_COLOR CLICOLOR_FORCE
export LC_ALL=C.UTF-8

all=file,dir,type,process,thread,command,call,kind,device,mount,error
ops="-o want.json"
"$IOPS" run --by $all -e all --json -o all.json -- "$HELP/mkio" $ops 'write f 4096*10' 'read f 512*80' 'sendfile f g 1000*2' \
	'pipe 10*3' 'openfail 2' 'fsync f 2' 'pipe_again 2' 'sock 10*1'
"$IOPS" run --json -o sig.json -- sh -c 'kill -TERM $$'
"$IOPS" run --json -b proc -o proc.json -- cat /etc/passwd >/dev/null
"$IOPS" run --json -b system -o system.json -- cat /etc/passwd >/dev/null
for f in all sig proc system; do
	ok "JSON of $f matches its schema" /usr/bin/python3 -m jsonschema -i $f.json "$ROOT/share/report-1.schema.json"
done
sed 's/"operations": *[0-9]*/"operations": "x"/; s/"operations":[0-9]*/"operations":"x"/' all.json >broken.json
fails "... which a damaged one does not" /usr/bin/python3 -m jsonschema -i broken.json "$ROOT/share/report-1.schema.json"
is "every breakdown adds up to the total" "$(json all.json '[d for d in j["by"] if d != "error" and sum(r["read"]["bytes"] for r in j["by"][d]) != j["total"]["read"]["bytes"]]')" "[]"
is "histogram adds up too" "$(json all.json '[sum(h[k][m] for h in j["histogram"]["size_bytes"]) - j["total"][k][m] for k in ("read", "write", "all") for m in ("operations", "bytes")]')" "[0, 0, 0, 0, 0, 0]"
is "... and that of latency" "$(json all.json '[sum(h[k] for h in j["histogram"]["latency_ns"]) - j["total"][k]["operations"] for k in ("read", "write", "all")]')" "[0, 0, 0]"
is "two-sided calls count once" "$(json all.json 'j["total"]["read"]["operations"] + j["total"]["write"]["operations"] - j["total"]["all"]["operations"]')" 2
is "... in the row of the call" "$(json all.json '[c["all"]["operations"] for c in j["by"]["call"] if c["call"] == "sendfile"]')" "[2]"
is "failed opens are errors of meta" "$(json all.json 'j["total"]["meta"]["errors"] >= 2')" True
is "EAGAIN is apart" "$(json all.json '[(c["all"]["again"], c["all"]["errors"]) for c in j["by"]["call"] if c["call"] == "read"]')" "[(2, 0)]"

"$IOPS" run --json -o l.json -- dd if=/dev/zero of=l.out bs=64k count=10 conv=fsync status=none
is "the ledger has what storage did" "$(json l.json '(j["ledger"]["call_write_bytes"], j["ledger"]["storage_write_bytes"] >= 655360)')" "(655360, True)"

run="$IOPS run -o -"
ok "nothing is wider than 80 columns" sh -c 'COLUMNS=80 $0 -H --by '$all' -- cp -r /usr/include/asm-generic copy | tee wide.txt | [ "$(wc -L)" -le 80 ]' "$run"
ok "... nor narrower paths than a wide one allows" sh -c 'COLUMNS=200 $0 -- cat /usr/include/asm-generic/unistd.h 2>&1 >/dev/null | cat; COLUMNS=200 $0 -- cat /usr/include/asm-generic/unistd.h | grep -q " */usr/include/asm-generic/unistd.h\|^/usr/include/asm-generic/unistd.h"' "$run"
ok "-H draws three charts" sh -c '[ "$($0 -H -- cat /etc/passwd | grep -c "operations by\|bytes by")" = 3 ]' "$run"
ok "... with blocks in UTF-8" sh -c '$0 -H -- cat /etc/passwd | grep -q "█"' "$run"
ok "... with # elsewhere" sh -c 'LC_ALL=C $0 -H -- cat /etc/passwd | LC_ALL=C grep -q "####"; ! LC_ALL=C $0 -H -- cat /etc/passwd | LC_ALL=C grep -q "[^ -~]"' "$run"
esc=$(printf '\033')
fails "no colour in a pipe" sh -c '$0 -- true | grep -q "'"$esc"'"' "$run"
ok "--color always" sh -c '$0 --color always -- true | grep -q "'"$esc"'"' "$run"
ok "CLICOLOR_FORCE" sh -c 'CLICOLOR_FORCE=1 $0 -- true | grep -q "'"$esc"'"' "$run"
fails "NO_COLOR wins" sh -c 'NO_COLOR=1 CLICOLOR_FORCE=1 $0 -- true | grep -q "'"$esc"'"' "$run"

m="$HELP/mkio"
"$IOPS" run --json -o p.json -P '*/f' -- "$m" $ops 'write f 100*3' 'write g 50*2' 'sendfile f g 10*1'
"$IOPS" run --json -o p2.json -P '*/f' -P '*/g' -- "$m" $ops 'write f 100*3' 'write g 50*2' 'write h 10*1'
is "... one of several" "$(json p2.json 'j["total"]["write"]["bytes"]')" 400
is "-P keeps what matches" "$(json p.json 'j["total"]["write"]["bytes"], j["total"]["read"]["bytes"], j["total"]["all"]["operations"]')" "(300, 10, 4)"
"$IOPS" run --json -o t.json --type pipe -- "$m" $ops 'write f 100*3' 'pipe 10*2'
is "--type" "$(json t.json 'j["total"]["write"]["bytes"]')" 20
"$IOPS" run --json -o e.json -e classic -- "$m" $ops 'write f 100*3' 'send 10*2' 'fsync f 1' 'sendfile f g 10*1'
is "-e classic" "$(json e.json '[c["call"] for c in j["by"]["call"]]')" "['write']"
is "... is verified all the same" "$(json e.json 'j["run"]["verified"]["matched"]')" 1
"$IOPS" run --json -o e.json -e '!fsync,!write' -- "$m" $ops 'write f 100*3' 'fsync f 1' 'fdatasync f 1' 'sock 10*1'
is "-e with !" "$(json e.json 'sorted(c["call"] for c in j["by"]["call"])')" "['fdatasync', 'read']"
ok "-e that leaves out calls says that it cannot be verified" sh -c '$0 -e fsync -- true | grep -q "^not verified"' "$run"
is "--top and --sort" "$($run --by call --sort operations --top 1 --columns call,operations -- "$m" $ops 'write f 100*9' 'read f 100*3' | sed -n '$!{h;d};x;p' | tr -s ' ')" "write 10"
is "CSV" "$($run -f csv --by call --columns call,read_operations,write_bytes -- "$m" $ops 'write f 100*9' | tr -d '\r' | paste -sd' ')" "call,read_operations,write_bytes write,0,9092"
printf 'x' >'a,"b'; ok "CSV quotes by RFC 4180" sh -c '$0 -f csv -- cat "a,\"b" 2>/dev/null | grep -q "/a,\"\"b\","' "$run"
is "--raw" "$($run --raw -q -- "$m" $ops 'write f 4096*100' | awk '$1 == "write" { print $3 }')" 417792
ok "--si" sh -c '$0 --si -q -- "$1" -o w "write f 4096*100" | grep -q "^write .*417.8 kB"' "$run" "$m"
"$IOPS" run -i 0.2 -o i.txt -- sleep 0.7
ok "-i rows" sh -c 'n=$(grep -c "^ *[0-9.]* s " i.txt); [ "$n" -ge 3 ] && [ "$n" -le 5 ] && grep -q "^iops: sleep" i.txt'
"$IOPS" run -i 0.2 --json -o i.jsonl -- sh -c 'echo a >a; sleep 0.5; echo b >b'
is "-i JSON lines" "$(/usr/bin/python3 -c 'import json
l = [json.loads(x) for x in open("i.jsonl")]
print(l[-1]["schema"], sum(x["write"]["bytes"] for x in l[:-1]) == l[-1]["total"]["write"]["bytes"])')" "iops.report/1 True"
ok "-d ends the report, not the command" sh -c '$0 -d 0.2 -- sh -c "sleep 0.6; echo done >d" >d.txt; [ -s d ] && grep -q "^iops" d.txt' "$run"
ok "control characters of a name stay out of the terminal" sh -c 'f="$(printf "a\033[31mb")"; echo x >"$f"; ! $0 -- cat "$f" 2>/dev/null | grep -q "'"$esc"'"' "$run"
plan
