/*
 * search.c - the calls in the code of a file: which there are, and which are made
 */
#include "../tracer.h"
#include "text.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MUCH = 16 << 20 }; /* of code */

/* mov $nr, %eax or %rax, of which the last of the opcode is there, in so many bytes. */
static bool is_move(const uint8_t *p, size_t before)
{
	return p[0] == 0xb8 ||
	       (p[0] == 0xc0 && before >= 2 && p[-1] == 0xc7 && p[-2] == 0x48);
}

/* By one of these, perhaps with others before the syscall, or xor %eax, %eax. -1: by
 * neither. */
static int plain_number(const uint8_t *call, size_t before)
{
	enum { MOV = 5, FAR = 28 };

	if (before >= 2 && call[-2] == 0x31 && call[-1] == 0xc0)
		return 0;
	for (size_t back = MOV; back < FAR && back <= before; back++) {
		const uint8_t *p = call - back;
		if (is_move(p, before - back) && !p[3] && !p[4] &&
			(p[1] | p[2] << 8) < NSHAPES)
			return p[1] | p[2] << 8;
	}
	return -1;
}

static void add_call(struct text *x, size_t at)
{
	int nr = plain_number(x->file + at, at);

	if (!(x->ncalls & (x->ncalls - 1))) {
		unsigned cap = x->ncalls ? 2 * x->ncalls : 1;
		struct text_call *more = realloc(x->call, cap * sizeof(*more));
		if (!more)
			return;
		x->call = more;
	}
	x->call[x->ncalls++] =
		(struct text_call){ .at = (uint32_t)at, .nr = (int16_t)nr };
}

typedef uint8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t words __attribute__((vector_size(16)));

/* Not 0 in any of sixteen bytes: a call begins there. */
static inline bytes calls_at(const uint8_t *p)
{
	return (bytes)((*(const bytes *)p == 0x0f) & (*(const bytes *)(p + 1) == 0x05));
}

/* A part of the file, 64 bytes at a time: they are what they are whatever they mean. */
static void search(struct text *x, size_t from, size_t to)
{
	enum { STEP = 64 };

	x->ncalls = 0;
	for (size_t at = from; at + STEP < to; at += STEP) {
		const uint8_t *p = x->file + at;
		words any = (words)(calls_at(p) | calls_at(p + 16) | calls_at(p + 32) |
				    calls_at(p + 48));
		if (!(any[0] | any[1]))
			continue;
		for (unsigned i = 0; i < STEP; i++)
			if (p[i] == 0x0f && p[i + 1] == 0x05)
				add_call(x, at + i);
	}
}

/*
 * Of two places close to each other that make the same call the C library uses the first
 * without threads only. Both may want the same padding.
 */
static bool is_for_one_thread(const struct text *x, unsigned i)
{
	enum { CLOSE = 128 };
	const struct text_call *c = &x->call[i];

	return i + 1 < x->ncalls && c->nr >= 0 && c->nr != SYS_futex &&
	       c->nr != SYS_rt_sigprocmask && c[1].nr == c->nr && c[1].at - c->at < CLOSE;
}

/* Whether its number is, or may be, one of those wanted by threads. */
static bool is_wanted(const struct text *x, unsigned i, const bool wanted[NSHAPES])
{
	const struct text_call *c = &x->call[i];

	return (c->nr < 0 || wanted[c->nr]) && !is_for_one_thread(x, i);
}

/* All that is of the file in a mapping, once. */
static void search_all(struct text *x, const struct code *c)
{
	const uint64_t len = c->to - c->from;

	if (!x->searched && len <= MUCH && c->offset < x->size)
		search(x, c->offset,
			len < x->size - c->offset ? c->offset + len : x->size);
	x->searched = true;
}

static bool is_quick(struct text *x, struct text_call *c)
{
	if (!c->asked) {
		elf_bytes(x->elf, x->file);
		c->slow = !elf_knows(x->elf, c->at) && !elf_is_quick(x->elf, c->at);
		elf_bytes(x->elf, NULL);
	}
	c->asked = true;
	return !c->slow;
}

/*
 * Addresses of calls whose number is, or may be, one of those wanted by threads, in the
 * mapping around an address and up to max of them, if its file can be kept. Some may be
 * no calls: a plan tells. Not those that take long to be planned: most of them are rare.
 */
unsigned text_calls(struct texts *xs, struct space *s, pid_t tid, uint64_t around,
	const bool wanted[NSHAPES], uint64_t *out, unsigned max)
{
	const struct code *c = text_around(s, around);
	unsigned n = 0;

	if (!c)
		return 0;
	text_keep(xs, s, tid, around);
	struct text *x = c->text;
	struct stat st;
	if (!x->file || fstat(x->fd, &st) < 0 || !text_is_same(x, &st))
		return 0;
	search_all(x, c);
	for (unsigned i = 0; i < x->ncalls && n < max; i++)
		if (is_wanted(x, i, wanted) && x->call[i].at >= c->offset &&
			x->call[i].at - c->offset < c->to - c->from &&
			is_quick(x, &x->call[i]))
			out[n++] = c->from + (x->call[i].at - c->offset);
	return n;
}

