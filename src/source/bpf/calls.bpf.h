/*
 * calls.bpf.h - system calls
 */
#ifndef IOPS_CALLS_BPF_H
#define IOPS_CALLS_BPF_H

#include "life.bpf.h"

enum {
	ABI_NATIVE = 0, /* of shapes[] */
	ABI_COMPAT = 1,
	FORM_PLAIN,
	TS_COMPAT = 2,
	AT_FDCWD_NR = -100,
	MSG_PEEK_BIT = 2,
	MSG_TRUNC_BIT = 0x20,
	O_ACCMODE_BITS = 3,
	O_APPEND_BIT = 02000,
	FMODE_STREAM_BIT = 0x200000,
	VEC_MAX = 1024,
	NR_MOVE_MOUNT = 429, /* everywhere */
};

/* enum syscall_form of iops/syscalls.h, which has too much else. */
enum form {
	F_PLAIN,
	F_VEC,
	F_MSG,
	F_MMSG,
	F_TWO,
	F_PATH,
	F_OPEN,
	F_NEWFD,
	F_NONE,
	F_CONTROL
};

#if defined(__TARGET_ARCH_x86)
enum { NR_RENAME = 82, NR_RENAMEAT = 264, NR_RENAMEAT2 = 316 };
enum { NR_MOUNT = 165, NR_UMOUNT = 166, NR_PIVOT_ROOT = 155 };
static __always_inline bool is_compat(struct task_struct *task)
{
	return GET(task, thread_info.status) & TS_COMPAT;
}

static __always_inline u32 number_of(struct pt_regs *regs)
{
	return (u32)GET(regs, orig_ax);
}

static __always_inline void args_of(struct pt_regs *regs, bool compat, u64 arg[6])
{
	if (compat) {
		arg[0] = (u32)GET(regs, bx);
		arg[1] = (u32)GET(regs, cx);
		arg[2] = (u32)GET(regs, dx);
		arg[3] = (u32)GET(regs, si);
		arg[4] = (u32)GET(regs, di);
		arg[5] = (u32)GET(regs, bp);
		return;
	}
	arg[0] = GET(regs, di);
	arg[1] = GET(regs, si);
	arg[2] = GET(regs, dx);
	arg[3] = GET(regs, r10);
	arg[4] = GET(regs, r8);
	arg[5] = GET(regs, r9);
}
#else
enum { NR_RENAME = -1, NR_RENAMEAT = 38, NR_RENAMEAT2 = 276 };
enum { NR_MOUNT = 40, NR_UMOUNT = 39, NR_PIVOT_ROOT = 41 };
static __always_inline bool is_compat(struct task_struct *task)
{
	return false;
}

static __always_inline u32 number_of(struct pt_regs *regs)
{
	return regs->syscallno;
}

static __always_inline void args_of(struct pt_regs *regs, bool compat, u64 arg[6])
{
	arg[0] = regs->orig_x0;
	for (int i = 1; i < 6; i++)
		arg[i] = regs->user_regs.regs[i];
}
#endif

/* i386 hides the arguments of socketcall(2) in memory. */
static __always_inline void socketcall(struct task_state *st)
{
	u32 word[6] = {};

	st->nr = SHAPES_MAX - 32 + ((u32)st->arg[0] & 31);
	bpf_probe_read_user(word, sizeof(word), (void *)st->arg[1]);
	for (int i = 0; i < 6; i++)
		st->arg[i] = word[i];
}

/* Of an array of the program's memory: bytes that its iovecs ask for. */
static long vec_step(u32 i, void *arg)
{
	struct call_scratch *s = call_scratch_get();

	if (!s || i >= s->n)
		return 1;
	if (s->narrow) {
		u32 v[2] = {};
		bpf_probe_read_user(v, sizeof(v), (void *)(s->at + i * sizeof(v)));
		s->sum += v[1];
	} else {
		u64 v[2] = {};
		bpf_probe_read_user(v, sizeof(v), (void *)(s->at + i * sizeof(v)));
		s->sum += v[1];
	}
	return 0;
}

static __noinline u64 vec_sum(u64 at, u64 n, u32 narrow)
{
	struct call_scratch *s = call_scratch_get();

	if (!s || !n || n > VEC_MAX)
		return 0;
	s->at = at;
	s->n = n;
	s->sum = 0;
	s->narrow = narrow;
	bpf_loop(n, vec_step, NULL, 0);
	return s->sum;
}

