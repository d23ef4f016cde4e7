/*
 * feed.c - the records of one file or pipe, around what is damaged
 */
#include "feed.h"
#include "iops/diag.h"
#include "iops/input.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, CPUS_MAX = 1 << 16, KNOWN_MAX = 1 << 16 };

/* What was last seen of one CPU of one device. */
struct feed_cpu {
	uint32_t dev, cpu, seq;
	uint64_t time, sector, action;
};

static const char *const fault_text[] = {
#define X(name, text) text,
	FEED_FAULTS(X)
#undef X
};

/* The CPU that a file is of: "sda.blktrace.3". */
static int cpu_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	if (!dot || dot - name < 10 || strncmp(dot - 9, ".blktrace", 9) || !dot[1] ||
		dot[1 + strspn(dot + 1, "0123456789")] || strlen(dot) > 6)
		return -1;
	return atoi(dot + 1);
}

void feed_init(struct feed *f, struct input *in)
{
	*f = (struct feed){ .in = in, .cpu = cpu_of(input_name(in)) };
}

void feed_fini(struct feed *f)
{
	free(f->known);
	f->known = NULL;
}

static uint64_t offset(const struct feed *f)
{
	return input_offset(f->in) + f->taken;
}

static void fault(struct feed *f, enum feed_fault what, uint64_t n)
{
	if (!f->fault[what])
		f->first[what] = offset(f);
	f->fault[what] += n;
}

static void take(struct feed *f, size_t n)
{
	f->at += n;
	f->taken += n;
}

/* Have n bytes from at on, if there are as many. How many there are, or -errno. */
static ssize_t have(struct feed *f, size_t n)
{
	if ((size_t)(f->end - f->at) >= n || f->eof)
		return f->end - f->at;
	input_skip(f->in, f->taken);
	f->taken = 0;
	const void *bytes;
	size_t want = n > BLOCK ? n : BLOCK;
	ssize_t got = input_peek(f->in, want, &bytes);
	if (got < 0)
		return got;
	f->at = bytes;
	f->end = f->at + got;
	f->eof = (size_t)got < want;
	return got;
}

static bool begins(const struct feed *f, const uint8_t *at)
{
	bool swapped;

	return record_header(at, &swapped) && swapped == f->swapped;
}

/*
 * Go to where a record begins, no less than skip bytes ahead; what is between counts as
 * garbage, or not at all. 1; 0: nowhere; -errno.
 */
static int resync(struct feed *f, size_t skip, bool garbage)
{
	for (;; skip = 0) {
		ssize_t n = have(f, skip + 4);
		if (n < 0)
			return (int)n;
		bool end = (size_t)n < skip + 4;
		size_t i = end ? (size_t)n : skip, last = f->end - f->at - (end ? 0 : 4);
		while (i < last && !begins(f, f->at + i))
			i++;
		bool found = !end && begins(f, f->at + i);
		i += !end && !found;
		if (garbage && i)
			fault(f, FEED_GARBAGE, i);
		take(f, i);
		if (found || end)
			return found;
	}
}

/* Whether a record, or the end, is n bytes ahead. */
static bool followed(struct feed *f, size_t n)
{
	ssize_t got = have(f, n + 4);

	return got == (ssize_t)n || (got >= (ssize_t)n + 4 && begins(f, f->at + n));
}

/* Where a record begins before the end of this one, whose length is not to be trusted. */
static size_t within(struct feed *f, size_t from, size_t to)
{
	ssize_t got = have(f, to + 4);

	for (size_t i = from; (ssize_t)i + 4 <= got && i <= to; i++)
		if (begins(f, f->at + i))
			return i;
	return 0;
}

static struct feed_cpu *known(struct feed *f, const struct blk_rec *r)
{
	uint32_t cpu = f->cpu >= 0 ? (uint32_t)f->cpu : r->cpu;
	struct feed_cpu *k = f->known;

	if (f->last < f->nknown && k[f->last].dev == r->dev && k[f->last].cpu == cpu)
		return &k[f->last];
	for (unsigned i = 0; i < f->nknown; i++)
		if (k[i].dev == r->dev && k[i].cpu == cpu)
			return &k[f->last = i];
	if (f->nknown == 512) /* so many are none that a machine has: begin anew */
		f->nknown = 0;
	if (!(f->nknown & (f->nknown - 1))) {
		k = realloc(k, (f->nknown ? 2 * f->nknown : 1) * sizeof(*k));
		if (!k)
			return NULL;
		f->known = k;
	}
	k = &f->known[f->last = f->nknown++];
	*k = (struct feed_cpu){ .dev = r->dev, .cpu = cpu };
	return k;
}

