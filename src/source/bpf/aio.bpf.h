/*
 * aio.bpf.h - asynchronous I/O of io_submit(2), from submission to io_getevents(2)
 */
#ifndef IOPS_AIO_BPF_H
#define IOPS_AIO_BPF_H

#include "calls.bpf.h"

/* struct iocb and struct io_event of aio_abi.h */
struct aio_iocb {
	u64 data;
	u32 key, rw_flags;
	u16 op;
	s16 prio;
	s32 fd;
	u64 buf, nbytes;
	s64 offset;
	u64 reserved;
	u32 flags, resfd;
};

struct aio_event {
	u64 data, obj;
	s64 res, res2;
};

enum { AIO_MAX = 4096, AIO_PREADV = 7, AIO_PWRITEV = 8 };

struct aio_key {
	u64 iocb, pid;
};

struct aio_req {
	u64 at_ns, want;
	s64 offset;
	u32 tid, id;
	s32 fd;
	u32 op;
};

/* Programs that never reap leave theirs behind: the oldest ones go. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct aio_key);
	__type(value, struct aio_req);
} aio_reqs SEC(".maps");

static long aio_submit_step(u32 i, void *arg)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 list = *(u64 *)arg, at = 0, id = bpf_get_current_pid_tgid();
	struct aio_iocb cb;
	struct aio_req r = {};

	if (bpf_probe_read_user(&at, sizeof(at), (void *)(list + i * 8ull)) ||
		bpf_probe_read_user(&cb, sizeof(cb), (void *)at)) {
		lose(BPF_URING);
		return 0;
	}
	struct aio_key key = { at, id >> 32 };
	r.at_ns = bpf_ktime_get_ns();
	r.want = cb.nbytes;
	r.offset = cb.offset;
	r.fd = cb.fd;
	r.op = cb.op;
	r.tid = (u32)id;
	if (cb.op == AIO_PREADV || cb.op == AIO_PWRITEV)
		r.want = vec_sum(cb.buf, cb.nbytes, 0);
	struct file *file = file_of(task, cb.fd);
	if (file)
		r.id = name_file(file);
	bpf_map_update_elem(&aio_reqs, &key, &r, BPF_ANY);
	return 0;
}

/* Before the call, or another thread could reap first. */
static __noinline int aio_submit(u64 n, u64 list)
{
	if (n && n <= AIO_MAX)
		bpf_loop(n, aio_submit_step, &list, 0);
	return 0;
}

static long aio_reap_step(u32 i, void *arg)
{
	u64 events = *(u64 *)arg, pid = bpf_get_current_pid_tgid() >> 32;
	struct aio_event e;

	if (bpf_probe_read_user(&e, sizeof(e), (void *)(events + i * sizeof(e)))) {
		lose(BPF_URING);
		return 0;
	}
	struct aio_key key = { e.obj, pid };
	struct aio_req *r = bpf_map_lookup_elem(&aio_reqs, &key);
	if (!r) {
		lose(BPF_URING);
		return 0;
	}
	struct rec_uring *out = take(BPF_URING, sizeof(*out));
	if (!out)
		return 0;
	__builtin_memset(out, 0, sizeof(*out));
	out->head.type = REC_AIO;
	out->head.row = r->op;
	out->head.pid = pid;
	out->head.tid = r->tid;
	out->head.file = r->id;
	out->head.at_ns = r->at_ns;
	out->dur_ns = bpf_ktime_get_ns() - r->at_ns;
	out->user_data = e.data;
	out->want = r->want;
	out->position = r->offset;
	out->res = e.res;
	out->fd = r->fd;
	out->placed = 1;
	give(out);
	bpf_map_delete_elem(&aio_reqs, &key);
	return 0;
}

static __noinline int aio_reap(u64 n, u64 events)
{
	if ((s64)n > 0 && n <= AIO_MAX)
		bpf_loop(n, aio_reap_step, &events, 0);
	return 0;
}

#endif
