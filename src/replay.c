/*
 * replay.c - saved traces as one stream of operations
 *
 * Several traces are put in the order of time by their clocks' anchors. Each waits with
 * what one step of its source gave, so memory is bounded by the number of traces.
 */
#include "iops/replay.h"
#include "iops/cpufiles.h"
#include "iops/diag.h"
#include "iops/input.h"
#include "iops/map.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/opts.h"
#include "iops/reread.h"
#include "iops/sink.h"
#include "iops/sinks.h"
#include "iops/source.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One run: a source, and operations of it that wait. */
struct part {
	struct sink sink; /* where its source puts them */
	struct source *source;
	struct input *const *input; /* of its files */
	unsigned ninputs;
	struct run *run;
	struct op *op;
	size_t n, at, cap;
	uint64_t shift_ns; /* from its own clock to that of all */
	uint32_t host;     /* name, where hosts are told apart */
	bool ended;
	unsigned number;  /* of the run that it is at: a log may hold several */
	struct map runs;  /* as it numbers them -> number here, plus 1 */
	struct map files; /* file, host -> the same one on its host */
};

struct replay {
	const struct options *o;
	struct names *names;
	struct input **input;
	unsigned ninputs;
	struct part *part;
	struct run *run;
	unsigned nparts, nruns;
	struct run all;
	struct sink *filter;
	bool hosts;       /* are to be told apart in any case */
	unsigned current; /* the run that the latest operation was of */
	bool missing;     /* files that belong to the others are not there */
};

static const struct source_ops *recognise(const struct options *o, struct input *in)
{
	const struct source_ops *best = o->from_format;
	const char *head;
	ssize_t len = input_head(in, &head);
	int sure = 0;

	if (len < 0)
		return NULL;
	/* The file of one CPU may be damaged from its beginning. */
	if (!best && len && cpufiles_is(input_name(in)))
		return &source_blktrace;
	for (size_t i = 0; source_readers[i] && !o->from_format; i++) {
		int this = source_readers[i]->probe(head, len);
		if (this > sure) {
			sure = this;
			best = source_readers[i];
		}
	}
	if (!best && reread_probe(head, len))
		diag("%s: a JSON report; 'iops merge' and 'iops diff' take it",
			input_name(in));
	else if (!best)
		diag("%s: %s; --from tells what it is", input_name(in),
			len ? "no trace that iops knows" : "empty");
	return best;
}

static int part_put(struct sink *sink, const struct op *op)
{
	struct part *p = (struct part *)sink;

	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 1024;
		struct op *more = realloc(p->op, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		p->op = more;
		p->cap = cap;
	}
	p->op[p->n++] = *op;
	return 0;
}

/* "out.1234" and "out.1235" are of one run: strace -ff writes a file a process. */
static bool same_stem(const char *a, const char *b)
{
	const char *x = strrchr(a, '.'), *y = strrchr(b, '.');

	return x && y && x - a == y - b && !strncmp(a, b, x - a) && isdigit(x[1]) &&
	       isdigit(y[1]) && x[1 + strspn(x + 1, "0123456789")] == 0 &&
	       y[1 + strspn(y + 1, "0123456789")] == 0;
}

/* Whether several files are one trace. */
static bool belongs(
	const struct source_ops *ops, const struct input *first, const struct input *in)
{
	const char *a = input_name(first), *b = input_name(in);

	return ops == &source_strace ? same_stem(a, b)
				     : ops == &source_blktrace && cpufiles_together(a, b);
}

static int add_part(
	struct replay *r, const struct source_ops *ops, unsigned first, unsigned n)
{
	static const struct sink_ops sink_ops = { .name = "part", .put = part_put };
	struct part *p = &r->part[r->nparts];
	struct source_args args = {
		.names = r->names, .inputs = r->input + first, .ninputs = n
	};

	*p = (struct part){ .sink = { &sink_ops },
		.run = &r->run[r->nparts],
		.input = r->input + first,
		.ninputs = n };
	int err = ops->open(&p->source, &args);
	if (!err)
		r->nparts++;
	return err;
}

