/*
 * perf.c - programs at the kernel's software events, which skeletons do not attach
 */
#include "perf.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct perf_links {
	size_t n;
	struct bpf_link *link[];
};

/* At each event of one CPU. */
static struct bpf_link *attach(struct bpf_program *p, unsigned event, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = event,
		.sample_period = 1,
	};
	int fd = (int)syscall(
		SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return NULL;
	struct bpf_link *link = bpf_program__attach_perf_event(p, fd);
	if (!link)
		close(fd);
	return link;
}

int perf_attach(
	struct perf_links **out, struct bpf_program *minor, struct bpf_program *major)
{
	int cpus = libbpf_num_possible_cpus();
	struct perf_links *l = calloc(
		1, sizeof(*l) + 2 * (size_t)(cpus > 0 ? cpus : 0) * sizeof(*l->link));

	if (!l)
		return -ENOMEM;
	for (int cpu = 0; cpu < cpus; cpu++) {
		struct bpf_link *a = attach(minor, PERF_COUNT_SW_PAGE_FAULTS_MIN, cpu);
		struct bpf_link *c = attach(major, PERF_COUNT_SW_PAGE_FAULTS_MAJ, cpu);
		if (a)
			l->link[l->n++] = a;
		if (c)
			l->link[l->n++] = c;
	}
	*out = l;
	return l->n ? 0 : -EOPNOTSUPP;
}

void perf_detach(struct perf_links *l)
{
	for (size_t i = 0; l && i < l->n; i++)
		bpf_link__destroy(l->link[i]);
	free(l);
}
