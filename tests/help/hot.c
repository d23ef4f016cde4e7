/*
 * hot [-o FILE] [-n TIMES] NAME [ARG...]
 *
 * Makes the calls of the scenario NAME through few sites, many times, in a way that is
 * hard on who patches them, and prints what a tracer must find. It fails if anything
 * in the process is not as it is without a tracer. The parts: hotcore.h, hotsig.h,
 * hotproc.h, hotfile.h, hotask.h, hotdir.h, hotmem.h, hotlock.h and hotregs.h.
 */
#define _GNU_SOURCE       1
#define _FILE_OFFSET_BITS 64
#include "hotcore.h"
#include "hotsig.h"
#include "hotproc.h"
#include "hotfile.h"
#include "hotask.h"
#include "hotdir.h"
#include "hotmem.h"
#include "hotlock.h"
#include "hotregs.h"

/* How much of its calls, in percent, may be expected on a path without stops. */
struct scenario {
	const char *name;
	void (*fn)(struct me *);
	int fast;
};
#define S(name, fast)                                                                    \
	{                                                                                \
#name, name, fast                                                        \
	}
static const struct scenario scenarios[] = {
	S(barrier, 30),
	S(signals, 40),
	S(cancel, 40),
	S(stopcont, 60),
	S(faults, 40),
	S(trap, 0),
	S(births, 30),
	S(leaf, 0),
	S(execs, 30),
	S(forks, 40),
	S(killed, 60),
	S(outlive, 60),
	S(endless, 90),
	S(files, 60),
	{ "rename", rename_hot, 50 },
	S(heirs, 20),
	S(numbers, 30),
	S(ignores, 20),
	S(spared, 0),
	S(shorts, 30),
	S(tsync, 30),
	S(filtered, 0),
	S(chdirs, 30),
	S(cwds, 30),
	S(fs_kin, 30),
	S(rmdirs, 30),
	S(jailed, 30),
	S(reopen, 60),
	S(asks, 50),
	S(dups, 60),
	S(dup_race, 30),
	S(accepts, 0),
	S(shared, 60),
	S(append, 60),
	S(seeks, 30),
	S(late, 50),
	S(kin, 30),
	S(many, 50),
	S(rights, 80),
	S(limit_as, 0),
	S(limit_files, 0),
	S(bad, 0),
#ifdef __x86_64__
	S(jump, 40),
	S(trap_later, 0),
	S(gs, 0),
	S(far, 50),
	S(jit, 10),
	S(selfmod, 0),
	S(reload, 0),
	S(own_filter, 0),
	S(moved, 0),
	S(refused, 0),
	S(tsc, 0),
	S(dispatch, 10),
	S(sigsys, 40),
	S(int80, 10),
	S(unmap, 5),
	S(unstub, 0),
	S(scribble, 5),
	S(regs, 50),
#endif
	{ NULL, NULL, 0 },
};

/* What may have been done in the moment of a kill makes a range. */
static char *put_count(char *p, const char *name, u64 n, u64 more)
{
	if (more)
		return p + sprintf(p, "\"%s\":[%llu,%llu]", name, n, n + more);
	return p + sprintf(p, "\"%s\":%llu", name, n);
}

static char *put_sums(char *p, const u64 *n)
{
	p = put_count(p + sprintf(p, "{"), "operations", n[OPS], n[MAYBE]);
	return put_count(p + sprintf(p, ","), "bytes", n[SIZE], n[MAYBE_SIZE]);
}

static char *put_both(char *p, u64 rw[2][NCNT])
{
	p = put_sums(p + sprintf(p, "\"read\":"), rw[0]);
	p = put_sums(p + sprintf(p, "},\"write\":"), rw[1]);
	return p + sprintf(p, "}");
}

