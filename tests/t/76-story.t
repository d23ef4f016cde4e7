#!/bin/sh
# shellcheck disable=SC2015,SC2016,SC2317
# run --layers: what a program asked for, and what became of it down to the device.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
keep_cache

# Without the rights: one line, and all the rest.
chmod 755 .
cp "$IOPS" ./iops
setpriv --reuid 65534 --clear-groups ./iops run --layers --json -o - -- cat /etc/passwd >no.json 2>no.err
is "without rights: by ptrace" "$(sed -n '/^{/,$p' no.json >j.json; json j.json 'j["run"]["backend"], "story" in j, "layers" in j["run"], j["total"]["read"]["bytes"] > 0')" "('ptrace', False, False, True)"
is "... which the report says" "$(json j.json 'j["run"]["backend_reason"][:42]')" "no layers below the calls: eBPF takes root"
is "... and nothing else does" "$(cat no.err)" ""
is "... the ledger has its explanation" "$(json j.json '"page cache" in j["ledger"]["explanation"]["read"]')" True
status "another backend cannot" 2 "$IOPS" run -b ptrace --layers -- true
rm iops

[ "$BPFMODE" ] || { skip "eBPF: it takes root and a kernel with BTF"; plan; }
truncate -s 128M img && mkdir mnt && mkfs.ext4 -q -b 4096 img 2>/dev/null && mount -o loop img mnt 2>/dev/null ||
	{ skip "no loop device with ext4 here"; plan; }
trap 'cd /; umount "$DIR/mnt" 2>/dev/null; rm -rf "$DIR"' EXIT
m="$HELP/ledger" size=8388608
cat "$m" >/dev/null
"$m" write:mnt/big:$size fsync:mnt/big write:mnt/old:1048576 fsync:mnt/old >/dev/null
sync

# f: the file at hand. r, w: its story; R, W: that of all. S: bytes of mnt/big.
told() {	# report file python-expression
	/usr/bin/python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))["story"]
rows = [f for f in s["by_file"] if (f["path"] or "").endswith("/mnt/" + sys.argv[2])]
assert len(rows) == 1, rows
f = rows[0]; r, w, R, W, S = f["read"], f["write"], s["total"]["read"], s["total"]["write"], '"$size"'
assert eval(sys.argv[3]), f' "$1" "$2" "$3"
}
try() {		# name file expression ops...
	name=$1 file=$2 what=$3; shift 3
	"$IOPS" run --layers -l s.iops --json -o s.json -- "$m" "$@" >/dev/null
	ok "$name" told s.json "$file" "$what"
	is "... nothing lost, and all verified" "$(json s.json 'j["run"]["lost"], j["run"]["verified"]["matched"]')" "(0, 1)"
}

