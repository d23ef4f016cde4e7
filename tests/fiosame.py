"""fiosame.py DEVICE [process]: a report of block operations beside the figures of fio itself
and those of the kernel. In this folder: job.json of fio, fio.json of iops, and the line of
/proc/diskstats before and after. "True" a line, or what differs: reads and writes as fio
counted them; as the kernel did; its queue depth; who it was.
"""
import json
import sys

j = json.load(open("job.json"))["jobs"][0]
r = json.load(open("fio.json"))
d = [x for x in r["layers"]["block"]["by"]["device"] if x["name"] == sys.argv[1]][0]
a, b = open("before").read().split(), open("after").read().split()
s = lambda i: int(b[i]) - int(a[i])
ours = [(d[k]["operations"], d[k]["bytes"]) for k in ("read", "write")]
print(ours == [(j[k]["total_ios"], j[k]["io_bytes"]) for k in ("read", "write")] or (ours, j["read"], j["write"]))
print(ours == [(s(3), 512 * s(5)), (s(7), 512 * s(9))] or (ours, a, b))
print(1 < d["queue_depth"]["mean"] <= d["queue_depth"]["max"] <= 8 or d["queue_depth"])
if sys.argv[2:]:
    # The thread is another than the process, which the command is.
    p = [x for x in r["by"]["process"] if x["all"]["operations"] == j["read"]["total_ios"] + j["write"]["total_ios"]]
    print([(x["pid"], x["command"]) for x in p] == [(r["run"]["pids"][0], "fio")] or r["by"]["process"])
