#!/bin/sh
# Files and functions stay small: no file over 600 lines, no function over 80, half of
# them within 15 lines and nine tenths within 40. At the top lies only what belongs there.
bad=0
git ls-files | grep -vE '/|^(\.clang-format|\.editorconfig|\.gitignore|LICENSE|Makefile|README\.md)$' >&2 && bad=1
for f in $(git ls-files 'src/*.[ch]' 'include/*.h' 'tests/*.[ch]'); do
	n=$(wc -l <"$f")
	[ "$n" -le 600 ] || { echo "$f: $n lines" >&2; bad=1; }
done
git ls-files 'src/*.c' | xargs ctags -x --kinds-C=f --_xformat='%{end} %{line} %{name} %{input}' |
	awk '{ print $1 - $2 + 1, $3, $4 }' | sort -n | awk '
	{ n[NR] = $1; if ($1 > 80) { print $3 ": " $2 " has " $1 " lines"; bad = 1 } }
	END {
		p50 = n[int((NR + 1) / 2)]; p90 = n[int(NR * 0.9 + 0.5)]
		print NR " functions: median " p50 " lines, p90 " p90 ", longest " n[NR]
		exit bad || p50 > 15 || p90 > 40 || NR < 10
	}' || bad=1
exit $bad
