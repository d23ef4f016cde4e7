/*
 * load.c - our programs into the kernel, and what they tell out of it
 */
#include "bpf.h"
#include "net.h"
#include "fs.h"
#include "iops/diag.h"
#include "iops/launch.h"
#include "iops/stream.h"
#include "iops/trace.h"
#include "perf.h"
#include "programs.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SOCKETCALLS = 32 };

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* Calls that are no operations, but tell of some. */
static const struct {
	const char *name;
	uint8_t how;
} told[] = {
	{ "execve", HOW_EXEC },
	{ "execveat", HOW_EXEC },
	{ "socketcall", HOW_SOCKETCALL },
	{ "io_submit", HOW_SUBMIT },
};

static uint8_t how_of(const char *name)
{
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		if (!strcmp(told[i].name, name))
			return told[i].how;
	return HOW_NONE;
}

/* What a call is to the programs. */
static void shape(struct call_shape *s, const struct bpf *b, int row, enum abi abi)
{
	const struct syscall_desc *d = &syscalls[row];

	memset(s, 0, sizeof(*s));
	if (d->form == FORM_CONTROL) {
		s->how = how_of(d->name);
		return;
	}
	s->wanted = syscall_wanted(&b->want, row);
	s->weight = b->countable ? d->weight : 0;
	s->how = s->wanted || s->weight ? HOW_CALL : HOW_NONE;
	/* The page cache has to know what a read asked for, also where it is not told. */
	if (!(b->layers & 1 << BPF_CALLS))
		s->wanted = s->weight = 0;
	s->row = row;
	s->form = d->form;
	s->fd = d->fd;
	s->size = d->size;
	s->offset = d->offset;
	s->fd2 = d->fd2;
	s->offset2 = d->offset2;
	s->path = d->path;
	s->flags = d->flags;
	s->writes = d->kind == OP_WRITE;
	s->wide = abi == ABI_I386 && d->kind == OP_META && d->size == 3;
}

static void shapes_fill(
	struct call_shape table[SHAPES_ABIS][SHAPES_MAX], const struct bpf *b)
{
	int16_t row[NR_MAX];

	for (unsigned a = 0; a < SHAPES_ABIS; a++) {
		syscall_index(ebpf_abi(a), row);
		for (int nr = 0; nr < SHAPES_MAX - SOCKETCALLS && nr < NR_MAX; nr++)
			if (row[nr] >= 0)
				shape(&table[a][nr], b, row[nr], ebpf_abi(a));
		if (!a) {
			table[a][SYS_io_getevents].how = HOW_REAP;
			table[a][SYS_io_pgetevents].how = HOW_REAP;
		}
		for (int n = 0; n < SOCKETCALLS; n++) {
			int r = syscall_of_socketcall(n);
			if (r >= 0)
				shape(&table[a][SHAPES_MAX - SOCKETCALLS + n], b, r,
					ebpf_abi(a));
		}
	}
}

static int take(void *arg, void *data, size_t len)
{
	struct bpf *b = arg;
	const struct rec *r = data;

	if (len < sizeof(*r))
		return 0;
	switch (r->type) {
	case REC_FILE:
		if (len >= sizeof(struct rec_file))
			ebpf_files_take(b, data, len - sizeof(struct rec_file));
		break;
	case REC_FORK:
	case REC_EXEC:
	case REC_EXIT:
	case REC_CHECK:
	case REC_LAST:
	case REC_SIGNAL:
		if (len >= sizeof(struct rec_life)) {
			ebpf_fs_life(b, data);
			ebpf_life_take(b, data);
		}
		break;
	case REC_URING:
	case REC_AIO:
		if (len >= sizeof(struct rec_uring)) {
			ebpf_uring_row(b, data);
			ebpf_uring_take(b, data);
		}
		break;
	case REC_FS:
		ebpf_fs_take(b, data, len);
		break;
	case REC_CALL:
	case REC_TWO:
	case REC_PATH:
	case REC_MMSG:
		ebpf_calls_take(b, data, len);
		break;
	}
	if (r->type == REC_BLOCK)
		ebpf_block_take(b, r, len);
	if (r->type == REC_CACHE || r->type == REC_FAULT)
		ebpf_cache_take(b, r, len);
	/* Here the other layers take what is theirs, by the range of the type. */
	if (r->type >= REC_NET && r->type < REC_FAULT)
		ebpf_net_take(b, r, len);
	return b->error;
}