try "a file that is not in the cache" big 'r["asked_bytes"] == S == r["hit_bytes"] + r["missed_bytes"] == r["missed_bytes"] + r["readahead_bytes"] == r["device_bytes"] and r["amplification"] == 1 and r["missed_bytes"] and r["call_time_ns"] and r["device_time_ns"] and w["device_bytes"] == 0' drop:mnt/big read:mnt/big
"$IOPS" report --json -o again.json s.iops
is "its log says the same" "$(json again.json 'j["story"], j["run"]["layers"]')" "$(json s.json 'j["story"], j["run"]["layers"]')"
is "what was traced" "$(json s.json 'j["run"]["backend"], j["run"]["layers"]')" "('bpf', ['main', 'block', 'cache', 'fault', 'uring'])"
is "files add up to the whole" "$(json s.json '[[k for d in ("read", "write") for k in s["total"][d] if k.endswith("_bytes") and sum(f[d][k] for f in s["by_file"]) != s["total"][d][k]] for s in [j["story"]]]')" "[[]]"
/usr/bin/python3 - <<'EOF'
import json
j = json.load(open("s.json"))
del j["layers"]
json.dump(j, open("part.json", "w"))
EOF
ok "it matches its schema" /usr/bin/python3 -m jsonschema -i part.json "$ROOT/share/report-1.schema.json"
is "calls and ledger are told as ever" "$(json s.json '(j["total"]["read"]["bytes"] - j["ledger"]["memory_read_bytes"], j["ledger"]["storage_read_bytes"] == j["story"]["total"]["read"]["device_bytes"])')" "($size, True)"
try "one that is" big 'r["asked_bytes"] == S == r["hit_bytes"] and r["missed_bytes"] == r["readahead_bytes"] == r["device_bytes"] == r["device_requests"] == 0 and r["amplification"] == 0' read:mnt/big
try "read twice" big 'r["asked_bytes"] == 2 * S == r["hit_bytes"] + r["missed_bytes"] and r["device_bytes"] == S and r["amplification"] == 0.5' drop:mnt/big read:mnt/big read:mnt/big
try "random reads, nothing ahead" big 'r["asked_bytes"] == r["missed_bytes"] == r["device_bytes"] == 409600 and r["hit_bytes"] == r["readahead_bytes"] == 0 and r["device_requests"] == r["calls"] == 100' drop:mnt/big jump:mnt/big:409600
try "a little, and read ahead" big 'r["asked_bytes"] == 4096 and r["hit_bytes"] + r["missed_bytes"] == 4096 and r["device_bytes"] == r["missed_bytes"] + r["readahead_bytes"] > 4096 and r["amplification"] == r["device_bytes"] / 4096' drop:mnt/big read:mnt/big:4096
try "past the cache" big 'r["asked_bytes"] == r["device_bytes"] == 1048576 and r["hit_bytes"] == r["missed_bytes"] == r["readahead_bytes"] == 0' drop:mnt/big readdirect:mnt/big:1048576
try "mapped" big 'r["asked_bytes"] == r["calls"] == 0 and r["device_bytes"] == S == r["missed_bytes"] + r["readahead_bytes"] and r["mapped_missed_bytes"] == r["missed_bytes"] > 0 and r["major_faults"] > 0 and "amplification" not in r and R["major_fault_time_ns"] > 0' drop:mnt/big map:mnt/big
try "written and synced" old 'w["asked_bytes"] == w["dirtied_bytes"] == w["device_bytes"] == 1048576 and w["dirty_bytes"] == 0 and w["sync_calls"] == 1 and w["sync_time_ns"] >= w["device_time_ns"] > 0' write:mnt/old:1048576 fsync:mnt/old
try "written, not synced" old 'w["asked_bytes"] == w["dirtied_bytes"] == w["dirty_bytes"] == W["dirty_bytes"] == 1048576 and w["device_bytes"] == w["sync_calls"] == 0' write:mnt/old:1048576
"$m" fsync:mnt/old >/dev/null
try "a few bytes" old 'w["asked_bytes"] == 100 and w["dirtied_bytes"] >= 4096 == w["device_bytes"] and w["dirty_bytes"] == 0 and w["amplification"] == 40.96' write:mnt/old:100 fsync:mnt/old
try "written twice, once to the device" old 'w["asked_bytes"] == 131072 and w["dirtied_bytes"] == w["device_bytes"] == 65536 and w["amplification"] == 0.5' write:mnt/old:65536 write:mnt/old:65536 fsync:mnt/old
try "written past the cache" old 'w["asked_bytes"] == w["device_bytes"] == 65536 and w["dirtied_bytes"] == w["dirty_bytes"] == 0' writedirect:mnt/old:65536
try "thrown away" new 'w["asked_bytes"] == w["dirtied_bytes"] == w["dropped_bytes"] == 1048576 and w["device_bytes"] == w["dirty_bytes"] == 0' write:mnt/new:1048576 cut:mnt/new:0

# One file under two names is one row; what a child does counts.
"$IOPS" run --layers --json -o s.json -- sh -c '"$0" drop:mnt/big read:mnt/big:65536; mv mnt/big mnt/moved; "$0" read:mnt/moved' "$m" >/dev/null
is "one file under two names" "$(json s.json '[f["read"]["asked_bytes"] for f in j["story"]["by_file"] if f["inode"] == '"$(stat -c %i mnt/moved)"' and f["device"] == "'"$(stat -c %Hd:%Ld mnt/moved)"'"]')" "[$((size + 65536))]"
mv mnt/moved mnt/big

COLUMNS=80 "$IOPS" run --layers -o t.txt -- "$m" drop:mnt/big read:mnt/big write:mnt/old:1048576 >/dev/null
ok "the table keeps to 80 columns" sh -c '[ "$(wc -L <t.txt)" -le 80 ]'
is "... tells how it was read" "$(grep -c '/mnt/big  *8.0 MiB  *99.[0-9] %  *7.9 MiB  *8.0 MiB  *1.0 ' t.txt)" 1
is "... and written" "$(grep -c '/mnt/old  *1.0 MiB  *1.0 MiB  *0 B  *1.0 MiB  *0.0 ' t.txt)" 1
is "... and what is left" "$(grep -c '^still dirty at the end: 1.0 MiB' t.txt)" 1
fails "... once: no tables of the layers" grep -q "page cache" t.txt
COLUMNS=80 "$IOPS" run -v --layers -o t.txt -- "$m" read:mnt/big >/dev/null
ok "... but with -v" grep -q "^page cache" t.txt
"$IOPS" trace --layers fs,cache --json -o p.json -- "$m" read:mnt/big >/dev/null
is "half the layers tell no story" "$(json p.json '"story" in j, j["run"]["layers"]')" "(False, ['main', 'cache'])"
"$IOPS" trace --json -o p.json -- "$m" read:mnt/big >/dev/null
is "a trace of them does" "$(json p.json '[f["read"]["hit_bytes"] for f in j["story"]["by_file"] if f["path"].endswith("/big")]')" "[$size]"
status "the status is the command's" 7 "$IOPS" run --layers -q -o /dev/null sh -c 'exit 7'
plan
