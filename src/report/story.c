/*
 * story.c - what became of a program's I/O: calls, page cache and device, by file
 *
 * Each layer has sums by file. What is of one inode is one row here, whatever paths it
 * was seen under; files without a number are told apart by path.
 */
#include "story.h"
#include "ledger.h"
#include "iops/layer_cache.h"
#include "iops/map.h"
#include "iops/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct join {
	struct story *s;
	const struct report_in *in;
	struct map places; /* (device, inode) or path -> place, plus 1 */
};

static int add_row(struct story *s)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;
		struct story_row *more = realloc(s->row, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->row = more;
		s->cap = cap;
	}
	s->row[s->n++] = (struct story_row){ 0 };
	return 0;
}

/* The row of a file, borrowed until the next one. NULL: no memory. */
static struct story_row *row_of(struct join *j, uint32_t id)
{
	const struct file *f = names_file(j->in->names, id);
	uint64_t a = f->inode ? (uint64_t)f->major << 32 | f->minor : UINT64_MAX;
	uint64_t b = f->inode ? f->inode : f->path;
	size_t at = map_get(&j->places, a, b);

	if (!at) {
		if (add_row(j->s) < 0 || map_put(&j->places, a, b, j->s->n) < 0)
			return NULL;
		at = j->s->n;
		j->s->row[at - 1].file = id;
	}
	struct story_row *r = &j->s->row[at - 1];
	/* One that only the cache knows may have no path. */
	if (!names_file(j->in->names, r->file)->path)
		r->file = id;
	return r;
}

/* Whether what is read and written there can have to do with cache and device. */
static bool is_stored(const struct join *j, uint32_t id)
{
	const struct file *f = names_file(j->in->names, id);

	return f->type == FILE_BLOCK ||
	       (f->type == FILE_REGULAR &&
		       !ledger_in_memory(names_get(j->in->names, f->fs)));
}

static const struct series *of_class(const struct row *r, unsigned class)
{
	static const struct series none;

	return r->series[class] ? r->series[class] : &none;
}

static int add_calls(struct join *j)
{
	size_t n;
	const struct row *r = stats_rows(j->in->stats, DIM_FILE, &n);

	for (size_t i = 0; i < n; i++) {
		if (!is_stored(j, r[i].key[0]))
			continue;
		struct story_row *to = row_of(j, r[i].key[0]);
		if (!to)
			return -ENOMEM;
		for (int w = 0; w < 2; w++) {
			const struct series *s =
				of_class(&r[i], w ? CLASS_WRITE : CLASS_READ);
			to->side[w].asked += s->bytes;
			to->side[w].calls += s->operations;
			to->side[w].call_ns += s->time_ns;
		}
		to->syncs += of_class(&r[i], CLASS_SYNC)->operations;
		to->sync_ns += of_class(&r[i], CLASS_SYNC)->time_ns;
	}
	return 0;
}

static int add_cache(struct join *j)
{
	const struct pages_sums *c = stats_layer_sums(j->in->stats, LAYER_CACHE);
	uint64_t page = j->s->page;

	for (size_t i = 0; c && i < c->file.n; i++) {
		const struct pages_row *from = &c->file.row[i];
		const struct file *f = names_file(j->in->names, from->key);
		if (ledger_in_memory(names_get(j->in->names, f->fs)))
			continue;
		struct story_row *to = row_of(j, from->key);
		if (!to)
			return -ENOMEM;
		to->side[0].hit += from->n[CACHE_HITS] * page;
		to->side[0].missed += from->n[CACHE_MISSES] * page;
		to->side[0].mapped_hit += from->n[CACHE_MAPPED_HITS] * page;
		to->side[0].mapped_missed += from->n[CACHE_MAPPED_MISSES] * page;
		to->side[0].ahead += from->n[CACHE_READAHEAD] * page;
		to->side[1].dirtied += from->n[CACHE_DIRTIED] * page;
		to->side[1].dropped += from->n[CACHE_DROPPED] * page;
		/* Told of the inode, which may have several rows. */
		if (from->left * page > to->side[1].left)
			to->side[1].left = from->left * page;
	}
	return 0;
}

static int add_faults(struct join *j)
{
	const struct pages_sums *f = stats_layer_sums(j->in->stats, LAYER_FAULT);

	for (size_t i = 0; f && i < f->file.n; i++) {
		struct story_row *to = row_of(j, f->file.row[i].key);
		if (!to)
			return -ENOMEM;
		to->faults += f->file.row[i].n[FAULTS_MAJOR];
		to->all_faults +=
			f->file.row[i].n[FAULTS_MAJOR] + f->file.row[i].n[FAULTS_MINOR];
	}
	j->s->fault_ns = f ? f->time[1].sum : 0;
	return 0;
}

