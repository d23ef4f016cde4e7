/*
 * cpufiles.c - find the files of all CPUs
 */
#include "iops/cpufiles.h"
#include "iops/diag.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char mark[] = ".blktrace.";

/* The end of X in "X.blktrace.N", or NULL. */
static const char *stem_end(const char *name)
{
	const char *slash = strrchr(name, '/'), *at = NULL;
	const char *base = slash ? slash + 1 : name;

	for (const char *next = base; (next = strstr(next, mark)); next++)
		at = next;
	if (!at || at == base)
		return NULL;
	const char *n = at + sizeof(mark) - 1;
	return *n && !n[strspn(n, "0123456789")] && strlen(n) < 6 ? at : NULL;
}

static int number(const char *name)
{
	return atoi(stem_end(name) + sizeof(mark) - 1);
}

bool cpufiles_is(const char *path)
{
	return stem_end(path);
}

bool cpufiles_together(const char *a, const char *b)
{
	const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
	size_t n = x ? x - a + 1 : 0, m = y ? y - b + 1 : 0;

	return cpufiles_is(a) && cpufiles_is(b) && n == m && !strncmp(a, b, n);
}

static bool has(const struct cpufiles *f, const char *path)
{
	struct stat a, b;

	if (stat(path, &a) < 0)
		return false;
	for (unsigned i = 0; i < f->n; i++)
		if (cpufiles_is(f->path[i]) && !stat(f->path[i], &b) &&
			a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return true;
	return false;
}

static int add(struct cpufiles *f, const char *path)
{
	char **more = realloc(f->path, (f->n + 2) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	f->path = more;
	more[f->n] = strdup(path);
	if (!more[f->n])
		return -ENOMEM;
	more[++f->n] = NULL;
	return 0;
}

/* The files of a folder that are of X, or of anything where X is empty. */
static int list(const char *dir, const char *stem, size_t len, struct dirent ***found)
{
	int n = scandir(dir, found, NULL, versionsort), kept = 0;

	for (int i = 0; i < n; i++) {
		struct dirent *d = (*found)[i];
		const char *end = stem_end(d->d_name);
		if (end && (!len || ((size_t)(end - d->d_name) == len &&
					    !strncmp(d->d_name, stem, len))))
			(*found)[kept++] = d;
		else
			free(d);
	}
	if (n >= 0 && !kept)
		free(*found);
	return kept;
}

/* All CPUs have a file, empty ones too: a number that is left out is a file that is lost.
 */
static void say_missing(
	struct cpufiles *f, const char *dir, const char *before, const char *name)
{
	size_t len = stem_end(name) - name;
	bool same = before && stem_end(before) - before == (ptrdiff_t)len &&
		    !strncmp(name, before, len);

	for (int i = same ? number(before) + 1 : 0; i < number(name); i++)
		if (f->missing++ < 16)
			diag("%s%s%.*s%s%d: there is no such file; the report covers the "
			     "rest",
				dir, *dir && dir[strlen(dir) - 1] != '/' ? "/" : "",
				(int)len, name, mark, i);
}

/* How many files there are, added or there before; -errno. */
static int add_all(struct cpufiles *f, const char *dir, const char *stem, size_t len)
{
	struct dirent **found;
	int n = list(*dir ? dir : ".", stem, len, &found), err = 0;
	unsigned first = f->n;
	char path[PATH_MAX], empty[PATH_MAX] = "";
	struct stat st;

	for (int i = 0; i < n && !err; i++) {
		snprintf(path, sizeof(path), "%s%s%s", dir,
			*dir && dir[strlen(dir) - 1] != '/' ? "/" : "", found[i]->d_name);
		bool none = !stat(path, &st) && S_ISREG(st.st_mode) && !st.st_size;
		if (!has(f, path))
			say_missing(f, dir, i ? found[i - 1]->d_name : NULL,
				found[i]->d_name);
		if (none)
			snprintf(empty, sizeof(empty), "%s", path);
		else if (!has(f, path))
			err = add(f, path);
	}
	/* All of them empty: one stands for what is said of it. */
	if (!err && n > 0 && f->n == first && *empty && !first)
		err = add(f, empty);
	for (int i = 0; i < n; i++)
		free(found[i]);
	if (n > 0)
		free(found);
	return err ? err : n;
}

static int add_word(struct cpufiles *f, const char *word)
{
	const char *slash = strrchr(word, '/'), *base = slash ? slash + 1 : word;
	const char *end = stem_end(word);
	char dir[PATH_MAX];
	struct stat st;
	bool is = !stat(word, &st);

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - word + 1) : 0, word);
	int n = is && S_ISDIR(st.st_mode) ? add_all(f, word, "", 0)
		: end && is               ? add_all(f, dir, base, end - base)
		: !is && *base && strcmp(word, "-") != 0
			? add_all(f, dir, base, strlen(base))
			: 0;
	return n > 0 ? 0 : n < 0 ? n : add(f, word);
}

int cpufiles_find(struct cpufiles *f, char *const *word, unsigned n)
{
	int err = 0;

	*f = (struct cpufiles){ .n = 0 };
	for (unsigned i = 0; i < n && !err; i++)
		err = add_word(f, word[i]);
	if (err)
		cpufiles_fini(f);
	return err;
}

void cpufiles_fini(struct cpufiles *f)
{
	for (unsigned i = 0; i < f->n; i++)
		free(f->path[i]);
	free(f->path);
	*f = (struct cpufiles){ .n = 0 };
}
