#!/usr/bin/python3
"""tagdrive.py MODE FILE.in[.gz] [-g ...] - a host of the tag helper, for tests.

Answers are held against a model of the protocol that is written from its description, not
from the program. IOPS names the program.

  model     print what is expected          pipe      all at once
  step      each record after the answer to the one before it
  bytes     the same, byte by byte
  slow      through pipes that do not block and hold 4 KiB, read slowly
and streams to try it with, on standard output:
  swapped, wide     in the other byte order; with headers of version 8
  many              after the file, so many processes (argument), each named and twice at work
"""
import fcntl, gzip, os, select, struct, subprocess, sys, time

PATIENCE = 20


def records(data):
    """Each record with its fields: (bytes, order, pid, action, payload)."""
    at = 0
    while at < len(data):
        order = '<' if data[at + 1:at + 4] == b'tae' else '>'
        magic, = struct.unpack_from(order + 'I', data, at)
        if magic & 255 == 8:
            head, (pid, action, _, _, _, n) = 64, struct.unpack_from(order + 'IQIIHH', data, at + 28)
        else:
            head, (action, pid, _, _, _, n) = 48, struct.unpack_from(order + 'IIIIHH', data, at + 28)
        yield data[at:at + head + n], order, pid, action, data[at + head:at + head + n]
        at += head + n


def model(data, groups):
    """A list of answers, one for each record."""
    of = {int(pid): name for text in groups for name, pids in [text.split(':', 1)] for pid in pids.split(',')}
    tags, names, out, last = {}, {}, [], 0
    for _, order, pid, action, payload in records(data):
        answer, what = b'', action & 0xffff & ~0x100
        if action >> 16 & 0x400:
            if what == 0 and pid not in of:
                names[pid] = payload[8 * (action >> 8 & 1):].split(b'\0')[0][:15]
                tags.pop(pid, None)
        elif what in (1, 7):
            key = of.get(pid, pid)
            if key not in tags:
                tags[key], last = last, last + 1
                label = key.encode() if pid in of else names.get(pid, b'?') + b' (%d)' % pid
                answer += struct.pack(order + 'III', 1, tags[key], len(label) + 1) + label + b'\0'
            answer += struct.pack(order + 'II', 2, tags[key])
        out.append(answer + bytes(4))
    return out


def convert(data, order, wide):
    for record, old, *_, payload in records(data):
        _, seq, ns, sector, size, action, pid, dev, cpu, err, n = struct.unpack_from(old + 'IIQQIIIIIHH', record)
        if wide:
            yield struct.pack(order + 'IIQQIIQIIHH12x', 0x65617408, seq, ns, sector, size, pid, action, dev, cpu, err, n)
        else:
            yield struct.pack(order + 'IIQQIIIIIHH', 0x65617407, seq, ns, sector, size, action, pid, dev, cpu, err, n)
        yield payload


def many(count):
    """Pids from 100000 on: a name, Q, D of the pid before."""
    pack, magic = struct.Struct('=IIQQIIIIIHH').pack, 0x65617407
    for pid in range(100000, 100000 + count):
        yield (pack(magic, 0, 0, 0, 0, 0x04000000, pid, 0, 0, 0, 16) + b'task%012d' % pid +
               pack(magic, 1, pid, 8, 4096, 0x00110001, pid, 1, 0, 0, 0) +
               pack(magic, 2, pid, 8, 4096, 0x00420007, pid - 1, 1, 0, 0, 0))


def start(args, **more):
    return subprocess.Popen([os.environ['IOPS'], 'tag-by-pid', *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            bufsize=0, **more)


def receive(p, n):
    """n bytes, and no more than are there."""
    got, until = b'', time.monotonic() + PATIENCE
    while len(got) < n:
        if not select.select([p.stdout], [], [], until - time.monotonic())[0]:
            sys.exit(f'no answer: {len(got)} bytes of {n}')
        more = os.read(p.stdout.fileno(), 65536)
        if not more:
            sys.exit(f'the helper ended: {len(got)} bytes of {n}')
        got += more
    return got


def step(data, args, groups, piece):
    p, n = start(args), 0
    for (record, *_), want in zip(records(data), model(data, groups)):
        size = piece or len(record)
        for i in range(0, len(record), size):
            if select.select([p.stdout], [], [], 0)[0]:
                sys.exit(f'record {n}: an answer before its time')
            p.stdin.write(record[i:i + size])
        got = receive(p, len(want))
        if got != want:
            sys.exit(f'record {n}: got {got.hex()}, not {want.hex()}')
        n += 1
    p.stdin.close()
    rest = p.stdout.read()
    sys.exit(f'more at the end: {rest.hex()}') if rest else None
    print(n, 'records, status', p.wait(PATIENCE))


def slow(data, args, groups):
    want = b''.join(model(data, groups))
    in_r, in_w = os.pipe()
    out_r, out_w = os.pipe()
    for fd in (in_w, out_w):
        fcntl.fcntl(fd, 1031, 4096)  # F_SETPIPE_SZ
    for fd in (in_r, in_w, out_w):
        os.set_blocking(fd, False)
    p = subprocess.Popen([os.environ['IOPS'], 'tag-by-pid', *args], stdin=in_r, stdout=out_w)
    os.close(in_r), os.close(out_w)
    got, at, until = b'', 0, time.monotonic() + PATIENCE
    while time.monotonic() < until:
        r, w, _ = select.select([out_r], [in_w] if at < len(data) else [], [], 1)
        if w:
            at += os.write(in_w, data[at:at + 1777])
            if at == len(data):
                os.close(in_w)
        elif r:     # only when the helper takes no more, so that it stands before a full pipe
            more = os.read(out_r, 97)
            if not more:
                break
            got += more
    print('equal' if got == want else 'different', 'status', p.wait(PATIENCE))


def main():
    mode, name, args = sys.argv[1], sys.argv[2], sys.argv[3:]
    data = (gzip.open if name.endswith('.gz') else open)(name, 'rb').read()
    groups = args[1::2]
    if mode == 'model':
        sys.stdout.buffer.write(b''.join(model(data, groups)))
    elif mode == 'pipe':
        p = start(args)
        got = p.communicate(data, PATIENCE)[0]
        print('equal' if got == b''.join(model(data, groups)) else 'different', 'status', p.returncode)
    elif mode == 'slow':
        slow(data, args, groups)
    elif mode in ('swapped', 'wide'):
        sys.stdout.buffer.writelines(convert(data, '>' if mode == 'swapped' else '<', mode == 'wide'))
    elif mode == 'many':
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.writelines(many(int(args[0])))
    else:
        step(data, args, groups, 1 if mode == 'bytes' else 0)


if __name__ == '__main__':
    main()
