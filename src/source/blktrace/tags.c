/*
 * tags.c - tags of processes and groups, as the host of a tag helper wants them
 */
#include "iops/tags.h"
#include "iops/groups.h"
#include "iops/map.h"
#include "iops/wire.h"
#include "record.h"

#include <byteswap.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum answer { ANSWER_END, ANSWER_NEW_TAG, ANSWER_TAG_IO };

/* A stream may go on for months and name any number of processes. */
enum { YOUNG_MAX = 1 << 18, COMM = 16 /* the name of a task with its NUL */ };

struct task {
	uint32_t tag;
	bool tagged;
	char comm[COMM];
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

static void put_new(struct tags *t, struct wire_out *o, const char *label, size_t len)
{
	put32(t, o, ANSWER_NEW_TAG);
	put32(t, o, t->next++);
	put32(t, o, (uint32_t)len + 1);
	wire_bytes(o, label, len);
	wire_bytes(o, "", 1);
}

/* Whoever caused the event, also where that is a worker of the kernel. */
static int tag_io(struct tags *t, uint32_t pid, struct wire_out *o)
{
	int group = groups_of(t->groups, (pid_t)pid, (pid_t)pid);
	struct task *task = group < 0 ? task_of(t, pid) : &t->group[group];

	if (!task)
		return -ENOMEM;
	if (!task->tagged) {
		char label[COMM + 16];
		int len = snprintf(label, sizeof(label), "%s (%u)", task->comm, pid);
		task->tag = t->next;
		task->tagged = true;
		if (group < 0)
			put_new(t, o, label, len);
		else
			put_new(t, o, t->groups->name[group], t->groups->len[group]);
	}
	put32(t, o, ANSWER_TAG_IO);
	put32(t, o, task->tag);
	return 0;
}

/* A process is named anew by each trace that begins, and has a new tag from then on. */
static int name_task(struct tags *t, uint32_t pid, const uint8_t *name, size_t len)
{
	if (groups_of(t->groups, (pid_t)pid, (pid_t)pid) >= 0)
		return 0;
	struct task *task = task_of(t, pid);
	if (!task)
		return -ENOMEM;
	task->tagged = false;
	len = strnlen((const char *)name, len < COMM ? len : COMM - 1);
	memcpy(task->comm, name, len);
	task->comm[len] = 0;
	return 0;
}

static int answer(struct tags *t, const struct blk_rec *r, const uint8_t *payload,
	size_t len, struct wire_out *o)
{
	size_t skip = r->action & ACT_CGROUP && len >= 8 ? 8 : 0;
	int err = 0;

	/* Notes first: their numbers are those of other actions. */
	if (record_is_note(r))
		err = record_act(r) == NOTE_PROCESS
			      ? name_task(t, r->pid, payload + skip, len - skip)
			      : 0;
	else if (record_act(r) == ACT_QUEUE || record_act(r) == ACT_ISSUE)
		err = tag_io(t, r->pid, o);
	if (err < 0)
		return err;
	put32(t, o, ANSWER_END);
	return o->failed ? -ENOMEM : 0;
}

/* The size of the record that was answered; 0: there is no whole one; or an error. */
static ssize_t answer_first(
	struct tags *t, const uint8_t *at, size_t len, struct wire_out *o)
{
	struct blk_rec r;
	bool swapped;

	if (len < 4)
		return 0;
	if (record_version(at, &swapped) < 0 || (t->begun && swapped != t->swapped))
		return -EBADMSG;
	size_t header = record_header(at, &swapped);
	if (!header)
		return -EPROTONOSUPPORT;
	if (len < header)
		return 0;
	size_t payload = record_decode(&r, at, swapped);
	if (len < header + payload)
		return 0;
	t->begun = true;
	t->swapped = swapped;
	int err = answer(t, &r, at + header, payload, o);
	return err < 0 ? err : (ssize_t)(header + payload);
}

int tags_answer(struct tags *t, const void *bytes, size_t len, size_t *used,
	struct wire_out *answers)
{
	const uint8_t *at = bytes;
	ssize_t size;

	*used = 0;
	while ((size = answer_first(t, at + *used, len - *used, answers)) > 0)
		*used += size;
	return (int)size;
}
