/*
 * cpufiles.h - traces that are a file for each CPU: X.blktrace.0, X.blktrace.1, ...
 */
#ifndef IOPS_CPUFILES_H
#define IOPS_CPUFILES_H

#include <stdbool.h>

struct cpufiles {
	char **path; /* NULL-terminated, on the heap */
	unsigned n;
	unsigned missing; /* files of CPUs that are between others, said which */
};

/*
 * The words of a command line, with X, X.blktrace.N or a folder replaced by the files of
 * all CPUs, those that are not empty, each once; all other words as they are. 0 or
 * -ENOMEM.
 */
int cpufiles_find(struct cpufiles *f, char *const *word, unsigned n);
void cpufiles_fini(struct cpufiles *f);

/* Whether a file is one of these, by its name; and of the same folder as another one. */
bool cpufiles_is(const char *path);
bool cpufiles_together(const char *a, const char *b);

#endif
