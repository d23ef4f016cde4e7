# shellcheck shell=sh disable=SC2034
# Sourced by each suite. An item is a script that prints what must not change. It runs in
# an empty folder, bare and below iops, and its lines and its exit status must be equal.
# A difference is looked at again: lines that differ among three bare runs prove nothing.
# MOUNT='options of iops mount': in a folder that is mounted, not below iops run.
IOPS=${IOPS:-$PWD/build/iops} SCALE=${SCALE:-1} LIMIT=${LIMIT:-900} bad=0
SOAK=$(cd "${0%/*}" && pwd) SUITE=$(basename "$0" .sh)${MOUNT:+${MOUNT%% *}}
ROOT=$(cd "$SOAK/../.." && pwd)
CACHE=${CACHE:-$ROOT/build/soak/src} OUT=${OUT:-$ROOT/build/soak}/$SUITE
DIR=$(mktemp -d) && chmod 755 "$DIR" && mkdir -p "$OUT" || exit 1
trap 'cd /; [ -z "${MOUNT:-}" ] || umount -l "$DIR/d" 2>/dev/null; rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM
export IOPS SCALE SOAK LC_ALL=C TZ=UTC TMPDIR="$DIR/d"

need() {	# command=package...: what the suite cannot do without
	for p; do
		command -v "${p%%=*}" >/dev/null 2>&1 || { echo "$SUITE: skipped: no ${p%%=*} (${p##*=})"; exit 77; }
	done
}
wide() { [ "$SCALE" -ge 1 ]; }

once() {	# bare|iops number: runs $DIR/item into $o.bare.1 and the like
	r=$o.$1.$2 flags=
	rm -rf "$DIR/d" "$DIR/s"; mkdir -m 777 "$DIR/d"
	if [ "$1" = bare ]; then :
	elif [ -z "${MOUNT:-}" ]; then flags="$IOPS run --wait --json -o $o.json ${IOPS_FLAGS:-} --"
	else mkdir -m 777 "$DIR/s"; flags="$IOPS mount $MOUNT --json -o $o.json ${IOPS_FLAGS:-} $DIR/s $DIR/d --"
	fi
	from=$(date +%s%N)
	# shellcheck disable=SC2086
	(cd "$DIR/d" && HOME=$DIR/d exec timeout -k 9 "$LIMIT" $flags sh "$DIR/item" </dev/null >"$r.raw" 2>"$r.log")
	echo "status $?" >>"$r.raw"
	took=$((($(date +%s%N) - from) / 10000000))
	took=$((took / 100)).$(printf %02d $((took % 100)))
	grep -v "^= " "$r.raw" | grep -Ev "${known:-^$}" | sort | uniq -c | sort >"$r"
	said=$(sed -n 's/^= //p' "$r.raw" | tail -1)
	[ -n "$said" ] || said="$(($(wc -l <"$r.raw") - 1)) lines, $(tail -1 "$r.raw")"
}
proof() {	# what iops says of its own counts; of a mount, whether all of them are there
	/usr/bin/python3 -c 'import json,sys
try: r = json.load(open(sys.argv[1]))["run"]
except Exception: print("NO REPORT"); sys.exit()
if sys.argv[2:]: print("complete" if r["complete"] and not r["lost"] else "%d LOST" % r["lost"]); sys.exit()
v = r["verified"]
print("%s %d/%d" % ("verified" if v["matched"] == v["threads"] else "UNVERIFIED", v["matched"], v["threads"])
	+ (", %d unchecked" % v["unchecked"] if v["unchecked"] else "") + (", %d lost" % r["lost"] if r["lost"] else "")
	+ ("" if r["complete"] else ", incomplete"))' "$1" ${MOUNT:+mount}
}
# What no two bare runs disagree on, and the run below iops does.
disagree() {	# result-below-iops: into $o.diff
	sort -u "$o".bare.[123] >"$o.any"
	comm -12 "$o.bare.1" "$o.bare.2" | comm -12 - "$o.bare.3" >"$o.steady"
	{ comm -23 "$o.steady" "$1" | sed 's/^/bare: /'; comm -13 "$o.any" "$1" | sed 's/^/iops: /'; } >"$o.diff"
	[ -s "$o.diff" ]
}
pair() {	# name [regex of lines that a tracer is known to change]; the script is read from stdin
	name=$1 known=${2:-}; cat >"$DIR/item"
	o=$OUT/$(echo "$name" | tr -c 'A-Za-z0-9_.\n-' _); rm -f "$o".*
	once bare 1; b="$said ${took}s"
	once iops 1; g="$said ${took}s" v=$(proof "$o.json") verdict=same
	if ! cmp -s "$o.bare.1" "$o.iops.1"; then
		cp "$o.json" "$o.first.json" 2>/dev/null
		once bare 2; once bare 3; once iops 2; once iops 3; n=0
		for i in 1 2 3; do disagree "$o.iops.$i" && n=$((n + 1)) && cp "$o.diff" "$o.diff.$i"; done
		if [ $n -gt 0 ]; then verdict="DIFFERENT $n/3" bad=1
		elif cmp -s "$o.bare.1" "$o.bare.2" && cmp -s "$o.bare.1" "$o.bare.3"; then verdict="DIFFERENT" bad=1
		else verdict="unsteady bare"
		fi
	fi
	case $v in verified* | complete) ;; *) bad=1 ;; esac
	printf '%-30s | %-32s | %-32s | %-13s | %s\n' "$SUITE: $name" "$b" "$g" "$verdict" "$v"
	[ -z "$(ls "$o".diff.* 2>/dev/null)" ] || sort "$o".diff.* | uniq -c | sed 's/^/    /' | head -20
}
