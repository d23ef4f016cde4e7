#!/bin/sh
# soname.sh COMPILER OPTION...: the rows of src/base/late.c, by what the linker writes into a
# program that these words make: each library's name, and Debian's package by that name
# (libavro.so.23 is in libavro23, libsqlite3.so.0 in libsqlite3-0).
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
echo 'int main(void) { return 0; }' | "$@" -x c - -o "$dir/probe" || exit 1
readelf -d "$dir/probe" | awk -F'[][]' -v asked="$*" '
	/NEEDED.*\[lib(avro|fuse3|nettle|sqlite3|Zydis)\.so/ {
		name = package = $2
		gsub(/^lib|\.so.*/, "", name)
		sub(/[0-9]\.so\./, "&-", package)
		sub(/\.so\.?/, "", package)
		printf "[LATE_%s] = { \"%s\", \"%s\" },\n", toupper(name), $2, tolower(package)
		n++
		there[name]
	}
	END {
		if (n >= 3 && (asked !~ /-lZydis/ || "Zydis" in there))
			exit
		print "no shared libavro, libnettle, libsqlite3, or libZydis to link with" >"/dev/stderr"
		exit 1
	}'
