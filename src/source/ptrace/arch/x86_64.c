/*
 * x86_64.c - x86_64 and i386 calls; x32 ones are told apart by a bit of their number
 */
#include "arch.h"

#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

/* What restart codes there are: linux/errno.h, not exported to user space. */
enum { RESTART_NOHAND = 514 };

/* __USER32_CS of asm/segment.h: errors are negative in 32 bits then. */
enum { CODE_32 = 0x23 };

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

	/* orig_rax is negative where the stop does not come from a call. */
	return !ptrace(PTRACE_GETREGS, tid, 0, &r) && (int)r.orig_rax >= 0 &&
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
