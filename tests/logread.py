#!/usr/bin/python3
"""Read an operation log by iops-log(5) alone, and print sums by call.

Nothing here was taken from the program: it proves that the manual page says enough.
"""
import subprocess
import sys

HEAD, VERSION, RUN, OPS, END = 36, 1, 1, 2, 3
KINDS, COUNTED, MOVING = 20, 7, (0, 1, 6)
READ, WRITE, SYNC, META, PEEK, LOST = 0, 1, 2, 5, 6, 13
M64, M32 = (1 << 64) - 1, (1 << 32) - 1
NO_OFFSET = None


class Damaged(Exception):
    pass


def crc_table():
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        yield n


TABLE = list(crc_table())


def crc32c(data):
    crc = M32
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ M32


def signed(n, bits):
    n &= (1 << bits) - 1
    return n - (1 << bits) if n >> bits - 1 else n


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return self.at < len(self.data)

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Damaged("beyond the end")
        self.at += n
        return self.data[self.at - n:self.at]

    def fixed(self, size):
        return int.from_bytes(self.take(size), "little")

    def number(self):
        n = shift = 0
        while True:
            byte = self.take(1)[0]
            n |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
            if shift > 63:
                raise Damaged("a number of more than 10 bytes")
        if n > M64:
            raise Damaged("a number of more than 64 bits")
        return n

    def difference(self):
        n = self.number()
        return -(n + 1 >> 1) if n & 1 else n >> 1

    def text(self):
        return self.take(self.number())


class Head:
    def __init__(self, data):
        b = Bytes(data)
        self.good = b.take(4) == b"iop\xb1"
        self.version, self.type, self.coding, _ = (b.fixed(1) for _ in range(4))
        self.number, self.stored, self.raw = b.fixed(4), b.fixed(4), b.fixed(4)
        self.before, self.ops, self.crc = b.fixed(8), b.fixed(4), b.fixed(4)
        self.good &= (self.stored <= 3 << 20 and self.raw <= 4 << 20 and
                      self.before <= 1 << 62)


def blocks(log):
    """All whole blocks, and None where bytes are none."""
    at, fine = 0, True
    while at < len(log):
        h = Head(log[at:at + HEAD]) if len(log) - at >= HEAD else None
        stored = log[at + HEAD:at + HEAD + h.stored] if h and h.good else b""
        if (h and h.good and len(stored) == h.stored and
                crc32c(log[at:at + 32] + stored) == h.crc):
            yield h, stored
            at, fine = at + HEAD + h.stored, True
            continue
        if fine:
            yield None, None
        fine = False
        at += 1


def unpack(h, stored):
    if h.version != VERSION or h.coding > 1:
        raise Damaged("another version")
    if h.coding == 1:
        stored = subprocess.run(["zstd", "-dcq"], input=stored, check=True,
                                stdout=subprocess.PIPE).stdout
    if len(stored) != h.raw:
        raise Damaged("another length than the head says")
    return Bytes(stored)


def fields(b):
    out = {}
    while b.left():
        tag = b.number()
        out.setdefault(tag, []).append(b.text())
    return out


def at(things, n):
    if n >= len(things):
        raise Damaged("what is not there")
    return things[n]


def read_names(b, n):
    names = [b""]
    for _ in range(n):
        same = b.number()
        if same > len(names[-1]):
            raise Damaged("more than the name before has")
        names.append(names[-1][:same] + b.text())
    return names


def read_files(b, n, names):
    files, inode = [None], 0
    for _ in range(n):
        path, mount, host = (at(names, b.number()) for _ in range(3))
        kind, major, minor = (b.number() for _ in range(3))
        inode = (inode + b.difference()) & M64
        files.append((path, mount, host, kind, major, minor, inode))
    return files


