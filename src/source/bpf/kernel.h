/*
 * kernel.h - of the kernel's own types, the members that our programs look at
 *
 * Names are the kernel's; offsets are looked up in its BTF when the programs are loaded
 * (CO-RE), so that neither the order nor what is left out matters.
 */
#ifndef IOPS_BPF_KERNEL_H
#define IOPS_BPF_KERNEL_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __s8 s8;
typedef __u8 u8;
typedef __s16 s16;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type_used {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2, BPF_F_NO_PREALLOC = 1 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

struct hlist_bl_node {
	struct hlist_bl_node *next, **pprev;
};

typedef struct {
	int counter;
} atomic_t;

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r10, r9, r8, ax, bx, cx, dx, si, di, bp, orig_ax, ip, sp;
};

struct thread_info {
	unsigned long flags;
	u32 status;
};
#else
struct user_pt_regs {
	__u64 regs[31], sp, pc, pstate;
};

struct pt_regs {
	struct user_pt_regs user_regs;
	u64 orig_x0;
	s32 syscallno;
};

struct thread_info {
	unsigned long flags;
};
#endif

struct qstr {
	union {
		struct {
			u32 hash, len;
		};
		u64 hash_len;
	};
	const unsigned char *name;
};

struct file_system_type {
	const char *name;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
	struct file_system_type *s_type;
	struct dentry *s_root;
	struct block_device *s_bdev;
	struct mount *s_mounts; /* since 6.18; see super_block___list */
};

typedef struct {
	unsigned int val;
} kuid_t;

struct inode {
	u16 i_mode;
	kuid_t i_uid;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	u32 i_generation;
	u32 i_rdev;
	s64 i_size;
	struct hlist_head i_dentry;
};

struct dentry {
	unsigned int d_flags;
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mount *mnt_next_for_sb;
	struct mnt_namespace *mnt_ns;
	int mnt_id;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	unsigned int f_mode, f_flags;
	struct inode *f_inode;
	struct address_space *f_mapping;
	struct path f_path;
	s64 f_pos;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fs_struct {
	struct path root, pwd;
};

struct task_io_accounting {
	u64 rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes;
};

struct signal_struct {
	atomic_t live;
	unsigned int flags;
	int group_exit_code;
};

struct mm_struct {
	unsigned long arg_start, arg_end;
	struct file *exe_file;
};

struct vm_area_struct {
	unsigned long vm_start, vm_pgoff;
	struct file *vm_file;
};

struct ns_common {
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	int exit_code;
	s32 pid, tgid;
	struct task_struct *real_parent, *group_leader;
	char comm[16];
	struct fs_struct *fs;
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct task_io_accounting ioac;
};

struct kernel_siginfo {
	int si_signo, si_errno, si_code;
	union {
		struct {
			s32 _pid;
		} _kill;
	} _sifields;
};

struct linux_binprm {
	struct file *file;
	const char *filename;
};

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id, seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
