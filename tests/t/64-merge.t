#!/bin/sh
# shellcheck disable=SC2016
# Many runs summed, two runs compared.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

all=file,dir,type,process,thread,command,call,kind,device,mount,error
m="$HELP/mkio"
"$IOPS" run --by $all -e all -l a.iops --json -o a.json -- "$m" -o want.json -t 3 'write f%t 4096*10' 'read f%t 512*80' 'sendfile f0 g 1000*2' 'pipe 10*3' 'openfail 2' 'fsync f0 2'
"$IOPS" run --by $all -e all -l b.iops --json -o b.json -- "$m" -o want.json 'write f0 100*7' 'read f0 10*7' 'openfail 1' 'sock 10*4'
"$IOPS" run --by $all -e all -l c.iops --json -o c.json -- sh -c 'cat /etc/passwd | wc; ls /nosuch; cp /etc/services copy' >/dev/null 2>&1

cat >same.py <<'P'
import json, sys
def norm(x):		# rows of equal weight may stand in another order
    if isinstance(x, dict): return {k: norm(v) for k, v in x.items() if k != "reported_at"}
    return sorted(json.dumps(norm(i), sort_keys=True) for i in x) if isinstance(x, list) else x
a, b = (norm(json.load(open(f))) for f in sys.argv[1:3])
bad = [k for k in b if a.get(k) != b[k]]
print(bad, [(a[k], b[k]) for k in bad][:1])
sys.exit(bool(bad))
P
same() { ok "$1" /usr/bin/python3 same.py "$2" "$3"; }
merge() { "$IOPS" merge --by $all --json "$@"; }

merge a.json >one.json; same "a report by itself stays as it is" one.json a.json
merge a.iops >one.json; same "... and so does a log" one.json a.json
merge a.json b.json c.json >json.json; merge a.iops b.iops c.iops >logs.json
same "three reports are what their three logs are" json.json logs.json
merge c.json a.json b.json >other.json
is "the order does not matter" "$(json other.json 'j["total"]')" "$(json json.json 'j["total"]')"
merge a.json b.json >ab.json; merge ab.json c.json >abc.json
is "sums of sums are sums" "$(json abc.json '(j["total"], j["histogram"], j["ledger"])')" "$(json json.json '(j["total"], j["histogram"], j["ledger"])')"
for f in a b c json; do mv $f.json $f.keep; cp $f.keep $f.json; done
is "counters add exactly" "$(/usr/bin/python3 -c '
import json
l = [json.load(open(f + ".json")) for f in "abc"]; s = json.load(open("json.json"))
keys = ("operations", "errors", "again", "interrupted", "bytes", "requested_bytes", "time_ns")
print([(c, k) for c in ("read", "write", "all", "sync", "meta") for k in keys if sum(x["total"][c][k] for x in l) != s["total"][c][k]],
    sum(x["run"]["elapsed_ns"] for x in l) == s["run"]["elapsed_ns"],
    sum(h["all"]["bytes"] for x in l for h in x["histogram"]["size_bytes"]) == sum(h["all"]["bytes"] for h in s["histogram"]["size_bytes"]),
    sum(x["run"]["verified"]["matched"] for x in l) == s["run"]["verified"]["matched"], len(s["run"]["runs"]))')" "[] True True True 3"
ok "matches the schema" /usr/bin/python3 -m jsonschema -i json.json "$ROOT/share/report-1.schema.json"

