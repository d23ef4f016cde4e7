#!/usr/bin/python3
"""Traces of blktrace that are hard: blkmake.py KIND N >OUT, N of whatever the kind is."""
import random
import struct
import sys

kind, n = sys.argv[1], int(sys.argv[2])
out, number = sys.stdout.buffer, {}
Q, G, D, C, R = (1, 1 << 4), (4, 1 << 4), (7, 1 << 6 | 1 << 8), (8, 1 << 7 | 1 << 8), (6, 1 << 5 | 1 << 8)


def rec(ns, act, sector, cpu=0, dev=7 << 20, pid=50, seq=None, count=8):
    number[dev, cpu] = seq or number.get((dev, cpu), 0) + 1
    return struct.pack("<IIQQIIIIIHH", 0x65617407, number[dev, cpu], ns, sector, count * 512, act[0] | (act[1] | 2) << 16, pid, dev, cpu, 0, 0)


def name(pid, comm, cpu=0, dev=7 << 20):
    return struct.pack("<IIQQIIIIIHH", 0x65617407, 0, 0, 0, 0, 0x04000000, pid, dev, cpu, 0, 16) + comm.encode().ljust(16, b"\0")


def ordinary(cpus=4):
    """Requests of 8 sectors, one after another, 100 us apart: queued, issued, complete."""
    for i in range(n):
        for j, act in enumerate((Q, D, C)):
            yield rec(1000000000 + i * 100000 + j * 1000, act, 8 * i, i % cpus)


if kind == "queued":        # all on one sector, and none is ever complete
    out.writelines(rec(1000 + i, Q, 64) for i in range(n))
elif kind == "issued":      # likewise, all of them are with the driver
    out.writelines(rec(1000 + i, act, 64) for i in range(n) for act in (Q, D))
elif kind == "back":        # all put back, one by one, and issued again
    for act in (Q, D, R, D, C):
        out.writelines(rec(1000, act, 64) for i in range(n))
elif kind == "shuffled":    # none is missing
    records = list(ordinary())
    random.Random(7).shuffle(records)
    out.writelines(records)
elif kind == "holes":       # every tenth is missing, and the rest is not in order
    records = [r for i, r in enumerate(ordinary(1)) if i % 10 != 5 or i >= 3 * n - 5]
    for i in range(0, len(records), 50):
        part = records[i:i + 50]
        random.Random(i).shuffle(part)
        out.writelines(part)
elif kind == "restart":     # two traces, one behind the other
    for start in (1000, 5000000000):
        number.clear()
        out.writelines(rec(start + i * 1000, Q, 8 * i) for i in range(n))
elif kind == "number":      # one number is far too high, one too low
    for i in range(n):
        out.write(rec(1000 + i * 1000, Q, 8 * i, seq=1 << 30 if i == n // 2 else 1 if i == n // 4 else i + 1))
elif kind == "late":        # names that come behind all I/O
    out.writelines(ordinary(1))
    out.write(name(50, "latecomer"))
elif kind == "pids":        # each request is another process's
    for i in range(n):
        out.writelines(rec(1000 + i * 1000 + j, act, 8 * i, pid=i + 1) for j, act in enumerate((Q, D, C)))
elif kind == "devices":     # and each another device's
    for i in range(n):
        out.writelines(rec(1000 + i * 1000 + j, act, 8, dev=i + 1) for j, act in enumerate((Q, D, C)))
elif kind == "ordinary":
    out.writelines(ordinary())
elif kind == "ordinary1":
    out.writelines(ordinary(1))
else:
    sys.exit("blkmake.py: no such kind: " + kind)
