#!/bin/sh
# shellcheck disable=SC2016,SC2086
# The network layer of iops trace: what netio does, exactly.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
[ "$BPFMODE" ] || skip_all "eBPF: it takes root and a kernel with BTF"

# What all checks below know: the report, its layer, rows of streams, what netio told.
cat >net.py <<'END'
import csv, glob, json, sys
def report(name="r.json"):
    j = json.load(open(name))
    assert j["run"]["lost"] == 0, j["run"]
    return j["layers"]["net"]
def rows(stream, dir="d"):
    got = [r for f in sorted(glob.glob(f"{dir}/{stream}/*.csv")) for r in csv.DictReader(open(f))]
    for r in got:
        assert None not in r and None not in r.values(), r
        if "command" in r:
            assert r["command"] in prog, r
    return got
def columns(stream, dir="d"):
    return open(glob.glob(f"{dir}/{stream}/*.csv")[0]).readline().strip().split(",")
def same(got, want):
    assert got == want, f"\ngot  {got}\nwant {want}"
def cut(rows, *names):
    return [tuple(r[n] for n in names) for r in rows]
def calls(n):
    kinds = ("read", "write", "meta", "peek")
    return {r["call"][4:]: tuple(sum(r[k][x] for k in kinds if k in r) for x in ("operations", "errors", "bytes"))
            for r in n["by"]["call"]}
def sockets(n):
    return [(r["protocol"], r.get("local", ""), r.get("remote", ""), r["sent"]["operations"], r["sent"]["bytes"],
             r["received"]["operations"], r["received"]["bytes"]) for r in n["by"]["socket"]]
said = json.load(open("said.json"))
prog = ("netio", "netio32")
END
trace() {	# program parts...
	prog=$1; shift
	rm -rf d r.json
	"$IOPS" trace --layers net --plain -o d -l log.iops -- "$HELP/$prog" "$@" >said.json 2>err.txt || cat err.txt
	"$IOPS" report --json -o r.json log.iops
}
check() { cat net.py - >check.py; ok "$1" /usr/bin/python3 check.py; }

for prog in netio netio32; do
runs $prog || { skip "$why"; continue; }
for family in 4 6; do
	trace $prog tcp$family
	check "tcp$family: connections, bytes, errors ($prog)" <<END
n = report()
at = "127.0.0.1:%d" if $family == 4 else "[::1]:%d"
server, client = (at % said[k] for k in ("tcp$family", "tcp${family}_client"))
same(sockets(n), [("tcp", server, "", 0, 0, 0, 0), ("tcp", client, server, 10, 4380, 1, 77),
                  ("tcp", server, client, 1, 77, 10, 4380)])
same(n["connections"], {"opened": 1, "accepted": 1, "failed": 0, "closed": 2})
same((n["sent"]["operations"], n["sent"]["bytes"], n["received"]["operations"], n["received"]["bytes"]),
     (11, 4457, 11, 4457))
same((n["received"]["again"], n["peeked"]["operations"], n["peeked"]["bytes"]), (1, 1, 10))
same(n["errors"], [{"call": "setsockopt", "errno": "ENOPROTOOPT", "count": 2}])
same(n["drops"], {"count": 0, "bytes": 0, "by_reason": []})
c = calls(n)
recv, send = ("recv", "send") if "$prog" == "netio32" else ("recvfrom", "sendto")
same(c, {"socket": (2, 0, 0), "bind": (1, 0, 0), "listen": (1, 0, 0), "accept": (1, 0, 0), "connect": (1, 0, 0),
         "setsockopt": (4, 2, 0), "getsockopt": (2, 0, 0), "shutdown": (3, 0, 0), "close": (3, 0, 0),
         send: (4, 0, 3077), "write": (2, 0, 1000), "writev": (1, 0, 300), "sendmsg": (1, 0, 50), "sendmmsg": (3, 0, 30),
         recv: (6, 0, 3087), "read": (1, 0, 1000), "readv": (1, 0, 300), "recvmsg": (1, 0, 50), "recvmmsg": (3, 0, 30)})