static char *put_lists(char *p)
{
	p += sprintf(p, "\"files\":{");
	for (u64 i = 0; i < all->nfiles; i++) {
		p += sprintf(p, "%s\"%s\":{", i ? "," : "", all->file[i].name);
		p = put_both(p, all->file[i].rw);
		p += sprintf(p, "}");
	}
	p += sprintf(p, "},\"tasks\":[");
	for (u64 i = 0; i < all->ntasks && all->ntasks < NTASKS; i++) {
		struct task *k = all->task + i;

		p += sprintf(
			p, "%s{\"pid\":%llu,\"tid\":%llu,", i ? "," : "", k->pid, k->tid);
		p = put_both(p, k->rw);
		p += sprintf(p, "}");
	}
	p += sprintf(p, "],\"places\":[");
	for (u64 i = 0; i < all->nplaces && all->nplaces <= NPLACES; i++) {
		struct place *at = all->place + i;

		p += sprintf(p, "%s[\"%s\",\"%s\",%lld,%lld]", i ? "," : "",
			all->file[at->file].name, at->wr ? "write" : "read", at->off,
			at->n);
	}
	return p + sprintf(p, "],");
}

/* Padded, so that the size of the output is known before it is part of it. */
static void print_totals(struct me *m, struct f out, const struct scenario *s)
{
	static char b[2 * OUT_SIZE];
	u64 sum[2][NCNT] = { { 0 } };
	char *p = b;

	add(m, WRITE, out, OPS, 1);
	add(m, WRITE, out, SIZE, OUT_SIZE);
	p += sprintf(p, "{\"scenario\":\"%s\",\"fast\":%d,\"scribbled\":%s,\"calls\":{",
		s->name, sizeof(long) == 8 ? s->fast : 0,
		strcmp(s->name, "scribble") ? "false" : "true");
	for (int c = 0; c < NCALLS; c++) {
		u64 *n = all->call[c];

		for (int k = 0; k < NCNT; k++)
			sum[calls[c].wr][k] += n[k];
		p = put_sums(p + sprintf(p, "%s\"%s\":", c ? "," : "", calls[c].name), n);
		p += sprintf(p, ",\"errors\":%llu,\"again\":%llu,\"eintr\":%llu}",
			n[ERRORS], n[AGAIN], n[INTR]);
	}
	p = put_lists(p + sprintf(p, "},"));
	p = put_both(p, sum);
	p = put_count(p + sprintf(p, ",\"sync\":{\"operations\":0},"), "calls_data",
		sum[0][OPS] + sum[1][OPS], sum[0][MAYBE] + sum[1][MAYBE]);
	/* The first thread goes without a word where another one execs. */
	p += sprintf(p, ",\"unchecked\":%llu}", all->execs ? all->execs - 1 : 0);
	CHECK(p < b + OUT_SIZE);
	memset(p, ' ', b + OUT_SIZE - p);
	b[OUT_SIZE - 1] = '\n';
	CHECK(write(out.fd, b, OUT_SIZE) == OUT_SIZE);
}

static const struct scenario *find(const char *name)
{
	const struct scenario *s = scenarios;

	while (s->name && (!name || strcmp(s->name, name)))
		s++;
	return s;
}

int main(int argc, char **argv)
{
	char *name = getenv("HOT_TOTALS"), number[16], *output = NULL;
	int c, fd = name ? atoi(name) : MUST(memfd_create("totals", 0));
	struct f out = { 1, -1 };
	const struct scenario *s;
	struct me m;

	if (mallopt)
		mallopt(M_ARENA_MAX, 1);
	while ((c = getopt(argc, argv, "+o:n:")) != -1) {
		CHECK(c != '?');
		times = c == 'n' ? atol(optarg) : times;
		output = c == 'o' ? optarg : output;
	}
	s = find(argv[optind]);
	if (!s->name)
		return 77;
	whole_argv = argv;
	own_argv = argv + optind + 1;
	sprintf(number, "%d", fd);
	setenv("HOT_TOTALS", number, 1);
	MUST(ftruncate(fd, sizeof(*all)));
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(all != MAP_FAILED);
	memset(pattern, 'h', sizeof(pattern));
	if (output)
		out = new_file(output);
	m = myself(BY_LIBC);
	s->fn(&m);
	m.risky = 0;
	if (s->fn != leaf)
		print_totals(&m, out, s);
	_exit(0);
}
