/*
 * probe.c - whether the fast path can work here
 *
 * What the machine has is asked; whether it works is tried, in a child of our own that
 * sets up a slot and goes through the hook.
 */
#include "../tracer.h"
#include "iops/cpu.h"
#include "iops/slurp.h"

#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HWCAP2_GS = 1 << 1 }; /* HWCAP2_FSGSBASE: asm/hwcap2.h */

/* A time stamp counter that runs always and everywhere at one rate: proc(5), cpuinfo. */
static bool has_counter(void)
{
	static const char *const clocks[] = { "tsc", "kvm-clock",
		"hyperv_clocksource_tsc_page" };
	static const char current[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char line[64];

	if (slurp(current, line, sizeof(line)) < 0)
		return false;
	line[strcspn(line, "\n")] = 0;
	for (unsigned i = 0; i < sizeof(clocks) / sizeof(*clocks); i++)
		if (!strcmp(line, clocks[i]))
			return true;
	return false;
}

/* The call in a child: through the hook, as a stub does it. */
static long through_hook(long nr, long a, long b, long c)
{
	long ret;
	register long hook __asm__("r9") = HOOK_AT + (hook_enter - hook_code);

	__asm__ volatile("leaq 1f(%%rip), %%rcx\n\t"
			 "jmp *%%r9\n\t"
			 "syscall\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(hook)
			 : "rcx", "r11", "r10", "r8", "memory");
	return ret;
}

static void *from_address(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static void *at(uint64_t address, size_t size, int prot)
{
	void *p = mmap(from_address(address), size, prot,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return p == from_address(address) ? p : NULL;
}

/* What is known by the time that the child ends, or is killed: it is in our memory. */
struct tried {
	bool gs, hook, stat;
};

static int in_child(int out, volatile struct tried *tried)
{
	uint8_t *hook = at(HOOK_AT, HOOK_SIZE, PROT_READ | PROT_WRITE);
	uint8_t *slot = at(SLOTS_AT, SLOT_SIZE, PROT_READ | PROT_WRITE);
	struct fast_ctl *c = (struct fast_ctl *)slot;
	uint64_t gs = 0;

	if (!hook || !slot)
		return 1;
	memcpy(hook, hook_code, hook_end - hook_code);
	hook[SHAPES_AT - HOOK_AT + SYS_write] = SHAPE_PLAIN;
	if (mprotect(hook, HOOK_SIZE, PROT_READ | PROT_EXEC) < 0)
		return 1;
	*c = (struct fast_ctl){ .ring = SLOTS_AT + RING_FROM,
		.limit = RING_SIZE - RING_SLACK,
		.mask = RING_SIZE - 1 };
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, SLOTS_AT) < 0)
		return 1;
	__asm__("rdgsbase %0" : "=r"(gs));
	tried->gs = true;
	/* Here a filter that we have inherited may kill for what setup.c calls. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
	syscall(SYS_memfd_create, "iops", MFD_CLOEXEC);
	const struct fast_rec *r = (struct fast_rec *)(slot + RING_FROM);
	long ret = through_hook(SYS_write, out, (long)"hook", 4);
	bool right = gs == SLOTS_AT && ret == 4 && c->head == R_SIZE &&
		     r->state == REC_ENDED && r->result == 4 && r->nr == SYS_write &&
		     r->t1 > r->t0 && r->arg[0] == (uint64_t)out && r->arg[2] == 4;
	tried->hook = right;
	/* The same of what the hook asks before an exec: without it that stops. */
	struct stat root;
	tried->stat = right && !syscall(SYS_stat, "/", &root) && S_ISDIR(root.st_mode) &&
		      syscall(SYS_stat, "/dev/null/x", &root) < 0 && errno == ENOTDIR;
	return 0;
}

/* 0: all of it works; 1: but for SHAPE_EXEC; or -errno. */
static int try_hook(volatile struct tried *tried)
{
	struct cpu_pin here;
	char got[4];
	int p[2], status;

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	/* The memory is shared: to copy its tables takes longer than all the rest. What
	 * it maps stays, as nobody else wants that place. */
	cpu_pin(&here);
	pid_t child = vfork();
	if (child == 0)
		_exit(in_child(p[1], tried));
	cpu_unpin(&here);
	close(p[1]);
	/* The session's clock ticks meanwhile. */
	ssize_t n = TEMP_FAILURE_RETRY(read(p[0], got, 4));
	bool same = n == 4 && !memcmp(got, "hook", 4);
	close(p[0]);
	if (child < 0 || TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) < 0)
		return -errno;
	return same && tried->hook ? !tried->stat : -EPROTO;
}

static int say(char *why, size_t size, const char *wrong)
{
	snprintf(why, size, "%s", wrong ? wrong : "");
	return wrong ? -ENOSYS : 0;
}

int fast_ask(char *why, size_t size)
{
	const char *wrong = NULL;

	if (!has_counter())
		wrong = "the kernel does not trust the time stamp counter";
	else if (syscall(SYS_kcmp, getpid(), getpid(), 1 /* KCMP_VM */, 0, 0) != 0)
		wrong = "kcmp(2) is missing";
	return say(why, size, wrong);
}

/*
 * Whether a program may read its gs base is found by reading it: a hypervisor may hide
 * FSGSBASE from the kernel, which then does not offer it (AT_HWCAP2), and yet it works.
 */
int fast_try(char *why, size_t size)
{
	volatile struct tried tried = { false, false, false };
	int got = try_hook(&tried);

	if (got >= 0)
		return got;
	return say(why, size,
		got != -EPROTO || tried.gs || getauxval(AT_HWCAP2) & HWCAP2_GS
			? "the self-test has failed"
			: "the processor or kernel lacks FSGSBASE");
}

/*
 * Why a process that runs already is left as it is. The first reason is told. What
 * seems to be the program's own may be what another iops had to leave there: memory of
 * rings, by the name that setup.c gives it.
 */
void fast_left(struct tracer *t, const struct task *k, const char *why)
{
	if (t->launch || *t->no_patch)
		return;
	if (!(k->space && k->space->hooked) &&
		process_maps(k->process->pid, "/memfd:iops"))
		why = "keeps what another iops has left in it";
	snprintf(t->no_patch, sizeof(t->no_patch), "process %d %s", k->process->pid, why);
}