/* A trace of blktrace that is named twice counts once. */
static void drop_twins(struct replay *r)
{
	for (unsigned i = 1; i < r->ninputs; i++)
		for (unsigned j = 0; j < i; j++)
			if (input_same(r->input[i], r->input[j]) &&
				recognise(r->o, r->input[i]) == &source_blktrace) {
				input_close(r->input[i]);
				r->ninputs--;
				memmove(r->input + i, r->input + i + 1,
					(r->ninputs - i) * sizeof(*r->input));
				i--;
				break;
			}
}

static int add_parts(struct replay *r)
{
	const struct source_ops *ops = NULL;
	unsigned first = 0;
	int err = 0;

	drop_twins(r);
	for (unsigned i = 0; i < r->ninputs && !err; i++) {
		struct input *in = r->input[i];
		const struct source_ops *this = recognise(r->o, in);
		if (!this)
			return -EINVAL;
		bool more = i && this == ops && belongs(this, r->input[first], in);
		if (!more && i) {
			err = add_part(r, ops, first, i - first);
			first = i;
		}
		ops = this;
	}
	return err ? err : add_part(r, ops, first, r->ninputs - first);
}

/* One more step of a source whose operations are all gone. */
static int refill(struct part *p)
{
	while (p->at == p->n && !p->ended) {
		p->at = p->n = 0;
		int got = p->source->ops->step(p->source, &p->sink);
		if (got < 0)
			return got;
		p->ended = !got;
	}
	return 0;
}

void replay_tell_hosts(struct replay *r)
{
	r->hosts = true;
	for (unsigned i = 0; i < r->nparts; i++) {
		const char *host = *r->run[i].host ? r->run[i].host : "unknown";
		r->part[i].host = names_add(r->names, host, strlen(host));
	}
}

/* The first run began at 0; clocks that are not known begin there too. */
static void align(struct replay *r)
{
	uint64_t first = UINT64_MAX;
	bool known = true, hosts = false;

	for (unsigned i = 0; i < r->nparts; i++) {
		known &= r->run[i].started_ns != 0;
		hosts |= strcmp(r->run[i].host, r->run[0].host) != 0;
		if (r->run[i].started_ns < first)
			first = r->run[i].started_ns;
	}
	for (unsigned i = 0; i < r->nparts; i++) {
		r->part[i].shift_ns = known ? r->run[i].started_ns - first : 0;
	}
	if (hosts)
		replay_tell_hosts(r);
	if (!known && r->nparts > 1)
		diag("not every trace tells its date: all are taken to begin together");
	r->all.started_ns = known ? first : 0;
}

static void join(struct replay *r)
{
	uint64_t started = r->all.started_ns;

	runs_join(&r->all, r->run, r->nparts);
	r->all.started_ns = started;
	for (unsigned i = 0; i < r->nparts; i++) {
		uint64_t end = r->part[i].shift_ns + r->run[i].elapsed_ns;
		if (end > r->all.elapsed_ns)
			r->all.elapsed_ns = end;
	}
}

/* Whether what was read is not all: there was an error. */
static bool is_cut_off(const struct part *p)
{
	for (unsigned i = 0; i < p->ninputs; i++)
		if (input_failed(p->input[i]))
			return true;
	return false;
}

static void describe(struct replay *r)
{
	for (unsigned i = 0; i < r->nparts; i++) {
		struct source *s = r->part[i].source;
		r->run[i].complete = true;
		s->ops->about(s, &r->run[i]);
		r->run[i].filtered |= r->o->view.partial;
		r->run[i].damaged |= r->missing || is_cut_off(&r->part[i]);
		if (r->run[i].damaged)
			r->run[i].complete = false;
	}
	if (r->nparts == 1)
		r->all = r->run[0];
	else
		join(r);
}

static int begin(struct replay *r)
{
	unsigned n = r->ninputs;

	r->part = calloc(n + 1, sizeof(*r->part));
	r->run = calloc(n + 1, sizeof(*r->run));
	int err = r->part && r->run ? add_parts(r) : -ENOMEM;
	/* What the first lines of a text tell is known after the first step. */
	for (unsigned i = 0; i < r->nparts && !err; i++)
		err = refill(&r->part[i]);
	if (err < 0)
		return err;
	describe(r);
	align(r);
	describe(r);
	return 0;
}

