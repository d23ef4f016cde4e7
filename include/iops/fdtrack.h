/*
 * fdtrack.h - which file a descriptor stands for, kept from the history of its process.
 *
 * For events that are read later, when /proc cannot be asked any more. (fdtab.h asks.)
 */
#ifndef IOPS_FDTRACK_H
#define IOPS_FDTRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdtrack;
struct names;

/* What is known of a file whose path is found out only if somebody asks for it. */
struct fd_late {
	uint32_t path;         /* name: whole, as it was given to open(2); 0: none */
	uint32_t major, minor; /* of the device */
	uint64_t inode, mount;
	bool itself; /* no link, whatever is found there */
};

/* What open(2) made: descriptors that were duplicated share it, with its position. */
struct fd_open {
	uint32_t file;  /* id in names; 0 unknown */
	unsigned refs;  /* descriptors that stand for it */
	int flags;      /* of open(2); -1 unknown */
	int64_t offset; /* position, OP_NO_OFFSET unknown */
	int64_t end;    /* of the file, where only we have written it; OP_NO_OFFSET */
	bool seeks;     /* has a position */
	bool loose;     /* others move it unseen */
	bool doubtful;  /* ... and who that is cannot be told */
	uint32_t epoch; /* of paths, when file was last known to be right */
	uint64_t since; /* when it was opened, by the clock of the reader; 0 unknown */
	uint64_t busy;  /* when the last call that moved it ended, and whose it was */
	int32_t user;
	bool crossed;        /* while one was inside that stops, another one used it */
	int32_t tid, fd;     /* who had it, when it was found */
	uint64_t pass;       /* of a reader, when the position was last looked for */
	uint32_t vain, rest; /* since then in vain; not to be, for so many uses */
	uint64_t asked;      /* the last question whose it is */
	struct fd_late late;
};

enum { FDTRACK_MAX = 1 << 20 /* descriptors from here on are not kept */ };

struct fdtrack *fdtrack_new(struct names *names);
void fdtrack_free(struct fdtrack *t);

/*
 * A table of descriptors, empty, a copy of another one (fork), or that one itself
 * (CLONE_FILES). NULL: no memory. Each is to be given back by fdtrack_end().
 */
struct fd_table *fdtrack_table(struct fdtrack *t);
struct fd_table *fdtrack_copy(struct fdtrack *t, const struct fd_table *of);
struct fd_table *fdtrack_share(struct fd_table *of);
void fdtrack_end(struct fdtrack *t, struct fd_table *table);
bool fdtrack_is_shared(const struct fd_table *table);

/* fd stands for something new, or for what another one does. 0 or -ENOMEM. */
int fdtrack_open(
	struct fdtrack *t, struct fd_table *table, int fd, const struct fd_open *what);
int fdtrack_dup(
	struct fdtrack *t, struct fd_table *table, int from, int to, bool cloexec);
void fdtrack_close(struct fdtrack *t, struct fd_table *table, int fd);

/* Times of fd_open.since: when a number was given by dup(2), and a close at that time,
 * which is not of what came later. */
void fdtrack_since(struct fd_table *table, int fd, uint64_t when);
void fdtrack_close_old(struct fdtrack *t, struct fd_table *table, int fd, uint64_t when);
void fdtrack_close_range(
	struct fdtrack *t, struct fd_table *table, unsigned from, unsigned to);
void fdtrack_set_cloexec(struct fd_table *table, int fd, bool on);
void fdtrack_cloexec_range(struct fd_table *table, unsigned from, unsigned to);

/*
 * Do in one table what was done in another since that was a copy of base: for a child
 * whose parent was mistaken. 0 or -ENOMEM.
 */
int fdtrack_replay(
	struct fd_table *to, const struct fd_table *base, const struct fd_table *changed);

/* What fd stands for, kept although it may be closed; to be given, or dropped. */
struct fd_open *fdtrack_hold(const struct fd_table *table, int fd);
void fdtrack_drop(struct fd_open *open);

/* fd stands for what was held; NULL: for something that is not known. */
int fdtrack_give(struct fd_table *table, int fd, struct fd_open *open);

/* Another program runs: a table of its own, without what was to be closed. */
struct fd_table *fdtrack_exec(struct fdtrack *t, struct fd_table *table);

/* What fd stands for, to be looked at and changed; NULL if that is not known. */
struct fd_open *fdtrack_get(const struct fd_table *table, int fd);

/* Every open file of every table, once a descriptor. */
void fdtrack_each(struct fdtrack *t, void (*fn)(struct fd_open *, void *), void *arg);

/* The highest descriptor that may be known, or -1. */
int fdtrack_last(const struct fd_table *table);

/*
 * The name of a path seen from a directory (name; 0 unknown), made plain: without "."
 * and "x/..". Relative if the directory is not known.
 */
uint32_t fdtrack_path(struct fdtrack *t, uint32_t dir, const char *path, size_t len);

#endif
