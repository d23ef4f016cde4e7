#!/usr/bin/python3
"""Whether the latencies of a report are those of btt's table "All Devices": blkbtt.py REPORT AVG"""
import gzip
import json
import sys

j = json.load(open(sys.argv[1]))["layers"]["block"]["latency_ns"]
name = sys.argv[2]
lines = (gzip.open if name.endswith(".gz") else open)(name, "rt").read().split("All Devices")[1].splitlines()
bad, seen = [], 0
for line in lines:
    w = line.split()
    if len(w) == 5 and w[0].lower() in j:
        q, seen = j[w[0].lower()], seen + 1
        want = [round(float(x) * 1e9) for x in w[1:4]] + [int(w[4])]
        got = [q["min"], q["mean"], q["max"], q["count"]]
        if any(abs(a - b) > 1 for a, b in zip(got, want)):
            bad.append((w[0], got, want))
    if "Device Overhead" in line:
        break
print(seen, bad)