int replay_open_inputs(struct replay **out, const struct options *o, struct names *names,
	const struct replay_inputs *inputs)
{
	struct replay *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	if (r)
		r->input = calloc(inputs->n + 1, sizeof(struct input *));
	for (unsigned i = 0; i < inputs->n; i++)
		if (r && r->input)
			r->input[r->ninputs++] = inputs->in[i];
		else
			input_close(inputs->in[i]);
	if (r && r->input) {
		r->o = o;
		r->names = names;
		r->missing = inputs->missing;
		err = begin(r);
	}
	if (err < 0) {
		replay_close(r);
		return err;
	}
	*out = r;
	return 0;
}

static int check_apart(const struct input *in, const struct options *o)
{
	if (!input_is(in, o->output) && !input_is(in, o->log))
		return 0;
	diag("%s is what is to be written as well: --output or --log elsewhere",
		input_name(in));
	return -EINVAL;
}

int replay_files(struct replay_inputs *inputs, const struct options *o, char *const *word,
	unsigned n)
{
	struct cpufiles files;
	int err = cpufiles_find(&files, word, n);

	*inputs = (struct replay_inputs){ .n = 0 };
	if (err < 0)
		return err;
	inputs->missing = files.missing;
	inputs->in = calloc(files.n + 1, sizeof(*inputs->in));
	err = inputs->in ? 0 : -ENOMEM;
	for (unsigned i = 0; !err && i < files.n; i++) {
		bool small = cpufiles_is(files.path[i]);
		struct input **one = &inputs->in[inputs->n];
		err = (small ? input_open_small : input_open)(one, files.path[i]);
		inputs->n += !err;
		if (!err)
			err = check_apart(*one, o);
	}
	while (err && inputs->n)
		input_close(inputs->in[--inputs->n]);
	if (err) {
		free(inputs->in);
		*inputs = (struct replay_inputs){ .n = 0 };
	}
	cpufiles_fini(&files);
	return err;
}

int replay_open(struct replay **out, const struct options *o, struct names *names)
{
	struct replay_inputs inputs;
	int err = replay_files(&inputs, o, o->argv, o->argc);

	if (err)
		return err;
	err = replay_open_inputs(out, o, names, &inputs);
	free(inputs.in);
	return err;
}

/* A file is another one on another host; a log of several has told. 0: no memory. */
static uint32_t file_on_host(struct replay *r, struct part *p, uint32_t file)
{
	uintptr_t known = map_get(&p->files, file, p->host);

	if (known || !file || !p->host)
		return known ? known : file;
	struct file f = *names_file(r->names, file);
	f.host = f.host ? f.host : p->host;
	uint32_t id = names_add_file(r->names, &f);
	return id && !map_put(&p->files, file, p->host, id) ? id : 0;
}

static int announce(struct replay *r, const struct part *p, struct sink *to)
{
	struct op op = { .kind = OP_RUN,
		.ret = p->number,
		.comm = p->host,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.fd = -1 };

	r->current = p->number;
	return sink_put(to, &op);
}

/* What follows in that log is of another run: among all of them it has another number. */
static int go_to_run(struct replay *r, struct part *p, const struct op *op)
{
	const uint64_t inner = (uint64_t)op->ret;
	uintptr_t number = map_get(&p->runs, inner, 0);

	if (!number) {
		number = inner ? ++r->nruns : (uintptr_t)(p - r->part) + 1;
		if (map_put(&p->runs, inner, 0, number) < 0)
			return -ENOMEM;
	}
	p->number = (unsigned)(number - 1);
	p->host = op->comm ? op->comm : p->host;
	return 0;
}

static int put_one(struct replay *r, struct part *p, struct sink *to)
{
	struct op op = p->op[p->at++];
	int err = 0;

	if (op.kind == OP_RUN)
		return go_to_run(r, p, &op);
	op.start_ns += p->shift_ns;
	op.file = file_on_host(r, p, op.file);
	if (p->number != r->current)
		err = announce(r, p, to);
	return err ? err : sink_put(to, &op);
}

