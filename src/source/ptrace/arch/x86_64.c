/*
 * x86_64.c - x86_64 and i386 calls; x32 ones are told apart by a bit of their number
 */
#include "arch.h"

#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

/* What restart codes there are: linux/errno.h, not exported to user space. */
enum { RESTART_NOHAND = 514, RESTART_BLOCK = 516 };

/* __USER32_CS of asm/segment.h: errors are negative in 32 bits then. */
enum { CODE_32 = 0x23, CLOSE_32 = 6 };

/* __X32_SYSCALL_BIT of asm/unistd.h. */
enum { X32_BIT = 0x40000000 };

const struct arch_abi arch_abis[] = {
	{ AUDIT_ARCH_X86_64, ABI_X86_64, X32_BIT },
	{ AUDIT_ARCH_I386, ABI_I386, X32_BIT },
	{ 0 },
};

bool tracee_in_eintr(pid_t tid)
{
	struct user_regs_struct r;

	/* orig_rax is negative where the stop does not come from a call. close(2) has
	 * closed even so. */
	return !ptrace(PTRACE_GETREGS, tid, 0, &r) && (int)r.orig_rax >= 0 &&
	       (int)r.orig_rax != (r.cs == CODE_32 ? CLOSE_32 : SYS_close) &&
	       (int)r.rax == -EINTR;
}

/*
 * Some calls end with EINTR for any signal that is queued, and to a tracee even ignored
 * ones are queued. The kernel turns this result into EINTR if a handler runs, and
 * restarts the call if none does: as if the signal had never come.
 */
int tracee_unmask_eintr(pid_t tid)
{
	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rax),
		       (long)-RESTART_NOHAND) < 0
		       ? -errno
		       : 0;
}

static bool has_ended_with(pid_t tid, int code)
{
	struct user_regs_struct r;

	return !ptrace(PTRACE_GETREGS, tid, 0, &r) && (int)r.orig_rax >= 0 &&
	       (int)r.rax == -code;
}

bool tracee_in_restart(pid_t tid)
{
	return has_ended_with(tid, RESTART_BLOCK);
}

bool tracee_in_nohand(pid_t tid)
{
	return has_ended_with(tid, RESTART_NOHAND);
}

int tracee_keep_eintr(pid_t tid)
{
	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, orig_rax),
		       -1L) < 0
		       ? -errno
		       : 0;
}

/* Where the arguments of a call are. */
static const size_t arg_at[] = { offsetof(struct user_regs_struct, rdi),
	offsetof(struct user_regs_struct, rsi), offsetof(struct user_regs_struct, rdx),
	offsetof(struct user_regs_struct, r10), offsetof(struct user_regs_struct, r8),
	offsetof(struct user_regs_struct, r9) };

/* 64-bit calls that end with EINTR for any signal, signal(7), and wait for so long. */
static const struct time_limit limits[] = {
	{ .nr = SYS_epoll_wait, .arg = 3 },
	{ .nr = SYS_epoll_pwait, .arg = 3 },
	{ .nr = SYS_epoll_pwait2, .arg = 3, .pointer = true },
	{ .nr = SYS_semtimedop, .arg = 3, .pointer = true },
	{ .nr = SYS_rt_sigtimedwait, .arg = 2, .pointer = true },
	{ .nr = SYS_io_getevents, .arg = 4, .pointer = true },
	{ .nr = SYS_io_pgetevents, .arg = 4, .pointer = true },
};

bool tracee_limit(pid_t tid, struct time_limit *l)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0 || r.cs == CODE_32)
		return false;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		if ((int64_t)r.orig_rax != limits[i].nr)
			continue;
		*l = limits[i];
		memcpy(&l->value, (char *)&r + arg_at[l->arg], sizeof(l->value));
		l->stack = r.rsp;
		return true;
	}
	return false;
}

/* What waits for others on a socket, and may be made once more: it has done nothing. */
bool tracee_lasts(pid_t tid, bool socket, struct time_limit *l)
{
	static const struct {
		int nr;
		bool always; /* on nothing else */
	} lasting[] = {
		{ SYS_read, false },
		{ SYS_readv, false },
		{ SYS_recvfrom, true },
		{ SYS_recvmsg, true },
		{ SYS_recvmmsg, true },
		{ SYS_write, false },
		{ SYS_writev, false },
		{ SYS_sendto, true },
		{ SYS_sendmsg, true },
		{ SYS_sendmmsg, true },
		{ SYS_accept, true },
		{ SYS_accept4, true },
	};
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0 || r.cs == CODE_32)
		return false;
	for (size_t i = 0; i < sizeof(lasting) / sizeof(*lasting); i++)
		if ((int64_t)r.orig_rax == lasting[i].nr &&
			(socket || lasting[i].always)) {
			*l = (struct time_limit){ .nr = lasting[i].nr, .arg = NO_LIMIT };
			return true;
		}
	return false;
}

bool tracee_is_limited(pid_t tid, const struct time_limit *l)
{
	struct user_regs_struct r;

	return !ptrace(PTRACE_GETREGS, tid, 0, &r) && r.cs != CODE_32 &&
	       (int64_t)r.orig_rax == l->nr;
}

