#!/bin/sh
# shellcheck disable=SC2016
# Below a mount everybody has the rights that they have at that moment, and no others.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

"$IOPS" doctor --json | tr -d ' \t\n' | grep -q '"name":"mount","status":"works"' ||
	skip_all "iops doctor says that root cannot mount here"
command -v setpriv >/dev/null || skip_all "no setpriv"
trap 'umount -l "$DIR"/mnt 2>/dev/null; cd /; rm -rf "$DIR"' EXIT
chmod 755 "$DIR"

# s: root's alone; u: that of user 1000 alone; g: also for group 7.
new() {
	rm -rf src mnt; mkdir -m 777 src; mkdir mnt
	for f in s u g; do echo $f >src/$f; done
	chmod 600 src/s src/u; chmod 640 src/g; chown 1000:1000 src/u; chown 0:7 src/g
}
m() { timeout -s KILL 60 "$IOPS" mount -q -o /dev/null "$@" 2>&1; }
as() { id=$1 groups=$2; shift 2; setpriv --reuid "$id" --regid "$id" "$groups" "$@" 2>&1; }
# both NAME WANT COMMAND...: below a mount, in a namespace of processes or not.
both() {
	name=$1 want=$2; shift 2
	is "$name, --direct" "$(m --direct src mnt -- "$@" | tr '\n' ' ')" "$want"
	is "$name, --cached" "$(m --cached src mnt -- "$@" | tr '\n' ' ')" "$want"
}

# Processes that iops does not see.
new
if unshare --pid --fork true 2>/dev/null; then
	unshare --pid --fork "$IOPS" mount -q -o /dev/null -d 4 src mnt & pid=$!
	for _ in $(seq 100); do grep -q " $DIR/mnt fuse" /proc/mounts && break; sleep 0.05; done
	is "from another process namespace: no rights but a user's" "$(as 1000 --clear-groups cat mnt/s mnt/u)" "cat: mnt/s: Permission denied
u"
	as 1000 --clear-groups sh -c 'cp /bin/true mnt/own; chmod 4755 mnt/own'
	is "... what is made there is its own" "$(stat -c '%u %g %a' src/own)" "1000 1000 4755"
	is "... root's as well" "$(cat mnt/s; chown 1000 mnt/s 2>&1 | grep -o 'not permitted')" "s
not permitted"
	wait $pid
	new
	# The /proc that is mounted has other numbers there.
	for what in "s cat:_s:_Permission_denied_" "u u_" "g g_"; do
		is "in a process namespace: ${what% *}" "$(unshare --pid --fork --kill-child "$IOPS" mount -q -o /dev/null src mnt -- \
			setpriv --reuid 1000 --regid 1000 --groups 7 cat "${what% *}" 2>&1 | tr ' \n' __)" "${what#* }"
	done
else
	for _ in 1 2 3 4 5 6; do skip "no process namespace here"; done
fi

# Rights that were given up.
new
both "capabilities that an exec takes away" "cat: u: Permission denied " \
	setpriv --bounding-set -dac_override,-dac_read_search --inh-caps -dac_override,-dac_read_search cat u
cat >giveup.py <<'P'
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def e(f, *a):
    try: return f(*a) and None
    except OSError as x: return errno.errorcode[x.errno]
def all_of(name):
    say = [e(lambda: os.close(os.open(name, os.O_RDONLY))), e(os.truncate, name, 2), e(os.chmod, name, 0o600 if name == "u" else 0o640),
        e(os.setxattr, name, "user.k", b"v"), e(os.getxattr, name, "user.k"), e(os.removexattr, name, "user.k")]
    return " ".join(str(x) for x in say)
if sys.argv[1] == "caps":
    head = struct.pack("Ii", 0x20080522, 0); data = ctypes.create_string_buffer(24)
    libc.capget(head, data); was = bytes(data); print(all_of("u"))
    new = [list(struct.unpack("III", was[i:i + 12])) for i in (0, 12)]
    for n in new: n[0] = 0
    for i in range(3):
        libc.capset(head, struct.pack("6I", *new[0], *new[1])); print(all_of("u"))
        libc.capset(head, was); print(all_of("u"))
else:
    for i in range(3):
        os.setgroups([7]); print(e(lambda: os.close(os.open("g", os.O_RDONLY))), e(os.listxattr, "g"))
        os.setgroups([]); print(e(lambda: os.close(os.open("g", os.O_RDONLY))), e(os.truncate, "g", 1))
P
for what in caps groups; do
	[ $what = caps ] && who= || who="setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps +setgid --ambient-caps +setgid"
	new; want=$(cd src && $who /usr/bin/python3 ../giveup.py $what 2>&1 | tr '\n' ' ')
	new
	# shellcheck disable=SC2086
	both "$what that are given up and taken again" "$want" $who /usr/bin/python3 "$DIR/giveup.py" $what
