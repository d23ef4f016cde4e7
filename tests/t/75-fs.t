#!/bin/sh
# shellcheck disable=SC2086,SC2016
# Rows of the streams fs and io_uring say exactly what was done.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

[ "$BPFMODE" ] || skip_all "eBPF: it takes root and a kernel with BTF"
[ -d /sys/fs/cgroup ] || true
DIR=$(pwd -P)

# Rows of a stream in order, and how those between two marks compare with what is wanted.
cat >rows.py <<'EOP'
import csv, glob, io, subprocess, sys
csv.field_size_limit(1 << 20)
def rows(folder, stream="fs"):
    out = []
    for f in sorted(glob.glob("%s/%s/*" % (folder, stream))):
        text = subprocess.run(["zstd", "-dcq", f], stdout=subprocess.PIPE, check=True).stdout if f.endswith(".zst") else open(f, "rb").read()
        out += csv.DictReader(io.StringIO(text.decode(errors="surrogateescape"), newline=""))
    return out
def between(all, first, last):
    mark = [i for i, r in enumerate(all) if r["filename"].endswith(first) or r["filename"].endswith(last)]
    pid = all[mark[0]]["pid"]
    return [r for r in all[mark[0] + 1:mark[-1]] if r["pid"] == pid]
def compare(folder, wanted):
    got = between(rows(folder), "/iops-begin", "/iops-end")
    want = [dict(f.split("=", 1) for f in l.rstrip("\n").split("\t") if f) for l in open(wanted)]
    bad = 0
    for i in range(max(len(got), len(want))):
        g, w = got[i] if i < len(got) else {}, want[i] if i < len(want) else {}
        d = ["%s: got %r want %r" % (k, g.get(k), v) for k, v in w.items() if g.get(k) != v]
        if not w or not g: d = ["only %s" % ("wanted" if w else "got")]
        if not bad and d or bad and bad < 5 and d: print(i, (w or g).get("operation"), (w or g).get("filename"), *d, sep="\n  ")
        bad += bool(d)
        if g.get("operation") != w.get("operation"): break
    print("%d of %d rows differ" % (bad, len(want)) if bad else "same")
EOP
py() { /usr/bin/python3 -c "from rows import *; $1"; }

# A directory seen twice, and an overlay.
mkdir w w/real w/bind w/low w/up w/tmp w/over
echo same >w/real/same; echo low >w/low/low; echo no >w/secret; chmod 600 w/secret
bind=- over=-
umount_all() {
	cd "$DIR" || return
	[ $bind = - ] || umount "$bind" || umount -l "$bind"
	[ $over = - ] || umount "$over" || umount -l "$over"
}
trap 'umount_all; cd /; rm -rf "$DIR"' EXIT
mount --bind w/real w/bind 2>/dev/null && bind=$DIR/w/bind
mount -t overlay iops -o lowerdir=w/low,upperdir=w/up,workdir=w/tmp w/over 2>/dev/null && over=$DIR/w/over
[ $bind != - ] || skip "no bind mounts here"
[ $over != - ] || skip "no overlay here"

(cd w && "$IOPS" trace --layers fs -o "$DIR/ops" -q -- "$HELP/fsops" "$DIR/w" "$DIR/w/real" $bind $over >../want.txt 2>../err.txt)
is "every operation, once, with all that it did" "$(py 'compare("ops", "want.txt")')" same
plan