int tracee_set_limit(pid_t tid, const struct time_limit *l, uint64_t value)
{
	return ptrace(PTRACE_POKEUSER, tid, arg_at[l->arg], value) < 0 ? -errno : 0;
}

int tracee_repeat(pid_t tid, uint64_t *at)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return -errno;
	r.rip -= 2;
	r.rax = r.orig_rax;
	r.orig_rax = -1;
	*at = r.rip;
	return ptrace(PTRACE_SETREGS, tid, 0, &r) < 0 ? -errno : 0;
}

bool tracee_unrepeat(pid_t tid, const struct time_limit *l, uint64_t value, uint64_t at)
{
	struct user_regs_struct r;
	uint64_t *arg =
		l->arg == NO_LIMIT ? NULL : (uint64_t *)((char *)&r + arg_at[l->arg]);

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0 || (int64_t)r.rax != l->nr ||
		((int64_t)r.orig_rax != -1 && r.orig_rax != r.rax) ||
		(arg && *arg != value) || (at && r.rip != at))
		return false;
	if (arg)
		*arg = l->value;
	r.rip += 2;
	r.rcx = r.rip;
	r.rax = (uint64_t)-EINTR;
	r.orig_rax = -1;
	return !ptrace(PTRACE_SETREGS, tid, 0, &r);
}

/* Whether a signal waits that was raised in place of its call: SECCOMP_RET_TRAP, syscall
 * user dispatch. Stops of its group, and ours, come before. */
static bool is_raised(pid_t tid)
{
	struct {
		uint64_t off;
		uint32_t flags;
		int32_t nr;
	} args = { .nr = 8 };
	siginfo_t info[8];
	long n = ptrace(PTRACE_PEEKSIGINFO, tid, &args, info);

	while (n-- > 0)
		if (info[n].si_signo == SIGSYS && info[n].si_code > 0)
			return true;
	return false;
}

bool tracee_made(pid_t tid, struct made_call *c)
{
	struct user_regs_struct r;

	/* One that the kernel is about to make again has its number for a result, and
	 * stands before itself; syscall(2) leaves the place behind it in rcx. One that
	 * was not made has that for a result as well, and stands behind itself. */
	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0 || r.cs == CODE_32 ||
		(int64_t)r.orig_rax < 0 || r.rip != r.rcx ||
		(r.rax == r.orig_rax && is_raised(tid)))
		return false;
	*c = (struct made_call){
		.nr = (int)r.orig_rax,
		.arg = { r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9 },
		.at = r.rip,
		.stack = r.rsp,
		.result = (int64_t)r.rax,
	};
	return true;
}

/* move: of where it stands. Before the call there is no result yet. */
static int set_made(pid_t tid, const struct made_call *c, int move)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return -errno;
	for (int i = 0; i < 6; i++)
		memcpy((char *)&r + arg_at[i], &c->arg[i], sizeof(c->arg[i]));
	r.rip += (uint64_t)(int64_t)move;
	r.rax = move < 0 ? (uint64_t)c->nr : (uint64_t)c->result;
	if (move < 0)
		r.orig_rax = -1;
	return ptrace(PTRACE_SETREGS, tid, 0, &r) < 0 ? -errno : 0;
}

int tracee_make_again(pid_t tid, const struct made_call *c)
{
	return set_made(tid, c, -2);
}

int tracee_make_over(pid_t tid, const struct made_call *c)
{
	return set_made(tid, c, 0);
}

int tracee_make_undo(pid_t tid, const struct made_call *c)
{
	return set_made(tid, c, 2);
}

/* Whether it stands where the call is about to be made again. */
bool tracee_is_before(pid_t tid, const struct made_call *c)
{
	struct user_regs_struct r;

	return !ptrace(PTRACE_GETREGS, tid, 0, &r) && r.rip + 2 == c->at;
}

int tracee_last_result(pid_t tid, int64_t *ret)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return -errno;
	bool narrow = r.cs == CODE_32 && (int32_t)r.rax < 0 && (int32_t)r.rax >= -4095;
	*ret = narrow ? (int32_t)r.rax : (int64_t)r.rax;
	return (int)r.orig_rax < 0 || !is_last_result(*ret) ? -ENODATA : 0;
}

int tracee_refuse_call(pid_t tid)
{
	if (ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, orig_rax),
		    -1L) < 0 ||
		ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rax),
			(long)-ENOSYS) < 0)
		return -errno;
	return 0;
}

int tracee_set_arg0(pid_t tid, enum abi abi, uint64_t value)
{
	size_t at = abi == ABI_I386 ? offsetof(struct user_regs_struct, rbx)
				    : offsetof(struct user_regs_struct, rdi);

	return ptrace(PTRACE_POKEUSER, tid, at, value) < 0 ? -errno : 0;
}

int tracee_restore_arg0(pid_t tid, enum abi abi, uint64_t value)
{
	return tracee_set_arg0(tid, abi, value);
}
