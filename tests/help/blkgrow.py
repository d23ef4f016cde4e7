#!/usr/bin/python3
"""Repeat a trace of blktrace in one byte order, its times shifted: blkgrow.py FILE... N >OUT"""
import struct
import sys

HEAD = struct.Struct("<IIQQIIIIIHH")
records, notes = [], []
for name in sys.argv[1:-1]:
    data, at = open(name, "rb").read(), 0
    while at < len(data):
        h = list(HEAD.unpack_from(data, at))
        pdu = data[at + 48:at + 48 + h[10]]
        at += 48 + h[10]
        (notes if h[5] & 0x04000000 else records).append((h, pdu))
records.sort(key=lambda r: r[0][2])
first, last = records[0][0][2], records[-1][0][2]
out = sys.stdout.buffer
for h, pdu in notes:
    out.write(HEAD.pack(*h) + pdu)
top = {}
for h, _ in records:
    top[h[8]] = max(top.get(h[8], 0), h[1])
for i in range(int(sys.argv[-1])):
    parts = []
    for h, pdu in records:
        parts.append(HEAD.pack(h[0], h[1] + i * top[h[8]], h[2] - first + i * (last - first + 1000), *h[3:]) + pdu)
    out.write(b"".join(parts))
