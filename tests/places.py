#!/usr/bin/python3
"""
places.py IOPS SEED N OPTION... - shell scripts made up at random, whose commands share
open files with their parents: each operation has the same offset as without patches.
Says what differs, and how many were compared.
"""
import csv
import os
import random
import shlex
import subprocess
import sys

FILES = "abc"


def command(r, depth=0):
    f = r.choice("79")
    some = lambda most: "; ".join(command(r, depth + 1) for _ in range(r.randrange(1, most)))
    n = r.randrange(1, 60)
    python = f"import os\nfor i in range({n}): os.write({f}, b'pq')"
    flags = r.choice(["os.RWF_APPEND", "0x20", "0"])  # 0x20: RWF_NOAPPEND, Linux 6.9
    flagged = f"import os\nfor i in range({n}):\n try: os.pwritev({r.choice('78')}, [b'rst', b'u'], {r.choice([-1, 5])}, {flags})\n except OSError: pass"
    kinds = [
        f"printf {'x' * r.randrange(1, 9)} >&{f}",
        f"printf {'y' * r.randrange(1, 5)} >&8",
        f"dd if=/dev/zero bs={r.randrange(1, 7)} count={r.randrange(1, 60)} >&{r.choice('789')} 2>/dev/null",
        f"head -c {r.randrange(1, 50)} <&{f} >/dev/null",
        f"cat <&{f} >/dev/null",
        f"read -r -N {r.randrange(1, 20)} v <&{f}",
        f"exec {f}<>{r.choice(FILES)}",
        f"exec {r.choice('56')}>&{f}; printf dup >&{f}",
        f"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf zz >&{f}; done",
        f"/usr/bin/python3 -c {shlex.quote(python)}",
        f"/usr/bin/python3 -c {shlex.quote(flagged)}",
        f": >{r.choice(FILES)}",
        f"truncate -s {n} {r.choice(FILES)}",
        f"fallocate {r.choice(['', '-n', '-z -n', '-z'])} -o 9 -l {n} {r.choice(FILES)}",
        f"cp {r.choice('ac')} b",
        f"exec 8>>{r.choice('bbc')}",
        f"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf app >&8; printf ing >>b; done",
    ]
    if depth < 2:
        kinds += [f"( {some(4)} )", f"bash -c {shlex.quote(some(3))}"]
    return r.choice(kinds)


def run(iops, options):
    for name in FILES:
        with open(name, "w") as f:
            f.write(f"a line of {name}\n" * 20)
    subprocess.run([iops, "run", "-q", "-o", "/dev/null", "-l", "run.iops", *options, "--", "bash", "script"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    table = subprocess.run([iops, "export", "--to", "csv", "run.iops"], stdout=subprocess.PIPE, text=True, check=True)
    rows = [r for r in csv.DictReader(table.stdout.splitlines()) if os.path.dirname(r["path"]) == os.getcwd()]
    rows.sort(key=lambda r: int(r["start_ns"]))
    return [(r["call"], r["path"][-1], r["bytes"], r["result"], r["offset"]) for r in rows]


iops, seed, n, *options = sys.argv[1:]
r = random.Random(int(seed))
compared = 0
for i in range(int(n)):
    with open("script", "w") as f:
        f.write("exec 7<>a 8>>b 9<>c\n" + "".join(command(r) + "\n" for _ in range(r.randrange(6, 14))))
    want, got = run(iops, ["--no-patch"]), run(iops, options)
    compared += len(got)
    if want != got:
        at = next((k for k, pair in enumerate(zip(want, got)) if pair[0] != pair[1]), min(len(want), len(got)))
        print(f"script {i} of {seed}: operation {at} of {len(want)}, {len(got)}: {want[at:at + 1]}, {got[at:at + 1]}")
print("many" if compared > 50 * int(n) else compared)
