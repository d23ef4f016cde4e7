/*
 * serves.c - what a process is asked for by others, and answers, or they wait for ever
 *
 * Memory that it brings itself, userfaultfd(2), and files that are opened only once it
 * allows that, fanotify(7). While it stands still, we must ask for neither.
 */
#include "tracer.h"
#include "iops/slurp.h"

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

/* "fanotify flags:5 event-flags:8000": /proc/PID/fdinfo. Where that is not told, it is.
 */
static bool is_asked(pid_t pid, const char *fd)
{
	char path[288], text[1024];
	unsigned flags;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, fd);
	const char *line = slurp(path, text, sizeof(text)) < 0
				   ? NULL
				   : strstr(text, "fanotify flags:");
	return !line || sscanf(line, "fanotify flags:%x", &flags) != 1 ||
	       flags & (FAN_CLASS_CONTENT | FAN_CLASS_PRE_CONTENT);
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
		t->allows_opens |= !strcmp(to, "anon_inode:[fanotify]") &&
				   is_asked(p->pid, e->d_name);
	}
	if (dir)
		closedir(dir);
}
