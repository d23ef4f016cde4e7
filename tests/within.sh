#!/bin/sh
# within.sh SECONDS TEST: a test, with all that it started, and an end to it.
case $2 in
*.t) timeout -k 10 "$1" sh "$2" ;;
*) timeout -k 10 "$1" "$2" ;;
esac
r=$?
[ $r = 124 ] || [ $r = 137 ] && printf '# %s:\n# not over after %s seconds\n' "$2" "$1" | tee -a "${FAILED:-/dev/null}" >&2
exit $r
