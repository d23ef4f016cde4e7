#!/bin/sh
# Shells, Perl, make, archives.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need perl=perl bash=bash make=make gcc=gcc

pair "bash" <<'E'
cat >a.bash <<'B'
set -u; n=$((SCALE * 150 + 30))
for ((i = 0; i < n; i++)); do echo "$i $((i * i))"; done | tee >(sha1sum >tee.sum) | while read -r a b; do echo "$b-$a"; done | sort | sha1sum
sleep 0.2; cat tee.sum
coproc C { while read -r l; do echo "got $l"; done; }
for i in 1 2 3; do echo "$i" >&"${C[1]}"; read -r l <&"${C[0]}"; echo "$l"; done; eval "exec ${C[1]}>&-"; wait "$C_PID"
trap 'echo usr1' USR1; for i in 1 2 3; do kill -USR1 $$; done; trap 'echo bye' EXIT
sleep 100 & p=$!; sleep 0.2; kill $p; wait $p; echo "killed $?"
(exit 7); echo $?; false | true; echo "${PIPESTATUS[*]}"; diff <(seq 10) <(seq 11); read -r -t 0.1 x < <(sleep 0.3); echo "timeout $?"
mapfile -t m < <(seq 1000); echo ${#m[@]} "${m[999]}"; exec 5<>rw; echo line >&5; cat rw; printf '%s\n' {a..e}{1..3} | paste -sd, -
for j in {1..20}; do (sleep 0.0$((j % 10)); exit $j) & q[j]=$!; done; s=0; for p in "${q[@]}"; do wait "$p"; s=$((s + $?)); done; echo "sum $s"
set -m; sleep 50 & p=$!; sleep 0.2; kill -STOP $p; sleep 0.2; jobs | grep -c Stopped; kill -CONT $p; sleep 0.3; kill $p; wait $p; echo "job $?"
echo here <<<x; cat <<<"here string"; ulimit -n 20; exec 7</dev/null; ls /proc/$$/fd | wc -l; echo x >/dev/full; echo "full $?"
B
bash a.bash 2>err; s=$?; cat err >&2; exit $s
E

pair "perl" <<'E'
cat >a.t <<'P'
use strict; use warnings; use Test::More; use Fcntl qw(:flock :seek O_RDWR O_CREAT); use POSIX ":sys_wait_h"; use Socket; use IO::Handle; use IO::Select; use File::Temp; use File::Find; use File::Copy; use Time::HiRes qw(ualarm sleep);
my $n = 300 + 3000 * $ENV{SCALE};
sysopen(my $f, "f", O_RDWR | O_CREAT) or die; my $sum = 0;
for my $i (1 .. $n) { $sum += syswrite($f, "x" x ($i % 100)); } is($sum, -s "f", "syswrite");
sysseek($f, 0, SEEK_SET); my ($b, $r) = ("", 0); while (my $k = sysread($f, $b, 77)) { $r += $k } is($r, $sum, "sysread");
for my $c (1 .. 5) { my $pid = fork // die; if (!$pid) { for (1 .. 50) { sysopen(my $l, "ctr", O_RDWR | O_CREAT); flock($l, LOCK_EX); my $v = <$l> // 0; seek($l, 0, 0); print $l $v + 1; $l->flush; close $l } POSIX::_exit(0) } }
my $kids = 0; $kids++ while wait > 0; is($kids, 5, "wait"); open(my $l, "<", "ctr"); is(scalar <$l>, 250, "counter");
socketpair(my $s, my $t, AF_UNIX, SOCK_STREAM, PF_UNSPEC); $s->autoflush(1); if (!(my $pid = fork)) { close $s; $t->autoflush(1); print $t uc while <$t>; POSIX::_exit(3) } close $t; print $s "abc\n"; is(scalar <$s>, "ABC\n", "socketpair"); shutdown($s, 1); wait; is($? >> 8, 3, "status");
my $a = 0; { local $SIG{ALRM} = sub { $a++ }; ualarm(2000, 2000); my ($x, $k) = (0, 0); while ($k < 300 || (!$a && $k < 1e6)) { open(my $h, "<", "f"); $x += length(do { local $/; <$h> }); $k++ } ualarm(0); is($x, $k * $sum, "reads beneath alarms"); cmp_ok($a, ">", 0, "alarms"); }
eval { local $SIG{ALRM} = sub { die "late\n" }; ualarm(50000); pipe(my $p, my $q); sysread($p, my $z, 1); }; is($@, "late\n", "a read is left by die");
is(`echo hi; exit 4`, "hi\n", "backticks"); is($? >> 8, 4, "status"); is(system("kill -9 \$\$") & 127, 9, "signal"); open(my $p, "|-", "sort >sorted"); print $p "$_\n" for reverse 10 .. 99; close $p; is(-s "sorted", 270, "pipe"); my $t2 = File::Temp->new; print $t2 "x" x 5000; $t2->flush; copy("$t2", "cp"); is(-s "cp", 5000, "copy"); 
open(my $nf, "<", "nosuch") or is($! + 0, 2, "errno"); local $SIG{PIPE} = "IGNORE"; pipe(my $p1, my $p2); close $p1; is(syswrite($p2, "x"), undef, "EPIPE"); is($! + 0, 32, "errno"); my $sel = IO::Select->new(\*STDIN); ok(defined $sel->can_read(0), "select"); done_testing;
P
perl a.t 2>&1; prove a.t | grep Result
E

pair "make -j4" <<'E'
n=$((SCALE * 30 + 12)); i=0
while [ $i -lt $n ]; do echo "#include <stdio.h>
int f$i(int x) { char b[64]; return snprintf(b, sizeof b, \"%d\", x * $i); }" >f$i.c; i=$((i + 1)); done
{ seq 0 $((n - 1)) | sed 's/.*/int f&(int);/'; echo 'int printf(const char *, ...); int main(void) { int s = 0;'; seq 0 $((n - 1)) | sed 's/.*/s += f&(&);/'; echo 'return !printf("%d ", s); }'; } >main.c
printf 'O := $(patsubst %%.c,%%.o,$(sort $(wildcard *.c)))\nall: p lib.a\n\t./p\np: $(O)\n\t$(CC) -o $@ $^\nlib.a: $(O)\n\tar rcsD $@ $^\n%%.o: %%.c\n\t$(CC) -O2 -c $<\nclean:\n\trm -f *.o p lib.a\n' >Makefile
make -s -j4 && sha256sum ./*.o p lib.a | sha256sum && make -s clean && make -s -j4 -O && touch f1.c && make -j2 | wc -l; make -s nosuch; echo $?
E

if wide && command -v rsync >/dev/null && command -v zstd >/dev/null; then pair "tar, zstd, rsync, cpio" <<'E'
t=/usr/include; [ "$SCALE" -gt 0 ] || t=/usr/include/linux
tar cf - --sort=name -C $t . | zstd -q -T2 -3 | tee a.zst | zstd -dq | sha1sum; mkdir x; zstd -dqc a.zst | tar xf - -C x; diff -r $t x && echo equal
tar cSzf s.tgz -C x . && tar tzf s.tgz | sort | sha1sum; zstd -q --long -T2 s.tgz && xz -0 -T2 -k s.tgz && bzip2 -1k s.tgz && sha1sum s.tgz.xz >/dev/null && xz -t s.tgz.xz && bzip2 -t s.tgz.bz2 && echo whole
rsync -a x/ y/ && echo more >>y/$(ls y | grep '\.h$' | head -1) && rsync -ac --delete --stats x/ y/ | grep 'files transferred\|Literal'; diff -r x y && echo equal
rsync -a -e 'sh -c '"'"'shift; exec "$@"'"'"' -' x/ h:"$PWD/z/" 2>/dev/null; rsync -a --inplace --no-whole-file x/ z/; diff -r x z && echo equal
printf '[m]\npath = %s\nuse chroot = no\n' "$PWD/x" >d.conf; rsync --daemon --no-detach --port 18731 --address 127.0.0.1 --config d.conf & d=$!; sleep 0.5; rsync -a rsync://127.0.0.1:18731/m/ n/; kill $d; wait $d; diff -r x n && echo equal
dd if=a.zst of=o bs=1000 conv=sync,fsync status=none; dd if=a.zst bs=64k oflag=direct of=o2 status=none; cmp a.zst o2 && cp --sparse=always --reflink=auto o o3 && split -n 7 o s. && cat s.?? | cmp - o3 && echo equal; shuf -i 1-50000 --random-source=a.zst | sort -n --parallel=2 -S 500K -T . | tail -1; find x -name '*.h' -print0 | sort -z | xargs -0 -P4 -n50 cat | wc -c
E
fi

pair "awk, sed, coreutils" <<'E'
seq $((SCALE * 60000 + 5000)) | awk '{ print $1 * 3 | "sort -rn >aw"; if (NR % 1000 == 0) { while (("echo " NR) | getline x) s += x } } END { close("sort -rn >aw"); print s; while ((getline y < "aw") > 0) n++; print n }'
sed -i 's/3/three/w w.txt' aw; sha1sum aw w.txt; timeout 0.2 cat /dev/zero | wc -c | grep -c .; timeout -s KILL 0.2 sleep 5; echo $?; yes | head -c 1000000 | sha1sum; tail -n +5 aw | head -1; (echo a; sleep 0.2; echo b) | timeout 5 tail -f -n1 --pid=$$ /dev/stdin 2>/dev/null | head -1
flock l sh -c 'flock -n l true; echo $?'; mkfifo p; (cat p | sha1sum) & seq 30000 >p; wait; stdbuf -o0 seq 2000 | md5sum; script -qc 'stty size; echo tty; test -t 0; echo $?' /dev/null | tr -d '\r' | tail -2; nice -n 5 nice; setsid sh -c 'ps -o sid= -p $$ | wc -w'; env -i /usr/bin/env | wc -l
E
exit $bad
