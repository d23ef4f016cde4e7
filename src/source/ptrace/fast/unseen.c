/*
 * unseen.c - calls of a task whose history is not kept
 *
 * Until it is under the second filter a task opens and closes without our seeing it. Each
 * of its calls that stops asks what its descriptor stands for. That matters to others
 * only where one of them, of whom a history is kept, has the same open file: kcmp(2)
 * tells. It is found out for one call at a time, and forgotten behind it.
 */
#include "../tracer.h"

#include <fcntl.h>

/* Whether the exit of such a call has to be seen. */
bool unseen_enter(const struct task *k, const struct fast_call *c)
{
	switch (c->role) {
	case ROLE_LOCK:
	case ROLE_OWN:
		return true;
	case ROLE_SEEK:
	case ROLE_PATH:
	case ROLE_LINK:
	case ROLE_ROOT:
		return true;
	case ROLE_FCNTL:
		return (int)k->call.arg[1] == F_SETFL;
	}
	return false;
}

/* v: what the descriptor stands for, as was just asked. */
void unseen_meet(struct tracer *t, struct task *k, int fd, const struct fd_view *v)
{
	if (v->file)
		history_meet(t, k, fd, v);
}

void unseen_part(struct tracer *t, struct task *k, int fd)
{
	fdtrack_close(t->fast->track, k->files, fd);
}

/* A call that stops but is not counted may move what others have too: they do not know
 * by how much. Whether its exit has to be seen. */
bool fast_uncounted(struct tracer *t, struct task *k)
{
	const struct fast_call *c = t->fast ? t->fast->call[k->call.row] : NULL;
	const struct syscall_desc *d = &syscalls[k->call.row];
	const int arg[2] = { d->fd, d->form == FORM_TWO ? d->fd2 : ARG_NONE };
	struct fd_view v;
	bool writes = false;

	for (int i = 0; c && c->role == ROLE_DATA && k->files && i < 2; i++) {
		if (arg[i] < 0)
			continue;
		int fd = (int)k->call.arg[arg[i]];
		if (!task_is_seen(t, k)) {
			fdtab_ask(t->fdtab, &k->fd, fd, &v);
			unseen_meet(t, k, fd, &v);
		}
		struct fd_open *o = fdtrack_get(k->files, fd);
		if (o && o->seeks) {
			o->offset = OP_NO_OFFSET;
			o->loose |= o->refs > 1;
			writes |= d->kind == OP_WRITE || i;
		}
		if (!task_is_seen(t, k))
			unseen_part(t, k, fd);
	}
	return writes && cut_unseen(t, k);
}
