/*
 * calls.c - what each call means to the fast path, as data
 *
 * Calls that are not here stop if they are wanted, and leave no trace if they are not.
 */
#include "../tracer.h"
#include "iops/op.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(call, does, kept, ...)                                                      \
	{                                                                                \
		.name = #call, .role = ROLE_##does, .shape = SHAPE_##kept, __VA_ARGS__   \
	}

static const struct fast_call fast_calls[] = {
	CALL(read, DATA, PLAIN),
	CALL(write, DATA, PLAIN),
	CALL(pread64, DATA, PLAIN),
	CALL(pwrite64, DATA, PLAIN),
	CALL(readv, DATA, VEC),
	CALL(writev, DATA, VEC),
	CALL(preadv, DATA, VEC),
	CALL(pwritev, DATA, VEC),
	CALL(preadv2, DATA, VEC),
	CALL(pwritev2, DATA, VEC),
	CALL(recvfrom, DATA, PLAIN),
	CALL(sendto, DATA, PLAIN),
	CALL(recvmsg, DATA, MSG, .rights = true),
	CALL(sendmsg, DATA, MSG),
	CALL(sendfile, DATA, TWO),
	CALL(copy_file_range, DATA, TWO),
	CALL(splice, DATA, TWO),
	CALL(fsync, DATA, PLAIN),
	CALL(fdatasync, DATA, PLAIN),
	CALL(sync_file_range, DATA, PLAIN),
	CALL(msync, DATA, PLAIN),
	CALL(lseek, SEEK, PLAIN),
	CALL(ftruncate, SIZE, PLAIN, .cuts = true),
	CALL(fallocate, GROW, PLAIN, .cuts = true),
	CALL(truncate, PATH_SIZE, PASS, .cuts = true),
	CALL(close, CLOSE, PLAIN),
	CALL(close_range, RANGE, PASS),
	CALL(dup, DUP, PLAIN),
	CALL(dup2, DUP_TO, PLAIN),
	CALL(dup3, DUP_TO, PLAIN),
	CALL(fcntl, FCNTL, PLAIN),
	CALL(open, OPEN, OPEN0, .cuts = true),
	CALL(creat, OPEN, OPEN0, .cuts = true),
	CALL(openat, OPEN, OPEN1, .cuts = true),
	CALL(socket, OPEN, NEWFD),
	CALL(accept, OPEN, NEWFD),
	CALL(accept4, OPEN, NEWFD),
	CALL(openat2, OPEN, PASS, .cuts = true),
	CALL(open_by_handle_at, OPEN, PASS, .cuts = true),
	CALL(memfd_create, OPEN, PASS),
	CALL(eventfd, OPEN, PASS),
	CALL(eventfd2, OPEN, PASS),
	CALL(timerfd_create, OPEN, PASS),
	CALL(signalfd, OPEN, PASS),
	CALL(signalfd4, OPEN, PASS),
	CALL(inotify_init, OPEN, PASS),
	CALL(inotify_init1, OPEN, PASS),
	CALL(fanotify_init, OPEN, PASS),
	CALL(userfaultfd, OPEN, PASS),
	CALL(perf_event_open, OPEN, PASS),
	CALL(pidfd_getfd, OPEN, PASS),
	CALL(mq_open, OPEN, PASS),
	CALL(open_tree, OPEN, PASS),
	CALL(fsopen, OPEN, PASS),
	CALL(fsmount, OPEN, PASS),
	CALL(fspick, OPEN, PASS),
	CALL(pipe, PAIR, PAIR),
	CALL(pipe2, PAIR, PAIR),
	CALL(socketpair, PAIR, PASS),
	CALL(recvmmsg, NONE, PASS, .rights = true),
	CALL(rename, PATH, PATHS01),
	CALL(renameat, PATH, PATHS13),
	CALL(renameat2, PATH, PATHS13),
	CALL(unlink, PATH, PATH0),
	CALL(unlinkat, PATH, PATH1),
	CALL(rmdir, PATH, PATH0),
	CALL(link, LINK, PATHS01),
	CALL(linkat, LINK, PATHS13),
	CALL(symlink, LINK, PATHS01),
	CALL(symlinkat, LINK, PATHS02),
	CALL(chdir, CWD, PASS),
	CALL(fchdir, CWD, PASS),
	CALL(chroot, ROOT, PASS),
	CALL(pivot_root, ROOT, PASS),
	CALL(umount2, ROOT, PASS), /* nothing of it is looked at any more */
	CALL(mount, ROOT, PASS),
	CALL(move_mount, ROOT, PASS),
	CALL(io_uring_setup, RING, PASS),
	CALL(io_uring_enter, ENTER, RING),
	CALL(io_submit, SUBMIT, SUBMIT),
	CALL(io_getevents, EVENTS, PASS),
	CALL(setns, ROOT, PASS),
	CALL(mlockall, NONE, PASS),
	CALL(mremap, NONE, PASS),
	CALL(setrlimit, NONE, PASS),
	CALL(prlimit64, NONE, PASS),
	CALL(rt_sigaction, ACTION, PASS),
	CALL(unshare, OWN, PASS),
	CALL(seccomp, LOCK, PASS),
	CALL(prctl, LOCK, PASS),
	CALL(setuid, RIGHTS, PASS),
	CALL(setreuid, RIGHTS, PASS),
	CALL(setresuid, RIGHTS, PASS),
	CALL(capset, RIGHTS, PASS),
	{ .name = NULL },
};

