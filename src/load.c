/*
 * load.c - the sums of saved runs: of JSON reports, and of traces of any kind
 */
#include "iops/load.h"
#include "iops/diag.h"
#include "iops/input.h"
#include "iops/op.h"
#include "iops/opts.h"
#include "iops/replay.h"
#include "iops/reread.h"
#include "iops/sink.h"
#include "iops/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Inputs by what they are. */
struct files {
	struct input **trace, **report;
	unsigned ntraces, nreports;
	char **text; /* of the reports */
	size_t *len;
	bool missing; /* files that belong to the others are not there */
};

/* Takes over all inputs. */
static int sort_out(struct files *f, const struct replay_inputs *all)
{
	int err = 0;

	for (unsigned i = 0; i < all->n; i++) {
		struct input *in = all->in[i];
		const char *head;
		ssize_t n = input_head(in, &head);
		if (err || n < 0 || !reread_probe(head, n)) {
			f->trace[f->ntraces++] = in;
			continue;
		}
		unsigned at = f->nreports++;
		f->report[at] = in;
		err = input_rest(in, &f->text[at], &f->len[at]);
	}
	return err;
}

/* The host that a report names, as it stands there; len 0: none. */
static const char *host_in(const char *text, size_t *len)
{
	const char *run = strstr(text, "\"run\":");
	const char *p = run ? strstr(run, "\"host\":") : NULL;

	p = p ? strchr(p + 7, '"') : NULL;
	*len = p ? strcspn(p + 1, "\"") : 0;
	return p ? p + 1 : "";
}

/* Whether not all are of one host, so that they have to be told apart. */
static bool other_host(const struct files *f, const struct run *runs, unsigned n)
{
	size_t first = 0, len;
	const char *host = f->nreports ? host_in(f->text[0], &first) : "", *p;

	for (unsigned i = 1; i < f->nreports; i++) {
		p = host_in(f->text[i], &len);
		if (len != first || memcmp(p, host, len))
			return true;
	}
	for (unsigned i = 0; i < n && f->nreports; i++)
		if (strlen(runs[i].host) != first || memcmp(runs[i].host, host, first))
			return true;
	return false;
}

static int load_traces(
	struct load *l, const struct options *o, struct names *names, struct files *f)
{
	struct replay_inputs inputs = { f->trace, f->ntraces, f->missing };
	unsigned n;

	if (!f->ntraces)
		return 0;
	f->ntraces = 0; /* they are the replay's now */
	int err = replay_open_inputs(&l->replay, o, names, &inputs);
	if (err < 0)
		return err;
	const struct run *runs = replay_runs(l->replay, &n);
	if (other_host(f, runs, n))
		replay_tell_hosts(l->replay);
	err = replay_run(l->replay, stats_sink(l->stats));
	if (err < 0)
		return err;
	memcpy(l->runs, runs, n * sizeof(*runs));
	l->nruns = n;
	return 0;
}

/* Those that it sums up, or its own. */
static int add_runs(struct load *l, const struct reread *r)
{
	unsigned n = r->nparts ? r->nparts : 1;
	struct run *runs = realloc(l->runs, (l->nruns + n) * sizeof(*runs));

	if (!runs)
		return -ENOMEM;
	l->runs = runs;
	for (unsigned i = 0; i < n; i++) {
		struct run *run = &runs[l->nruns++];
		*run = r->nparts ? r->part[i].run : r->run;
		run->complete &= r->run.complete;
		run->damaged |= r->run.damaged;
	}
	return 0;
}

static int load_reports(struct load *l, const struct files *f)
{
	bool hosts = other_host(f, l->runs, l->nruns);
	int err = 0;

	for (unsigned i = 0; i < f->nreports && !err; i++) {
		struct reread_args args = { f->text[i], input_name(f->report[i]),
			f->len[i], l->stats, l->nruns, hosts };
		err = reread(&l->report[l->nreports++], &args);
		if (!err)
			err = add_runs(l, &l->report[i]);
	}
	return err;
}

static void sum_up(struct load *l)
{
	if (l->nruns == 1) {
		l->run = l->runs[0];
	} else {
		runs_join(&l->run, l->runs, l->nruns);
		for (unsigned i = 0; i < l->nruns; i++)
			l->run.elapsed_ns += l->runs[i].elapsed_ns;
	}
	l->run.complete &= totals_whole(stats_totals(l->stats));
}

/* Open what the words name, of a block trace all files. 0 or -errno. */
static int open_all(struct files *f, const struct options *o, char *const *words)
{
	struct replay_inputs all;
	unsigned n = 0;

	while (words[n])
		n++;
	int err = replay_files(&all, o, words, n);
	if (err < 0)
		return err;
	f->trace = calloc(all.n + 1, sizeof(*f->trace));
	f->report = calloc(all.n + 1, sizeof(*f->report));
	f->text = calloc(all.n + 1, sizeof(*f->text));
	f->len = calloc(all.n + 1, sizeof(*f->len));
	f->missing = all.missing;
	bool room = f->trace && f->report && f->text && f->len;
	for (unsigned i = 0; !room && i < all.n; i++)
		input_close(all.in[i]);
	err = room ? sort_out(f, &all) : -ENOMEM;
	free(all.in);
	return err;
}

int load(struct load *l, const struct options *o, struct names *names, char *const *words)
{
	struct files f = { .ntraces = 0 };
	int err = open_all(&f, o, words);
	unsigned n = f.ntraces + f.nreports;

	l->stats = stats_new(names, o->dims);
	l->runs = calloc(n + 1, sizeof(*l->runs));
	l->report = calloc(n + 1, sizeof(*l->report));
	if (!err && (!l->stats || !l->runs || !l->report))
		err = -ENOMEM;
	if (!err && f.nreports && (o->npaths || o->types || o->nonly || o->want_given)) {
		diag("%s: a JSON report holds sums, which cannot be filtered; a log can",
			input_name(f.report[0]));
		err = -EINVAL;
	}
	if (!err)
		err = load_traces(l, o, names, &f);
	if (!err)
		err = load_reports(l, &f);
	if (!err)
		sum_up(l);
	for (unsigned i = 0; i < f.ntraces; i++)
		input_close(f.trace[i]);
	for (unsigned i = 0; i < f.nreports; i++) {
		input_close(f.report[i]);
		free(f.text[i]);
	}
	free(f.trace);
	free(f.report);
	free(f.text);
	free(f.len);
	return err;
}

void load_fini(struct load *l)
{
	for (unsigned i = 0; i < l->nreports; i++)
		reread_fini(&l->report[i]);
	replay_close(l->replay);
	stats_free(l->stats);
	free(l->report);
	free(l->runs);
	*l = (struct load){ 0 };
}
