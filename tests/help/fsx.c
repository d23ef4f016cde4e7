/*
 * fsx [-n OPERATIONS] [-s SEED] [-j WORKERS] [-t] [-r ROUNDS] [-d SECONDS] [-u LIST] [-v]
 * DIR fsx -F DIR
 *
 * Does random operations on files below DIR and to a model of them in memory, and stops
 * at the first difference, with what was done before it. The same seed does the same on
 * every file system, so that the line of a round is the same too:
 *
 *   seed 1: 8000 operations, digest 0123456789abcdef
 *
 *   -j WORKERS   processes (-t: threads), each on files of its own and all on one folder
 *   -r, -d       more rounds, with the seeds that follow, so many or for so long
 *   -F           print which features that not every file system has are there
 *   -u LIST      use only these features, all of which must be there
 *   -v           print each operation before it is done
 */
#include "fsxdata.h"
#include "fsxname.h"
#include "fsxshared.h"

#include <pthread.h>
#include <sys/wait.h>

static const struct {
	void (*run)(struct worker *);
	int weight;
} table[] = { { op_pread, 12 }, { op_pwrite, 12 }, { op_read, 8 }, { op_write, 8 },
	{ op_truncate, 4 }, { op_fallocate, 5 }, { op_seek, 3 }, { op_copy, 4 },
	{ op_map, 10 }, { op_unmap, 1 }, { op_sync, 2 }, { op_forget, 1 },
	{ op_check, 3 }, { op_create, 4 }, { op_open, 8 }, { op_close, 4 },
	{ op_unlink, 2 }, { op_link, 2 }, { op_rename, 4 }, { op_stat, 6 },
	{ op_truncate_path, 1 }, { op_chmod, 2 }, { op_utimens, 2 }, { op_xattr, 3 },
	{ op_symlink, 2 }, { op_folder, 2 }, { op_list, 2 }, { op_contest, 8 },
	{ op_stable, 1 }, { op_count, 2 }, { op_record, 2 } };

static void one(struct worker *w)
{
	long all = 0, k;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		all += table[i].weight;
	k = below(w, all);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if ((k -= table[i].weight) < 0) {
			w->log[w->nop % NLOG][0] = 0;
			table[i].run(w);
			return;
		}
}

static void begin_files(struct worker *w)
{
	for (int i = 0; i < NFILES; i++) {
		memset(w->f[i].data, 0, MAX_SIZE);
		for (int k = 0; k < NFDS; k++)
			w->f[i].h[k].fd = -1;
	}
	for (int i = 0; i < NNAMES; i++)
		w->name[i] = -1;
	for (int i = 0; i < NDIRS; i++) {
		will(w, "mkdir %s", dir_name(w, i));
		outcome(w, "mkdir", mkdirat(w->top, dir_name(w, i), 0755), 0);
	}
}

/* All is closed and read again by name, then removed. */
static void end_files(struct worker *w)
{
	char a[PATH_SIZE];

	for (int i = 0; i < NFILES * NFDS; i++) {
		struct handle *h = &w->f[i / NFDS].h[i % NFDS];

		will(w, "last close of file %d", i / NFDS);
		if (h->fd >= 0)
			outcome(w, "close", close(h->fd), 0), h->fd = -1;
	}
	for (long i = 0; i < NNAMES; i++) {
		if (w->name[i] < 0)
			continue;
		will(w, "last check of name %ld, file %d", i, w->name[i]);
		int fd = openat(w->top, path(w, i, a), O_RDONLY);
		outcome(w, "open", fd, 0);
		check_data(w, &w->f[w->name[i]], fd);
		close(fd);
		outcome(w, "unlink", unlinkat(w->top, a, 0), 0);
		unlinked(w, i);
	}
	for (int d = 0; d < NDIRS; d++) {
		will(w, "last rmdir %d", d);
		sprintf(a, "%s/link", dir_name(w, d));
		if (w->linkto[d][0])
			outcome(w, "unlink", unlinkat(w->top, a, 0), 0);
		sprintf(a, "%s/sub", dir_name(w, d));
		if (w->sub[d])
			outcome(w, "rmdir", unlinkat(w->top, a, AT_REMOVEDIR), 0);
		outcome(w, "rmdir", unlinkat(w->top, dir_name(w, d), AT_REMOVEDIR), 0);
	}
}

static int open_dir(const char *dir, const char *name)
{
	char full[4096];

	snprintf(full, sizeof(full), "%s/%s", dir, name);
	if (mkdir(full, 0777) && errno != EEXIST)
		return -1;
	return open(full, O_RDONLY | O_DIRECTORY);
}

