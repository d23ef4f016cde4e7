#!/bin/sh
# The manual names everything, and its examples run.
# shellcheck disable=SC2086
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

man="$ROOT/man/iops.1"
missing=
for verb in run attach trace mount report export merge diff tag-by-pid doctor; do
	for o in $("$IOPS" help $verb | grep -o -- '--[a-z-]*'); do
		mandoc -T ascii "$man" | col -b | grep -q -- "$o" || missing="$missing $o"
	done
done
is "the manual names every option" "$missing" ""
missing=
mandoc -T ascii "$man" | col -b >man.txt
for c in $("$IOPS" help columns | awk '/^  [a-z]/ { print $1 }'); do
	grep -q "\b$c\b" man.txt || missing="$missing $c"
done
is "the manual names every column" "$missing" ""
ok "more than 40 of them" test "$("$IOPS" help columns | grep -c '^  [a-z]')" -gt 40

mkdir bin; ln -s "$IOPS" bin/iops; PATH="$PWD/bin:$PATH"
sed -n '/^\.Sh EXAMPLES/,/^\.Sh [^E]/p' "$man" | sed -n 's/^\.Dl \$ //p' | sed 's/\\e/\\/g; s/\\&//g; s/\\(aq/'"'"'/g; s/\\(dq/"/g' >examples
ok "the manual has examples" test "$(wc -l <examples)" -ge 5
while read -r line; do
	case $line in *"iops mount"*) [ -w /dev/fuse ] || { skip "$line: no /dev/fuse"; continue; } ;; esac
	case $line in *"iops trace"*) [ "$BPFMODE" ] || { skip "$line: it takes root and BTF"; continue; } ;; esac
	status "example: $line" 0 timeout 60 sh -c "$line" </dev/null
done <examples
for word in 'make demo' 'make check' 'iops run' 'iops attach' 'verified against kernel counters'; do
	ok "README says $word" grep -q "$word" "$ROOT/README.md"
done
plan