/* call: where in the file. */
static void meet(struct text *x, uint64_t call)
{
	for (unsigned i = 0; i < x->nmet; i++)
		if (x->met[i] == call)
			return;
	if (x->nmet < TEXT_MET && call <= UINT32_MAX)
		x->met[x->nmet++] = (uint32_t)call;
}

/* A process has made a call there, of those that can go through the hook. */
void text_met(struct space *s, uint64_t at)
{
	const struct code *c = text_around(s, at);

	if (c)
		meet(c->text, at - c->from + c->offset);
}

/* Whether others have, from code that is mapped there. */
bool text_is_met(const struct texts *xs, const struct mapping *m)
{
	const struct text *x =
		m->mode[2] == 'x' && m->inode
			? (const struct text *)map_get(&xs->files, m->dev, m->inode)
			: NULL;

	return x && x->nmet;
}

/* Where others have met more since that was asked: an address in each such mapping. */
unsigned text_met_since(const struct space *s, uint64_t out[SPACE_CODES])
{
	unsigned n = 0;

	for (unsigned i = 0; i < SPACE_CODES; i++)
		if (s->code[i].to && s->code[i].text->nmet > s->code[i].met)
			out[n++] = s->code[i].from;
	return n;
}

/* Addresses of calls in the mapping around an address that others have met. */
unsigned text_met_before(struct space *s, uint64_t around, uint64_t out[TEXT_MET])
{
	struct code *c = text_around(s, around);
	unsigned n = 0;

	if (c)
		c->met = c->text->nmet;
	for (unsigned i = 0; c && i < c->text->nmet; i++)
		if (c->text->met[i] >= c->offset &&
			c->text->met[i] - c->offset < c->to - c->from)
			out[n++] = c->from + (c->text->met[i] - c->offset);
	return n;
}

/* Our own code around an address, if its file is kept. */
static const struct code *look_here(struct texts *xs, struct space *here, uint64_t around)
{
	if (text_look(xs, here, getpid(), around))
		text_keep(xs, here, getpid(), around);
	const struct code *c = text_around(here, around);
	return c && c->text->file ? c : NULL;
}

/*
 * Before there is a task: what any will call from a file that we have mapped as well, by
 * what stands around an address of ours. here: our own memory. wanted: NULL for whatever
 * is called there.
 */
void text_foresee(struct texts *xs, struct space *here, uint64_t around, uint64_t before,
	uint64_t behind, const bool wanted[NSHAPES])
{
	struct plan p;
	const struct code *c = look_here(xs, here, around);
	struct text *x = c ? c->text : NULL;

	if (!x || x->searched)
		return;
	const uint64_t size = c->to - c->from, at = around - c->from;
	uint64_t from = c->offset + (at < before ? 0 : at - before),
		 to = c->offset + (size - at < behind ? size : at + behind);
	if (to > x->size)
		return;
	search(x, from, to);
	for (unsigned i = 0; i < x->ncalls; i++)
		if ((!wanted || (x->call[i].nr >= 0 && wanted[x->call[i].nr])) &&
			!text_plan_with(x, x->file, x->call[i].at, &p))
			meet(x, x->call[i].at);
}

/*
 * Before there is a thread: how all that threads are likely to call from such a file can
 * be patched, however long it takes; until it is enough.
 */
void text_foresee_all(struct texts *xs, struct space *here, uint64_t around,
	const bool wanted[NSHAPES], const atomic_bool *enough)
{
	struct plan p;
	const struct code *c = look_here(xs, here, around);

	if (!c)
		return;
	search_all(c->text, c);
	for (unsigned i = 0; i < c->text->ncalls && !atomic_load(enough); i++)
		if (is_wanted(c->text, i, wanted))
			text_plan_with(c->text, c->text->file, c->text->call[i].at, &p);
}

/* Of the same file: which calls there are, if all of them are known, and the plans. */
static void learn(struct text *to, struct text *from)
{
	if (to->size != from->size || to->changed.tv_sec != from->changed.tv_sec ||
		to->changed.tv_nsec != from->changed.tv_nsec)
		return;
	elf_learn(to->elf, from->elf);
	for (unsigned i = 0; i < from->nmet; i++)
		meet(to, from->met[i]);
	if (to->searched || !from->searched)
		return;
	free(to->call);
	to->call = from->call;
	to->ncalls = from->ncalls;
	to->searched = true;
	from->call = NULL;
	from->ncalls = 0;
}

/* What others have found out about files that are known. Whether there are any. */
bool texts_learn(struct texts *xs, const struct texts *from)
{
	bool any = false;

	for (size_t i = 0; i < from->files.cap; i++) {
		const struct map_slot *s = &from->files.slot[i];
		struct text *x =
			s->value ? (struct text *)map_get(&xs->files, s->a, s->b) : NULL;
		if (x)
			learn(x, (struct text *)s->value);
		any |= x != NULL;
	}
	return any;
}
