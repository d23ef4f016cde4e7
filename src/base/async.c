/*
 * async.c - the requests of io_uring and of Linux AIO by number
 */
#include "iops/async.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/syscalls.h"

#include <stdio.h>

struct request_kind {
	const char *name;
	uint8_t kind;
	const char *like; /* the call that does the same */
};

/*
 * IORING_OP_... by number, which never change: io_uring.h. Kind NOTE: nothing that is
 * moved, made durable or named.
 */
static const struct request_kind opcodes[] = {
	{ "NOP", OP_NOTE, NULL },
	{ "READV", OP_READ, "preadv" },
	{ "WRITEV", OP_WRITE, "pwritev" },
	{ "FSYNC", OP_SYNC, "fsync" },
	{ "READ_FIXED", OP_READ, "pread64" },
	{ "WRITE_FIXED", OP_WRITE, "pwrite64" },
	{ "POLL_ADD", OP_NOTE, NULL },
	{ "POLL_REMOVE", OP_NOTE, NULL },
	{ "SYNC_FILE_RANGE", OP_SYNC, "sync_file_range" },
	{ "SENDMSG", OP_WRITE, "sendmsg" },
	{ "RECVMSG", OP_READ, "recvmsg" },
	{ "TIMEOUT", OP_NOTE, NULL },
	{ "TIMEOUT_REMOVE", OP_NOTE, NULL },
	{ "ACCEPT", OP_OPEN, "accept4" },
	{ "ASYNC_CANCEL", OP_NOTE, NULL },
	{ "LINK_TIMEOUT", OP_NOTE, NULL },
	{ "CONNECT", OP_META, "connect" },
	{ "FALLOCATE", OP_META, "fallocate" },
	{ "OPENAT", OP_OPEN, "openat" },
	{ "CLOSE", OP_CLOSE, "close" },
	{ "FILES_UPDATE", OP_NOTE, NULL },
	{ "STATX", OP_META, "statx" },
	{ "READ", OP_READ, "pread64" },
	{ "WRITE", OP_WRITE, "pwrite64" },
	{ "FADVISE", OP_META, "fadvise64" },
	{ "MADVISE", OP_NOTE, NULL },
	{ "SEND", OP_WRITE, "sendto" },
	{ "RECV", OP_READ, "recvfrom" },
	{ "OPENAT2", OP_OPEN, "openat2" },
	{ "EPOLL_CTL", OP_NOTE, NULL },
	{ "SPLICE", OP_READ, "splice" },
	{ "PROVIDE_BUFFERS", OP_NOTE, NULL },
	{ "REMOVE_BUFFERS", OP_NOTE, NULL },
	{ "TEE", OP_PEEK, "tee" },
	{ "SHUTDOWN", OP_META, "shutdown" },
	{ "RENAMEAT", OP_META, "renameat2" },
	{ "UNLINKAT", OP_META, "unlinkat" },
	{ "MKDIRAT", OP_META, "mkdirat" },
	{ "SYMLINKAT", OP_META, "symlinkat" },
	{ "LINKAT", OP_META, "linkat" },
	{ "MSG_RING", OP_NOTE, NULL },
	{ "FSETXATTR", OP_META, "fsetxattr" },
	{ "SETXATTR", OP_META, "setxattr" },
	{ "FGETXATTR", OP_META, "fgetxattr" },
	{ "GETXATTR", OP_META, "getxattr" },
	{ "SOCKET", OP_OPEN, "socket" },
	{ "URING_CMD", OP_META, "fallocate" },
	{ "SEND_ZC", OP_WRITE, "sendto" },
	{ "SENDMSG_ZC", OP_WRITE, "sendmsg" },
	{ "READ_MULTISHOT", OP_READ, "read" },
	{ "WAITID", OP_NOTE, NULL },
	{ "FUTEX_WAIT", OP_NOTE, NULL },
	{ "FUTEX_WAKE", OP_NOTE, NULL },
	{ "FUTEX_WAITV", OP_NOTE, NULL },
	{ "FIXED_FD_INSTALL", OP_OPEN, "dup" },
	{ "FTRUNCATE", OP_META, "ftruncate" },
	{ "BIND", OP_META, "bind" },
	{ "LISTEN", OP_META, "listen" },
	{ "RECV_ZC", OP_READ, "recvfrom" },
	{ "EPOLL_WAIT", OP_NOTE, NULL },
	{ "READV_FIXED", OP_READ, "preadv" },
	{ "WRITEV_FIXED", OP_WRITE, "pwritev" },
	{ "PIPE", OP_OPEN, "pipe2" },
};

/* IOCB_CMD_... of aio_abi.h. */
static const struct request_kind commands[] = {
	{ "pread", OP_READ, "pread64" },
	{ "pwrite", OP_WRITE, "pwrite64" },
	{ "fsync", OP_SYNC, "fsync" },
	{ "fdsync", OP_SYNC, "fdatasync" },
	{ "preadx", OP_READ, "pread64" },
	{ "poll", OP_NOTE, NULL },
	{ "noop", OP_NOTE, NULL },
	{ "preadv", OP_READ, "preadv" },
	{ "pwritev", OP_WRITE, "pwritev" },
};

#define KNOWN(table) sizeof(table) / sizeof(*(table))

static struct request_kind kind_of(enum async which, unsigned number)
{
	if (which == ASYNC_AIO)
		return number < KNOWN(commands)
			       ? commands[number]
			       : (struct request_kind){ "other", OP_NOTE, NULL };
	return number < KNOWN(opcodes)
		       ? opcodes[number]
		       : (struct request_kind){ "OTHER", OP_META, "fallocate" };
}

const char *async_name(enum async which, unsigned number)
{
	return kind_of(which, number).name;
}

uint8_t async_kind(enum async which, unsigned number)
{
	return kind_of(which, number).kind;
}

static unsigned call_of(
	struct names *n, enum async which, unsigned number, const char *suffix)
{
	char name[40];
	int len = snprintf(name, sizeof(name), "%s:%s%s",
		which == ASYNC_AIO ? "aio" : "io_uring", async_name(which, number),
		suffix);

	return names_call(n, name, (size_t)len);
}

unsigned async_call(struct names *n, enum async which, unsigned number)
{
	return call_of(n, which, number, "");
}

unsigned async_peek(struct names *n, enum async which, unsigned number)
{
	return call_of(n, which, number, ":peek");
}

bool async_wanted(const struct syscall_set *want, enum async which, unsigned number)
{
	const char *like = kind_of(which, number).like;

	return like && syscall_wanted(want, (unsigned)syscall_by_name(like));
}