static struct worker *new_worker(const struct options *o, struct shared *s, long id)
{
	struct worker *w = calloc(1, sizeof(*w));
	char name[32];

	sprintf(name, "fsx%ld", id);
	*w = (struct worker){
		.o = o, .shared = s, .id = id, .digest = 0xcbf29ce484222325
	};
	w->random = o->seed * 1000003 + (uint64_t)id;
	w->top = open_dir(o->dir, name);
	w->common = open_dir(o->dir, "fsx-shared");
	w->begin = time(NULL) - 1;
	w->buf = aligned_alloc(BLOCK, MAX_SIZE);
	w->buf2 = aligned_alloc(BLOCK, MAX_SIZE);
	for (int i = 0; i < NFILES; i++)
		w->f[i].data = malloc(MAX_SIZE);
	if (w->top < 0 || w->common < 0) {
		fprintf(stderr, "fsx: %s: %s\n", o->dir, strerror(errno));
		exit(2);
	}
	return w;
}

static void free_worker(struct worker *w)
{
	for (int i = 0; i < NFILES; i++)
		free(w->f[i].data);
	close(w->top);
	close(w->common);
	free(w->buf);
	free(w->buf2);
	free(w);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	char full[4096];

	begin_files(w);
	begin_shared(w);
	for (; w->nop < w->o->ops; w->nop++)
		one(w);
	end_files(w);
	end_shared(w);
	w->shared->digest[w->id] = w->digest;
	snprintf(full, sizeof(full), "%s/fsx%ld", w->o->dir, w->id);
	will(w, "last rmdir");
	outcome(w, "rmdir", rmdir(full), 0);
	free_worker(w);
	return NULL;
}

static int by_threads(const struct options *o, struct shared *s)
{
	pthread_t t[MAX_WORKERS];

	for (long i = 0; i < o->workers; i++)
		if (pthread_create(&t[i], NULL, work, new_worker(o, s, i)))
			return 1;
	for (long i = 0; i < o->workers; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static int by_processes(const struct options *o, struct shared *s)
{
	int status, bad = 0;

	for (long i = 0; i < o->workers; i++)
		if (fork() == 0) {
			work(new_worker(o, s, i));
			_exit(0);
		}
	while (wait(&status) > 0)
		bad |= status;
	return bad;
}

static void remove_shared(const struct options *o, int fd)
{
	char name[32];

	for (int i = 0; i < NCONTESTED; i++)
		sprintf(name, "c%d", i), unlinkat(fd, name, 0);
	for (int i = 0; i < 3; i++)
		sprintf(name, "k%d", i), unlinkat(fd, name, 0);
	unlinkat(fd, "records", 0);
	snprintf(name, sizeof(name), "fsx%ld", o->workers);
	int top = open(o->dir, O_RDONLY | O_DIRECTORY);
	unlinkat(top, name, AT_REMOVEDIR);
	if (unlinkat(top, "fsx-shared", AT_REMOVEDIR))
		fprintf(stderr, "fsx: something is left in fsx-shared\n");
	close(top);
}

static int one_round(const struct options *o, struct shared *s)
{
	uint64_t sum = 0;

	memset(s, 0, sizeof(*s));
	if (o->threads ? by_threads(o, s) : by_processes(o, s))
		return 1;
	struct worker *w = new_worker(o, s, o->workers);
	check_shared(w);
	remove_shared(o, w->common);
	free_worker(w);
	for (long i = 0; i < o->workers; i++)
		sum = sum * 31 + s->digest[i];
	printf("seed %llu: %ld operations, digest %016llx\n", (unsigned long long)o->seed,
		o->ops * o->workers, (unsigned long long)sum);
	return fflush(stdout);
}

static long probe_fallocate(int fd)
{
	long f = 0;

	if (ftruncate(fd, 4 * BLOCK) || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, BLOCK) == 0)
		f |= F_FALLOC;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, BLOCK) == 0)
		f |= F_PUNCH;
	if (fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, BLOCK) == 0)
		f |= F_ZERO;
	if (fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, BLOCK) == 0)
		f |= F_COLLAPSE;
	if (fallocate(fd, FALLOC_FL_INSERT_RANGE, 0, BLOCK) == 0)
		f |= F_INSERT;
	return f;
}

