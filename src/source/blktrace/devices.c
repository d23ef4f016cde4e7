/*
 * devices.c - the block devices of this machine, by sysfs
 */
#include "devices.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

uint32_t devices_of(dev_t dev)
{
	return major(dev) << 20 | minor(dev);
}

int devices_node(char *out, size_t size, uint32_t dev)
{
	char at[64], link[PATH_MAX];

	snprintf(at, sizeof(at), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	ssize_t len = readlink(at, link, sizeof(link) - 1);
	link[len > 0 ? len : 0] = 0;
	const char *name = strrchr(link, '/');
	int n = name ? snprintf(out, size, "/dev/%s", name + 1) : 0;
	if (n <= 0 || (size_t)n >= size)
		return 0;
	/* sysfs(5) has no slash in a name: "cciss!c0d0". */
	for (char *c = out; *c; c++)
		if (*c == '!')
			*c = '/';
	return n;
}

bool devices_is_part(uint32_t dev)
{
	char at[64];

	snprintf(at, sizeof(at), "/sys/dev/block/%u:%u/partition", dev >> 20,
		dev & 0xfffff);
	return access(at, F_OK) == 0;
}

const char *devices_name(const char *node)
{
	return strncmp(node, "/dev/", 5) ? node : node + 5;
}

static unsigned long long read_number(const char *name, const char *what)
{
	char path[400];
	unsigned long long n = 0;

	snprintf(path, sizeof(path), "/sys/block/%s/%s", name, what);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

static uint32_t number_of(const char *name)
{
	char path[400];
	unsigned major = 0, minor = 0;

	snprintf(path, sizeof(path), "/sys/block/%s/dev", name);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%u:%u", &major, &minor) != 2)
		major = minor = 0;
	if (f)
		fclose(f);
	return major << 20 | minor;
}

unsigned devices_all(uint32_t *out, unsigned max, int empty)
{
	DIR *dir = opendir("/sys/block");
	struct dirent *d;
	unsigned n = 0;

	while (dir && n < max && (d = readdir(dir))) {
		uint32_t dev = *d->d_name == '.' ? 0 : number_of(d->d_name);
		/* Paths of a multipath device are hidden: they have no node. */
		if (dev && !read_number(d->d_name, "size") == !!empty &&
			!read_number(d->d_name, "hidden"))
			out[n++] = dev;
	}
	if (dir)
		closedir(dir);
	return n;
}