/* The programs of a layer, by what their names begin with. */
static const struct {
	const char *prefix;
	uint32_t layers;       /* any of which needs them */
	enum bpf_layer counts; /* what they miss is lost to this one */
} parts[] = {
	{ "on_", ~0u, BPF_CALLS },
	{ "uring_", 1 << BPF_URING, BPF_URING },
	{ "block_", 1 << BPF_BLOCK, BPF_BLOCK },
	{ "cache_", 1 << BPF_CACHE, BPF_CACHE },
	{ "net_", 1 << BPF_NET, BPF_NET },
	{ "fault_", 1 << BPF_FAULT, BPF_FAULT },
	{ "mapped_", 1 << BPF_CACHE | 1 << BPF_FAULT, BPF_FAULT },
};

/* Whether the kernel has the tracepoint of a program: "tp_btf/NAME". */
static bool there_is(const struct btf *btf, const char *section)
{
	char name[100];

	if (strncmp(section, "tp_btf/", 7))
		return true;
	snprintf(name, sizeof(name), "btf_trace_%s", section + 7);
	return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
}

/* How many arguments a tracepoint has; the first one of its type is our own. */
static int args_of(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	while (t && (btf_is_typedef(t) || btf_is_ptr(t)))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? btf_vlen(t) - 1 : 0;
}

/* Of two programs for one tracepoint, the one that fits its arguments. */
static bool fits(const struct btf *btf, const char *program)
{
	bool both = args_of(btf, "btf_trace_sched_process_exit") >= 2;

	if (!strcmp(program, "on_exit_told"))
		return both;
	return strcmp(program, "on_exit") || !both;
}

static void add_missing(struct bpf *b, const char *section)
{
	size_t len = strlen(b->missing);

	snprintf(b->missing + len, sizeof(b->missing) - len, "%s%s", len ? "," : "",
		strchr(section, '/') ? strchr(section, '/') + 1 : section);
}

/* Load what is asked for and exists; what does not is named. */
static int choose(struct bpf *b)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_program *p;

	if (!btf)
		return -errno;
	bpf_object__for_each_program(p, b->programs->obj)
	{
		const char *name = bpf_program__name(p);
		bool wanted = false;
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			if (!strncmp(name, parts[i].prefix, strlen(parts[i].prefix)))
				wanted = b->layers & parts[i].layers;
		bool here = there_is(btf, bpf_program__section_name(p));
		if (wanted && !here)
			add_missing(b, bpf_program__section_name(p));
		bpf_program__set_autoload(p, wanted && here && fits(btf, name));
	}
	if (b->net)
		b->programs->rodata->net_drop_args = ebpf_net_learn(b, btf);
	btf__free(btf);
	return 0;
}

static int refused(int err, bool silent)
{
	if (silent)
		return err;
	if (err == -EPERM || err == -EACCES)
		diag("eBPF is not allowed: it takes root, or CAP_BPF and CAP_PERFMON");
	else
		diag_err(err, "the kernel refuses the programs of the bpf backend");
	return err;
}

/* What the kernel side keeps back. 0 or -errno. */
static int filter_fill(struct bpf_filter *f, const struct trace_filter *t)
{
	struct stat st;

	f->uid = t->uid;
	f->uid_set = t->by_uid;
	f->dev = t->major << 20 | t->minor;
	f->dev_set = t->by_device;
	f->cgroup = t->cgroup;
	f->min_bytes = t->min_bytes;
	f->min_ns = t->min_ns;
	f->comm_len = strlen(t->comm);
	memcpy(f->comm, t->comm, sizeof(f->comm));
	if (!t->under)
		return 0;
	if (stat(t->under, &st) < 0)
		return diag_err(errno, "%s", t->under);
	f->under_set = 1;
	f->under_ino = st.st_ino;
	f->under_dev = major(st.st_dev) << 20 | minor(st.st_dev);
	return 0;
}

