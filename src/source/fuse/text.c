/*
 * text.c - what is asked for in a request, in the words of a FUSE trace: the name of the
 * call, padded, and its keys with their values
 */
#include "fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 256, PATH = 1 << 16 };

static void keys_of_setattr(const struct fuse_setattr_in *in, char *keys)
{
	if (in->valid & FATTR_SIZE)
		snprintf(keys, KEYS, "; length=%llu", (unsigned long long)in->size);
	else if (in->valid & FATTR_MODE)
		snprintf(keys, KEYS, "; mode=%u", in->mode);
	else if (in->valid & (FATTR_UID | FATTR_GID))
		snprintf(keys, KEYS, "; uid=%d; gid=%d",
			in->valid & FATTR_UID ? (int)in->uid : -1,
			in->valid & FATTR_GID ? (int)in->gid : -1);
	else
		snprintf(keys, KEYS, "; times:(%llu.%09u, %llu.%09u)",
			(unsigned long long)in->atime, in->atimensec,
			(unsigned long long)in->mtime, in->mtimensec);
}

/* What stands behind the first key. */
static void keys_of(const struct req *r, char *keys)
{
	const struct fuse_read_in *io = r->arg;
	const struct fuse_open_in *open = r->arg;
	const struct fuse_create_in *create = r->arg;
	const struct fuse_mknod_in *node = r->arg;
	const struct fuse_access_in *access = r->arg;

	*keys = 0;
	switch (r->in->opcode) {
	case FUSE_READ:
		snprintf(keys, KEYS, "; length=%u; offset=%llu", io->size,
			(unsigned long long)io->offset);
		break;
	case FUSE_WRITE:
		snprintf(keys, KEYS, "; offset=%llu; length_buf=%u",
			(unsigned long long)io->offset, io->size);
		break;
	case FUSE_OPEN:
		snprintf(keys, KEYS, "; flags=%u", open->flags);
		break;
	case FUSE_CREATE:
		snprintf(keys, KEYS, "; mode=%u; fi=None", create->mode);
		break;
	case FUSE_MKNOD:
		snprintf(keys, KEYS, "; mode=%u; dev=%u", node->mode, node->rdev);
		break;
	case FUSE_MKDIR:
	case FUSE_ACCESS:
		snprintf(keys, KEYS, "; mode=%u", access->mask);
		break;
	case FUSE_SETATTR:
		keys_of_setattr(r->arg, keys);
		break;
	}
}

static const char *name_of(const struct req *r, char buf[24])
{
	const struct request *q = &r->fs->requests[r->in->opcode];
	const char *name = r->call ? r->call : q->name;
	int n = 0;

	if (q->text)
		return q->text;
	if (!strcmp(name, "truncate"))
		return "TRUNC";
	if (!strcmp(name, "utimens"))
		return "UTIMES";
	for (; name[n] && n < 23; n++)
		buf[n] = name[n] >= 'a' && name[n] <= 'z' ? name[n] - 32 : name[n];
	buf[n] = 0;
	return buf;
}

/* A line is a line, whatever a file is called. */
static void one_line(char *s)
{
	for (; *s; s++)
		*s = *s == '\n' ? '?' : *s;
}

char *text_of(struct req *r)
{
	char keys[KEYS], buf[24], *path = malloc(PATH), *other = NULL, *line = NULL;
	const char *name = name_of(r, buf);
	int n = -1;

	if (!path)
		return NULL;
	path_text(r->fs, r->path, path, PATH);
	if (r->path2 && (other = malloc(PATH)))
		path_text(r->fs, r->path2, other, PATH);
	keys_of(r, keys);
	if (r->in->opcode == FUSE_SYMLINK)
		n = asprintf(&line, "%8s: name=%s; target=%s", name, path,
			r->name + strlen(r->name) + 1);
	else if (other && r->in->opcode == FUSE_LINK)
		n = asprintf(&line, "%8s: target=%s; name=%s", name, path, other);
	else if (other && !r->second)
		n = asprintf(&line, "%8s: old=%s; new=%s", name, path, other);
	else
		n = asprintf(&line, "%8s: path=%s%s", name, path, keys);
	free(path);
	free(other);
	if (n < 0)
		return NULL;
	one_line(line);
	return line;
}
