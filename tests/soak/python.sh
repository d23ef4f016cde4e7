#!/bin/sh
# Python's own tests, by the result of each test.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
/usr/bin/python3 -c 'import test.test_io' 2>/dev/null || { echo "python: skipped: no tests of python (libpython3-testsuite)"; exit 77; }

t="test_fileio test_select"
! wide || t="test_io test_os test_socket test_threading test_subprocess test_signal test_fileio test_file test_bufio test_largefile
	test_mmap test_select test_poll test_epoll test_selectors test_fcntl test_pty test_posix test_tempfile test_shutil test_pathlib
	test_zipfile test_tarfile test_gzip test_sqlite3 test_ctypes test_faulthandler test_exceptions test_fork1 test_eintr"
[ "$SCALE" -lt 2 ] || t="$t test_asyncio test_multiprocessing_fork test_multiprocessing_spawn test_concurrent_futures test_httpservers
	test_ssl test_socketserver test_asyncore test_logging test_mailbox test_shelve test_dbm test_queue test_thread test_wait3 test_wait4"
for T in $t; do
	export T
	pair "$T" <<'E'
/usr/bin/python3 -u -m test --timeout 300 --ignore "*VSOCK*" --tempdir "$PWD" --junit-xml "$PWD/r.xml" "$T" >&2; s=$?
/usr/bin/python3 - <<'P'
import xml.etree.ElementTree as E
r = []
for c in E.parse("r.xml").iter("testcase"):
	k = [x.tag for x in c]
	r.append(c.get("result", "?") + "".join("," + x for x in k if x not in ("system-out", "system-err")))
	print(c.get("name"), c.get("status"), r[-1])
	for x in c:
		if x.tag in ("failure", "error"): print((x.text or "")[:2000], file=__import__("sys").stderr)
bad = sum("failure" in x or "error" in x for x in r)
print("= %d ok, %d skipped, %d failed" % (len(r) - bad - sum("skip" in x for x in r), sum("skip" in x for x in r), bad))
P
exit $s
E
done
exit $bad