done
ok "... some were refused" sh -c 'case $1 in *EACCES*) ;; *) exit 1 ;; esac' - "$want"

# Root of a user namespace is root there only.
if unshare -U --map-root-user true 2>/dev/null; then
	both "root of a user namespace" "cat: u: Permission denied " unshare -U --map-root-user cat u
else
	for _ in 1 2; do skip "no user namespace here"; done
fi

# Commands by the names that they have now.
new
cat >names.py <<'P'
import os, sys
def name(s): open("/proc/self/comm", "w").write(s)
f = os.open("g", os.O_RDWR)
for i in range(50):
    name("odd" if i % 2 else "even"); os.pread(f, 1 + i % 2, 0)
P
timeout -s KILL 60 "$IOPS" mount -q -o names.json --by command src mnt -- /usr/bin/python3 "$DIR/names.py"
is "commands by the names that they have now" "$(json names.json '{c["command"]: c["read"]["bytes"] for c in j["by"]["command"] if c["read"]["bytes"]}')" "{'odd': 50, 'even': 25}"

# access(2) asks as the real user.
new
cat >real.py <<'P'
import os
os.setresuid(1000, 0, 0); print(os.access("s", os.R_OK), os.access("u", os.R_OK), end=" ")
os.setresuid(0, 0, 0); os.setresuid(0, 1000, 0); print(os.access("s", os.R_OK))
P
both "access(2) as the real user" "False True True " /usr/bin/python3 "$DIR/real.py"

# Attributes that only root sees; programs that only run; files that anybody may write to.
new
setfattr -n trusted.b -v 1 src/u 2>/dev/null; setfattr -n user.a -v 1 src/u
want=$(cd src && as 1000 --clear-groups getfattr -m - u | tr '\n' ' ')
both "attributes that are to be seen" "$want" setpriv --reuid 1000 --regid 1000 --clear-groups getfattr -m - u
cp /bin/echo src/runs; chmod 111 src/runs
both "a program that may not be read" "it runs " setpriv --reuid 1000 --regid 1000 --clear-groups ./runs it runs
cat >times.py <<'P'
import errno, os, sys
def e(f, *a):
    try: return f(*a) and None
    except OSError as x: return errno.errorcode[x.errno]
f = os.open("w", os.O_RDWR); os.write(f, b"more")
print(e(os.fsync, f), e(os.ftruncate, f, 2), e(os.close, f), e(os.truncate, "w", 1), e(os.utime, "w"), e(os.utime, "w", (1, 1)))
P
echo w >src/w; chown 1:1 src/w; chmod 666 src/w
both "a file of another one that anybody may write to" "None None None None None EPERM " \
	setpriv --reuid 1000 --regid 1000 --clear-groups /usr/bin/python3 "$DIR/times.py"

# Where writes go is what fcntl(2) says by then.
cat >append.py <<'P'
import fcntl, os
f = os.open("a", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
os.write(f, b"hello"); fcntl.fcntl(f, fcntl.F_SETFL, 0); os.pwrite(f, b"J", 0)
fcntl.fcntl(f, fcntl.F_SETFL, os.O_APPEND); os.write(f, b"!"); os.lseek(f, 0, 0); print(os.read(f, 99).decode())
P
both "O_APPEND that is taken away and set again" "Jello! " /usr/bin/python3 "$DIR/append.py"

# What was asked about a name before there was a file is not what the file is.
new
m --json --by file,type -o types.json src mnt -- sh -c 'echo hello >new; cat new >/dev/null; ln -s new link; mv new newer'
is "a file that is made is no directory" "$(json types.json '[f["type"] for f in j["by"]["file"] if f["path"].endswith("/new")], [t["type"] for t in j["by"]["type"] if t["all"]["bytes"]]')" "(['regular'], ['regular'])"

# The command's end is seen by whoever is left.
for how in mount proc; do
	case $how in
	mount) timeout -s KILL 60 "$IOPS" mount -q --json -o left.json src mnt -- sleep 1 & ;;
	proc) timeout -s KILL 60 "$IOPS" run -q -b proc --json -o left.json -- sleep 1 & ;;
	esac
	: >left.json; sleep 0.5
	kill -KILL "$(pgrep -P $!)"
	for _ in $(seq 100); do [ -s left.json ] && break; sleep 0.1; done
	is "$how: who is left reports, should the front end be killed" "$(json left.json 'j["schema"]')" iops.report/1
done
for _ in $(seq 50); do grep -q " $DIR/mnt fuse" /proc/mounts || break; sleep 0.1; done
fails "... and nothing stays mounted" grep -q " $DIR/mnt fuse" /proc/mounts
plan
