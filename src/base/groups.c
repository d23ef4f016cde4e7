/*
 * groups.c - processes under a common name
 */
#include "iops/groups.h"
#include "iops/diag.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int group_of_name(struct groups *g, const char *name, size_t len)
{
	for (unsigned i = 0; i < g->n; i++)
		if (strlen(g->name[i]) == len && !memcmp(g->name[i], name, len))
			return (int)i;
	char **more = reallocarray(g->name, g->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	g->name = more;
	more[g->n] = strndup(name, len);
	return more[g->n] ? (int)g->n++ : -ENOMEM;
}

/* strtoul(3) takes blanks and signs as well. */
static int add_pids(struct groups *g, int group, const char *list)
{
	for (;; list++) {
		char *end;
		errno = 0;
		unsigned long pid = strtoul(list, &end, 10);
		if (!isdigit((unsigned char)*list) || errno || pid > UINT32_MAX ||
			(*end && *end != ','))
			return -EINVAL;
		if (map_put(&g->pids, pid, 0, group + 1) < 0)
			return -ENOMEM;
		list = end;
		if (!*end)
			return 0;
	}
}

int groups_add(struct groups *g, const char *text)
{
	const char *colon = strchr(text, ':');
	int err = -EINVAL;

	if (colon && colon > text) {
		int group = group_of_name(g, text, colon - text);
		err = group < 0 ? group : add_pids(g, group, colon + 1);
	}
	if (err == -EINVAL)
		diag("--group %s: not NAME:PID[,PID...], as db:412,415", text);
	else if (err < 0)
		diag_err(err, "--group %s", text);
	return err;
}

void groups_fini(struct groups *g)
{
	for (unsigned i = 0; i < g->n; i++)
		free(g->name[i]);
	free(g->name);
	map_fini(&g->pids);
	*g = (struct groups){ 0 };
}

int groups_of(const struct groups *g, uint32_t pid)
{
	return (int)map_get(&g->pids, pid, 0) - 1;
}
