#!/usr/bin/python3
"""hotcheck.py MODE RUN...: compare.py for RUN.want and RUN.got, and what that does not know
of hot's totals: the places in files of the operations, by the log RUN.iops, and the path
that they took. What is wrong is in RUN.wrong. IOPS: the program. SLOW_ONLY: there is but
one path."""
import collections
import io
import json
import os
import runpy
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))


def compare(name):
    argv, out = sys.argv, sys.stdout
    sys.argv, sys.stdout = ["compare.py", name + ".want", name + ".got"], io.StringIO()
    try:
        runpy.run_path(here + "/compare.py")
    except SystemExit:
        return sys.stdout.getvalue().split("\n")
    finally:
        sys.argv, sys.stdout = argv, out


def check_places(want, log):
    places = collections.Counter(tuple(p) for p in want["places"])
    paths = {p[0] for p in places}
    seen = collections.Counter()
    export = [os.environ["IOPS"], "export", "--to", "jsonl", log]
    for line in subprocess.run(export, capture_output=True, check=True).stdout.splitlines():
        op = json.loads(line)
        if op.get("path") in paths and op["kind"] in ("read", "write") and op["errno"] is None:
            seen[op["path"], op["kind"], op["offset"], op["bytes"]] += 1
    more, less = seen - places, places - seen
    # Where several append at a time, nobody can say who was where: that may be left open.
    for place in [p for p in more if p[2] is None and p[0].endswith("/append")]:
        for other in [p for p in less if p[:2] + p[3:] == place[:2] + place[3:]]:
            n = min(more[place], less[other])
            more[place] -= n
            less[other] -= n
    more, less = +more, +less
    return [f"seen but not done: {p} {n} times" for p, n in more.items()] + \
           [f"done but not seen: {p} {n} times" for p, n in less.items()]


def check_path(mode, want, got):
    path = got["run"].get("fast_path")
    done = got["total"]["read"]["operations"] + got["total"]["write"]["operations"]
    if path is None:
        return ["no fast_path in the report"]
    if mode == "--no-patch" and (path["status"] != "off" or path["operations"]):
        return [f"--no-patch: {path}"]
    if mode != "--no-patch" and path["operations"] < done * want["fast"] // 100:
        return [f"{path} of {done} operations, {want['fast']} percent expected"]
    if path["operations"] + path["stopped"] < done:
        return [f"{path} is less than {done} operations"]
    if path["status"] == "off" and not path.get("reason"):
        return ["off without a reason"]
    return []


def tells(got):
    """Who writes over what the tracer reads may be counted wrong, but not in silence."""
    run, v = got["run"], got["run"]["verified"]
    return (run["lost"] or not run["complete"] or run["notes"] or v["matched"] != v["threads"]) \
        and got["total"]["all"]["bytes"] < 1 << 40


def check(mode, name):
    want, got = (json.load(open(name + kind)) for kind in (".want", ".got"))
    bad = [line for line in compare(name) if line]
    if want["scribbled"] and tells(got):
        bad = []
    if want["places"]:
        bad += check_places(want, name + ".iops")
    if not os.environ.get("SLOW_ONLY"):
        bad += check_path(mode, want, got)
    return bad


for run in sys.argv[2:]:
    try:
        wrong = check(sys.argv[1], run)
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as e:
        wrong = [repr(e)]
    with open(run + ".wrong", "w") as f:
        print("\n".join(wrong[:12]), file=f)
