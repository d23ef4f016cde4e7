/*
 * serves.c - what a process is asked for by others, and answers, or they wait for ever
 *
 * Memory that it brings itself, userfaultfd(2), and files that are opened only once it
 * allows that, fanotify(7). While it stands still, we must ask for neither.
 */
#include "tracer.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

/* At the entry of a call. */
void serves_begin(struct tracer *t, struct task *k)
{
	const char *name = syscalls[k->call.row].name;

	if (!strcmp(name, "userfaultfd"))
		k->process->brings = true;
	else if (!strcmp(name, "fanotify_init") &&
		 k->call.arg[0] & (FAN_CLASS_CONTENT | FAN_CLASS_PRE_CONTENT))
		t->allows_opens = true;
}

/* Of a process that was attached to: by what it has open. */
void serves_already(struct tracer *t, struct process *p)
{
	char path[64], to[64];
	struct dirent *e;

	snprintf(path, sizeof(path), "/proc/%d/fd", p->pid);
	DIR *dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = 0;
		p->brings |= !strcmp(to, "anon_inode:[userfaultfd]");
		t->allows_opens |= !strcmp(to, "anon_inode:[fanotify]");
	}
	if (dir)
		closedir(dir);
}
