/*
 * opts.c - the option table, and what turns it into struct options
 */
#include "iops/opts.h"
#include "iops/diag.h"
#include "iops/export.h"
#include "iops/source.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* id: the letter; capital letters beyond it are for options that have none. */
struct option_row {
	int id;
	bool letter;
	const char *name, *arg, *help;
};

static const struct option_row rows[] = {
	{ 'o', true, "output", "FILE", "write the report to FILE; - is standard output" },
	{ 'f', true, "format", "NAME",
		"table (default), json or csv; of 'iops report' also\n"
		"blkparse: the events of a block trace; of 'iops mount'\n"
		"fuse-trace: a line for each operation" },
	{ 'J', false, "json", NULL, "short for --format json" },
	{ 'H', true, "histogram", NULL,
		"add histograms of size and latency to the table" },
	{ 'B', false, "by", "KEY[,KEY]",
		"break down by file (default), dir, type, process,\n"
		"thread, command, call, kind, device, mount, error,\n"
		"host or group" },
	{ 'S', false, "sort", "COLUMN", "order of the rows (default: bytes)" },
	{ 'T', false, "top", "N", "number of rows (default 10, 0: all)" },
	{ 'C', false, "columns", "A,B",
		"columns of the rows; 'iops help columns' lists them" },
	{ 'e', true, "trace", "SET",
		"calls that count: data, sync, classic, net, meta,\n"
		"all or names; !x excludes (default data,sync; of\n"
		"a saved trace all that it holds)" },
	{ 'P', true, "path", "GLOB",
		"keep only files whose path matches, of several one" },
	{ 'Y', false, "type", "LIST", "keep only files of these types" },
	{ 'I', false, "pid", "LIST", "keep only these processes or threads" },
	{ 'b', true, "backend", "NAME",
		"auto (default), ptrace, bpf, proc, system or\n"
		"blktrace; 'iops trace' knows bpf and blktrace" },
	{ 'l', true, "log", "FILE", "keep the operation log; - is standard output" },
	{ 'g', true, "group", "NAME:PID,...", "sum up these processes as NAME" },
	{ 'M', false, "from", "FORMAT",
		"iops, strace, fs_usage, fuse-trace or blktrace\n"
		"(default: by content)" },
	{ 'A', false, "from-time", "TIME",
		"what began later: seconds since the start of the\n"
		"run, or 2026-01-31T12:00:00.5Z" },
	{ 'Z', false, "to-time", "TIME", "what began earlier" },
	{ 'X', false, "to", "FORMAT", "csv, jsonl, chrome, fio, folded, sqlite or avro" },
	{ 'K', false, "weight", "WHAT",
		"of folded stacks: bytes (default), operations or time" },
	{ 'd', true, "duration", "SEC", "stop after so many seconds" },
	{ 'i', true, "interval", "SEC", "a row every so many seconds before the report" },
	{ 'N', false, "no-follow", NULL, "only the command itself, not its children" },
	{ 'W', false, "wait", NULL, "until the whole tree has ended" },
	{ 'F', false, "no-filter", NULL,
		"stop at every call instead of by a seccomp filter" },
	{ 'G', false, "no-patch", NULL,
		"leave the program's code alone: operations stop" },
	{ 'E', false, "patch-after", "N",
		"patch call sites after N stops (40); 0: never" },
	{ 'O', false, "layers", NULL,
		"what became of it in page cache and devices: root" },
	{ 'y', false, "layers", "LIST",
		"fs, cache, block, net, fault, uring or all\n"
		"(default fs,cache,block,uring)" },
	{ 'p', true, "process", "PID,...", "these processes, not the whole machine" },
	{ 'c', false, "comm", "NAME", "only commands whose name begins like this" },
	{ 'u', false, "uid", "N", "only this user's" },
	{ 'j', false, "cgroup", "DIR", "only of this cgroup" },
	{ 'D', false, "device", "DEVICE",
		"only files and disks of it: MAJ:MIN or /dev/NODE;\n"
		"of blktrace as many as are given" },
	{ '1', false, "under", "DIR", "only files below this directory" },
	{ 'm', false, "min-size", "BYTES", "only operations of so many bytes" },
	{ 't', false, "min-latency", "SEC", "only operations that took so long" },
	{ 'x', false, "aggregate", NULL,
		"sum up in the kernel: for more events than a log\n"
		"could hold" },
	{ 'z', false, "buffer", "BYTES", "between kernel and reader (default 16M)" },
	{ 'n', false, "snapshot", "LIST", "into the folder: fs, process, system or all" },
	{ 'r', false, "snapshot-root", "DIR", "where the snapshot of files begins" },
	{ 'a', false, "anonymize", NULL, "names in the folder by a keyed hash" },
	{ 'k', false, "anonymize-key", "FILE", "with this key (default: a new one)" },
	{ 'Q', false, "plain", NULL, "files of the folder are not compressed" },
	{ 's', false, "rotate-size", "BYTES", "a new file after so much (100M)" },
	{ 'w', false, "rotate-age", "SEC", "and after so long (300)" },
	{ '2', false, "direct", NULL, "every operation as it was made (default)" },
	{ '3', false, "cached", NULL,
		"faster: the kernel caches, and hides what it has" },
	{ '4', false, "daemon", NULL, "go to the background once it is mounted" },
	{ '5', false, "flush", NULL, "write each line of a FUSE trace at once" },
	{ '6', false, "clear", NULL, "empty the source first" },
	{ 'U', false, "si", NULL, "powers of 1000 instead of 1024" },
	{ 'R', false, "raw", NULL, "plain numbers" },
	{ 'L', false, "color", "WHEN", "auto (default), always or never" },
	{ 'q', true, "quiet", NULL, "only the numbers" },
	{ 'v', true, "verbose", NULL, "more words on how it was done" },
	{ 'h', true, "help", NULL, "this text" },
};
enum { NROWS = sizeof(rows) / sizeof(*rows) };

