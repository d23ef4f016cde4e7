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
#include <unistd.h>

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

/*
 * What is behind the name, which may hold anything: proc(5). NULL: it is gone.
 *
 * Threads are asked for below their process. Who looks for one at the top, just as it
 * takes the id of the first thread in an execve(2), may leave an entry that stays: its
 * name is the old id, and it leads to the process, for whoever is given that id later.
 */
static const char *stat_of(pid_t pid, pid_t tid, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	return slurp(path, buf, size) > 0 ? strrchr(buf, ')') : NULL;
}

char process_state(pid_t pid, pid_t tid)
{
	char buf[1024];
	const char *p = stat_of(pid, tid, buf, sizeof(buf));

	return p && p[1] == ' ' ? p[2] : 0;
}

bool process_lives(pid_t pid, pid_t tid)
{
	char state = process_state(pid, tid);

	return state && state != 'Z' && state != 'X';
}

pid_t process_tracer(pid_t pid, pid_t tid)
{
	char path[64], buf[1024];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	if (slurp(path, buf, sizeof(buf)) <= 0)
		return 0;
	char *tracer = strstr(buf, "\nTracerPid:");
	return tracer ? atoi(tracer + strlen("\nTracerPid:")) : 0;
}

/* Field 9: the kernel's include/linux/sched.h. 0: not known. */
static unsigned long flags_of(pid_t pid, pid_t tid)
{
	char buf[1024];
	unsigned long flags;
	const char *p = stat_of(pid, tid, buf, sizeof(buf));

	return p && sscanf(p, ") %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 ? flags : 0;
}

bool process_is_worker(pid_t pid, pid_t tid)
{
	enum { IO_WORKER = 0x10, USER_WORKER = 0x4000 };

	return flags_of(pid, tid) & (IO_WORKER | USER_WORKER);
}

bool process_is_kernels(pid_t pid)
{
	enum { KTHREAD = 0x200000 };

	return flags_of(pid, pid) & KTHREAD;
}

static bool any_thread(pid_t pid, bool (*is)(pid_t pid, pid_t tid))
{
	char path[64];
	struct dirent *d;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	while (dir && !found && (d = readdir(dir)))
		found = *d->d_name != '.' && is(pid, atoi(d->d_name));
	if (dir)
		closedir(dir);
	return found;
}

/* Fields 3 and 20. The kernel counts threads as long as the first one is not reaped. */
static bool is_gone_or_last(pid_t pid)
{
	char buf[1024], state = 0;
	long threads = 0;
	const char *p = stat_of(pid, pid, buf, sizeof(buf));
	static const char form[] =
		") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
		"%*d %*d %ld";

	return !p ||
	       (sscanf(p, form, &state, &threads) == 2 && state == 'Z' && threads == 1);
}

/*
 * The first thread may have ended long before the others: it is a zombie until then.
 * Where another one becomes a new program it takes the id of the first, and one look may
 * miss it under both ids. Dead threads that their tracer does not reap count as threads.
 */
bool process_runs(pid_t pid)
{
	enum { LOOKS = 4 };

	for (int i = 0; i < LOOKS; i++) {
		if (any_thread(pid, process_lives))
			return true;
		if (is_gone_or_last(pid))
			return false;
	}
	return false;
}

static bool has_descriptor(pid_t pid, const char *link)
{
	char path[320], to[64];
	struct dirent *d;
	bool has = false;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	while (dir && !has && (d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, d->d_name);
		ssize_t n = readlink(path, to, sizeof(to) - 1);
		has = n == (ssize_t)strlen(link) && !memcmp(to, link, (size_t)n);
	}
	if (dir)
		closedir(dir);
	return has;
}

bool process_maps(pid_t pid, const char *name)
{
	char path[64], *line = NULL;
	size_t size = 0;
	bool has = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");
	while (f && !has && getline(&line, &size, f) > 0)
		has = strstr(line, name) != NULL;
	if (f)
		fclose(f);
	free(line);
	return has;
}

unsigned process_async(pid_t pid)
{
	/* A ring that is registered has workers, but may have no descriptor. */
	bool uring = has_descriptor(pid, "anon_inode:[io_uring]") ||
		     any_thread(pid, process_is_worker);

	return (uring ? PROCESS_URING : 0u) |
	       /* aio_setup_ring() of the kernel's fs/aio.c names the mapping. */
	       (process_maps(pid, " /[aio] (deleted)") ? PROCESS_AIO : 0u);
}

int process_check(pid_t pid)
{
	if (process_runs(pid))
		return 0;
	if (process_state(pid, pid))
		diag("cannot attach to %d: it has ended and waits for its parent (a "
		     "zombie)",
			pid);
	else
		diag_err(-ESRCH, "cannot attach to %d", pid);
	return -ESRCH;
}
