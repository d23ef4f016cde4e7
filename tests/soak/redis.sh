#!/bin/sh
# redis-server and its clients: the data, the counters, the saved files.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need redis-server=redis-server redis-benchmark=redis-tools redis-cli=redis-tools

pair "benchmark, Lua, RDB, AOF" <<'E'
n=$((SCALE * 3000 + 500))
start() { redis-server --port 0 --unixsocket "$PWD/s" --dir "$PWD" --enable-debug-command yes --io-threads "$1" --appendonly yes --appendfsync everysec --save "" --daemonize no --logfile log & pid=$!; until redis-cli -s s ping >/dev/null 2>&1; do sleep 0.05; done; }
c() { redis-cli -s s "$@"; }
info() { c info "$1" | tr -d '\r' | sed -n "s/^$2://p"; }
start 1
before=$(info stats total_commands_processed)
redis-benchmark -s s -n $n -c 20 -r 100 -t set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,zadd,lrange_100,mset -q >/dev/null 2>&1
redis-benchmark -s s -n $n -c 10 -P 16 -d 3000 -t set,get -q >/dev/null 2>&1
echo "commands: $(($(info stats total_commands_processed) - before - 1)) errors: $(info stats total_error_replies) rejected: $(info stats rejected_connections)"
c flushall
i=0; while [ $i -lt 300 ]; do echo "set k$i $i"; echo "rpush l$((i % 7)) $i"; echo "hset h$((i % 5)) f$i $i"; i=$((i + 1)); done | c | sort | uniq -c
c eval 'local s = 0; for i = 0, 299 do s = s + redis.call("get", "k" .. i) end; for i = 1, 20000 do redis.call("zadd", "z", i * 7919 % 10007, "m" .. i) end; return {s, redis.call("zcard", "z"), redis.sha1hex(table.concat(redis.call("zrange", "z", 0, -1)))}' 0
c config set save "3600 1" >/dev/null; c bgsave >/dev/null; while [ "$(info persistence rdb_bgsave_in_progress)" = 1 ]; do sleep 0.05; done
echo "rdb: $(info persistence rdb_last_bgsave_status), forks $(info stats total_forks)"
c bgrewriteaof >/dev/null; while [ "$(info persistence aof_rewrite_in_progress)$(info persistence aof_rewrite_scheduled)" != 00 ]; do sleep 0.05; done
echo "aof: $(info persistence aof_last_bgrewrite_status) $(info persistence aof_last_write_status)"
c set after rewrite; echo "size $(c dbsize) digest $(c debug digest)"
c shutdown nosave 2>/dev/null; wait $pid; echo "ended with $?"
redis-check-rdb dump.rdb | grep -c 'RDB looks OK'
redis-check-aof appendonlydir/*.manifest | grep -c 'is valid'
start 3
echo "from the aof: $(c dbsize) $(c debug digest) $(c debug reload) $(c debug digest)"
redis-benchmark -s s -n $n -c 50 --threads 2 -t set,get -q >/dev/null 2>&1
c client no-evict on; c publish a b; c get after; c memory usage k1 >/dev/null; c debug sleep 0.1
kill -TERM $pid; wait $pid; echo "ended with $?"
E

pair "crash report, kill -9" <<'E'
redis-server --port 0 --unixsocket "$PWD/a" --dir "$PWD" --enable-debug-command yes --appendonly yes --appendfsync always --daemonize no --logfile a.log & pid=$!
until redis-cli -s a ping >/dev/null 2>&1; do sleep 0.05; done
i=0; while [ $i -lt 200 ]; do echo "set k$i $i"; i=$((i + 1)); done | redis-cli -s a | sort | uniq -c
redis-cli -s a debug segfault >/dev/null 2>&1; wait $pid; echo "ended with $?"
grep -c 'REDIS BUG REPORT START\|STACK TRACE\|crashed by signal: 11' a.log
redis-server --port 0 --unixsocket "$PWD/a" --dir "$PWD" --appendonly yes --appendfsync always --daemonize no --logfile b.log & pid=$!
until redis-cli -s a ping 2>/dev/null | grep -q PONG; do sleep 0.05; done
redis-cli -s a dbsize; kill -9 $pid; wait $pid; echo "ended with $?"
redis-server --port 0 --unixsocket "$PWD/a" --dir "$PWD" --appendonly yes --daemonize no --logfile c.log & pid=$!
until redis-cli -s a ping 2>/dev/null | grep -q PONG; do sleep 0.05; done
redis-cli -s a dbsize; redis-cli -s a shutdown nosave 2>/dev/null; wait $pid; echo "ended with $?"
E
exit $bad
