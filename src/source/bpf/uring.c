/*
 * uring.c - requests of io_uring as operations
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

static uint16_t call_of(struct bpf *b, unsigned opcode)
{
	char name[40];

	if (!b->uring_call[opcode & 255]) {
		int n = snprintf(
			name, sizeof(name), "io_uring:%s", ebpf_uring_name(opcode));
		b->uring_call[opcode & 255] = names_call(b->names, name, n);
	}
	return b->uring_call[opcode & 255];
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
	uint8_t kind = r->head.row < NOPCODES ? opcodes[r->head.row].kind : OP_META;
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
		.call = call_of(b, r->head.row),
		.offset = OP_NO_OFFSET,
	};
	if (s.placed && (kind == OP_READ || kind == OP_WRITE))
		op.offset = r->placed || r->res <= 0 ? r->position
			    : r->position < r->res   ? OP_NO_OFFSET
						     : r->position - r->res;
	ebpf_put(b, &op);
}