static int load_only(struct bpf *b)
{
	return programs__load(b->programs);
}

static int load_attach(struct bpf *b)
{
	struct programs *p = b->programs;
	int err = load_only(b);

	if (!err)
		err = programs__attach(p);
	if (!err && b->cache &&
		perf_attach(&b->perf, p->progs.mapped_minor, p->progs.mapped_major) < 0)
		add_missing(b, "perf/page-faults");
	return err;
}

/* The verifier gives up with EAGAIN at every signal: bpf(2) does not say so. */
static int undisturbed(struct bpf *b, int (*fn)(struct bpf *))
{
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	int err = fn(b);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* A power of two, and whole pages, as the ring wants it. */
static uint32_t ring_size(const struct trace_options *t)
{
	uint32_t size = 64 << 10;

	while (size < (t && t->buffer_bytes ? t->buffer_bytes : 16 << 20) &&
		size < 1u << 30)
		size *= 2;
	return size;
}

/* For the manifest: what is attached, and what this kernel does not have. */
static void note_probes(struct bpf *b)
{
	struct bpf_program *p;
	size_t len;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);
	const char *comma = "";

	if (!f)
		return;
	fputs("{\"attached\": [", f);
	bpf_object__for_each_program(p, b->programs->obj)
	{
		if (!bpf_program__autoload(p))
			continue;
		fprintf(f, "%s\"%s\"", comma, bpf_program__section_name(p));
		comma = ", ";
	}
	fprintf(f, "], \"missing\": \"%s\"}", b->missing);
	if (!fclose(f))
		streams_note(b->streams, "probes", text);
	free(text);
}

int ebpf_load_open(struct bpf *b, const struct source_args *args)
{
	uint32_t size = ring_size(args->trace);
	int err = 0;

	libbpf_set_print(quiet);
	struct programs *p = b->programs = programs__open();
	if (!p)
		return refused(-errno, args->quiet);
	p->rodata->filter.all = b->all;
	p->rodata->filter.self = getpid();
	p->rodata->filter.front = b->launch ? b->launch->front : getppid();
	p->rodata->filter.command = b->launch ? b->launch->command : 0;
	p->rodata->filter.follow = b->follow;
	p->rodata->filter.aggregate = b->aggregate;
	p->rodata->filter.layers = b->layers;
	p->rodata->filter.wake = size / 4;
	p->rodata->page_shift = __builtin_ctz((unsigned)sysconf(_SC_PAGESIZE));
	shapes_fill((struct call_shape(*)[SHAPES_MAX])p->rodata->shapes, b);
	if (b->layers & 1 << BPF_NET) {
		ebpf_net_shapes((struct net_shape(*)[SHAPES_MAX])p->rodata->net_shapes);
		err = ebpf_net_open(b);
	}
	p->rodata->filter.rows =
		b->streams && !b->aggregate && b->layers & 1 << BPF_CALLS;
	if (p->rodata->filter.rows)
		fs_shapes_fill((struct fs_shape(*)[SHAPES_MAX])p->rodata->fs_shapes,
			args->want_given ? args->want : NULL);
	if (args->trace && !err)
		err = filter_fill(
			(struct bpf_filter *)&p->rodata->filter, &args->trace->filter);
	if (err < 0)
		return err;
	err = bpf_map__set_max_entries(p->maps.ring, size);
	if (!err)
		err = choose(b);
	if (!err)
		err = undisturbed(b, load_attach);
	if (err < 0)
		return refused(err, args->quiet);
	if (b->streams)
		note_probes(b);
	b->ring = ring_buffer__new(bpf_map__fd(p->maps.ring), take, b, NULL);
	return b->ring ? 0 : -errno;
}

