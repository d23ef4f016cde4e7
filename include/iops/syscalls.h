/*
 * syscalls.h - what each system call means as an operation, as data.
 */
#ifndef IOPS_SYSCALLS_H
#define IOPS_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Tables of numbers, one or more of which a machine speaks: seccomp(2), AUDIT_ARCH_*. */
enum abi { ABI_X86_64, ABI_I386, ABI_AARCH64, NABI };

enum { NR_NONE = -1, ARG_NONE = -1, NR_MAX = 512 };

/* How the arguments say which file, how much and where. */
enum syscall_form {
	FORM_PLAIN,   /* by value */
	FORM_VEC,     /* iovec array in argument 1, its length in 2 */
	FORM_MSG,     /* struct msghdr in argument 1 */
	FORM_MMSG,    /* struct mmsghdr array in argument 1, its length in 2 */
	FORM_TWO,     /* from fd at *offset to fd2 at *offset2 */
	FORM_PATH,    /* a path, relative to directory fd */
	FORM_OPEN,    /* likewise, and the result is the descriptor of it */
	FORM_NEWFD,   /* the result is a descriptor */
	FORM_NONE,    /* no file */
	FORM_CONTROL, /* no operation, but the tracer has to know: kind is OP_NOTE */
};

enum syscall_sets {
	SET_DATA = 1,
	SET_SYNC = 2,
	SET_CLASSIC = 4,
	SET_NET = 8,
	SET_META = 16,
	SET_CONTROL = 32, /* the tracer needs to see it, whatever is wanted */
	SET_ALL = SET_DATA | SET_SYNC | SET_NET | SET_META,
};

/* Argument positions count from 0; ARG_NONE where there is none. */
struct syscall_desc {
	const char *name;
	int16_t nr[NABI];
	uint8_t kind, form, sets;
	int8_t fd, size, offset;
	int8_t fd2, offset2; /* of FORM_TWO */
	int8_t path;         /* the fd is then the directory that it is relative to */
	int8_t flags : 4;    /* MSG_PEEK and the like */
	int8_t weight : 4;   /* syscr + syscw that one call adds to /proc/TID/io */
};

/* Every description, ending with a NULL name. op.call is an index into it. */
extern const struct syscall_desc syscalls[];

/* How many rows there are. */
unsigned syscall_rows(void);

/*
 * Whether a call appends, to a file opened with these flags (-1: not known); flags: the
 * argument of desc.flags. RWF_APPEND and RWF_NOAPPEND outrank O_APPEND: preadv2(2).
 */
bool syscall_appends(const struct syscall_desc *d, int open_flags, uint64_t flags);

/* Likewise of one that has RWF_... of its own, as pwritev2(2). */
bool write_appends(int open_flags, uint64_t rw_flags);

/* Row of that name, or -1. */
int syscall_by_name(const char *name);

/* Fill row[nr] with rows of syscalls[], or -1, for every number of an ABI. */
void syscall_index(enum abi abi, int16_t row[NR_MAX]);

/* The call that an i386 socketcall(2) number stands for, or -1. */
int syscall_of_socketcall(unsigned long number);

/* Which rows are wanted. */
struct syscall_set {
	uint64_t bit[4];
};

static inline bool syscall_wanted(const struct syscall_set *s, unsigned row)
{
	return s->bit[row / 64] >> row % 64 & 1;
}

/*
 * Read a set as the -e option takes it: data, sync, classic, net, meta, all and names
 * of calls, with commas between; "!x" takes x out. On error returns -EINVAL and points
 * *bad to the word.
 */
int syscall_set_parse(struct syscall_set *s, const char *text, const char **bad);

/*
 * Whether counts can be compared with the kernel's: the classic calls are wanted, so
 * that the two others which it counts may be traced just for that.
 */
bool syscall_set_countable(const struct syscall_set *s);

/* Whether all calls are wanted that move data or make it durable. */
bool syscall_set_whole(const struct syscall_set *s);

/* Whether a call has to be traced: it is wanted, or needed for that comparison. */
bool syscall_traced(const struct syscall_set *s, unsigned row);

#endif
