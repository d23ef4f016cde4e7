/*
 * index.c - names of calls in an strace text to what they mean
 */
#include "strace.h"
#include "iops/syscalls.h"

#include <string.h>

/* Other names for rows of syscalls[]: of 32-bit tables, and of old versions of strace. */
static const struct {
	const char *name, *row;
} aliases[] = {
	{ "pread", "pread64" },
	{ "pwrite", "pwrite64" },
	{ "_llseek", "lseek" },
	{ "llseek", "lseek" },
	{ "sendfile64", "sendfile" },
	{ "stat64", "stat" },
	{ "lstat64", "lstat" },
	{ "fstat64", "fstat" },
	{ "oldstat", "stat" },
	{ "oldlstat", "lstat" },
	{ "oldfstat", "fstat" },
	{ "fstatat64", "newfstatat" },
	{ "fcntl64", "fcntl" },
	{ "truncate64", "truncate" },
	{ "ftruncate64", "ftruncate" },
	{ "statfs64", "statfs" },
	{ "fstatfs64", "fstatfs" },
	{ "fadvise64_64", "fadvise64" },
	{ "chown32", "chown" },
	{ "lchown32", "lchown" },
	{ "fchown32", "fchown" },
	{ "recvmmsg_time64", "recvmmsg" },
	{ "utimensat_time64", "utimensat" },
	{ "sync_file_range2", "sync_file_range" },
	{ "arm_sync_file_range", "sync_file_range" },
};

static const struct {
	const char *name;
	enum act act;
} acts[] = {
	{ "open", ACT_OPEN },
	{ "openat", ACT_OPEN },
	{ "openat2", ACT_OPEN },
	{ "creat", ACT_OPEN },
	{ "dup", ACT_DUP },
	{ "dup2", ACT_DUP2 },
	{ "dup3", ACT_DUP2 },
	{ "fcntl", ACT_FCNTL },
	{ "close", ACT_CLOSE },
	{ "close_range", ACT_CLOSE_RANGE },
	{ "pipe", ACT_PAIR },
	{ "pipe2", ACT_PAIR },
	{ "socketpair", ACT_PAIR },
	{ "lseek", ACT_SEEK },
	{ "fork", ACT_FORK },
	{ "vfork", ACT_FORK },
	{ "clone", ACT_FORK },
	{ "clone3", ACT_FORK },
	{ "execve", ACT_EXEC },
	{ "execveat", ACT_EXEC },
	{ "chdir", ACT_CHDIR },
	{ "fchdir", ACT_FCHDIR },
	{ "getcwd", ACT_GETCWD },
	{ "prctl", ACT_PRCTL },
	{ "recvmsg", ACT_RECVMSG },
	{ "sendmsg", ACT_SENDMSG },
	{ "io_uring_setup", ACT_NOTE },
	{ "io_setup", ACT_NOTE },
	{ "exit", ACT_EXIT },
	{ "exit_group", ACT_EXIT },
};

static uint32_t hash_of(const char *name, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h ^ h >> 15;
}

static struct call_name *slot_of(struct strace *s, const char *name, size_t len)
{
	uint32_t i = hash_of(name, len) % CALL_SLOTS;

	while (s->call[i].len &&
		(s->call[i].len != len || memcmp(s->call[i].name, name, len) != 0))
		i = (i + 1) % CALL_SLOTS;
	return &s->call[i];
}

static void add_name(struct strace *s, const char *name, int row, enum act act)
{
	struct call_name *c = slot_of(s, name, strlen(name));

	if (!c->len) {
		c->len = strlen(name);
		strncpy(c->name, name, sizeof(c->name) - 1);
		c->row = c->peek = -1;
	}
	if (row >= 0)
		c->row = row;
	if (act != ACT_NONE)
		c->act = act; /* the last word is the closest one */
}

void calls_index(struct strace *s)
{
	char peek[40];

	for (int i = 0; syscalls[i].name; i++) {
		bool control = syscalls[i].form == FORM_CONTROL;
		bool fresh = syscalls[i].form == FORM_NEWFD;
		add_name(s, syscalls[i].name, control ? -1 : i,
			control ? ACT_NONE
			: fresh ? ACT_NEW
				: ACT_CALL);
		if (syscalls[i].flags >= 0 && syscalls[i].kind == OP_READ)
			slot_of(s, syscalls[i].name, strlen(syscalls[i].name))->peek =
				syscall_by_name(
					strcat(strcpy(peek, syscalls[i].name), ":peek"));
	}
	for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++)
		add_name(s, acts[i].name, -1, acts[i].act);
	slot_of(s, "io_setup", 8)->note = NOTE_AIO;
	slot_of(s, "io_uring_setup", 14)->note = NOTE_IO_URING;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
		const char *row = aliases[i].row;
		add_name(s, aliases[i].name, syscall_by_name(row),
			slot_of(s, row, strlen(row))->act);
	}
}

const struct call_name *calls_find(const struct strace *s, struct word name)
{
	const struct call_name *c = slot_of((struct strace *)s, name.p, name.len);

	return *c->name ? c : NULL;
}
