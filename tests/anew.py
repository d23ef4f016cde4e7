#!/usr/bin/python3
"""
anew.py IOPS OPTION... - files that are written to at their end and removed, again and
again: the number of one is often that of the one before. Says what is told of the writes.
"""
import csv
import os
import subprocess
import sys

if sys.argv[1] == "in":
    for _ in range(40):
        for name, n in ("once", 3), ("then", 2):
            fd = os.open(name, os.O_WRONLY | os.O_CREAT)
            for _ in range(n):
                os.pwritev(fd, [b"0123456789"], -1, os.RWF_APPEND)
            os.close(fd)
            os.remove(name)
    sys.exit(0)
iops, *options = sys.argv[1:]
subprocess.run([iops, "run", "-q", "-o", "/dev/null", "-l", "run.iops", *options, "--", sys.executable, sys.argv[0], "in"], check=True)
table = subprocess.run([iops, "export", "--to", "csv", "run.iops"], stdout=subprocess.PIPE, text=True, check=True)
told = {}
for r in csv.DictReader(table.stdout.splitlines()):
    if r["call"] == "pwritev2":
        told.setdefault(os.path.basename(r["path"]), set()).add(r["offset"])
print(" ".join(f"{name}:{','.join(sorted(at - {''}))}" for name, at in sorted(told.items())))
