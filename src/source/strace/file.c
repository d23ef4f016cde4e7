/*
 * file.c - what strace calls a file to a file of names
 */
#include "strace.h"

#include <stdlib.h>
#include <string.h>

/* What the beginning of a path tells; strace writes the kernel's own words. */
static const struct {
	const char *begin;
	enum file_type type;
} kinds[] = {
	{ "pipe:[", FILE_PIPE },
	{ "socket:[", FILE_SOCKET },
	{ "anon_inode:", FILE_ANON },
	{ "TCP", FILE_SOCKET },
	{ "UDP", FILE_SOCKET },
	{ "UNIX", FILE_SOCKET },
	{ "RAW", FILE_SOCKET },
	{ "NETLINK:[", FILE_SOCKET },
	{ "PACKET", FILE_SOCKET },
	{ "SCTP", FILE_SOCKET },
	{ "PING", FILE_SOCKET },
	{ "/dev/tty", FILE_TTY },
	{ "/dev/pts/", FILE_TTY },
	{ "/dev/console", FILE_TTY },
	{ "/dev/null", FILE_CHAR },
	{ "/dev/zero", FILE_CHAR },
	{ "/dev/full", FILE_CHAR },
	{ "/dev/random", FILE_CHAR },
	{ "/dev/urandom", FILE_CHAR },
	{ "/dev/sd", FILE_BLOCK },
	{ "/dev/nvme", FILE_BLOCK },
	{ "/dev/vd", FILE_BLOCK },
	{ "/dev/loop", FILE_BLOCK },
};

static enum file_type type_of_path(const char *path, enum file_type otherwise)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(path, kinds[i].begin, strlen(kinds[i].begin)))
			return kinds[i].type;
	return otherwise;
}

static uint32_t add_file(struct strace *s, uint32_t path, struct file f)
{
	uint32_t known = f.inode ? 0 : names_find_path(s->text.names, path);

	f.path = path;
	if (!path)
		return 0;
	if (!known)
		return names_add_file(s->text.names, &f);
	if (f.type != FILE_UNKNOWN)
		names_learn_type(s->text.names, known, f.type);
	return known;
}

uint32_t file_of_path(struct strace *s, const struct proc *p, struct word dir,
	struct word name, enum file_type type)
{
	struct file f = { 0 };
	struct word of = { 0 };
	uint32_t base = p->cwd;
	int fd = -1;
	long len = lex_string(name, s->path, sizeof(s->path));

	if (len < 0)
		return 0;
	if (dir.len && lex_fd(dir, &fd, &of) && *s->path != '/') {
		struct fd_open *o = fdtrack_get(p->fds, fd);
		uint32_t file = file_of_words(s, of, o ? o->file : 0);
		if (!file && o)
			file = o->file;
		if (file)
			base = names_file(s->text.names, file)->path;
		else if (fd >= 0)
			base = 0;
		if (!len)
			return file; /* AT_EMPTY_PATH */
		len = lex_string(name, s->path, sizeof(s->path));
	}
	uint32_t path = fdtrack_path(s->fdtrack, base, s->path, len);
	f.type = type_of_path(names_get(s->text.names, path), type);
	return add_file(s, path, f);
}

/* "char 136:0" or "block 8:0" behind the path of a device. */
static void device_of(struct file *f, struct word w)
{
	bool block = w.len > 6 && !memcmp(w.p, "block ", 6);
	char *end;

	if (!block && !(w.len > 5 && !memcmp(w.p, "char ", 5)))
		return;
	unsigned major = strtoul(w.p + (block ? 6 : 5), &end, 10);
	bool tty = !block && (major == 4 || major == 5 || (major >= 136 && major < 144));
	f->type = block ? FILE_BLOCK : tty ? FILE_TTY : FILE_CHAR;
}

uint32_t file_of_words(struct strace *s, struct word w, uint32_t known)
{
	static const char gone[] = " (deleted)";
	const char *before =
		names_get(s->text.names, names_file(s->text.names, known)->path);
	size_t same = strlen(before);
	struct file f = { .type = FILE_REGULAR };
	bool later = w.len && !strncmp(w.p + w.len, "(deleted)", 9);

	if (w.len < 3 || w.p[w.len - 1] != '>')
		return 0;
	/* Told before: nearly always. */
	if (known && !later && same == w.len - 2 && !memcmp(w.p + 1, before, same))
		return known;
	const char *inner = memrchr(w.p + 1, '<', w.len - 1);
	struct word path = w;
	if (inner && inner < w.p + w.len - 2 && w.p[w.len - 2] == '>') {
		device_of(&f, (struct word){ inner + 1, w.p + w.len - inner - 3 });
		path.len = inner - w.p;
	} else {
		path.len--;
	}
	path.p++;
	path.len--;
	/* Without its brackets it is a string all the same. */
	long n = 0;
	char *copy = strndup(w.p, w.len);
	if (!copy)
		return 0;
	copy[path.len + 1] = '>';
	n = lex_string((struct word){ copy, path.len + 2 }, s->path, sizeof(s->path));
	free(copy);
	if (n <= 0)
		return 0;
	/* strace 6 tells it behind the bracket; the kernel, and so older ones, within. */
	if (later && (size_t)n + sizeof(gone) <= sizeof(s->path)) {
		strcpy(s->path + n, gone);
		n += sizeof(gone) - 1;
	}
	f.type = type_of_path(s->path, f.type);
	return add_file(s, names_add(s->text.names, s->path, n), f);
}
