/*
 * perf.h - programs at page faults that have been served: PAGE_FAULTS_MIN, _MAJ of
 * perf_event_open(2), on every CPU.
 */
#ifndef IOPS_BPF_PERF_H
#define IOPS_BPF_PERF_H

struct bpf_program;
struct perf_links;

/* 0; -ENOMEM; another one if it works on no CPU: then nothing is told of faults. */
int perf_attach(
	struct perf_links **out, struct bpf_program *minor, struct bpf_program *major);

/* NULL is no link. */
void perf_detach(struct perf_links *l);

#endif
