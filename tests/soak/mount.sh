#!/bin/sh
# Programs on a folder, bare and through iops mount, with --direct and with --cached: the
# same results, and every operation in the report. Each item takes T seconds: what runs by
# time does so for as long, what ends by itself is done again until they are over.
#   T=600   ONLY='fsx calls fio stress git sqlite tar eight many kill' chooses   HELP=folder of fsx
# shellcheck disable=SC2317 # "again" calls them
if [ -z "${MOUNT:-}" ]; then
	bad=0
	for MOUNT in --direct --cached; do
		export MOUNT
		sh "$0"; s=$?
		case $s in 0) ;; 77 | 130) exit $s ;; *) bad=1 ;; esac
	done
	exit $bad
fi
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
T=${T:-$([ "$SCALE" = 0 ] && echo 1 || echo $((SCALE * 600)))} HELP=${HELP:-$ROOT/build/help}
[ "$LIMIT" -gt $((T * 3 + 60)) ] || LIMIT=$((T * 3 + 60))
export T HELP
"$IOPS" mount --help >/dev/null 2>&1 || { echo "$SUITE: skipped: an iops without mount"; exit 77; }
if [ ! -w /dev/fuse ] || [ "$(id -u)" != 0 ]; then echo "$SUITE: skipped: needs root and /dev/fuse"; exit 77; fi
[ -x "$HELP/fsx" ] || { echo "$SUITE: skipped: no fsx in $HELP"; exit 77; }
need fusermount3=fuse3
part() { echo $(((T + $1 - 1) / $1)); }	# of the time, where an item has so many
again() {
	until=$(($(date +%s) + T))
	"$@"
	while [ "$SCALE" != 0 ] && [ "$(date +%s)" -lt $until ]; do "$@"; done
}
only() { case " ${ONLY:-$1} " in *" $1 "*) ;; *) return 1 ;; esac; }
have() { command -v "$1" >/dev/null 2>&1 || { echo "$SUITE: $1: skipped: not installed"; return 1; }; }
line() {
	printf '%-30s | %-32s | %-32s | %-13s | %s\n' "$SUITE: $1" "$2" "$3" "$4" "$5"
	[ "$4 $5" = "same complete" ] || bad=1
}
with=
mounted() {	# result.json [options]: $DIR/s on $DIR/d; sets $pid
	rm -rf "$DIR/s" "$DIR/d"; mkdir -m 777 "$DIR/s" "$DIR/d"
	# shellcheck disable=SC2086
	$with "$IOPS" mount $MOUNT -q --json -o "$1" ${2:-} "$DIR/s" "$DIR/d" 2>"$1.log" & pid=$!
	for _ in $(seq 100); do mountpoint -q "$DIR/d" && return; sleep 0.1; done
	echo "$SUITE: no mount: $(cat "$1.log")"; bad=1; return 1
}
unmounted() {
	umount "$DIR/d" || umount -l "$DIR/d"
	wait "$pid" || { echo "$SUITE: iops ended with $?"; bad=1; }
}

# As many rounds as the time allows on the mount, then the same on the bare folder. Some
# features FUSE itself has not: to take ranges out or put them in, and SEEK_DATA of what
# is only in memory.
fsx() {		# title options
	o=$OUT/fsx; rm -f "$o".*
	mounted "$o.json" || return
	"$HELP/fsx" -F "$DIR/s" | sort >"$o.bare.has"; "$HELP/fsx" -F "$DIR/d" | sort >"$o.has"
	miss=$(comm -23 "$o.bare.has" "$o.has" | grep -Evx 'collapse|insert|dirtyseek' | tr '\n' ' ')
	# shellcheck disable=SC2086
	timeout -k 9 "$LIMIT" "$HELP/fsx" $2 -s "${SEED:-1}" -d "$(part 3)" -u "$(cat "$o.has")" "$DIR/d" >"$o.iops.1" 2>"$o.log"
	said=$? rounds=$(wc -l <"$o.iops.1")
	unmounted
	mkdir -p "$DIR/b"
	# shellcheck disable=SC2086
	"$HELP/fsx" $2 -s "${SEED:-1}" -r "$rounds" -u "$(cat "$o.has")" "$DIR/b" >"$o.bare.1" 2>>"$o.log"
	verdict=same
	if [ $said != 0 ] || [ -n "$miss" ] || ! cmp -s "$o.bare.1" "$o.iops.1"; then verdict=DIFFERENT; fi
	line "fsx, $1" "$(wc -l <"$o.bare.1") rounds" "$rounds rounds, status $said" $verdict "$(proof "$o.json")"
	[ "$verdict" = same ] || { [ -z "$miss" ] || echo "    missing: $miss"; tail -25 "$o.log" | sed 's/^/    /'; }
}
if only fsx; then
	fsx "one" "-n 4000"
	fsx "4 threads" "-n 2000 -j 4 -t"
	fsx "8 processes" "-n 1000 -j 8"
