#!/bin/sh
# Other programs' work through iops mount, in short: the same results as on the bare
# folder, every operation in the report. "make soak S=mount" does so at length.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"
export IOPS HELP OUT="$DIR/soak" SCALE=0 T=1 LIMIT=60

"$IOPS" mount --help >/dev/null 2>&1 || skip_all "an iops without mount"
[ "$(id -u)" = 0 ] || skip_all "needs root"
[ -w /dev/fuse ] || skip_all "no /dev/fuse"
command -v fusermount3 >/dev/null || skip_all "no fusermount3 (fuse3)"

for mode in direct cached; do
	suites="fsx calls fio stress git sqlite tar eight many kill"
	[ $mode = direct ] || suites="fsx calls fio tar eight"
	for what in $suites; do
		MOUNT=--$mode ONLY=$what sh "$ROOT/tests/soak/mount.sh" >soak.out 2>&1
		case $? in
		77) skip "$what: $(tail -1 soak.out)" ;;
		0) ok "$what: --$mode does as the bare folder does" true ;;
		*) ok "$what: --$mode does as the bare folder does" sh -c 'cat soak.out; exit 1' ;;
		esac
	done
done
plan