static const struct report *const formats[] = { &report_table, &report_json,
	&report_csv };
static const char *const backends[] = { "auto", "ptrace", "bpf", "proc", "system",
	"blktrace" };

static const struct report *format_of(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

/* fn for each word between commas. */
static int each_word(
	const char *list, int (*fn)(struct options *, const char *), struct options *o)
{
	char *copy = strdup(list), *save = NULL;
	int err = copy ? 0 : -ENOMEM;

	if (copy && !list[strspn(list, ",")]) {
		err = diag_usage(o->verb, "'%s' names nothing", list);
	}
	for (char *w = !err ? strtok_r(copy, ",", &save) : NULL; w && !err;
		w = strtok_r(NULL, ",", &save))
		err = fn(o, w);
	free(copy);
	return err;
}

static int add_path(struct options *o, const char *glob)
{
	const char **more = realloc(o->path, (o->npaths + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	o->path = more;
	o->path[o->npaths++] = glob;
	return 0;
}

static int add_by(struct options *o, const char *word)
{
	int d = dim_of(word);

	if (d < 0)
		return opts_wrong(o->verb, "by", word,
			"no such key; file, dir, type, process, thread, command, call, "
			"kind, device, mount, error, host and group are");
	if (o->view.nby < MAX_BY && !(o->dims >> d & 1))
		o->view.by[o->view.nby++] = d;
	o->dims |= 1u << d;
	return 0;
}

static int add_column(struct options *o, const char *word)
{
	struct column *c = &o->column[o->view.ncolumns];

	if (o->view.ncolumns == MAX_COLUMNS)
		return opts_wrong(o->verb, "columns", word, "too many columns");
	if (!column_find(word, c))
		return opts_wrong("columns", "columns", word, "no such column");
	o->view.column[o->view.ncolumns++] = c;
	return 0;
}

static int add_type(struct options *o, const char *word)
{
	int type = file_type_of(word);

	if (type < 0)
		return opts_wrong(o->verb, "type", word,
			"no such type; regular, dir, pipe, socket, tty, char, block, "
			"anon and unknown are");
	o->types |= 1u << type;
	return 0;
}

static int add_pid(struct options *o, const char *word)
{
	char *end;
	long pid = strtol(word, &end, 10);
	pid_t *more = realloc(o->only, (o->nonly + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	o->only = more;
	if (*end || pid <= 0 || pid > INT_MAX)
		return opts_wrong(o->verb, "pid", word, "not a process id");
	o->only[o->nonly++] = (pid_t)pid;
	return 0;
}

static int set_top(struct options *o, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || n > UINT32_MAX)
		return opts_wrong(o->verb, "top", text, "not a number of rows");
	o->view.top = (unsigned)n;
	return 0;
}

static int set_colour(struct options *o, const char *text)
{
	static const char *const when[] = { "auto", "always", "never" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(text, when[i])) {
			o->colour = i;
			return 0;
		}
	return opts_wrong(o->verb, "color", text, "auto, always and never are known");
}

/* by: what says so, as it is written. */
static int set_backend(struct options *o, const char *by, const char *text)
{
	for (size_t i = 0; i < sizeof(backends) / sizeof(*backends); i++)
		if (!strcmp(text, backends[i])) {
			o->backend = backends[i];
			return 0;
		}
	return diag_usage(o->verb,
		"%s %s: auto, ptrace, bpf, proc, system and blktrace are known", by,
		text);
}

static int set_format(struct options *o, const char *text)
{
	o->blkparse = !strcmp(text, "blkparse");
	o->mount.trace = !strcmp(text, "fuse-trace");
	if (o->blkparse || o->mount.trace)
		return 0;
	o->format = format_of(text);
	return o->format ? 0
			 : opts_wrong(o->verb, "format", text,
				   "table, json and csv are known");
}

static int set_group(struct options *o, const char *text)
{
	int err = groups_add(&o->groups, text);

	return err == -EINVAL
		       ? opts_wrong(o->verb, "group", text, "not NAME:PID[,PID...]")
		       : err;
}

static int set_sort(struct options *o, const char *text)
{
	if (!column_find(text, &o->sort))
		return opts_wrong("columns", "sort", text, "no such column");
	o->view.sort = &o->sort;
	return 0;
}

static int set_trace(struct options *o, const char *text)
{
	const char *bad = text;

	o->want_given = true;
	return syscall_set_parse(&o->want, text, &bad) < 0
		       ? opts_wrong(o->verb, "trace", bad,
				 "neither a set nor a call that iops knows")
		       : 0;
}

static int set_from_format(struct options *o, const char *text)
{
	for (size_t i = 0; source_readers[i]; i++)
		if (!strcmp(source_readers[i]->name, text)) {
			o->from_format = source_readers[i];
			return 0;
		}
	return opts_wrong(o->verb, "from", text,
		"iops, strace, fs_usage, fuse-trace and blktrace are known");
}

static int set_exporter(struct options *o, const char *text)
{
	for (size_t i = 0; exporters[i]; i++)
		if (!strcmp(exporters[i]->name, text)) {
			o->exporter = exporters[i];
			return 0;
		}
	return opts_wrong(o->verb, "to", text,
		"csv, jsonl, chrome, fio, folded, sqlite and avro are known");
}

static int set_weight(struct options *o, const char *text)
{
	static const char *const what[] = { "bytes", "operations", "time" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(text, what[i])) {
			o->weight = i;
			return 0;
		}
	return opts_wrong(
		o->verb, "weight", text, "bytes, operations and time are known");
}

static int set_patch_after(struct options *o, const char *arg)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || n > 1000000)
		return opts_wrong(o->verb, "patch-after", arg, "not a number of stops");
	o->patch_after = n;
	return 0;
}

/* Options without an argument; whether it is one. */
static bool set_flag(struct options *o, int id)
{
	struct view *v = &o->view;
	bool *const on = id == 'H'   ? &v->histogram
			 : id == 'q' ? &v->quiet
			 : id == 'v' ? &v->verbose
			 : id == 'W' ? &o->wait
			 : id == 'O' ? &o->story
				     : NULL;

	if (on)
		*on = true;
	else if (id == 'N')
		o->follow = false;
	else if (id == 'F')
		o->filter = false;
	else if (id == 'G')
		o->patch_after = 0;
	else if (id == 'U' || id == 'R')
		v->units = id == 'U' ? UNITS_SI : UNITS_RAW;
	else
		return false;
	return true;
}

static int set_option(struct options *o, int id, const char *arg)
{
	if (set_flag(o, id) || opts_mount_set(&o->mount, id))
		return 0;
	switch (id) {
	case 'o':
		o->output = arg;
		return 0;
	case 'f':
		return set_format(o, arg);
	case 'J':
		return set_format(o, "json");
	case 'B':
		return each_word(arg, add_by, o);
	case 'S':
		return set_sort(o, arg);
	case 'T':
		return set_top(o, arg);
	case 'C':
		return each_word(arg, add_column, o);
	case 'e':
		return set_trace(o, arg);
	case 'P':
		return add_path(o, arg);
	case 'Y':
		return each_word(arg, add_type, o);
	case 'I':
		return each_word(arg, add_pid, o);
	case 'b':
		o->backend_given = true;
		return set_backend(o, "--backend", arg);
	case 'l':
		o->log = arg;
		return 0;
	case 'g':
		return set_group(o, arg);
	case 'M':
		return set_from_format(o, arg);
	case 'A':
		return opts_moment(o->verb, "from-time", arg, &o->from);
	case 'Z':
		return opts_moment(o->verb, "to-time", arg, &o->to);
	case 'X':
		return set_exporter(o, arg);
	case 'K':
		return set_weight(o, arg);
	case 'd':
		return opts_seconds(o->verb, "duration", arg, &o->duration_ns);
	case 'i':
		return opts_seconds(o->verb, "interval", arg, &o->interval_ns);
	case 'E':
		return set_patch_after(o, arg);
	case 'L':
		return set_colour(o, arg);
	}
	return opts_trace_set(&o->trace, id, arg);
}

static void defaults(struct options *o)
{
	const char *bad;

	*o = (struct options){ .follow = true,
		.filter = true,
		.patch_after = 40,
		.backend = "auto",
		.view.top = 10 };
	syscall_set_parse(&o->want, "data,sync", &bad);
}

/* Where there is a choice that no option has made. */
static int set_by_environment(struct options *o, const struct command *c)
{
	const char *backend = getenv("IOPS_BACKEND");

	if (!backend || !*backend || o->backend_given || !strchr(c->takes, 'b'))
		return 0;
	return set_backend(o, "IOPS_BACKEND", backend);
}

static void settle(struct options *o)
{
	const char *dot = o->output ? strrchr(o->output, '.') : NULL;

	o->format_given = o->format != NULL;
	if (!o->format && dot)
		o->format = format_of(dot + 1);
	if (!o->format)
		o->format = &report_table;
	if (!o->view.nby) {
		o->view.by[o->view.nby++] = DIM_FILE;
		o->dims |= 1u << DIM_FILE;
	}
	if (o->groups.n)
		add_by(o, "group");
	o->view.partial = o->npaths || o->types || o->nonly || o->from.set || o->to.set ||
			  !syscall_set_whole(&o->want) || trace_filters(&o->trace.filter);
	/* Machines want all rows; people the first ones. */
	if (o->format == &report_json)
		o->view.top = 0;
}

/* The same short option string and long options that the help is printed from. */
static void tables(const struct command *c, char *letters, struct option *longs)
{
	size_t n = 0;

	*letters++ = '+';
	*letters++ = ':';
	for (unsigned i = 0; i < NROWS; i++) {
		if (rows[i].id != 'h' && !strchr(c->takes, rows[i].id))
			continue;
		if (rows[i].letter) {
			*letters++ = rows[i].id;
			if (rows[i].arg)
				*letters++ = ':';
		}
		longs[n++] = (struct option){ rows[i].name,
			rows[i].arg ? required_argument : no_argument, NULL, rows[i].id };
	}
	*letters = 0;
	longs[n] = (struct option){ 0 };
}

int opts_parse(struct options *o, const struct command *c, int argc, char **argv)
{
	char letters[2 * NROWS + 4];
	struct option longs[NROWS + 1];
	int id, err = 0;
	bool csv_top = false;

	defaults(o);
	o->verb = c->name;
	tables(c, letters, longs);
	optind = 0;
	opterr = 0;
	while (!err && (id = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const char *word = argv[optind - 1];
		if (id == 'h') {
			opts_help(c);
			return 1;
		}
		csv_top |= id == 'T';
		if (id == ':') {
			err = diag_usage(c->name, "option %s needs a value", word);
		} else if (id == '?') {
			err = optopt && !strchr(word, '=')
				      ? diag_usage(c->name, "unknown option -%c", optopt)
				      : diag_usage(c->name, "unknown option %s", word);
		} else {
			err = set_option(o, id, optarg);
		}
	}
	if (!err)
		err = set_by_environment(o, c);
	if (!err && o->blkparse && strcmp(c->name, "report") != 0)
		err = opts_wrong(
			o->verb, "format", "blkparse", "only 'iops report' prints that");
	if (!err && o->mount.trace && strcmp(c->name, "mount") != 0)
		err = opts_wrong(
			o->verb, "format", "fuse-trace", "only 'iops mount' writes that");
	if (err)
		return err;
	settle(o);
	if (o->format == &report_csv && !csv_top)
		o->view.top = 0;
	o->argc = argc - optind;
	o->argv = argv + optind;
	return 0;
}

void opts_fini(struct options *o)
{
	free(o->path);
	free(o->only);
	groups_fini(&o->groups);
}

static void help_option(const struct option_row *r)
{
	char left[64];
	const char *p = r->help, *end;

	snprintf(left, sizeof(left), r->letter ? "-%c, --%s%s%s" : "%.0d    --%s%s%s",
		r->letter ? r->id : 0, r->name, r->arg ? " " : "", r->arg ? r->arg : "");
	printf("  %-26s %.*s\n", left, (int)(strchrnul(p, '\n') - p), p);
	while (*(end = strchrnul(p, '\n'))) {
		p = end + 1;
		printf("  %-26s %.*s\n", "", (int)(strchrnul(p, '\n') - p), p);
	}
}

void opts_help(const struct command *c)
{
	printf("usage: iops %s %s\n\n%s\n", c->name, c->args, c->help);
	fputs(*c->takes ? "\noptions:\n" : "", stdout);
	for (unsigned i = 0; i < NROWS && *c->takes; i++)
		if (rows[i].id == 'h' || strchr(c->takes, rows[i].id))
			help_option(&rows[i]);
}

void opts_help_all(const struct command *const *verbs)
{
	puts("usage: iops VERB [options] ...\n\nShows what programs really read and "
	     "write.\n");
	for (; *verbs; verbs++)
		printf("  %-10s %.*s\n", (*verbs)->name,
			(int)strcspn((*verbs)->help, "\n"), (*verbs)->help);
	puts("\n'iops help VERB' tells the options of a verb, iops(1) all about it.");
}
