/*
 * cache.c - the page cache and page faults, summed up
 */
#include "iops/layer_cache.h"
#include "iops/names.h"
#include "iops/op.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What a call adds to: two counts at most. */
static const struct {
	const char *name;
	int8_t count, also;
} calls[] = {
	{ "cache:hit", CACHE_HITS, -1 },
	{ "cache:miss", CACHE_MISSES, -1 },
	{ "cache:mapped_hit", CACHE_HITS, CACHE_MAPPED_HITS },
	{ "cache:mapped_miss", CACHE_MISSES, CACHE_MAPPED_MISSES },
	{ "cache:readahead", CACHE_READAHEAD, -1 },
	{ "cache:add", CACHE_ADDED, -1 },
	{ "cache:dirty", CACHE_DIRTIED, -1 },
	{ "cache:writeback", CACHE_WRITTEN, -1 },
	{ "cache:evict", CACHE_EVICTED, -1 },
	{ "cache:reclaim", CACHE_EVICTED, CACHE_RECLAIMED },
	{ "cache:invalidate", CACHE_EVICTED, CACHE_INVALIDATED },
	{ "cache:drop", CACHE_EVICTED, CACHE_DROPPED },
	{ "cache:left", -1, -1 },
	{ "fault:major", FAULTS_MAJOR, -1 },
	{ "fault:minor", FAULTS_MINOR, -1 },
};

enum { NCALLS = sizeof(calls) / sizeof(*calls), CODE_OTHER = NCALLS + 1 };

static const char *const cache_text[] = {
#define X(name, text) text,
	CACHE_COUNTS(X)
#undef X
};

static const char *const fault_text[] = {
#define X(name, text) text,
	FAULT_COUNTS(X)
#undef X
};

const char *cache_count_name(unsigned count)
{
	return count < NCACHE_COUNTS ? cache_text[count] : "?";
}

const char *fault_count_name(unsigned count)
{
	return count < NFAULT_COUNTS ? fault_text[count] : "?";
}

static void *pages_open(struct names *names)
{
	struct pages_sums *s = calloc(1, sizeof(*s));

	if (s && !(s->code = calloc(OP_CALL + 1, sizeof(*s->code)))) {
		free(s);
		return NULL;
	}
	if (s)
		s->names = names;
	return s;
}

static void pages_close(void *sums)
{
	struct pages_sums *s = sums;

	map_fini(&s->file.places);
	map_fini(&s->process.places);
	hist_fini(&s->time[0]);
	hist_fini(&s->time[1]);
	free(s->file.row);
	free(s->process.row);
	free(s->code);
	free(s);
}

static struct pages_row *row_of(struct pages_table *t, uint32_t key)
{
	size_t at = map_get(&t->places, key, 0), n = t->n;

	if (at)
		return &t->row[at - 1];
	if (!(n & (n - 1))) { /* 0 and every power of two: room for as many again */
		struct pages_row *more = realloc(t->row, (n ? 2 * n : 1) * sizeof(*more));
		if (!more)
			return NULL;
		t->row = more;
	}
	if (map_put(&t->places, key, 0, n + 1) < 0)
		return NULL;
	t->row[n] = (struct pages_row){ .key = key };
	t->n++;
	return &t->row[n];
}

/* Its place in calls[], plus 1. */
static unsigned code(struct pages_sums *s, const struct op *op)
{
	uint16_t *c = &s->code[op->call & OP_CALL];
	const char *name;

	if (*c)
		return *c;
	name = names_call_name(s->names, op->call & OP_CALL);
	*c = CODE_OTHER;
	for (unsigned i = 0; i < NCALLS; i++)
		if (!strcmp(calls[i].name, name))
			*c = i + 1;
	return *c;
}

struct amount {
	int count;
	uint64_t pages, bytes;
};

static int add(struct pages_sums *s, const struct op *op, struct amount a)
{
	struct pages_row *file = row_of(&s->file, op->file);
	struct pages_row *process = row_of(&s->process, (uint32_t)op->pid);

	if (!file || !process)
		return -ENOMEM;
	if (op->comm)
		process->comm = op->comm;
	s->n[a.count] += a.pages;
	s->bytes[a.count] += a.bytes;
	file->n[a.count] += a.pages;
	process->n[a.count] += a.pages;
	return 0;
}

static int put_left(struct pages_sums *s, const struct op *op)
{
	struct pages_row *r = row_of(&s->file, op->file);

	if (!r)
		return -ENOMEM;
	r->left = op->want;
	s->left = true;
	return 0;
}

static int cache_put(void *sums, const struct op *op)
{
	struct pages_sums *s = sums;
	unsigned c = code(s, op);
	int err;

	if (op_kind_class(op->kind) == CLASS_NOTICE || c == CODE_OTHER || op->ret < 0)
		return 0;
	if (calls[c - 1].count < 0)
		return put_left(s, op);
	struct amount a = { calls[c - 1].count, op->call & OP_SUM ? op->want : 1,
		(uint64_t)op->ret };
	err = add(s, op, a);
	a.count = calls[c - 1].also;
	if (!err && a.count >= 0)
		err = add(s, op, a);
	if (!err && calls[c - 1].count == CACHE_WRITTEN && op->dur_ns != OP_NO_TIME)
		err = hist_add(&s->time[0], op->dur_ns);
	return err;
}

static int fault_put(void *sums, const struct op *op)
{
	struct pages_sums *s = sums;
	unsigned c = code(s, op);
	int err;

	if (op_kind_class(op->kind) == CLASS_NOTICE || c == CODE_OTHER || op->ret < 0 ||
		calls[c - 1].count < 0)
		return 0;
	struct amount a = { calls[c - 1].count, 1, (uint64_t)op->ret };
	bool major = a.count == FAULTS_MAJOR;
	err = add(s, op, a);
	a.count = op->kind == OP_WRITE ? FAULTS_WRITE : FAULTS_READ;
	if (!err)
		err = add(s, op, a);
	if (!err && op->dur_ns != OP_NO_TIME)
		err = hist_add(&s->time[major], op->dur_ns);
	return err;
}

const struct layer_sums layer_cache_sums = { pages_open, cache_put, pages_close };
const struct layer_sums layer_fault_sums = { pages_open, fault_put, pages_close };
