/*
 * cut.c - calls that stop and may set the size of a file that somebody appends to
 */
#include "../tracer.h"

#include <fcntl.h>
#include <string.h>

/*
 * At the stop before a call that may set the size of a file. Whether that matters to
 * anybody: its exit is to be seen then.
 */
bool cut_begin(struct tracer *t, struct task *k, const struct fast_call *c)
{
	int flags = !strcmp(c->name, "open") ? 1 : !strcmp(c->name, "openat") ? 2 : -1;

	if (!t->fast->ends.n || !c->cuts ||
		(flags >= 0 && !(k->call.arg[flags] & O_TRUNC)))
		return false;
	if (!k->call.cuts)
		t->fast->cutting++;
	return k->call.cuts = true;
}

/*
 * Behind such a call. Others may have appended since, which cannot be told from what they
 * appended before: what is read from here on has no place, until all is known again.
 */
void cut_end(struct tracer *t, struct task *k, const struct fast_call *c, int64_t ret)
{
	int fd = c->role == ROLE_OPEN ? (int)ret : (int)k->call.arg[0];
	struct fd_view v;

	if (!life_uncut(t, k) || ret < 0)
		return;
	if (c->role == ROLE_PATH_SIZE) {
		ends_forget_all(t->fast);
		drain_task(t, k);
		return;
	}
	fdtab_ask(t->fdtab, &k->fd, fd, &v);
	struct file_end *e = v.file ? ends_find(t, v.file) : NULL;
	if (!e)
		return;
	ends_forget(e);
	drain_task(t, k);
	ends_settle(t, k, fd, e);
}
