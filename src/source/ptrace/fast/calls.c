/*
 * calls.c - what each call means to the fast path, as data
 *
 * Calls that are not here stop if they are wanted, and leave no trace if they are not.
 */
#include "fast.h"
#include "iops/op.h"

#include <string.h>

const struct fast_call fast_calls[] = {
	{ "read", ROLE_DATA, SHAPE_PLAIN, true },
	{ "write", ROLE_DATA, SHAPE_PLAIN, true },
	{ "pread64", ROLE_DATA, SHAPE_PLAIN, true },
	{ "pwrite64", ROLE_DATA, SHAPE_PLAIN, true },
	{ "readv", ROLE_DATA, SHAPE_VEC, true },
	{ "writev", ROLE_DATA, SHAPE_VEC, true },
	{ "preadv", ROLE_DATA, SHAPE_VEC, true },
	{ "pwritev", ROLE_DATA, SHAPE_VEC, true },
	{ "preadv2", ROLE_DATA, SHAPE_VEC, true },
	{ "pwritev2", ROLE_DATA, SHAPE_VEC, true },
	{ "recvfrom", ROLE_DATA, SHAPE_PLAIN, true },
	{ "sendto", ROLE_DATA, SHAPE_PLAIN, true },
	{ "recvmsg", ROLE_DATA, SHAPE_MSG, true },
	{ "sendmsg", ROLE_DATA, SHAPE_MSG, true },
	{ "sendfile", ROLE_DATA, SHAPE_TWO, true },
	{ "copy_file_range", ROLE_DATA, SHAPE_TWO, true },
	{ "splice", ROLE_DATA, SHAPE_TWO, true },
	{ "fsync", ROLE_DATA, SHAPE_PLAIN, true },
	{ "fdatasync", ROLE_DATA, SHAPE_PLAIN, true },
	{ "sync_file_range", ROLE_DATA, SHAPE_PLAIN, true },
	{ "msync", ROLE_DATA, SHAPE_PLAIN, true },
	{ "lseek", ROLE_SEEK, SHAPE_PLAIN, true },
	{ "ftruncate", ROLE_SIZE, SHAPE_PLAIN, true },
	{ "close", ROLE_CLOSE, SHAPE_PLAIN, false },
	{ "close_range", ROLE_RANGE, SHAPE_PASS, true },
	{ "dup", ROLE_DUP, SHAPE_PLAIN, true },
	{ "dup2", ROLE_DUP_TO, SHAPE_PASS, true },
	{ "dup3", ROLE_DUP_TO, SHAPE_PASS, true },
	{ "fcntl", ROLE_FCNTL, SHAPE_PLAIN, true },
	{ "open", ROLE_OPEN, SHAPE_OPEN0, false },
	{ "creat", ROLE_OPEN, SHAPE_OPEN0, false },
	{ "openat", ROLE_OPEN, SHAPE_OPEN1, false },
	{ "socket", ROLE_OPEN, SHAPE_NEWFD, false },
	{ "accept", ROLE_OPEN, SHAPE_NEWFD, false },
	{ "accept4", ROLE_OPEN, SHAPE_NEWFD, false },
	{ "rename", ROLE_PATH, SHAPE_PLAIN, false },
	{ "renameat", ROLE_PATH, SHAPE_PLAIN, false },
	{ "renameat2", ROLE_PATH, SHAPE_PLAIN, false },
	{ "unlink", ROLE_PATH, SHAPE_PLAIN, false },
	{ "unlinkat", ROLE_PATH, SHAPE_PLAIN, false },
	{ "chdir", ROLE_CWD, SHAPE_PASS, true },
	{ "fchdir", ROLE_CWD, SHAPE_PASS, true },
	{ "chroot", ROLE_CWD, SHAPE_PASS, true },
	{ "pivot_root", ROLE_CWD, SHAPE_PASS, true },
	{ "setns", ROLE_CWD, SHAPE_PASS, true },
	{ "unshare", ROLE_OWN, SHAPE_PASS, true },
	{ "seccomp", ROLE_LOCK, SHAPE_PASS, true },
	{ "prctl", ROLE_LOCK, SHAPE_PASS, true },
	{ NULL, 0, 0, false },
};

/*
 * A call that is wanted and has a path, or makes a descriptor, has more to tell than the
 * hook keeps: it stops.
 */
static bool stops_for_more(const struct syscall_set *want, unsigned row)
{
	const struct syscall_desc *d = &syscalls[row];

	return syscall_wanted(want, row) &&
	       (d->form == FORM_PATH || d->form == FORM_OPEN || d->form == FORM_NEWFD);
}

void fast_calls_index(struct fast *f, const struct syscall_set *want)
{
	for (unsigned i = 0; fast_calls[i].name; i++) {
		int row = syscall_by_name(fast_calls[i].name);
		if (row < 0)
			continue;
		f->call[row] = &fast_calls[i];
		int nr = syscalls[row].nr[ABI_X86_64];
		if (nr >= 0 && nr < NSHAPES && !stops_for_more(want, row))
			f->shape[nr] = fast_calls[i].shape;
	}
}
