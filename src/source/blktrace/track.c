/*
 * track.c - records to operations: names, devices, times, and which is the main one
 */
#include "track.h"
#include "iops/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD_MAX = 1 << 17 };

static const char *const call_name[] = {
#define X(name, call) call,
	TRACK_CALLS(X)
#undef X
};

void track_init(struct track *t, struct names *names)
{
	static const char *const word[3] = { "", ":discard", ":passthrough" };
	char name[40];

	t->names = names;
	for (unsigned i = 0; i < NTRACK_CALLS; i++)
		for (unsigned w = 0; w < 3; w++) {
			int n = snprintf(
				name, sizeof(name), "block:%s%s", call_name[i], word[w]);
			t->call[i][w] = names_call(names, name, n);
		}
	t->q2c = names_call(names, "block:q2c", 9);
	t->d2c = names_call(names, "block:d2c", 9);
}

void track_fini(struct track *t)
{
	for (size_t i = 0; i < t->devs.cap; i++) {
		struct bdev *d = (struct bdev *)t->devs.slot[i].value;
		if (d)
			free(d->dry);
		free(d);
	}
	map_fini(&t->devs);
	map_fini(&t->tasks);
	flight_fini(&t->flight);
	free(t->held);
}

/* Let go what was held, and of the main layer only what counts there. */
static void decide(struct track *t, enum track_main by)
{
	uint16_t call = t->call[by == MAIN_QUEUE ? CALL_QUEUE : CALL_ISSUE][0];

	t->main = by;
	for (size_t i = 0; i < t->nheld; i++) {
		const struct op *op = &t->held[i];
		if (op->layer != LAYER_MAIN ||
			(by != MAIN_COMPLETE && (op->call & OP_CALL) == call))
			track_put(t, op);
	}
	free(t->held);
	t->held = NULL;
	t->nheld = t->capheld = 0;
}

/* The trace has no completions: what of the rest it has. */
static void decide_without(struct track *t)
{
	enum track_main by = MAIN_QUEUE;

	for (size_t i = 0; i < t->nheld; i++)
		if (t->held[i].layer == LAYER_MAIN &&
			(t->held[i].call & OP_CALL) == t->call[CALL_ISSUE][0])
			by = MAIN_ISSUE;
	decide(t, by);
}

int track_hold(struct track *t, const struct op *op)
{
	if (t->nheld == t->capheld) {
		size_t cap = t->capheld ? 2 * t->capheld : 256;
		struct op *more = realloc(t->held, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->held = more;
		t->capheld = cap;
	}
	t->held[t->nheld++] = *op;
	if (t->nheld >= HELD_MAX)
		decide_without(t);
	return t->err;
}

void track_main(struct track *t, const struct op *op, enum track_main by)
{
	struct op main = *op;

	if (op->kind != OP_READ && op->kind != OP_WRITE)
		return;
	if (by == MAIN_COMPLETE && t->main == MAIN_UNKNOWN)
		decide(t, MAIN_COMPLETE);
	if (t->main != MAIN_UNKNOWN && t->main != by)
		return;
	main.layer = LAYER_MAIN;
	main.fd = -1;
	if (by != MAIN_COMPLETE)
		main.dur_ns = OP_NO_TIME;
	track_put(t, &main);
}

/* Numbers that Linux gives for ever; the others are as the machine chose. */
static int name_device(char *out, size_t size, uint32_t dev, const char *stem)
{
	unsigned major = dev >> 20, minor = dev & 0xfffff;
	static const struct {
		uint8_t major;
		const char *name;
	} plain[] = { { 1, "ram" }, { 2, "fd" }, { 7, "loop" }, { 9, "md" }, { 11, "sr" },
		{ 43, "nbd" } };

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (plain[i].major == major)
			return snprintf(out, size, "/dev/%s%u", plain[i].name, minor);
	if (major == 8 || (major >= 65 && major <= 71)) {
		unsigned disk = (major == 8 ? 0 : (major - 64) * 16) + (minor >> 4 & 0xf);
		char letters[3] = { 0 };
		int n = 0;
		if (disk >= 26)
			letters[n++] = (char)('a' + disk / 26 - 1);
		letters[n] = (char)('a' + disk % 26);
		return minor & 15
			       ? snprintf(out, size, "/dev/sd%s%u", letters, minor & 15)
			       : snprintf(out, size, "/dev/sd%s", letters);
	}
	static const char *const like[] = { "dm-", "nvme", "vd", "xvd", "zram", "mmcblk",
		"nullb", "pmem", "bcache", "rbd" };
	for (size_t i = 0; stem && i < sizeof(like) / sizeof(*like); i++)
		if (!strncmp(stem, like[i], strlen(like[i])))
			return snprintf(out, size, "/dev/%.60s", stem);
	return snprintf(out, size, "/dev/block/%u:%u", major, minor);
}

struct bdev *track_new_device(struct track *t, uint32_t dev)
{
	t->dev = (struct bdev *)map_get(&t->devs, dev, 1);
	if (t->dev || t->err)
		return t->dev;
	/* More than a machine has: the numbers are not to be believed. */
	if (t->devs.n >= DEVS_MAX) {
		t->many = true;
		return t->dev = t->last;
	}
	struct bdev *d = calloc(1, sizeof(*d));
	char path[80];
	/* The name is of one device: the first. */
	int n = t->node ? t->node(path, sizeof(path), dev) : 0;
	if (!n)
		n = name_device(path, sizeof(path), dev, t->devs.n ? NULL : t->stem);
	struct file f = { .path = names_add(t->names, path, n),
		.major = dev >> 20,
		.minor = dev & 0xfffff,
		.type = FILE_BLOCK };
	if (!d || map_put(&t->devs, dev, 1, (uintptr_t)d) < 0) {
		free(d);
		t->err = -ENOMEM;
		return NULL;
	}
	d->dev = dev;
	d->flush = NEVER;
	d->file = names_add_file(t->names, &f);
	struct op op = { .kind = OP_DEVICE,
		.layer = LAYER_BLOCK,
		.fd = (int32_t)(dev & INT32_MAX),
		.file = d->file,
		.offset = OP_NO_OFFSET,
		.dur_ns = OP_NO_TIME };
	track_put(t, &op);
	return t->dev = t->last = d;
}

struct who track_new_who(struct track *t, uint32_t pid)
{
	unsigned i = pid % TRACK_RECENT;
	uintptr_t task = map_get(&t->tasks, pid, 1);

	if (!task && t->tasks.n >= TASKS_MAX) {
		t->crowd = true;
		return (struct who){ 0, 0 };
	}
	if (!task && map_put(&t->tasks, pid, 1, task = 1) < 0)
		t->err = -ENOMEM;
	t->recent[i].pid = pid;
	t->recent[i].known = true;
	return t->recent[i].who =
		       (struct who){ (int32_t)(pid & INT32_MAX), (uint32_t)(task - 1) };
}

void track_span(
	struct track *t, const struct op *like, uint16_t call, uint64_t from, uint64_t at)
{
	struct op op = *like;

	if (from == NEVER)
		return;
	op.kind = OP_SPAN;
	op.call = call;
	track_since(t, &op, from, at);
	track_put(t, &op);
}

int track_end(struct track *t)
{
	if (t->main == MAIN_UNKNOWN)
		decide_without(t);
	return t->err;
}
