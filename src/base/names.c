/*
 * names.c - interned strings and files in open-addressed tables
 */
#include "iops/names.h"
#include "iops/map.h"
#include "iops/op.h"
#include "iops/syscalls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct names {
	char **text;       /* by id; id 0 is "" */
	uint32_t *hash;    /* of the text, by id */
	uint32_t n, cap;   /* cap is a power of two */
	uint32_t *slot;    /* ids by hash; 2 * cap of them, 0 if empty */
	struct file *file; /* by id; 0 is all unknown */
	uint32_t nfile, capfile;
	struct map by_path; /* (path, inode) -> the newest file of that key */
	uint32_t *older;    /* by file id: the next one of the same (path, inode) */
	uint32_t *call;     /* names of calls that are no system calls */
	uint32_t ncall, capcall;
	struct map by_call; /* name -> number of the call, plus 1 */
};

/* Numbers of calls: rows of syscalls[] below, made-up ones from here on. */
enum { CALL_FIRST = 1024, CALL_OTHER = OP_CALL, CALL_MAX = CALL_OTHER - CALL_FIRST };

/* Eight bytes at a time: paths are long, and most of what a file costs is their hashes.
 */
static uint32_t hash_of(const char *s, size_t len)
{
	const uint64_t odd = 0x9e3779b97f4a7c15u;
	uint64_t h = len * odd, word;

	for (; len >= sizeof(word); len -= sizeof(word), s += sizeof(word)) {
		memcpy(&word, s, sizeof(word));
		h = (h ^ word) * odd;
		h ^= h >> 32;
	}
	for (word = 0; len; len--)
		word = word << 8 | (unsigned char)s[len - 1];
	h = (h ^ word) * odd;
	return (uint32_t)(h ^ h >> 32);
}

/* The slot of a string: of its id, or the empty one where it would go. */
static uint32_t *find(const struct names *n, uint32_t hash, const char *s, size_t len)
{
	uint32_t mask = 2 * n->cap - 1, i = hash & mask;

	while (n->slot[i]) {
		uint32_t id = n->slot[i];
		if (n->hash[id] == hash && !strncmp(n->text[id], s, len) &&
			!n->text[id][len])
			break;
		i = (i + 1) & mask;
	}
	return &n->slot[i];
}

static int grow(struct names *n, uint32_t cap)
{
	char **text = realloc(n->text, cap * sizeof(*text));
	if (!text)
		return -1;
	n->text = text;

	uint32_t *hash = realloc(n->hash, cap * sizeof(*hash));
	if (!hash)
		return -1;
	n->hash = hash;

	uint32_t *slot = calloc(2 * cap, sizeof(*slot));
	if (!slot)
		return -1;
	free(n->slot);
	n->slot = slot;
	n->cap = cap;
	for (uint32_t id = 1; id < n->n; id++)
		*find(n, hash[id], text[id], strlen(text[id])) = id;
	return 0;
}

static int grow_files(struct names *n, uint32_t cap)
{
	struct file *file = realloc(n->file, cap * sizeof(*file));
	if (!file)
		return -1;
	n->file = file;

	uint32_t *older = realloc(n->older, cap * sizeof(*older));
	if (!older)
		return -1;
	n->older = older;
	n->capfile = cap;
	return 0;
}

struct names *names_new(void)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n || grow(n, 64) < 0 || grow_files(n, 16) < 0) {
		names_free(n);
		return NULL;
	}
	n->n = n->nfile = 1;
	n->text[0] = NULL;
	n->file[0] = (struct file){ 0 };
	n->older[0] = 0;
	return n;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	for (uint32_t id = 1; id < n->n; id++)
		free(n->text[id]);
	free(n->text);
	free(n->hash);
	free(n->slot);
	free(n->file);
	free(n->older);
	free(n->call);
	map_fini(&n->by_call);
	map_fini(&n->by_path);
	free(n);
}

uint32_t names_add(struct names *n, const char *s, size_t len)
{
	/* A name ends at a NUL, whatever a text says of its length. */
	if (!len || !(len = strnlen(s, len)))
		return 0;

	uint32_t hash = hash_of(s, len), *slot = find(n, hash, s, len);
	if (*slot)
		return *slot;
	if (n->n == n->cap) {
		if (n->cap >= UINT32_MAX / 4 || grow(n, 2 * n->cap) < 0)
			return 0;
		slot = find(n, hash, s, len);
	}
	char *text = strndup(s, len);
	if (!text)
		return 0;
	n->text[n->n] = text;
	n->hash[n->n] = hash;
	return *slot = n->n++;
}

const char *names_get(const struct names *n, uint32_t id)
{
	return id && id < n->n ? n->text[id] : "";
}