# By hand, as the fast path may not work on this machine.
fast() { /usr/bin/python3 -c 'import json, sys
j = json.load(open("a.json")); j["run"]["fast_path"] = json.loads(sys.argv[1])
json.dump(j, open(sys.argv[2], "w"))' "$@"; }
fast '{"status": "on", "operations": 70, "stopped": 2}' on.json
fast '{"status": "off", "reason": "no luck", "operations": 0, "stopped": 72}' off.json
for f in on off; do
	merge $f.json >one.json; same "the fast path is $f: stays as it is" one.json $f.json
	ok "... by the schema" /usr/bin/python3 -m jsonschema -i one.json "$ROOT/share/report-1.schema.json"
done
merge on.json off.json on.json >one.json
is "... adds up" "$(json one.json 'j["run"]["fast_path"]')" "{'status': 'on', 'operations': 140, 'stopped': 76}"
ok "... by the schema" /usr/bin/python3 -m jsonschema -i one.json "$ROOT/share/report-1.schema.json"
ok "... in the table" sh -c '"$0" merge on.json off.json | grep -q "^fast path: 70 of 144 calls; 74 stopped$"' "$IOPS"
is "... of each of two" "$("$IOPS" diff --json on.json off.json | /usr/bin/python3 -c 'import json, sys; j = json.load(sys.stdin); print([j[k]["fast_path"]["status"] for k in "ab"])')" "['on', 'off']"
ok "a table, too" sh -c '"$0" merge a.json b.iops | grep -q "^iops: 2 runs"' "$IOPS"
sed 's/"host":"[^"]*"/"host":"elsewhere"/' b.json >far.json
merge a.json far.json >hosts.json
is "hosts are told apart" "$(json hosts.json 'sorted({f["host"] for f in j["by"]["file"] if f["path"]})' | tr -d "[]'" | wc -w)" 2
status "--by of what a report does not hold" 1 "$IOPS" merge --by host a.json
ok "... is said" grep -q 'a.json: holds no breakdown by host' status.out
status "no report" 1 "$IOPS" merge /etc/passwd
printf '{"schema": "iops.report/1", "run": ' >broken.json
status "a broken one" 1 "$IOPS" merge broken.json
ok "... is said" grep -q 'broken.json: not JSON' status.out
# Numbers as other writers put them: beyond every integer, in full length, with a sign.
odd() { /usr/bin/python3 -c 'import re, sys; sys.stdout.write(re.sub(r"\"elapsed_ns\":\s*[0-9.]+", "\"elapsed_ns\": " + sys.argv[1], open("a.json").read()))' "$1" >odd.json; "$IOPS" merge --json odd.json | json /dev/stdin 'j["run"]["elapsed_ns"]'; }
is "a number beyond every integer" "$(odd 1e999)" 18446744073709551615
is "... below" "$(odd -1e999)" 9223372036854775808
is "... of more digits than a double holds" "$(odd 1234567890123456789)" 1234567890123456789
is "... by its exponent" "$(odd 1234567890123456000E-15)" 1234
is "... with a long fraction" "$(odd 7.12345678901234567)" 7
is "... with a sign" "$(odd -1234567890123456789)" 17212176183586094827

"$IOPS" diff --json a.json b.iops >d.json; is "diff: status" $? 0
is "diff: totals, exactly" "$(json d.json '[(c, k) for c in ("read", "write", "all", "sync", "meta") for k in ("operations", "bytes", "errors") for t in [j["total"][c][k]] if t["change"] != t["b"] - t["a"]]')" "[]"
is "... are those of the runs" "$(json d.json '[j["total"][c][k][s] for s in "ab" for c in ("read", "write", "all") for k in ("operations", "bytes")]')" \
	"$(/usr/bin/python3 -c 'import json; print([json.load(open(f + ".json"))["total"][c][k] for f in "ab" for c in ("read", "write", "all") for k in ("operations", "bytes")])')"
is "... by call and file they add up to them" "$(json d.json '[(d, k, s) for d in ("file", "call") for k in ("operations", "bytes") for s in "ab" if sum(r[c][k][s] for r in j["by"][d] for c in ("read", "write")) != sum(j["total"][c][k][s] for c in ("read", "write"))]')" "[]"
is "... what changed most comes first" "$(json d.json '[d for d in ("file", "call") for x in [[abs(r["all"]["bytes"]["change"]) for r in j["by"][d]]] if x != sorted(x, reverse=True)]')" "[]"
"$IOPS" diff --json a.json a.iops >d.json
is "a run does not differ from itself" "$(json d.json '[r for d in j["by"].values() for r in d if r["changed"]], j["total"]["all"]["bytes"]["change"]')" "([], 0)"
ok "the table fits 80 columns" sh -c 'COLUMNS=80 "$0" diff a.json c.json | tee t.txt | [ "$(wc -L)" -le 80 ] && grep -q "^total bytes .* %$" t.txt' "$IOPS"
cp a.json "$(printf 'a\033[31m.json')"
is "names of files do nothing to a terminal" "$("$IOPS" diff "$(printf 'a\033[31m.json')" a.json | tr -d '\n' | grep -c "$(printf '\033')")" 0
status "two files, not one" 2 "$IOPS" diff a.json
status "a report cannot be filtered" 1 "$IOPS" diff -P '*/f0' a.json b.iops
ok "... is said" grep -q 'a.json: a JSON report holds sums' status.out

# The same run once as a report and once as a log has the same files.
"$IOPS" merge --json a.json a.iops >mix.json
is "a report and a log share their files" "$(json mix.json 'len(j["by"]["file"])')" "$(json a.json 'len(j["by"]["file"])')"
is "... on one host" "$(json mix.json '[f for f in j["by"]["file"] if "host" in f]')" "[]"
is "... --by host names it" "$("$IOPS" report --by host --json a.iops | /usr/bin/python3 -c 'import json, sys; j = json.load(sys.stdin); print([r["host"] for r in j["by"]["host"]] == [j["run"]["host"]])')" True
DATA=${DATA:-$ROOT/tests/data}
"$IOPS" report --json -o f.json "$DATA/fs_usage/wide.txt"
"$IOPS" merge --json f.json f.json "$DATA/fs_usage/wide.txt" >fff.json
is "layers add up, too" "$(json fff.json 'j["layers"]["block"]["completed"]["read"]["bytes"]')" "$(json f.json '3 * j["layers"]["block"]["completed"]["read"]["bytes"]')"
/usr/bin/python3 -c 'import json; json.dump(json.load(open("a.json")), open("sorted.json", "w"), sort_keys=True, indent=1)'
merge sorted.json >one.json; same "the order of keys does not matter" one.json a.json
"$IOPS" run -i 0.1 --json -o lines.json -- sh -c 'cat /etc/passwd; sleep 0.3' >/dev/null
status "rows of intervals, and their report" 0 "$IOPS" merge lines.json
cat a.json b.json >two.json; status "a report of another run beside one" 3 "$IOPS" merge --json -o got.json two.json
is "... is told" "$(cat status.out) $(json got.json 'j["run"]["complete"]')" "iops: two.json: holds more than this report of run $(json b.json 'j["run"]["id"]'), which is not read False"
for junk in 'more' '{"a": ' '\000\000' '\377\n{}'; do
	# shellcheck disable=SC2059
	(cat a.json; printf "$junk") >junk.json
	status "... so is what is none: $junk" 3 "$IOPS" merge -o got.json junk.json
done
timeout 20 "$IOPS" run --json -o - -- sh -c 'cat /etc/passwd >&2; kill -USR1 $PPID; sleep 0.3; cat /etc/passwd >&2' >snap.json 2>/dev/null
is "of a snapshot and its report it is the report" "$(grep -c schema snap.json) $("$IOPS" merge --json snap.json | /usr/bin/python3 -c 'import json,sys; j=json.load(sys.stdin); print(j["run"]["complete"], sum(f["read"]["operations"] for f in j["by"]["file"] if f["path"] == "/etc/passwd"))')" "2 True 4"
status "rows without a report" 1 sh -c 'head -1 lines.json | "$0" merge -' "$IOPS"

# What "as much as there is" asks for does not wrap around.
"$IOPS" run --json -o cp.json -- sh -c 'for i in 1 2 3; do cp /etc/services s$i; done'
is "requests of all there is" "$(json cp.json 'j["total"]["read"]["requested_bytes"] >= 2**63 - 1')" True
"$IOPS" diff --json cp.json a.json >d.json
is "... and their change" "$(json d.json '(lambda x: x["change"] == x["b"] - x["a"])(j["total"]["all"]["requested_bytes"])')" True

# Nothing that is to be read is overwritten.
cp a.iops keep.iops; ln keep.iops link.iops; ln -s keep.iops sym.iops
for out in "-l keep.iops" "-o keep.iops" "-l link.iops" "-o sym.iops" "-l ./keep.iops"; do
	# shellcheck disable=SC2086
	status "report $out: wrong usage" 2 "$IOPS" report $out keep.iops
done
status "merge" 2 "$IOPS" merge -o keep.iops keep.iops a.json
status "diff" 2 "$IOPS" diff -o keep.iops keep.iops a.json
status "export" 2 "$IOPS" export --to csv -o keep.iops keep.iops
status "a log stays where an input is missing" 1 "$IOPS" report -l keep.iops a.iops nosuch
ok "the log is as it was" cmp a.iops keep.iops
status "report and log in one file" 2 "$IOPS" run -o x -l x -- true
status "... by two names, which is not there yet" 2 "$IOPS" run -o new -l "./new" -- true
mkdir other; status "... nor is that of another folder" 0 "$IOPS" run -q -o new -l other/new -- true
odd=$(printf 'a\377')
"$IOPS" run --json -o odd.json -- sh -c : "$odd"
"$IOPS" merge --json -o odd2.json odd.json
is "a command that is no UTF-8 is kept" "$(for f in odd odd2; do json $f.json '__import__("base64").b64decode(j["run"]["command_base64"][3])'; done | tr '\n' ' ')" "b'a\\xff' b'a\\xff' "
status "report and log in one stream" 2 "$IOPS" report -l - a.iops
head -c 20000 /dev/zero | tr '\0' X >old.csv
"$IOPS" run -i 0.1 -f csv -o old.csv -- sleep .15
fails "rows replace what a file held" grep -q X old.csv
status "standard output is closed" 1 sh -c '"$0" export --to csv a.iops >&-' "$IOPS"
# A report whose buckets do not hold as many as it says.
sed 's/"buckets":\[\[/&5,200000],[/g' a.json >lie.json
fails "a report that was changed" cmp -s a.json lie.json
status "... is not summed" 1 "$IOPS" merge a.json lie.json
is "... but named" "$(cat status.out)" "iops: lie.json: damaged, or of another version"
status "... nor compared" 1 "$IOPS" diff a.json lie.json

# A report of several runs is one like any other: of a rack, of the racks together.
for h in one two; do
	"$IOPS" run --by file,host,thread,process --json -o $h.json -- sh -c 'cat /etc/passwd | sort >'$h'; sleep 5 >/dev/null 2>&1 &'
	sed -i 's/"host":"[^"]*"/"host":"'$h'"/g; s/"pid":[0-9]*/"pid":7/g' $h.json
done
by() { "$IOPS" merge --by file,host,thread,process --json "$@"; }
by one.json two.json >rack.json
by rack.json >again.json; same "a merged report stays as it is" again.json rack.json
is "... its hosts are told apart" "$(json again.json '[r["host"] for r in j["by"]["host"]], len(j["run"]["runs"]), len({(t["host"], t["pid"]) for t in j["by"]["thread"]})')" "(['one', 'two'], 2, 2)"
is "... and what goes on is counted" "$(json again.json 'j["run"]["still_running"]')" 2
sed 's/"host":"[^"]*"/"host":"one"/g' two.json >alike.json
by one.json alike.json >rack2.json; by rack2.json >again.json
threads() { json "$1" 'sorted((t["command"], t["all"]["operations"]) for t in j["by"]["thread"])'; }
is "runs of one host, by command" "$(threads again.json)" "$(threads rack2.json)"
(cat rack.json; echo more) >junk.json
status "one with something behind it" 3 "$IOPS" merge --json -o got.json junk.json
is "... is not whole" "$(json got.json 'j["run"]["complete"]')" False
for runs in '[0]' '"x"' 'null' '{"a":{"id":"x","host":"y"}}'; do
	/usr/bin/python3 -c 'import json, sys; j = json.load(open("rack.json")); j["run"]["runs"] = json.loads(sys.argv[1]); json.dump(j, open("bad.json", "w"))' "$runs"
	status "... whose runs are none: $runs" 1 "$IOPS" merge bad.json
done
by rack.json one.json >three.json
is "... and so are its runs, of three" "$(json three.json '[r["host"] for r in j["run"]["runs"]]')" "['one', 'two', 'one']"
ok "... by the schema" /usr/bin/python3 -m jsonschema -i three.json "$ROOT/share/report-1.schema.json"
sed 's/"lost":0,/"lost":0,"snapshot":true,/' a.json >now.json
is "of one that goes on it is told" "$(merge now.json | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["run"]["snapshot"])')" True
"$IOPS" report --json -o block.json "$DATA/blktrace/sched"
"$IOPS" merge --json block.json >one.json
is "events without data, and how far apart data is" "$(json one.json 'j["layers"]["block"]')" "$(json block.json 'j["layers"]["block"]')"
# What cannot be summed is not told as 0.
sed 's/"pids"/"layers":["main","cache","block","uring"],"pids"/' a.json >layers.json
"$IOPS" merge --json layers.json >one.json
is "there is no story of what is not summed, but what was traced" "$(json one.json '"story" in j, j["run"]["layers"]')" "(False, ['main', 'block', 'cache', 'uring'])"

# A row of what changed has something to show: that it is synced more often, too.
printf '100 read(3</a b>, "x", 10) = 10\n100 fsync(3</a b>) = 0\n100 read(3</c>, "x", 10) = 10\n' >less.txt
printf '100 read(3</a b>, "x", 10) = 10\n100 fsync(3</a b>) = 0\n100 fsync(3</a b>) = 0\n100 read(3</c>, "x", 100) = 10\n' >more.txt
is "syncs by file" "$("$IOPS" diff less.txt more.txt | awk '/^file / { on = 1; next } on' | head -2 | tr -s ' ')" "/a b +1 
0 without a change, 1 with changes that only --json tells"
is "a trace of no host has none" "$("$IOPS" report --json --by host less.txt >host.json; json host.json '[r["host"] for r in j["by"]["host"]]')" "[None]"
ok "... by the schema" /usr/bin/python3 -m jsonschema -i host.json "$ROOT/share/report-1.schema.json"
is "all that JSON tells of a row is in CSV" "$("$IOPS" report -f csv a.iops | head -1 | grep -c peek_operations)" 1
# 59 of 60 are not 99 of 100.
(for _ in $(seq 59); do echo '100 read(3</f>, "x", 10) = 10 <0.000010>'; done; echo '100 read(3</f>, "x", 10) = 10 <1.000000>') >slow.txt
is "the slowest of few is the 99th percentile" "$("$IOPS" report --json slow.txt >slow.json; json slow.json '[j["total"]["read"]["latency_ns"][q] > 9e8 for q in ("p50", "p90", "p99")]')" "[False, False, True]"
# A report replaces what was there.
yes x | head -c 4000 >doctor.json; "$IOPS" doctor -o doctor.json
ok "... doctor's too" json doctor.json 'j["backends"]'

plan
