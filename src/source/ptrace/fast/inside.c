/*
 * inside.c - who is in a call that stops, by the position of an open file
 *
 * As long as there is one, whoever goes by it without a stop does not know where he is.
 */
#include "../tracer.h"

struct inside {
	const struct task *than;
	const struct fd_open *o;
	pid_t tid;
};

static void is_inside(struct tracer *t, struct task *k, void *arg)
{
	struct inside *i = arg;
	const struct call *c = &k->call;

	(void)t;
	if (k == i->than || c->row < 0 || !k->files)
		return;
	for (int n = 0; n <= c->two && !c->quiet; n++)
		if (fdtrack_get(k->files, c->op[n].fd) == i->o)
			i->tid = k->tid;
	if (c->sought == i->o)
		i->tid = k->tid;
}

pid_t inside_too(struct tracer *t, const struct task *k, const struct fd_open *o)
{
	struct inside i = { k, o, 0 };

	if (t->ntasks > 1)
		tasks_each(t, is_inside, &i);
	return i.tid;
}
