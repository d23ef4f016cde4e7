/*
 * common.bpf.h - what all programs share: who is traced, the ring, the names of files
 */
#ifndef IOPS_COMMON_BPF_H
#define IOPS_COMMON_BPF_H

#include "kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "fs_records.h"
#include "records.h"

/*
 * Since 6.2: a number that is known to be a pointer, so that what it points to is read by
 * plain loads (which yield 0 where there is nothing) instead of calls; and without the
 * search through all names of the kernel, 0.1 ms each, that the verifier makes for loads
 * through pointers that it trusts.
 */
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

#define GET(p, member)                                                                   \
	({                                                                               \
		typeof((p)->member) got_;                                                \
		if (bpf_rdonly_cast)                                                     \
			got_ = ((typeof(p))bpf_rdonly_cast(                              \
					(p), bpf_core_type_id_kernel(typeof(*(p)))))     \
				       ->member;                                         \
		else                                                                     \
			got_ = BPF_CORE_READ(p, member);                                 \
		got_;                                                                    \
	})

/* For a whole program: an argument of it, read so from then on. */
#define PLAIN(p)                                                                         \
	(bpf_rdonly_cast ? (typeof(p))bpf_rdonly_cast(                                   \
				   (p), bpf_core_type_id_kernel(typeof(*(p))))           \
			 : (p))

char LICENSE[] SEC("license") = "GPL";

/* Instead of the id of a file: of no concern to the filter, by its name. */
enum { OUTSIDE = 0x7fffffff };

const volatile struct bpf_filter filter = {};
const volatile struct call_shape shapes[SHAPES_ABIS][SHAPES_MAX] = {};
const volatile struct fs_shape fs_shapes[SHAPES_ABIS][SHAPES_MAX] = {};

/* Of each layer: records that found no room. */
__u64 lost[NBPF_LAYERS];
/* Goes up with every rename and mount of anybody: names that were sent may be wrong. */
__u32 renames;
/* Ids given to files. */
__u32 files_named;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} ring SEC(".maps");

/*
 * Which name of which file is meant. Memory is used again: for the next file all
 * addresses may be those of one that is gone, and its number and the hash of its name may
 * be, too.
 */
struct named {
	struct dentry *dentry, *parent;
	struct vfsmount *mnt;
	struct inode *inode;
	u64 name; /* its hash and length; of names without a hash, how they begin, too */
	u64 ino, gone;
	u32 generation, renames;
	u32 id, pad; /* that it was given */
};

/* A task that is followed. */
struct task_state {
	u64 enter_ns;
	u64 arg[6];
	u32 nr;
	u8 abi, pending, fresh, traced;
	u8 done;  /* its account is closed: what it does from now on is not ours */
	u8 waits; /* the command before it is one: what it does counts for nothing */
	struct rec_ledger before;   /* what it did before it was met */
	u64 base_calls, base_bytes; /* where its account began */
	u64 mine;                   /* calls since */
	u32 told;                   /* records */
	/* Files of its calls before, by descriptor: most often those of the next ones. */
	struct {
		struct file *file;
		struct named of;
	} last[4];
	/*
	 * Of the call that is in flight: the files that its descriptors were when it
	 * began. While it waits another thread may make something else of them. It holds
	 * them until it returns, and what it lets go last goes after the programs have
	 * run.
	 */
	struct file *file[2];
	struct file *row_file[2]; /* likewise, for fs.bpf.h */
	/* Likewise. */
	u32 early, early_flags;
	u8 quiet;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

/* Processes that are to be followed from the start, by id; and all that are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, u8);
} members SEC(".maps");

/* Files that have been named. */
struct named_key {
	u64 dentry, mnt;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 131072);
	__type(key, struct named_key);
	__type(value, struct named);
} named SEC(".maps");

/*
 * Where a program builds what does not fit on its stack: one for names, which any program
 * may send, also in an interrupt of one that is at it (busy), one for calls.
 */
struct scratch {
	union {
		struct rec_file file;
		u8 bytes[sizeof(struct rec_file) + REC_FILE_MAX + 512];
	};
	struct dentry *dentry;
	struct mount *mount;
	u32 len, done, under, busy;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

struct call_scratch {
	union {
		struct rec_path path;
		struct rec_mmsg mmsg;
		u8 bytes[sizeof(struct rec_mmsg) + 512];
	};
	u64 at, n, sum; /* of loops over arrays of the program's memory */
	u32 narrow;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct call_scratch);
} call_scratches SEC(".maps");

static __always_inline struct call_scratch *call_scratch_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&call_scratches, &zero);
}