/* Run a program once for every task. */
static int walk(const struct bpf_link *link)
{
	int it = bpf_iter_create(bpf_link__fd(link));
	char buf[64];

	if (it < 0)
		return -errno;
	while (read(it, buf, sizeof(buf)) > 0)
		;
	close(it);
	return 0;
}

/* These processes, as they are now, are followed. */
int ebpf_load_members(struct bpf *b, const pid_t *pid, unsigned n)
{
	uint8_t one = 1;

	for (unsigned i = 0; i < n; i++) {
		uint32_t key = pid[i];
		int err = bpf_map__update_elem(b->programs->maps.members, &key,
			sizeof(key), &one, sizeof(one), BPF_ANY);
		if (err < 0)
			return err;
	}
	/* Twice: a thread may be born behind the back of the first pass. */
	int err = walk(b->programs->links.on_each);
	return err ? err : walk(b->programs->links.on_each);
}

/* What was summed up in the kernel; all programs have been detached. */
void ebpf_load_sums(struct bpf *b)
{
	struct sum_key key, *before = NULL;
	struct sum_value value;
	int fd = b->aggregate ? bpf_map__fd(b->programs->maps.sums) : -1;

	while (fd >= 0 && !bpf_map_get_next_key(fd, before, &key)) {
		if (!bpf_map_lookup_elem(fd, &key, &value))
			ebpf_calls_sum(b, &key, &value);
		before = &key;
	}
}

int ebpf_load_last(struct bpf *b)
{
	return walk(b->programs->links.on_last);
}

int ebpf_load_poll(struct bpf *b, int timeout_ms)
{
	/* It wakes us only when there is much; what there is is taken in any case. */
	int n = ring_buffer__poll(b->ring, timeout_ms), more;

	if (n < 0 && n != -EINTR)
		return n;
	more = ring_buffer__consume(b->ring);
	return more < 0 ? more : (n > 0 ? n : 0) + more;
}

uint64_t ebpf_load_lost(const struct bpf *b, enum bpf_layer layer)
{
	return b->programs->bss->lost[layer] + b->missed[layer];
}

/*
 * Where an interrupt meets the same program at work, the kernel passes it over and only
 * counts that.
 */
void ebpf_load_missed(struct bpf *b)
{
	struct bpf_program *p;

	memset(b->missed, 0, sizeof(b->missed));
	bpf_object__for_each_program(p, b->programs->obj)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info), i = 0;
		const char *name = bpf_program__name(p);
		while (i < sizeof(parts) / sizeof(*parts) &&
			strncmp(name, parts[i].prefix, strlen(parts[i].prefix)))
			i++;
		if (i < sizeof(parts) / sizeof(*parts) &&
			!bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			b->missed[parts[i].counts] += info.recursion_misses;
	}
}

void ebpf_load_sweep(struct bpf *b, bool last)
{
	if (!b->cache)
		return;
	b->programs->bss->cache_last = last;
	if (b->programs->links.cache_each)
		walk(b->programs->links.cache_each);
}

void ebpf_load_detach(struct bpf *b)
{
	perf_detach(b->perf);
	b->perf = NULL;
	programs__detach(b->programs);
}

void ebpf_load_close(struct bpf *b)
{
	ring_buffer__free(b->ring);
	perf_detach(b->perf);
	if (b->programs)
		programs__destroy(b->programs);
	ebpf_net_close(b);
}

int ebpf_load_try(struct bpf *b, unsigned *programs)
{
	struct bpf_program *p;

	libbpf_set_print(quiet);
	b->programs = programs__open();
	int err = b->programs ? choose(b) : -errno;
	if (!err)
		err = undisturbed(b, load_only);
	*programs = 0;
	if (b->programs) {
		bpf_object__for_each_program(p, b->programs->obj) *programs +=
			bpf_program__autoload(p);
	}
	ebpf_load_close(b);
	return err;
}
