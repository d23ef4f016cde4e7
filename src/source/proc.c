/*
 * proc.c - the kernel's own counters: of a process tree, or of the machine's disks
 *
 * /proc/PID/io of a process holds its living threads, its dead ones and every child that
 * it has waited for. So the sum over the processes that live counts everything once, and
 * the command's own file, read before it is reaped, holds all its reaped descendants.
 */
#include "iops/diag.h"
#include "iops/launch.h"
#include "iops/map.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/process.h"
#include "iops/sink.h"
#include "iops/source.h"
#include "iops/syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MIN_US = 500, POLL_MAX_US = 20000, SECTOR = 512 };

struct counts {
	uint64_t operations[2], bytes[2]; /* reads, writes */
	uint64_t storage[3];              /* read, written, cancelled; not of disks */
};

/* A process that was given, with its descendants: it may end before the others do. */
struct tree {
	pid_t pid;
	struct counts first, told; /* at the start; the most that was seen since */
};

struct counter {
	struct source base;
	struct names *names;
	struct launch *launch;
	struct tree *tree;
	unsigned ntrees;
	uint64_t epoch_ns;
	bool follow, stopped;
	long nap_us; /* short at first: many commands end at once */
	struct disk {
		uint32_t file;
		struct counts told;
		bool known;
	} disk[256];
	unsigned ndisks;
};

static uint64_t now_ns(const struct counter *c)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec - c->epoch_ns;
}

static int read_io(pid_t pid, struct counts *sum)
{
	char path[48];
	uint64_t rchar, wchar, syscr, syscw, storage[3];

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	int n = fscanf(f,
		"rchar: %" SCNu64 " wchar: %" SCNu64 " syscr: %" SCNu64 " syscw: %" SCNu64
		" read_bytes: %" SCNu64 " write_bytes: %" SCNu64
		" cancelled_write_bytes: %" SCNu64,
		&rchar, &wchar, &syscr, &syscw, &storage[0], &storage[1], &storage[2]);
	int err = n == 7 ? 0 : errno ? -errno : -EINVAL;
	fclose(f);
	if (err)
		return err;
	sum->operations[0] += syscr;
	sum->operations[1] += syscw;
	sum->bytes[0] += rchar;
	sum->bytes[1] += wchar;
	for (int i = 0; i < 3; i++)
		sum->storage[i] += storage[i];
	return 0;
}

