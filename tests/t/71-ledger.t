#!/bin/sh
# shellcheck disable=SC2086,SC2016,SC2317
# From the calls to storage: what the kernel has on the account of threads, told as it is,
# and why it differs from what was asked for.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
keep_cache

case $(stat -f -c %T .) in
ext2/ext3|xfs|btrfs) ;;
*) DIR2=$(mktemp -d "$ROOT/build/ledger.XXXXXX") || skip_all "no file system on a disk here"
	trap 'cd /; rm -rf "$DIR" "$DIR2"' EXIT
	cd "$DIR2" || exit 1 ;;
esac
counts() {
	for _ in 1 2 3 4 5; do
		"$HELP/ledger" write:probe:4096 fsync:probe drop:probe read:probe | grep -q '^read_bytes: 4096$' && return
		sleep 0.2
	done
	return 1
}
counts || skip_all "no file system whose storage the kernel counts"
m="$HELP/ledger" size=8388608
"$m" write:big:$size fsync:big >/dev/null

# What it found on its own account, just before its last two calls, which moved n bytes.
# The byte is what the launcher was told to go on by.
same() {	# report own-account mode
	/usr/bin/python3 - "$1" "$2" "$3" <<-'END2'
		import json, sys
		l, text = json.load(open(sys.argv[1]))["ledger"], open(sys.argv[2]).read()
		own = {k: int(v) for k, v in (line.split(": ") for line in text.splitlines())}
		early = own["rchar"] + len(text) - l["rchar"]
		assert early == (0 if sys.argv[3].endswith("proc") else 1), (own, l)
		assert l["wchar"] == own["wchar"] + len(text), (own, l)
		for ours, theirs in (("storage_read_bytes", "read_bytes"), ("storage_write_bytes", "write_bytes"),
				("cancelled_write_bytes", "cancelled_write_bytes")):
		    assert l[ours] == own[theirs], (ours, own, l)
		assert l["accounts"] == 1
	END2
}

# meta(n): n bytes and perhaps metadata, which file systems without a journal charge too.
told() {	# report python-expression of l, r = why reading, w = why writing
	/usr/bin/python3 -c 'import json, sys
l = json.load(open(sys.argv[1]))["ledger"]
meta = lambda n: 0 <= l["storage_write_bytes"] - n < 65536
r, w, S = l["explanation"]["read"], l["explanation"]["write"], '$size'
assert eval(sys.argv[2]), l' "$1" "$2"
}

try() {		# name expression ops...
	name=$1 what=$2; shift 2
	"$IOPS" run $mode -l l.iops --json -o l.json -- "$m" "$@" | cat >own
	ok "$mode, $name: the account" same l.json own "$mode"
	ok "... and what that means" told l.json "$what"
	"$IOPS" report --json -o again.json l.iops
	is "... and so says its log" "$(json again.json 'j["ledger"]')" "$(json l.json 'j["ledger"]')"
}

for mode in $MODES $BPFMODE; do
	[ "$mode" = default ] && mode=--color=never
	try "a file that is not in the cache" 'l["storage_read_bytes"] == S and l["file_read_bytes"] - l["memory_read_bytes"] == S and "page cache" not in r and "more than" not in r' drop:big read:big
	try "a file that is" 'l["storage_read_bytes"] == 0 and r.startswith(f"{S} bytes came from the page cache")' read:big
	try "one that is in it the second time" 'l["storage_read_bytes"] == S and r.startswith(f"{S} bytes came from the page cache")' drop:big read:big read:big
	try "past the cache" '0 <= l["storage_read_bytes"] - 409600 < 65536 and "page cache" not in r' drop:big readdirect:big:409600
	try "read ahead" 'l["storage_read_bytes"] > 4096 and r.startswith("%d bytes more than was asked for: read ahead" % (l["storage_read_bytes"] - 4096))' drop:big read:big:4096
	try "mapped" 'l["storage_read_bytes"] == S and r.startswith(f"{S} bytes that no call asked for: programs that were loaded, mapped files")' drop:big map:big
	try "written, not synced" 'meta(1048576) and l["file_write_bytes"] == 1048576 and "%d bytes without a sync" % l["storage_write_bytes"] in w' write:a:1048576
	try "written and synced" 'meta(1048576) and "without a sync" not in w and "waiting" not in w' write:b:1048576 fsync:b
	try "a part of a page" 'meta(4096) and w.startswith("%d bytes more than was asked for: whole pages" % (l["storage_write_bytes"] - 100))' write:c:100 fsync:c
	try "written twice at once" 'meta(1048576) and w.startswith("%d bytes went to pages that were waiting" % (2097152 - l["storage_write_bytes"]))' write:d:1048576 write:d:1048576 fsync:d
	try "thrown away" 'meta(1048576) and l["cancelled_write_bytes"] >= 1048576 and w.startswith("%d bytes truncated or deleted before they were written" % l["cancelled_write_bytes"])' write:e:1048576 cut:e:0
	rm -f a b c d e
	if [ "$(stat -f -c %T /dev/shm)" = tmpfs ]; then
		try "in memory" 'l["storage_write_bytes"] == 0 and l["memory_write_bytes"] == 65536 and w == "65536 bytes to files that lie in memory: tmpfs and the like" and "65536 bytes of files" not in r and "65536 bytes came" not in r' write:/dev/shm/iops.$$:65536 read:/dev/shm/iops.$$
		rm /dev/shm/iops.$$
	else
		skip "/dev/shm is no tmpfs"
	fi
