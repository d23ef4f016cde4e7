/*
 * fs.bpf.h - calls with all their arguments, for rows of the stream fs
 */
#ifndef IOPS_FS_BPF_H
#define IOPS_FS_BPF_H

#include "calls.bpf.h"

static __always_inline bool fs_shown(bool compat, u32 nr)
{
	return filter.rows && fs_shapes[compat][nr & (SHAPES_MAX - 1)].on;
}

/* Room for two paths, and for what the verifier believes of their lengths. */
struct fs_pad {
	struct rec_fs r;
	char text[4 * REC_PATH_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct fs_pad);
} fs_pads SEC(".maps");

enum { MAP_ANONYMOUS_BIT = 0x20 };

/* Since 5.17. */
enum bpf_func_id___fs {
	BPF_FUNC_find_vma___fs = 180,
};

static long fs_mapped(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	*(u64 *)arg = (u64)BPF_CORE_READ(vma, vm_file);
	return 0;
}

/* The file that is mapped there. Sets early, and quiet if it is known to be none. */
static __always_inline void fs_early_map(struct task_state *st, struct task_struct *task)
{
	u64 file = 0;

	if (!bpf_core_enum_value_exists(enum bpf_func_id___fs, BPF_FUNC_find_vma___fs))
		return;
	long err = bpf_find_vma(task, st->arg[0], fs_mapped, &file, 0);
	if (!err && file) {
		st->early = name_file((struct file *)file);
		st->early_flags = BPF_CORE_READ((struct file *)file, f_flags);
	}
	st->quiet = !err && !file;
}

static __always_inline u64 fs_arg(struct task_state *st, u8 position)
{
	return arg_at(st, position - 1);
}

/* What the call is about, and what it is going to take away. */
static __noinline int fs_enter(struct task_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!st)
		return 0;
	volatile const struct fs_shape *s =
		&fs_shapes[st->abi & 1][st->nr & (SHAPES_MAX - 1)];

	st->early = 0;
	st->early_flags = 0;
	st->quiet = 0;
	st->row_file[0] = st->row_file[1] = NULL;
	if (!s->on)
		return 0;
	if (s->fd && !s->path)
		st->row_file[0] = file_of(task, (s32)fs_arg(st, s->fd));
	if (s->fd2 && !s->path2)
		st->row_file[1] = file_of(task, (s32)fs_arg(st, s->fd2));
	st->enter_ns = bpf_ktime_get_ns();
	if (s->form == FS_EARLY) {
		struct file *file = file_of(task, (s32)st->arg[0]);
		if (file) {
			st->early = name_file(file);
			st->early_flags = BPF_CORE_READ(file, f_flags);
		}
	}
	if (s->form == FS_MAPPED || s->form == FS_MSYNC)
		fs_early_map(st, task);
	return 0;
}

/* The command before it is one: that it becomes one is told. */
static __always_inline void fs_first_exec(
	struct task_state *st, struct pt_regs *regs, long nr)
{
	bool compat = is_compat(bpf_get_current_task_btf());

	if (!filter.rows || (u64)nr >= SHAPES_MAX - 32 ||
		fs_shapes[compat][nr & (SHAPES_MAX - 1)].form != FS_EXEC)
		return;
	args_of(regs, compat, st->arg);
	st->nr = nr;
	st->abi = compat;
	st->pending = 1;
	fs_enter(st);
}

/* The directory that a path begins at. */
static __always_inline u32 fs_dir(
	struct task_state *st, struct task_struct *task, u8 fd, char first)
{
	s32 dirfd = fd ? (s32)fs_arg(st, fd) : AT_FDCWD_NR;

	if (first == '/')
		return name_of(BPF_CORE_READ(task, fs, root.dentry),
			BPF_CORE_READ(task, fs, root.mnt));
	if (dirfd == AT_FDCWD_NR)
		return name_of(BPF_CORE_READ(task, fs, pwd.dentry),
			BPF_CORE_READ(task, fs, pwd.mnt));
	struct file *file = file_of(task, dirfd);
	return file ? name_file(file) : 0;
}