/* What only a process's own descriptors are changed by: those are asked for until their
 * history is kept. Positions, paths and sizes may be others' as well. */
static bool concerns_itself(uint8_t role)
{
	return role == ROLE_OPEN || role == ROLE_PAIR || role == ROLE_CLOSE ||
	       role == ROLE_RANGE || role == ROLE_DUP || role == ROLE_DUP_TO ||
	       role == ROLE_CWD;
}

struct syscall_set fast_concerned(bool second)
{
	struct syscall_set s = { { 0 } };

	for (unsigned i = 0; fast_calls[i].name; i++) {
		int row = syscall_by_name(fast_calls[i].name);
		uint8_t role = fast_calls[i].role;
		bool own = concerns_itself(role);
		bool is = second ? own : !own || fast_calls[i].cuts;
		if (row >= 0 && (is || role == ROLE_FCNTL))
			s.bit[row / 64] |= UINT64_C(1) << row % 64;
	}
	return s;
}

unsigned fast_addresses(uint32_t out[FAST_CALLS])
{
	const uint8_t *after[FAST_CALLS] = { hook_post, hook_new_post, hook_stat_sys + 2,
		hook_pay_sys + 2, hook_ring_post, hook_thread_post };

	for (unsigned i = 0; i < FAST_CALLS; i++)
		out[i] = HOOK_AT + (uint32_t)(after[i] - hook_code);
	return FAST_CALLS;
}

/* The flags of open(2) and its like, but openat2(2), which has them in memory. */
int call_open_flags(const uint64_t *arg, const char *name)
{
	if (!strcmp(name, "creat"))
		return O_WRONLY | O_CREAT | O_TRUNC;
	if (!strcmp(name, "open"))
		return (int)arg[1];
	return (int)arg[2];
}

/* Whether the hook makes a call of its own for it. */
bool shape_asks(uint8_t shape)
{
	return shape_opens(shape) || shape == SHAPE_EXEC;
}

/*
 * How the hook asks what a new descriptor is. Since Linux 6.11 without a path, a tenth
 * faster. A sandbox around us may forbid it: 0.
 */
static uint64_t ask_by(void)
{
	const unsigned mask = STATX_BASIC_STATS | STATX_MNT_ID;
	struct statx x;

	if (!syscall(SYS_statx, AT_FDCWD, NULL, AT_EMPTY_PATH, mask, &x))
		return ASK_NO_PATH;
	return syscall(SYS_statx, AT_FDCWD, "", AT_EMPTY_PATH, mask, &x) ? 0 : EMPTY_AT;
}

/*
 * Calls that are to stop where all others are made from the hook: their children have
 * another place to return to, or gs is about to change.
 */
static const short special[] = { SYS_clone, SYS_fork, SYS_vfork, SYS_clone3, SYS_execve,
	SYS_execveat, SYS_arch_prctl };

/* Those that end with EINTR for any signal: what is left of their time is to be known. */
static const short waits[] = { SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2,
	SYS_semtimedop, SYS_rt_sigtimedwait, SYS_io_getevents };

/* Those that may take away what is ours. */
static const short mapping[] = { SYS_mmap, SYS_munmap, SYS_mprotect, SYS_pkey_mprotect };

/*
 * What the entry of a request tells the whole of, by its number. Else there is more in
 * memory, or it changes descriptors.
 */
static const struct {
	uint8_t opcode, how;
} entries[] = {
	{ IORING_OP_NOP, ENTRY_NOTED },
	{ IORING_OP_READ, ENTRY_PLACED },
	{ IORING_OP_WRITE, ENTRY_PLACED },
	{ IORING_OP_READ_FIXED, ENTRY_PLACED },
	{ IORING_OP_WRITE_FIXED, ENTRY_PLACED },
	{ IORING_OP_READV, ENTRY_VECTOR },
	{ IORING_OP_WRITEV, ENTRY_VECTOR },
	{ IORING_OP_FSYNC, ENTRY_NOTED },
	{ IORING_OP_SYNC_FILE_RANGE, ENTRY_NOTED },
	{ IORING_OP_FALLOCATE, ENTRY_NOTED },
	{ IORING_OP_FADVISE, ENTRY_NOTED },
	{ IORING_OP_MADVISE, ENTRY_NOTED },
	{ IORING_OP_SEND, ENTRY_NOTED },
	{ IORING_OP_RECV, ENTRY_NOTED },
	{ IORING_OP_SEND_ZC, ENTRY_NOTED },
	{ IORING_OP_SHUTDOWN, ENTRY_NOTED },
	{ IORING_OP_POLL_ADD, ENTRY_NOTED },
	{ IORING_OP_POLL_REMOVE, ENTRY_NOTED },
	{ IORING_OP_EPOLL_CTL, ENTRY_NOTED },
	{ IORING_OP_TIMEOUT, ENTRY_NOTED },
	{ IORING_OP_TIMEOUT_REMOVE, ENTRY_NOTED },
	{ IORING_OP_LINK_TIMEOUT, ENTRY_NOTED },
	{ IORING_OP_ASYNC_CANCEL, ENTRY_NOTED },
	{ IORING_OP_PROVIDE_BUFFERS, ENTRY_NOTED },
	{ IORING_OP_REMOVE_BUFFERS, ENTRY_NOTED },
};

