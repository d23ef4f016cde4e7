/*
 * sharers.c - who runs in the memory of a program that was there before us
 */
#include "../tracer.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether a process that is not traced, or as another one, has the memory of this task.
 */
static bool is_shared(struct tracer *t, struct task *k)
{
	DIR *dir = opendir("/proc");
	bool shared = !dir;
	struct dirent *d;

	while (!shared && (d = readdir(dir))) {
		pid_t pid = atoi(d->d_name);
		const struct task *other = pid > 0 ? task_find(t, pid) : NULL;
		shared = pid > 0 && pid != k->process->pid &&
			 !(other && other->space == k->space) &&
			 !syscall(SYS_kcmp, k->tid, pid, KCMP_VM, 0, 0);
	}
	if (dir)
		closedir(dir);
	return shared;
}

struct begun {
	const struct space *space;
	bool all;
};

static void look_begun(struct tracer *t, struct task *k, void *arg)
{
	struct begun *b = arg;

	(void)t;
	if (k->space == b->space && k->seized)
		b->all = false;
}

/*
 * Whether somebody runs in the memory of a task whom a breakpoint would kill: a child of
 * vfork(2), say, that was there before us. A thread that has not had its first stop may
 * sleep for one, and those that have had it make none that we do not see.
 */
bool space_has_strangers(struct tracer *t, struct task *k)
{
	enum { SHARE = 20 }; /* of the time that goes into asking */
	struct space *sp = k->space;
	struct begun begun = { sp, true };
	uint64_t now = tracer_now(t);

	if (!sp->strangers || now < sp->ask_ns)
		return sp->strangers;
	tasks_each(t, look_begun, &begun);
	sp->strangers = !begun.all || is_shared(t, k);
	sp->ask_ns = tracer_now(t) + SHARE * (tracer_now(t) - now);
	return sp->strangers;
}