same(n["operations"], sum(v[0] for v in c.values()))
took = [r for r in n["by"]["socket"] if "connect_ns" in r]
assert len(took) == 1 and 0 < took[0]["connect_ns"] < 10**9, took
assert all(r["opened_ns"] < r["closed_ns"] for r in n["by"]["socket"])
same([(r["pid"], r["command"]) for r in n["by"]["process"]], [(said["pid"], "$prog")])
END
	check "... its life as rows ($prog)" <<END
ip, v, dom = ("127.0.0.1", "4", "AF_INET") if $family == 4 else ("::1", "6", "AF_INET6")
server, client = str(said["tcp$family"]), str(said["tcp${family}_client"])
same(columns("nw_conn")[:18], "timestamp event_type pid tid command domain sock_type ipver local_addr remote_addr sport dport fd backlog shutdown_how latency_ns return_value mono_ns".split())
same(cut(rows("nw_conn"), "event_type", "domain", "sock_type", "ipver", "local_addr", "sport", "remote_addr", "dport",
         "fd", "backlog", "shutdown_how", "return_value", "errno", "holders"),
     [(e, dom, "SOCK_STREAM", v, ip if l else "", l, ip if r else "", r, fd, log, how, ret, "", left) for e, l, r, fd, log, how, ret, left in (
        ("SOCKET_CREATE", "", "", "3", "", "", "3", ""), ("BIND", server, "", "3", "", "", "0", ""), ("LISTEN", server, "", "3", "7", "", "0", ""),
        ("SOCKET_CREATE", "", "", "4", "", "", "4", ""), ("CONNECT", client, server, "4", "", "", "0", ""),
        ("ACCEPT", server, client, "5", "", "", "5", ""), ("SHUTDOWN", client, server, "4", "", "SHUT_WR", "0", ""),
        ("SHUTDOWN", server, client, "5", "", "SHUT_RD", "0", ""), ("SHUTDOWN", server, client, "5", "", "SHUT_RDWR", "0", ""),
        ("CLOSE", client, server, "4", "", "", "0", "0"), ("CLOSE", server, client, "5", "", "", "0", "0"), ("CLOSE", server, "", "3", "", "", "0", "0"))])
assert all(int(r["latency_ns"]) > 0 and r["pid"] == r["tid"] == str(said["pid"]) for r in rows("nw_conn"))
times = [r["mono_ns"] for r in rows("nw_conn")]
same(times, sorted(times))
END
	check "... its bytes as rows ($prog)" <<END
ip, v = ("127.0.0.1", "4") if $family == 4 else ("::1", "6")
server, client = str(said["tcp$family"]), str(said["tcp${family}_client"])
same(columns("nw")[:14], "timestamp pid command protocol ip_version source_addr dest_addr source_port dest_port size direction latency_ns error_code msg_flags".split())
sizes = [1000] * 3 + [500] * 2 + [300, 50, 10, 10, 10]
flags = ["MSG_NOSIGNAL"] * 3 + [""] * 7
def row(a, b, size, way, flags="", err=""):
    return ("TCP", v, ip, ip, a, b, str(size), way, err, flags)
want = [row(client, server, s, "send", f) for s, f in zip(sizes, flags)]
want += [row(client, server, 10, "receive", "MSG_PEEK")]
want += [row(client, server, s, "receive", f) for s, f in zip([1000] * 4 + [300, 50, 10, 10, 10], ["MSG_WAITALL"] * 3 + [""] * 6)]
want += [row(client, server, 0, "receive", "MSG_DONTWAIT", "EAGAIN"), row(server, client, 77, "send"),
         row(server, client, 77, "receive"), row(client, server, 0, "receive")]
same(cut(rows("nw"), "protocol", "ip_version", "source_addr", "dest_addr", "source_port", "dest_port", "size", "direction", "error_code", "msg_flags"), want)
END
	check "... its options as rows ($prog)" <<END
