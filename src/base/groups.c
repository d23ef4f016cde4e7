/*
 * groups.c - names that people give to several processes
 */
#include "iops/groups.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int add_pids(struct groups *g, unsigned group, const char *list)
{
	char *end;

	for (;; list = end + 1) {
		if (*list < '0' || *list > '9')
			return -EINVAL;
		errno = 0;
		unsigned long pid = strtoul(list, &end, 10);
		if (errno || pid > INT_MAX || (*end && *end != ','))
			return -EINVAL;
		if (map_put(&g->pids, pid, 0, group + 1) < 0)
			return -ENOMEM;
		if (!*end)
			return 0;
	}
}

int groups_add(struct groups *g, const char *text)
{
	const char *colon = strchr(text, ':');

	if (!colon || colon == text)
		return -EINVAL;
	size_t size = colon - text;
	for (unsigned i = 0; i < g->n; i++)
		if (g->len[i] == size && !memcmp(g->name[i], text, size))
			return add_pids(g, i, colon + 1);
	const char **name = realloc(g->name, (g->n + 1) * sizeof(*name));
	if (!name)
		return -ENOMEM;
	g->name = name;
	size_t *len = realloc(g->len, (g->n + 1) * sizeof(*len));
	if (!len)
		return -ENOMEM;
	g->len = len;
	name[g->n] = text;
	len[g->n++] = size;
	return add_pids(g, g->n - 1, colon + 1);
}

void groups_fini(struct groups *g)
{
	free(g->name);
	free(g->len);
	map_fini(&g->pids);
	*g = (struct groups){ .n = 0 };
}

int groups_of(const struct groups *g, pid_t tid, pid_t pid)
{
	uintptr_t at = map_get(&g->pids, tid, 0);

	return (int)(at ? at : map_get(&g->pids, pid, 0)) - 1;
}
