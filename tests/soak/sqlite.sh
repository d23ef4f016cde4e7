#!/bin/sh
# The sqlite3 shell: journals, WAL with readers, vacuum, a killed writer; checksums of the data.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need sqlite3=sqlite3

pair journals <<'E'
n=$((SCALE * 400 + 100))
for mode in delete truncate persist memory off; do
	{
		echo "pragma journal_mode=$mode; pragma cache_size=20; create table t(id integer primary key, a, b blob); create index i on t(a);"
		i=0; while [ $i -lt $n ]; do
			echo "begin; insert into t(a, b) select value * $i % 977, zeroblob(value % 700) from generate_series(1, 20);
			update t set a = a + 1 where id % 17 = $((i % 17)); savepoint s; delete from t where id % 3 = 0; $([ $((i % 4)) = 0 ] && echo release || echo rollback to) s; $([ "$mode" != off ] && [ $((i % 5)) = 0 ] && echo rollback || echo commit);"
			i=$((i + 1))
		done
		echo "pragma integrity_check; select count(*), sum(a), sum(length(b)) from t; vacuum; pragma integrity_check;"
		echo .sha3sum
	} | sqlite3 $mode.db 2>&1 | sed "s/^/$mode: /"
	echo "$mode: $(sqlite3 $mode.db .dump | sha256sum)"
	sha256sum $mode.db
done
E

pair "WAL, one writer and readers" <<'E'
n=$((SCALE * 2000 + 300))
sqlite3 w.db "pragma journal_mode=wal; create table acc(id integer primary key, v); insert into acc select value, 100 from generate_series(1, 50); create table log(x);"
writer() {
	i=0; echo ".timeout 60000"
	while [ $i -lt $n ]; do
		echo "begin immediate; update acc set v = v - $i where id = $((i % 50 + 1)); update acc set v = v + $i where id = $((i * 7 % 50 + 1)); insert into log values(hex(zeroblob(300))); commit;"
		i=$((i + 1))
	done
}
reader() {
	echo ".timeout 60000"
	i=0; while [ $i -lt $n ]; do echo "select sum(v), count(*) from acc;"; i=$((i + 1)); done
}
writer | sqlite3 w.db & w=$!
for r in 1 2 3 4; do reader | sqlite3 w.db | sort | uniq -c >r$r & done
wait
for r in 1 2 3 4; do echo "reader $r: $(cat r$r)"; done
sqlite3 w.db "pragma wal_checkpoint(truncate); pragma integrity_check" .sha3sum
sqlite3 w.db .dump | sha256sum
ls w.db*
E

pair "writers that wait for locks" <<'E'
n=$((SCALE * 60 + 15))
sqlite3 l.db "create table t(w, i);"
for w in 1 2 3 4; do
	(i=0; while [ $i -lt $n ]; do sqlite3 -cmd ".timeout 120000" l.db "begin immediate; insert into t values($w, $i); commit;" || echo "writer $w failed"; i=$((i + 1)); done) &
done
wait
sqlite3 l.db "pragma integrity_check; select w, count(*), sum(i) from t group by w order by w;"
E

pair "vacuum, backup, recover" <<'E'
n=$((SCALE * 20000 + 5000))
sqlite3 v.db "pragma page_size=1024; pragma auto_vacuum=incremental; create table t(a, b, c); insert into t select value, hex(value * value), zeroblob(value % 300) from generate_series(1, $n); create index i on t(b); create index j on t(c, a); delete from t where a % 2; pragma incremental_vacuum(500); pragma integrity_check; vacuum into 'x.db'; pragma page_size=4096; vacuum; pragma integrity_check;" ".backup y.db" 2>&1
for f in v x y; do sqlite3 $f.db "pragma integrity_check; select count(*), sum(a), sum(length(c)) from t" .sha3sum; done
sqlite3 v.db .recover | sqlite3 z.db; sqlite3 z.db "select count(*), sum(a) from t"
sha256sum v.db x.db
sqlite3 m.db "pragma mmap_size=100000000; pragma journal_mode=wal; create table t as with recursive c(x) as (select 1 union all select x + 1 from c where x < $n) select x, hex(x) h from c; create virtual table f using fts5(h); insert into f select h from t; select count(*) from f where f match '313*'; pragma integrity_check" .sha3sum
E

pair "killed writers" <<'E'
for mode in delete wal; do
	sqlite3 k.db "pragma journal_mode=$mode; create table if not exists t(a, b); delete from t; insert into t values (0, 0);" >/dev/null
	i=0; while [ $i -lt $((SCALE * 8 + 3)) ]; do
		(while :; do echo "begin; insert into t select value, $i from generate_series(1, 500); update t set b = b + 1; insert into t select -value, 0 from generate_series(1, 500); commit;"; done) 2>/dev/null | sqlite3 k.db 2>/dev/null & s=$!
		sleep 0.2; kill -9 $s; wait $s 2>/dev/null
		sqlite3 k.db "pragma integrity_check; select sum(a), count(*) % 1000 from t;" | tr '\n' ' '; echo "$mode $i"
		i=$((i + 1))
	done
done
E
exit $bad