done

mode=--backend=proc
try "counters" 'l["storage_read_bytes"] == S and "file_read_bytes" not in l' drop:big read:big

# Threads and children have accounts of their own; their sum is told. To make a file the
# file system may have to read blocks of its own.
"$IOPS" run --json -o t.json -- sh -c '"$0" drop:big read:big | cat >own; "$0" read:big | cat >own2; sh -c "echo x >f"' "$m"
is "accounts of a tree" "$(json t.json '[(l["accounts"], 0 <= l["storage_read_bytes"] - '$size' < 65536, l["storage_write_bytes"] >= 12288, j["run"]["verified"]["threads"]) for l in [j["ledger"]]]')" "[(6, True, True, 6)]"
"$IOPS" run --json -o u.json -- "$m" read:big >/dev/null
"$IOPS" merge --json -o m.json t.json u.json
is "sums of reports" "$(json m.json '[j["ledger"][k] for k in ("accounts", "rchar", "storage_read_bytes")]')" \
	"$(/usr/bin/python3 -c 'import json
a, b = (json.load(open(f))["ledger"] for f in ("t.json", "u.json"))
print([a[k] + b[k] for k in ("accounts", "rchar", "storage_read_bytes")])')"
ok "... and of what is in memory" test "$(json m.json 'j["ledger"]["memory_read_bytes"]')" -ge "$(json u.json 'j["ledger"]["memory_read_bytes"]')"
is "the file system of a file" "$(json u.json '[r["file_system"] for r in j["by"]["file"] if r["path"].endswith("/big")]')" "['$(findmnt -no FSTYPE -T .)']"
is "... in memory" "$(json u.json '[r["file_system"] for r in j["by"]["file"] if r["path"].endswith("/io")]')" "['proc']"
"$IOPS" run -P '*/big' --json -o p.json -- "$m" read:big >/dev/null
is "a filter explains nothing" "$(json p.json 'j["ledger"]["explanation"]["read"][:26]')" "not all calls are in this "
"$IOPS" run -e fsync --json -o p.json -- "$m" read:big >/dev/null
is "nor do calls that are left out" "$(json p.json 'j["ledger"]["rchar"] > '$size', j["ledger"]["explanation"]["read"][:26]')" "(True, 'not all calls are in this ')"
for set in data classic; do
	"$IOPS" run -e $set --json -o p.json -- sh -c 'dd if=/dev/zero of=synced bs=64k count=4 conv=fsync; cp synced copied' 2>/dev/null
	is "... of -e $set: no word of syncs or core dumps" "$(json p.json 'j["run"]["filtered"], "without a sync" in str(j["ledger"]), "core dumps" in str(j["ledger"])')" "(True, False, False)"
done
"$IOPS" run -l whole.iops -o /dev/null -- dd if=/dev/zero of=lost bs=1 count=400000 2>/dev/null
/usr/bin/python3 - <<-'END'
	import struct
	log = open("whole.iops", "rb").read()
	magic = log[:4]
	at = [i for i in range(len(log)) if log.startswith(magic, i)]
	assert len(at) > 5, at
	open("cut.iops", "wb").write(log[:at[3]] + log[at[4]:])
END
"$IOPS" report --json cut.iops >p.json 2>/dev/null
is "operations that were lost are told as such" "$(json p.json 'j["run"]["lost"] > 0, "not seen" in j["ledger"]["explanation"]["wchar"], "core dumps" in str(j["ledger"]), j["ledger"]["explanation"]["write"]')" "(True, True, False, 'some operations were not seen')"
COLUMNS=80 "$IOPS" run -o t.txt -- "$m" drop:big read:big:100000 >/dev/null
is "the table: how it was read" "$(grep -c '^read: files 97.8 KiB, storage [0-9.]* [KM]iB: read ahead, mapped$' t.txt)" 1
COLUMNS=80 "$IOPS" run -o t.txt -- "$m" write:a:100 >/dev/null
is "... and written" "$(grep -c '^written: files 100 B, storage [0-9.]* KiB: not synced: may be written later' t.txt)" 1
ok "... in 80 columns" sh -c '[ "$(wc -L <t.txt)" -le 80 ]'
"$HELP/loop" rw 100000000 100 >loop.out &
loop=$!
sleep 0.2
# The account is read beside the first and the last call: on a machine that is busy with
# others a while may pass in between, for once.
for b in ptrace ${BPFMODE:+bpf}; do
	for _ in 1 2 3 4 5; do
		"$IOPS" attach -b $b -d 0.3 --json -o a.json $loop
		got=$(json a.json 'j["ledger"]["accounts"], 0.98 < j["ledger"]["rchar"] / j["ledger"]["call_read_bytes"] < 1.02')
		[ "$got" != "(1, True)" ] || break
	done
	is "attach, $b: what was on the account meanwhile" "$got" "(1, True)"
done
kill $loop
plan
