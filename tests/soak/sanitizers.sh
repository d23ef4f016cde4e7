#!/bin/sh
# A threaded program built with sanitizers: no report where there is no bug, and the same
# report where there is one.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need gcc=gcc
export UBSAN_OPTIONS=print_stacktrace=0 TSAN_OPTIONS=atexit_sleep_ms=0 RUNS=$((SCALE * 600 + 100))
for CC in gcc clang; do
	command -v $CC >/dev/null || { echo "sanitizers: $CC is missing"; continue; }
	bug=0
	for S in address undefined thread; do
		bug=$((bug + 1)); export CC S bug
		wide || [ $CC$S = gccthread ] || [ $CC$S = clangaddress ] || continue
		pair "$CC -fsanitize=$S" <<'E'
export ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0
for b in 0 $bug; do
	$CC -g -O1 -pthread -DBUG=$b -fsanitize=$S "$SOAK/prog/threads.c" -o p || exit
	setarch -R ./p $RUNS 2>err; echo "status $?"; cat err >&2
	grep -o 'SUMMARY: [A-Za-z]*: [a-z-]*\|runtime error: .*' err | sort -u
done
E
	done
done
exit $bad
