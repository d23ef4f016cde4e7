#!/bin/sh
# shellcheck disable=SC2016
# Traces of other tools, recognised by content, as a report, a log and an export.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
DATA=${DATA:-$ROOT/tests/data}

# Every line of these texts is an operation of one layer or a remark; what they add up to
# was counted by hand.
"$IOPS" report --json "$DATA/fs_usage/wide.txt" >w.json 2>w.err; is "fs_usage, wide: status" $? 0
is "... layers stay apart" "$(json w.json 'j["total"]["all"]["operations"] == j["total"]["read"]["operations"] + j["total"]["write"]["operations"] and j["layers"]["block"]["completed"]["all"]["operations"] > 0')" True
is "... reads and writes by lines" "$(json w.json '(j["total"]["read"]["operations"] + j["total"]["read"]["errors"] + j["total"]["read"]["again"] + j["total"]["read"]["interrupted"], j["total"]["write"]["operations"] + j["total"]["write"]["errors"] + j["total"]["write"]["again"] + j["total"]["write"]["interrupted"])')" \
	"$(awk '{ c = tolower($2) } c ~ /^(p|guarded_)?p?readv?(_nocancel)?$|^readlink/ { r++ } c ~ /^(p|guarded_)?p?writev?(_np)?(_nocancel)?$/ { w++ } END { print "(" r + 0 ", " w + 0 ")" }' "$DATA/fs_usage/wide.txt")"
ok "... matches the schema" /usr/bin/python3 -m jsonschema -i w.json "$ROOT/share/report-1.schema.json"
for f in narrow plain; do
	status "fs_usage, $f: status" 0 "$IOPS" report "$DATA/fs_usage/$f.txt"
done

status "FUSE trace: status" 0 "$IOPS" report --json -o f.json "$DATA/fuse-trace/calls.trace"
is "... every line is an operation" "$(json f.json 'sum(j["total"][c]["operations"] for c in ("read", "write", "sync", "meta"))')" "$(wc -l <"$DATA/fuse-trace/calls.trace")"
is "... bytes are those asked for" "$(json f.json '(j["total"]["read"]["bytes"], j["total"]["write"]["bytes"])')" \
	"$(awk '/ READ:/ { match($0, /length=[0-9]+/); r += substr($0, RSTART + 7, RLENGTH - 7) } / WRITE:/ { match($0, /length_buf=[0-9]+/); w += substr($0, RSTART + 11, RLENGTH - 11) } END { print "(" r ", " w ")" }' "$DATA/fuse-trace/calls.trace")"
is "... without a time that nobody knows" "$(json f.json '"latency_ns" in j["total"]["read"] or "time_ns" in j["total"]["read"]')" False
ok "... matches the schema" /usr/bin/python3 -m jsonschema -i f.json "$ROOT/share/report-1.schema.json"
status "damage: status 3" 3 "$IOPS" report -o d.txt "$DATA/fuse-trace/damaged.trace"
ok "... says the line" grep -q 'damaged.trace: line [0-9]*: .* could not be read' status.out
ok "... and reports the rest" grep -q '^read ' d.txt

# Anything that is read can be logged and exported, and is the same then.
for f in fs_usage/wide.txt fuse-trace/calls.trace; do
	"$IOPS" report -l x.iops --json "$DATA/$f" | grep -v reported_at >a.json
	"$IOPS" report --json x.iops | grep -v reported_at >b.json
	ok "$f by way of a log is the same" cmp a.json b.json
	for to in csv jsonl chrome folded; do
		status "$f to $to" 0 "$IOPS" export --to $to -o out "$DATA/$f"
	done
done

status "not a trace" 1 "$IOPS" report /etc/passwd
ok "... says so" grep -q '/etc/passwd: no trace that iops knows' status.out
status "empty" 1 "$IOPS" report /dev/null
status "not there" 1 "$IOPS" report nosuch
ok "... says so" grep -q 'nosuch: No such file' status.out
status "a folder" 1 "$IOPS" report /
status "--from of the wrong kind" 3 "$IOPS" report --from strace /etc/passwd
status "--from that nobody knows" 2 "$IOPS" report --from nosuch /etc/passwd
status "no file" 2 "$IOPS" report
head -c 300 "$DATA/fuse-trace/calls.trace" >cut.trace
status "the last line is cut" 3 "$IOPS" report cut.trace
printf '%s\n' '20240229-235959.6:   RENAME: old=/a; x; new=/b; c' '20240229-235959.7:  SYMLINK: name=/l; target=../x; y=2' \
	'20240229-235959.8:     LINK: target=/a; name=/b; c' >names.trace
status "names with what separates keys" 0 "$IOPS" report names.trace
printf '00:00:00.000100  read  F=4  B=0x800  0.000010  my prog.77\n00:00:00.000200  write  F=4  B=0x8' >cut.txt
status "a number that is cut" 3 "$IOPS" report --json -o cut.json cut.txt
is "... is not taken for one" "$(json cut.json 'j["total"]["write"]["bytes"]')" 0
ok "from a pipe" sh -c 'cat "$1" | "$0" report - | grep -q "^iops: .*fuse-trace, complete"' "$IOPS" "$DATA/fuse-trace/calls.trace"
plan
