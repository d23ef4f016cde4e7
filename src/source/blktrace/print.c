/*
 * print.c - events as blkparse(1) prints them by default: columns that scripts know
 */
#include "iops/blktrace.h"
#include "iops/diag.h"
#include "iops/input.h"
#include "iops/map.h"
#include "iops/names.h"
#include "order.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { NS_PER_S = 1000000000 };

struct print {
	FILE *out;
	struct names *names;
	struct map comms; /* process -> the first name that is told of it */
	uint64_t base;
	bool begun;
};

static const char *const letters[NACTS] = {
	[ACT_QUEUE] = "Q",
	[ACT_BACKMERGE] = "M",
	[ACT_FRONTMERGE] = "F",
	[ACT_GETRQ] = "G",
	[ACT_SLEEPRQ] = "S",
	[ACT_REQUEUE] = "R",
	[ACT_ISSUE] = "D",
	[ACT_COMPLETE] = "C",
	[ACT_PLUG] = "P",
	[ACT_UNPLUG] = "U",
	[ACT_UNPLUG_TIMER] = "UT",
	[ACT_INSERT] = "I",
	[ACT_SPLIT] = "X",
	[ACT_BOUNCE] = "B",
	[ACT_REMAP] = "A",
	[ACT_ZONE_PLUG] = "ZP",
	[ACT_ZONE_UNPLUG] = "ZU",
};

static void rwbs(char out[8], const struct blk_rec *r)
{
	char *c = out;

	if (r->action & BLK_FLUSH)
		*c++ = 'F';
	*c++ = r->action & BLK_DISCARD ? 'D'
	       : r->action & BLK_WRITE ? 'W'
	       : r->bytes              ? 'R'
				       : 'N';
	if (r->action & BLK_FUA)
		*c++ = 'F';
	if (r->action & BLK_AHEAD)
		*c++ = 'A';
	if (r->action & BLK_SYNC)
		*c++ = 'S';
	if (r->action & BLK_META)
		*c++ = 'M';
	*c = 0;
}

static const char *comm_of(const struct print *p, const struct blk_rec *r)
{
	uint32_t id = (uint32_t)map_get(&p->comms, r->pid, 1);

	return id ? names_get(p->names, id) : "(null)";
}

/* The command of a passthrough; where only zeros follow, two points stand for them. */
static void payload(const struct print *p, const struct blk_rec *r)
{
	const uint8_t *bytes = record_payload(r);
	size_t last = r->len;

	while (last && !bytes[last - 1])
		last--;
	if (!r->len)
		return;
	fputc('(', p->out);
	for (size_t i = 0; i < r->len; i++) {
		if (i > last) {
			fputs(" ..", p->out);
			break;
		}
		fprintf(p->out, i ? " %02x" : "%02x", bytes[i]);
	}
	fputs(") ", p->out);
}

static void rest(const struct print *p, const struct blk_rec *r)
{
	unsigned long long sector = r->sector, sectors = r->bytes >> 9;
	unsigned act = record_act(r);
	bool pc = r->action & BLK_PC, ends = act == ACT_COMPLETE || act == ACT_REQUEUE;
	uint32_t from = record_be32(r, 0);

	switch (act) {
	case ACT_PLUG:
	case ACT_ZONE_PLUG:
		fprintf(p->out, "[%s]\n", comm_of(p, r));
		return;
	case ACT_UNPLUG:
	case ACT_UNPLUG_TIMER:
	case ACT_ZONE_UNPLUG:
		fprintf(p->out, "[%s] %u\n", comm_of(p, r), (unsigned)record_be64(r, 0));
		return;
	case ACT_SPLIT:
		fprintf(p->out, "%llu / %llu [%s]\n", sector,
			(unsigned long long)record_be64(r, 0), comm_of(p, r));
		return;
	case ACT_REMAP:
		fprintf(p->out, "%llu + %llu <- (%u,%u) %llu\n", sector, sectors,
			from >> 20, from & 0xfffff,
			(unsigned long long)record_be64(r, 1));
		return;
	}
	if (pc && !ends)
		fprintf(p->out, "%u ", r->bytes);
	if (pc)
		payload(p, r);
	else if (sectors)
		fprintf(p->out, "%llu + %llu ", sector, sectors);
	else if (ends)
		fprintf(p->out, "%llu ", sector);
	if (ends)
		fprintf(p->out, "[%u]\n", r->error);
	else
		fprintf(p->out, "[%s]\n", comm_of(p, r));
}

static void start(const struct print *p, const struct blk_rec *r, const char *act,
	const char *flags)
{
	uint64_t ns = r->order > p->base ? r->order - p->base : 0;
	uint32_t dev = record_act(r) == ACT_REMAP && !record_is_note(r) && r->len >= 8
			       ? record_be32(r, 1)
			       : r->dev;

	fprintf(p->out, "%3u,%-3u %2u %8u %5llu.%09llu %5u %2s %3s ", dev >> 20,
		dev & 0xfffff, r->cpu, r->seq, (unsigned long long)(ns / NS_PER_S),
		(unsigned long long)(ns % NS_PER_S), r->pid, act, flags);
}

static void message(const struct print *p, const struct blk_rec *r)
{
	size_t n = r->len;
	const char *text = (const char *)record_payload(r);

	while (n && text[n - 1] == '\n')
		n--;
	start(p, r, "m", "N");
	/* It is one line, whatever was written into it. */
	for (size_t i = 0; i < n; i++)
		fputc(iscntrl((unsigned char)text[i]) ? '?' : text[i], p->out);
	fputc('\n', p->out);
}

static int note(struct print *p, const struct blk_rec *r)
{
	const char *comm = (const char *)record_payload(r);

	if (record_act(r) == NOTE_MESSAGE)
		message(p, r);
	if (record_act(r) != NOTE_PROCESS || map_get(&p->comms, r->pid, 1))
		return 0;
	uint32_t id = names_add(p->names, comm, strnlen(comm, r->len < 15 ? r->len : 15));
	return id ? map_put(&p->comms, r->pid, 1, id) : 0;
}

static int print(struct print *p, const struct blk_rec *r)
{
	unsigned act = record_act(r);
	char flags[8];

	if (!p->begun && !record_is_note(r)) {
		p->begun = true;
		p->base = r->time;
	}
	if (record_is_note(r))
		return note(p, r);
	if (act >= NACTS || !letters[act])
		return 0;
	rwbs(flags, r);
	start(p, r, letters[act], flags);
	rest(p, r);
	return 0;
}

int blktrace_print(FILE *out, struct input *const *in, unsigned n)
{
	struct print p = { .out = out, .names = names_new() };
	struct order o = { .nfeed = 0 };
	struct blk_rec r;
	bool damaged = false;
	int got = p.names ? order_init(&o, in, n) : -ENOMEM;

	while (got >= 0 && !ferror(out) && (got = order_next(&o, &r)) > 0) {
		int err = print(&p, &r);
		record_fini(&r);
		if (err < 0)
			got = err;
	}
	for (unsigned i = 0; i < o.nfeed; i++)
		damaged |= feed_say(&o.feed[i]);
	order_fini(&o);
	map_fini(&p.comms);
	names_free(p.names);
	return got < 0 ? got : damaged;
}
