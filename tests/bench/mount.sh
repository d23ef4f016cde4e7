#!/bin/sh
# shellcheck disable=SC2086
# iops mount against libfuse's own pass-through examples, built from Debian's source, and
# against a tracer written in Python; each on a folder of its own, in turn, mounted anew
# each time. ROUNDS: how often; MIB: how large a file; N: how many names.
#   CACHE=folder for the source   TMPDIR=folder on the file system to measure; by default
#   one in memory, as a disk's file system is slow to create right after it removed
IOPS=${IOPS:-$PWD/build/iops} HELP=${HELP:-$PWD/build/help}
ROUNDS=${ROUNDS:-5} MIB=${MIB:-512} N=${N:-4000} SMALL=${SMALL:-20000}
here=$(cd "${0%/*}" && pwd)
CACHE=${CACHE:-$here/../../build/soak/src}
"$IOPS" mount --help >/dev/null 2>&1 || { echo "mount: skipped, an iops without mount"; exit 0; }
if [ ! -w /dev/fuse ] || [ "$(id -u)" != 0 ]; then echo "mount: skipped, needs root and /dev/fuse"; exit 0; fi
[ -n "${TMPDIR:-}" ] || [ "$(df -k --output=avail /dev/shm 2>/dev/null | tail -1)" -lt $((MIB * 6000)) ] || TMPDIR=/dev/shm
dir=$(mktemp -d -p "${TMPDIR:-/tmp}") || exit 1
cd "$dir" || exit 1
all="bare iops log hp ll direct dlog python"
trap 'cd /; for who in $all; do umount -l "$dir/$who" 2>/dev/null; done; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

src() {		# the source of the installed libfuse, by a list of sources of its own
	mkdir -p "$CACHE/lists/partial" && cd "$CACHE" || return
	[ -f fuse3/example/passthrough_ll.c ] && return
	name=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# shellcheck disable=SC2016
	url=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 'debian/$') || return
	echo "deb-src $url $name main" >list
	set -- -qq -o "Dir::Etc::SourceList=$PWD/list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$PWD/lists" \
		-o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= -o APT::Sandbox::User=root
	apt-get "$@" update && apt-get "$@" source --download-only fuse3 && rm -rf fuse3 && dpkg-source -x fuse3_*.dsc fuse3
}
built() {
	flags="-O2 $(pkg-config --cflags --libs fuse3)" && gcc -o "$dir/ll.bin" "$CACHE/fuse3/example/passthrough_ll.c" $flags &&
		g++ -o "$dir/hp.bin" "$CACHE/fuse3/example/passthrough_hp.cc" $flags
}
CACHE=$(mkdir -p "$CACHE" && cd "$CACHE" && pwd)
if (src && built) >build.log 2>&1; then peers="hp ll"
else peers=; echo "mount: no source of libfuse, or it does not build: no examples to compare with ($(tail -1 build.log))"
fi
if /usr/bin/python3 -c 'import fusepy' 2>/dev/null; then python=python
else python=; echo "mount: no python3-fusepy: no tracer in Python to compare with"
fi

