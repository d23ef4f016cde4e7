/*
 * names.h - interned strings and files. Records carry ids; only names know the text.
 */
#ifndef IOPS_NAMES_H
#define IOPS_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct names;

/* X(name, text) */
#define FILE_TYPES(X)                                                                    \
	X(UNKNOWN, "unknown")                                                            \
	X(REGULAR, "regular")                                                            \
	X(DIR, "dir")                                                                    \
	X(PIPE, "pipe")                                                                  \
	X(SOCKET, "socket")                                                              \
	X(TTY, "tty")                                                                    \
	X(CHAR, "char")                                                                  \
	X(BLOCK, "block")                                                                \
	X(ANON, "anon")

enum file_type {
#define X(name, text) FILE_##name,
	FILE_TYPES(X)
#undef X
		NFILE_TYPES,
};

/* One file under one path: the same inode renamed is another struct file. */
struct file {
	uint32_t path,
		mount; /* names; 0 unknown. mount: where its file system is mounted */
	uint32_t major, minor;
	uint64_t inode; /* 0 unknown */
	uint32_t dir;   /* name of the directory part, filled in by names_add_file() */
	uint32_t host;  /* name; 0 where all files are of one host */
	uint32_t fs;    /* name of the type of its file system; 0 unknown. No two files
			   differ by it alone */
	uint8_t type;   /* enum file_type */
};

struct names *names_new(void);
void names_free(struct names *n);

/* Id of a string, adding it if new. 0: out of memory, or the empty string. */
uint32_t names_add(struct names *n, const char *s, size_t len);

/* The text of an id, NUL-terminated, borrowed until names_free(). Never NULL. */
const char *names_get(const struct names *n, uint32_t id);

/* Id of a file, adding it if new. 0: out of memory. */
uint32_t names_add_file(struct names *n, const struct file *f);

/* The file of an id, borrowed until the next names_add_file(). Never NULL. */
const struct file *names_file(const struct names *n, uint32_t id);

/*
 * Number of a call for op.call: its row of syscalls[], or a new number beyond them for
 * what other tools call their operations. When these run out: the number of "other".
 */
unsigned names_call(struct names *n, const char *name, size_t len);

/* The name of a number, borrowed until names_free(). Never NULL. */
const char *names_call_name(const struct names *n, unsigned call);

/* The type of a file that was FILE_UNKNOWN until now. */
void names_learn_type(struct names *n, uint32_t file, enum file_type type);

/* And of its file system, the name of a type. */
void names_learn_system(struct names *n, uint32_t file, uint32_t fs);

/* A file that is the same but for its mount, which not every report tells; or 0. */
uint32_t names_find_file(const struct names *n, const struct file *f);

/* The newest file of that path and inode 0, or 0. */
uint32_t names_find_path(const struct names *n, uint32_t path);

const char *file_type_name(unsigned type);

/* Of stat(2)'s st_mode; st_rdev tells terminals from other devices of characters.
 * FILE_UNKNOWN: it has no type there, as eventfd(2) and its like have none. */
enum file_type file_type_by_mode(mode_t mode, dev_t rdev);

/* NULL-safe; the type of that name, or -1. */
int file_type_of(const char *name);

#endif
