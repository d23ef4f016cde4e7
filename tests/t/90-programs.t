#!/bin/sh
# Real programs: calls and bytes as a careful count of strace's output has them, and every
# thread verified.
# shellcheck disable=SC2086,SC2016
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

calls=read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev,pwritev2,sendto,recvfrom,sendmsg,recvmsg,sendfile,copy_file_range,splice
# name, what may differ from run to run (calls | bytes | nothing), command; from a clean folder each
same() {
	title=$1 loose=$2; shift 2
	rm -rf d; mkdir d
	(cd d && strace -f -s0 -e trace=$calls -o ../s.txt sh -c "$*" >/dev/null 2>&1)
	rm -rf d; mkdir d
	(cd d && "$IOPS" run --wait --json -o ../g.json -- sh -c "$*" >/dev/null 2>&1)
	/usr/bin/python3 "$ROOT/tests/stracesum.py" s.txt >w.json
	is "$title: as strace counts" "$(json g.json 'sorted((c["call"], '"$([ "$loose" = calls ] || echo 'c["all"]["operations"],')"' c["all"]["bytes"]) for c in j["by"]["call"] if c["all"]["operations"] and c["call"] in "'$calls'".split(","))')" \
		"$(json w.json 'sorted((k, '"$([ "$loose" = calls ] || echo 'v[0],')"' v[1]) for k, v in j.items())')"
	proven "$title"
}
# Threads that allocate at the same time make glibc read how many CPUs there are: or not.
export GLIBC_TUNABLES=glibc.malloc.arena_max=1

proven() {
	is "$1: every thread is verified" "$(json g.json '(j["run"]["verified"]["matched"] - j["run"]["verified"]["threads"], j["run"]["verified"]["unchecked"], j["run"]["lost"], j["run"]["verified"]["threads"] > 0)')" "(0, 0, 0, True)"
}
run() {
	title=$1; shift; rm -rf d; mkdir d
	(cd d && "$IOPS" run --wait --json -o ../g.json -- sh -c "$*" >/dev/null 2>&1)
	proven "$title"
}

same "cp -r" nothing 'cp -r /usr/include/linux c'
same "dd" nothing 'dd if=/dev/zero of=x bs=4096 count=500 conv=fsync status=none'
same "tar | cat" calls 'tar cf - /usr/include/asm-generic | cat >t.tar'
same "sort --parallel" calls 'seq 200000 | sort -r >in; sort --parallel=2 -S 1M in -o out'
same "sqlite3" nothing 'sqlite3 db "create table t(a, b); insert into t select value, hex(zeroblob(100)) from generate_series(1, 1000); create index i on t(b);"'
printf '#include <stdio.h>\nint main(void){FILE*f=fopen("m","w");for(int i=0;i<9999;i++)fprintf(f,"%%d\\n",i);return fclose(f);}' >m.c
if musl-gcc -static -O m.c -o musl 2>/dev/null; then
	same "static musl program" nothing "../musl"
else
	skip "no musl-gcc"
fi
same "python3 with threads" nothing '/usr/bin/python3 -B -c "
import threading
def f(i): open(str(i), \"w\").write(\"x\" * 1000 * i); open(str(i)).read()
t = [threading.Thread(target=f, args=(i,)) for i in range(20)]
[x.start() for x in t]; [x.join() for x in t]"'
run "git clone" 'git init -q r; cd r; seq 9999 >f; git add f; git -c user.name=a -c user.email=b commit -qm x; cd ..; git clone -q r s'
run "python3 with a process pool" '/usr/bin/python3 -c "
import multiprocessing as m
def f(i): open(str(i), \"w\").write(\"x\" * i)
m.Pool(4).map(f, range(100))"'
run "gcc by make -j4" 'for i in 1 2 3 4 5 6; do echo "int f$i(void){return $i;}" >f$i.c; done; printf "all: f1.o f2.o f3.o f4.o f5.o f6.o\n" >Makefile; make -j4'
run "a shell's storm of short processes" 'i=0; while [ $i -lt 300 ]; do expr $i + 1 >/dev/null; i=$((i + 1)); done'
run "2,000 threads" "$HELP/loop idle 200 2000"
run "redis under redis-benchmark" 'redis-server --port 17999 --save "" --daemonize no >log & sleep 0.5; redis-benchmark -p 17999 -n 2000 -c 5 -t get,set -q; redis-cli -p 17999 shutdown nosave; wait'
is "... and its sockets are told apart" "$(json g.json 'any(f["type"] == "socket" and f["read"]["operations"] > 1000 for f in j["by"]["file"]) or sum(f["read"]["operations"] for f in j["by"]["file"] if f["type"] == "socket") > 4000')" True
plan
