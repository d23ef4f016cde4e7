/*
 * process.c - what /proc tells of a process that is not ours
 */
#include "iops/process.h"

#include "iops/diag.h"
#include "iops/slurp.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pid_t process_tgid(pid_t tid, pid_t *parent)
{
	char path[64], buf[1024];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (slurp(path, buf, sizeof(buf)) <= 0)
		return 0;
	char *tgid = strstr(buf, "\nTgid:"), *ppid = strstr(buf, "\nPPid:");
	if (parent)
		*parent = ppid ? atoi(ppid + 6) : 0;
	return tgid ? atoi(tgid + 6) : 0;
}

/* Behind the name, which may hold anything. proc(5) */
static char state_in(const char *path)
{
	char buf[1024];
	char *p = slurp(path, buf, sizeof(buf)) > 0 ? strrchr(buf, ')') : NULL;

	return p && p[1] == ' ' ? p[2] : 0;
}

char process_state(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	return state_in(path);
}

/* Flags, field 9: the kernel's include/linux/sched.h. */
bool process_is_worker(pid_t tid)
{
	enum { IO_WORKER = 0x10, USER_WORKER = 0x4000 };
	char path[64], buf[1024];
	unsigned long flags;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	char *p = slurp(path, buf, sizeof(buf)) > 0 ? strrchr(buf, ')') : NULL;
	return p && sscanf(p, ") %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 &&
	       flags & (IO_WORKER | USER_WORKER);
}

/* The first thread may have ended long before the others: it is a zombie until then. */
bool process_runs(pid_t pid)
{
	char path[320];
	struct dirent *d;
	bool runs = false;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	while (dir && !runs && (d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid, d->d_name);
		char state = *d->d_name == '.' ? 0 : state_in(path);
		runs = state && state != 'Z' && state != 'X';
	}
	if (dir)
		closedir(dir);
	return runs;
}

int process_check(pid_t pid)
{
	if (process_runs(pid))
		return 0;
	if (process_state(pid))
		diag("cannot attach to %d: it has ended and waits for its parent (a "
		     "zombie)",
			pid);
	else
		diag_err(-ESRCH, "cannot attach to %d", pid);
	return -ESRCH;
}
