#!/bin/sh
# shellcheck disable=SC2016,SC2086
# What requests of io_uring and of Linux AIO say of themselves besides their file, offset and
# length. (All else of them: 12-async.t.)
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# Where each write began: those that append where the file ended, of requests not known.
cat >ends.py <<'END'
import json, sys
rows = [json.loads(l) for l in open("u.jsonl")]
rows = [r for r in rows if (r["path"] or "").endswith("/file") and r["kind"] == "write"]
assert len(rows) == 80, len(rows)
end = 0
for r in sorted(rows, key=lambda r: r["start_ns"]):
    at = 0 if ":" in r["call"] and sys.argv[1] in ("unset", "aio-unset", "plain") else end
    assert r["offset"] == at or (r["offset"] is None and ":" in r["call"] and at == end), (r["call"], r["offset"], at)
    end = max(end, at + r["bytes"])
END
# What requests were about: each once, with what else is given as arguments.
cat >rows.py <<'END'
import json, sys
rows = [json.loads(l) for l in open("u.jsonl")]
name = lambda p: p and p[p.rfind("/") + 1:]
what = lambda r: () if r["type"] == "socket" else (name(r["path"]), r["type"], bool(r["inode"]))
got = [(r["call"][9:], *what(r), *(r[k] for k in sys.argv[2:])) for r in rows if r["call"].startswith("io_uring:")]
want = eval(sys.argv[1])
assert got == want, got
run = json.load(open("u.json"))["run"]
assert run["complete"] and not run["lost"], run
END
rows() {	# name, mode, helper and its way, what is wanted, members
	name=$1 opt=$2 helper=$3 how=$4; shift 4
	rm -f u.iops
	"$IOPS" run $opt -l u.iops --json -o u.json -- "$HELP/$helper" $how "$DIR/file" >/dev/null
	"$IOPS" export --to jsonl u.iops >u.jsonl
	ok "$name, $how $opt" /usr/bin/python3 rows.py "$@"
}
# Five times requests of (requested, bytes, errno), then one that does what it is to.
each() {
	cat <<-END
		[("READ", *(("file", "regular", True) if x[2] != "EBADF" else (None, "unknown", False)), *x)
			for i in range(5) for x in ($1 (30 + i, 30 + i, None))]
	END
}
modes="$MODES --no-filter"
begins() {	# helper's way to write, mode
	"$HELP/appends" $1 "$DIR/file" || { skip "this kernel has no such flag: $1"; return; }
	"$IOPS" run $2 -l u.iops -o /dev/null -- "$HELP/appends" $1 "$DIR/file"
	"$IOPS" export --to jsonl u.iops >u.jsonl
	ok "what appends, and what does not, $1 $2" /usr/bin/python3 ends.py $1
}

if "$HELP/uring" file >/dev/null 2>&1; then
	for mode in $modes; do
		[ $mode = default ] && mode=
		for how in flag unset registered plain; do begins $how $mode; done
		for how in open alloc; do
			rows "a file that is opened among the registered ones" "$mode" slots $how \
				'[("WRITE", "file", "regular", True, 100 * i) for i in range(5)]' offset
		done
		rows "... and is new" "$mode" slots new '[("WRITE", "file.other", "regular", True, 100 * i) for i in range(5)]' offset
		for how in linked silent replaced; do
			rows "... by one that others are linked to" "$mode" slots $how \
				'[("READ", "file", "regular", True, 300, 100), ("WRITE", "file.other", "regular", True, 300, 100)] * 2' offset bytes
		done
		for how in "severed (10,0,'EBADF')," "called (10,0,'EBADF'),(20,0,'ECANCELED'),(25,0,'ECANCELED')," "brief (100,50,None)," "hard (10,0,'EBADF'),(20,20,None),"; do
			rows "what is linked to one that fails" "$mode" sorts ${how%% *} "$(each "${how#* }")" requested bytes errno
		done
		rows "messages, without what is before them" "$mode" sorts message '[("RECVMSG", 100 + i) for i in range(5)]' bytes
		rows "what is shown and not taken" "$mode" sorts peek '[("RECV:peek", "peek", 50 + i, 50 + i) for i in range(4)] + [("RECV", "read", 54, 54)]' kind requested bytes
		rows "what did not fit is not read" "$mode" sorts longer '[("RECV", 50 + i, 50 + i) for i in range(5)]' requested bytes
		rows "a notice is no answer" "$mode" sorts notice '[("SEND_ZC", 1000 + i, 1000 + i) for i in range(5)]' requested bytes
		rows "what is accepted there is not what listens" "$mode -e data,accept4" slots accepted '[("ACCEPT", 0)] + [("RECV", None, "unknown", False, 100)] * 5' bytes
		rows "a close there is of that file" "$mode -e close" slots linked '[("CLOSE", n, "regular", True, None) for n in 2 * ["file", "file.other"]]' fd
		! "$HELP/slots" pipes "$DIR/file" 2>/dev/null ||
			rows "a pipe is not descriptor 0" "$mode -e pipe2" slots pipes '[("PIPE", None, "unknown", False, None)] * 5' fd
		! timeout 5 "$HELP/sorts" parts "$DIR/file" 2>/dev/null ||
			rows "what is sent in parts" "$mode" sorts parts '[("SEND", 30, 30)] * 25' requested bytes
		for how in somewhere updated; do
			rows "files that a request registers" "$mode" slots $how '[("WRITE", "file.other", "regular", True, 100 * i) for i in range(5)]' offset
		done
		rows "a new file" "$mode -e all" slots named '[(c, "file.other", "regular", True) for c in ["OPENAT"] + 5 * ["WRITE"]]'
	done
else
	skip "io_uring is not allowed here"
fi

if "$HELP/aio" file >/dev/null 2>&1; then
	for mode in $modes; do
		[ $mode = default ] && mode=
		for how in aio aio-unset; do begins $how $mode; done
	done
else
	skip "Linux AIO is not allowed here"
fi
plan
