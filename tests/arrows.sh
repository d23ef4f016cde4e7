#!/bin/sh
# Arrows point one way. Given object files, fail if the objects that use one another
# form a cycle, or if a room uses one that is not below it.
below='main:top cmd source sink layer export report snapshot stream base
cmd:top source sink layer export report snapshot stream base
top:source sink layer export report snapshot stream base
export:base
report:sink layer base
source:stream base
snapshot:stream base
stream:base
sink:layer base
layer:base
base:'

room() {
	case $1 in
	*/src/source/*) echo source ;;
	*/src/*/*) r=${1%/*}; echo "${r##*/}" ;;
	*/main.o) echo main ;;
	*) echo top ;;
	esac
}

list=$(mktemp) || exit 2
trap 'rm -f "$list"' EXIT
nm -A -g "$@" | awk '
	{ sub(/:.*/, "", $1) }
	$(NF-1) ~ /^[TDBRVW]$/ { def[$NF] = $1 }
	$(NF-1) == "U"         { use[$1, $NF] = 1 }
	END { for (k in use) { split(k, a, SUBSEP); if ((d = def[a[2]]) && d != a[1]) print a[1], d } }
' | sort -u >"$list" || exit 2
[ -s "$list" ] || { echo "no arrows found in: $*" >&2; exit 2; }

bad=0
tsort "$list" >/dev/null || bad=1
while read -r from to; do
	f=$(room "$from") t=$(room "$to")
	[ "$f" = "$t" ] && continue
	echo "$below" | grep -q "^$f:.*\b$t\b" || { echo "arrow the wrong way: $from -> $to" >&2; bad=1; }
done <"$list"
exit $bad