/* struct msghdr: name, namelen, iov, iovlen; sizes by the ABI. */
static __always_inline u64 msg_sum(u64 at, u32 narrow)
{
	if (narrow) {
		u32 v[4] = {};
		bpf_probe_read_user(v, sizeof(v), (void *)at);
		return vec_sum(v[2], v[3], 1);
	}
	u64 v[4] = {};
	bpf_probe_read_user(v, sizeof(v), (void *)at);
	return vec_sum(v[2], v[3], 0);
}

static __always_inline u64 arg_at(struct task_state *st, s8 i)
{
	return st->arg[i & 7 ? (i & 7) < 6 ? i & 7 : 5 : 0];
}

static __always_inline u64 asked(
	struct task_state *st, volatile const struct call_shape *s)
{
	switch (s->form) {
	case F_VEC:
		return vec_sum(st->arg[1], st->arg[2], st->abi);
	case F_MSG:
		return msg_sum(st->arg[1], st->abi);
	case F_MMSG:
		return 0;
	}
	if (s->size < 0)
		return 0;
	/* fallocate(2) and the like of i386 have lengths in two registers. */
	if (st->abi && s->wide)
		return st->arg[4] | st->arg[5] << 32;
	return arg_at(st, s->size);
}

/* By how much the kernel's own count went up with the call. */
static __always_inline u32 counted(
	struct task_state *st, struct task_struct *task, u32 weight, s64 ret)
{
	u64 n = 0;

	if (!weight)
		return 0;
	if (ret > 0) {
		n = weight;
	} else {
		struct task_io_accounting io;
		account_read(task, &io);
		u64 now = io.syscr + io.syscw - st->base_calls;
		n = now - st->mine;
		if (n > weight)
			n = 0;
	}
	st->mine += n;
	return n;
}

struct side {
	s64 position;
	u32 id;
	u16 flags;
	u8 placed;
};

static __always_inline void files_begin(struct task_state *st, struct task_struct *task,
	volatile const struct call_shape *s)
{
	st->file[0] = s->fd >= 0 ? file_of(task, (s32)arg_at(st, s->fd)) : NULL;
	st->file[1] = s->form == F_TWO ? file_of(task, (s32)arg_at(st, s->fd2)) : NULL;
}

/* Where a call read or wrote, after it has. */
static __always_inline void side_of(
	struct task_state *st, struct file *file, s32 fd, struct side *out)
{
	out->id = 0;
	out->position = 0;
	out->flags = REC_F_STREAM;
	if (!file)
		return;
	struct looked v;
	look(file, &v);
	out->id = file_id(st, fd, file, &v);
	out->position = v.pos;
	out->flags = (v.mode & FMODE_STREAM_BIT ? REC_F_STREAM : 0) |
		     (v.flags & O_APPEND_BIT ? REC_F_APPEND : 0) |
		     ((v.flags & O_ACCMODE_BITS) == 0 ? REC_F_RDONLY : 0);
}

static __always_inline void fill(struct rec_call *r, struct task_state *st,
	struct task_struct *task, volatile const struct call_shape *s, s64 ret, u64 now)
{
	r->head.type = REC_CALL;
	r->head.abi = st->abi;
	r->head.row = s->row;
	u64 id = bpf_get_current_pid_tgid();
	r->head.pid = id >> 32;
	r->head.tid = (u32)id;
	r->head.file = 0;
	r->head.at_ns = st->enter_ns;
	r->dur_ns = now - st->enter_ns;
	r->ret = ret;
	r->want = 0;
	r->position = 0;
	r->fd = -1;
	r->counted = 0;
	r->placed = 0;
	r->flags = 0;
}

/* One file, by descriptor. */
static __always_inline struct file *fill_fd(struct rec_call *r, struct task_state *st,
	struct task_struct *task, volatile const struct call_shape *s)
{
	struct side v;
	bool made = s->form == F_OPEN || (s->form == F_NEWFD && r->ret > 0);
	s32 fd = made ? (s32)r->ret : (s32)arg_at(st, s->fd);

	if (s->fd < 0 && s->form != F_OPEN && s->form != F_NEWFD)
		return NULL;
	struct file *file = made ? file_of(task, fd) : st->file[0];
	r->fd = fd;
	side_of(st, file, fd, &v);
	r->head.file = v.id;
	r->flags = v.flags;
	r->position = v.position;
	if (s->offset >= 0) {
		s64 off = arg_at(st, s->offset);
		if (st->abi)
			off = (u32)off | arg_at(st, s->offset + 1) << 32;
		if (off != -1) {
			r->position = off;
			r->placed = 1;
			if (s->writes && v.flags & REC_F_APPEND && r->ret > 0)
				r->position =
					BPF_CORE_READ(file, f_inode, i_size) - r->ret;
		}
	}
	return file;
}

