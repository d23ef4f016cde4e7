/*
 * collect.c - the work of the tracer process: trace, sum up, report
 */
#include "iops/front.h"
#include "iops/folder.h"
#include "iops/left.h"
#include "iops/diag.h"
#include "iops/log.h"
#include "iops/process.h"
#include "iops/session.h"
#include "iops/sink.h"
#include "iops/sinks.h"
#include "iops/slurp.h"
#include "iops/source.h"
#include "iops/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

struct collection {
	struct front_job *job;
	const struct options *o;
	struct names *names;
	struct stats *stats;
	struct session session;
	struct run run;
	const struct source_ops *ops;
	pid_t *pids;
	struct sink *filter;
	struct folder *folder;      /* NULL: none. One of the sinks of the session */
	struct trace_options trace; /* of --layers */
};

/* A random one: RFC 9562, version 4. */
static void make_uuid(char *out, size_t size)
{
	uint8_t b[16];

	*out = 0;
	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return;
	b[6] = 0x40 | (b[6] & 0x0f);
	b[8] = 0x80 | (b[8] & 0x3f);
	for (size_t i = 0, at = 0; i < sizeof(b); i++)
		at += snprintf(out + at, size - at, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
}

static void describe(struct run *run)
{
	struct utsname u;
	struct timespec t;

	make_uuid(run->id, sizeof(run->id));
	if (!uname(&u)) {
		snprintf(run->host, sizeof(run->host), "%s", u.nodename);
		snprintf(run->kernel, sizeof(run->kernel), "%s", u.release);
	}
	clock_gettime(CLOCK_REALTIME, &t);
	run->started_ns = t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
	if (slurp("/proc/sys/kernel/random/boot_id", run->boot_id, sizeof(run->boot_id)) <
		0)
		*run->boot_id = 0;
	run->boot_id[strcspn(run->boot_id, "\n")] = 0;
}

static const struct proc *command_of(const struct collection *c)
{
	size_t n;
	const struct proc *p = stats_procs(c->stats, &n);

	for (size_t i = 0; c->job->launch && i < n; i++)
		if (p[i].pid == c->job->launch->command)
			return &p[i];
	return NULL;
}

/*
 * From the command's exec to its end; with --wait, to the end of the last process, or to
 * now, while one runs.
 * Without a command, since operations are seen: what a source takes to begin is not our
 * time.
 */
static uint64_t elapsed(const struct collection *c)
{
	size_t n;
	const struct proc *all = stats_procs(c->stats, &n), *p = command_of(c);
	uint64_t now = session_now(&c->session), start = p ? p->start_ns : 0, end = 0;

	if (!p)
		return now - c->session.open_ns;
	if (!p->end_ns)
		return now - start;
	end = p->end_ns;
	for (size_t i = 0; c->o->wait && i < n; i++) {
		uint64_t last = all[i].end_ns ? all[i].end_ns : now;
		end = last > end ? last : end;
	}
	return end - start;
}

static void update(struct collection *c, bool snapshot)
{
	const struct totals *t = stats_totals(c->stats);
	const struct proc *p = command_of(c);
	struct run *run = &c->run;
	struct launch *l = c->job->launch;

	run->elapsed_ns = elapsed(c);
	run->snapshot = snapshot;
	run->ended = p ? p->end_ns != 0 : false;
	run->status = run->ended ? p->status : 0;
	if (!run->ended && l && l->ended) {
		run->ended = true;
		run->status = l->status;
	}
	run->complete = totals_whole(t) && !run->counters_only && !run->machine_wide;
}

static int report(struct collection *c)
{
	struct report_in in = { c->stats, c->names, &c->run, &c->o->view };
	bool rows = c->o->interval_ns && c->o->format != &report_table;

	/* The rows of the intervals are the whole of a CSV: one table, one header. */
	if ((c->o->interval_ns && c->o->format == &report_csv) || c->o->mount.detail)
		return 0;
	return out_report(c->job->out, c->o->format, &in, rows);
}

static void snapshot(void *arg)
{
	update(arg, true);
	report(arg);
}

static int write_row(void *arg, const char *text, size_t len)
{
	struct collection *c = arg;

	return out_write(c->job->out, text, len);
}

static int add_lines(struct collection *c)
{
	struct fuse_trace_args lines = {
		.detail = c->o->mount.detail,
		.run = &c->run,
		.flush = c->o->mount.flush,
		.write = write_row,
		.arg = c,
	};
	int err = out_rows(c->job->out);

	if (!err)
		err = fuse_trace_new(&c->session.sink[c->session.nsinks], &lines);
	c->session.nsinks += !err;
	return err;
}

/* Behind the filter: the sums, then what else was asked for. */
static int add_sinks(struct collection *c)
{
	const struct options *o = c->o;
	struct session *s = &c->session;
	struct filter f = {
		.path = o->path,
		.npaths = o->npaths,
		.types = o->types,
		.pids = o->only,
		.npids = o->nonly,
		.want = o->mount.point && o->want_given ? &o->want : NULL,
	};
	struct interval_args rows = {
		.format = o->format == &report_json  ? INTERVAL_JSON
			  : o->format == &report_csv ? INTERVAL_CSV
						     : INTERVAL_TABLE,
		.units = o->view.units,
		.write = write_row,
		.arg = c,
	};
	const struct trace_options *t = o->trace.dir ? &o->trace : NULL;
	struct log_args log = { c->names, &c->run, c->job->log->name, c->job->log->fd };
	int err = 0;

	s->sink[s->nsinks++] = stats_sink(c->stats);
	if (f.npaths || f.types || f.npids || f.want)
		err = filter_new(&c->filter, &f, c->names, session_fan(s));
	s->entry = c->filter;
	if (!err && o->interval_ns)
		err = interval_new(&s->sink[s->nsinks], &rows);
	s->nsinks += !err && o->interval_ns;
	if (!err && log.fd >= 0)
		err = log_new(&s->sink[s->nsinks], &log);
	s->nsinks += !err && log.fd >= 0;
	if (!err && t)
		err = folder_new(&c->folder, t, c->run.started_ns, s->epoch_ns);
	if (!err && t)
		s->sink[s->nsinks++] = folder_sink(c->folder);
	if (!err && o->mount.detail)
		err = add_lines(c);
	s->flushes = log.fd >= 0 || t || o->mount.detail;
	return err;
}

static int parse_pids(struct collection *c)
{
	struct run *run = &c->run;

	if (c->job->launch) {
		run->command = c->o->argv;
		run->pids = &c->job->launch->command;
		run->npids = 1;
		return 0;
	}
	c->pids = calloc(c->o->argc, sizeof(*c->pids));
	if (!c->pids)
		return -ENOMEM;
	for (int i = 0; i < c->o->argc; i++)
		c->pids[i] = atoi(c->o->argv[i]);
	run->pids = c->pids;
	run->npids = c->o->argc;
	return 0;
}

/* Those that have ended are named, and left out. -ESRCH if that leaves none. */
static int check_pids(struct collection *c)
{
	unsigned n = 0, given = c->pids ? c->run.npids : 0;

	for (unsigned i = 0; i < given; i++) {
		pid_t pid = process_tgid(c->pids[i], NULL);
		bool again = false;

		if (process_check(pid ? pid : c->pids[i]) < 0)
			continue;
		for (unsigned j = 0; j < n; j++)
			again |= c->pids[j] == pid;
		if (!again)
			c->pids[n++] = pid;
	}
	if (given && !n)
		return -ESRCH;
	if (given)
		c->run.npids = n;
	return 0;
}

/* Those that the source cannot attach to, as it has said. */
static void forget_refused(struct collection *c)
{
	unsigned n = 0;

	for (unsigned i = 0; c->pids && i < c->run.npids; i++)
		if (c->pids[i])
			c->pids[n++] = c->pids[i];
	c->run.npids = c->pids ? n : c->run.npids;
}

static const uint32_t story_layers = 1u << LAYER_MAIN | 1u << LAYER_CACHE |
				     1u << LAYER_BLOCK | 1u << LAYER_FAULT | TRACE_URING;

/* For --layers; without the rights to that, the calls alone, and the ledger. */
static int open_layers(struct collection *c, struct source_args *args)
{
	int err;

	c->trace = c->o->trace;
	c->trace.layers = story_layers;
	args->trace = &c->trace;
	args->quiet = !strcmp(c->o->backend, "auto");
	c->ops = &source_bpf;
	err = c->ops->open(&c->session.source, args);
	c->run.story = !err;
	if (!err)
		return 0;
	args->trace = NULL;
	snprintf(c->run.why, sizeof(c->run.why),
		"no layers below the calls: %s; the ledger tells what is known without",
		err == -EPERM || err == -EACCES
			? "eBPF takes root, or CAP_BPF and CAP_PERFMON"
		: err == -ENOSYS ? "this iops was built without eBPF"
				 : strerror(-err));
	return err;
}

/* What it alone knows; at the end again, as more may have turned up. */
static void ask_source(struct collection *c)
{
	if (c->ops->about)
		c->ops->about(c->session.source, &c->run);
}

/* The best way that is allowed, and in words why no better one. */
static int open_source(struct collection *c)
{
	static const struct source_ops *const known[] = { &source_ptrace, &source_proc,
		&source_bpf, &source_system, &source_fuse, &source_blktrace_live };
	const struct options *o = c->o;
	struct source_args args = {
		.names = c->names,
		.want = &o->want,
		.want_given = o->want_given,
		.epoch_ns = c->session.epoch_ns,
		.pids = c->pids,
		.npids = c->pids ? c->run.npids : 0,
		.launch = c->job->launch,
		.foresight = c->job->foresight,
		.follow = o->follow,
		.wait = o->wait,
		.filter = o->filter,
		.patch_after = o->patch_after,
		.streams = folder_streams(c->folder),
		.trace = o->trace.layers ? &o->trace : NULL,
		.mount = o->mount.point ? &o->mount : NULL,
		.command = c->run.command ? c->run.command[0] : NULL,
	};
	bool automatic = !strcmp(o->backend, "auto");
	int err = o->story ? open_layers(c, &args) : -EINVAL;

	for (size_t i = 0; err && i < sizeof(known) / sizeof(*known); i++) {
		if ((!automatic && strcmp(known[i]->name, o->backend)) ||
			(o->story && !automatic))
			continue;
		c->ops = known[i];
		err = known[i]->open(&c->session.source, &args);
		if (!err || !automatic || i > 0 ||
			(err != -EPERM && err != -EACCES && err != -ENOSYS))
			break;
		snprintf(c->run.why, sizeof(c->run.why),
			"ptrace is not allowed here (%s; 'iops doctor' tells more): "
			"counters only",
			strerror(-err));
	}
	/* That one has said it, with the way out. */
	if (err < 0 && c->job->launch && c->ops != &source_blktrace_live)
		diag_err(err, "cannot trace by %s; 'iops doctor' tells what works here",
			c->ops->name);
	snprintf(c->run.backend, sizeof(c->run.backend), "%s", c->ops->name);
	c->run.layers = c->ops == &source_bpf && args.trace ? args.trace->layers : 0;
	c->run.counters_only = c->ops == &source_proc;
	c->run.machine_wide = c->ops == &source_system;
	if (c->ops == &source_bpf && !c->job->launch && !c->run.npids)
		snprintf(c->run.title, sizeof(c->run.title), "the whole machine");
	c->run.filtered = o->view.partial;
	c->run.verifies = (c->ops == &source_ptrace || c->ops == &source_bpf) &&
			  syscall_set_countable(&o->want);
	if (!err) {
		forget_refused(c);
		ask_source(c);
	}
	if (c->ops == &source_proc && !*c->run.why)
		snprintf(c->run.why, sizeof(c->run.why),
			"counters only: operations and bytes as /proc/PID/io has them");
	if (c->ops == &source_system && !err)
		snprintf(c->run.why, sizeof(c->run.why),
			"the whole machine: what /proc/diskstats counted meanwhile, "
			"whoever did it");
	return err;
}

static int close_sinks(struct collection *c)
{
	int err = 0;

	for (unsigned i = 1; i < c->session.nsinks; i++) {
		int one = sink_close(c->session.sink[i]);
		err = err ? err : one;
	}
	sink_close(c->filter);
	return err;
}

/* Nothing was run where the command could not be. */
static bool never_ran(const struct collection *c)
{
	return c->job->launch && c->job->launch->exec_errno;
}

/* Whether somebody is left who needs us behind the report. */
static bool is_served(const struct collection *c)
{
	size_t n;
	const struct proc *p = stats_procs(c->stats, &n);

	if (c->o->mount.point)
		return true;
	for (size_t i = 0; c->job->launch && i < n; i++)
		if (p[i].running_on)
			return true;
	return false;
}

static struct sink *entry_of(struct session *s)
{
	return s->entry ? s->entry : session_fan(s);
}

void collect(struct front_job *job)
{
	struct collection c = { .job = job, .o = job->options };
	const struct options *o = c.o;
	int err;

	c.session = (struct session){ .interval_ns = o->interval_ns,
		.duration_ns = o->duration_ns,
		.stop_on_signal = !job->launch,
		.snapshot = snapshot,
		.arg = &c };
	describe(&c.run);
	session_begin(&c.session);
	c.run.epoch_ns = c.session.epoch_ns;
	c.names = names_new();
	c.stats = c.names ? stats_new(c.names, o->dims) : NULL;
	err = c.stats ? parse_pids(&c) : -ENOMEM;
	if (!err && o->interval_ns) /* rows stay before the report */
		err = out_rows(job->out);
	if (!err)
		err = add_sinks(&c);
	if (err < 0)
		diag_err(err, "cannot begin");
	else if (!(err = check_pids(&c)))
		err = open_source(&c);
	if (!err && o->mount.daemon)
		front_done(job, 0); /* it is mounted; what comes is our own affair */
	if (!err) {
		err = session_run(&c.session);
		if (err < 0)
			diag_err(err, "tracing failed; the report covers what was seen");
		if (!err && c.run.layers & 1u << LAYER_CACHE && c.run.npids)
			err = left_put(
				c.stats, entry_of(&c.session), session_now(&c.session));
		ask_source(&c);
		if (!is_served(&c))
			front_reports(job);
		/* The log first: the report may wait for its reader, and be given up. */
		update(&c, false);
		int wrote = close_sinks(&c);
		err = err ? err : wrote;
		wrote = never_ran(&c) ? 0 : report(&c);
		err = err ? err : wrote;
	}
	int late = out_close(job->out);
	int late_log = out_close(job->log);
	late = late ? late : late_log;
	/* Detach before saying done; what cannot be detached is served beyond it. */
	if (!job->launch && !o->mount.point && c.session.source) {
		c.ops->close(c.session.source);
		c.session.source = NULL;
	}
	front_done(job, err ? err : late);
	stats_free(c.stats);
	if (c.session.source) {
		if (chdir("/") < 0)
			err = -errno;
		c.ops->close(c.session.source);
	}
	names_free(c.names);
	free(c.pids);
}
