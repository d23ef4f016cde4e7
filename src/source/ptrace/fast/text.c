/*
 * text.c - the code of a task that stands still: which file it is from
 *
 * A file is looked at once (elf.c); in each process the bytes to be changed are compared
 * with it.
 */
#include "../tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JUMP = 5 };

struct text {
	uint8_t *file;
	size_t size;
	struct elf *elf;
};

/* A mapping of code, as /proc/PID/maps tells. */
struct mapping {
	uint64_t from, to, offset;
	uint64_t dev, inode;
	char path[PATH_MAX];
};

/* The mapping around an address, if it is code from a file that is not writable. */
static int find_mapping(pid_t tid, uint64_t at, struct mapping *m)
{
	char name[48], line[PATH_MAX + 128], mode[8];
	int err = -EFAULT, from = 0;
	unsigned major, minor;

	snprintf(name, sizeof(name), "/proc/%d/maps", tid);
	FILE *f = fopen(name, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			    "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64
			    " %n",
			    &m->from, &m->to, mode, &m->offset, &major, &minor, &m->inode,
			    &from) != 7 ||
			at < m->from || at >= m->to)
			continue;
		line[strcspn(line, "\n")] = 0;
		m->dev = (uint64_t)major << 32 | minor;
		snprintf(m->path, sizeof(m->path), "%s", line + from);
		err = m->inode && mode[1] != 'w' && mode[2] == 'x' && mode[3] == 'p'
			      ? 0
			      : -EACCES;
		break;
	}
	fclose(f);
	return err;
}

static void text_free(struct text *x)
{
	elf_free(x->elf);
	if (x->file)
		munmap(x->file, x->size);
	free(x);
}

void texts_free(struct fast *f)
{
	for (size_t i = 0; i < f->texts.cap; i++)
		if (f->texts.slot[i].value)
			text_free((struct text *)f->texts.slot[i].value);
	map_fini(&f->texts);
}

/* An empty text stands for a file of which nothing can be known. */
static struct text *text_open(pid_t tid, const struct mapping *m)
{
	char path[PATH_MAX + 48];
	struct text *x = calloc(1, sizeof(*x));
	struct stat st;

	if (!x)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/root%s", tid, m->path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return x;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
		st.st_ino == m->inode) {
		x->size = st.st_size;
		x->file = mmap(NULL, x->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (x->file == MAP_FAILED)
			x->file = NULL;
		else
			x->elf = elf_new(x->file, x->size);
	}
	close(fd);
	return x;
}

static struct text *text_of(struct fast *f, pid_t tid, const struct mapping *m)
{
	struct text *x = (struct text *)map_get(&f->texts, m->dev, m->inode);

	if (x)
		return x;
	x = text_open(tid, m);
	if (x && map_put(&f->texts, m->dev, m->inode, (uintptr_t)x) < 0) {
		text_free(x);
		return NULL;
	}
	return x;
}

/* Is what runs there what the file says? */
static int compare(pid_t tid, uint64_t at, const struct plan *p)
{
	uint8_t now[16];
	ssize_t n = p->cave ? 2 : p->length;

	if (tracee_read(tid, at + p->patch, now, n) != n || memcmp(now, p->old, n))
		return -ESTALE;
	if (p->cave && (tracee_read(tid, at + p->cave, now, JUMP) != JUMP ||
			       memcmp(now, p->old + 2, JUMP)))
		return -ESTALE;
	return 0;
}

static int plan_in(const struct code *c, pid_t tid, uint64_t at, struct plan *out)
{
	int err = c->text->elf ? elf_plan(c->text->elf, at - c->from + c->offset, out)
			       : -ENOEXEC;

	return err < 0 ? err : compare(tid, at, out);
}

static int find_code(struct fast *f, pid_t tid, uint64_t at, struct code *out)
{
	struct mapping m;
	int err = find_mapping(tid, at, &m);

	if (err < 0)
		return err;
	*out = (struct code){ m.from, m.to, m.offset, text_of(f, tid, &m) };
	return out->text ? 0 : -ENOMEM;
}

int text_plan(struct fast *f, pid_t tid, uint64_t at, struct plan *out)
{
	struct code c;
	int err = find_code(f, tid, at, &c);

	return err < 0 ? err : plan_in(&c, tid, at, out);
}

/* What was mapped there before most likely still is: the bytes are compared anyway. */
int text_plan_again(
	struct fast *f, struct space *s, pid_t tid, uint64_t at, struct plan *out)
{
	for (unsigned i = 0; i < SPACE_CODES; i++)
		if (at >= s->code[i].from && at < s->code[i].to &&
			!plan_in(&s->code[i], tid, at, out))
			return 0;
	struct code *c = &s->code[s->ncodes++ % SPACE_CODES];
	int err = find_code(f, tid, at, c);
	if (err < 0) {
		*c = (struct code){ 0 };
		return err;
	}
	return plan_in(c, tid, at, out);
}
