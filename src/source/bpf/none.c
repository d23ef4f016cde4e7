/*
 * none.c - in place of the eBPF source, where it was built without libbpf or clang
 */
#include "iops/diag.h"
#include "iops/source.h"

#include <errno.h>
#include <stdio.h>

static int none_open(struct source **out, const struct source_args *args)
{
	(void)out;
	if (!args->quiet)
		diag("this iops was built without eBPF: libbpf, bpftool or clang was "
		     "missing");
	return -ENOSYS;
}

const struct source_ops source_bpf = {
	.name = "bpf",
	.help = "not built in",
	.open = none_open,
};

unsigned bpf_health(struct source_health *row)
{
	*row = (struct source_health){ .name = "bpf", .status = "no" };
	snprintf(row->reason, sizeof(row->reason),
		"this iops was built without it: libbpf, bpftool or clang was missing");
	snprintf(row->enable, sizeof(row->enable), "make deps && make");
	return 1;
}