/* A process and its living descendants: proc(5), /proc/PID/task/TID/children. */
static void read_tree(pid_t pid, bool follow, struct counts *sum, unsigned depth)
{
	char path[300];
	struct dirent *d;
	int child;

	read_io(pid, sum);
	if (!follow || depth > 1000)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (*d->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/children", pid, d->d_name);
		FILE *f = fopen(path, "re");
		while (f && fscanf(f, "%d", &child) == 1)
			read_tree(child, follow, sum, depth + 1);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
}

static struct counts read_one(const struct counter *c, const struct tree *t)
{
	struct counts sum = { 0 };

	read_tree(t->pid, c->follow, &sum, 0);
	return sum;
}

/* What has been counted since the last time. A process that left takes its share away. */
static int put_delta(struct counter *c, struct sink *to, const struct counts *now,
	struct counts *told, struct op *op)
{
	int err = 0;

	for (int k = 0; k < 2 && !err; k++) {
		if (now->operations[k] <= told->operations[k] &&
			now->bytes[k] <= told->bytes[k])
			continue;
		uint64_t n = now->operations[k] > told->operations[k]
				     ? now->operations[k] - told->operations[k]
				     : 0;
		uint64_t bytes = now->bytes[k] > told->bytes[k]
					 ? now->bytes[k] - told->bytes[k]
					 : 0;
		op->kind = k ? OP_WRITE : OP_READ;
		op->call = syscall_by_name(k ? "write" : "read") | OP_SUM;
		op->want = n;
		op->ret = (int64_t)bytes;
		op->start_ns = now_ns(c);
		told->operations[k] += n;
		told->bytes[k] += bytes;
		err = sink_put(to, op);
	}
	return err;
}

static struct op sum_op(pid_t pid)
{
	return (struct op){ .pid = pid,
		.tid = pid,
		.fd = -1,
		.call = OP_SUM,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET };
}

/* The account of all that was counted, at the end. */
static int put_ledger(struct counter *c, struct sink *to)
{
	struct op op = sum_op(c->ntrees ? c->tree[0].pid : 0);
	uint64_t bytes[2] = { 0 }, storage[3] = { 0 };

	for (unsigned n = 0; n < c->ntrees; n++) {
		const struct counts *a = &c->tree[n].first, *b = &c->tree[n].told;
		for (int i = 0; i < 2; i++)
			bytes[i] += b->bytes[i] - a->bytes[i];
		for (int i = 0; i < 3; i++)
			storage[i] += b->storage[i] - a->storage[i];
	}
	op.call = 0;
	op.start_ns = now_ns(c);
	op.kind = OP_CHARS;
	op.ret = (int64_t)bytes[0];
	op.want = bytes[1];
	int err = sink_put(to, &op);
	op.kind = OP_LEDGER;
	op.ret = (int64_t)storage[0];
	op.want = storage[1];
	op.offset = (int64_t)storage[2];
	return err < 0 ? err : sink_put(to, &op);
}

static struct counter *counter_new(
	const struct source_args *args, const struct source_ops *ops)
{
	struct counter *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->base.ops = ops;
	c->names = args->names;
	c->launch = args->launch;
	c->ntrees = args->launch ? 1 : args->npids;
	c->epoch_ns = args->epoch_ns;
	c->follow = args->follow;
	c->nap_us = POLL_MIN_US;
	c->tree = calloc(c->ntrees + 1, sizeof(*c->tree));
	if (!c->tree) {
		free(c);
		return NULL;
	}
	for (unsigned i = 0; i < c->ntrees; i++)
		c->tree[i].pid = args->launch ? args->launch->command : args->pids[i];
	return c;
}

static int counter_close(struct source *base)
{
	struct counter *c = (struct counter *)base;

	free(c->tree);
	free(c);
	return 0;
}

static void counter_stop(struct source *base)
{
	((struct counter *)base)->stopped = true;
}

/* Whether there is nothing more to wait for, else after a little while. */
static bool over(struct counter *c)
{
	struct timespec wait = { 0, c->nap_us * 1000 };
	bool alive = false;

	if (c->launch ? launch_over(c->launch) : c->stopped)
		return true;
	for (unsigned i = 0; !c->launch && i < c->ntrees; i++)
		alive |= process_runs(c->tree[i].pid);
	nanosleep(&wait, NULL);
	c->nap_us = c->nap_us * 2 < POLL_MAX_US ? c->nap_us * 2 : POLL_MAX_US;
	return c->stopped || (!c->launch && !alive && c->ntrees);
}

static int proc_open(struct source **out, const struct source_args *args)
{
	struct counts none = { 0 };
	struct counter *c = counter_new(args, &source_proc);
	int err = c ? 0 : -ENOMEM;

	for (unsigned i = 0; c && !err && i < c->ntrees; i++) {
		struct tree *t = &c->tree[i];
		if ((err = read_io(t->pid, &none)) < 0)
			diag_err(err == -ENOENT ? ESRCH : err,
				"cannot read the counters of process %d", t->pid);
		else if (!args->launch)
			t->told = t->first = read_one(c, t);
	}
	if (!err && args->launch)
		err = launch_go(args->launch, LAUNCH_PLAIN);
	if (err < 0) {
		if (c)
			counter_close(&c->base);
		return err;
	}
	*out = &c->base;
	return 0;
}

static int proc_step(struct source *base, struct sink *to)
{
	struct counter *c = (struct counter *)base;
	bool last = over(c);
	int err = 0;

	for (unsigned i = 0; i < c->ntrees && !err; i++) {
		struct tree *t = &c->tree[i];
		struct counts now = read_one(c, t);
		struct op op = sum_op(t->pid);
		err = put_delta(c, to, &now, &t->told, &op);
		for (int k = 0; k < 3; k++)
			if (now.storage[k] > t->told.storage[k])
				t->told.storage[k] = now.storage[k];
	}
	if (!err && last)
		err = put_ledger(c, to);
	return err < 0 ? err : !last;
}

const struct source_ops source_proc = {
	.name = "proc",
	.help = "counters of /proc/PID/io: operations and bytes only",
	.open = proc_open,
	.step = proc_step,
	.stop = counter_stop,
	.close = counter_close,
};

/* Whole disks only, and none that is made up of others: they would count twice. */
static bool whole_disk(const char *name)
{
	char path[300];
	struct dirent *d;
	bool slaves = false;

	snprintf(path, sizeof(path), "/sys/block/%s/slaves", name);
	DIR *dir = opendir(path);
	if (!dir)
		return false;
	while ((d = readdir(dir)))
		slaves |= *d->d_name != '.';
	closedir(dir);
	return !slaves;
}

static struct disk *disk_of(
	struct counter *c, const char *name, uint32_t major, uint32_t minor)
{
	char path[160];
	struct file f = {
		.major = major, .minor = minor, .type = FILE_BLOCK, .inode = 1
	};
	int len = snprintf(path, sizeof(path), "/dev/%s", name);

	f.path = names_add(c->names, path, len);
	uint32_t id = names_add_file(c->names, &f);
	for (unsigned i = 0; i < c->ndisks; i++)
		if (c->disk[i].file == id)
			return &c->disk[i];
	if (c->ndisks == sizeof(c->disk) / sizeof(*c->disk) || !whole_disk(name))
		return NULL;
	c->disk[c->ndisks].file = id;
	return &c->disk[c->ndisks++];
}

/* Documentation/admin-guide/iostats.rst: sectors are of 512 bytes on every disk. */
static int read_disks(struct counter *c, struct sink *to)
{
	FILE *f = fopen("/proc/diskstats", "re");
	uint32_t major, minor;
	uint64_t r, rs, w, ws;
	char line[512], name[128];
	int err = 0;

	if (!f)
		return -errno;
	while (!err && fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			    "%u %u %127s %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64
			    " %*u %" SCNu64,
			    &major, &minor, name, &r, &rs, &w, &ws) != 7)
			continue;
		struct disk *d = disk_of(c, name, major, minor);
		struct counts now = { .operations = { r, w },
			.bytes = { rs * SECTOR, ws * SECTOR } };
		struct op op = sum_op(0);
		if (!d)
			continue;
		if (!d->known)
			d->told = now;
		d->known = true;
		op.file = d->file;
		if (to)
			err = put_delta(c, to, &now, &d->told, &op);
	}
	fclose(f);
	return err;
}

static int system_open(struct source **out, const struct source_args *args)
{
	struct counter *c = counter_new(args, &source_system);
	int err = c ? read_disks(c, NULL) : -ENOMEM;

	if (err == -ENOENT || err == -EACCES)
		diag_err(err, "/proc/diskstats");
	if (!err && args->launch)
		err = launch_go(args->launch, LAUNCH_PLAIN);
	if (err < 0) {
		if (c)
			counter_close(&c->base);
		return err;
	}
	*out = &c->base;
	return 0;
}

static int system_step(struct source *base, struct sink *to)
{
	struct counter *c = (struct counter *)base;
	bool last = over(c);
	int err = read_disks(c, to);

	return err < 0 ? err : !last;
}

const struct source_ops source_system = {
	.name = "system",
	.help = "counters of the whole machine's disks: /proc/diskstats",
	.open = system_open,
	.step = system_step,
	.stop = counter_stop,
	.close = counter_close,
};
