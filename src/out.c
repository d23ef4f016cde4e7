/*
 * out.c - where a report goes
 */
#include "iops/out.h"
#include "iops/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What main() has put in the place of a closed stream closes itself at exec. */
static int dup_stream(int fd)
{
	if (fcntl(fd, F_GETFD) & FD_CLOEXEC) {
		errno = EBADF;
		return -1;
	}
	return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/*
 * The file is opened before anything runs, so that a wrong name is said at once, but
 * emptied only when there is something to put in its place.
 */
int out_open(struct out *o, const char *path)
{
	struct stat st;

	*o = (struct out){ .fd = -1, .name = path };
	if (!path) {
		o->name = "standard error";
		o->fd = dup_stream(STDERR_FILENO);
	} else if (!strcmp(path, "-")) {
		o->name = "standard output";
		o->fd = dup_stream(STDOUT_FILENO);
	} else {
		o->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
		if (o->fd >= 0 && o->fd < 3) {
			int high = fcntl(o->fd, F_DUPFD_CLOEXEC, 3);
			close(o->fd);
			o->fd = high;
		}
	}
	if (o->fd < 0)
		return diag_err(errno, "%s", o->name);
	o->replace =
		path && strcmp(path, "-") && !fstat(o->fd, &st) && S_ISREG(st.st_mode);
	return 0;
}

/* The folder that a file is to be in: -1, there is none. */
static int stat_folder(const char *path, struct stat *st)
{
	const char *base = strrchr(path, '/');
	char *folder = base ? strndup(path, base > path ? base - path : 1) : NULL;
	int got = base && !folder ? -1 : stat(folder ? folder : ".", st);

	free(folder);
	return got;
}

static const char *name_in_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* By whatever names, whether it is there or not. */
static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (!strcmp(a, b))
		return true;
	if (!strcmp(a, "-") || !strcmp(b, "-"))
		return false;
	bool there = !stat(a, &x);
	if (there != !stat(b, &y))
		return false;
	if (!there && (strcmp(name_in_folder(a), name_in_folder(b)) != 0 ||
			      stat_folder(a, &x) < 0 || stat_folder(b, &y) < 0))
		return false;
	return (!there || S_ISREG(x.st_mode)) && x.st_ino == y.st_ino &&
	       x.st_dev == y.st_dev;
}

bool out_clash(const char *report, const char *log, char *const *argv)
{
	if (report && log && same_file(report, log)) {
		diag("%s cannot be both the report and the log: --output or --log "
		     "elsewhere",
			strcmp(log, "-") ? log : "standard output");
		return true;
	}
	for (; argv && *argv; argv++) {
		const char *out = report && same_file(report, *argv) ? report
				  : log && same_file(log, *argv)     ? log
								     : NULL;
		if (out && strcmp(out, "-")) {
			diag("%s is what is to be read as well: --output or --log "
			     "elsewhere",
				out);
			return true;
		}
	}
	return false;
}

int out_rows(struct out *o)
{
	if (o->replace && ftruncate(o->fd, 0) < 0)
		return diag_err(errno, "%s", o->name);
	o->replace = false;
	return 0;
}

int out_open_log(struct out *o, const char *path)
{
	*o = (struct out){ .fd = -1, .name = path };
	if (!path)
		return 0;
	int err = out_open(o, path);
	if (!err && o->replace && ftruncate(o->fd, 0) < 0)
		err = diag_err(errno, "%s", path);
	return err;
}

int out_write(struct out *o, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(o->fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return diag_err(errno, "cannot write the report to %s", o->name);
		text += n;
		len -= n;
	}
	return 0;
}

int out_replace(struct out *o, const char *text, size_t len)
{
	/* What is there stays unless there is room for what is to take its place. */
	if (o->replace && len &&
		fallocate(o->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)len) < 0 &&
		(errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
		return diag_err(errno, "cannot write the report to %s", o->name);
	if (o->replace && lseek(o->fd, 0, SEEK_SET) < 0)
		return diag_err(errno, "cannot write the report to %s", o->name);
	int err = out_write(o, text, len);
	/* However far that came: nothing of what was there is to follow. */
	if (o->replace && ftruncate(o->fd, lseek(o->fd, 0, SEEK_CUR)) < 0 && !err)
		err = diag_err(errno, "cannot write the report to %s", o->name);
	return err;
}

int out_report(
	struct out *o, const struct report *r, const struct report_in *in, bool one_line)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err = f ? r->render(f, in) : -ENOMEM;

	if (f && fclose(f) && !err)
		err = -ENOMEM;
	if (err < 0) {
		free(text);
		return diag_err(err, "cannot make the report");
	}
	for (size_t i = 0; one_line && i + 1 < len; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	err = one_line ? out_write(o, text, len) : out_replace(o, text, len);
	free(text);
	return err;
}

/* Some file systems find out only now that there is no room. */
int out_close(struct out *o)
{
	int err = o->fd >= 0 && close(o->fd) < 0 && errno != EINTR ? -errno : 0;

	o->fd = -1;
	return err ? diag_err(err, "cannot write %s", o->name) : 0;
}
