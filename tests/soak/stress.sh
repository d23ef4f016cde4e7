#!/bin/sh
# stress-ng, one stressor at a time, without rights: who passes, skips and fails. What two
# bare runs do not agree on is left out. SEQ='names' chooses them.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need stress-ng=stress-ng setpriv=util-linux

# Not these: they fill memory or the disk, touch the machine, or trace (see nested).
not=" resources ptrace bigheap brk stack oom-pipe vm vm-segv malloc mlock mlockmany mmapmany mmaphuge forkheavy rlimit clock cpu-online reboot swap module \
 memhotplug pageswap watchdog icmp-flood udp-flood dev sysinval sysbadaddr opcode ramfs tmpfs klog loop numa madvise "
if [ -z "${SEQ:-}" ]; then
	if wide; then
		SEQ=$(for c in filesystem io os; do stress-ng --class "$c?" 2>&1 | sed -n 's/^class .*: //p'; done | tr ' ' '\n' | sort -u)
	else
		SEQ="fork fcntl pipe sendfile signal"
	fi
fi

run() {		# bare|iops: the outcome of $s
	flags=
	rm -rf "$DIR/d"; mkdir -m 777 "$DIR/d"
	[ "$1" = bare ] || flags="$IOPS run --wait --json -o $o.json ${IOPS_FLAGS:-} --"
	# shellcheck disable=SC2086
	(cd "$DIR/d" && timeout -k 9 60 $flags prlimit --fsize=2000000000 setpriv --reuid 65534 --regid 65534 --clear-groups \
		stress-ng --temp-path "$DIR/d" --timeout 1 --verify --"$s" 1 </dev/null >"$o.$1.log" 2>&1)
	code=$?
	case $code in
	0) if grep -q 'skipp\(ing\|ed\) \|is not supported' "$o.$1.log"; then echo skip; else echo pass; fi ;;
	124 | 137) echo hangs ;;
	*) echo "fail $code" ;;
	esac
}
[ "$(id -u)" = 0 ] || { echo "stress: skipped: needs root to become nobody"; exit 77; }
same=0 unsteady='' matched=0 skipped=0 fail=0
for s in $SEQ; do
	case $not in *" $s "*) continue ;; esac
	o=$OUT/$s; rm -f "$o".*
	b=$(run bare); g=$(run iops) v=$(proof "$o.json")
	if [ "$g" != "$b" ]; then
		c=$(run bare)
		[ "$b" = "$c" ] || { unsteady="$unsteady $s"; continue; }
		h=$(run iops)
		printf '%-30s | %-32s | %-32s | %-13s | %s\n' "stress: $s" "$b, $c" "$g, $h" DIFFERENT "$v"; bad=1
		tail -5 "$o.iops.log" | sed 's/^/    /'
		continue
	fi
	same=$((same + 1))
	case $b in skip) skipped=$((skipped + 1)) ;; fail* | hangs) fail=$((fail + 1)) ;; esac
	case $v in verified*) matched=$((matched + 1)) ;; *) bad=1; printf '%-30s | %-32s | %-32s | %-13s | %s\n' "stress: $s" "$b" "$g" same "$v" ;; esac
	case $v in *,*) printf '%-30s | %-32s | %-32s | %-13s | %s\n' "stress: $s" "$b" "$g" same "$v" ;; esac
done
printf '%-30s | %-32s | %-32s | %-13s | %s\n' "stress: stressors" "$same: $skipped skip, $fail fail" "$same alike" "$([ $bad = 0 ] && echo same || echo DIFFERENT)" "verified $matched/$same"
[ -z "$unsteady" ] || echo "    unsteady bare:$unsteady"
exit $bad
