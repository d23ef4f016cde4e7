/*
 * calls.c - what each call means to the fast path, as data
 *
 * Calls that are not here stop if they are wanted, and leave no trace if they are not.
 */
#include "fast.h"
#include "iops/op.h"

#include <string.h>
#include <sys/syscall.h>

static const struct fast_call fast_calls[] = {
	{ "read", ROLE_DATA, SHAPE_PLAIN },
	{ "write", ROLE_DATA, SHAPE_PLAIN },
	{ "pread64", ROLE_DATA, SHAPE_PLAIN },
	{ "pwrite64", ROLE_DATA, SHAPE_PLAIN },
	{ "readv", ROLE_DATA, SHAPE_VEC },
	{ "writev", ROLE_DATA, SHAPE_VEC },
	{ "preadv", ROLE_DATA, SHAPE_VEC },
	{ "pwritev", ROLE_DATA, SHAPE_VEC },
	{ "preadv2", ROLE_DATA, SHAPE_VEC },
	{ "pwritev2", ROLE_DATA, SHAPE_VEC },
	{ "recvfrom", ROLE_DATA, SHAPE_PLAIN },
	{ "sendto", ROLE_DATA, SHAPE_PLAIN },
	{ "recvmsg", ROLE_DATA, SHAPE_MSG },
	{ "sendmsg", ROLE_DATA, SHAPE_MSG },
	{ "sendfile", ROLE_DATA, SHAPE_TWO },
	{ "copy_file_range", ROLE_DATA, SHAPE_TWO },
	{ "splice", ROLE_DATA, SHAPE_TWO },
	{ "fsync", ROLE_DATA, SHAPE_PLAIN },
	{ "fdatasync", ROLE_DATA, SHAPE_PLAIN },
	{ "sync_file_range", ROLE_DATA, SHAPE_PLAIN },
	{ "msync", ROLE_DATA, SHAPE_PLAIN },
	{ "lseek", ROLE_SEEK, SHAPE_PLAIN },
	{ "ftruncate", ROLE_SIZE, SHAPE_PLAIN },
	{ "close", ROLE_CLOSE, SHAPE_PLAIN },
	{ "close_range", ROLE_RANGE, SHAPE_PASS },
	{ "dup", ROLE_DUP, SHAPE_PLAIN },
	{ "dup2", ROLE_DUP_TO, SHAPE_PASS },
	{ "dup3", ROLE_DUP_TO, SHAPE_PASS },
	{ "fcntl", ROLE_FCNTL, SHAPE_PLAIN },
	{ "open", ROLE_OPEN, SHAPE_OPEN0 },
	{ "creat", ROLE_OPEN, SHAPE_OPEN0 },
	{ "openat", ROLE_OPEN, SHAPE_OPEN1 },
	{ "socket", ROLE_OPEN, SHAPE_NEWFD },
	{ "accept", ROLE_OPEN, SHAPE_NEWFD },
	{ "accept4", ROLE_OPEN, SHAPE_NEWFD },
	{ "openat2", ROLE_OPEN, SHAPE_PASS },
	{ "open_by_handle_at", ROLE_OPEN, SHAPE_PASS },
	{ "eventfd", ROLE_OPEN, SHAPE_PASS },
	{ "eventfd2", ROLE_OPEN, SHAPE_PASS },
	{ "timerfd_create", ROLE_OPEN, SHAPE_PASS },
	{ "signalfd", ROLE_OPEN, SHAPE_PASS },
	{ "signalfd4", ROLE_OPEN, SHAPE_PASS },
	{ "inotify_init", ROLE_OPEN, SHAPE_PASS },
	{ "inotify_init1", ROLE_OPEN, SHAPE_PASS },
	{ "pidfd_getfd", ROLE_OPEN, SHAPE_PASS },
	{ "pipe", ROLE_PAIR, SHAPE_PASS },
	{ "pipe2", ROLE_PAIR, SHAPE_PASS },
	{ "socketpair", ROLE_PAIR, SHAPE_PASS },
	{ "recvmmsg", ROLE_RIGHTS, SHAPE_PASS },
	{ "rename", ROLE_PATH, SHAPE_PATHS01 },
	{ "renameat", ROLE_PATH, SHAPE_PATHS13 },
	{ "renameat2", ROLE_PATH, SHAPE_PATHS13 },
	{ "unlink", ROLE_PATH, SHAPE_PATH0 },
	{ "unlinkat", ROLE_PATH, SHAPE_PATH1 },
	{ "chdir", ROLE_CWD, SHAPE_PASS },
	{ "fchdir", ROLE_CWD, SHAPE_PASS },
	{ "chroot", ROLE_CWD, SHAPE_PASS },
	{ "pivot_root", ROLE_CWD, SHAPE_PASS },
	{ "umount2", ROLE_CWD, SHAPE_PASS }, /* nothing of it is looked at any more */
	{ "setns", ROLE_CWD, SHAPE_PASS },
	{ "mlockall", ROLE_NONE, SHAPE_PASS },
	{ "unshare", ROLE_OWN, SHAPE_PASS },
	{ "seccomp", ROLE_LOCK, SHAPE_PASS },
	{ "prctl", ROLE_LOCK, SHAPE_PASS },
	{ NULL, 0, 0 },
};

bool fast_concerns(const char *name)
{
	for (unsigned i = 0; fast_calls[i].name; i++)
		if (!strcmp(fast_calls[i].name, name))
			return true;
	return false;
}

unsigned fast_addresses(uint32_t out[FAST_CALLS])
{
	const uint8_t *after[FAST_CALLS] = { hook_post, hook_new_post,
		hook_stat_sys + 2 };

	for (unsigned i = 0; i < FAST_CALLS; i++)
		out[i] = HOOK_AT + (uint32_t)(after[i] - hook_code);
	return FAST_CALLS;
}

/*
 * Calls that are to stop where all others are made from the hook: their children have
 * another place to return to, gs is about to change, or the handler of SIGSYS.
 */
static const short special[] = { SYS_clone, SYS_fork, SYS_vfork, SYS_clone3, SYS_execve,
	SYS_execveat, SYS_arch_prctl, SYS_rt_sigaction };

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

/* Where every call would stop: those that mean nothing to anybody need not. */
void fast_calls_free(struct fast *f, const struct syscall_set *want)
{
	int16_t row[NR_MAX];

	syscall_index(ABI_X86_64, row);
	for (int nr = 0; nr < NSHAPES; nr++) {
		bool stops = nr >= NR_MAX;
		if (!stops && row[nr] >= 0)
			stops = syscalls[row[nr]].sets & SET_CONTROL ||
				syscall_traced(want, row[nr]) || f->call[row[nr]];
		for (unsigned i = 0; i < sizeof(special) / sizeof(*special); i++)
			stops |= nr == special[i];
		if (!stops)
			f->shape[nr] = SHAPE_FREE;
	}
}
