/*
 * ring.h - what helpers with a ring of io_uring have in common
 */
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>

static struct io_uring ring;

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s failed\n", program_invocation_short_name, what);
	exit(3);
}

static struct io_uring_sqe *next(void)
{
	struct io_uring_sqe *s = io_uring_get_sqe(&ring);

	need(s != NULL, "io_uring_get_sqe");
	return s;
}