/* Wake the reader only when there is a lot: else it looks by itself, now and then. */
static __always_inline u64 wake(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= filter.wake
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

static __always_inline void lose(u32 layer)
{
	__sync_fetch_and_add(&lost[layer], 1);
}

static __always_inline void *take(u32 layer, u64 size)
{
	void *r = bpf_ringbuf_reserve(&ring, size, 0);

	if (!r)
		lose(layer);
	return r;
}

static __always_inline void give(void *r)
{
	bpf_ringbuf_submit(r, wake());
}

static __always_inline int send(u32 layer, void *data, u64 size)
{
	int err = bpf_ringbuf_output(&ring, data, size, wake());

	if (err)
		lose(layer);
	return err;
}

/*
 * The running task's. Ids come from a helper: each look through a pointer that the
 * verifier trusts costs it a search through all names of the kernel, 0.1 ms.
 */
static __always_inline void head_fill(struct rec *r, u8 type)
{
	u64 id = bpf_get_current_pid_tgid();

	r->type = type;
	r->abi = 0;
	r->row = 0;
	r->pid = id >> 32;
	r->tid = (u32)id;
	r->file = 0;
	r->at_ns = bpf_ktime_get_ns();
}

/* Whether what this task does is of concern: by process, command, user, cgroup. */
static __always_inline bool passes(struct task_struct *task)
{
	if (filter.uid_set && (u32)bpf_get_current_uid_gid() != filter.uid)
		return false;
	if (filter.cgroup && bpf_get_current_cgroup_id() != filter.cgroup)
		return false;
	if (filter.comm_len) {
		char comm[16] = {};
		bpf_get_current_comm(comm, sizeof(comm));
		for (int i = 0; i < 16; i++)
			if (i < filter.comm_len && comm[i] != filter.comm[i])
				return false;
	}
	return true;
}

static __always_inline bool filters(void)
{
	return filter.under_set || filter.dev_set || filter.min_bytes || filter.min_ns;
}

/* Whether an operation on a file is of concern: by place, device, size, time. */
static __always_inline bool file_passes(u32 id, struct file *file, s64 ret, u64 ns)
{
	if (id == OUTSIDE || (filter.under_set && !id))
		return false;
	if (filter.dev_set &&
		(!file || BPF_CORE_READ(file, f_inode, i_sb, s_dev) != filter.dev))
		return false;
	if (filter.min_bytes && (ret < 0 || (u64)ret < filter.min_bytes))
		return false;
	return !filter.min_ns || ns >= filter.min_ns;
}

/* iops, which would tell of its own telling. */
static __always_inline bool ourselves(u32 pid)
{
	return pid == filter.self || pid == filter.front;
}

/* The state of the running task, if it is followed. */
static __always_inline struct task_state *followed(struct task_struct *task)
{
	struct task_state *st;

	st = bpf_task_storage_get(
		&tasks, task, 0, filter.all ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!st || st->done)
		return NULL;
	if (!st->traced) {
		if (!filter.all || ourselves(bpf_get_current_pid_tgid() >> 32))
			return NULL;
		st->traced = 1;
		st->fresh = 1;
	}
	return st;
}

/* Likewise, if what it does now is of concern. */
static __always_inline struct task_state *traced(struct task_struct *task)
{
	struct task_state *st = followed(task);

	return st && passes(task) ? st : NULL;
}

/* For what another task or an interrupt does on its behalf. */
static __always_inline bool member(u32 pid)
{
	if (filter.all)
		return !ourselves(pid);
	return bpf_map_lookup_elem(&members, &pid) != NULL;
}

/*
 * One step of the walk from a file to the root: the name of a dentry, or over to the
 * mount point that its file system is mounted on. All state lies in the map: the
 * verifier follows each value on the stack, but none there.
 */
static long name_step(u32 i, void *arg)
{
	struct scratch *s = scratch_get();

	if (!s)
		return 1;
	struct dentry *d = s->dentry, *up = BPF_CORE_READ(d, d_parent);
	struct mount *m = s->mount;

	if (!d)
		return 1;
	if (filter.under_set && BPF_CORE_READ(d, d_inode, i_ino) == filter.under_ino &&
		BPF_CORE_READ(d, d_sb, s_dev) == filter.under_dev)
		s->under = 1;
	if (m && d == BPF_CORE_READ(m, mnt.mnt_root)) {
		struct mount *parent = BPF_CORE_READ(m, mnt_parent);
		if (parent == m) {
			s->done = 1;
			return 1;
		}
		s->dentry = BPF_CORE_READ(m, mnt_mountpoint);
		s->mount = parent;
		return 0;
	}
	if (!up || up == d) { /* pipes and the like hang nowhere */
		s->done = 2;
		if (i)
			return 1;
	}
	u32 at = s->len;
	if (at > REC_FILE_MAX - 256)
		return 1;
	long n = bpf_probe_read_kernel_str(s->file.name + (at & (REC_FILE_MAX - 1)), 256,
		BPF_CORE_READ(d, d_name.name));
	if (n > 0)
		s->len = at + n;
	s->dentry = up;
	return s->done == 2;
}

/* Unlinked: no name leads there any more. */
static __always_inline bool is_gone(struct dentry *dentry)
{
	return !BPF_CORE_READ(dentry, d_hash.pprev);
}

/* Send the name of what lies at dentry on mnt under a new id. Returns the id or 0. */
static __noinline u32 name_send(struct dentry *dentry, struct vfsmount *mnt)
{
	struct scratch *s = scratch_get();
	if (!s || !dentry || s->busy)
		return 0;
	s->busy = 1;
	struct inode *inode = BPF_CORE_READ(dentry, d_inode);
	u32 id = __sync_fetch_and_add(&files_named, 1) + 1;

	head_fill(&s->file.head, REC_FILE);
	s->file.head.file = id;
	s->file.inode = BPF_CORE_READ(inode, i_ino);
	s->file.size = BPF_CORE_READ(inode, i_size);
	s->file.dev = BPF_CORE_READ(dentry, d_sb, s_dev);
	s->file.rdev = BPF_CORE_READ(inode, i_rdev);
	s->file.magic = BPF_CORE_READ(dentry, d_sb, s_magic);
	s->file.mode = BPF_CORE_READ(inode, i_mode);
	s->file.gone = BPF_CORE_READ(dentry, d_parent) != dentry && is_gone(dentry);
	bpf_probe_read_kernel_str(s->file.fs, sizeof(s->file.fs),
		BPF_CORE_READ(dentry, d_sb, s_type, name));
	s->dentry = dentry;
	s->mount = NULL;
	s->file.mount = 0;
	if (mnt) {
		struct mount *m = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
		s->mount = m;
		s->file.mount = BPF_CORE_READ(m, mnt_id);
	}
	s->len = 0;
	s->done = 0;
	s->under = !filter.under_set;
	bpf_loop(512, name_step, NULL, 0);
	s->file.head.row = s->done;
	s->file.len = s->len;
	if (!s->under)
		id = OUTSIDE;
	else if (bpf_ringbuf_output(&ring, s,
			 sizeof(struct rec_file) + (s->len & (REC_FILE_MAX - 1)), wake()))
		id = 0; /* no operation is lost by that: the next one tries again */
	s->busy = 0;
	return id;
}

static __always_inline void identify(
	struct named *of, struct dentry *dentry, struct vfsmount *mnt)
{
	struct inode *inode = GET(dentry, d_inode);
	u64 begin = 0;

	of->dentry = dentry;
	of->parent = GET(dentry, d_parent);
	of->mnt = mnt;
	of->inode = inode;
	of->name = GET(dentry, d_name.hash_len);
	of->ino = GET(inode, i_ino);
	of->gone = !GET(dentry, d_hash.pprev);
	of->generation = GET(inode, i_generation);
	of->renames = renames;
	of->id = of->pad = 0;
	/* Those of files that lie nowhere have none, and some share one inode. */
	if (!GET(dentry, d_name.hash)) {
		bpf_probe_read_kernel(&begin, sizeof(begin), GET(dentry, d_name.name));
		of->name ^= begin;
	}
}

static __always_inline bool is_same(struct named *a, struct named *b)
{
	return a->dentry == b->dentry && a->inode == b->inode && a->name == b->name &&
	       a->ino == b->ino && a->generation == b->generation &&
	       a->renames == b->renames && a->gone == b->gone && a->parent == b->parent &&
	       a->mnt == b->mnt;
}

/* The id of a file by its name; the name is sent if it was not yet. */
static __noinline u32 name_as(struct named *of)
{
	struct named_key key = { (u64)of->dentry, (u64)of->mnt };
	struct named *n = bpf_map_lookup_elem(&named, &key);

	if (n && is_same(n, of))
		return n->id;
	of->id = name_send(of->dentry, of->mnt);
	if (of->id)
		bpf_map_update_elem(&named, &key, of, BPF_ANY);
	return of->id;
}

/* ... of what lies at dentry on mnt. */
static __always_inline u32 name_of(struct dentry *dentry, struct vfsmount *mnt)
{
	struct named of;

	identify(&of, dentry, mnt);
	return name_as(&of);
}

static __always_inline u32 name_file(struct file *file)
{
	return name_of(GET(file, f_path.dentry), GET(file, f_path.mnt));
}

/* The open file of a descriptor of a task, or NULL. */
static __always_inline struct file *file_of(struct task_struct *task, s32 fd)
{
	struct files_struct *files = GET(task, files);
	struct fdtable *fdt = GET(files, fdt);
	struct file *file = NULL, **table;

	if (fd < 0 || !fdt || (u32)fd >= GET(fdt, max_fds))
		return NULL;
	table = GET(fdt, fd);
	bpf_probe_read_kernel(&file, sizeof(file), table + fd);
	return file;
}

/* What an open file is like right now. */
struct looked {
	struct named of;
	s64 pos;
	u32 flags, mode;
};

static __always_inline void look(struct file *file, struct looked *v)
{
	identify(&v->of, GET(file, f_path.dentry), GET(file, f_path.mnt));
	v->pos = GET(file, f_pos);
	v->flags = GET(file, f_flags);
	v->mode = GET(file, f_mode);
}

/* The id of the file, by the memory of the task's calls before. */
static __always_inline u32 file_id(
	struct task_state *st, s32 fd, struct file *file, struct looked *v)
{
	u32 i = fd & 3;

	if (file == st->last[i].file && st->last[i].of.id &&
		is_same(&st->last[i].of, &v->of))
		return st->last[i].of.id;
	v->of.id = name_as(&v->of);
	st->last[i].file = file;
	st->last[i].of = v->of;
	return v->of.id;
}

#endif
