/*
 * files.c - the names that the kernel sent, as files of names.h
 */
#include "bpf.h"
#include "iops/names.h"
#include "iops/sink.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* statfs(2): file systems whose files hang nowhere, and how /proc/PID/fd names them. */
static const struct {
	uint32_t magic;
	const char *before;
	bool number; /* "[inode]" follows, not the name */
} nowhere[] = {
	{ 0x50495045, "pipe:", true }, { 0x534f434b, "socket:", true },
	{ 0x09041934, "anon_inode:", false },
	{ 0x50494446, "anon_inode:", false }, /* pidfd */
	{ 0x01021994, "/", false },           /* memfd, SysV shared memory */
	{ 0x958458f6, "/", false },           /* of huge pages */
};

void ebpf_put(struct bpf *b, const struct op *op)
{
	int err = b->sink ? sink_put(b->sink, op) : 0;

	if (err < 0 && !b->error)
		b->error = err;
}

static bool hangs_nowhere(const struct rec_file *r)
{
	return r->head.row == 2;
}

/* Components from the file up, to a path from the root down. Its length; 0: too long. */
static size_t path_of(const struct rec_file *r, size_t len, char out[REC_FILE_MAX + 64])
{
	char turned[REC_FILE_MAX + 64];
	size_t at = sizeof(turned);

	if (hangs_nowhere(r)) {
		for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
			if (nowhere[i].magic != r->magic)
				continue;
			if (nowhere[i].number)
				return sprintf(
					out, "%s[%llu]", nowhere[i].before, r->inode);
			return sprintf(out, "%s%.*s%s", nowhere[i].before, (int)len,
				r->name, *nowhere[i].before == '/' ? " (deleted)" : "");
		}
		return sprintf(out, "/%.*s", (int)len, r->name);
	}
	if (r->head.row != 1)
		return 0;
	for (size_t i = 0; i < len;) {
		size_t n = strnlen(r->name + i, len - i);
		if (n == 1 && r->name[i] == '/') /* of a root that is no mount's */
			n = 0;
		if (n) {
			at -= n + 1;
			turned[at] = '/';
			memcpy(turned + at + 1, r->name + i, n);
		}
		i += strnlen(r->name + i, len - i) + 1;
	}
	if (at == sizeof(turned))
		turned[--at] = '/';
	size_t n = sizeof(turned) - at;
	memcpy(out, turned + at, n);
	if (r->gone && r->magic != PROC_SUPER_MAGIC) { /* nobody deletes there */
		memcpy(out + n, " (deleted)", 10);
		n += 10;
	}
	out[n] = 0;
	return n;
}

static dev_t dev_of(uint32_t dev)
{
	return makedev(dev >> 20, dev & 0xfffff);
}

static struct seen *room(struct bpf *b, uint32_t id)
{
	if (id >= b->nseen) {
		uint32_t n = b->nseen ? b->nseen : 1024;
		while (n <= id && n < 1u << 31)
			n *= 2;
		struct seen *more = realloc(b->seen, n * sizeof(*more));
		if (!more || n <= id)
			return NULL;
		memset(more + b->nseen, 0, (n - b->nseen) * sizeof(*more));
		b->seen = more;
		b->nseen = n;
	}
	return &b->seen[id];
}

void ebpf_files_take(struct bpf *b, const struct rec_file *r, size_t len)
{
	struct fd_task task = { .tid = (pid_t)r->head.tid };
	char path[REC_FILE_MAX + 64];
	struct stat st = {
		.st_dev = dev_of(r->dev),
		.st_rdev = dev_of(r->rdev),
		.st_ino = r->inode,
		.st_mode = r->mode,
	};
	struct seen *s = room(b, r->head.file);

	len = len < r->len ? len : r->len;
	size_t n = path_of(r, len, path);
	if (!s || !n)
		return;
	uint64_t mount = hangs_nowhere(r) ? 0 : (uint64_t)r->mount;
	s->file = fdtab_file(b->fdtab, &task, path, n, mount, &st);
	s->placed = S_ISREG(r->mode) || S_ISBLK(r->mode);
	s->fs = names_add(b->names, r->fs, strnlen(r->fs, sizeof(r->fs)));
}

struct seen ebpf_files_get(const struct bpf *b, uint32_t id)
{
	return id < b->nseen ? b->seen[id] : (struct seen){ 0 };
}

size_t ebpf_files_plain(const struct bpf *b, uint32_t dir, const char *path, size_t len,
	char full[EBPF_PATH_MAX])
{
	const char *from = names_get(b->names, names_file(b->names, dir)->path);
	char *to = full;

	*to = 0;
	if (*path != '/') {
		if (!dir || *from != '/')
			return 0;
		to += sprintf(full, "%.*s", REC_PATH_MAX, strcmp(from, "/") ? from : "");
	}
	for (const char *p = path, *end = path + len; p < end;) {
		size_t n = strcspn(p, "/");
		if (n == 2 && !strncmp(p, "..", 2)) {
			while (to > full && *--to != '/')
				;
		} else if (n && !(n == 1 && *p == '.')) {
			*to++ = '/';
			to = (char *)memcpy(to, p, n) + n;
		}
		p += n + 1;
	}
	if (to == full)
		*to++ = '/';
	*to = 0;
	return to - full;
}

/* A path as a program wrote it, seen from a directory: made plain, and looked at. */
uint32_t ebpf_files_join(
	struct bpf *b, pid_t tid, uint32_t dir, const char *path, size_t len)
{
	struct fd_task task = { .tid = tid };
	struct stat st = { 0 };
	char full[EBPF_PATH_MAX];
	size_t n = ebpf_files_plain(b, dir, path, len, full);

	if (!n)
		return 0;
	if (stat(full, &st) < 0)
		st = (struct stat){ 0 };
	return fdtab_file(b->fdtab, &task, full, n, 0, &st);
}
