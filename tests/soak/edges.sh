#!/bin/sh
# Calls in odd places: registers, code that comes and goes, signals, cancelled threads.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need gcc=gcc
export RUNS=$((SCALE * 400 + 60))
for CC in gcc clang musl-gcc; do
	command -v $CC >/dev/null || { echo "edges: $CC is missing"; continue; }
	wide || [ $CC = gcc ] || continue
	export CC
	pair "$CC" <<'E'
echo 'long edge_read(int fd, void *b) { long n; __asm__ volatile("syscall" : "=a"(n) : "0"(0L), "D"((long)fd), "S"(b), "d"(8L) : "rcx", "r11", "memory"); return n; }' >e.c
$CC -shared -fPIC -O2 e.c -o edge.so
f=; [ $CC != musl-gcc ] || f="-DNO_BACKTRACE -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu"
$CC $f -D_GNU_SOURCE -g -O1 -pthread "$SOAK/prog/edges.c" -o edges -ldl && ./edges $RUNS
E
done
exit $bad