/* The part whose next operation began first; -1 at the end of all. */
static int earliest(const struct replay *r)
{
	uint64_t best = UINT64_MAX;
	int found = -1;

	for (unsigned i = 0; i < r->nparts; i++) {
		const struct part *p = &r->part[i];
		if (p->at == p->n)
			continue;
		uint64_t at = p->op[p->at].start_ns + p->shift_ns;
		if (found < 0 || at < best) {
			found = (int)i;
			best = at;
		}
	}
	return found;
}

static int run_many(struct replay *r, struct sink *to)
{
	int i, err = 0;

	r->nruns = r->nparts;
	for (unsigned n = 0; n < r->nparts; n++)
		r->part[n].number = n;
	r->current = UINT_MAX;
	while (!err && (i = earliest(r)) >= 0) {
		err = put_one(r, &r->part[i], to);
		if (!err)
			err = refill(&r->part[i]);
	}
	return err;
}

static int run_one(struct part *p, struct sink *to)
{
	int err = 0, got = !p->ended;

	for (; p->at < p->n && !err; p->at++)
		err = sink_put(to, &p->op[p->at]);
	while (!err && got > 0)
		got = p->source->ops->step(p->source, to);
	return err ? err : got < 0 ? got : 0;
}

static uint64_t since_start(const struct replay *r, const struct moment *m)
{
	if (!m->absolute)
		return m->ns;
	return m->ns > r->all.started_ns ? m->ns - r->all.started_ns : 0;
}

/* What the options keep. *entry is where to put everything. */
static int add_filter(struct replay *r, struct sink *to, struct sink **entry)
{
	const struct options *o = r->o;
	struct filter f = {
		.path = o->path,
		.npaths = o->npaths,
		.types = o->types,
		.pids = o->only,
		.npids = o->nonly,
		.want = o->want_given ? &o->want : NULL,
		.from_ns = since_start(r, &o->from),
		.to_ns = o->to.set ? since_start(r, &o->to) : 0,
	};

	*entry = to;
	if (o->to.set && !f.to_ns)
		f.to_ns = 1; /* before the beginning: nothing */
	if ((o->from.absolute || o->to.absolute) && !r->all.started_ns) {
		diag("the trace tells no date: --from-time and --to-time take seconds");
		return -EINVAL;
	}
	if (!f.npaths && !f.types && !f.npids && !f.want && !f.from_ns && !f.to_ns)
		return 0;
	int err = filter_new(&r->filter, &f, r->names, to);
	*entry = r->filter;
	return err;
}

/* Of a window of time, only that counts as elapsed. */
static void cut_elapsed(struct replay *r)
{
	uint64_t from = since_start(r, &r->o->from), to = r->all.elapsed_ns;

	if (!r->o->from.set && !r->o->to.set)
		return;
	if (r->o->to.set && since_start(r, &r->o->to) < to)
		to = since_start(r, &r->o->to);
	r->all.elapsed_ns = to > from ? to - from : 0;
}

int replay_run(struct replay *r, struct sink *to)
{
	struct sink *entry;
	int err = add_filter(r, to, &entry);

	if (!err)
		err = r->nparts == 1 && !r->hosts ? run_one(&r->part[0], entry)
						  : run_many(r, entry);
	describe(r);
	cut_elapsed(r);
	return err;
}

const struct run *replay_about(struct replay *r)
{
	return &r->all;
}

const struct run *replay_runs(const struct replay *r, unsigned *n)
{
	*n = r->nparts;
	return r->run;
}

void replay_close(struct replay *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->nparts; i++) {
		r->part[i].source->ops->close(r->part[i].source);
		free(r->part[i].op);
		map_fini(&r->part[i].files);
		map_fini(&r->part[i].runs);
	}
	for (unsigned i = 0; i < r->ninputs; i++)
		input_close(r->input[i]);
	sink_close(r->filter);
	free(r->input);
	free(r->part);
	free(r->run);
	free(r);
}
