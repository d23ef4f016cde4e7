#!/usr/bin/python3
"""
linked.py IOPS OPTION... - rename(2) of one name of a file to another one leaves both, and
what is open as it was. Says what is told of the writes before and behind it.
"""
import csv
import os
import subprocess
import sys

N = 30


def write(fd, text):
    for _ in range(N):
        os.write(fd, text)


if sys.argv[1] == "in":
    fd = os.open("one", os.O_WRONLY)
    write(fd, b"1")
    os.rename("one", "two")
    write(fd, b"22")
    sys.exit(0)
iops, *options = sys.argv[1:]
for name in ("one", "two"):
    if os.path.lexists(name):
        os.remove(name)
open("one", "w").close()
os.link("one", "two")
subprocess.run([iops, "run", "-q", "-o", "/dev/null", "-l", "run.iops", *options, "--", sys.executable, sys.argv[0], "in"], check=True)
table = subprocess.run([iops, "export", "--to", "csv", "run.iops"], stdout=subprocess.PIPE, text=True, check=True)
told = {}
for r in csv.DictReader(table.stdout.splitlines()):
    if r["call"] == "write" and os.path.dirname(r["path"]) == os.getcwd():
        told.setdefault((os.path.basename(r["path"]), r["bytes"]), []).append(r)
print(" ".join(f"{name}:{n}x{len(all)}" for (name, n), all in told.items()))