/* "/a/b" is in "/a"; what has no directory (pipes, sockets) has none. */
static uint32_t dir_of(struct names *n, const char *path)
{
	const char *slash = *path == '/' ? strrchr(path, '/') : NULL;

	if (!slash)
		return 0;
	return slash == path ? names_add(n, "/", 1) : names_add(n, path, slash - path);
}

static int same(const struct file *a, const struct file *b)
{
	return a->path == b->path && a->inode == b->inode && a->major == b->major &&
	       a->minor == b->minor && a->type == b->type && a->mount == b->mount &&
	       a->host == b->host;
}

uint32_t names_add_file(struct names *n, const struct file *f)
{
	uint32_t first = map_get(&n->by_path, f->path, f->inode);

	for (uint32_t id = first; id; id = n->older[id])
		if (same(&n->file[id], f)) {
			names_learn_system(n, id, f->fs);
			return id;
		}
	if (n->nfile == n->capfile && grow_files(n, 2 * n->capfile) < 0)
		return 0;
	if (map_put(&n->by_path, f->path, f->inode, n->nfile) < 0)
		return 0;
	n->file[n->nfile] = *f;
	n->file[n->nfile].dir = dir_of(n, names_get(n, f->path));
	n->older[n->nfile] = first;
	return n->nfile++;
}

const struct file *names_file(const struct names *n, uint32_t id)
{
	return &n->file[id < n->nfile ? id : 0];
}

void names_learn_type(struct names *n, uint32_t file, enum file_type type)
{
	if (file && file < n->nfile && n->file[file].type == FILE_UNKNOWN)
		n->file[file].type = type;
}

void names_learn_system(struct names *n, uint32_t file, uint32_t fs)
{
	if (file && file < n->nfile && !n->file[file].fs)
		n->file[file].fs = fs;
}

uint32_t names_find_file(const struct names *n, const struct file *f)
{
	for (uint32_t id = map_get(&n->by_path, f->path, f->inode); id;
		id = n->older[id]) {
		struct file like = *f;
		like.mount = n->file[id].mount;
		if (same(&n->file[id], &like))
			return id;
	}
	return 0;
}

uint32_t names_find_path(const struct names *n, uint32_t path)
{
	return map_get(&n->by_path, path, 0);
}

static unsigned call_new(struct names *n, uint32_t name)
{
	if (n->ncall == CALL_MAX)
		return CALL_OTHER;
	if (n->ncall == n->capcall) {
		uint32_t cap = n->capcall ? 2 * n->capcall : 32;
		uint32_t *more = realloc(n->call, cap * sizeof(*more));
		if (!more)
			return CALL_OTHER;
		n->call = more;
		n->capcall = cap;
	}
	n->call[n->ncall] = name;
	return CALL_FIRST + n->ncall++;
}

unsigned names_call(struct names *n, const char *name, size_t len)
{
	uint32_t id = names_add(n, name, len);
	uintptr_t known = id ? map_get(&n->by_call, id, 0) : 0;

	if (!id || known)
		return id ? known - 1 : CALL_OTHER;
	int row = syscall_by_name(names_get(n, id));
	unsigned call = row >= 0 ? (unsigned)row : call_new(n, id);
	if (map_put(&n->by_call, id, 0, call + 1) < 0)
		return CALL_OTHER;
	return call;
}

const char *names_call_name(const struct names *n, unsigned call)
{
	if (call >= CALL_FIRST)
		return call - CALL_FIRST < n->ncall
			       ? names_get(n, n->call[call - CALL_FIRST])
			       : "other";
	return call < syscall_rows() ? syscalls[call].name : "other";
}

static const char *const type_name[] = {
#define X(name, text) [FILE_##name] = text,
	FILE_TYPES(X)
#undef X
};

const char *file_type_name(unsigned type)
{
	return type_name[type < NFILE_TYPES ? type : FILE_UNKNOWN];
}

static bool is_terminal(dev_t rdev)
{
	unsigned n = major(rdev);

	/* Consoles and serial lines, /dev/tty, pseudo terminals. */
	return n == 4 || n == 5 || (n >= 136 && n <= 143);
}

enum file_type file_type_by_mode(mode_t mode, dev_t rdev)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return FILE_REGULAR;
	case S_IFDIR:
		return FILE_DIR;
	case S_IFIFO:
		return FILE_PIPE;
	case S_IFSOCK:
		return FILE_SOCKET;
	case S_IFBLK:
		return FILE_BLOCK;
	case S_IFCHR:
		return is_terminal(rdev) ? FILE_TTY : FILE_CHAR;
	}
	return FILE_UNKNOWN;
}

int file_type_of(const char *name)
{
	for (int i = 0; name && i < NFILE_TYPES; i++)
		if (!strcmp(name, type_name[i]))
			return i;
	return -1;
}