/* Whether data that is only in memory yet is found: in a mapping, and after a write. */
static long probe_dirty(int fd)
{
	char *p;
	long f = 0;

	if (ftruncate(fd, 0) || ftruncate(fd, 9 * BLOCK) ||
		pwrite(fd, "x", 1, 6 * BLOCK) != 1)
		return 0;
	p = mmap(NULL, 9 * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 0;
	p[3 * BLOCK] = 'x';
	if (lseek(fd, 0, SEEK_DATA) == 3 * BLOCK &&
		lseek(fd, 4 * BLOCK, SEEK_DATA) == 6 * BLOCK)
		f = F_DIRTY;
	munmap(p, 9 * BLOCK);
	return f;
}

static long probe_data(const char *name)
{
	struct timespec now[2] = { { 1, 0 }, { 1, 0 } };

	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	long f = probe_fallocate(fd);
	off_t a = 0, b = 2 * BLOCK;
	void *p = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p != MAP_FAILED)
		f |= F_MMAP, munmap(p, BLOCK);
	if (pwrite(fd, "x", 1, 0) == 1 && copy_file_range(fd, &a, fd, &b, 1, 0) == 1)
		f |= F_COPY;
	if (lseek(fd, 0, SEEK_DATA) == 0 && lseek(fd, 0, SEEK_HOLE) > 0)
		f |= F_SEEK;
	if (fsetxattr(fd, "user.iops", "x", 1, 0) == 0)
		f |= F_XATTR;
	if (futimens(fd, now) == 0)
		f |= F_UTIMENS;
	f |= probe_dirty(fd);
	if (flock(fd, LOCK_EX) == 0)
		f |= F_LOCKS;
	close(fd);
	fd = open(name, O_RDWR | O_DIRECT);
	if (fd >= 0)
		f |= F_DIRECT, close(fd);
	return f;
}

static long probe(const char *dir)
{
	char a[4096], b[4096];
	long f;

	snprintf(a, sizeof(a), "%s/fsx-probe", dir);
	snprintf(b, sizeof(b), "%s/fsx-probe2", dir);
	f = probe_data(a);
	close(open(b, O_RDWR | O_CREAT, 0600));
	if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0)
		f |= F_EXCHANGE;
	unlink(b);
	if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE) == 0)
		f |= F_NOREPLACE;
	unlink(a);
	unlink(b);
	int fd = open(dir, O_TMPFILE | O_RDWR, 0600);
	if (fd >= 0)
		f |= F_TMPFILE, close(fd);
	return f;
}

static long features_of(const char *list)
{
	long f = 0;

	for (int i = 0; i < NFEATURES; i++)
		if (strstr(list, feature_names[i]))
			f |= 1L << i;
	return f;
}

static void print_features(long f)
{
	for (int i = 0; i < NFEATURES; i++)
		if (f & 1L << i)
			puts(feature_names[i]);
}

static void parse(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:s:j:r:d:u:Ftv")) != -1)
		switch (c) {
		case 'n':
			o->ops = atol(optarg);
			break;
		case 's':
			o->seed = strtoull(optarg, NULL, 0);
			break;
		case 'j':
			o->workers = atol(optarg);
			break;
		case 'r':
			o->rounds = atol(optarg);
			break;
		case 'd':
			o->seconds = atol(optarg);
			break;
		case 'u':
			o->features = features_of(optarg);
			break;
		case 'F':
			o->features = -1;
			break;
		case 't':
			o->threads = 1;
			break;
		case 'v':
			o->verbose = 1;
			break;
		default:
			exit(2);
		}
	if (optind != argc - 1 || o->workers < 1 || o->workers > MAX_WORKERS) {
		fputs("usage: fsx [-n OPS] [-s SEED] [-j WORKERS] [-t] [-r ROUNDS] [-d "
		      "SECONDS]"
		      " [-u LIST] [-v] DIR\n       fsx -F DIR\n",
			stderr);
		exit(2);
	}
	o->dir = argv[optind];
}

int main(int argc, char **argv)
{
	struct options o = { .ops = 2000, .seed = 1, .workers = 1, .rounds = 1 };
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	time_t begin = time(NULL);
	long there;

	umask(0);
	parse(&o, argc, argv);
	there = probe(o.dir);
	if (o.features == -1) {
		print_features(there);
		return 0;
	}
	if (o.features & ~there) {
		fprintf(stderr, "fsx: %s: not there:\n", o.dir);
		print_features(o.features & ~there);
		return 2;
	}
	if (!o.features)
		o.features = there;
	for (long i = 0; i < o.rounds || time(NULL) - begin < o.seconds; i++, o.seed++)
		if (one_round(&o, s))
			return 1;
	return 0;
}
