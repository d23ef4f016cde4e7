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
};

/*
 * IORING_OP_... by number, which never change: io_uring.h. Kind NOTE: nothing that is
 * moved, made durable or named.
 */
static const struct request_kind opcodes[] = {
	{ "NOP", OP_NOTE },
	{ "READV", OP_READ },
	{ "WRITEV", OP_WRITE },
	{ "FSYNC", OP_SYNC },
	{ "READ_FIXED", OP_READ },
	{ "WRITE_FIXED", OP_WRITE },
	{ "POLL_ADD", OP_NOTE },
	{ "POLL_REMOVE", OP_NOTE },
	{ "SYNC_FILE_RANGE", OP_SYNC },
	{ "SENDMSG", OP_WRITE },
	{ "RECVMSG", OP_READ },
	{ "TIMEOUT", OP_NOTE },
	{ "TIMEOUT_REMOVE", OP_NOTE },
	{ "ACCEPT", OP_OPEN },
	{ "ASYNC_CANCEL", OP_NOTE },
	{ "LINK_TIMEOUT", OP_NOTE },
	{ "CONNECT", OP_META },
	{ "FALLOCATE", OP_META },
	{ "OPENAT", OP_OPEN },
	{ "CLOSE", OP_CLOSE },
	{ "FILES_UPDATE", OP_NOTE },
	{ "STATX", OP_META },
	{ "READ", OP_READ },
	{ "WRITE", OP_WRITE },
	{ "FADVISE", OP_META },
	{ "MADVISE", OP_NOTE },
	{ "SEND", OP_WRITE },
	{ "RECV", OP_READ },
	{ "OPENAT2", OP_OPEN },
	{ "EPOLL_CTL", OP_NOTE },
	{ "SPLICE", OP_READ },
	{ "PROVIDE_BUFFERS", OP_NOTE },
	{ "REMOVE_BUFFERS", OP_NOTE },
	{ "TEE", OP_PEEK },
	{ "SHUTDOWN", OP_META },
	{ "RENAMEAT", OP_META },
	{ "UNLINKAT", OP_META },
	{ "MKDIRAT", OP_META },
	{ "SYMLINKAT", OP_META },
	{ "LINKAT", OP_META },
	{ "MSG_RING", OP_NOTE },
	{ "FSETXATTR", OP_META },
	{ "SETXATTR", OP_META },
	{ "FGETXATTR", OP_META },
	{ "GETXATTR", OP_META },
	{ "SOCKET", OP_OPEN },
	{ "URING_CMD", OP_META },
	{ "SEND_ZC", OP_WRITE },
	{ "SENDMSG_ZC", OP_WRITE },
	{ "READ_MULTISHOT", OP_READ },
	{ "WAITID", OP_NOTE },
	{ "FUTEX_WAIT", OP_NOTE },
	{ "FUTEX_WAKE", OP_NOTE },
	{ "FUTEX_WAITV", OP_NOTE },
	{ "FIXED_FD_INSTALL", OP_OPEN },
	{ "FTRUNCATE", OP_META },
	{ "BIND", OP_META },
	{ "LISTEN", OP_META },
	{ "RECV_ZC", OP_READ },
	{ "EPOLL_WAIT", OP_NOTE },
	{ "READV_FIXED", OP_READ },
	{ "WRITEV_FIXED", OP_WRITE },
	{ "PIPE", OP_OPEN },
};
/* IOCB_CMD_... of aio_abi.h. */
static const struct request_kind commands[] = {
	{ "pread", OP_READ },
	{ "pwrite", OP_WRITE },
	{ "fsync", OP_SYNC },
	{ "fdsync", OP_SYNC },
	{ "preadx", OP_READ },
	{ "poll", OP_NOTE },
	{ "noop", OP_NOTE },
	{ "preadv", OP_READ },
	{ "pwritev", OP_WRITE },
};
#define KNOWN(table) sizeof(table) / sizeof(*(table))

static struct request_kind kind_of(enum async which, unsigned number)
{
	if (which == ASYNC_AIO)
		return number < KNOWN(commands)
			       ? commands[number]
			       : (struct request_kind){ "other", OP_NOTE };
	return number < KNOWN(opcodes) ? opcodes[number]
				       : (struct request_kind){ "OTHER", OP_META };
}

const char *async_name(enum async which, unsigned number)
{
	return kind_of(which, number).name;
}

uint8_t async_kind(enum async which, unsigned number)
{
	return kind_of(which, number).kind;
}

unsigned async_call(struct names *n, enum async which, unsigned number)
{
	char name[40];
	int len = snprintf(name, sizeof(name), "%s:%s",
		which == ASYNC_AIO ? "aio" : "io_uring", async_name(which, number));

	return names_call(n, name, (size_t)len);
}

bool async_wanted(const struct syscall_set *want, uint8_t kind)
{
	static const char *const like[OP_NKINDS] = { [OP_READ] = "pread64",
		[OP_WRITE] = "pwrite64",
		[OP_SYNC] = "fsync",
		[OP_OPEN] = "openat",
		[OP_CLOSE] = "close",
		[OP_META] = "fallocate",
		[OP_PEEK] = "tee" };

	return kind < OP_NKINDS && like[kind] &&
	       syscall_wanted(want, (unsigned)syscall_by_name(like[kind]));
}