/* What fstat(2) and its kin have found. */
static __always_inline void fs_found(struct rec_fs *r, u64 at, u8 how)
{
	if (how == FS_OUT_STAT) {
		u64 v[2] = {}; /* st_dev, st_ino */
		if (bpf_probe_read_user(v, sizeof(v), (void *)at))
			return;
		r->dev = v[0];
		r->inode = v[1];
	} else if (how == FS_OUT_STATX) {
		u32 dev[2] = {};
		if (bpf_probe_read_user(&r->inode, 8, (void *)(at + 32)) ||
			bpf_probe_read_user(dev, sizeof(dev), (void *)(at + 136)))
			return;
		r->dev = (u64)dev[0] << 32 | dev[1];
	} else {
		if (bpf_probe_read_user(&r->dev, 8, (void *)at) ||
			bpf_probe_read_user(&r->inode, 8, (void *)(at + 88)))
			return;
	}
	r->has |= FS_HAS_INODE;
}

/* The words that the program was started with. */
static __noinline int fs_args(struct fs_pad *p, u32 limit)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 from = BPF_CORE_READ(task, mm, arg_start),
	    n = BPF_CORE_READ(task, mm, arg_end) - from;

	if (!p)
		return 0;
	if (n > limit)
		n = limit;
	if (n > REC_FS_ARGS)
		n = REC_FS_ARGS;
	if (!n || bpf_probe_read_user(p->text, n, (void *)from))
		return 0;
	p->r.len = n;
	p->r.has |= FS_HAS_ARGS;
	return 0;
}

static __always_inline void fs_fill(struct rec_fs *r, struct task_state *st,
	struct task_struct *task, s64 ret, u64 now)
{
	r->head.type = REC_FS;
	r->head.abi = st->abi;
	r->head.pid = task->tgid;
	r->head.tid = task->pid;
	r->head.file = 0;
	r->head.at_ns = st->enter_ns;
	r->dur_ns = now - st->enter_ns;
	r->ret = ret;
	for (int i = 0; i < 6; i++)
		r->arg[i] = st->arg[i];
	r->at[0] = r->at[1] = r->want = 0;
	r->position = r->position2 = r->size = 0;
	r->cgroup = bpf_get_current_cgroup_id();
	r->inode = r->dev = 0;
	r->file2 = r->flags = 0;
	r->ppid = BPF_CORE_READ(task, real_parent, tgid);
	r->uid = (u32)bpf_get_current_uid_gid();
	r->mount_ns = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
	r->nr = st->nr;
	r->has = 0;
	r->len = r->len2 = 0;
	bpf_get_current_comm(r->comm, sizeof(r->comm));
}

/* The open file that a call is about, or NULL. */
static __always_inline struct file *fs_file(struct task_state *st,
	struct task_struct *task, volatile const struct fs_shape *s, s64 ret)
{
	if (s->form == FS_OPEN)
		return ret >= 0 ? file_of(task, (s32)ret) : NULL;
	if (s->form == FS_EXEC)
		return ret >= 0 ? BPF_CORE_READ(task, mm, exe_file) : NULL;
	if (s->path || !s->fd || s->form == FS_EARLY)
		return NULL;
	return st->row_file[0];
}

/* The first path. Returns whether the record is about it. */
static __always_inline bool fs_path(struct fs_pad *p, struct task_state *st,
	struct task_struct *task, volatile const struct fs_shape *s)
{
	long n = bpf_probe_read_user_str(
		p->text, REC_PATH_MAX, (void *)fs_arg(st, s->path));

	if (n <= 0) {
		/* utimensat(2) of a descriptor */
		if (s->fd && !fs_arg(st, s->path))
			p->r.head.file = fs_dir(st, task, s->fd, 0);
		return false;
	}
	p->r.len = n & (REC_PATH_MAX - 1);
	p->r.has |= FS_HAS_PATH;
	if (s->form != FS_SYMLINK)
		p->r.head.file = fs_dir(st, task, s->fd, p->text[0]);
	return true;
}

static __always_inline void fs_path2(struct fs_pad *p, struct task_state *st,
	struct task_struct *task, volatile const struct fs_shape *s)
{
	char *to = p->text + (p->r.len & (REC_PATH_MAX - 1));
	long n = bpf_probe_read_user_str(to, REC_PATH_MAX, (void *)fs_arg(st, s->path2));

	if (n <= 0)
		return;
	p->r.len2 = n & (REC_PATH_MAX - 1);
	p->r.has |= FS_HAS_PATH2;
	p->r.file2 = fs_dir(st, task, s->fd2, *to);
}