fi

# What waits in the cache of the kernel has no blocks yet, SEEK_DATA does not find it, and
# that it is too far for the file system comes out at its fsync.
late='^$'; [ "$MOUNT" != --cached ] || late='^(far blocks|hole|too far): '
calls() { pair "calls" "$late" <<'E'; }
/usr/bin/python3 "$SOAK/prog/calls.py" 2>&1
E
! only calls || again calls

# Written and verified by fio: mapped, asynchronous, past the cache, by many.
! only fio || ! have fio || pair "fio --verify" <<'E'
job() {
	name=$1; shift
	timeout -k 9 $((T * 2 + 60)) fio --minimal --name="$name" --filename_format='$jobname.$jobnum' --size=8m --verify=crc32c --verify_fatal=1 \
		--time_based --runtime="$(((T + 1) / 2))" "$@" >"$name.out" 2>"$name.log"
	s=$?
	awk -F';' -v n="$name" 'NF > 50 { print n, "error", $5 }' "$name.out" | sort | uniq -c
	echo "$name: status $s"; [ $s = 0 ] || sed 's/^/    /' "$name.log" >&2
	rm -f "$name".*
}
job mapped --ioengine=mmap --rw=randrw --bs=4k &
job direct-aio --ioengine=libaio --iodepth=16 --direct=1 --rw=randrw --bs=4k-64k &
job direct --ioengine=psync --direct=1 --rw=randwrite --bs=8k &
wait
job small --ioengine=psync --rw=randrw --bs=100-9000 --bs_unaligned=1 --numjobs=4 --size=2m &
job vector --ioengine=pvsync2 --rw=randwrite --bs=1k-128k --fsync=16 &
job threads --ioengine=psync --thread --numjobs=16 --rw=randrw --bs=4k --size=1m &
wait
E

# In the short form all at the same time: not each comes so far as to see what it must skip.
# The kernel has no FIEMAP for FUSE; io syncs all that the machine has mounted.
! only stress || ! have stress-ng || pair "stress-ng filesystem" '^(fiemap|io)[: ]' <<'E'
chmod 777 .
run() {
	timeout -k 9 $((T + 120)) prlimit --fsize=2000000000 setpriv --reuid 65534 --regid 65534 --clear-groups \
		stress-ng --temp-path "$PWD" --verify "$@" >log 2>&1
	code=$?
	sed -n 's/^stress-ng: fail: *\[[0-9]*\] \([a-z-]*\)[ :].*/\1 fails/p;s/^stress-ng: info: *\[[0-9]*\] \([a-z-]*\)[: ].*skipp.*/\1 skips/p' log | sort -u
	echo "status $code"; [ $code = 0 ] || sed 's/^/    /' log >&2
}
if [ "$SCALE" = 0 ]; then run -t "$T" --class filesystem --all 1 | grep -v ' skips$'; exit; fi
set -- $(stress-ng --class 'filesystem?' 2>&1 | sed -n 's/^class .*: //p')
for s; do echo "$s: $(run -t $((T / $# + 1)) --"$s" 1 | tr '\n' ' ')"; done
E