same(columns("nw_sockopt")[:10], "timestamp event_type pid command fd level option_name optval return_value mono_ns".split())
got = cut(rows("nw_sockopt"), "event_type", "fd", "level", "option_name", "optval", "return_value", "errno")
congestion = open("/proc/sys/net/ipv4/tcp_congestion_control").read().strip()
same(got, [("SET", "4", "SOL_SOCKET", "SO_REUSEADDR", "1", "0", ""), ("GET", "4", "SOL_SOCKET", "SO_TYPE", "1", "0", ""),
           ("SET", "4", "IPPROTO_TCP", "TCP_NODELAY", "0", "0", ""), ("GET", "4", "IPPROTO_TCP", "TCP_CONGESTION", congestion, "0", ""),
           ("SET", "4", "SOL_SOCKET", "SO_RCVTIMEO", "2500000", "0", ""), ("SET", "4", "SOL_SOCKET", "SO_LINGER", "7", "0", ""),
           ("SET", "4", "SOL_SOCKET", "9999", "9", "-92", "ENOPROTOOPT"), ("SET", "4", "777", "3", "9", "-92", "ENOPROTOOPT")])
END
	trace $prog udp$family refused$family
	check "udp$family: datagrams; what nobody wanted ($prog)" <<END
n = report()
ip = "127.0.0.1" if $family == 4 else "::1"
end = "%s:%s" if $family == 4 else "[%s]:%s"
a, b = (str(said[k]) for k in ("udp${family}_from", "udp${family}_to"))
any = "0.0.0.0" if $family == 4 else "::"
s = sockets(n)
same(s[:2], [("udp", end % (ip, a), "", 9, 132, 0, 0), ("udp", end % (ip, b), "", 0, 0, 9, 132)])
same(s[4:], [("tcp", "", end % (ip, said["refused"]), 0, 0, 0, 0),
             ("udp", end % (any, said["dropped_from"]) , "", 1, 11, 0, 0)])
same(n["connections"], {"opened": 0, "accepted": 0, "failed": 1, "closed": 0})
same(n["errors"], [{"call": "connect", "errno": "ECONNREFUSED", "count": 1}])
same((n["drops"]["count"], [(r["reason"], r["count"]) for r in n["drops"]["by_reason"]]), (2, [("NO_SOCKET", 2)]))
same([r["drops"]["count"] for r in n["by"]["socket"]], [0, 0, 0, 0, 1, 1])
same(n["resets"], {"sent": 0, "received": 1})
data = cut(rows("nw"), "protocol", "source_port", "dest_port", "size", "direction", "call")
same(data, [("UDP", a, b, "20", "send", "sendto")] * 5 + [("UDP", a, b, "8", "send", "sendmmsg")] * 4 +
     [("UDP", a, b, "20", "receive", "recvfrom")] * 5 + [("UDP", "", b, "8", "receive", "recvmmsg")] * 4 +
     [("UDP", str(said["dropped_from"]), str(said["dropped"]), "11", "send", "sendto")])
same(columns("nw_drop")[:14], "timestamp event_type pid command proto ipver src_addr dst_addr sport dport skb_len drop_reason tcp_state mono_ns".split())
drops = cut(rows("nw_drop"), "event_type", "proto", "ipver", "src_addr", "dst_addr", "dport", "drop_reason", "reason_name", "pid")
reason = drops[0][6] # a number of this kernel
assert reason.isdigit()
same(drops, [("PACKET_DROP", p, "$family", ip, ip, str(said[k]), reason, "NO_SOCKET", str(said["pid"])) for p, k in (("TCP", "refused"), ("UDP", "dropped"))])
c = [r for r in rows("nw_conn") if r["event_type"] == "CONNECT"]
same(cut(c, "local_addr", "remote_addr", "dport", "return_value", "errno"), [("", ip, str(said["refused"]), "-111", "ECONNREFUSED")])
END
done
trace $prog unix two
check "unix sockets: paths, abstract names, pairs, calls with two sides ($prog)" <<END
import os
n, path = report(), os.getcwd() + "/netio.sock"
same(sockets(n), [("unix", path, "", 0, 0, 0, 0), ("unix", "", path, 1, 300, 0, 0), ("unix", path, "", 0, 0, 1, 300),
     ("unix", "", "/nowhere/at/all", 0, 0, 0, 0), ("unix", "", "", 1, 40, 0, 0), ("unix", "", "", 0, 0, 1, 40),
     ("unix-dgram", "@iops-netio", "", 0, 0, 1, 60), ("unix-dgram", "", "", 1, 60, 0, 0),
     ("unix", "", "", 1, 500, 0, 0), ("unix", "", "", 1, 300, 1, 300)])
