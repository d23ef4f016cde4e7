#!/bin/sh
# shellcheck disable=SC2016,SC2086
# Requests of io_uring and of Linux AIO, read where they are asked for and answered.
# (By eBPF: 37-bpf.t.)
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# What a helper did, call by call: operations, errors, bytes; what it asked for, if it says.
cat >compare.py <<'END'
import json
want, j = json.load(open("want.json")), json.load(open("u.json"))
kinds = ("read", "write", "sync", "meta")
for w in want.values():
    if len(w) == 2:
        w.insert(1, 0)
got = {}
for r in j["by"]["call"]:
    if ":" in r["call"] and not r["call"].endswith((":peek", ":NOP")):
        two = 2 if "SPLICE" in r["call"] else 1
        got[r["call"]] = [sum(r[k][x] for k in kinds if k in r) // two for x in ("operations", "errors")] + \
            [sum(r[k][x] for k in kinds[:2]) // two for x in ("bytes", "requested_bytes")][:max(map(len, want.values()), default=0) - 2]
        assert "SPLICE" not in r["call"] or r["all"]["operations"] == got[r["call"]][0], r
assert got == want, (got, want)
v = j["run"]["verified"]
assert v["threads"] == v["matched"] > 0, v
END
cat >whole.py <<'END'
exec(open("compare.py").read())
assert (j["run"]["notes"], j["run"]["complete"], j["run"]["lost"]) == ([], True, 0), j["run"]
for r in j["by"]["call"]:
    if ":" in r["call"]:
        for k in kinds:
            assert k not in r or r[k]["operations"] + r[k]["errors"] == 0 or "latency_ns" in r[k], r
END

if "$HELP/uring" file >/dev/null 2>&1; then
	for mode in $MODES --no-filter; do
		[ $mode = default ] && mode=
		for how in plain async; do
			"$IOPS" run $mode -e all --json -o u.json -- "$HELP/uring" $how "$DIR/file" >want.json
			ok "every request of io_uring, $how $mode" /usr/bin/python3 whole.py
		done
		for how in batch late over exit kept threads shared fork short direct accept splice narrow; do
			timeout 60 "$IOPS" run $mode -e all --json -o u.json -- "$HELP/flights" $how "$DIR/file" >want.json
			ok "under way together, $how $mode" /usr/bin/python3 whole.py
		done
		for how in late over exit kept threads fork; do
			timeout 60 "$IOPS" run $mode --json -o u.json -- "$HELP/flights" $how "$DIR/file" >want.json
			ok "... where closes are not asked for, $how $mode" /usr/bin/python3 whole.py
		done
		timeout 60 "$IOPS" run $mode --json -o u.json -- "$HELP/flights" silent "$DIR/file" >want.json
		ok "those that are not answered: the one that failed is told $mode" /usr/bin/python3 compare.py
		is "... the others are lost" "$(json u.json 'j["run"]["lost"], j["run"]["complete"]')" "(2, False)"
		for how in registered race waits timed alarmed ended lapped handed ends; do
			timeout 60 "$IOPS" run $mode --json -o u.json -- "$HELP/flights" $how "$DIR/file" >want.json
			ok "rings, threads and signals, $how $mode" /usr/bin/python3 whole.py
		done
		# Who enters a ring alone and again and again need not stop to do so.
		for how in batch late over exit kept threads shared fork short direct accept splice narrow registered race waits timed alarmed ended lapped handed ends; do
			WARM=8 timeout 60 "$IOPS" run $mode -e all --json -o u.json -- "$HELP/flights" $how "$DIR/file" >want.json
			ok "a ring that was entered before, $how $mode" /usr/bin/python3 whole.py
		done
		for how in continued less others; do
			WARM=80 timeout 60 "$IOPS" run $mode --json -o u.json -- "$HELP/flights" $how "$DIR/file" >want.json
			is "a wait is as it is without us, $how $mode" "$?" 0
			ok "... $how" /usr/bin/python3 whole.py
		done
		i=0; while [ $i -lt "${TIMES:-12}" ]; do
			timeout 60 "$IOPS" run $mode --json -o u.json -- "$HELP/flights" private "$DIR/file" >want.json
			/usr/bin/python3 whole.py || break
			i=$((i + 1))
		done 2>private.txt
		is "threads with rings of their own, again and again $mode" "$i $(cat private.txt)" "${TIMES:-12} "
		for how in unmapped partners; do
			status "nothing of the program's goes or stays for us, $how $mode" 0 env WARM=8 timeout 60 "$IOPS" run $mode -o p.txt -- "$HELP/flights" $how "$DIR/file"
		done
		for how in pending gone; do
			status "... and is closed, $how $mode" 0 env WARM=8 timeout 60 "$IOPS" run $mode -o p.txt -- "$HELP/flights" $how "$DIR/file"
		done
		for warm in 0 8; do
			WARM=$warm timeout 60 "$IOPS" run $mode --json -o u.json -- "$HELP/flights" reused "$DIR/file" >/dev/null
			is "a descriptor that requests close and open $mode" "$(json u.json 'sorted((r["path"][-5:], r["read"]["operations"], r["read"]["bytes"]) for r in j["by"]["file"] if "/file" in (r["path"] or "") and r["read"]["operations"])')" "[('/file', 10, 1000), ('other', 12, 170)]"
		done
		for i in 1 2 3 4 5; do
			timeout 60 "$IOPS" run $mode --json -o u.json -- "$HELP/flights" killed "$DIR/killed" & pid=$!
			until [ -s "$DIR/killed" ]; do sleep 0.02; done
			sleep 0.0$i
			pkill -KILL -f "^$HELP/flights killed $DIR/killed"
			wait $pid 2>/dev/null
			is "what was done until it is killed $mode" "$(json u.json '[r["all"]["operations"] for r in j["by"]["call"] if r["call"] == "io_uring:WRITE"], j["run"]["complete"]')" "([$(stat -c %s "$DIR/killed")], True)"
			rm -f "$DIR/killed"
		done
		status "what waits in a ring that is closed takes nothing $mode" 0 timeout 60 "$IOPS" run $mode -o p.txt -- "$HELP/flights" pending "$DIR/file"
		status "... and keeps nothing open $mode" 0 timeout 60 "$IOPS" run $mode -o p.txt -- "$HELP/flights" gone "$DIR/file"
		mkdir -p placed
		for how in update drain send chosen chain silent off late moved; do
			want=$("$HELP/placed" $how placed 2>&1) || { skip "files that others register, $how: $want"; continue; }
			"$IOPS" run $mode --json -o placed.json -- "$HELP/placed" $how placed >/dev/null
			is "files that other requests have registered, $how $mode" \
				"$(json placed.json '" ".join(str(sum(f["read"]["operations"] for f in j["by"]["file"] if (f["path"] or "").endswith("placed/" + n))) for n in ("one", "two", "three")), [f["write"]["operations"] for f in j["by"]["file"] if (f["path"] or "").endswith("placed/one")]')" "('$want', [1])"
		done
		"$HELP/ended" >bare.txt; timeout 60 "$IOPS" run $mode -o p.txt -- "$HELP/ended" >ended.txt
		is "waits that end without an answer end as they do bare $mode" "$? $(cat ended.txt)" "0 $(cat bare.txt)"
		# Below a filter, as what a shell runs again and again.
		status "... as a child of a shell $mode" 0 timeout 60 "$IOPS" run $mode -o p.txt -- sh -c 'for i in 1 2 3 4 5 6; do /bin/true; done; "$0" gone "$1" && "$0" pending "$1"' "$HELP/flights" "$DIR/file"
	done
	"$IOPS" run -e all -l u.iops -o /dev/null -- "$HELP/uring" "$DIR/file" >/dev/null
	"$IOPS" export --to jsonl u.iops >u.jsonl
	ok "offsets, also of the position, and files, also registered ones" /usr/bin/python3 - "$DIR" <<-'END'
		import json, sys
		rows = [json.loads(l) for l in open("u.jsonl")]
		uring = [r for r in rows if r["call"].startswith("io_uring")]
		w = [r["offset"] for r in uring if r["call"] == "io_uring:WRITE" and r["path"] == sys.argv[1] + "/file"]
		assert w == [i * 4096 for i in range(50)], w
		p = [r["offset"] for r in uring if r["path"] == sys.argv[1] + "/file.position"]
		assert p[:5] == [i * 512 for i in range(5)], p
		f = [(r["path"], r["offset"]) for r in uring if r["call"] == "io_uring:WRITE_FIXED"]
		assert f == [(sys.argv[1] + "/file", i * 2048) for i in range(7)], f
		o = [(r["path"], r["errno"]) for r in uring if r["call"] == "io_uring:OPENAT"]
		assert o == [(sys.argv[1] + "/file", None)] * 3 + [("/does/not/exist", "ENOENT")], o
	END
	"$IOPS" run -e all --json -o u.json -- "$HELP/flights" direct "$DIR/file" >want.json
	is "what was opened among the registered files has a name" \
		"$(json u.json '[r["read"]["bytes"] for r in j["by"]["file"] if (r["path"] or "").endswith("/file")]')" "[4028]"
	for how in direct splice silent; do
		"$IOPS" run -e all -l u.iops --json -o u.json -- "$HELP/flights" $how "$DIR/file" >/dev/null
		"$IOPS" report --json -o log.json u.iops
		is "a log tells the same, $how" "$(/usr/bin/python3 -c 'import json; a, b = (json.load(open(f)) for f in ("u.json", "log.json")); print([k for k in a | b if a.get(k) != b.get(k)])')" "['reported_at']"
	done
	for want in net:5 data:0 all:5 openat:0 accept4:5; do
		"$IOPS" run -e ${want%:*} --json -o u.json -- "$HELP/flights" accept "$DIR/file" >/dev/null
		is "requests count as the calls that do the same, -e ${want%:*}" "$(json u.json 'sum(r["meta"]["operations"] for r in j["by"]["call"] if r["call"] == "io_uring:ACCEPT")')" ${want#*:}
	done
	"$IOPS" run --json -o u.json -- "$HELP/uring" sqpoll "$DIR/file" >want.json
	is "requests that a thread of the kernel takes are said not to be seen" "$(json u.json '[n["note"] for n in j["run"]["notes"]], j["run"]["complete"]')" "(['io_uring'], False)"
	for opt in --no-patch --patch-after=40; do
		for how in batch late threads shared; do
			sh -c "$TRACED" "$HELP/flights" $how "$DIR/file" >want.json & pid=$!
			timeout 60 "$IOPS" attach $opt --json -o u.json $pid
			wait $pid
			ok "attached to before, $how $opt" /usr/bin/python3 whole.py
		done
	done
	for i in 1 2 3; do
		timeout 60 "$IOPS" run --json -o u.json -- "$HELP/flights" beside "$DIR/file" >want.json
		ok "threads that end beside one that reads, $i" /usr/bin/python3 whole.py
	done
	"$IOPS" run --json -o u.json -- "$HELP/flights" alarmed "$DIR/file" >/dev/null
	case $(json u.json 'j["run"]["fast_path"]["status"]') in
	on) is "such a ring's requests do not stop" "$(json u.json 'j["run"]["fast_path"]["operations"] > 29900')" True ;;
	*) skip "there is no fast path here" ;;
	esac
	"$HELP/flights" parted "$DIR/file" >parted.txt & pid=$!
	timeout 20 "$IOPS" attach -d 0.5 --json -o u.json $pid
	wait $pid
	is "a ring that was looked at goes with its descriptor" "$?" 0
	rm -f found.txt; "$HELP/flights" found "$DIR/file" >found.txt & pid=$!
	until [ -s found.txt ]; do sleep 0.05; done
	"$IOPS" attach --json -o u.json $pid
	wait $pid
	is "a ring from before an attach is said not to be seen" "$(json u.json '[n["note"] for n in j["run"]["notes"]], j["run"]["complete"]')" "(['io_uring'], False)"
	case $(json u.json 'j["run"]["fast_path"]["status"]') in
	on) is "... and its calls do not stop" "$(tail -n 1 found.txt)" "the same" ;;
	*) skip "there is no fast path here" ;;
	esac
