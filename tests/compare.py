#!/usr/bin/python3
"""compare.py WANT GOT [FOLDER]: what mkio did against what iops saw. Prints the differences.
FOLDER: an imported trace of a run there, which names files as the run did."""
import json
import os
import sys

want = json.load(open(sys.argv[1]))
got = json.load(open(sys.argv[2]))
bad = []


def same(what, w, g):
    if w != g:
        bad.append(f"{what}: mkio {w}, iops {g}")


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
        same(f"{name} bytes", w["bytes"] * (2 if name in twice else 1), g["bytes"])
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
        same(f"{path} {kind}", w[kind], g)

for dim in ("process", "thread", "type", "kind"):
    rows = got["by"].get(dim)
    for kind in ("read", "write"):
        if rows is not None:
            same(f"sum by {dim} {kind}", want[kind]["bytes"], sum(r[kind]["bytes"] for r in rows))
if not imported:  # an imported trace has nothing to be verified with
    v = got["run"]["verified"]
    same("verified", (v["threads"], 0), (v["matched"], v["unchecked"]))
    if v["threads"] < 1:
        bad.append("no thread was verified")
same("lost", 0, got["run"]["lost"])
print("\n".join(bad[:20]))
sys.exit(bool(bad))
