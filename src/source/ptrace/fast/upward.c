/*
 * upward.c - what ".." takes off a path
 *
 * By the text, as the kernel has done: later there may be something else.
 */
#include "../tracer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { WHOLE = 2 * PATH_MAX };

/*
 * Upwards, from where a path starts: that is no link, so its text tells, whatever it is
 * renamed to later, and even if it is deleted. From its root a task comes no higher.
 */
static uint32_t climb(struct tracer *t, struct task *k, uint32_t from, const char **path)
{
	uint32_t root = root_of(t, k);

	while (!strncmp(*path, "..", 2) && (!(*path)[2] || (*path)[2] == '/')) {
		const char *text = names_get(t->names, from);
		const char *last = strrchr(text, '/');
		if (*text != '/')
			break;
		if (from != root)
			from = names_add(t->names, text, last > text ? last - text : 1);
		for (*path += 2; **path == '/';)
			++*path;
	}
	return from;
}

/* A path that begins with a link, of n bytes: with what that leads to in its place. */
static bool past_link(
	struct tracer *t, struct task *k, char path[WHOLE], size_t n, const char *rest)
{
	char to[PATH_MAX], all[WHOLE];
	const char *root = names_get(t->names, root_of(t, k));

	path[n] = 0;
	ssize_t len = root_link(t, k, path, to, sizeof(to) - 1);
	if (len <= 0 || !strncmp(to, "/proc/", 6))
		return false;
	to[len] = 0;
	int dir = *to == '/' ? 0 : (int)(strrchr(path, '/') - path) + 1;
	int size = snprintf(all, sizeof(all), "%.*s%s%s", dir ? dir : (int)strlen(root),
		dir ? path : root, to, rest);
	if (size >= (int)sizeof(all))
		return false;
	memcpy(path, all, (size_t)size + 1);
	return true;
}

/*
 * A whole path without "..", which takes off what is before it. What is no link there
 * now was none: it has been renamed since, or what was meant is lost. false: not known.
 */
static bool take_off(struct tracer *t, struct task *k, char path[WHOLE])
{
	enum { LINKS = 16 };
	size_t root = strlen(names_get(t->names, root_of(t, k))), n = 0;
	char out[WHOLE] = "";
	struct stat st;
	int links = 0;

	for (const char *at = path; *at;) {
		size_t len = strspn(at, "/"), part = strcspn(at + len, "/");
		bool up = part == 2 && !strncmp(at + len, "..", 2);
		bool dot = part == 1 && at[len] == '.' && at[len + 1];
		if (up && n && !root_look(t, k, out, &st) && S_ISLNK(st.st_mode)) {
			char rest[WHOLE];
			snprintf(rest, sizeof(rest), "%s", at);
			memcpy(path, out, n);
			if (++links > LINKS || !past_link(t, k, path, n, rest))
				return false;
			at = path;
			n = 0;
			continue;
		}
		if (up && n && (n > root || root == 1))
			n = (size_t)(strrchr(out, '/') - out);
		len += part;
		if (!up && !dot) {
			memcpy(out + n, at, len);
			n += len;
		}
		out[n] = 0;
		at += len;
	}
	memcpy(path, out, n + 1);
	return n;
}

/* A path from there, by name; 0: the root. Text alone cannot take ".." off where links
 * are. 0: unknown. */
uint32_t path_from(struct tracer *t, struct task *k, uint32_t from, const char *path)
{
	char whole[WHOLE], plain[WHOLE];

	while (from && *path == '/')
		path++;
	if (from)
		from = climb(t, k, from, &path);
	if (!strstr(path, ".."))
		return path_below(t, from, path);
	int n = snprintf(whole, sizeof(whole), "%s/%s",
		from ? names_get(t->names, from) : "", path);
	if (n >= (int)sizeof(whole))
		return 0;
	memcpy(plain, whole, (size_t)n + 1);
	return *plain == '/' && take_off(t, k, plain) ? path_below(t, 0, plain)
						      : names_add(t->names, whole, n);
}
