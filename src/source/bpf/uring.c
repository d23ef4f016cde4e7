/*
 * uring.c - requests of io_uring and of Linux AIO as operations
 */
#include "bpf.h"
#include "iops/names.h"

#include <stdio.h>
#include <string.h>

/*
 * IORING_OP_... by number, which never change: io_uring.h. Kind NOTE: nothing that is
 * moved, made durable or named.
 */
static const struct {
	const char *name;
	uint8_t kind;
} opcodes[] = {
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
enum { NOPCODES = sizeof(opcodes) / sizeof(*opcodes) };

const char *ebpf_uring_name(unsigned opcode)
{
	return opcode < NOPCODES ? opcodes[opcode].name : "OTHER";
}

/* IOCB_CMD_... of aio_abi.h. */
static const struct {
	const char *name;
	uint8_t kind;
} aio[] = {
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
enum { NAIO = sizeof(aio) / sizeof(*aio) };

const char *ebpf_aio_name(unsigned command)
{
	return command < NAIO ? aio[command].name : "other";
}

static uint16_t call_of(struct bpf *b, const struct rec_uring *r)
{
	bool is_aio = r->head.type == REC_AIO;
	uint32_t *call = &b->uring_call[is_aio][r->head.row & 255];
	char name[40];

	if (!*call) {
		int n = snprintf(name, sizeof(name), "%s:%s", is_aio ? "aio" : "io_uring",
			is_aio ? ebpf_aio_name(r->head.row)
			       : ebpf_uring_name(r->head.row));
		*call = names_call(b->names, name, n);
	}
	return *call;
}

static uint8_t kind_of(const struct rec *r)
{
	if (r->type == REC_AIO)
		return r->row < NAIO ? aio[r->row].kind : OP_NOTE;
	return r->row < NOPCODES ? opcodes[r->row].kind : OP_META;
}

/* By -e, the call that does the same says whether it is wanted. */
static bool wanted(const struct bpf *b, uint8_t kind)
{
	static const char *const like[OP_NKINDS] = { [OP_READ] = "pread64",
		[OP_WRITE] = "pwrite64",
		[OP_SYNC] = "fsync",
		[OP_OPEN] = "openat",
		[OP_CLOSE] = "close",
		[OP_META] = "fallocate",
		[OP_PEEK] = "tee" };

	return like[kind] && syscall_wanted(&b->want, syscall_by_name(like[kind]));
}

void ebpf_uring_take(struct bpf *b, const struct rec_uring *r)
{
	uint8_t kind = kind_of(&r->head);
	struct process *p = ebpf_life_caller(b, &r->head);
	struct seen s = ebpf_files_get(b, r->head.file);

	if (!p || !wanted(b, kind))
		return;
	struct op op = {
		.start_ns = ebpf_since(b, r->head.at_ns),
		.dur_ns = r->dur_ns,
		.ret = r->res,
		.want = r->want,
		.file = s.file,
		.comm = p->comm,
		.pid = p->pid,
		.tid = (pid_t)r->head.tid,
		.fd = r->fd,
		.kind = kind,
		.call = call_of(b, r),
		.offset = OP_NO_OFFSET,
	};
	if (s.placed && (kind == OP_READ || kind == OP_WRITE))
		op.offset = r->placed || r->res <= 0 ? r->position
			    : r->position < r->res   ? OP_NO_OFFSET
						     : r->position - r->res;
	ebpf_put(b, &op);
}
