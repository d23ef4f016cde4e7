/*
 * live_read.c - records of all CPUs, from the files of the kernel
 *
 * A record is written on the CPU that it is of, with interrupts off, and its time is
 * taken meanwhile. So whoever reads on that CPU never sees half of one, and has all that
 * are older than the moment at which it began to read.
 */
#include "iops/diag.h"
#include "iops/input.h"
#include "live.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A record has a payload of less than 64 KiB. */
enum { READ = 256 << 10, REST_MAX = 128 << 10, READS_MAX = 4096 };

/* Bytes of whole records; all, where none begins: the feed finds the next one. */
static size_t whole(const uint8_t *buf, size_t n)
{
	struct blk_rec r;
	size_t at = 0, head = 0;
	bool swapped;

	while (n - at >= 4) {
		if (!(head = record_header(buf + at, &swapped)))
			return n;
		if (n - at < head)
			break;
		head += record_decode(&r, buf + at, swapped);
		if (n - at < head)
			break;
		at += head;
	}
	return at;
}

static int keep(struct stream *s, const uint8_t *bytes, size_t n)
{
	free(s->rest);
	s->rest = NULL;
	s->nrest = 0;
	if (!n)
		return 0;
	if (!(s->rest = malloc(n)))
		return -ENOMEM;
	memcpy(s->rest, bytes, n);
	s->nrest = n;
	return 0;
}

/* Threads are looked at soon: they may not live for long. */
static void meet(struct live *l, const uint8_t *buf, size_t n)
{
	struct blk_rec r;
	size_t head;
	bool swapped;

	for (size_t at = 0; n - at >= BLK_V8; at += head) {
		if (!(head = record_header(buf + at, &swapped)))
			return;
		head += record_decode(&r, buf + at, swapped);
		bool named = record_is_note(&r) && record_act(&r) == NOTE_PROCESS;
		if (named || record_act(&r) == ACT_QUEUE)
			whose_seen(&l->whose, (pid_t)r.pid, named);
		if (head > n - at)
			return;
	}
}

static int read_stream(struct live *l, unsigned device, unsigned cpu)
{
	unsigned at = device * l->ncpus + cpu;
	struct stream *s = &l->stream[at];

	for (unsigned i = 0; i < READS_MAX; i++) {
		if (s->nrest)
			memcpy(l->buf, s->rest, s->nrest);
		ssize_t got =
			capture_read(&l->capture[device], cpu, l->buf + s->nrest, READ);
		if (got <= 0)
			return (int)got;
		size_t n = s->nrest + (size_t)got, take = whole(l->buf, n);
		if (n - take > REST_MAX)
			take = n;
		meet(l, l->buf, take);
		int err = feed_more(&l->order.feed[at], l->buf, take);
		if (!err)
			err = keep(s, l->buf + take, n - take);
		if (err < 0)
			return err;
	}
	return 0;
}

/* CPUs of this thread, before it went to others. */
struct places {
	cpu_set_t *was, *set;
	size_t size;
};

static void places_fini(struct places *p)
{
	CPU_FREE(p->was);
	CPU_FREE(p->set);
}

static int places_init(struct places *p, unsigned ncpus)
{
	/* No less than the kernel itself has room for, or it refuses to tell. */
	unsigned n = ncpus + 1024;

	*p = (struct places){ CPU_ALLOC(n), CPU_ALLOC(n), CPU_ALLOC_SIZE(n) };
	int err = !p->was || !p->set                          ? -ENOMEM
		  : sched_getaffinity(0, p->size, p->was) < 0 ? -errno
							      : 0;
	if (err < 0)
		places_fini(p);
	return err;
}

static int go_to(struct places *p, unsigned cpu)
{
	CPU_ZERO_S(p->size, p->set);
	CPU_SET_S(cpu, p->size, p->set);
	return sched_setaffinity(0, p->size, p->set) < 0 ? -errno : 0;
}

static void go_back(struct places *p)
{
	sched_setaffinity(0, p->size, p->was);
}

/* sysfs(5): a CPU that cannot be taken away has no file that says so. */
static bool is_online(unsigned cpu)
{
	char path[64];
	int c = '1';

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	FILE *f = fopen(path, "re");
	if (f) {
		c = fgetc(f);
		fclose(f);
	}
	return c == '1';
}

int live_check(struct live *l)
{
	struct places p;
	int err = places_init(&p, l->ncpus);

	if (err < 0)
		return diag_err(err, "cannot trace block devices");
	for (unsigned cpu = 0; cpu < l->ncpus && !err; cpu++) {
		bool there = l->capture[0].cpu[cpu] >= 0;
		if (!there || !go_to(&p, cpu) || !is_online(cpu))
			continue;
		diag("CPU %u is not for this process (cpuset(7)); blktrace takes all "
		     "CPUs",
			cpu);
		err = -EPERM;
	}
	go_back(&p);
	places_fini(&p);
	return err;
}

int live_read(struct live *l)
{
	struct places p;
	int err = places_init(&p, l->ncpus);

	if (err < 0)
		return err;
	for (unsigned cpu = 0; cpu < l->ncpus && !err; cpu++) {
		go_to(&p, cpu); /* unless it is offline: then nothing is written there */
		for (unsigned i = 0; i < l->ncaptures && !err; i++)
			err = read_stream(l, i, cpu);
	}
	go_back(&p);
	places_fini(&p);
	return err;
}
