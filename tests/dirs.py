#!/usr/bin/python3
"""
dirs.py IOPS SEED N OPTION... - files are written in directories that were opened before,
while these are moved, removed, shared and gone through. The truth is what /proc says of
each file at the moment it is written. Says what differs, and how many were compared.
"""
import csv
import os
import random
import subprocess
import sys

WRITER = r'''
import ctypes, os, random, sys
renameat2 = ctypes.CDLL(None).renameat2
r = random.Random(int(sys.argv[1])); top = os.getcwd(); truth = os.open("../truth", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.mkdir("0"); os.symlink("0", "link"); held = []; n = 0; made = 0
def some_dir():
    return r.choice([d for d, _, _ in os.walk(top)])
def hold():
    d = some_dir(); how = r.randrange(5); flags = os.O_RDONLY | r.choice([0, os.O_DIRECTORY, os.O_NOFOLLOW, os.O_PATH])
    if how == 0 and held: held.append(os.open(".", flags & ~os.O_NOFOLLOW, dir_fd=r.choice(held)))
    elif how == 1: held.append(os.open(os.path.relpath(d), flags))
    elif how == 2: held.append(os.open(top + "/link/", os.O_RDONLY)) if os.path.isdir(top + "/link") else None
    elif how == 3 and held: held.append(os.dup(r.choice(held)))
    else: held.append(os.open(d, flags))
def drop():
    if held: os.close(held.pop(r.randrange(len(held))))
def make():
    global made
    made += 1; os.mkdir(os.path.join(some_dir(), "d%d" % made)) if r.randrange(3) else os.mkdir("m%d" % made)
def move():
    global made
    a, b = some_dir(), some_dir(); made += 1
    if a != top and not (b + "/").startswith(a + "/"): os.rename(a, b + "/r%d.%d" % (made, os.getpid()))
def swap():
    a, b = some_dir(), some_dir()
    if a != top and b != top and not ((b + "/").startswith(a + "/") or (a + "/").startswith(b + "/")):
        assert renameat2(-100, a.encode(), -100, b.encode(), 2) == 0
def remove():
    d = some_dir()
    if d != top:
        try: os.rmdir(d)
        except OSError: pass
def go():
    if held and r.randrange(2): os.fchdir(r.choice(held))
    else: os.chdir(some_dir())
def write():
    global n
    try:
        if held and r.randrange(4): f = os.open("f%d" % r.randrange(3), os.O_WRONLY | os.O_CREAT, dir_fd=r.choice(held))
        else: f = os.open(some_dir() + "/f%d" % r.randrange(3), os.O_WRONLY | os.O_CREAT | r.choice([0, os.O_NOFOLLOW]))
    except OSError: return
    n += 1; os.write(f, b"x" * n); os.write(truth, (os.readlink("/proc/self/fd/%d" % f) + "\n").encode())
    if r.randrange(2): os.unlink("f", dir_fd=held[0]) if held and os.path.exists("/proc/self/fd/%d/f" % held[0]) else None
    os.close(f)
def child():
    pid = os.fork()
    if not pid:
        for i in range(4): r.choice([write, move])()
        os.write(pipe[1], bytes([n & 255, n >> 8])); os._exit(0)
    os.waitpid(pid, 0); back()
def back():
    global n
    got = os.read(pipe[0], 2); n = got[0] | got[1] << 8
pipe = os.pipe()
for i in range(300):
    try: r.choice([hold] * 4 + [drop] * 2 + [make] * 2 + [move] * 2 + [swap, remove, go] + [write] * 6 + ([child] if i % 10 == 0 else []))()
    except FileNotFoundError: os.chdir(top)
    while len(held) > 8: drop()
'''


def run(iops, seed, options):
    top = os.path.join(os.getcwd(), "top")
    subprocess.run(["rm", "-rf", top, "truth", "run.iops"], check=True)
    os.mkdir(top)
    subprocess.run([iops, "run", "-q", "-o", "/dev/null", "-l", "run.iops", *options, "--", "/usr/bin/python3", "-c", WRITER, str(seed)],
                   cwd=top, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    os.rename(os.path.join(top, "run.iops"), "run.iops")
    table = subprocess.run([iops, "export", "--to", "csv", "run.iops"], stdout=subprocess.PIPE, text=True, check=True)
    got = {int(r["bytes"]): r["path"] for r in csv.DictReader(table.stdout.splitlines())
           if r["call"] == "write" and "/f" in r["path"] and r["path"].startswith(top)}
    with open("truth") as f:
        return [line.rstrip("\n") for line in f], got


iops, seed, n, *options = sys.argv[1:]
compared = 0
for i in range(int(n)):
    want, got = run(iops, int(seed) + i, options)
    compared += len(want)
    wrong = [(k, path, got.get(k)) for k, path in enumerate(want, 1) if got.get(k) != path]
    if wrong:
        print(f"seed {int(seed) + i}: {len(wrong)} of {len(want)} differ, as write {wrong[0]}")
print("many" if compared > 20 * int(n) else compared)
