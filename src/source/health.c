/*
 * health.c - which ways of collecting work here: tried out, not guessed
 */
#include "iops/launch.h"
#include "iops/source.h"
#include "iops/syscalls.h"
#include "ptrace/fast/fast.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	int n = -1;

	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

/* Seize a child of our own. 0 or -errno. */
static int try_seize(void)
{
	pid_t child = fork();
	int err = 0;

	if (child == 0) {
		pause();
		_exit(0);
	}
	if (child < 0 || ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_EXITKILL) < 0)
		err = -errno;
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return err;
}

static int try_filter(void)
{
	struct syscall_set want = { { 1 } };
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(-filter_install(&want, true));
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EPERM;
}

static void set(struct source_health *h, const char *name, const char *status,
	const char *reason, const char *enable)
{
	h->name = name;
	h->status = status;
	snprintf(h->reason, sizeof(h->reason), "%s", reason);
	snprintf(h->enable, sizeof(h->enable), "%s", enable);
}

static void refused(struct source_health *h, const char *name, int err)
{
	char why[200];

	snprintf(why, sizeof(why),
		"ptrace(2): %s; a container's seccomp profile or a security module "
		"forbids it",
		strerror(-err));
	set(h, name, "no", why,
		"run the container with --cap-add=SYS_PTRACE --security-opt "
		"seccomp=unconfined");
}

/* Operations of iops run that do not stop the program. */
static void fast_health(struct source_health *h, bool filter)
{
	char why[100];

	if (!filter)
		set(h, "fast path", "no", "it needs seccomp filters, as ptrace run says",
			"");
	else if (fast_ask(why, sizeof(why)) < 0 || fast_try(why, sizeof(why)) < 0)
		set(h, "fast path", "no", why, "");
	else if (!fast_reads_code())
		set(h, "fast path", "no", "what reads code is missing: libZydis", "");
	else
		set(h, "fast path", "works",
			"hot calls of 64-bit programs are seen without stopping them",
			"");
}

unsigned ptrace_health(struct source_health *row)
{
	int err = try_seize(), filter = try_filter();
	int scope = read_number("/proc/sys/kernel/yama/ptrace_scope");

	if (err < 0)
		refused(&row[0], "ptrace run", err);
	else if (filter < 0)
		set(&row[0], "ptrace run", "limited",
			"seccomp filters are not allowed: every call stops, not only I/O",
			"run the container with --security-opt seccomp=unconfined");
	else if (geteuid())
		set(&row[0], "ptrace run", "works",
			"set-id programs below the command run without their rights",
			"sudo iops run ...");
	else
		set(&row[0], "ptrace run", "works", "every call, with a seccomp filter",
			"");

	if (err < 0)
		refused(&row[1], "ptrace attach", err);
	else if (scope == 3)
		set(&row[1], "ptrace attach", "no",
			"kernel.yama.ptrace_scope is 3, which lasts until the next boot",
			"set kernel.yama.ptrace_scope=0 in /etc/sysctl.d and reboot");
	else if (scope > 0 && geteuid())
		set(&row[1], "ptrace attach", "no",
			"kernel.yama.ptrace_scope allows it to root only",
			"sudo sysctl kernel.yama.ptrace_scope=0");
	else if (geteuid())
		set(&row[1], "ptrace attach", "works", "processes of your own",
			"sudo iops attach ...");
	else
		set(&row[1], "ptrace attach", "works", "any process", "");
	fast_health(&row[2], !err && !filter);
	return 3;
}

unsigned proc_health(struct source_health *row)
{
	if (!access("/proc/self/io", R_OK))
		set(&row[0], "proc", "limited",
			"counters only: no files, no sizes, no latency", "");
	else
		set(&row[0], "proc", "no",
			"/proc/PID/io is missing: the kernel lacks "
			"CONFIG_TASK_IO_ACCOUNTING",
			"boot a kernel with CONFIG_TASK_IO_ACCOUNTING=y");
	if (!access("/proc/diskstats", R_OK))
		set(&row[1], "system", "limited",
			"the whole machine's disks, not a process's", "");
	else
		set(&row[1], "system", "no", "/proc/diskstats cannot be read",
			"mount -t proc proc /proc");
	return 2;
}
