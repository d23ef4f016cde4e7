/*
 * walk_parts.h - what the parts of a walk share: the way down (walk.c), the directory
 * that is read (walk_list.c), what both need (walk_parts.c).
 */
#ifndef IOPS_SNAPSHOT_WALK_PARTS_H
#define IOPS_SNAPSHOT_WALK_PARTS_H

#include "iops/map.h"
#include "tree.h"
#include "walk.h"

#include <sys/types.h>

/* A path of any length. */
struct path {
	char *text;
	size_t len, cap;
};

int path_push(struct path *p, const char *name, size_t len);
void path_cut(struct path *p, size_t len);

struct start {
	char *path;
	uint32_t node;
};

struct level;
struct entry;

/* Room for one directory while it is read, used again for the next. */
struct listing {
	char *names;
	size_t names_len, names_cap;
	struct entry *entry;
	uint32_t *order;
	size_t n, cap, order_cap;
	struct tree_block block;
	void *buffer; /* of getdents64(2) */
	dev_t dev;    /* of the directory */
	int err;      /* why not all of it could be read */
};

struct walk {
	struct tree tree;
	struct start *start; /* roots, then the mounts that were found */
	size_t nroots, nstart, cap_start;

	/* during a scan */
	const struct walk_out *out;
	struct walk_counts *counts;
	struct path path;
	struct level *level;
	size_t depth, cap_level;
	struct map seen; /* directories: device, inode */
	struct listing list;
};

/*
 * Read a directory, put what has changed, let its node hold what is there. mounts_only:
 * of its entries only those that are mounted. 0 or -errno; a positive errno if the
 * directory cannot be read at all, and nothing is changed.
 */
int walk_list(struct walk *w, uint32_t node, int fd, bool mounts_only);
void walk_list_done(struct walk *w);

/* All files in the node and below are gone; the nodes below are freed. w->path is the
 * path of the node. 0 or -errno. */
int walk_forget(struct walk *w, uint32_t node);

/* A file in the directory w->path. */
int walk_put(struct walk *w, const struct walk_file *file, const char *name, size_t len);
int walk_put_gone(struct walk *w, const char *name, size_t len);

/* Scan this directory later. */
int walk_defer(struct walk *w, const char *path, uint32_t node);

void walk_count(struct walk_reason *r, size_t n, uint32_t what);

#endif
