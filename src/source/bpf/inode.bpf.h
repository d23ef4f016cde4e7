/*
 * inode.bpf.h - from pages of the page cache to the names of their files
 */
#ifndef IOPS_INODE_BPF_H
#define IOPS_INODE_BPF_H

#include "common.bpf.h"

enum { MAPPING_BITS = 3 /* of folio->mapping: anonymous memory and the like */ };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct address_space {
	struct inode *host;
};

struct page {
	unsigned long compound_head;
};

struct folio {
	struct address_space *mapping;
};

/* Before 6.18 mounts of a super block were a list_head. */
struct super_block___list {
	struct list_head s_mounts;
};

struct mount___list {
	struct list_head mnt_instance;
};

#pragma clang attribute pop

/* The inode whose cache a mapping is, or NULL: what only looks like one is none. */
static __always_inline struct inode *inode_of(struct address_space *mapping)
{
	if (!mapping || (u64)mapping & MAPPING_BITS)
		return NULL;
	struct inode *inode = BPF_CORE_READ(mapping, host);
	return inode && BPF_CORE_READ(inode, i_mapping) == mapping ? inode : NULL;
}

static __always_inline struct inode *inode_of_page(struct page *page)
{
	u64 head = BPF_CORE_READ(page, compound_head);
	struct folio *folio = head & 1 ? (void *)(head - 1) : (void *)page;

	return inode_of(BPF_CORE_READ(folio, mapping));
}

/* Whether all of a file system can be seen below a mount, and by programs. */
static __always_inline bool mount_suits(struct mount *m, struct dentry *root)
{
	s64 ns = (s64)BPF_CORE_READ(m, mnt_ns);

	return BPF_CORE_READ(m, mnt.mnt_root) == root && ns && (ns >= 0 || ns < -4095);
}

static __always_inline struct mount *mount_of(struct super_block *sb)
{
	struct dentry *root = BPF_CORE_READ(sb, s_root);
	struct mount *m = NULL;

	if (bpf_core_field_exists(m->mnt_next_for_sb)) {
		m = BPF_CORE_READ(sb, s_mounts);
		for (int i = 0; i < 8 && m; i++) {
			if (mount_suits(m, root))
				return m;
			m = BPF_CORE_READ(m, mnt_next_for_sb);
		}
		return NULL;
	}
	struct super_block___list *old = (void *)sb;
	struct list_head *at = BPF_CORE_READ(old, s_mounts.next);
	u32 back = bpf_core_field_offset(struct mount___list, mnt_instance);
	for (int i = 0; i < 8 && at; i++) {
		m = (void *)at - back;
		if (mount_suits(m, root))
			return m;
		at = BPF_CORE_READ(at, next);
	}
	return NULL;
}

/* The id of an inode's file, by the first of its names; 0 if it has none. */
static __noinline u32 name_inode(struct inode *inode)
{
	struct hlist_node *alias = BPF_CORE_READ(inode, i_dentry.first);

	if (!alias)
		return 0;
	struct mount *m = mount_of(BPF_CORE_READ(inode, i_sb));
	if (!m)
		return 0;
	struct dentry *d =
		(void *)alias - bpf_core_field_offset(struct dentry, d_u.d_alias);
	return name_of(d, (void *)m + bpf_core_field_offset(struct mount, mnt));
}

#endif