/* Each CPU numbers its events. 0: it was there before; -ENOMEM. */
static int number(struct feed *f, const struct blk_rec *r)
{
	struct feed_cpu *k = known(f, r);

	if (!k)
		return -ENOMEM;
	if (r->seq && r->seq == k->seq && r->time == k->time && r->sector == k->sector &&
		r->action == k->action) {
		fault(f, FEED_TWICE, 1);
		return 0;
	}
	/* What goes back far is another trace behind the first one. */
	if (r->seq && k->seq && r->seq > k->seq + 1) {
		uint64_t n = r->seq - k->seq - 1;
		fault(f, FEED_GAP, n);
		f->lost += n;
	}
	if (f->cpu >= 0 && r->time < k->time)
		fault(f, FEED_BACK, 1);
	if (r->seq)
		k->seq = r->seq;
	if (r->time > k->time || f->cpu < 0)
		k->time = r->time;
	k->sector = r->sector;
	k->action = r->action;
	return 1;
}

/* What is wrong with a record that could be read. 1: it is to be handed on. */
static int check(struct feed *f, const struct blk_rec *r)
{
	unsigned act = record_act(r);

	if (f->cpu >= 0 && r->cpu != (uint32_t)f->cpu && !record_is_note(r))
		fault(f, FEED_CPU, 1);
	if (!record_is_note(r)) {
		if (!act || act >= NACTS)
			fault(f, FEED_ACTION, 1);
		return number(f, r);
	}
	if (act > NOTE_MESSAGE) {
		fault(f, FEED_NOTE, 1);
		return 0;
	}
	if (act == NOTE_PROCESS && !memchr(record_payload(r), 0, r->len))
		fault(f, FEED_NAME, 1);
	if (act == NOTE_TIMESTAMP && record_wall(r) && !f->wall_ns) {
		f->wall_ns = record_wall(r);
		f->wall_at = r->time;
	}
	return 1;
}

/* The record at which reading stands. 1; 0: it is skipped; -errno. */
static int read_one(struct feed *f, struct blk_rec *r, size_t head)
{
	unsigned len = record_decode(r, f->at, f->swapped);
	size_t whole = head + len;

	if (!followed(f, whole)) {
		if (head != f->version) {
			fault(f, FEED_VERSION, 1);
			return resync(f, 4, false) < 0 ? -EIO : 0;
		}
		bool plausible = record_plausible(r, len);
		ssize_t got = have(f, whole);
		if (got < 0)
			return (int)got;
		size_t next =
			plausible && got >= (ssize_t)whole ? 0 : within(f, head, whole);
		if (next || (!plausible && got >= (ssize_t)whole)) {
			fault(f, FEED_PAYLOAD, 1);
			len = next ? next - head : 0;
			whole = head + len;
		} else if (got < (ssize_t)whole) {
			fault(f, FEED_CUT, got);
			take(f, got);
			return 0;
		}
	}
	int err = record_keep(r, f->at + head, len, f->swapped);
	if (err < 0)
		return err;
	err = check(f, r);
	take(f, whole);
	if (err <= 0)
		record_fini(r);
	return err;
}

/* No record begins here. 1: one does now; 0: the end; -errno. */
static int skip(struct feed *f, ssize_t n)
{
	bool swapped;
	bool version = n >= 4 && f->begun && record_version(f->at, &swapped) >= 0 &&
		       swapped == f->swapped;

	if (version)
		fault(f, FEED_VERSION, 1);
	return resync(f, n < 4 ? (size_t)n : 1, !version);
}

int feed_next(struct feed *f, struct blk_rec *r)
{
	int got = 0;

	while (got >= 0) {
		ssize_t n = have(f, BLK_V8);
		if (n <= 0)
			return (int)n;
		bool swapped = f->swapped;
		size_t head = n >= 4 ? record_header(f->at, &swapped) : 0;
		if (!f->begun && head) {
			f->swapped = swapped;
			f->version = head;
			f->begun = true;
		}
		if (!head || swapped != f->swapped) {
			got = skip(f, n);
		} else if (n < (ssize_t)head) {
			fault(f, FEED_CUT, n);
			take(f, n);
		} else if ((got = read_one(f, r, head)) > 0) {
			return 1;
		}
	}
	return got;
}

bool feed_damaged(const struct feed *f)
{
	for (unsigned i = 0; i < NFEED_FAULTS; i++)
		if (f->fault[i])
			return true;
	return false;
}

bool feed_say(const struct feed *f)
{
	for (unsigned i = 0; i < NFEED_FAULTS; i++)
		if (f->fault[i])
			diag("%s: byte %llu: %llu %s; the report covers the rest",
				input_name(f->in), (unsigned long long)f->first[i],
				(unsigned long long)f->fault[i], fault_text[i]);
	return feed_damaged(f);
}
