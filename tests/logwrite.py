"""Logs by iops-log(5) that no iops would write: any time, any name, any run.

log(name, ops, run, end): of ops, which are dicts of kind, call, path, type, host, pid, fd,
start, dur, want, ret, off, comm; run and end: numbers of fields to values."""
import struct

READ, WRITE, OTHER, LOST, RUN = 0, 1, 5, 13, 14


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def number(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def signed(n):
    return number(((n << 1) ^ (n >> 63)) & (2**64 - 1))


def text(b):
    return number(len(b)) + b


def block(kind, at, payload, before, n):
    head = b"iop\xb1" + struct.pack("<BBBBIIIQI", 1, kind, 0, 0, at, len(payload), len(payload), before, n)
    return head + struct.pack("<I", crc32c(head + payload)) + payload


def run_fields(ident, fields):
    return number(1) + text(ident) + b"".join(
        number(k) + text(v if isinstance(v, bytes) else number(v)) for k, v in fields.items())


def operations(ops):
    names, files, pid, fd, end, inode, nfiles = [], b"", 0, 0, 0, 0, 0
    contexts, ids, flags, times, values, calls = b"", b"", b"", b"", b"", b""

    def name(b):
        if b is None:
            return 0
        names.append(b)
        return len(names)

    for o in ops:
        call, file = name(o.get("call")), 0
        if o.get("path") is not None:
            files += number(name(o["path"])) + number(0) + number(name(o.get("host")))
            files += number(o.get("type", 1)) + number(0) + number(0) + signed(o.get("inode", 0) - inode)
            inode = o.get("inode", 0)
            calls += number(0)
            nfiles += 1
            file = nfiles
        contexts += number(o["kind"]) + number(0) + number(call) + number(0) + signed(o["pid"] - pid) + number(0)
        contexts += signed(o.get("fd", 3) - fd) + number(file) + number(name(o.get("comm")))
        pid, fd = o["pid"], o.get("fd", 3)
        ids += number(0)
        off, dur = o.get("off"), o.get("dur")
        gap = (o["start"] - end) & (2**64 - 1)
        times += signed(gap - 2**64 if gap >= 2**63 else gap)
        times += b"" if dur is None else number(dur)
        end = (o["start"] + (dur or 0)) % 2**64
        values += number(o.get("want", 0)) + signed(o["ret"]) + (b"" if off is None else signed(off))
        flags += bytes([(off is None) * 16 | (dur is None) * 8])
    strings = b"".join(number(0) + text(b) for b in names)
    out = number(len(names)) + number(nfiles) + number(len(ops)) + number(len(ops))
    return out + b"".join(map(text, (strings, files, contexts, ids, flags, times, values, calls)))


def log(path, ops, run=None, end=None, ident=b"x"):
    n = sum(o["kind"] < 7 for o in ops)
    with open(path, "wb") as f:
        f.write(block(1, 0, run_fields(ident, run or {}), 0, 0))
        f.write(block(2, 1, operations(ops), 0, n))
        f.write(block(3, 2, run_fields(ident, end or {9: 1000000000, 16: 1}), n, 0))
