/*
 * health.c - whether eBPF works here: tried out, with every program that there is
 */
#include "bpf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Hooks into the kernel's functions: none is needed, some kernels refuse them. */
static const char *fentry(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "vfs_read", BTF_KIND_FUNC) : -1;
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		.attach_btf_id = id > 0 ? id : 0);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "GPL", code, 2, &opts);

	btf__free(btf);
	if (fd < 0)
		return "refused, not needed";
	close(fd);
	return "allowed, not needed";
}

static double ms_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - from->tv_sec) * 1e3 + (now.tv_nsec - from->tv_nsec) / 1e6;
}

unsigned bpf_health(struct source_health *row)
{
	struct bpf b = { .layers = (1u << NBPF_LAYERS) - 1 };
	struct timespec start;
	unsigned programs = 0;

	*row = (struct source_health){ .name = "bpf", .status = "works" };
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0) {
		row->status = "no";
		snprintf(row->reason, sizeof(row->reason),
			"the kernel does not tell its types (CONFIG_DEBUG_INFO_BTF)");
		snprintf(row->enable, sizeof(row->enable), "a kernel that does");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	int err = ebpf_load_try(&b, &programs);
	if (!err) {
		snprintf(row->reason, sizeof(row->reason),
			"calls, page cache, disks, network: %u programs on tracepoints "
			"with "
			"types (tp_btf), loaded in %.0f ms; missing here: %s; fentry: %s",
			programs, ms_since(&start), *b.missing ? b.missing : "none",
			fentry());
		return 1;
	}
	row->status = "no";
	if (err == -EPERM || err == -EACCES) {
		snprintf(row->reason, sizeof(row->reason),
			"it takes root, or CAP_BPF and CAP_PERFMON");
		snprintf(row->enable, sizeof(row->enable),
			"sudo iops ..., or setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep "
			"iops");
	} else {
		snprintf(row->reason, sizeof(row->reason),
			"the kernel refuses the programs: %s", strerror(-err));
		snprintf(row->enable, sizeof(row->enable), "a kernel since 5.15");
	}
	return 1;
}