class Context:
    def __init__(self, b, before, names, files):
        self.kind, self.layer = b.number(), b.number()
        self.call, self.bits = at(names, b.number()), b.number()
        if self.kind >= KINDS or self.layer > 1 or self.bits > 7:
            raise Damaged("a kind that is not known")
        self.pid = signed((before.pid if before else 0) + b.difference(), 32)
        self.tid = signed(self.pid + b.difference(), 32)
        self.fd = signed((before.fd if before else 0) + b.difference(), 32)
        self.file, self.command = at(files, b.number()), at(names, b.number())
        self.want = self.next = 0


def records(b):
    """Each record of a block: context, start, duration, result, want, offset."""
    counts = [b.number() for _ in range(4)]
    column = [Bytes(b.text()) for _ in range(7)]
    if counts[3] > 65536 or len(column[4].data) != counts[3]:
        raise Damaged("too many records")
    names = read_names(column[0], counts[0])
    files = read_files(column[1], counts[1], names)
    if b.left():
        systems = Bytes(b.text())
        for _ in range(counts[1]):
            at(names, systems.number())
    contexts = []
    for _ in range(counts[2]):
        before = contexts[-1] if contexts else None
        contexts.append(Context(column[2], before, names, files))
    ids, flags, times, values = column[3:]
    used = start = end = 0
    duration = 0
    for _ in range(counts[3]):
        back = ids.number()
        if back > used:
            raise Damaged("a context that is not there")
        c = at(contexts, used - back)
        used += back == 0
        flag = flags.fixed(1)
        if flag > 63:
            raise Damaged("flags that are not known")
        if not flag & 32:
            start = (end + times.difference()) & M64
            duration = None if flag & 8 else times.number()
            end = (start + (duration or 0)) & M64
        if not flag & 1:
            c.want = values.number()
        result = signed(c.want, 64) if flag & 2 else values.difference()
        offset = NO_OFFSET
        if not flag & 16:
            c.next = (c.next + (0 if flag & 4 else values.difference())) & M64
            offset = signed(c.next, 64)
            c.next = (c.next + max(result, 0)) & M64
        yield c, start, duration, result, c.want, offset


class Sums:
    def __init__(self):
        self.calls = {}
        self.ops = self.lost = 0

    def add(self, record):
        c, _, _, result, want, _ = record
        if c.kind == LOST:
            self.lost += result
        if c.kind >= COUNTED:
            return
        self.ops += 1
        if c.layer:
            return
        s = self.calls.setdefault(c.call, [0, 0, 0])
        if result >= 0:
            s[0] += want if c.bits & 1 else 1
            s[2] += result if c.kind in MOVING else 0
        else:
            s[1] += 1


def read(log, sums):
    """Returns what is wrong with it."""
    wrong, expected, seen, ended, run = [], 0, 0, False, None
    for h, stored in blocks(log):
        if not h:
            wrong.append("damaged bytes")
            if run is None:
                raise Damaged("no first block")
            continue
        if run is None:
            if h.type != RUN:
                raise Damaged("no first block")
            run = fields(unpack(h, stored))
        elif ended or (h.type == RUN and fields(unpack(h, stored)).get(1) != run.get(1)):
            return wrong + ["more behind the end"]
        elif h.number < expected or h.before < seen:
            wrong.append("a block again")
            continue
        if h.number > expected:
            wrong.append("blocks are missing")
        sums.lost += h.before - seen
        expected, seen = h.number + 1, h.before + h.ops
        if h.type == OPS:
            for r in records(unpack(h, stored)):
                sums.add(r)
        ended |= h.type == END
    if sums.ops + sums.lost != seen:
        wrong.append("heads count otherwise")
    return wrong if ended else wrong + ["no end"]


def main():
    sums = Sums()
    with open(sys.argv[1], "rb") as f:
        wrong = read(f.read(), sums)
    if crc32c(b"123456789") != 0xE3069283:
        wrong.append("its own CRC")
    for call, s in sorted(sums.calls.items()):
        print(call.decode(errors="replace"), *s)
    for w in wrong:
        print(w, file=sys.stderr)
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
