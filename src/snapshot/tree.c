/*
 * tree.c - directories as blocks: kind, fingerprint or node, name, again and again
 */
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t tree_add(struct tree *t)
{
	uint32_t node = t->unused;

	if (node) {
		t->unused = t->node[node].len;
		t->node[node].len = 0;
		return node;
	}
	if (t->n == t->cap) {
		uint32_t cap = t->cap ? t->cap + t->cap / 2 : 64;
		struct tree_node *more = realloc(t->node, cap * sizeof(*more));
		if (!more)
			return 0;
		t->node = more;
		t->cap = cap;
	}
	if (!t->n)
		t->node[t->n++] = (struct tree_node){ 0 };
	t->node[t->n] = (struct tree_node){ 0 };
	return t->n++;
}

void tree_clear(struct tree *t, uint32_t node)
{
	t->bytes -= (uint64_t)t->node[node].len * TREE_WORD;
	free(t->node[node].block);
	t->node[node] = (struct tree_node){ 0 };
}

void tree_del(struct tree *t, uint32_t node)
{
	tree_clear(t, node);
	t->node[node].len = t->unused;
	t->unused = node;
}

static size_t value_size(enum tree_kind kind)
{
	return kind == TREE_FILE ? sizeof(uint64_t) : sizeof(uint32_t);
}

bool tree_next(const struct tree *t, uint32_t node, size_t *at, struct tree_entry *e)
{
	const struct tree_node *n = &t->node[node];
	uint32_t id;

	if (*at >= (size_t)n->len * TREE_WORD || !n->block[*at])
		return false;

	const char *p = n->block + *at;
	e->kind = *p++;
	if (e->kind == TREE_FILE) {
		memcpy(&e->value, p, sizeof(e->value));
	} else {
		memcpy(&id, p, sizeof(id));
		e->value = id;
	}
	e->name = p + value_size(e->kind);
	e->len = strlen(e->name);
	*at = e->name + e->len + 1 - n->block;
	return true;
}

int tree_put(struct tree_block *b, const struct tree_entry *e)
{
	size_t size = value_size(e->kind), need = 1 + size + e->len + 1 + TREE_WORD;
	uint32_t id = e->value;

	if (b->cap - b->len < need) {
		size_t cap = 2 * b->cap + need;
		char *more = realloc(b->data, cap);
		if (!more)
			return -ENOMEM;
		b->data = more;
		b->cap = cap;
	}

	char *p = b->data + b->len;
	*p++ = e->kind;
	memcpy(p, e->kind == TREE_FILE ? (void *)&e->value : &id, size);
	memcpy(p + size, e->name, e->len);
	p[size + e->len] = 0;
	b->len += 1 + size + e->len + 1;
	return 0;
}

int tree_set(struct tree *t, uint32_t node, struct tree_block *b)
{
	size_t words = (b->len + TREE_WORD - 1) / TREE_WORD, len = b->len;
	char *block = NULL;

	b->len = 0;
	if (words > UINT32_MAX)
		return -EFBIG;
	if (words) {
		block = malloc(words * TREE_WORD);
		if (!block)
			return -ENOMEM;
		/* What fills the last word is TREE_NONE: the end. */
		memset(block + (words - 1) * TREE_WORD, TREE_NONE, TREE_WORD);
		memcpy(block, b->data, len);
	}
	tree_clear(t, node);
	t->node[node] = (struct tree_node){ block, words };
	t->bytes += words * TREE_WORD;
	return 0;
}

void tree_fini(struct tree *t)
{
	/* Unused nodes have no block; theirs and that of node 0 are NULL. */
	for (uint32_t i = 0; i < t->n; i++)
		free(t->node[i].block);
	free(t->node);
	*t = (struct tree){ 0 };
}
