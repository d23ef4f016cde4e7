/*
 * uring.bpf.h - requests of io_uring, from submission to completion
 */
#ifndef IOPS_URING_BPF_H
#define IOPS_URING_BPF_H

#include "calls.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct io_cqe {
	u64 user_data;
	s32 res;
	union {
		u32 flags;
		s32 fd;
	};
};

struct io_ring_ctx {
	u32 flags;
};

struct io_kiocb {
	struct file *file;
	u8 opcode;
	u64 flags;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
};

/* What lies at the beginning of a request that reads or writes. */
struct kiocb {
	struct file *ki_filp;
	s64 ki_pos;
};

struct io_rw {
	struct kiocb kiocb;
	u64 addr;
	u32 len;
};

struct io_sr_msg {
	struct file *file;
	u32 len;
};

struct io_uring_cqe {
	u64 user_data;
	s32 res;
	u32 flags;
};

#pragma clang attribute pop

/* IORING_OP_...: io_uring.h of the kernel, which never renumbers them. */
enum {
	UR_READV = 1,
	UR_WRITEV = 2,
	UR_READ_FIXED = 4,
	UR_WRITE_FIXED = 5,
	UR_READ = 22,
	UR_WRITE = 23,
	UR_SEND = 26,
	UR_RECV = 27,
	UR_RENAMEAT = 35,
	UR_SEND_ZC = 47,
	UR_READ_MULTISHOT = 49,
	UR_FIXED_FILE = 1,
	UR_CQE_MORE = 2,
	UR_CQE_NOTIFICATION = 8,
};

/* A request that is under way. */
struct uring_req {
	u64 at_ns, want, ring;
	s64 position;
	struct file *file;
	u32 pid, tid, id;
	s32 fd;
	u32 sqe_flags;
	u8 opcode, placed;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct uring_req);
} uring_reqs SEC(".maps");

static __always_inline bool uring_moves(u8 op)
{
	return op == UR_READV || op == UR_WRITEV || op == UR_READ_FIXED ||
	       op == UR_WRITE_FIXED || op == UR_READ || op == UR_WRITE ||
	       op == UR_READ_MULTISHOT;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(uring_submit, struct io_kiocb *req)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uring_req r = {};
	u64 key = (u64)req;

	/* The kernel's own thread may submit: it is one of the process. */
	if (!member(bpf_get_current_pid_tgid() >> 32) && !traced(task))
		return 0;
	r.at_ns = bpf_ktime_get_ns();
	r.pid = bpf_get_current_pid_tgid() >> 32;
	r.tid = (u32)bpf_get_current_pid_tgid();
	r.opcode = BPF_CORE_READ(req, opcode);
	r.ring = (u64)BPF_CORE_READ(req, ctx);
	r.sqe_flags = BPF_CORE_READ(req, flags);
	r.fd = BPF_CORE_READ(req, cqe.fd);
	r.file = BPF_CORE_READ(req, file);
	if (uring_moves(r.opcode)) {
		struct io_rw *rw = (void *)req;
		r.position = BPF_CORE_READ(rw, kiocb.ki_pos);
		r.placed = r.position != -1;
		r.want = BPF_CORE_READ(rw, len);
		if (r.opcode == UR_READV || r.opcode == UR_WRITEV)
			r.want = vec_sum(BPF_CORE_READ(rw, addr), r.want, 0);
	} else if (r.opcode == UR_SEND || r.opcode == UR_RECV || r.opcode == UR_SEND_ZC) {
		struct io_sr_msg *sr = (void *)req;
		if (bpf_core_field_exists(sr->len))
			r.want = (u32)BPF_CORE_READ(sr, len);
	}
	if (r.sqe_flags & UR_FIXED_FILE)
		r.fd = -1; /* a number of the ring's own table: the completion knows */
	else if (!r.file && r.fd >= 0)
		r.file = file_of(task, r.fd);
	if (r.file)
		r.id = name_file(r.file);
	if (bpf_map_update_elem(&uring_reqs, &key, &r, BPF_ANY))
		lose(BPF_URING);
	return 0;
}

static __always_inline void uring_tell(
	struct uring_req *r, s32 res, u32 flags, u64 user_data)
{
	u64 now = bpf_ktime_get_ns();
	s64 position = r->position;
	struct file *file = r->file;

	/* Where the position of the file was, the request has moved it on. */
	if (!r->placed && file && uring_moves(r->opcode))
		position = BPF_CORE_READ(file, f_pos);
	if (filters() && !file_passes(r->id, file, res, now - r->at_ns))
		return;
	struct rec_uring *out = take(BPF_URING, sizeof(*out));
	if (!out)
		return;
	out->head.type = REC_URING;
	out->head.abi = 0;
	out->head.row = r->opcode;
	out->head.pid = r->pid;
	out->head.tid = r->tid;
	out->head.file = r->id;
	out->head.at_ns = r->at_ns;
	out->dur_ns = now - r->at_ns;
	out->user_data = user_data;
	out->want = r->want;
	out->ring = r->ring;
	out->position = position;
	out->res = res;
	out->fd = r->fd;
	out->ring_flags = flags;
	out->sqe_flags = r->sqe_flags;
	out->placed = r->placed;
	out->more = flags & UR_CQE_MORE ? 1 : 0;
	out->opened = 0;
	__builtin_memset(out->pad, 0, sizeof(out->pad));
	give(out);
}

/*
 * Of whatever ring: names are other ones now. A request that asks for no completion is
 * not told of; then only the names below a directory that it moved are old ones.
 */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_renamed, struct io_ring_ctx *rings, struct io_kiocb *req,
	struct io_uring_cqe *cqe)
{
	if (!req || GET(req, opcode) != UR_RENAMEAT)
		return 0;
	/* Before 5.19 the result lies elsewhere: one that failed counts there too. */
	if (!bpf_core_field_exists(req->cqe) || GET(req, cqe.res) == 0)
		__sync_fetch_and_add(&renames, 1);
	return 0;
}

/* Since 6.15 the completion is passed as it is, before in parts. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(
	uring_complete, struct io_ring_ctx *rings, void *req, struct io_uring_cqe *cqe)
{
	u64 key = (u64)req;
	struct uring_req *r = bpf_map_lookup_elem(&uring_reqs, &key);

	if (!r)
		return 0;
	u32 flags = BPF_CORE_READ(cqe, flags);
	if (flags & UR_CQE_NOTIFICATION) { /* of a buffer that is free again */
		bpf_map_delete_elem(&uring_reqs, &key);
		return 0;
	}
	if (!r->id && r->sqe_flags & UR_FIXED_FILE) {
		struct io_kiocb *done = req;
		r->file = BPF_CORE_READ(done, file);
		if (r->file) {
			struct file *file = r->file;
			r->id = name_file(file);
		}
	}
	uring_tell(r, BPF_CORE_READ(cqe, res), flags, BPF_CORE_READ(cqe, user_data));
	if (!(flags & UR_CQE_MORE))
		bpf_map_delete_elem(&uring_reqs, &key);
	return 0;
}

#endif