void fast_entries(uint8_t out[NENTRIES])
{
	memset(out, ENTRY_PASS, NENTRIES);
	for (unsigned i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		out[entries[i].opcode] = entries[i].how;
}

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

/*
 * What threads call, for themselves or for what they are made for. To patch all such
 * sites of a library takes less than a few of them with breakpoints.
 */
static const short likely[] = { SYS_clone3, SYS_clone, SYS_futex, SYS_rseq,
	SYS_set_robust_list, SYS_exit, SYS_madvise, SYS_mmap, SYS_munmap, SYS_mprotect,
	SYS_brk, SYS_rt_sigprocmask, SYS_sched_yield, SYS_clock_nanosleep, SYS_poll,
	SYS_epoll_wait, SYS_epoll_ctl, SYS_read, SYS_write, SYS_open, SYS_openat,
	SYS_close, SYS_stat, SYS_fstat, SYS_lstat, SYS_newfstatat, SYS_statx, SYS_lseek,
	SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_getdents64, SYS_access,
	SYS_readlink, SYS_unlink, SYS_recvfrom, SYS_sendto, SYS_recvmsg, SYS_sendmsg,
	SYS_fdatasync, SYS_fsync };

/* What nearly every program calls, most of it before anything of its own runs. */
static const short common[] = { SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_access,
	SYS_openat, SYS_read, SYS_pread64, SYS_newfstatat, SYS_close, SYS_set_tid_address,
	SYS_set_robust_list, SYS_rseq, SYS_prlimit64, SYS_getrandom, SYS_write, SYS_lseek,
	SYS_getdents64, SYS_rt_sigaction };

/* What many do, near what nearly all do. */
static const short frequent[] = { SYS_fcntl, SYS_ioctl, SYS_dup, SYS_dup2, SYS_pipe,
	SYS_pipe2, SYS_getcwd, SYS_readlink, SYS_unlink, SYS_mkdir, SYS_umask, SYS_chmod,
	SYS_faccessat2, SYS_statfs, SYS_fstatfs, SYS_statx, SYS_fadvise64, SYS_poll,
	SYS_getrusage };

static void want(bool wanted[NSHAPES], const short *call, size_t n)
{
	memset(wanted, 0, NSHAPES * sizeof(*wanted));
	for (size_t i = 0; i < n; i++)
		wanted[call[i]] = true;
}

void fast_likely(bool wanted[NSHAPES])
{
	want(wanted, likely, sizeof(likely) / sizeof(*likely));
}

void fast_common(bool wanted[NSHAPES])
{
	want(wanted, common, sizeof(common) / sizeof(*common));
}

void fast_frequent(bool wanted[NSHAPES])
{
	want(wanted, frequent, sizeof(frequent) / sizeof(*frequent));
}

/* Dispatched, a call that has to stop costs more than below a filter. */
bool fast_may_dispatch(const struct syscall_set *want)
{
	for (unsigned row = 0; syscalls[row].name; row++)
		if (stops_for_more(want, row))
			return false;
	return true;
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
	f->ask_by = ask_by();
	for (int nr = 0; nr < NSHAPES; nr++)
		if (!f->ask_by && shape_opens(f->shape[nr]))
			f->shape[nr] = SHAPE_PASS;
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
	/* Where that would not be told as the program's own. */
	if (row[SYS_stat] >= 0 && !syscall_traced(want, (unsigned)row[SYS_stat]))
		f->shape[SYS_execve] = SHAPE_EXEC;
	f->shape[SYS_rt_sigprocmask] = f->guards ? SHAPE_SPARE : SHAPE_MASK;
	for (unsigned i = 0; i < sizeof(mapping) / sizeof(*mapping); i++)
		if (f->shape[mapping[i]] == SHAPE_FREE)
			f->shape[mapping[i]] = SHAPE_SPACE;
	if (!f->guards) /* without us a child would go on in its parent's slot */
		f->shape[SYS_clone] = f->shape[SYS_fork] = SHAPE_CHILD;
	f->shape[SYS_rt_sigaction] = SHAPE_ACTION;
	for (unsigned i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (f->shape[waits[i]] == SHAPE_FREE)
			f->shape[waits[i]] = SHAPE_WAIT;
	f->shape[SYS_io_getevents] = SHAPE_EVENTS;
	f->shape[SYS_mremap] = SHAPE_MOVE;
	f->shape[SYS_prlimit64] = SHAPE_LIMIT;
	if (!syscall_traced(want, (unsigned)row[SYS_fcntl]))
		f->shape[SYS_fcntl] = SHAPE_DUPS;
}
