/*
 * tags.c - tags of processes and groups, as the host of a tag helper wants them
 */
#include "iops/tags.h"
#include "iops/blktrace.h"
#include "iops/groups.h"
#include "iops/map.h"
#include "iops/wire.h"

#include <byteswap.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum answer { ANSWER_END, ANSWER_NEW_TAG, ANSWER_TAG_IO };

/* A stream may go on for months and name any number of processes. */
enum { YOUNG_MAX = 1 << 18 };

struct task {
	uint32_t tag;
	bool tagged;
	char comm[BLK_COMM];
};

struct tags {
	const struct groups *groups;
	struct task *group; /* as many as there are groups; comm is not used */
	/* pid -> task. When young is full, those that only old holds are forgotten. */
	struct map young, old;
	uint32_t next;
	bool begun, swapped;
};

struct tags *tags_new(const struct groups *groups)
{
	struct tags *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->groups = groups;
	t->group = calloc(groups->n + 1, sizeof(*t->group));
	if (!t->group) {
		free(t);
		return NULL;
	}
	return t;
}

static void forget(struct map *m)
{
	for (size_t i = 0; i < m->cap; i++)
		free((struct task *)m->slot[i].value);
	map_fini(m);
}

void tags_free(struct tags *t)
{
	if (!t)
		return;
	forget(&t->young);
	forget(&t->old);
	free(t->group);
	free(t);
}

/* The task of a pid that is in no group; one that is not known has the name "?". */
static struct task *task_of(struct tags *t, uint32_t pid)
{
	struct task *task = (struct task *)map_get(&t->young, pid, 0);

	if (task)
		return task;
	if (t->young.n >= YOUNG_MAX) {
		forget(&t->old);
		t->old = t->young;
		t->young = (struct map){ 0 };
	}
	task = (struct task *)map_del(&t->old, pid, 0);
	if (!task && (task = calloc(1, sizeof(*task))))
		strcpy(task->comm, "?");
	if (task && map_put(&t->young, pid, 0, (uintptr_t)task) < 0) {
		free(task);
		return NULL;
	}
	return task;
}

static void put32(struct tags *t, struct wire_out *o, uint32_t n)
{
	n = t->swapped ? bswap_32(n) : n;
	wire_bytes(o, &n, sizeof(n));
}

static void put_new(struct tags *t, struct wire_out *o, uint32_t tag, const char *label)
{
	size_t len = strlen(label) + 1;

	put32(t, o, ANSWER_NEW_TAG);
	put32(t, o, tag);
	put32(t, o, (uint32_t)len);
	wire_bytes(o, label, len);
}

/* Whoever caused the event, also where that is a worker of the kernel. */
static int tag_io(struct tags *t, uint32_t pid, struct wire_out *o)
{
	int group = groups_of(t->groups, pid);
	struct task *task = group < 0 ? task_of(t, pid) : &t->group[group];

	if (!task)
		return -ENOMEM;
	if (!task->tagged) {
		char label[BLK_COMM + 16];
		snprintf(label, sizeof(label), "%s (%u)", task->comm, pid);
		task->tag = t->next++;
		task->tagged = true;
		put_new(t, o, task->tag, group < 0 ? label : t->groups->name[group]);
	}
	put32(t, o, ANSWER_TAG_IO);
	put32(t, o, task->tag);
	return 0;
}

/* A process is named anew by each trace that begins, and has a new tag from then on. */
static int name_task(struct tags *t, const struct blk_record *r)
{
	if (groups_of(t->groups, r->pid) >= 0)
		return 0;
	struct task *task = task_of(t, r->pid);
	if (!task)
		return -ENOMEM;
	task->tagged = false;
	blk_comm(r, task->comm);
	return 0;
}

static int answer(struct tags *t, const struct blk_record *r, struct wire_out *o)
{
	int err = 0;

	if (!t->begun)
		t->swapped = r->swapped;
	t->begun = true;
	if (r->swapped != t->swapped)
		return -EBADMSG;
	/* Notes first: their numbers are those of other actions. */
	if (r->category & BLK_NOTIFY)
		err = r->action == BLK_NOTE_PROCESS ? name_task(t, r) : 0;
	else if (r->action == BLK_ACT_QUEUE || r->action == BLK_ACT_ISSUE)
		err = tag_io(t, r->pid, o);
	if (err < 0)
		return err;
	put32(t, o, ANSWER_END);
	return o->failed ? -ENOMEM : 0;
}

int tags_answer(struct tags *t, const void *bytes, size_t len, size_t *used,
	struct wire_out *answers)
{
	struct blk_record r;
	ssize_t size;
	int err = 0;

	*used = 0;
	while ((size = blk_decode(&r, (const char *)bytes + *used, len - *used)) > 0) {
		err = answer(t, &r, answers);
		if (err < 0)
			return err;
		*used += size;
	}
	return (int)size;
}
