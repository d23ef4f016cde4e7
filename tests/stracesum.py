#!/usr/bin/python3
"""stracesum.py FILE: bytes and calls by call in the text of strace -f -o FILE."""
import json
import re
import sys

READS = {"read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg"}
WRITES = {"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg"}
BOTH = {"sendfile", "copy_file_range", "splice"}
open_calls, sums, peeks = {}, {}, {}
LINE = re.compile(r"^(\d+)\s+(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$")
for line in open(sys.argv[1], errors="surrogateescape"):
    m = LINE.match(line)
    if not m:
        continue
    pid, resumed, started, rest = m.groups()
    if started and rest.rstrip().endswith("<unfinished ...>"):
        open_calls[pid] = started
        peeks[pid] = "MSG_PEEK" in rest
        continue
    name = started or resumed
    result = re.search(r"\)\s+= (-?\d+)(?!.*\)\s+= )", rest)
    if not result or "MSG_PEEK" in rest:
        continue
    ret = int(result.group(1))
    if name in READS | WRITES | BOTH and ret >= 0:
        s = sums.setdefault(name, [0, 0])
        s[0] += 1
        s[1] += ret * (2 if name in BOTH else 1)
print(json.dumps(sums, sort_keys=True))
