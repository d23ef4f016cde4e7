/*
 * now.c - what is found at a path now, and the path that it really has
 *
 * Asked later than the program did, when there may be something else, or nothing.
 */
#include "../tracer.h"
#include "iops/text.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void stat_of(const struct statx *x, struct stat *st)
{
	*st = (struct stat){
		.st_mode = x->stx_mode,
		.st_ino = x->stx_ino,
		.st_dev = makedev(x->stx_dev_major, x->stx_dev_minor),
		.st_rdev = makedev(x->stx_rdev_major, x->stx_rdev_minor),
	};
}

/* Whether the last part of a path that was given is a part of a real one. */
static bool is_part(const char *given, size_t len, const char *path)
{
	while (len && given[len - 1] == '/')
		len--;
	size_t at = len;
	while (at && given[at - 1] != '/')
		at--;
	while (len > at && (path = strchr(path, '/'))) {
		path++;
		if (!strncmp(path, given + at, len - at) &&
			(!path[len - at] || path[len - at] == '/'))
			return true;
	}
	return false;
}

/* Whether a record that is still to come can have led to a path: false if so. */
static bool leads_elsewhere(
	const struct task *k, const struct fast_rec *r, bool flight, void *arg)
{
	const char *more = (const char *)r, *path = arg;
	uint64_t len[2];

	(void)k;
	(void)flight;
	if (!rec_renames(r) && !rec_shares(r))
		return true;
	memcpy(len, more + R_PATHS_LEN1, sizeof(len));
	if (len[0] > PATH_LEN || len[1] > PATH_LEN)
		return true;
	/* Both have come there, if they were exchanged; else one. */
	return !is_part(more + R_PATHS + len[0] + 1, len[1], path) &&
	       (!rec_exchanges(r) || !is_part(more + R_PATHS, len[0], path));
}

/* Whether what is yet to be read may have led to a path that /proc tells now. */
bool is_to_come(struct tracer *t, const char *now)
{
	return !records_touching(t->fast, now, leads_elsewhere, (void *)now);
}

struct next {
	const struct fast *f;
	const char *path;
	uint64_t since, at; /* at: of the first one behind that; UINT64_MAX: none */
	bool puts;          /* it puts something there */
};

static bool is_next(
	const struct task *k, const struct fast_rec *r, bool flight, void *arg)
{
	char path[2][PATH_LEN + 1];
	struct next *n = arg;
	unsigned last = rec_npaths(n->f, r) - 1;

	(void)k;
	(void)flight; /* that may have been done already */
	if (r->t0 < n->since || r->t0 > n->at)
		return true;
	rec_paths(r, last + 1, path);
	bool puts = last && is_part(path[1], strlen(path[1]), n->path);
	bool takes = !rec_shares(r) && !rec_links(r) &&
		     is_part(path[0], strlen(path[0]), n->path);
	if (puts || takes) {
		n->at = r->t0;
		n->puts = puts;
	}
	return true;
}

/*
 * Something is at a path now. Whether that was there at some time before: what is yet to
 * be read does not say that it has been put there since, or that it was taken from there
 * first.
 */
bool is_there_since(struct tracer *t, const char *path, uint64_t since)
{
	struct next n = { t->fast, path, since, UINT64_MAX, false };

	records_touching(t->fast, path, is_next, &n);
	return !n.puts;
}

/* Some links of /proc lead each to itself. */
bool is_in_proc(const char *path)
{
	return !strncmp(path, "/proc/", 6);
}

bool is_deleted(const char *path)
{
	size_t len = strlen(path);

	return text_named(path, len) < len;
}

/* What is found at a path, and where that really is. Bytes, or 0. */
static ssize_t path_now(
	struct tracer *t, struct task *k, const char *full, struct stat *st, char *out)
{
	char self[32];
	ssize_t n = 0;
	int fd = root_open(t, k, full, 0);

	if (fd < 0)
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!fstat(fd, st))
		n = readlink(self, out, PATH_MAX - 1);
	close(fd);
	if (n <= 0 || *out != '/')
		return 0;
	out[n] = 0;
	/* Nobody deletes there: whose it is has ended just now. */
	if (is_in_proc(out))
		out[n = (ssize_t)text_named(out, (size_t)n)] = 0;
	return n;
}

/* A path that links of /proc have led to ourselves, where the task would have found
 * itself. false: it is none. */
static bool to_itself(const struct task *k, const char *ours, char *out, size_t size)
{
	unsigned pid, tid, end = 0, end2 = 0;

	if (sscanf(ours, "/proc/%u%n/task/%u%n", &pid, &end, &tid, &end2) < 1 ||
		pid != (unsigned)getpid() || (ours[end] && ours[end] != '/'))
		return false;
	int n = snprintf(out, size, "/proc/%d", k->process->pid);
	if (end2)
		n += snprintf(out + n, size - n, "/task/%d", k->tid);
	snprintf(out + n, size - n, "%s", ours + (end2 ? end2 : end));
	return true;
}

/*
 * The real path of what is found at a path, if it is that inode. Bytes, or 0; also if it
 * has another path by the time that we ask for it.
 */
ssize_t found_path(struct tracer *t, struct task *k, const char *full,
	const struct stat *is, char *out)
{
	char again[PATH_MAX];
	struct stat st, now;
	ssize_t n = path_now(t, k, full, &st, out);

	if (n && strcmp(full, out) && to_itself(k, out, again, sizeof(again)))
		return found_path(t, k, again, is, out);
	if (!n || (is && (st.st_ino != is->st_ino || st.st_dev != is->st_dev)))
		return 0;
	if (!strcmp(full, out))
		return n;
	return path_now(t, k, full, &now, again) && now.st_ino == st.st_ino &&
			       now.st_dev == st.st_dev && !strcmp(out, again) &&
			       !is_to_come(t, out)
		       ? n
		       : 0;
}