gits() { pair "git" <<'E'; }
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' GIT_CONFIG_GLOBAL=$PWD/config
git config --global user.name a; git config --global user.email a@b; git config --global init.defaultBranch main
git config --global gc.auto 0; git config --global maintenance.auto false
git init -q r; cd r || exit
cp -r /usr/include/linux/netfilter a; [ "$SCALE" = 0 ] || cp -r /usr/include/linux a; git add .; git commit -qm first
for i in $(seq $((SCALE * 60 + 6))); do
	for f in $(ls a | head -$((i * 7)) | tail -5); do [ ! -f "a/$f" ] || echo "$i" >>"a/$f"; done
	mkdir -p "d$i" && seq "$i" 999 >"d$i/f"; git add -A; [ $((i % 5)) != 0 ] || git mv "d$i" "e$i"
	git commit -qm "$i"
	[ $((i % 6)) != 0 ] || { git checkout -qb "b$i" HEAD~3; seq "$i" >only; git add only; git commit -qm side; git checkout -q main
		git merge -q -m merge "b$i"; git rm -qf only; git commit -qm gone; }
done
git rev-parse HEAD 'HEAD^{tree}'; git status --porcelain
git tag v1; git clone -q . ../c; git clone -q --no-local --bare . ../bare.git
git -C ../c fsck --full 2>&1; git gc -q --prune=now; git fsck --full 2>&1; git -C ../bare.git repack -qadf; git -C ../bare.git fsck 2>&1
git -C ../c checkout -q HEAD~2; git -C ../c worktree add -q ../w HEAD~1 2>&1; git -C ../w reset -q --hard; git -C ../w status --porcelain; git -C ../w clean -qfdx
cd ..; for d in r c w; do (cd $d && find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum); done
git -C r log --format=%H | sha256sum; git -C bare.git rev-list --all --objects | sort | sha256sum; find bare.git -name 'tmp_*'
E
! only git || again gits

sqlites() { TMPDIR=$OUT sh "$SOAK/sqlite.sh" || bad=1; }
! only sqlite || ! have sqlite3 || again sqlites

# A tree of headers there and back, as it was: links, times, modes, holes.
tars() { pair "tar of headers" <<'E'; }
from=$(echo /usr/src/linux-headers-*-common) hole=1G
[ -d "$from" ] || from=/usr/include
[ "$SCALE" != 0 ] || from=/usr/include/linux/netfilter hole=50M
tree() { (cd "$1" && tar cf - --sort=name . | sha256sum; find . -printf '%P %y %m %n %U:%G %T@ %l\n' | sort | sha256sum; find . | wc -l); }
tree $from; mkdir t; tar cf - -C $from . | tar xf - -C t; tree t
diff -r --no-dereference $from t && echo alike
cp -a t u; tree u; cp -al u v; tree v; rm -rf u; tree v
tar cf x.tar t; tar df x.tar && echo "tar finds no difference"
truncate -s $hole sparse; printf end >>sparse; cp --sparse=always sparse copy; cmp sparse copy && du -k copy; tar cSf s.tar sparse; stat -c %s s.tar
find v -type f -name '*a*' -delete; find v | wc -l; rm -rf v t; ls
E
! only tar || again tars

! only eight || pair "8 processes at once" <<'E'
end=$(($(date +%s) + T))
one() {
	n=$1 said=
	mkdir "p$n" && cd "p$n" || exit
	while :; do
		now=$(case $n in
		1) cp -r /usr/include/linux x; find x -type f -print0 | sort -z | xargs -0 cat | sha256sum; rm -rf x ;;
		2) tar cf - -C /usr/include asm-generic linux | tar xf - ; du -b linux | sort -k2 | cksum; rm -rf linux asm-generic ;;
		3) dd if=/dev/zero bs=100 count=5000 status=none | tr '\0' x >f; dd if=f of=g bs=1M oflag=direct conv=sync status=none; cksum f g; rm f g ;;
		4) for i in $(seq 100); do echo "$i" >"a$i"; mv "a$i" "b$i"; ln "b$i" "c$i"; done; cat c* | cksum; rm b*; stat -c %h c7; rm c* ;;
		5) seq 100000 >s; sort -R s | sort -n | cmp - s && echo sorted; split -l 1000 s part; cat part* | cmp - s && echo joined; rm -f part* s ;;
		6) sqlite3 x.db "pragma journal_mode=wal; create table t(a); insert into t select value from generate_series(1, 3000); update t set a = a + 1; pragma integrity_check; select sum(a) from t;"; rm -f x.db* ;;
		7) mkdir -p d/e/f; for i in $(seq 200); do : >"d/e/f/$i"; done; ls -f d/e/f | wc -l; mv d/e g; find g | wc -l; rm -rf d g ;;
		8) printf 'int main(void) { return 0; }' >m.c; gcc -o m m.c && ./m; echo $?; cp /bin/true t; ./t; echo $?; rm -f m m.c t ;;
		esac 2>&1 | tr '\n' ' ')
		[ "$now" = "$said" ] || echo "$n: $now"
		said=$now
		[ "$(date +%s)" -lt "$end" ] || break
	done
}
for n in 1 2 3 4 5 6 7 8; do (one $n) & done; wait
E

