#!/bin/sh
# run.sh [SUITE...]: programs' own tests, bare and below iops, a line for each.
#   IOPS=path   IOPS_FLAGS='options of iops run'   SCALE=0 short, 1, 2 ... wider
#   OUT=folder for results and reports   CACHE=folder for sources
here=$(cd "${0%/*}" && pwd) bad=0 skipped=
[ $# -gt 0 ] || set -- sqlite git python redis node go java luajit sanitizers shell nested edges stress mount
for s; do
	sh "$here/$s.sh"
	case $? in 0) ;; 77) skipped="$skipped $s" ;; 130) exit 130 ;; *) bad=1 ;; esac
done
[ $# = 1 ] && [ -n "$skipped" ] && exit 77
exit $bad
