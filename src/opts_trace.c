/*
 * opts_trace.c - the options of iops trace
 */
#include "iops/op.h"
#include "iops/opts.h"
#include "iops/snapshot.h"
#include "iops/trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int wrong(const char *option, const char *value, const char *expected)
{
	return opts_wrong("trace", option, value, expected);
}

struct word {
	const char *text;
	uint32_t bit;
};

static const struct word layer_words[] = {
	{ "fs", 1u << LAYER_MAIN },
	{ "cache", 1u << LAYER_CACHE },
	{ "block", 1u << LAYER_BLOCK },
	{ "net", 1u << LAYER_NET },
	{ "fault", 1u << LAYER_FAULT },
	{ "uring", TRACE_URING },
	{ "all", TRACE_URING | ((1u << NLAYERS) - 1) },
	{ NULL, 0 },
};

static const struct word snapshot_words[] = {
	{ "fs", SNAPSHOT_FS },
	{ "process", SNAPSHOT_PROCESS },
	{ "system", SNAPSHOT_SYSTEM },
	{ "all", SNAPSHOT_FS | SNAPSHOT_PROCESS | SNAPSHOT_SYSTEM },
	{ NULL, 0 },
};

/* Bits of the words between commas. */
static int bits(const char *option, const char *list, const struct word *known,
	const char *expected, uint32_t *out)
{
	while (*list) {
		size_t n = strcspn(list, ",");
		const struct word *w = known;
		while (w->text && (strlen(w->text) != n || strncmp(w->text, list, n)))
			w++;
		if (!w->text)
			return wrong(option, list, expected);
		*out |= w->bit;
		list += n + (list[n] == ',');
	}
	return *out ? 0 : wrong(option, list, expected);
}

static int pids(struct trace_options *t, const char *list)
{
	char *end;

	do {
		long pid = strtol(list, &end, 10);
		if (end == list || (*end && *end != ',') || pid <= 0 || pid > 1 << 22)
			return wrong("process", list, "not a process id");
		if (t->npids == TRACE_LIST)
			return wrong("process", list, "too many processes");
		t->pid[t->npids++] = (pid_t)pid;
		list = end + 1;
	} while (*end);
	return 0;
}

/* A number with K, M or G behind it, in powers of 1024. */
static int bytes(const char *option, const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	char *end;
	double n = strtod(text, &end);
	const char *unit = *end ? strchr(units, *end) : NULL;

	for (int i = 0; unit && i <= unit - units; i++)
		n *= 1024;
	if (end == text || (*end && (!unit || end[1])) || !(n >= 0) || n > 1e15)
		return wrong(option, text, "not a number of bytes, as 65536, 64K or 1M");
	*out = (uint64_t)n;
	return 0;
}

static int seconds(const char *option, const char *text, uint64_t *ns)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0) || s > 1e9)
		return wrong(option, text, "not a number of seconds");
	*ns = (uint64_t)llround(s * 1e9);
	return 0;
}

static int cgroup(struct trace_filter *f, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return wrong("cgroup", path, "not a directory of a cgroup");
	f->cgroup = st.st_ino; /* cgroup(7): what the kernel calls its id */
	return 0;
}

/* MAJOR:MINOR or a node. */
static int device(struct trace_options *t, const char *arg)
{
	struct stat st = { .st_mode = 0 };
	int end = 0;

	if (sscanf(arg, "%u:%u%n", &t->filter.major, &t->filter.minor, &end) == 2 &&
		!arg[end])
		st.st_rdev = makedev(t->filter.major, t->filter.minor);
	else if (stat(arg, &st) < 0 || !S_ISBLK(st.st_mode))
		return wrong("device", arg,
			"neither MAJOR:MINOR, as 8:1, nor the node of a block device");
	if (t->ndevices == TRACE_LIST)
		return wrong("device", arg, "too many of them");
	t->filter.major = major(st.st_rdev);
	t->filter.minor = minor(st.st_rdev);
	t->filter.by_device = true;
	t->device[t->ndevices++] = st.st_rdev;
	return 0;
}

static int filter_set(struct trace_filter *f, int id, const char *arg)
{
	char *end;

	switch (id) {
	case 'c':
		if (!*arg || strlen(arg) >= sizeof(f->comm))
			return wrong(
				"comm", arg, "the name of a command has 1 to 15 bytes");
		strcpy(f->comm, arg);
		return 0;
	case 'u':
		f->uid = (uint32_t)strtoul(arg, &end, 10);
		f->by_uid = true;
		return *arg && !*end ? 0 : wrong("uid", arg, "not the number of a user");
	case 'j':
		return cgroup(f, arg);
	case 'm':
		return bytes("min-size", arg, &f->min_bytes);
	case 't':
		return seconds("min-latency", arg, &f->min_ns);
	}
	f->under = arg;
	return 0;
}

int opts_trace_set(struct trace_options *t, int id, const char *arg)
{
	switch (id) {
	case 'y':
		return bits("layers", arg, layer_words,
			"fs, cache, block, net, fault, uring and all are known",
			&t->layers);
	case 'n':
		return bits("snapshot", arg, snapshot_words,
			"fs, process, system and all are known", &t->snapshots);
	case 'p':
		return pids(t, arg);
	case 'z':
		return bytes("buffer", arg, &t->buffer_bytes);
	case 'r':
		if (t->nroots == TRACE_LIST)
			return wrong("snapshot-root", arg, "too many of them");
		t->root[t->nroots++] = arg;
		return 0;
	case 'k':
		t->key_file = arg;
		t->anonymous = true;
		return 0;
	case 'a':
		t->anonymous = true;
		return 0;
	case 'D':
		return device(t, arg);
	case 'Q':
		t->plain = true;
		return 0;
	case 'x':
		t->aggregate = true;
		return 0;
	case 's':
		return bytes("rotate-size", arg, &t->rotate_bytes);
	case 'w':
		return seconds("rotate-age", arg, &t->rotate_ns);
	}
	return filter_set(&t->filter, id, arg);
}
