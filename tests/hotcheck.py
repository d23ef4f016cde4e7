#!/usr/bin/python3
"""hotcheck.py WANT GOT LOG MODE: compare.py, and what that does not know of hot's totals:
the places in files of the operations, and the path that they took. IOPS: the program.
SLOW_ONLY: there is but one path."""
import collections
import json
import os
import runpy
import subprocess
import sys

want, got = (json.load(open(name)) for name in sys.argv[1:3])
log, mode = sys.argv[3:5]
here = os.path.dirname(os.path.abspath(__file__))
bad = []


def compare():
    argv, sys.argv = sys.argv, ["compare.py"] + sys.argv[1:3]
    try:
        runpy.run_path(here + "/compare.py")
    except SystemExit as e:
        return not e.code
    finally:
        sys.argv = argv


def check_places():
    places = collections.Counter(tuple(p) for p in want["places"])
    paths = {p[0] for p in places}
    seen = collections.Counter()
    export = [os.environ["IOPS"], "export", "--to", "jsonl", log]
    for line in subprocess.run(export, capture_output=True, check=True).stdout.splitlines():
        op = json.loads(line)
        if op.get("path") in paths and op["kind"] in ("read", "write") and op["errno"] is None:
            seen[op["path"], op["kind"], op["offset"], op["bytes"]] += 1
    more, less = seen - places, places - seen
    bad.extend(f"seen but not done: {p} {n} times" for p, n in more.items())
    bad.extend(f"done but not seen: {p} {n} times" for p, n in less.items())


def check_path():
    path = got["run"].get("fast_path")
    done = got["total"]["read"]["operations"] + got["total"]["write"]["operations"]
    if path is None:
        bad.append("no fast_path in the report")
    elif mode == "--no-patch" and (path["status"] != "off" or path["operations"]):
        bad.append(f"--no-patch: {path}")
    elif mode != "--no-patch" and path["operations"] < done * want["fast"] // 100:
        bad.append(f"{path} of {done} operations, {want['fast']} percent expected")
    elif path["operations"] + path["stopped"] < done:
        bad.append(f"{path} is less than {done} operations")
    elif path["status"] == "off" and not path.get("reason"):
        bad.append("off without a reason")


run = got["run"]
if not compare():
    v = run["verified"]
    # Who writes over what the tracer reads may be counted wrong, but not in silence.
    told = run["lost"] or not run["complete"] or run["notes"] or v["matched"] != v["threads"]
    if not (want["scribbled"] and told and got["total"]["all"]["bytes"] < 1 << 40):
        bad.append("(compared)")
elif want["places"]:
    check_places()
if not os.environ.get("SLOW_ONLY"):
    check_path()
print("\n".join(bad[:20]))
sys.exit(bool(bad))