# More files than iops may have descriptors, and more callers at once than it can keep in view.
many() {
	o=$OUT/many; rm -f "$o".*; tree=/usr/include; [ "$SCALE" != 0 ] || tree=/usr/include/linux
	# Who may lift limits does.
	with="setpriv --bounding-set -sys_resource --inh-caps -sys_resource prlimit --nofile=300:300"
	mounted "$o.json" || { with=; return; }
	with=
	limit=$(awk '/^Max open files/ { print $5 }' "/proc/$pid/limits")
	[ "$limit" = 300 ] || { echo "$SUITE: many files: a limit of $limit, not 300"; bad=1; }
	cp -r "$tree" "$DIR/s/t"
	for d in s d; do
		(cd "$DIR/$d" && find t | sort | sha256sum; tar cf - --sort=name t | sha256sum; grep -rl include t | wc -l
			for n in $(seq 24); do tar cf - --sort=name t | sha256sum & done | uniq -c
			/usr/bin/python3 -c 'import os
f = [os.open(f"f{i}", os.O_RDWR | os.O_CREAT) for i in range(60)]
for i, d in enumerate(f): os.unlink(f"f{i}"); os.write(d, b"%d" % i)
print(sum(os.pread(d, 9, 0) == b"%d" % i for i, d in enumerate(f)), "open, no name")') >"$o.$d" 2>"$o.$d.log"
	done
	unmounted
	line "many files" "$(wc -l <"$o.s") lines" "$(wc -l <"$o.d") lines" "$(cmp -s "$o.s" "$o.d" && echo same || echo DIFFERENT)" "$(proof "$o.json")"
	sort "$o.d.log" | head -5
}
! only many || again many

# Killed in the middle: new users find the folder below, the log holds what was done. Those
# that are in it are served on when only the process in front is killed, else they fail.
killed() {
	o=$OUT/kill good=0 runs=$((SCALE * 10 + 2)) i=0
	while [ $i -lt $runs ]; do
		i=$((i + 1)); rm -f "$o".*
		mounted "$o.json" "-l $o.iops" || return
		(cd "$DIR/d" && exec timeout -k 9 5 "$HELP/fsx" -n 100000 -j 3 . >/dev/null 2>&1) & load=$!
		sleep 3; all=$pid; [ $((i % 2)) = 0 ] || all="$(pgrep -P "$pid") $pid"
		# shellcheck disable=SC2086
		kill -9 $all; wait "$pid" 2>/dev/null
		for _ in $(seq 50); do mountpoint -q "$DIR/d" 2>/dev/null || ! ls "$DIR/d" >/dev/null 2>&1 || break; sleep 0.1; done
		if ls "$DIR/d" >"$o.ls" 2>&1 && ! mountpoint -q "$DIR/d"; then gone=gone; else gone="NOT gone"; fi
		wait $load 2>/dev/null; s=$?
		case $((i % 2)),$s in 1,1 | 0,124) ;; *) gone="$gone, the load ended with $s" ;; esac
		umount -l "$DIR/d" 2>/dev/null
		"$IOPS" report --json -o "$o.read.json" "$o.iops" 2>"$o.log"; s=$?
		ops=$(/usr/bin/python3 -c 'import json,sys
t = json.load(open(sys.argv[1])); print(sum(t["total"][k]["operations"] for k in ("all", "meta", "sync")), round(t["run"]["elapsed_ns"] / 1e9))' "$o.read.json")
		case $gone,$s,${ops:-0 0} in
		gone,[03],[1-9][0-9][0-9]*\ [2-9]) good=$((good + 1)) ;;
		*) echo "    mount $gone, report $s, operations and seconds ${ops:-none}" ;;
		esac
	done
	line "kill -9" "$runs times" "$good right; ops, seconds: ${ops:-}" "$([ $good = $runs ] && echo same || echo DIFFERENT)" complete
}
! only kill || killed
exit $bad
