/*
 * tree.h - what the last scan saw: for each directory one block of memory with the names
 * in it, sorted, and a fingerprint of each file.
 */
#ifndef IOPS_SNAPSHOT_TREE_H
#define IOPS_SNAPSHOT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TREE_MOUNT: a directory that another pass of the scan enters. */
enum tree_kind { TREE_NONE, TREE_FILE, TREE_DIR, TREE_MOUNT };

struct tree_entry {
	enum tree_kind kind;
	uint64_t value;   /* TREE_FILE: fingerprint; else: node */
	const char *name; /* in the block, NUL-terminated */
	size_t len;
};

struct tree_node {
	char *block;  /* on the heap */
	uint32_t len; /* in words of TREE_WORD bytes; of a free node: the next one */
};

enum { TREE_WORD = 4 };

/* All zero is an empty tree. Node 0 is none. */
struct tree {
	struct tree_node *node;
	uint32_t n, cap, unused;
	uint64_t bytes; /* of all blocks */
};

/* A new node without entries, or 0: out of memory. */
uint32_t tree_add(struct tree *t);
void tree_del(struct tree *t, uint32_t node);

/* The entry at *at, from 0 on, which moves to the next; false: no more. */
bool tree_next(const struct tree *t, uint32_t node, size_t *at, struct tree_entry *e);

/* No more entries. */
void tree_clear(struct tree *t, uint32_t node);

/* Where entries are put together, in the order of their names. */
struct tree_block {
	char *data;
	size_t len, cap;
};

int tree_put(struct tree_block *b, const struct tree_entry *e);

/* The entries of b become those of the node; b is empty then. 0 or -errno. */
int tree_set(struct tree *t, uint32_t node, struct tree_block *b);

void tree_fini(struct tree *t);

#endif
