/*
 * runs.c - what several runs have in common
 */
#include "iops/replay.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct member {
	size_t at, size;
};

#define MEMBER(m)                                                                        \
	{                                                                                \
		offsetof(struct run, m), sizeof(((struct run *)0)->m)                    \
	}
static const struct member texts[] = { MEMBER(boot_id), MEMBER(host), MEMBER(kernel),
	MEMBER(backend), MEMBER(why), MEMBER(no_patch) };

/* The words that are the same in all of them; "several" where they differ. */
static void join_texts(struct run *all, const struct run *runs, unsigned n)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *first = (const char *)&runs[0] + texts[i].at;
		bool same = true;
		for (unsigned k = 1; k < n; k++)
			same &= !strcmp(first, (const char *)&runs[k] + texts[i].at);
		snprintf((char *)all + texts[i].at, texts[i].size, "%s",
			same ? first : "several");
	}
}

void runs_join(struct run *all, const struct run *runs, unsigned n)
{
	*all = (struct run){ .complete = true, .verifies = true };
	memcpy(all->id, runs[0].id, sizeof(all->id));
	join_texts(all, runs, n);
	for (unsigned i = 0; i < n; i++) {
		all->complete &= runs[i].complete;
		all->verifies &= runs[i].verifies;
		all->counters_only |= runs[i].counters_only;
		all->machine_wide |= runs[i].machine_wide;
		all->imported |= runs[i].imported;
		all->damaged |= runs[i].damaged;
		all->filtered |= runs[i].filtered;
		all->snapshot |= runs[i].snapshot;
		all->patches |= runs[i].patches;
	}
	if (all->patches)
		*all->no_patch = 0;
	all->part = runs;
	all->nparts = n;
	snprintf(all->title, sizeof(all->title), "%u runs", n);
}
