/*
 * uring.c - requests of io_uring and of Linux AIO as operations
 */
#include "bpf.h"
#include "iops/async.h"

static enum async which_of(const struct rec_uring *r)
{
	return r->head.type == REC_AIO ? ASYNC_AIO : ASYNC_URING;
}

static uint16_t call_of(struct bpf *b, const struct rec_uring *r)
{
	enum async which = which_of(r);
	uint32_t *call = &b->uring_call[which][r->head.row & 255];

	if (!*call)
		*call = async_call(b->names, which, r->head.row);
	return (uint16_t)*call;
}

void ebpf_uring_take(struct bpf *b, const struct rec_uring *r)
{
	uint8_t kind = async_kind(which_of(r), r->head.row);
	struct process *p = ebpf_life_caller(b, &r->head);
	struct seen s = ebpf_files_get(b, r->head.file);

	if (!p || !async_wanted(&b->want, which_of(r), r->head.row))
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