same(n["connections"], {"opened": 1, "accepted": 1, "failed": 1, "closed": 2})
same(n["errors"], [{"call": "connect", "errno": "ENOENT", "count": 1}])
c = calls(n)
same((c["sendfile"], c["splice"], c["socketpair"]), ((1, 0, 500), (2, 0, 600), (2, 0, 0)))
bound = [r for r in rows("nw_conn") if r["event_type"] == "BIND"]
same(cut(bound, "domain", "local_addr", "sport", "ipver"), [("AF_UNIX", path, "", ""), ("AF_UNIX", "@iops-netio", "", "")])
END
trace $prog later full
check "connects that go on by themselves; queues that are full ($prog)" <<END
n = report()
same(n["connections"], {"opened": 2, "accepted": 0, "failed": 2, "closed": 2})
same(n["errors"], [])
assert said["again"] > 0
same(n["retransmits"]["count"], said["again"])
same(n["receive_queue_full"], 50 - said["got"])
by = {r["reason"]: (r["count"], r["bytes"]) for r in n["drops"]["by_reason"]}
same(by, {"NO_SOCKET": (1, by["NO_SOCKET"][1]), "SOCKET_RCVBUFF": (50 - said["got"], 700 * (50 - said["got"]))})
full = [r for r in n["by"]["socket"] if r["drops"]["count"] > 1]
same([(r["received"]["operations"], r["drops"]["count"]) for r in full], [(said["got"], 50 - said["got"])])
again = [r for r in rows("nw_drop") if r["event_type"] == "TCP_RETRANSMIT"]
same(cut(again, "proto", "tcp_state", "drop_reason", "reason_name", "pid"), [("TCP", "SYN_SENT", "", "", str(said["pid"]))] * said["again"])
states = cut([r for r in rows("nw_tcp") if r["old_state"] == "SYN_SENT"], "new_state", "error")
same(states, [("ESTABLISHED", ""), ("CLOSE", "ECONNREFUSED"), ("ESTABLISHED", ""), ("CLOSE", "")])
END
trace $prog ends child
check "closed by dup2, close_range, the end of a process, a reset ($prog)" <<END
n = report()
same(n["connections"], {"opened": 4, "accepted": 4, "failed": 0, "closed": 8})
same(n["resets"], {"sent": 1, "received": 1})
c = calls(n)
same((c["close"], c["dup2"], c["close_range"], c["fork"] if "fork" in c else None), ((8, 0, 0), (1, 0, 0), (1, 0, 0), None))
close = [r for r in rows("nw_conn") if r["event_type"] == "CLOSE"]
me, kid = str(said["pid"]), str(said["child"])
same(cut([r for r in close if r["call"] == "exit"], "pid", "fd", "holders"),
     [(kid, "3", "1"), (kid, "4", "1"), (kid, "5", "1"), (kid, str(said["left_open"]), "1"),
      (me, "3", "0"), (me, str(said["left_open"]), "0")])
same([r["holders"] for r in close if r["call"] == "close" and r["domain"] == "AF_INET"], ["1", "0", "0", "0", "0", "0"])
same(sorted((r["pid"], r["sent"]["bytes"], r["received"]["bytes"]) for r in n["by"]["socket"] if r["protocol"] == "unix"
            if r["sent"]["bytes"] or r["received"]["bytes"]), sorted([(said["pid"], 0, 9), (said["child"], 9, 0)]))
END
trace $prog waits
check "epoll, poll, select ($prog)" <<END
n = report()
same({w["call"]: (w["operations"], w["ready"], w["empty"]) for w in n["waits"]},
     {"epoll_wait": (2, 1, 1), "epoll_pwait": (1, 1, 0), "poll": (1, 1, 0), "ppoll": (1, 0, 1), "pselect6" if "pselect6" in [w["call"] for w in n["waits"]] else "select": (1, 0, 1)})
