/*
 * aarch64.c - calls of 64-bit ARM; those of its 32-bit programs are an unknown ABI
 */
#include "arch.h"

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

const struct arch_abi arch_abis[] = {
	{ AUDIT_ARCH_AARCH64, ABI_AARCH64, 0 },
	{ 0 },
};

/* ptrace(2): a set of registers may be written in part, from its first on; x0 is it. */
static int set_x0(pid_t tid, uint64_t value)
{
	struct iovec x0 = { &value, sizeof(value) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &x0) < 0 ? -errno : 0;
}

/*
 * At a signal's stop the kernel has forgotten that there was a call, and has no record of
 * its first argument any more, which the result has replaced: do_signal() of
 * arch/arm64/kernel/signal.c. A call that ends with EINTR for an ignored signal cannot be
 * made again; its caller sees EINTR.
 */
bool tracee_in_eintr(pid_t tid)
{
	(void)tid;
	return false;
}

int tracee_unmask_eintr(pid_t tid)
{
	(void)tid;
	return -ENOSYS;
}

bool tracee_in_restart(pid_t tid)
{
	(void)tid;
	return false;
}

bool tracee_in_nohand(pid_t tid)
{
	(void)tid;
	return false;
}

int tracee_keep_eintr(pid_t tid)
{
	(void)tid;
	return -ENOSYS;
}

bool tracee_limit(pid_t tid, struct time_limit *l)
{
	(void)tid;
	(void)l;
	return false;
}

bool tracee_lasts(pid_t tid, bool socket, struct time_limit *l)
{
	(void)tid;
	(void)socket;
	(void)l;
	return false;
}

bool tracee_is_limited(pid_t tid, const struct time_limit *l)
{
	(void)tid;
	(void)l;
	return false;
}

int tracee_set_limit(pid_t tid, const struct time_limit *l, uint64_t value)
{
	(void)tid;
	(void)l;
	(void)value;
	return -ENOSYS;
}

bool tracee_unrepeat(pid_t tid, const struct time_limit *l, uint64_t value, uint64_t at)
{
	(void)at;
	(void)tid;
	(void)l;
	(void)value;
	return false;
}

int tracee_repeat(pid_t tid, uint64_t *at)
{
	(void)at;
	(void)tid;
	return -ENOSYS;
}

bool tracee_made(pid_t tid, struct made_call *c)
{
	(void)tid;
	(void)c;
	return false;
}

int tracee_make_again(pid_t tid, const struct made_call *c)
{
	(void)tid;
	(void)c;
	return -ENOSYS;
}

int tracee_make_over(pid_t tid, const struct made_call *c)
{
	(void)tid;
	(void)c;
	return -ENOSYS;
}

int tracee_make_undo(pid_t tid, const struct made_call *c)
{
	(void)tid;
	(void)c;
	return -ENOSYS;
}

bool tracee_is_before(pid_t tid, const struct made_call *c)
{
	(void)tid;
	(void)c;
	return false;
}

/* The register of the result is that of the first argument, until there is one. */
int tracee_last_result(pid_t tid, int64_t *ret)
{
	(void)tid;
	(void)ret;
	return -ENOSYS;
}

int tracee_refuse_call(pid_t tid)
{
	int nr = -1;
	struct iovec call = { &nr, sizeof(nr) };

	if (ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &call) < 0)
		return -errno;
	return set_x0(tid, -(uint64_t)ENOSYS);
}

int tracee_set_arg0(pid_t tid, enum abi abi, uint64_t value)
{
	(void)abi;
	return set_x0(tid, value);
}

/* By then x0 has the result. A call that is made again has its argument from the kernel.
 */
int tracee_restore_arg0(pid_t tid, enum abi abi, uint64_t value)
{
	(void)tid;
	(void)abi;
	(void)value;
	return 0;
}
