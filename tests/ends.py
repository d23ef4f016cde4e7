#!/usr/bin/python3
"""
ends.py IOPS SEED OPTION... - processes that append to one file, while others cut it and
make it longer in all ways there are. Each asks the kernel where its write has ended: no
offset differs from that, and most are known. Says what is wrong. SEED "unseen": one
process, and who cuts the file is not traced; what comes long after that is right.
"shared": all through one open file, and where something is the file itself says.
"""
import csv
import glob
import json
import os
import random
import subprocess
import sys
import time

EACH, CUTS = 1000, 15


def append(seed, flagged, pause=0.001):
    r = random.Random(seed)
    fd = os.open("log", os.O_RDWR | os.O_CREAT | (0 if flagged else os.O_APPEND))
    truth = []
    for i in range(EACH):
        text = b"x" * r.randrange(1, 40)
        if flagged:
            os.pwritev(fd, [text], -1, os.RWF_APPEND)
        else:
            os.write(fd, text)
        truth.append(os.lseek(fd, 0, os.SEEK_CUR) - len(text))
        if i % 8 == 0:
            time.sleep(pause * r.random())
    with open(f"truth.{os.getpid()}", "w") as f:
        json.dump(truth, f)


def resize(r):
    size = r.randrange(3000)
    way = r.randrange(9)
    if way == 0:
        os.truncate("log", size)
    elif way == 1:
        fd = os.open("log", os.O_WRONLY)
        os.ftruncate(fd, size)
        os.close(fd)
    elif way == 2:
        os.close(os.open("log", os.O_WRONLY | os.O_TRUNC))
    elif way == 3:
        fd = os.open("log", os.O_WRONLY)
        os.posix_fallocate(fd, 0, size)
        os.close(fd)
    elif way == 4:
        fd = os.open("log", os.O_WRONLY)
        os.pwrite(fd, b"far", size)
        os.close(fd)
    else:
        subprocess.run(
            [f"truncate -s {size} log", ": >log", f"fallocate -l {size} log", f"dd if=/dev/zero of=log conv=notrunc bs=1 seek={size} count=3"][way - 5],
            shell=True, stderr=subprocess.DEVNULL)


def target(seed):
    r = random.Random(seed)
    kids = []
    for i in range(r.choice([1, 3])):
        kid = os.fork()
        if not kid:
            append(seed * 100 + i, r.random() < 0.3)
            os._exit(0)
        kids.append(kid)
    for _ in range(CUTS):
        time.sleep(r.random() / 50)
        resize(r)
    for kid in kids:
        os.waitpid(kid, 0)


def share():
    fd = os.open("log", os.O_WRONLY | os.O_APPEND)
    kids = []
    for _ in range(4):
        kid = os.fork()
        if not kid:
            for i in range(EACH):
                os.write(fd, b"%d:%d\n" % (os.getpid(), i))
                if i % 8 == 0:
                    time.sleep(0.0003)
            os._exit(0)
        kids.append(kid)
    for kid in kids:
        os.waitpid(kid, 0)


def read_back():
    at, places = 0, {}
    with open("log") as f:
        for line in f:
            places.setdefault(line.split(":")[0], []).append(at)
            at += len(line)
    for pid, truth in places.items():
        with open(f"truth.{pid}", "w") as f:
            json.dump(truth, f)


def main():
    iops, seed, *options = sys.argv[1:]
    for name in glob.glob("truth.*"):
        os.unlink(name)
    open("log", "w").close()
    command = [iops, "run", "-q", "-o", "/dev/null", "-l", "run.iops", *options, "--", sys.executable, sys.argv[0]]
    if seed == "unseen":
        run = subprocess.Popen([*command, "alone"])
        time.sleep(0.6)
        os.truncate("log", 100)
        run.wait()
    elif seed == "shared":
        subprocess.run([*command, "share"], check=True)
        read_back()
    else:
        subprocess.run([*command, "target", seed], check=True)
    table = subprocess.run([iops, "export", "--to", "csv", "run.iops"], stdout=subprocess.PIPE, text=True, check=True)
    rows = [r for r in csv.DictReader(table.stdout.splitlines()) if r["path"].endswith("/log") and r["call"] in ("write", "pwritev2")]
    known = total = 0
    for name in glob.glob("truth.*"):
        with open(name) as f:
            truth = json.load(f)
        got = sorted((r for r in rows if r["pid"] == name[6:]), key=lambda r: int(r["start_ns"]))
        if len(got) != len(truth):
            print(f"{len(got)} operations of {len(truth)}")
        for i, (row, at) in enumerate(zip(got, truth)):
            total += 1
            known += row["offset"] != ""
            if row["offset"] not in ("", str(at)) and (seed != "unseen" or i > len(truth) / 2):
                print(f"seed {seed}: operation {i} of {name[6:]} at {row['offset']}, and not at {at}")
    print("most" if known * (2 if seed != "shared" else 10) > total else f"{known} of {total}")


if sys.argv[1] == "alone":
    append(1, False, 0.03)
elif sys.argv[1] == "share":
    share()
elif sys.argv[1] == "target":
    target(int(sys.argv[2]))
else:
    main()
