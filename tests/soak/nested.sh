#!/bin/sh
# Programs that instrument, trace or confine other programs.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need gcc=gcc

if command -v valgrind >/dev/null; then
	wide && pair "valgrind" <<'E'
gcc -g -O1 -pthread -DBUG=0 "$SOAK/prog/threads.c" -o p
valgrind -q --error-exitcode=9 ./p 40 2>v; echo "status $?"; cat v
E
	pair "valgrind of sh" <<'E'
valgrind -q --trace-children=yes sh -c 'cat /etc/passwd | sort | md5sum; exit 3' 2>/dev/null; echo "status $?"
E
	wide && pair "callgrind, helgrind" <<'E'
gcc -g -O1 -pthread -DBUG=3 "$SOAK/prog/threads.c" -o p
valgrind --tool=callgrind --callgrind-out-file=c.out ./p 20 2>/dev/null; echo "status $?"; valgrind -q --tool=helgrind --error-exitcode=9 ./p 20 2>h; echo "status $?"; grep -c 'Possible data race' h
E
fi

# What traces by itself must be refused with EPERM, and end as it does; a bare run is allowed.
refused() {	# name; script from stdin, which prints what it got
	name=$1 o=$OUT/$(echo "$1" | tr -c 'A-Za-z0-9.\n-' _); cat >"$DIR/item"; rm -rf "$DIR/d"; mkdir "$DIR/d"
	want=$(sed -n 's/^# want: //p' "$DIR/item")
	b=$(cd "$DIR/d" && timeout 60 sh "$DIR/item" 2>"$o.bare.log" </dev/null | tail -1)
	# shellcheck disable=SC2086
	g=$(cd "$DIR/d" && timeout 60 "$IOPS" run --wait --json -o "$o.json" ${IOPS_FLAGS:-} -- sh "$DIR/item" 2>"$o.log" </dev/null | tail -1)
	verdict=refused v=$(proof "$o.json")
	[ "$g" = "$want" ] || { verdict=DIFFERENT bad=1; echo "    want: $want"; }
	case $v in verified*) ;; *) bad=1 ;; esac
	printf '%-30s | %-32s | %-32s | %-13s | %s\n' "$SUITE: $name" "$b" "$g" "$verdict" "$v"
}
command -v strace >/dev/null && refused "strace" <<'E'
# want: Operation not permitted, 1
strace -f -o s true 2>e; s=$?; echo "$(grep -o 'Operation not permitted' e | head -1), $s"
E
command -v gdb >/dev/null && refused "gdb" <<'E'
# want: Operation not permitted, no answer
gdb -nx -batch -ex run -ex 'info inferiors' true >o 2>&1; echo "$(grep -o 'Operation not permitted' o | head -1), $(grep -c 'exited normally' o | sed 's/^0$/no answer/')"
E
command -v gdb >/dev/null && refused "gdb -p" <<'E'
# want: Operation not permitted
sleep 5 & gdb -nx -batch -p $! -ex 'info threads' >o 2>&1; kill $!; grep -o 'Operation not permitted' o | head -1
E
refused "PTRACE_TRACEME" <<'E'
# want: -1 Operation not permitted
/usr/bin/python3 -c 'import ctypes, os
l = ctypes.CDLL(None, use_errno=True); r = l.ptrace(0, 0, 0, 0); print(r, os.strerror(ctypes.get_errno()))'
E
refused "LeakSanitizer" <<'E'
# want: LeakSanitizer does not work under ptrace
printf '#include <stdlib.h>\nint main(void) { return !malloc(10); }\n' >l.c; gcc -g -fsanitize=leak l.c -o l && ./l 2>err; cat err >&2; grep -o 'LeakSanitizer does not work under ptrace\|LeakSanitizer: .* byte.*' err
E
refused "iops -b ptrace inside" <<'E'
# want: status 125, 
"$IOPS" run -q -b ptrace -o /dev/null -- echo out >o 2>e; echo "status $?, $(cat o)"; cat e >&2
E
pair "iops run inside" <<'E'
"$IOPS" run -q -o /dev/null -- echo out
E
pair "iops run -b proc inside" <<'E'
"$IOPS" run -q -b proc -o /dev/null -- echo out
E

pair "seccomp, namespaces, chroot, limits" <<'E'
unshare -U -r sh -c 'id -u; cat /proc/self/uid_map | wc -l' 2>&1; unshare -f -p --mount-proc sh -c 'echo $$; ls /proc | grep -c "^[0-9]"' 2>&1
setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs sh -c 'id -u; cat /etc/shadow' 2>&1; setpriv --bounding-set -all --inh-caps -all sh -c 'grep CapBnd /proc/self/status'
prlimit --fsize=1000 sh -c 'trap "" XFSZ; head -c 5000 /dev/zero >big; wc -c <big'; prlimit --nofile=10 cat /etc/passwd | md5sum; prlimit --nproc=1000 --as=200000000 sh -c 'cat /etc/passwd | md5sum'
mkdir -p r/bin r/dev; cp "$(command -v busybox || echo /bin/true)" r/bin/sh 2>/dev/null; ldd /bin/ls >/dev/null; chroot r /bin/sh -c 'echo in' 2>&1 | grep -c .
E
pair "every id of its own" <<'E'
grep -v 'TracerPid\|^Seccomp\|NoNewPrivs\|ctxt\|Vm\|Rss\|^Pid\|^Tgid\|^NSpid\|PPid\|^NStgid\|^NSpgid\|^NSsid\|^Ngid\|Mems_\|^Hugetlb\|Cpus_\|Threads\|^SigQ' /proc/self/status; ls /proc/self/fd | wc -l; cat /proc/self/limits; umask; cat /proc/self/oom_score_adj /proc/self/cgroup /proc/self/personality; wc -w </proc/self/cmdline; tr '\0' '\n' </proc/self/environ | sort | sed "s|$PWD|.|"; ps -o stat= -p $$
E
exit $bad