else
	skip "io_uring is not allowed here"
fi

if "$HELP/aio" file >/dev/null 2>&1; then
	for mode in $MODES --no-filter; do
		[ $mode = default ] && mode=
		"$IOPS" run $mode --json -o u.json -- "$HELP/aio" "$DIR/file" >want.json
		ok "every request of Linux AIO $mode" /usr/bin/python3 whole.py
		for how in reap destroy few; do
			timeout 60 "$IOPS" run $mode --json -o u.json -- "$HELP/flights" $how "$DIR/file" >want.json
			ok "answers that are read without a call, $how $mode" /usr/bin/python3 whole.py
		done
	done
	for mode in $MODES --no-filter; do
		[ $mode = default ] && mode=
		for how in plain wide deep reap mixed few threads apart forked inherited renewed alarmed patient left odd; do
			timeout 60 "$IOPS" run $mode --json -o u.json -- "$HELP/submits" $how "$DIR/file" 100 >want.json
			ok "requests of Linux AIO, $how $mode" /usr/bin/python3 whole.py
		done
	done
	# Who looks for answers may lose its turn for so long that others go all around the ring,
	# on a busy machine: it is told how many were not seen then.
	cat >counted.py <<-'END'
		import json
		want, j = json.load(open("want.json")), json.load(open("u.json"))
		made = sum(w[0] for w in want.values())
		told = sum(r[k]["operations"] for r in j["by"]["call"] if ":" in r["call"] for k in ("read", "write"))
		assert told + j["run"]["lost"] == made, (told, j["run"]["lost"], made)
		assert j["run"]["complete"] == (not j["run"]["lost"]), j["run"]
		v = j["run"]["verified"]
		assert v["threads"] == v["matched"] > 0, v
	END
	for i in 1 2 3; do
		for _ in 1 2 3 4; do
			timeout 60 "$IOPS" run --json -o u.json -- "$HELP/submits" crowd "$DIR/file" 1000 >want.json
			[ "$(json u.json 'j["run"]["lost"]')" != 0 ] || break
			ok "... what is not seen is counted, $i" /usr/bin/python3 counted.py
		done
		ok "more at a time than there is room for answers, $i" /usr/bin/python3 whole.py
	done
	timeout 60 "$IOPS" run --json -o u.json -- "$HELP/submits" threads "$DIR/file" 3000 >want.json
	ok "many of them, from any thread in any context" /usr/bin/python3 whole.py
	case $(json u.json 'j["run"]["fast_path"]["status"]') in
	on) is "... most of which do not stop" "$(json u.json 'j["run"]["fast_path"]["operations"] > 20000')" True ;;
	*) skip "there is no fast path here" ;;
	esac
	for opt in --no-patch --patch-after=40; do
		for how in plain threads alarmed reap; do
			sh -c "$TRACED" "$HELP/submits" $how "$DIR/file" 300 >want.json & pid=$!
			timeout 60 "$IOPS" attach $opt --json -o u.json $pid
			wait $pid
			ok "attached to before, Linux AIO, $how $opt" /usr/bin/python3 whole.py
		done
	done
	rm -f want.json; "$HELP/flights" again "$DIR/file" >want.json & pid=$!
	until [ -s want.json ]; do sleep 0.05; done
	"$IOPS" attach --json -o u.json $pid
	is "a context from before an attach: from then on" "$(json u.json 'sorted((r["call"], r["read"]["operations"], r["write"]["bytes"]) for r in j["by"]["call"] if r["call"][:4] == "aio:"), [n["note"] for n in j["run"]["notes"]], j["run"]["complete"]')" \
		"([('aio:pread', 1600, 0), ('aio:pwrite', 0, 184000)], ['aio'], False)"
	wait $pid
	# What io_submit(2) refuses has failed. (Calls by their numbers.)
	cat >refuses.py <<-'END'
		import ctypes, errno, os, struct, sys
		call = ctypes.CDLL(None, use_errno=True).syscall
		ctx = ctypes.c_ulong(0)
		assert call(206, 8, ctypes.byref(ctx)) == 0
		def submit(*fds):
		    cbs = [ctypes.create_string_buffer(struct.pack("QIIHhIQQqQII", i, 0, 0, 0, 0, fd, ctypes.addressof(buf), 10, 0, 0, 0, 0)) for i, fd in enumerate(fds)]
		    return call(209, ctx, len(cbs), (ctypes.c_void_p * len(cbs))(*map(ctypes.addressof, cbs)))
		buf = ctypes.create_string_buffer(100)
		events = ctypes.create_string_buffer(32 * 8)
		good = os.open(sys.argv[1], os.O_RDONLY)
		for _ in range(60):
		    assert submit(good, 999, good) == 1 and call(208, ctx, 1, 8, events, None) == 1
		    assert submit(999, good) == -1 and ctypes.get_errno() == errno.EBADF
		assert call(209, ctx, -1, None) == -1 and ctypes.get_errno() == errno.EINVAL
	END
	for mode in $MODES; do
		[ $mode = default ] && mode=
		"$IOPS" run $mode --json -o u.json -- /usr/bin/python3 refuses.py /etc/passwd
		is "requests that are refused $mode" "$? $(json u.json '[(r["call"], r["read"]["operations"], r["read"]["errors"]) for r in j["by"]["call"] if r["call"][:4] == "aio:"], [(e["errno"], e["count"]) for e in j["errors"] if e["call"] == "aio:pread"], j["run"]["complete"]')" \
			"0 ([('aio:pread', 60, 60)], [('EBADF', 60)], True)"
	done
	is "what was answered is not seen by who asks for nothing of it" "$("$IOPS" run -e sync --json -o u.json -- "$HELP/flights" reap "$DIR/file" >/dev/null; json u.json '[r["call"] for r in j["by"]["call"]]')" "[]"
else
	skip "Linux AIO is not allowed here"
fi
plan
