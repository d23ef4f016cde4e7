#!/usr/bin/python3
"""Damaged copies of a trace of blktrace: blkbad.py X.blktrace.0 OUT makes OUT/VARIANT/x.blktrace.N"""
import glob
import os
import shutil
import struct
import sys

HEAD = struct.Struct("<IIQQIIIIIHH")
source, out = sys.argv[1:]
data = open(source, "rb").read()
starts, at = [], 0
while at < len(data):
    starts.append(at)
    at += 48 + HEAD.unpack_from(data, at)[10]
ends = starts[1:] + [len(data)]


def field(n, index, value):
    h = list(HEAD.unpack_from(data, starts[n]))
    h[index] = value(h[index]) if callable(value) else value
    return data[:starts[n]] + HEAD.pack(*h) + data[starts[n] + 48:]


def is_event(n):
    return not HEAD.unpack_from(data, starts[n])[5] & 0x04000000


def with_pdu(from_):
    return next(n for n in range(from_, len(starts)) if is_event(n) and ends[n] - starts[n] > 48)


events = [n for n in range(len(starts)) if is_event(n)]
mid = events[len(events) // 2]
pdu, note = with_pdu(mid), next(n for n in range(len(starts)) if not is_event(n) and ends[n] - starts[n] == 64)
variants = {
    "cut-header": data[:starts[mid] + 20],
    "cut-pdu": data[:starts[pdu] + 50],
    "magic": field(mid, 0, 0xdeadbeef),
    "version6": field(mid, 0, 0x65617406),
    "version8": field(mid, 0, 0x65617408),
    "pdu-len": field(mid, 10, 65535),
    "action": field(mid, 5, lambda a: a & ~0xffff | 0x63),
    "note": data[:starts[mid]] + HEAD.pack(0x65617407, 0, 0, 0, 0, 0x04000007, 1, 7 << 20, 0, 0, 0) + data[starts[mid]:],
    "time-back": field(mid, 2, 1000),
    "time-ahead": field(mid, 2, 1 << 62),
    "time-little": field(mid, 2, lambda t: t + 100000000),
    "time-first": field(events[0], 2, 1 << 62),
    "time-last": field(events[-1], 2, 1 << 62),
    "twice": data[:ends[mid]] + data[starts[mid]:],
    "zeros": data + bytes(100),
    "ones": data + b"\xff" * 100,
    "random": bytes((i * 2654435761 >> 13) & 0xff for i in range(5000)),
    "comm": data[:starts[note] + 48] + b"abcdefghijklmnop" + data[ends[note]:],
    "gap": data[:starts[mid]] + data[starts[mid + 10]:],
    "cpu": field(mid, 8, 77),
    "missing": None,
}
for name, bad in variants.items():
    os.makedirs(os.path.join(out, name))
    for other in glob.glob(source[:-1] + "*"):
        shutil.copyfile(other, os.path.join(out, name, "x.blktrace." + other.rsplit(".", 1)[1]))
    first = os.path.join(out, name, "x.blktrace.0")
    if bad is None:
        os.remove(first)
    else:
        open(first, "wb").write(bad)
print(len(events))