start() {	# who: mounts $who.src on $who, sets at to where the work is
	mkdir -p "$1" "$1.src"; at=$dir/$1
	case $1 in
	bare) at=$dir/bare.src; return ;;
	iops) "$IOPS" mount --cached -q --json -o /dev/null iops.src iops & ;;
	log) "$IOPS" mount --cached -q --json -o /dev/null -l run.iops log.src log & ;;
	direct) "$IOPS" mount --direct -q --json -o /dev/null direct.src direct & ;;
	dlog) "$IOPS" mount --direct -q --json -o /dev/null -l run.iops dlog.src dlog & ;;
	hp) ./hp.bin --foreground "$dir/hp.src" "$dir/hp" >/dev/null 2>&1 & ;;
	ll) ./ll.bin -f -o "source=$dir/ll.src,cache=always,writeback" ll >/dev/null 2>&1 & ;;
	python) /usr/bin/python3 "$here/tracer.py" python.src python python.log >/dev/null 2>&1 & ;;
	esac
	pid=$!
	for _ in $(seq 100); do mountpoint -q "$1" && return; sleep 0.05; done
	echo "mount: $1 does not mount" >&2; return 1
}
stop() { [ "$1" = bare ] || { umount "$1" || umount -l "$1"; wait $pid; }; rm -f run.iops python.log; }
load() {	# who what args...
	who=$1 what=$2; shift 2
	"$HELP/fsload" "$@" >>"ns.$who.$what"
}
turn() {	# round who...: the same ones, in another order
	set -- "$@"; k=$(($1 % ($# - 1))); shift
	while [ $k -gt 0 ]; do a=$1; shift; set -- "$@" "$a"; k=$((k - 1)); done
	echo "$@"
}
least() { sort -n "$1" | head -1; }
middle() { sort -n "$1" | sed -n "$((($(wc -l <"$1") + 1) / 2))p"; }

tree() { [ -d "$1.src/tree" ] || { mkdir -p "$1.src"; cp -r /usr/include "$1.src/tree"; }; }
for i in $(seq "$ROUNDS"); do
	for who in $(turn "$i" bare iops log $peers); do
		tree $who
		start $who || exit 1
		load $who walk walk "$at/tree"
		load $who rewalk walk "$at/tree"
		load $who write write "$at/file" "$MIB"
		load $who read read "$at/file" "$MIB"
		stop $who
		start $who || exit 1
		# Out of the mount's page cache, in that of the folder below.
		if [ $who = bare ]; then cp ns.bare.read ns.bare.cold; else load $who cold read "$at/file" "$MIB"; fi
		mkdir "$at/names"
		load $who create create "$at/names" "$N"
		load $who stat stat "$at/names" "$N"
		load $who unlink unlink "$at/names" "$N"
		rm -r "$at/names" "$at/file"
		stop $who
	done
done

compare() {	# title what scale unit: rates are scale / ns
	for who in bare iops log $peers; do
		echo "$who $(least "ns.$who.$2") $(middle "ns.$who.$2")"
	done | awk -v t="$1" -v s="$3" -v u="$4" '
		{ l[$1] = $2; m[$1] = $3 }
		function r(a, b) { return sprintf("%.2f of %s (least %.2f)", m[b] / m[a], b, l[b] / l[a]) }
		END {
			printf "%-26s bare %.0f %s; --cached %s", t, s / m["bare"], u, r("iops", "bare")
			if ("hp" in m) printf ", %s, %s", r("iops", "hp"), r("iops", "ll")
			printf "\n%-26s with -l: %s", "", r("log", "bare")
			if ("hp" in m) printf ", %s, %s", r("log", "hp"), r("log", "ll")
			print ""
		}'
}
files=$(find bare.src/tree | wc -l)
echo "rates of iops mount --cached over those of others: median (least time); $ROUNDS rounds"
compare "write, 1 MiB blocks" write $((MIB * 1000000000)) MiB/s
compare "read, not in its cache" cold $((MIB * 1000000000)) MiB/s
compare "read, cached" read $((MIB * 1000000000)) MiB/s
compare "create $N files" create $((N * 1000000000)) /s
compare "stat them" stat $((N * 1000000000)) /s
compare "unlink them" unlink $((N * 1000000000)) /s
compare "walk $files names, cold" walk $((files * 1000000000)) /s
compare "walk them again" rewalk $((files * 1000000000)) /s

for i in $(seq "$ROUNDS"); do
	for who in $(turn "$i" bare direct dlog $python); do
		start $who || exit 1
		load $who small pwrite "$at/f" "$([ $who = python ] && echo $((SMALL / 10)) || echo "$SMALL")" 100
		rm "$at/f"
		stop $who
	done
done
for who in bare direct dlog $python; do echo "$who $(least "ns.$who.small") $(middle "ns.$who.small")"; done | awk '
	{ l[$1] = $2 / 1000; m[$1] = $3 / 1000 }
	END {
		printf "%-26s bare %.2f us; --direct %.1f us (least %.1f), with -l %.1f (%.1f)\n", "pwrite of 100 bytes",
			m["bare"], m["direct"], l["direct"], m["dlog"], l["dlog"]
		if ("python" in m) printf "%-26s tracer in Python %.1f us (least %.1f): %.1f times --direct (least %.1f), %.1f with -l (%.1f)\n", "",
			m["python"], l["python"], m["python"] / m["direct"], l["python"] / l["direct"], m["python"] / m["dlog"], l["python"] / l["dlog"]
	}'
