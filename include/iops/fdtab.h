/*
 * fdtab.h - which file a descriptor of a process stands for.
 *
 * Asked while the task stands still, /proc has the truth: it knows about dup, fork,
 * exec, received descriptors, renames and all else, and costs less than stopping at
 * every call that could change it.
 */
#ifndef IOPS_FDTAB_H
#define IOPS_FDTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fdtab;
struct names;

enum { FD_SLOTS = 4 };

/* What is remembered of a task between its calls. All zero but tid is a new one. */
struct fd_task {
	pid_t tid;
	uint16_t uses; /* of /proc/TID/fd before it is worth keeping open */
	int dir;       /* /proc/TID/fd, plus 1; 0: not open */
	struct fd_slot *slot[FD_SLOTS];
	struct fd_task *next, *prev; /* those that keep files of /proc open */
};

struct fd_view {
	uint32_t file;  /* id in names; 0 unknown */
	int64_t offset; /* position, OP_NO_OFFSET where there is none */
	int flags;      /* O_ACCMODE, O_APPEND, ...; -1 unknown */
};

struct fdtab *fdtab_new(struct names *names);
void fdtab_free(struct fdtab *t);

/* What fd is right now. Unknown is all it says where /proc does not answer. */
void fdtab_ask(struct fdtab *t, struct fd_task *task, int fd, struct fd_view *out);

/* The position after a call; OP_NO_OFFSET if unknown. size: the file's size instead. */
int64_t fdtab_position(struct fdtab *t, struct fd_task *task, int fd);
int64_t fdtab_size(struct fdtab *t, struct fd_task *task, int fd);

/* The file of a path as the task means it, relative to directory dirfd or AT_FDCWD. */
uint32_t fdtab_path(struct fdtab *t, struct fd_task *task, int dirfd, const char *path);

/* A file that is known: its path, the id of its mount (statx(2); 0 unknown), what it is.
 */
#define FDTAB_MOUNT_OF_PATH UINT64_MAX /* an id: that of the file system, by the path */
struct stat;
uint32_t fdtab_file(struct fdtab *t, struct fd_task *task, const char *path, size_t len,
	uint64_t mount, const struct stat *is);

/* The program that the task runs. */
uint32_t fdtab_exe(struct fdtab *t, struct fd_task *task);

/* Before a task begins that sees the mounts which we see, to be quicker then: what is
 * mounted. */
void fdtab_foresee(struct fdtab *t);

/* All files that fdtab_file() is told of until it is called again were opened before now:
 * what is mounted is looked at but once for them, by whoever comes first. */
void fdtab_later(struct fdtab *t);

/* Something is not mounted any more: its id may be given to another one. */
void fdtab_unmounted(struct fdtab *t);

/* Forget what is kept of a task: it has ended, or runs another program. */
void fdtab_forget(struct fdtab *t, struct fd_task *task);

#endif
