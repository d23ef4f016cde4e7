/*
 * readout.c - what /proc and /sys say, as JSON
 */
#include "system.h"
#include "iops/anon.h"
#include "iops/text.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

bool system_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 1;
	size_t n = 0;

	while (fd >= 0 && got > 0 && n < size - 1) {
		got = read(fd, buf + n, size - 1 - n);
		n += got > 0 ? got : 0;
	}
	if (fd >= 0)
		close(fd);
	while (n && (isspace((unsigned char)buf[n - 1]) || !buf[n - 1]))
		n--;
	buf[n] = 0;
	return n > 0;
}

double system_number(const char *path)
{
	char buf[64];

	return system_read(path, buf, sizeof(buf)) && isdigit((unsigned char)*buf)
		       ? strtod(buf, NULL)
		       : -1;
}

bool system_field(const char *text, const char *key, char sep, char *buf, size_t size)
{
	size_t len = strlen(key);

	*buf = 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *p = line + len;
		if (strncmp(line, key, len) != 0)
			continue;
		p += strspn(p, " \t");
		if (*p++ != sep)
			continue;
		p += strspn(p, " \t");
		snprintf(buf, size, "%.*s", (int)strcspn(p, "\n"), p);
		return *buf;
	}
	return false;
}

void system_text(cJSON *o, const char *key, const char *text)
{
	char *clean = *text ? text_clean(text) : NULL;

	if (clean)
		cJSON_AddStringToObject(o, key, clean);
	else
		cJSON_AddNullToObject(o, key);
	free(clean);
}

void system_count(cJSON *o, const char *key, double n)
{
	if (n >= 0)
		cJSON_AddNumberToObject(o, key, n);
	else
		cJSON_AddNullToObject(o, key);
}

void system_host(cJSON *o, const struct anon *a)
{
	struct utsname u;
	char hidden[ANON_MAX];

	uname(&u);
	system_text(o, "hostname", a ? anon_text(a, u.nodename, hidden) : u.nodename);
}
