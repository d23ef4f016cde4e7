/*
 * text.h - a file whose code was looked at, for who looks: text.c, search.c
 */
#ifndef FAST_TEXT_H
#define FAST_TEXT_H

#include "fast.h"

#include <time.h>

struct stat;

/*
 * A file. It is mapped while it is looked at, and kept only where nothing can be
 * unmounted: else it would be busy.
 */
struct text {
	struct text_call {
		uint32_t at;      /* in the file */
		int16_t nr;       /* -1: any, or not plain */
		bool asked, slow; /* ... whether it takes long to be planned */
	} * call;
	unsigned ncalls;
	uint32_t met[TEXT_MET]; /* in the file: what processes call from */
	unsigned nmet;
	bool searched;
	size_t size;
	struct timespec changed;
	struct elf *elf;
	uint8_t *file; /* what is kept of it, or NULL; then also: */
	int fd;
	struct text *older; /* what it was before it changed */
};

bool text_is_same(const struct text *x, const struct stat *st);
int text_plan_with(struct text *x, uint8_t *file, uint64_t call, struct plan *out);
bool text_is_plain(struct texts *xs, pid_t tid, uint64_t at, uint64_t to);
struct code *text_around(struct space *s, uint64_t at); /* NULL: nobody has looked */
void text_keep(struct texts *xs, struct space *s, pid_t tid, uint64_t around);

#endif