static __always_inline void fs_second(struct rec_fs *r, struct task_state *st,
	struct task_struct *task, volatile const struct fs_shape *s)
{
	struct file *file = st->row_file[1];

	if (!file)
		return;
	r->file2 = name_file(file);
	r->position2 = BPF_CORE_READ(file, f_pos);
	r->has |= FS_HAS_FILE2;
}

static __always_inline void fs_first(struct fs_pad *p, struct task_state *st,
	struct task_struct *task, volatile const struct fs_shape *s)
{
	struct file *file = fs_file(st, task, s, p->r.ret);

	if (file) {
		struct looked v;
		look(file, &v);
		s32 fd = s->form == FS_OPEN ? (s32)p->r.ret : (s32)fs_arg(st, s->fd);
		p->r.head.file = file_id(st, fd, file, &v);
		p->r.position = v.pos;
		p->r.flags = v.flags;
		p->r.size = BPF_CORE_READ(file, f_inode, i_size);
		p->r.has |= FS_HAS_FILE;
	}
	if (st->early) {
		p->r.head.file = st->early;
		p->r.flags = st->early_flags;
		p->r.has |= FS_HAS_FILE;
	}
	if (s->form == FS_CWD && !p->r.ret)
		p->r.head.file = fs_dir(st, task, 0, 0);
	else if (s->form == FS_ROOT && !p->r.ret)
		p->r.head.file = fs_dir(st, task, 0, '/');
	else if (s->path && !file)
		fs_path(p, st, task, s);
	if (s->form == FS_EXEC && p->r.ret >= 0)
		fs_args(p, REC_FS_ARGS);
}

static __always_inline void fs_pointers(
	struct rec_fs *r, struct task_state *st, volatile const struct fs_shape *s)
{
	if (s->vec)
		r->want = vec_sum(fs_arg(st, s->vec), fs_arg(st, s->vec + 1), st->abi);
	if (s->at && s->narrow)
		bpf_probe_read_user(&r->at[0], 4, (void *)fs_arg(st, s->at));
	else if (s->at)
		bpf_probe_read_user(&r->at[0], 8, (void *)fs_arg(st, s->at));
	if (s->at2)
		bpf_probe_read_user(&r->at[1], 8, (void *)fs_arg(st, s->at2));
	if (s->out && !r->ret)
		fs_found(r, fs_arg(st, s->out), s->out_how);
}

/* Whether the filter lets it through: by its files, or the directory of its path. */
static __always_inline bool fs_passes(struct rec_fs *r, struct task_state *st,
	struct task_struct *task, volatile const struct fs_shape *s)
{
	if (!filters())
		return true;
	if (file_passes(r->head.file, fs_file(st, task, s, r->ret), r->ret, r->dur_ns))
		return true;
	return r->file2 && s->fd2 && !s->path2 &&
	       file_passes(r->file2, st->row_file[1], r->ret, r->dur_ns);
}

static __noinline int fs_exit(struct task_state *st, s64 ret, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 zero = 0;
	struct fs_pad *p = bpf_map_lookup_elem(&fs_pads, &zero);

	if (!p || !st)
		return 0;
	volatile const struct fs_shape *s =
		&fs_shapes[st->abi & 1][st->nr & (SHAPES_MAX - 1)];
	if (!s->on)
		return 0;
	/* Memory of no file; where that could not be found out it is told. */
	if (s->form == FS_MAPPED && st->quiet)
		return 0;
	if (s->form == FS_MMAP && fs_arg(st, 4) & MAP_ANONYMOUS_BIT)
		return 0;
	fs_fill(&p->r, st, task, ret, now);
	p->r.head.row = s->row;
	fs_first(p, st, task, s);
	if (s->path2)
		fs_path2(p, st, task, s);
	else if (s->fd2)
		fs_second(&p->r, st, task, s);
	if (!fs_passes(&p->r, st, task, s))
		return 0;
	fs_pointers(&p->r, st, s);
	u64 len = (p->r.len & (2 * REC_PATH_MAX - 1)) + (p->r.len2 & (REC_PATH_MAX - 1));
	send(BPF_ROWS, p, sizeof(p->r) + len);
	return 0;
}

#endif
