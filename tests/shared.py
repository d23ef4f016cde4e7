#!/usr/bin/python3
"""
shared.py IOPS SEED HOW SEEKS OPTION... - threads, or processes, that read through one open file
at the same time. What they read tells where they were: no operation is told otherwise.
HOW: threads, processes; forks: children read on where a thread of their parent opens the
file again and again; inherits: children, and who has parted from the table of another
thread, move on from where it was. SEEKS: 0, or each time one in so many moves the position first.
Says what is wrong.
"""
import csv
import ctypes
import os
import random
import struct
import subprocess
import sys
import threading

EACH, WORKERS = 400, 4


def work(seed, fd):
    r = random.Random(seed)
    for _ in range(EACH):
        if seeks and not r.randrange(seeks):
            os.lseek(fd, 8 * r.randrange(EACH), os.SEEK_SET)
        data = os.read(fd, 8 * r.randrange(1, 9))
        truth.append((threading.get_native_id(), struct.unpack_from("Q", data)[0], len(data)))
        for _ in range(r.randrange(400)):
            pass


def say():
    with open(f"truth.{os.getpid()}", "w") as f:
        for one in truth:
            print(*one, file=f)


def open_again(fd):
    r = random.Random(seed)
    while not over:
        new = os.open("numbers", os.O_RDONLY)
        os.dup2(new, fd)
        os.close(new)
        for _ in range(r.randrange(6)):
            os.read(fd, 8 * r.randrange(1, 5))


def read(n):
    for _ in range(n):
        data = os.read(fd, 8)
        truth.append((threading.get_native_id(), struct.unpack("Q", data)[0], 8))


def fork(to=None):
    if not os.fork():
        truth.clear()
        if to is not None:
            os.lseek(fd, to, os.SEEK_SET)
        read(3)
        say()
        os._exit(0)
    os.wait()


def inherit():
    idle = threading.Event()
    t = threading.Thread(target=idle.wait)
    t.start()
    read(20)
    for i in range(20):
        fork(800 * (i + 1))
        read(2)
    ctypes.CDLL(None).unshare(0x400)  # CLONE_FILES
    os.lseek(fd, 88, os.SEEK_SET)
    read(20)
    idle.set()
    t.join()
    say()


truth = []
over = False
if sys.argv[1] == "in":
    seed, how, seeks = int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    fd = os.open("numbers", os.O_RDONLY)
    if how == "threads":
        all = [threading.Thread(target=work, args=(seed + i, fd)) for i in range(WORKERS)]
        for t in all:
            t.start()
        for t in all:
            t.join()
        say()
    elif how == "inherits":
        inherit()
    elif how == "forks":
        t = threading.Thread(target=open_again, args=(fd,))
        t.start()
        for _ in range(100):
            fork()
        over = True
        t.join()
    else:
        for i in range(WORKERS):
            if not os.fork():
                work(seed + i, fd)
                say()
                os._exit(0)
        for i in range(WORKERS):
            os.wait()
    sys.exit(0)

iops, seed, how, seeks, *options = sys.argv[1:]
with open("numbers", "wb") as f:
    for i in range(EACH * WORKERS * 8):
        f.write(struct.pack("Q", 8 * i))
for name in os.listdir("."):
    if name.startswith("truth."):
        os.remove(name)
subprocess.run([iops, "run", "-q", "-o", "/dev/null", "-l", "run.iops", *options, "--", sys.executable, sys.argv[0], "in", seed, how, seeks],
               timeout=120, check=True)
table = subprocess.run([iops, "export", "--to", "csv", "run.iops"], stdout=subprocess.PIPE, text=True, check=True)
got, want = {}, {}
for r in sorted(csv.DictReader(table.stdout.splitlines()), key=lambda r: int(r["start_ns"])):
    if r["call"] == "read" and r["path"].endswith("/numbers"):
        got.setdefault(int(r["tid"]), []).append((r["offset"], int(r["bytes"])))
for name in os.listdir("."):
    if name.startswith("truth."):
        for line in open(name):
            tid, at, n = map(int, line.split())
            want.setdefault(tid, []).append((str(at), n))
known = wrong = 0
for tid in want:
    told = got.get(tid, [])
    if [n for _, n in told] != [n for _, n in want[tid]]:
        print("other operations of a thread:", len(told), "of", len(want[tid]))
        continue
    known += sum(g[0] != "" for g in told)
    wrong += sum(g[0] not in ("", w[0]) for g, w in zip(told, want[tid]))
if wrong or not want:
    print(wrong, "of", known, "offsets are wrong")
if os.environ.get("SAY"):
    print(known, "of", EACH * WORKERS, "known")
