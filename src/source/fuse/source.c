/*
 * source.c - the operations of a mount: what the workers tell, in the order of time
 */
#include "fs.h"
#include "iops/diag.h"
#include "iops/launch.h"
#include "iops/map.h"
#include "iops/mount.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/run.h"
#include "iops/sink.h"
#include "iops/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAIT_MS = 20, FLUSH_MS = 2, GRACE_NS = 300000000 };

/* How long names and attributes are believed with --cached. */
#define CACHED_NS (UINT64_C(60) * 1000000000)

enum state { RUNNING, ASKED, UNMOUNTED, LEFT, OVER };

struct fuse_source {
	struct source base;
	struct fs fs;
	char source[PATH_MAX], point[PATH_MAX];
	const struct mount_options *options;
	struct names *names;
	struct launch *launch;
	int command; /* pidfd of it */
	bool told_exec;
	enum state state;
	uint64_t asked_ns;
	struct record *batch;
	size_t n, cap;
	uint32_t *file; /* by path: id in names */
	size_t nfile;
	struct map calls;
	char comm[16];
	uint32_t comm_id;
};

/* As many files as may be: each that the kernel knows is open. */
static void raise_limit(void)
{
	struct rlimit l = { 0 };
	FILE *f = fopen("/proc/sys/fs/nr_open", "re");
	unsigned long most = 0;

	if (f && fscanf(f, "%lu", &most) != 1)
		most = 0;
	if (f)
		fclose(f);
	l.rlim_cur = l.rlim_max = most;
	if (most && !setrlimit(RLIMIT_NOFILE, &l))
		return;
	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

/* Half of what may be open is for the files of those who use the mount: a quarter is for
 * inodes, a quarter for the workers. Who is not root cannot open an inode again. */
static void share_limit(struct fs *fs)
{
	enum { FD_AND_PIPE = 3, OF_A_LOOK = 3 };
	struct rlimit most = { 0 };

	getrlimit(RLIMIT_NOFILE, &most);
	rlim_t part = most.rlim_cur / 4;
	bool plenty = part >= (rlim_t)MAX_WORKERS * (FD_AND_PIPE + LOOKS * OF_A_LOOK);
	rlim_t workers = part / (FD_AND_PIPE + OF_A_LOOK);

	fs->max_inode_fds = fs->root_rights ? part : SIZE_MAX;
	fs->looks = plenty ? LOOKS : 1;
	fs->max_workers = workers < LEAST_WORKERS ? LEAST_WORKERS
			  : workers < MAX_WORKERS - 1
				  ? (unsigned)workers
				  : MAX_WORKERS - 1; /* one is for locks */
}

static int open_source(struct fuse_source *s)
{
	struct fs *fs = &s->fs;

	if (!realpath(s->options->source, s->source) ||
		!realpath(s->options->point, s->point))
		return diag_err(errno, "%s", s->options->source);
	raise_limit();
	share_limit(fs);
	int fd = open(s->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return diag_err(errno, "%s", s->options->source);
	int err = node_init(fs, fd);
	return err < 0 ? diag_err(err, "%s", s->options->source) : 0;
}

static int begin(struct fuse_source *s)
{
	struct fs *fs = &s->fs;

	fs->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int err = fs->wake < 0 ? -errno : open_source(s);
	if (!err)
		err = mount_open(fs);
	if (!err)
		err = serve_begin(fs);
	if (!err && s->launch) {
		s->command = (int)syscall(SYS_pidfd_open, s->launch->command, 0);
		err = launch_go(s->launch, LAUNCH_PLAIN);
	}
	return err;
}

static int fuse_open(struct source **out, const struct source_args *args)
{
	struct fuse_source *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->base.ops = &source_fuse;
	s->options = args->mount;
	s->names = args->names;
	s->launch = args->launch;
	s->command = -1;
	s->fs.fd = s->fs.wake = s->fs.watch = -1;
	s->fs.requests = requests;
	s->fs.source = s->source;
	s->fs.point = s->point;
	s->fs.cached = s->options->cached;
	s->fs.texts = s->options->detail != NULL;
	s->fs.valid_ns = s->fs.cached ? CACHED_NS : 0;
	s->fs.root_rights = !geteuid();
	caller_init(&s->fs);
	s->fs.epoch_ns = args->epoch_ns;
	s->fs.self = getpid();
	int err = begin(s);
	if (err < 0) {
		if (s->fs.fd >= 0)
			mount_close(&s->fs, true);
		if (s->fs.proc >= 0)
			close(s->fs.proc);
		free(s);
		return err;
	}
	*out = &s->base;
	return 0;
}

/* Everything that the rings hold. */
static int gather(struct fuse_source *s, uint64_t *lost)
{
	s->n = 0;
	for (unsigned i = 0; i < s->fs.nworkers; i++) {
		struct ring *g = &s->fs.worker[i]->ring;
		uint32_t head = g->head;
		uint32_t tail = atomic_load_explicit(&g->tail, memory_order_acquire);
		if (s->n + (tail - head) > s->cap) {
			size_t cap = 2 * (s->n + (tail - head));
			struct record *more = realloc(s->batch, cap * sizeof(*more));
			if (!more)
				return -ENOMEM;
			s->batch = more;
			s->cap = cap;
		}
		for (; head != tail; head++)
			s->batch[s->n++] = g->record[head % RING_SIZE];
		atomic_store_explicit(&g->head, head, memory_order_release);
		*lost += atomic_exchange(&g->lost, 0);
	}
	return 0;
}

static int by_end(const void *a, const void *b)
{
	const struct record *x = a, *y = b;
	uint64_t p = x->start_ns + x->dur_ns, q = y->start_ns + y->dur_ns;

	return p < q ? -1 : p > q;
}

/* One row a path: what a name stands for may change. */
static uint32_t file_of(struct fuse_source *s, uint32_t path, uint8_t type)
{
	if (path >= s->nfile) {
		size_t n = path + 1024;
		uint32_t *more = realloc(s->file, n * sizeof(*more));
		if (!more)
			return 0;
		memset(more + s->nfile, 0, (n - s->nfile) * sizeof(*more));
		s->file = more;
		s->nfile = n;
	}
	if (!s->file[path]) {
		char text[PATH_MAX * 4];
		path_text(&s->fs, path, text, sizeof(text));
		struct file f = { .path = names_add(s->names, text, strlen(text)),
			.type = type };
		s->file[path] = f.path ? names_add_file(s->names, &f) : 0;
	}
	names_learn_type(s->names, s->file[path], type);
	return s->file[path];
}

static uint16_t call_of(struct fuse_source *s, const char *name)
{
	uintptr_t known = map_get(&s->calls, (uintptr_t)name, 0);

	if (!known) {
		known = names_call(s->names, name, strlen(name)) + 1;
		map_put(&s->calls, (uintptr_t)name, 0, known);
	}
	return (uint16_t)(known - 1);
}

static uint32_t comm_of(struct fuse_source *s, const char comm[16])
{
	if (memcmp(s->comm, comm, sizeof(s->comm)) || !s->comm_id) {
		memcpy(s->comm, comm, sizeof(s->comm));
		s->comm_id = names_add(s->names, comm, strnlen(comm, sizeof(s->comm)));
	}
	return s->comm_id;
}

static int put(struct fuse_source *s, const struct record *r, struct sink *to)
{
	struct op op = { .start_ns = r->start_ns,
		.dur_ns = r->dur_ns,
		.ret = r->ret,
		.want = r->want,
		.offset = r->offset,
		.file = r->path ? file_of(s, r->path, r->type) : 0,
		.comm = comm_of(s, r->comm),
		.pid = r->pid,
		.tid = r->tid,
		.fd = -1,
		.kind = r->kind,
		.call = call_of(s, r->call) };

	if (s->options->detail) {
		s->options->detail->text = r->text;
		s->options->detail->uid = r->uid;
	}
	int err = sink_put(to, &op);
	if (!err && r->second) {
		op.kind = OP_WRITE;
		op.file = file_of(s, r->path2, r->type2);
		op.call |= OP_SECOND;
		if (s->options->detail)
			s->options->detail->text = NULL;
		err = sink_put(to, &op);
	}
	free(r->text);
	return err;
}

static uint64_t since_epoch(const struct fuse_source *s)
{
	return fuse_now() - s->fs.epoch_ns;
}

/* The command's life, of which no request tells. */
static int put_life(struct fuse_source *s, uint8_t kind, struct sink *to)
{
	struct op op = { .start_ns = since_epoch(s),
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.pid = s->launch->command,
		.tid = s->launch->command,
		.fd = -1,
		.kind = kind };
	const char *name = s->options->command ? s->options->command : "";
	const char *slash = strrchr(name, '/');

	name = slash ? slash + 1 : name;
	op.comm = names_add(s->names, name, strnlen(name, 15));
	op.ret = kind == OP_EXIT ? s->launch->status : 0;
	return sink_put(to, &op);
}

static int drain(struct fuse_source *s, struct sink *to)
{
	uint64_t lost = 0;
	int err = gather(s, &lost);

	if (s->n > 1)
		qsort(s->batch, s->n, sizeof(*s->batch), by_end);
	for (size_t i = 0; i < s->n; i++) {
		int one = put(s, &s->batch[i], to);
		err = err ? err : one;
	}
	if (lost) {
		struct op op = { .kind = OP_LOST,
			.ret = (int64_t)lost,
			.dur_ns = OP_NO_TIME,
			.offset = OP_NO_OFFSET,
			.fd = -1 };
		int one = sink_put(to, &op);
		err = err ? err : one;
	}
	return err;
}

static void wait_for_news(struct fuse_source *s)
{
	struct pollfd on[2] = { { .fd = s->fs.wake, .events = POLLIN },
		{ .fd = s->state == RUNNING ? s->command : -1, .events = POLLIN } };
	uint64_t n;

	poll(on, 2, s->options->flush ? FLUSH_MS : WAIT_MS);
	if (on[0].revents && read(s->fs.wake, &n, sizeof(n)) < 0)
		return;
	if (on[1].revents)
		for (int i = 0; i < 1000 && !launch_over(s->launch); i++)
			usleep(100);
}

/* Undo the mount; who uses it may go on for a moment. What then is left is served on, but
 * nobody finds it any more. */
static void undo(struct fuse_source *s)
{
	char who[400];
	int err = mount_close(&s->fs, false);

	if (err == -EINVAL || err == -ENOENT)
		s->fs.undone = true; /* somebody else did it */
	if (!err || s->fs.undone) {
		s->state = UNMOUNTED;
		return;
	}
	if (fuse_now() - s->asked_ns < GRACE_NS)
		return;
	int n = mount_holders(&s->fs, who, sizeof(who));
	if (n)
		diag("%s: still used by %s: they go on, but nobody finds it there any "
		     "more",
			s->options->point, who);
	mount_close(&s->fs, true);
	s->state = LEFT;
}

static int fuse_step(struct source *base, struct sink *to)
{
	struct fuse_source *s = (struct fuse_source *)base;
	int err = 0;

	if (s->launch && !s->told_exec) {
		s->told_exec = true;
		err = put_life(s, OP_EXEC, to);
	}
	if (s->state < LEFT)
		wait_for_news(s);
	if (s->state == RUNNING && s->launch && launch_over(s->launch))
		base->ops->stop(base);
	if (s->state == ASKED)
		undo(s);
	bool ended = s->fs.ended;
	if (ended) {
		serve_end(&s->fs); /* now all of them have told what they did */
		lock_end(&s->fs);
	}
	if (!err)
		err = drain(s, to);
	if (!ended && s->state < LEFT)
		return err < 0 ? err : 1;
	if (!err && s->launch && s->launch->ended)
		err = put_life(s, OP_EXIT, to);
	if (ended)
		s->state = OVER;
	return err < 0 ? err : 0;
}

static void fuse_stop(struct source *base)
{
	struct fuse_source *s = (struct fuse_source *)base;

	if (s->state != RUNNING)
		return;
	s->state = ASKED;
	s->asked_ns = fuse_now();
}

static void fuse_about(struct source *base, struct run *run)
{
	const struct fuse_source *s = (const struct fuse_source *)base;

	if (!run->command)
		snprintf(run->title, sizeof(run->title), "%.36s on %.36s",
			s->options->source, s->options->point);
	snprintf(run->why, sizeof(run->why), "%s",
		s->fs.cached
			? "FUSE operations behind the kernel's cache: sizes are the "
			  "kernel's, and what it has need not be read or asked for again "
			  "(--direct shows all)"
			: "FUSE operations, as the programs made them");
}

static int put_nothing(struct sink *sink, const struct op *op)
{
	(void)sink;
	(void)op;
	return 0;
}

/* Whoever still has files open is served until the last one is closed. */
static int fuse_close(struct source *base)
{
	static const struct sink_ops ops = { .name = "nowhere", .put = put_nothing };
	struct fuse_source *s = (struct fuse_source *)base;
	struct sink nowhere = { &ops };

	if (s->state < LEFT)
		mount_close(&s->fs, true);
	while (!s->fs.ended) {
		drain(s, &nowhere);
		poll(&(struct pollfd){ .fd = s->fs.wake, .events = POLLIN }, 1, 100);
	}
	serve_end(&s->fs);
	lock_end(&s->fs);
	drain(s, &nowhere);
	mount_unwatch(&s->fs);
	serve_free(&s->fs);
	node_fini(&s->fs);
	map_fini(&s->calls);
	close(s->fs.fd);
	close(s->fs.wake);
	if (s->fs.proc >= 0)
		close(s->fs.proc);
	if (s->command >= 0)
		close(s->command);
	free(s->batch);
	free(s->file);
	free(s);
	return 0;
}

const struct source_ops source_fuse = {
	.name = "fuse",
	.help = "a pass-through file system",
	.open = fuse_open,
	.step = fuse_step,
	.stop = fuse_stop,
	.about = fuse_about,
	.close = fuse_close,
};
