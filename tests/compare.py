#!/usr/bin/python3
"""compare.py WANT GOT [FOLDER]: what mkio or hot did against what iops saw. Prints the
differences. A wanted pair of numbers is a range: what may have been done by who was killed.
FOLDER: an imported trace of a run there, which names files as the run did."""
import json
import os
import sys

want = json.load(open(sys.argv[1]))
got = json.load(open(sys.argv[2]))
bad = []


def same(what, w, g):
    if isinstance(w, list) and w[0] <= g <= w[1]:
        return
    if w != g:
        bad.append(f"{what}: done {w}, seen {g}")


def both(what, want, got):
    for k in ("operations", "bytes"):
        same(f"{what} {k}", want[k], got[k])


EMPTY = {"operations": 0, "bytes": 0, "errors": 0, "again": 0, "interrupted": 0}
for kind in ("read", "write"):
    for key in ("operations", "bytes"):
        same(f"total {kind} {key}", want[kind][key], got["total"][kind][key])
same("total sync operations", want["sync"]["operations"], got["total"]["sync"]["operations"])
same("total calls", want["calls_data"], got["total"]["all"]["operations"])

calls = {c["call"]: c for c in got["by"]["call"]}
meta = {"openat", "close", "lseek", "statx", "readlinkat", "newfstatat", "fstatat64", "rename",
        "renameat", "unlink", "unlinkat", "dup", "dup3", "chdir"}
twice = {"sendfile", "copy_file_range", "splice"}
for name, w in want["calls"].items():
    if name in meta and name not in calls:
        continue
    g = calls.get(name, {"all": EMPTY})["all"]
    for key in ("operations", "errors", "again"):
        same(f"{name} {key}", w[key], g[key])
    if name not in meta:
        same(f"{name} bytes", w["bytes"] * 2 if name in twice else w["bytes"], g["bytes"])
    if g["interrupted"] < w["eintr"]:
        bad.append(f"{name}: {w['eintr']} EINTR, but only {g['interrupted']} interrupted")

files = {}
for f in got["by"]["file"]:
    if f["type"] == "regular":
        for kind in ("read", "write"):
            sums = files.setdefault(f["path"], {}).setdefault(kind, {"operations": 0, "bytes": 0})
            for key in sums:
                sums[key] += f[kind][key]
imported = len(sys.argv) > 3
for path, w in want["files"].items():
    if imported and path not in files:  # strace without -y knows no more than what was given
        path = os.path.relpath(path.replace(" (deleted)", ""), os.path.realpath(sys.argv[3]))
    for kind in ("read", "write"):
        g = files.get(path, {}).get(kind, {"operations": 0, "bytes": 0})
        both(f"{path} {kind}", w[kind], g)

for dim in ("process", "thread", "type", "kind"):
    rows = got["by"].get(dim)
    for kind in ("read", "write"):
        if rows is not None:
            same(f"sum by {dim} {kind}", want[kind]["bytes"], sum(r[kind]["bytes"] for r in rows))
for task in want.get("tasks", ()):
    rows = [r for r in got["by"]["thread"] if (r["pid"], r["tid"]) == (task["pid"], task["tid"])]
    for kind in ("read", "write"):
        sums = {k: sum(r[kind][k] for r in rows) for k in ("operations", "bytes")}
        both(f"thread {task['tid']} of {task['pid']} {kind}", task[kind], sums)
if not imported:  # an imported trace has nothing to be verified with
    v = got["run"]["verified"]
    same("verified", v["threads"], v["matched"])
    same("unchecked", [0, want.get("unchecked", 0)], v["unchecked"])
    if v["threads"] < 1:
        bad.append("no thread was verified")
same("lost", 0, got["run"]["lost"])
print("\n".join(bad[:20]))
sys.exit(bool(bad))