slow = [w for w in n["waits"] if w["call"] == "ppoll"][0]
assert slow["time_ns"] >= 2500000 and slow["latency_ns"]["max"] >= 2500000, slow
same(columns("nw_epoll")[:13], "timestamp event_type pid tid command epoll_fd target_fd operation event_mask max_events ready_count timeout_ms latency_ns".split())
ep, fd = str(said["epoll"]), str(said["target"])
same(cut(rows("nw_epoll"), "event_type", "epoll_fd", "target_fd", "operation", "event_mask", "max_events", "ready_count", "timeout_ms"),
     [("EPOLL_CREATE", ep, "", "", "", "", "", ""), ("EPOLL_CTL", ep, fd, "EPOLL_CTL_ADD", "EPOLLIN|EPOLLET", "", "", ""),
      ("EPOLL_CTL", ep, fd, "EPOLL_CTL_MOD", "EPOLLIN", "", "", ""), ("EPOLL_WAIT", ep, "", "", "", "8", "0", "0"),
      ("EPOLL_WAIT", ep, "", "", "", "8", "1", "-1"), ("EPOLL_WAIT", ep, "", "", "", "4", "1", "20"),
      ("POLL", "", "", "", "", "1", "1", "7"), ("POLL", "", "", "", "", "1", "0", "2.500000"),
      ("SELECT", "", "", "", "", str(said["target"] + 1), "0", "1"), ("EPOLL_CTL", ep, fd, "EPOLL_CTL_DEL", "", "", "", "")])
END
done

# A process that was there before, and its sockets; the same from a log and live.
"$HELP/netio" tcp4 >said.json
"$IOPS" trace --layers net --json -o live.json -l log.iops -- "$HELP/netio" tcp4 unix waits ends >/dev/null
"$IOPS" report --json -o log.json log.iops
is "a log tells the same" "$(json log.json 'j["layers"]["net"] == json.load(open("live.json"))["layers"]["net"]')" True
ok "the report is as the schema says" /usr/bin/python3 -c "
import json, jsonschema
jsonschema.validate(json.load(open('live.json')), json.load(open('$ROOT/share/report-1.schema.json')))"
"$IOPS" merge --json live.json live.json >merged.json
ok "... merged too" /usr/bin/python3 -c "
import json, jsonschema
j = json.load(open('merged.json'))
jsonschema.validate(j, json.load(open('$ROOT/share/report-1.schema.json')))
assert j['layers']['net']['completed']['read']['bytes'] == 2 * json.load(open('live.json'))['layers']['net']['received']['bytes']"
/usr/bin/python3 - >said2 <<'END' &
import os, socket, time
a, b = socket.socketpair()
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
for i in range(1000): a.send(b"x" * 10); b.recv(10)
END
pid=$!
until [ -e ready ]; do sleep 0.05; done
"$IOPS" trace --layers net --json -o attach.json -p $pid & tracer=$!
listens $tracer; : >go; wait $pid; wait $tracer
is "sockets that were there before" "$(json attach.json '[sorted((r["sent"]["operations"], r["sent"]["bytes"], r["received"]["bytes"], "opened_ns" in r) for r in j["layers"]["net"]["by"]["socket"]), j["run"]["lost"]]')" \
	"[[(0, 0, 10000, False), (1000, 10000, 0, False)], 0]"
"$IOPS" trace --layers net --plain --anonymize -o anon -- "$HELP/netio" tcp4 unix >/dev/null 2>&1
fails "no address or path of ours in anonymous rows" grep -rq "netio.sock\|iops-netio" anon
"$IOPS" trace --layers net -o t.txt -- "$HELP/netio" tcp4 refused4 >said.json
ok "a table" grep -Eq "^tcp 127.0.0.1:[0-9]+ -> 127.0.0.1:$(json said.json 'j["tcp4"]') .* 10 +4.3 KiB +1 +77 B" t.txt
ok "... with drops by reason" grep -q "^drops 2 .*NO_SOCKET 2" t.txt
plan