static __always_inline void out_two(struct task_state *st, struct task_struct *task,
	volatile const struct call_shape *s, s64 ret, u64 now, u8 count)
{
	struct rec_two r = {};
	struct side v;
	s64 off = 0;
	u32 width = st->abi && st->nr == 187 ? 4 : 8;

	fill(&r.one, st, task, s, ret, now);
	r.one.head.type = REC_TWO;
	r.one.counted = count;
	r.one.want = arg_at(st, s->size);
	r.one.fd = (s32)arg_at(st, s->fd);
	side_of(st, st->file[0], r.one.fd, &v);
	r.one.head.file = v.id;
	r.one.position = v.position;
	r.one.flags = v.flags;
	u64 at = s->offset >= 0 ? arg_at(st, s->offset) : 0;
	if (at) {
		if (width == 4)
			bpf_probe_read_user(&off, 4, (void *)at);
		else
			bpf_probe_read_user(&off, 8, (void *)at);
		r.one.position = off; /* it has been moved on */
		r.one.placed = 2;
	}
	r.fd2 = (s32)arg_at(st, s->fd2);
	side_of(st, st->file[1], r.fd2, &v);
	r.file2 = v.id;
	r.position2 = v.position;
	r.stream2 = v.flags & REC_F_STREAM ? 1 : 0;
	r.placed2 = 0;
	at = s->offset2 >= 0 ? arg_at(st, s->offset2) : 0;
	if (at) {
		off = 0;
		bpf_probe_read_user(&off, 8, (void *)at);
		r.position2 = off;
		r.placed2 = 2;
	}
	if (filters() && !file_passes(r.one.head.file, st->file[0], ret, r.one.dur_ns) &&
		!file_passes(r.file2, st->file[1], ret, r.one.dur_ns))
		return;
	send(BPF_CALLS, &r, sizeof(r));
}

/* A path, and the directory that it is relative to. */
static __noinline int out_path(struct task_state *st, u64 ret, u64 now, u32 abi, u32 nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_scratch *sc = call_scratch_get();
	volatile const struct call_shape *s = &shapes[abi & 1][nr & (SHAPES_MAX - 1)];

	if (!sc || !st)
		return 0;
	s32 dirfd = s->fd >= 0 ? (s32)arg_at(st, s->fd) : AT_FDCWD_NR;
	u32 dir = 0;
	if (dirfd == AT_FDCWD_NR)
		dir = name_of(BPF_CORE_READ(task, fs, pwd.dentry),
			BPF_CORE_READ(task, fs, pwd.mnt));
	else {
		struct file *file = file_of(task, dirfd);
		if (file)
			dir = name_file(file);
	}
	if (filters() && (dir == OUTSIDE || filter.dev_set || filter.min_bytes ||
				 now - st->enter_ns < filter.min_ns))
		return 0;
	struct rec_path *r = &sc->path;
	fill(&r->call, st, task, s, ret, now);
	r->call.head.type = REC_PATH;
	r->call.head.file = dir;
	r->call.fd = dirfd;
	r->call.want = s->size >= 0 ? arg_at(st, s->size) : 0;
	long n = bpf_probe_read_user_str(
		r->path, REC_PATH_MAX, (void *)arg_at(st, s->path));
	if (n <= 0) {
		n = 1;
		r->path[0] = 0;
	}
	send(BPF_CALLS, sc, sizeof(struct rec_path) + (n & (REC_PATH_MAX - 1)));
	return 0;
}

/* An array of messages, of a size by the ABI: the sums of their iovecs use the scratch.
 */
struct mmsg_at {
	u64 at;
	u32 n, narrow;
};

static long mmsg_step(u32 i, void *arg)
{
	struct call_scratch *s = call_scratch_get();
	struct mmsg_at *m = arg;

	if (!s || i >= m->n || i >= REC_MMSG_MAX)
		return 1;
	u32 got = 0, narrow = m->narrow;
	u64 at = m->at + i * (narrow ? 32 : 64);
	bpf_probe_read_user(&got, sizeof(got), (void *)(at + (narrow ? 28 : 56)));
	s->mmsg.msg[i & (REC_MMSG_MAX - 1)].asked = msg_sum(at, narrow);
	s->mmsg.msg[i & (REC_MMSG_MAX - 1)].got = got;
	return 0;
}

