/*
 * fsxshared.h - what fsx's workers do to one folder at the same time. Nobody knows who
 * comes first, but counts must come out: names made and removed, counters that a lock
 * guards, records appended; and what only one of them touches it must always see once.
 */
#ifndef FSXSHARED_H
#define FSXSHARED_H

#include "fsxname.h"

#include <sys/file.h>

enum { NCONTESTED = 12, RECORD = 64 };

static void stable_name(const struct worker *w, long i, int moved, char *out)
{
	sprintf(out, "s%ld-%ld-%s", w->id, i,
		moved ? "b" : "a-name-that-takes-some-room-in-a-folder");
}

/* One of the names that all fight for. Another's success is no error of ours. */
static void op_contest(struct worker *w)
{
	long what = below(w, 6), i = below(w, NCONTESTED), k = below(w, NCONTESTED);
	char a[32], b[32];
	int rc = -1, more = 0;

	sprintf(a, "c%ld", i);
	sprintf(b, "c%ld", k);
	will(w, "shared names %ld and %ld: %ld", i, k, what);
	if (what <= 1) {
		rc = openat(w->common, a, O_CREAT | O_EXCL | O_RDWR, 0666);
		more = 1;
		if (rc >= 0)
			close(rc), rc = 0;
	} else if (what == 2) {
		rc = unlinkat(w->common, a, 0);
		more = -1;
	} else if (what == 3) {
		rc = linkat(w->common, a, w->common, b, 0);
		more = 1;
	} else if (has(w, what == 4 ? F_NOREPLACE : F_EXCHANGE)) {
		rc = renameat2(w->common, a, w->common, b,
			what == 4 ? RENAME_NOREPLACE : RENAME_EXCHANGE);
	} else {
		return;
	}
	if (rc == 0)
		atomic_fetch_add(&w->shared->entries, more);
	else if (errno != ENOENT && errno != EEXIST)
		wrong(w, "fails");
}

static void see_stable(struct worker *w, const struct dirent64 *e, void *arg)
{
	long *seen = arg;
	char name[PATH_SIZE];

	for (long i = 0; i < NSTABLE; i++)
		if (stable_name(w, i, w->stable[i], name), !strcmp(e->d_name, name))
			seen[i]++;
}

static void op_stable(struct worker *w)
{
	long i = below(w, NSTABLE), size = 300 + below(w, 3796), seen[NSTABLE] = { 0 };
	char a[PATH_SIZE], b[PATH_SIZE];

	will(w, "own shared name %ld, list by %ld", i, size);
	stable_name(w, i, w->stable[i], a);
	stable_name(w, i, w->stable[i] ^= 1, b);
	outcome(w, "rename", renameat(w->common, a, w->common, b), 0);
	int fd = openat(w->common, ".", O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		wrong(w, "open of the shared folder fails");
	scan(w, fd, (size_t)size, see_stable, seen);
	close(fd);
	for (i = 0; i < NSTABLE; i++)
		expect(w, "entries of an own name", seen[i], 1);
}

static int lock_file(struct worker *w, int fd, long how, int type)
{
	struct flock l = {
		.l_type = (short)type, .l_whence = SEEK_SET, .l_start = 8, .l_len = 8
	};

	if (how == 0)
		return flock(fd, type == F_UNLCK ? LOCK_UN : LOCK_EX);
	/* Threads of one process share locks of the old kind. */
	return fcntl(fd, how == 1 && !w->o->threads ? F_SETLKW : F_OFD_SETLKW, &l);
}

static void op_count(struct worker *w)
{
	long how = below(w, 3), unlock = below(w, 2), v = 0;
	char a[32];

	if (!has(w, F_LOCKS))
		return;
	sprintf(a, "k%ld", how);
	will(w, "count under lock %ld", how);
	int fd = openat(w->common, a, O_RDWR | O_CREAT, 0666);
	if (fd < 0 || lock_file(w, fd, how, F_WRLCK))
		wrong(w, "lock fails");
	if (pread(fd, &v, sizeof(v), 0) < 0)
		wrong(w, "pread fails");
	v++;
	expect(w, "pwrite", pwrite(fd, &v, sizeof(v), 0), sizeof(v));
	atomic_fetch_add(&w->shared->counter[how], 1);
	if (unlock)
		outcome(w, "unlock", lock_file(w, fd, how, F_UNLCK), 0);
	outcome(w, "close", close(fd), 0);
}

static void op_record(struct worker *w)
{
	char line[RECORD + 1];

	will(w, "append a record");
	int fd = openat(w->common, "records", O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (fd < 0)
		wrong(w, "open fails");
	sprintf(line, "%-3ld %-20ld%*s", w->id, w->nop, RECORD - 24, "end\n");
	expect(w, "write", write(fd, line, RECORD), RECORD);
	outcome(w, "close", close(fd), 0);
	atomic_fetch_add(&w->shared->records, 1);
}

static void begin_shared(struct worker *w)
{
	char a[PATH_SIZE];

	for (long i = 0; i < NSTABLE; i++) {
		stable_name(w, i, 0, a);
		will(w, "create own shared name %ld", i);
		int fd = openat(w->common, a, O_CREAT | O_EXCL | O_WRONLY, 0600);
		if (fd < 0)
			wrong(w, "create fails");
		close(fd);
	}
}

static void end_shared(struct worker *w)
{
	char a[PATH_SIZE];

	for (long i = 0; i < NSTABLE; i++) {
		stable_name(w, i, w->stable[i], a);
		will(w, "unlink own shared name %ld", i);
		outcome(w, "unlink", unlinkat(w->common, a, 0), 0);
	}
}

static void see_any(struct worker *w, const struct dirent64 *e, void *arg)
{
	long *n = arg;

	(void)w;
	*n += e->d_name[0] == 'c';
}

/* When all have ended: everything has been counted. */
static void check_shared(struct worker *w)
{
	struct shared *s = w->shared;
	char a[32], line[RECORD];
	long n = 0, v;

	will(w, "check what is shared");
	int fd = openat(w->common, ".", O_RDONLY | O_DIRECTORY);
	scan(w, fd, 4096, see_any, &n);
	close(fd);
	expect(w, "contested names", n, s->entries);
	for (int how = 0; how < 3; how++) {
		sprintf(a, "k%d", how);
		fd = openat(w->common, a, O_RDONLY | O_CREAT, 0666);
		v = 0;
		if (fd < 0 || pread(fd, &v, sizeof(v), 0) < 0 || v != s->counter[how])
			wrong(w, "counter %d is %ld, not %ld", how, v, s->counter[how]);
		close(fd);
	}
	fd = openat(w->common, "records", O_RDONLY | O_CREAT, 0666);
	for (n = 0; read(fd, line, RECORD) == RECORD; n++)
		if (memcmp(line + RECORD - 4, "end\n", 4))
			wrong(w, "record %ld is torn", n);
	close(fd);
	expect(w, "records", n, s->records);
}

#endif
