/*
 * fault.bpf.h - page faults of memory that is mapped from files, when they are over
 *
 * The kernel's software events PAGE_FAULTS_MIN and _MAJ tell of each fault that was
 * served, once however often it was tried, with its address. When it began, and whether
 * it was a write, is heard before, where the machine has tracepoints for that.
 */
#ifndef IOPS_FAULT_BPF_H
#define IOPS_FAULT_BPF_H

#include "cache.bpf.h"

enum { FAULT_CODE_WRITE = 2, FAULT_CODE_PRESENT = 1 };

/* linux/bpf_perf_event.h: registers, as user space knows them, come first. */
struct fault_data {
#if defined(__TARGET_ARCH_x86)
	u64 regs[21];
#else
	u64 regs[34];
#endif
	u64 sample_period, addr;
};

struct fault_found {
	u64 address, offset;
	struct file *file;
};

static __always_inline int fault_begin(u64 address, u64 code)
{
	struct cache_task *ct = cache_of(bpf_get_current_task_btf());

	if (!ct)
		return 0;
	if (ct->fault.open)
		mapped_end(ct);
	ct->fault.at_ns = bpf_ktime_get_ns();
	ct->fault.address = address;
	ct->fault.timed = 1;
	ct->fault.known = 1;
	ct->fault.write = code & FAULT_CODE_WRITE ? 1 : 0;
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(fault_user, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	return fault_begin(address, code);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(
	fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	return fault_begin(address, code);
}

static long fault_find(
	struct task_struct *task, struct vm_area_struct *vma, struct fault_found *out)
{
	out->file = vma->vm_file;
	out->offset = (out->address - vma->vm_start) + (vma->vm_pgoff << page_shift);
	return 0;
}

static __always_inline void fault_tell(struct cache_task *ct, struct task_struct *task,
	struct fault_found *at, u32 major, u64 now)
{
	struct file *mapped = at->file; /* else the kernel would be asked for at, too */
	struct inode *inode = GET(mapped, f_inode);
	u32 file = name_file(mapped), dev = dev_of(inode);
	struct cache_fault *f = &ct->fault;
	bool timed = f->timed && f->address >> page_shift == at->address >> page_shift;

	if (!cache_passes(file, dev) ||
		(filter.min_ns && (!timed || now - f->at_ns < filter.min_ns)))
		return;
	struct rec_fault *r = take(BPF_FAULT, sizeof(*r));
	if (!r)
		return;
	r->head.type = REC_FAULT;
	r->head.abi = 0;
	r->head.row = (major ? FAULT_MAJOR : 0) |
		      (timed ? FAULT_TIMED | FAULT_KNOWN : 0) |
		      (timed && f->write ? FAULT_WRITE : 0);
	r->head.pid = bpf_get_current_pid_tgid() >> 32;
	r->head.tid = (u32)bpf_get_current_pid_tgid();
	r->head.file = file;
	r->head.at_ns = timed ? f->at_ns : now;
	r->dur_ns = timed ? now - f->at_ns : 0;
	r->inode = GET(inode, i_ino);
	r->address = at->address;
	r->offset = at->offset;
	r->dev = dev;
	r->cpu = bpf_get_smp_processor_id();
	comm_of(r->comm, task);
	give(r);
}

/* The mapped file has a name that is better than any of its inode. */
static __always_inline void name_mapped(struct cache_task *ct, struct file *file)
{
	struct inode *inode = GET(file, f_inode);

	if ((u64)GET(file, f_mapping) != ct->fault.mapping)
		return;
	if (!is_named(ct, ct->fault.mapping, inode) || ct->name.alias)
		name_set(ct, ct->fault.mapping, inode, file);
}

static __always_inline int fault_done(struct fault_data *ctx, u32 major)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cache_task *ct = cache_of(task);
	struct fault_found at = { .address = ctx->addr };
	u64 now = bpf_ktime_get_ns();

	if (!ct)
		return 0;
	struct cache_fault *f = &ct->fault;
	bool wanted = filter.layers & 1 << BPF_FAULT;
	if (wanted || f->open) {
		long err = bpf_find_vma(task, at.address, fault_find, &at, 0);
		if (err == -16 && wanted && f->open) /* EBUSY: the map is being changed */
			lose(BPF_FAULT);
	}
	if (f->open && !f->exact && at.file) {
		f->exact = 1;
		f->index = at.offset >> page_shift;
	}
	if (f->open) {
		if (at.file)
			name_mapped(ct, at.file);
		mapped_end(ct);
	}
	if (wanted && at.file)
		fault_tell(ct, task, &at, major, now);
	f->timed = 0;
	return 0;
}

SEC("perf_event")
int mapped_minor(struct fault_data *ctx)
{
	return fault_done(ctx, 0);
}

SEC("perf_event")
int mapped_major(struct fault_data *ctx)
{
	return fault_done(ctx, 1);
}

#endif
