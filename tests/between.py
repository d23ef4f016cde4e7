#!/usr/bin/python3
"""
between.py IOPS HELPER SEED ROUNDS OPTION... - a program that reads and writes between
requests which move the positions, ends and names of the same files, and says where each
of its calls began: no operation is told otherwise, and of most it is known. Says what is
wrong.
"""
import csv
import json
import os
import subprocess
import sys

iops, helper, seed, rounds, *options = sys.argv[1:]
here = os.getcwd()
run = subprocess.run([iops, "run", "-q", "-o", "/dev/null", "-l", "run.iops", *options, "--", helper, here, seed, rounds],
                     stdout=subprocess.PIPE, text=True, timeout=120, check=True)
table = subprocess.run([iops, "export", "--to", "csv", "run.iops"], stdout=subprocess.PIPE, text=True, check=True)
rows = [r for r in csv.DictReader(table.stdout.splitlines())
        if r["call"] in ("read", "write") and os.path.dirname(r["path"]) == here]
rows.sort(key=lambda r: int(r["start_ns"]))
got = [(r["call"], os.path.basename(r["path"]), r["offset"], r["bytes"]) for r in rows]
want = [(call, name, str(offset), str(n)) for call, name, offset, n in json.loads(run.stdout)]
placed = unknown = 0
if len(got) != len(want):
    print(f"{len(got)} operations of {len(want)}")
for i, (g, w) in enumerate(zip(got, want)):
    told = w[2] != "-1"  # else the helper does not know either
    placed += told
    unknown += told and not g[2]
    if (g[0], g[1], g[3]) != (w[0], w[1], w[3]) or (told and g[2] and g[2] != w[2]):
        print("operation", i, g, "is", w)
if unknown * 2 > placed:
    print(f"{unknown} of {placed} have no place")
