/*
 * feed.c - the records of one file or pipe, around what is damaged
 */
#include "feed.h"
#include "iops/diag.h"
#include "iops/input.h"
#include "moment.h"
#include "numbers.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, KNOWN_MAX = 1 << 14 };

/* What was last seen of one CPU of one device. */
struct feed_cpu {
	uint32_t dev, cpu, seq;
	uint64_t time, sector, action;
	struct numbers numbers;
};

static const char *const fault_text[][2] = {
#define X(name, one, many) { one, many },
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
	f->sorted = f->cpu >= 0;
}

void feed_fini(struct feed *f)
{
	for (size_t i = 0; i < f->known.cap; i++) {
		struct feed_cpu *k = (struct feed_cpu *)f->known.slot[i].value;
		if (k)
			numbers_fini(&k->numbers);
		free(k);
	}
	map_fini(&f->known);
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

/* *k: NULL where there are more than a machine has. 0 or -ENOMEM. */
static int known(struct feed *f, const struct blk_rec *r, struct feed_cpu **k)
{
	uint32_t cpu = f->cpu >= 0 ? (uint32_t)f->cpu : r->cpu;
	struct feed_cpu **recent = &f->recent[(cpu ^ r->dev) % FEED_RECENT];

	*k = *recent;
	if (*k && (*k)->dev == r->dev && (*k)->cpu == cpu)
		return 0;
	*k = (struct feed_cpu *)map_get(&f->known, r->dev, cpu);
	if (!*k && f->known.n < KNOWN_MAX) {
		if (!(*k = calloc(1, sizeof(**k))))
			return -ENOMEM;
		(*k)->dev = r->dev;
		(*k)->cpu = cpu;
		if (map_put(&f->known, r->dev, cpu, (uintptr_t)*k) < 0) {
			free(*k);
			return -ENOMEM;
		}
	}
	if (*k)
		*recent = *k;
	return 0;
}

/* Each CPU numbers its events. 0: it was there before; -ENOMEM. */
static int number(struct feed *f, const struct blk_rec *r)
{
	struct feed_cpu *k;
	int err = known(f, r, &k);

	if (err || !k)
		return err ? err : 1;
	if (r->seq && r->seq == k->seq && r->time == k->time && r->sector == k->sector &&
		r->action == k->action) {
		fault(f, FEED_TWICE, 1);
		return 0;
	}
	uint64_t missing = k->numbers.missing;
	if (r->seq && numbers_take(&k->numbers, r->seq, r->time) < 0)
		return -ENOMEM;
	if (k->numbers.missing > missing && !f->first[FEED_GAP])
		f->first[FEED_GAP] = offset(f);
	if (r->seq)
		k->seq = r->seq;
	k->time = r->time;
	k->sector = r->sector;
	k->action = r->action;
	return 1;
}

/* The times of events behind this record, as far as they are at hand. */
static void look_behind(
	struct feed *f, const struct blk_rec *of, size_t whole, struct moment *m)
{
	ssize_t got = have(f, whole + (size_t)MOMENT_BEHIND * (BLK_V8 + BLK_INLINE));
	struct blk_rec r;

	for (size_t at = whole;
		m->all.n < MOMENT_BEHIND && (ssize_t)(at + BLK_V8) <= got;) {
		bool swapped;
		size_t head = record_header(f->at + at, &swapped);
		if (!head || swapped != f->swapped)
			break;
		at += head + record_decode(&r, f->at + at, swapped);
		if (record_is_note(&r))
			continue;
		m->all.behind[m->all.n++] = r.time;
		if (r.dev == of->dev && r.cpu == of->cpu)
			m->own.behind[m->own.n++] = r.time;
	}
}

/* A damaged time counts at once; of another trace behind this one, the clock is taken. */
static int check_time(struct feed *f, struct blk_rec *r, size_t whole)
{
	struct moment m;
	struct feed_cpu *k;
	int err = known(f, r, &k);

	if (err)
		return err;
	m.time = r->time;
	m.sorted = f->sorted;
	m.all.any = f->timed;
	m.all.before = f->time;
	m.own.any = k && k->action;
	m.own.before = k ? k->time : 0;
	m.all.n = m.own.n = 0;
	look_behind(f, r, whole, &m);
	switch (moment_judge(&m)) {
	case MOMENT_WRONG:
		fault(f, FEED_TIME, 1);
		r->time = r->order = f->timed ? f->time : m.all.behind[0];
		break;
	case MOMENT_BACK:
		fault(f, FEED_BACK, 1);
		break;
	case MOMENT_RIGHT:
		break;
	}
	f->time = r->time;
	f->timed = true;
	return 0;
}

/* What is wrong with a record that could be read. 1: it is to be handed on. */
static int check(struct feed *f, struct blk_rec *r, size_t whole)
{
	unsigned act = record_act(r);

	if (!record_is_note(r)) {
		if (f->cpu >= 0 && r->cpu != (uint32_t)f->cpu)
			fault(f, FEED_CPU, 1);
		if (!act || act >= NACTS)
			fault(f, FEED_ACTION, 1);
		int err = check_time(f, r, whole);
		return err ? err : number(f, r);
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
	err = check(f, r, whole);
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

/*
 * A record as almost all are: an event, whole, of the machine's own byte order, the next
 * one of its CPU, soon after the one before it, and with another one behind it. Whatever
 * is different is looked at closely, by read_one(): then nothing is taken.
 */
static bool take_plain(struct feed *f, struct blk_rec *r)
{
	const uint8_t *at = f->at;

	if (f->end - at < 2 * BLK_V8 + BLK_INLINE || f->swapped ||
		record_get32(at, false) != f->magic)
		return false;
	size_t head = f->version;
	unsigned len = head == BLK_V7 ? record_decode_as(r, at, false, false)
				      : record_decode_as(r, at, false, true);
	size_t whole = head + len;
	unsigned act = record_act(r);
	if (len > BLK_INLINE || record_get32(at + whole, false) != f->magic ||
		record_is_note(r) || r->time - f->time > MOMENT_NEAR || !f->timed ||
		record_get64(at + whole + 8, false) < r->time || act - 1 >= NACTS - 1 ||
		(f->cpu >= 0 && r->cpu != (uint32_t)f->cpu))
		return false;
	uint32_t cpu = r->cpu;
	struct feed_cpu *k = f->recent[(cpu ^ r->dev) % FEED_RECENT];
	if (!k || k->dev != r->dev || k->cpu != cpu ||
		!numbers_next(&k->numbers, r->seq, r->time))
		return false;
	unsigned cgroup = r->action & ACT_CGROUP && len >= 8 ? 8 : 0;
	/* All of them, as that is one store or two: whatever is behind the payload. */
	memcpy(r->pdu, at + head + cgroup, BLK_INLINE - 8);
	if (len - cgroup > BLK_INLINE - 8)
		memcpy(r->pdu, at + head + cgroup, len - cgroup);
	r->len = len - cgroup;
	f->time = k->time = r->time;
	k->seq = r->seq;
	k->sector = r->sector;
	k->action = r->action;
	take(f, whole);
	return true;
}

int feed_next(struct feed *f, struct blk_rec *r)
{
	int got = 0;

	if (take_plain(f, r))
		return 1;
	while (got >= 0) {
		ssize_t n = have(f, BLK_V8);
		if (n <= 0)
			return (int)n;
		bool swapped = f->swapped;
		size_t head = n >= 4 ? record_header(f->at, &swapped) : 0;
		if (!f->begun && head) {
			f->swapped = swapped;
			f->version = head;
			f->magic = record_get32(f->at, false);
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

int feed_more(struct feed *f, const void *bytes, size_t len)
{
	input_skip(f->in, f->taken);
	f->taken = 0;
	f->at = f->end = NULL;
	f->eof = false;
	return input_more(f->in, bytes, len);
}

uint64_t feed_lost(const struct feed *f)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->known.cap; i++) {
		const struct feed_cpu *k =
			(const struct feed_cpu *)f->known.slot[i].value;
		n += k ? k->numbers.missing : 0;
	}
	return n;
}

bool feed_say(struct feed *f)
{
	bool any = false;

	f->fault[FEED_GAP] = feed_lost(f);
	for (unsigned i = 0; i < NFEED_FAULTS; i++) {
		if (f->fault[i])
			diag("%s: byte %llu: %llu %s; the report covers the rest",
				input_name(f->in), (unsigned long long)f->first[i],
				(unsigned long long)f->fault[i],
				fault_text[i][f->fault[i] != 1]);
		any |= f->fault[i] != 0;
	}
	return any;
}
