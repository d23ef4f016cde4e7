/*
 * syscalls.c - the table of I/O system calls
 *
 * One row adds a call everywhere: the seccomp filter, the decoder of arguments, the
 * --trace option and the reports are all driven from here.
 */
#include "iops/syscalls.h"
#include "iops/op.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#define ROW(call, a, b, c, ...)                                                          \
	{                                                                                \
		.name = #call, .nr = { a, b, c }, __VA_ARGS__                            \
	}
#define ARGS(f, s, o) .fd = f, .size = s, .offset = o
#define NO_TWO        .fd2 = ARG_NONE, .offset2 = ARG_NONE
#define NO_MORE       NO_TWO, .path = ARG_NONE, .flags = ARG_NONE

/* The calls that /proc/TID/io counts have weight; those on the network do not. */
#define RW(call, a, b, c, k, f, s, o, more)                                              \
	ROW(call, a, b, c, .kind = OP_##k, .form = FORM_PLAIN,                           \
		.sets = SET_DATA | SET_##more, ARGS(f, s, o), NO_MORE, .weight = 1)
#define VEC(call, a, b, c, k, o, more)                                                   \
	ROW(call, a, b, c, .kind = OP_##k, .form = FORM_VEC,                             \
		.sets = SET_DATA | SET_##more, ARGS(0, ARG_NONE, o), NO_MORE,            \
		.weight = SET_##more ? 1 : 0)
#define VEC2(call, a, b, c, k, o, fl)                                                    \
	ROW(call, a, b, c, .kind = OP_##k, .form = FORM_VEC,                             \
		.sets = SET_DATA | SET_CLASSIC, ARGS(0, ARG_NONE, o), NO_TWO,            \
		.path = ARG_NONE, .flags = fl, .weight = 1)
#define TWO(call, a, b, c, k, f, o, f2, o2, s, w)                                        \
	ROW(call, a, b, c, .kind = OP_##k, .form = FORM_TWO, .sets = SET_DATA,           \
		ARGS(f, s, o), .fd2 = f2, .offset2 = o2, .path = ARG_NONE,               \
		.flags = ARG_NONE, .weight = w)
#define NET(call, a, b, c, k, how, s, fl)                                                \
	ROW(call, a, b, c, .kind = OP_##k, .form = FORM_##how,                           \
		.sets = SET_DATA | SET_NET, ARGS(0, s, ARG_NONE), NO_TWO,                \
		.path = ARG_NONE, .flags = fl)
#define SYNC(call, a, b, c, f)                                                           \
	ROW(call, a, b, c, .kind = OP_SYNC, .form = (f) < 0 ? FORM_NONE : FORM_PLAIN,    \
		.sets = SET_SYNC, ARGS(f, ARG_NONE, ARG_NONE), NO_MORE)
#define META(call, a, b, c, k, how, f, s, p, more)                                       \
	ROW(call, a, b, c, .kind = OP_##k, .form = FORM_##how,                           \
		.sets = SET_META | SET_##more, ARGS(f, s, ARG_NONE), NO_TWO, .path = p,  \
		.flags = ARG_NONE)
#define OPEN_PATH(call, a, b, c, f, p) META(call, a, b, c, OPEN, OPEN, f, ARG_NONE, p, 0)
#define OPEN_FD(call, a, b, c, f, more)                                                  \
	META(call, a, b, c, OPEN, NEWFD, f, ARG_NONE, ARG_NONE, more)
#define CLOSE_FD(call, a, b, c, f)                                                       \
	META(call, a, b, c, CLOSE, PLAIN, f, ARG_NONE, ARG_NONE, 0)
#define META_PATH(call, a, b, c, f, p) META(call, a, b, c, META, PATH, f, ARG_NONE, p, 0)
#define META_FD(call, a, b, c, f, s)   META(call, a, b, c, META, PLAIN, f, s, ARG_NONE, 0)
#define META_NET(call, a, b, c, f)                                                       \
	META(call, a, b, c, META, PLAIN, f, ARG_NONE, ARG_NONE, NET)
/* Rows without a number: names that the tracer gives to calls that consume nothing. */
#define SHOW(text)                                                                       \
	{                                                                                \
		.name = text, .nr = { NR_NONE, NR_NONE, NR_NONE }, .kind = OP_PEEK,      \
		.form = FORM_PLAIN, .sets = SET_DATA | SET_NET, ARGS(0, 2, ARG_NONE),    \
		NO_MORE                                                                  \
	}
#define CONTROL(call, a, b, c, how)                                                      \
	ROW(call, a, b, c, .kind = OP_NOTE, .form = FORM_CONTROL, .sets = SET_##how,     \
		ARGS(ARG_NONE, ARG_NONE, ARG_NONE), NO_MORE)
#define SET_0 0

/* clang-format off */
const struct syscall_desc syscalls[] = {
	/* call, number on x86_64, i386 and aarch64, kind, argument positions */
	RW(read, 0, 3, 63, READ, 0, 2, -1, CLASSIC),
	RW(write, 1, 4, 64, WRITE, 0, 2, -1, CLASSIC),
	RW(pread64, 17, 180, 67, READ, 0, 2, 3, CLASSIC),
	RW(pwrite64, 18, 181, 68, WRITE, 0, 2, 3, CLASSIC),
	VEC(readv, 19, 145, 65, READ, -1, CLASSIC),
	VEC(writev, 20, 146, 66, WRITE, -1, CLASSIC),
	VEC(preadv, 295, 333, 69, READ, 3, CLASSIC),
	VEC(pwritev, 296, 334, 70, WRITE, 3, CLASSIC),
	VEC(preadv2, 327, 378, 286, READ, 3, CLASSIC),
	VEC2(pwritev2, 328, 379, 287, WRITE, 3, 5),
	TWO(sendfile, 40, 187, 71, READ, 1, 2, 0, -1, 3, 2),
	TWO(copy_file_range, 326, 377, 285, READ, 0, 1, 2, 3, 4, 2),
	TWO(splice, 275, 313, 76, READ, 0, 1, 2, 3, 4, 0),
	TWO(tee, 276, 315, 77, PEEK, 0, -1, 1, -1, 2, 0),
	VEC(vmsplice, 278, 316, 75, WRITE, -1, 0),
	NET(recvfrom, 45, 371, 207, READ, PLAIN, 2, 3),
	NET(sendto, 44, 369, 206, WRITE, PLAIN, 2, 3),
	NET(recv, -1, -1, -1, READ, PLAIN, 2, 3),
	NET(send, -1, -1, -1, WRITE, PLAIN, 2, 3),
	NET(recvmsg, 47, 372, 212, READ, MSG, -1, 2),
	NET(sendmsg, 46, 370, 211, WRITE, MSG, -1, 2),
	NET(recvmmsg, 299, 337, 243, READ, MMSG, -1, 3),
	NET(sendmmsg, 307, 345, 269, WRITE, MMSG, -1, 3),
	SYNC(fsync, 74, 118, 82, 0),
	SYNC(fdatasync, 75, 148, 83, 0),
	SYNC(sync_file_range, 277, 314, 84, 0),
	SYNC(msync, 26, 144, 227, -1),
	SYNC(syncfs, 306, 344, 267, 0),
	SYNC(sync, 162, 36, 81, -1),
	OPEN_PATH(open, 2, 5, -1, -1, 0),
	OPEN_PATH(openat, 257, 295, 56, 0, 1),
	OPEN_PATH(openat2, 437, 437, 437, 0, 1),
	OPEN_PATH(creat, 85, 8, -1, -1, 0),
	OPEN_FD(dup, 32, 41, 23, 0, 0),
	OPEN_FD(dup2, 33, 63, -1, 0, 0),
	OPEN_FD(dup3, 292, 330, 24, 0, 0),
	OPEN_FD(pipe, 22, 42, -1, -1, 0),
	OPEN_FD(pipe2, 293, 331, 59, -1, 0),
	OPEN_FD(socket, 41, 359, 198, -1, NET),
	OPEN_FD(socketpair, 53, 360, 199, -1, NET),
	OPEN_FD(accept, 43, -1, 202, 0, NET),
	OPEN_FD(accept4, 288, 364, 242, 0, NET),
	OPEN_FD(epoll_create, 213, 254, -1, -1, 0),
	OPEN_FD(epoll_create1, 291, 329, 20, -1, 0),
	OPEN_FD(eventfd, 284, 323, -1, -1, 0),
	OPEN_FD(eventfd2, 290, 328, 19, -1, 0),
	OPEN_FD(memfd_create, 319, 356, 279, -1, 0),
	OPEN_FD(memfd_secret, 447, 447, 447, -1, 0),
	OPEN_FD(timerfd_create, 283, 322, 85, -1, 0),
	OPEN_FD(signalfd, 282, 321, -1, -1, 0),
	OPEN_FD(signalfd4, 289, 327, 74, -1, 0),
	OPEN_FD(inotify_init, 253, 291, -1, -1, 0),
	OPEN_FD(inotify_init1, 294, 332, 26, -1, 0),
	OPEN_FD(fanotify_init, 300, 338, 262, -1, CONTROL),
	OPEN_FD(userfaultfd, 323, 374, 282, -1, CONTROL),
	OPEN_FD(perf_event_open, 298, 336, 241, -1, 0),
	OPEN_FD(pidfd_open, 434, 434, 434, -1, 0),
	OPEN_FD(pidfd_getfd, 438, 438, 438, -1, 0),
	OPEN_FD(open_by_handle_at, 304, 342, 265, -1, 0),
	OPEN_FD(mq_open, 240, 277, 180, -1, 0),
	OPEN_FD(open_tree, 428, 428, 428, -1, 0),
	OPEN_FD(fsopen, 430, 430, 430, -1, 0),
	OPEN_FD(fsmount, 432, 432, 432, -1, 0),
	OPEN_FD(fspick, 433, 433, 433, -1, 0),
	CLOSE_FD(close, 3, 6, 57, 0),
	CLOSE_FD(close_range, 436, 436, 436, -1),
	META_PATH(stat, 4, 106, -1, -1, 0),
	META_PATH(lstat, 6, 107, -1, -1, 0),
	META_PATH(newfstatat, 262, -1, 79, 0, 1),
	META_PATH(statx, 332, 383, 291, 0, 1),
	META_PATH(access, 21, 33, -1, -1, 0),
	META_PATH(faccessat, 269, 307, 48, 0, 1),
	META_PATH(faccessat2, 439, 439, 439, 0, 1),
	META_PATH(readlink, 89, 85, -1, -1, 0),
	META_PATH(readlinkat, 267, 305, 78, 0, 1),
	META_PATH(rename, 82, 38, -1, -1, 0),
	META_PATH(renameat, 264, 302, 38, 0, 1),
	META_PATH(renameat2, 316, 353, 276, 0, 1),
	META_PATH(unlink, 87, 10, -1, -1, 0),
	META_PATH(unlinkat, 263, 301, 35, 0, 1),
	META_PATH(link, 86, 9, -1, -1, 0),
	META_PATH(linkat, 265, 303, 37, 0, 1),
	META_PATH(symlink, 88, 83, -1, -1, 1),
	META_PATH(symlinkat, 266, 304, 36, 1, 2),
	META_PATH(mkdir, 83, 39, -1, -1, 0),
	META_PATH(mkdirat, 258, 296, 34, 0, 1),
	META_PATH(mknod, 133, 14, -1, -1, 0),
	META_PATH(mknodat, 259, 297, 33, 0, 1),
	META_PATH(rmdir, 84, 40, -1, -1, 0),
	META_PATH(chmod, 90, 15, -1, -1, 0),
	META_PATH(fchmodat, 268, 306, 53, 0, 1),
	META_PATH(fchmodat2, 452, 452, 452, 0, 1),
	META_PATH(chown, 92, 182, -1, -1, 0),
	META_PATH(lchown, 94, 16, -1, -1, 0),
	META_PATH(fchownat, 260, 298, 54, 0, 1),
	META_PATH(utime, 132, 30, -1, -1, 0),
	META_PATH(utimes, 235, 271, -1, -1, 0),
	META_PATH(utimensat, 280, 320, 88, 0, 1),
	META_PATH(futimesat, 261, 299, -1, 0, 1),
	META_PATH(truncate, 76, 92, 45, -1, 0),
	META_PATH(statfs, 137, 99, 43, -1, 0),
	META_PATH(setxattr, 188, 226, 5, -1, 0),
	META_PATH(lsetxattr, 189, 227, 6, -1, 0),
	META_PATH(getxattr, 191, 229, 8, -1, 0),
	META_PATH(lgetxattr, 192, 230, 9, -1, 0),
	META_PATH(listxattr, 194, 232, 11, -1, 0),
	META_PATH(llistxattr, 195, 233, 12, -1, 0),
	META_PATH(removexattr, 197, 235, 14, -1, 0),
	META_PATH(lremovexattr, 198, 236, 15, -1, 0),
	META_PATH(name_to_handle_at, 303, 341, 264, 0, 1),
	META_FD(fstat, 5, 108, 80, 0, -1),
	META_FD(lseek, 8, 19, 62, 0, -1),
	META_FD(fchmod, 91, 94, 52, 0, -1),
	META_FD(fchown, 93, 95, 55, 0, -1),
	META_FD(ftruncate, 77, 93, 46, 0, 1),
	META_FD(fallocate, 285, 324, 47, 0, 3),
	META_FD(getdents, 78, 141, -1, 0, -1),
	META_FD(getdents64, 217, 220, 61, 0, -1),
	META_FD(fstatfs, 138, 100, 44, 0, -1),
	META_FD(fsetxattr, 190, 228, 7, 0, -1),
	META_FD(fgetxattr, 193, 231, 10, 0, -1),
	META_FD(flistxattr, 196, 234, 13, 0, -1),
	META_FD(fremovexattr, 199, 237, 16, 0, -1),
	META_FD(fadvise64, 221, 250, 223, 0, 2),
	META_FD(readahead, 187, 225, 213, 0, 2),
	META_FD(flock, 73, 143, 32, 0, -1),
	META_FD(fcntl, 72, 55, 25, 0, -1),
	META_NET(connect, 42, 362, 203, 0),
	META_NET(bind, 49, 361, 200, 0),
	META_NET(listen, 50, 363, 201, 0),
	META_NET(shutdown, 48, 373, 210, 0),
	SHOW("recv:peek"),
	SHOW("recvfrom:peek"),
	SHOW("recvmsg:peek"),
	SHOW("recvmmsg:peek"),
	CONTROL(clone, 56, 120, 220, CONTROL),
	CONTROL(clone3, 435, 435, 435, CONTROL),
	CONTROL(seccomp, 317, 354, 277, CONTROL),
	CONTROL(ptrace, 101, 26, 117, CONTROL),
	CONTROL(io_setup, 206, 245, 0, CONTROL),
	CONTROL(io_submit, 209, 248, 2, CONTROL),
	CONTROL(io_getevents, 208, 247, 4, CONTROL),
	CONTROL(io_pgetevents, 333, 385, 292, CONTROL),
	CONTROL(io_destroy, 207, 246, 1, CONTROL),
	CONTROL(io_uring_setup, 425, 425, 425, CONTROL),
	CONTROL(io_uring_enter, 426, 426, 426, CONTROL),
	CONTROL(io_uring_register, 427, 427, 427, CONTROL),
	CONTROL(execve, 59, 11, 221, CONTROL),
	CONTROL(execveat, 322, 358, 281, CONTROL),
	CONTROL(socketcall, -1, 102, -1, CONTROL),
	CONTROL(prctl, 157, 172, 167, 0),
	CONTROL(unshare, 272, 310, 97, 0),
	CONTROL(setns, 308, 346, 268, 0),
	CONTROL(chdir, 80, 12, 49, 0),
	CONTROL(fchdir, 81, 133, 50, 0),
	CONTROL(chroot, 161, 61, 51, 0),
	CONTROL(pivot_root, 155, 217, 41, 0),
	CONTROL(mlockall, 151, 152, 230, 0),
	CONTROL(mremap, 25, 163, 216, 0),
	CONTROL(setrlimit, 160, 75, 164, 0),
	CONTROL(prlimit64, 302, 340, 261, 0),
	CONTROL(rt_sigaction, 13, 174, 134, 0),
	CONTROL(umount2, 166, 52, 39, 0),
	CONTROL(mount, 165, 21, 40, 0),
	CONTROL(move_mount, 429, 429, 429, 0),
	CONTROL(setuid, 105, 23, 146, 0),
	CONTROL(setreuid, 113, 70, 145, 0),
	CONTROL(setresuid, 117, 164, 147, 0),
	CONTROL(capset, 126, 185, 91, 0),
	{ .name = NULL },
};

/* i386 has several numbers for one call; the plain name is the 64-bit twin's. */
static const struct {
	const char *name;
	int16_t nr;
} i386_twin[] = {
	{ "sendfile", 239 },
	{ "recvmmsg", 417 },
	{ "lseek", 140 },
	{ "setuid", 213 },
	{ "setreuid", 203 },
	{ "setresuid", 208 },
	{ "stat", 195 },
	{ "lstat", 196 },
	{ "fstat", 197 },
	{ "newfstatat", 300 },
	{ "stat", 18 },
	{ "lstat", 84 },
	{ "fstat", 28 },
	{ "fcntl", 221 },
	{ "truncate", 193 },
	{ "ftruncate", 194 },
	{ "statfs", 268 },
	{ "fstatfs", 269 },
	{ "fadvise64", 272 },
	{ "chown", 212 },
	{ "lchown", 198 },
	{ "fchown", 207 },
	{ "utimensat", 412 },
	{ "io_pgetevents", 416 },
};

static const char *const socketcall_name[] = {
	NULL, "socket", "bind", "connect", "listen", "accept", NULL, NULL, "socketpair", "send",
	"recv", "sendto", "recvfrom", "shutdown", NULL, NULL, "sendmsg", "recvmsg", "accept4",
	"recvmmsg", "sendmmsg",
};
/* clang-format on */

static const struct {
	const char *name;
	unsigned sets;
} set_name[] = {
	{ "data", SET_DATA },
	{ "sync", SET_SYNC },
	{ "classic", SET_CLASSIC },
	{ "net", SET_NET },
	{ "meta", SET_META },
	{ "all", SET_ALL },
};

_Static_assert(sizeof(syscalls) / sizeof(*syscalls) <= 8 * sizeof(struct syscall_set),
	"a syscall_set has a bit for every row");

unsigned syscall_rows(void)
{
	return sizeof(syscalls) / sizeof(*syscalls) - 1;
}

bool write_appends(int open_flags, uint64_t rw_flags)
{
	enum { APPEND = 0x10, NO_APPEND = 0x20 };

	if (rw_flags & (APPEND | NO_APPEND))
		return rw_flags & APPEND;
	return open_flags != -1 && open_flags & O_APPEND;
}

bool syscall_appends(const struct syscall_desc *d, int open_flags, uint64_t flags)
{
	bool own = d->form == FORM_VEC && d->flags >= 0;

	return d->kind == OP_WRITE && write_appends(open_flags, own ? flags : 0);
}

int syscall_by_name(const char *name)
{
	for (int i = 0; syscalls[i].name; i++)
		if (!strcmp(syscalls[i].name, name))
			return i;
	return -1;
}

void syscall_index(enum abi abi, int16_t row[NR_MAX])
{
	for (int i = 0; i < NR_MAX; i++)
		row[i] = -1;
	for (int i = 0; syscalls[i].name; i++)
		if (syscalls[i].nr[abi] >= 0)
			row[syscalls[i].nr[abi]] = i;
	for (size_t i = 0; abi == ABI_I386 && i < sizeof(i386_twin) / sizeof(*i386_twin);
		i++)
		row[i386_twin[i].nr] = syscall_by_name(i386_twin[i].name);
}

int syscall_of_socketcall(unsigned long number)
{
	if (number >= sizeof(socketcall_name) / sizeof(*socketcall_name))
		return -1;
	return socketcall_name[number] ? syscall_by_name(socketcall_name[number]) : -1;
}

static void set_row(struct syscall_set *s, unsigned row, bool on)
{
	uint64_t bit = UINT64_C(1) << row % 64;

	s->bit[row / 64] = on ? s->bit[row / 64] | bit : s->bit[row / 64] & ~bit;
}

/* The rows of one word of a set: a set's name, or a call's with its ":peek" row. */
static int set_word(struct syscall_set *s, const char *word, size_t len, bool on)
{
	int found = 0;
	unsigned sets = 0;

	for (size_t i = 0; i < sizeof(set_name) / sizeof(*set_name); i++)
		if (strlen(set_name[i].name) == len &&
			!strncmp(set_name[i].name, word, len))
			sets = set_name[i].sets;
	for (unsigned i = 0; syscalls[i].name; i++) {
		const char *name = syscalls[i].name;
		bool same = !strncmp(name, word, len) &&
			    (!name[len] || !strcmp(name + len, ":peek"));
		if (syscalls[i].form == FORM_CONTROL ||
			!(syscalls[i].sets & sets || same))
			continue;
		set_row(s, i, on);
		found = 1;
	}
	return found ? 0 : -EINVAL;
}

int syscall_set_parse(struct syscall_set *s, const char *text, const char **bad)
{
	*s = (struct syscall_set){ 0 };
	if (!strncmp(text, "trace=", 6))
		text += 6;
	if (*text == '!') {
		set_word(s, "data", 4, true);
		set_word(s, "sync", 4, true);
	}
	for (;;) {
		*bad = text;
		bool on = *text != '!';
		const char *word = text + !on;
		word += *word == '%';
		size_t len = strcspn(word, ",");
		if (!len || set_word(s, word, len, on) < 0)
			return -EINVAL;
		if (!word[len])
			return 0;
		text = word + len + 1;
	}
}

bool syscall_set_countable(const struct syscall_set *s)
{
	for (unsigned i = 0; syscalls[i].name; i++)
		if (syscalls[i].sets & SET_CLASSIC && !syscall_wanted(s, i))
			return false;
	return true;
}

bool syscall_set_whole(const struct syscall_set *s)
{
	for (unsigned i = 0; syscalls[i].name; i++)
		if (syscalls[i].sets & (SET_DATA | SET_SYNC) && !syscall_wanted(s, i))
			return false;
	return true;
}

bool syscall_traced(const struct syscall_set *s, unsigned row)
{
	return syscall_wanted(s, row) ||
	       (syscalls[row].weight && syscall_set_countable(s));
}
