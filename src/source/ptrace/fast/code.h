/*
 * code.h - code of a task, the file that it is from, and what can be changed there
 *
 * Part of fast.h.
 */
#ifndef FAST_CODE_H
#define FAST_CODE_H

#include "iops/map.h"

#include <stdatomic.h>
#include <stdbool.h>

/* How a site can be patched. */
struct plan {
	int16_t patch; /* from the syscall instruction on */
	int16_t cave;  /* likewise; 0: none */
	uint8_t length, moved;
	bool far;        /* what was moved ends with the distance to an address */
	uint8_t old[16]; /* what is there before */
};

/* decoder.c: NULL: there is none, which has been said; nothing can be patched then. */
struct decoder;
struct decoder *decoder_new(void);

/* plans.c: made for calls of a file, by where they are there; and the padding that each
 * of them takes: a place is no other call's. All zero: none. */
struct plans {
	struct map number; /* in plan, plus 1 */
	struct map caves;  /* file offset -> the call that has it */
	struct plan *plan;
	size_t n;
};
const struct plan *plans_get(const struct plans *x, uint64_t call); /* NULL: none */
const struct plan *plans_add(struct plans *x, uint64_t call, const struct plan *p);
bool plans_take(struct plans *x, uint64_t cave, uint64_t call);
void plans_learn(struct plans *x, const struct plans *from);
void plans_fini(struct plans *x);

/* elf.c: of the bytes of a file, which are borrowed; call: where in it. 0, or -errno. */
struct elf;
struct elf *elf_new(const struct decoder *d, const uint8_t *file, size_t size);
void elf_bytes(struct elf *x, const uint8_t *file);
bool elf_knows(struct elf *x, uint64_t call);
int elf_plan(struct elf *x, uint64_t call, struct plan *out);
bool elf_is_quick(struct elf *x, uint64_t call);
void elf_learn(struct elf *x, const struct elf *from); /* of the same file */
void elf_free(struct elf *x);

/* stub.c: code under construction. */
enum { STUB_JUMP = 5 };
struct stub_code {
	uint8_t byte[STUB_SIZE];
	unsigned n;
	uint64_t at;
};
bool stub_reaches(const struct plan *p, uint64_t from, uint64_t to);
void stub_build(struct stub_code *c, struct site *s, const struct plan *p, uint64_t page);
void stub_jump(struct stub_code *c, uint64_t from, uint64_t to);
void stub_site(struct site *s);

/* maps.c: of a task that stands still. */
int maps_of(struct maps *m, pid_t tid);
int maps_at(struct maps *m, pid_t tid, uint64_t at, struct mapping *out);
int maps_from(struct maps *m, pid_t tid, uint64_t at, struct mapping *out);
bool maps_next(const struct maps *m, size_t *at, struct mapping *out);
void maps_forget(struct maps *m);
void maps_hold(struct maps *m, pid_t tid);
void maps_let(struct maps *m);
void maps_free(struct maps *m);

/* text.c, search.c: of a task that stands still. 0, or -errno. */
enum { TEXTS_MAX = 96, TEXT_MET = TEXTS_MAX };
int text_plan(
	struct texts *xs, struct space *s, pid_t tid, uint64_t at, struct plan *out);
void text_plans(struct texts *xs, struct space *s, pid_t tid, const uint64_t *at,
	unsigned n, struct plan *out);
unsigned text_calls(struct texts *xs, struct space *s, pid_t tid, uint64_t around,
	const bool wanted[NSHAPES], uint64_t *out, unsigned max);
bool text_is_call(pid_t tid, uint64_t at);
bool text_look(struct texts *xs, struct space *s, pid_t tid, uint64_t at);
void text_foresee(struct texts *xs, struct space *here, uint64_t around, uint64_t before,
	uint64_t behind, const bool wanted[NSHAPES]);
void text_foresee_all(struct texts *xs, struct space *here, uint64_t around,
	const bool wanted[NSHAPES], const atomic_bool *enough);
bool texts_learn(struct texts *xs, const struct texts *from); /* which is to be freed */
void text_met(struct space *s, uint64_t at);
bool text_is_met(const struct texts *xs, const struct mapping *m);
unsigned text_met_before(struct space *s, uint64_t around, uint64_t out[TEXT_MET]);
unsigned text_met_since(const struct space *s, uint64_t out[SPACE_CODES]);
void texts_fini(struct texts *xs);

/* What tells contexts of Linux AIO of one process from those of others: their addresses,
 * exclusive or this. Addresses leave the twelve lowest bits, and what is above 47. */
static inline uint64_t context_salt(pid_t pid)
{
	return (uint64_t)(pid & 0xfff) | (uint64_t)(pid >> 12) << 48;
}

#endif
