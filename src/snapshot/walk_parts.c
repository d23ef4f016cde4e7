/*
 * walk_parts.c - the path of a walk, what it puts out, what it has lost
 */
#include "walk_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void walk_count(struct walk_reason *r, size_t n, uint32_t what)
{
	/* The last one takes what the others have no room for. */
	while (n > 1 && r->n && r->what != what) {
		r++;
		n--;
	}
	r->what = r->n && r->what != what ? 0 : what;
	r->n++;
}

int path_push(struct path *p, const char *name, size_t len)
{
	if (p->cap < p->len + len + 2) {
		size_t cap = 2 * (p->len + len + 2);
		char *more = realloc(p->text, cap);
		if (!more)
			return -ENOMEM;
		p->text = more;
		p->cap = cap;
	}
	if (p->len && p->text[p->len - 1] != '/')
		p->text[p->len++] = '/';
	memcpy(p->text + p->len, name, len + 1);
	p->len += len;
	return 0;
}

void path_cut(struct path *p, size_t len)
{
	p->len = len;
	p->text[len] = 0;
}

int walk_put(struct walk *w, const struct walk_file *file, const char *name, size_t len)
{
	size_t before = w->path.len;
	int err = path_push(&w->path, name, len);

	if (err < 0)
		return err;
	err = w->out->put(w->out->ctx, file, w->path.text, w->path.len);
	path_cut(&w->path, before);
	w->counts->rows++;
	w->counts->gone += file->gone;
	return err;
}

/* A place to begin at: a root or a mount. */
int walk_defer(struct walk *w, const char *path, uint32_t node)
{
	if (w->nstart == w->cap_start) {
		size_t cap = 2 * w->cap_start + 8;
		struct start *more = realloc(w->start, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		w->start = more;
		w->cap_start = cap;
	}

	char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	w->start[w->nstart++] = (struct start){ copy, node };
	return 0;
}

int walk_put_gone(struct walk *w, const char *name, size_t len)
{
	static const struct walk_file gone = { .gone = true };

	return walk_put(w, &gone, name, len);
}

/* A directory on the way down through what is gone. */
struct frame {
	uint32_t node;
	size_t at, path_len;
};

static int push_frame(struct frame **stack, size_t n, const struct frame *f)
{
	/* Doubled at each power of two. */
	if (!(n & (n - 1))) {
		struct frame *more = realloc(*stack, (2 * n + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		*stack = more;
	}
	(*stack)[n] = *f;
	return 0;
}

int walk_forget(struct walk *w, uint32_t node)
{
	struct frame *stack = NULL, first = { node, 0, w->path.len };
	struct tree_entry e;
	size_t n = 0;
	int err = push_frame(&stack, n++, &first);

	while (!err && n) {
		struct frame *f = &stack[n - 1];
		path_cut(&w->path, f->path_len);
		if (!tree_next(&w->tree, f->node, &f->at, &e)) {
			if (--n)
				tree_del(&w->tree, f->node);
		} else if (e.kind == TREE_FILE) {
			err = walk_put_gone(w, e.name, e.len);
		} else {
			err = path_push(&w->path, e.name, e.len);
			struct frame next = { e.value, 0, w->path.len };
			if (!err)
				err = push_frame(&stack, n++, &next);
		}
	}
	free(stack);
	if (!err)
		path_cut(&w->path, first.path_len);
	return err;
}
