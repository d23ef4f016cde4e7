/*
 * whose.c - which process a thread is of, as /proc has it soon after
 */
#include "whose.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 64, KNOWN = 1, WANTED = 2, SHIFT = 2 };

void whose_fini(struct whose *w)
{
	map_fini(&w->threads);
}

/* proc(5): which process a thread is of, and that one's parent. */
static bool look(pid_t tid, pid_t *tgid, pid_t *parent)
{
	char path[40], line[128];
	int got = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	FILE *f = fopen(path, "re");
	while (f && got < 2 && fgets(line, sizeof(line), f))
		got += sscanf(line, "Tgid: %d", tgid) == 1 ||
		       sscanf(line, "PPid: %d", parent) == 1;
	if (f)
		fclose(f);
	return got == 2;
}

static bool is_one(const struct whose *w, pid_t pid)
{
	for (unsigned i = 0; i < w->npids; i++)
		if (w->pids[i] == pid)
			return true;
	return false;
}

/* It is one of them, or comes from one. */
static bool is_wanted(const struct whose *w, pid_t pid, pid_t parent)
{
	bool wanted = !w->npids || is_one(w, pid);

	for (unsigned i = 0; i < DEPTH && !wanted && w->follow && parent > 1; i++) {
		/* Its parent may be gone, and what it was known for stays. */
		wanted = is_one(w, parent) || whose_get(w, parent).wanted;
		if (!look(parent, &pid, &parent))
			break;
	}
	return wanted;
}

void whose_seen(struct whose *w, pid_t tid, bool renewed)
{
	pid_t tgid = tid, parent = 0;

	if (tid <= 0 || (!renewed && map_get(&w->threads, tid, 1)))
		return;
	bool known = look(tid, &tgid, &parent);
	bool wanted = is_wanted(w, tgid, parent);
	/* Without memory it is a process of its own. */
	map_put(&w->threads, tid, 1,
		(uint64_t)tgid << SHIFT | (known ? KNOWN : 0) | (wanted ? WANTED : 0));
}

struct whose_is whose_get(const struct whose *w, pid_t tid)
{
	uint64_t v = tid > 0 ? map_get(&w->threads, tid, 1) : 0;

	if (!v)
		return (struct whose_is){ tid, tid <= 0, !w->npids };
	return (struct whose_is){ (pid_t)(v >> SHIFT), v & KNOWN, v & WANTED };
}