static __noinline int out_mmsg(struct task_state *st, u64 ret, u64 now, u32 abi, u32 nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_scratch *sc = call_scratch_get();
	volatile const struct call_shape *s = &shapes[abi & 1][nr & (SHAPES_MAX - 1)];

	if (!sc || !st)
		return 0;
	struct rec_call c;
	fill(&c, st, task, s, ret, now);
	struct file *file = fill_fd(&c, st, task, s);
	c.head.type = REC_MMSG;
	u64 bits = arg_at(st, s->flags);
	struct rec_mmsg *r = &sc->mmsg;
	__builtin_memcpy(&r->call, &c, sizeof(c));
	r->call.flags |= (bits & MSG_PEEK_BIT ? REC_F_PEEK : 0);
	r->call.placed = bits & MSG_TRUNC_BIT ? 4 : 0;
	u64 n = (s64)ret > 0 ? ret : 0;
	if (n > REC_MMSG_MAX)
		n = REC_MMSG_MAX;
	if (filters() && !file_passes(r->call.head.file, file, ret, r->call.dur_ns))
		return 0;
	r->n = n;
	r->pad = 0;
	struct mmsg_at m = { st->arg[1], n, abi };
	bpf_loop(n, mmsg_step, &m, 0);
	send(BPF_CALLS, sc, sizeof(struct rec_call) + 8 + n * 8);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 262144);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sum_key);
	__type(value, struct sum_value);
} sums SEC(".maps");

/* 0 for 0, n for 2^(n-1) ... 2^n - 1. */
static __always_inline u8 octave(u64 v)
{
	u8 n = 0;

	for (u8 half = 32; half; half /= 2) {
		if (v >> half) {
			v >>= half;
			n += half;
		}
	}
	return n + (v ? 1 : 0);
}

static __noinline int sum_up(struct rec_call *r)
{
	if (!r)
		return 0;
	struct sum_key key = {
		.pid = r->head.pid,
		.file = r->head.file,
		.fd = -1,
		.row = r->head.row,
		.size = octave(r->ret),
		.time = octave(r->dur_ns),
		.rdonly = r->flags & REC_F_RDONLY ? 1 : 0,
	};
	struct sum_value one = { 1, r->ret, r->dur_ns, r->head.at_ns }, *v;

	if (!bpf_map_update_elem(&sums, &key, &one, BPF_NOEXIST))
		return 0;
	v = bpf_map_lookup_elem(&sums, &key);
	if (!v) {
		lose(BPF_CALLS);
		return 0;
	}
	__sync_fetch_and_add(&v->calls, 1);
	__sync_fetch_and_add(&v->bytes, one.bytes);
	__sync_fetch_and_add(&v->ns, one.ns);
	return 0;
}

static __always_inline void out_call(struct task_state *st, struct task_struct *task,
	volatile const struct call_shape *s, s64 ret, u64 now, u8 count)
{
	struct rec_call r;
	u64 want = s->form == F_PLAIN && !st->abi && s->size >= 0 ? arg_at(st, s->size)
								  : asked(st, s);

	fill(&r, st, task, s, ret, now);
	struct file *file = fill_fd(&r, st, task, s);
	if (s->flags >= 0) {
		u64 bits = arg_at(st, s->flags);
		if (bits & MSG_PEEK_BIT)
			r.flags |= REC_F_PEEK;
		if (bits & MSG_TRUNC_BIT && ret > 0 && (u64)ret > want)
			r.ret = want;
	}
	r.want = want;
	r.counted = count;
	if (filters() && !file_passes(r.head.file, file, ret, r.dur_ns))
		return;
	if (filter.aggregate && ret >= 0 && !(r.flags & REC_F_PEEK)) {
		sum_up(&r);
		return;
	}
	struct rec_call *out = take(BPF_CALLS, sizeof(*out));
	if (out) {
		__builtin_memcpy(out, &r, sizeof(r));
		/* The reader looks often enough by itself; asking how much there is
		 * costs. */
		bpf_ringbuf_submit(out, ++st->told & 63 ? BPF_RB_NO_WAKEUP : wake());
	}
}

/* Calls of i386: rename(2), renameat(2), renameat2(2); mount(2) and its kin. */
static __always_inline bool is_compat_rename(u32 nr)
{
	return nr == 38 || nr == 302 || nr == 353 || nr == 21 || nr == 22 || nr == 52 ||
	       nr == 217 || nr == NR_MOVE_MOUNT;
}

/* Whether files have other names after a call than before it. */
static __always_inline bool is_rename(u32 nr, bool compat)
{
	if (compat)
		return is_compat_rename(nr);
	return nr == NR_RENAME || nr == NR_RENAMEAT || nr == NR_RENAMEAT2 ||
	       nr == NR_MOUNT || nr == NR_UMOUNT || nr == NR_PIVOT_ROOT ||
	       nr == NR_MOVE_MOUNT;
}

#endif