/* Requests that were completed: d2c is their time. */
static int add_device(struct join *j)
{
	const struct stats *block = stats_layer(j->in->stats, LAYER_BLOCK);
	size_t n = 0;
	const struct row *r = block ? stats_rows(block, DIM_FILE, &n) : NULL;

	for (size_t i = 0; i < n; i++) {
		struct story_row *to = row_of(j, r[i].key[0]);
		if (!to)
			return -ENOMEM;
		for (int w = 0; w < 2; w++) {
			const struct series *s =
				of_class(&r[i], w ? CLASS_WRITE : CLASS_READ);
			to->side[w].device += s->bytes;
			to->side[w].requests += s->operations;
			to->side[w].device_ns += s->time_ns;
		}
		to->flushes += of_class(&r[i], CLASS_SYNC)->operations;
		to->flush_ns += of_class(&r[i], CLASS_SYNC)->time_ns;
	}
	return 0;
}

static void add_flow(struct flow *to, const struct flow *f)
{
	to->asked += f->asked;
	to->calls += f->calls;
	to->call_ns += f->call_ns;
	to->hit += f->hit;
	to->missed += f->missed;
	to->ahead += f->ahead;
	to->mapped_hit += f->mapped_hit;
	to->mapped_missed += f->mapped_missed;
	to->dirtied += f->dirtied;
	to->dropped += f->dropped;
	to->left += f->left;
	to->device += f->device;
	to->requests += f->requests;
	to->device_ns += f->device_ns;
}

static uint64_t weight(const struct story_row *r)
{
	return r->side[0].asked + r->side[0].device + r->side[1].asked +
	       r->side[1].dirtied + r->side[1].device + r->side[0].mapped_hit +
	       r->side[0].mapped_missed;
}

static bool is_empty(const struct story_row *r)
{
	return !weight(r) && !r->side[0].hit && !r->side[0].missed && !r->side[0].ahead &&
	       !r->syncs && !r->flushes && !r->faults;
}

static int by_weight(const void *a, const void *b)
{
	const struct story_row *x = a, *y = b;
	uint64_t m = weight(x), n = weight(y);

	return m < n ? 1 : m > n ? -1 : (x->file > y->file) - (x->file < y->file);
}

/* While it runs nobody has told: what was neither written nor thrown away, at most. */
static void guess_left(struct join *j)
{
	const struct pages_sums *c = stats_layer_sums(j->in->stats, LAYER_CACHE);

	for (size_t i = 0; i < j->s->n && !(c && c->left); i++) {
		struct flow *w = &j->s->row[i].side[1];
		uint64_t gone = w->device + w->dropped;
		w->left = w->dirtied > gone ? w->dirtied - gone : 0;
	}
}

static void sum_up(struct story *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct story_row *r = &s->row[i], *t = &s->total;
		if (is_empty(r))
			continue;
		for (int w = 0; w < 2; w++)
			add_flow(&t->side[w], &r->side[w]);
		t->syncs += r->syncs;
		t->sync_ns += r->sync_ns;
		t->flushes += r->flushes;
		t->flush_ns += r->flush_ns;
		t->faults += r->faults;
		t->all_faults += r->all_faults;
		s->row[kept++] = *r;
	}
	s->n = kept;
	if (kept)
		qsort(s->row, kept, sizeof(*s->row), by_weight);
}

/* Of the machine that it was traced on. */
static uint64_t page_size(const struct report_in *in)
{
	const struct pages_sums *c = stats_layer_sums(in->stats, LAYER_CACHE);

	for (unsigned i = 0; c && i < NCACHE_COUNTS; i++)
		if (c->n[i])
			return c->bytes[i] / c->n[i];
	return 4096;
}

bool story_there(const struct report_in *in)
{
	uint32_t all = 1u << LAYER_MAIN | 1u << LAYER_CACHE | 1u << LAYER_BLOCK;

	return (in->run->layers & all) == all && !in->run->pageless;
}

int story_of(struct story *s, const struct report_in *in)
{
	struct join j = { .s = s, .in = in };

	*s = (struct story){ .page = page_size(in) };
	int err = add_calls(&j);
	if (!err)
		err = add_cache(&j);
	if (!err)
		err = add_faults(&j);
	if (!err)
		err = add_device(&j);
	map_fini(&j.places);
	guess_left(&j);
	sum_up(s);
	return err;
}

void story_fini(struct story *s)
{
	free(s->row);
	*s = (struct story){ 0 };
}
