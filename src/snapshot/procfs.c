/*
 * procfs.c - stat, statm and cmdline of a process
 */
#include "procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COMM = 15 /* TASK_COMM_LEN of the kernel, without the end */ };

/* The bytes that were read, with a NUL behind, or -errno. */
static ssize_t read_file(int proc, int pid, const char *name, char *buf, size_t size)
{
	char path[32];
	size_t n = 0;
	ssize_t got = 1;

	snprintf(path, sizeof(path), "%d/%s", pid, name);
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (got > 0 && n < size - 1) {
		got = read(fd, buf + n, size - 1 - n);
		n += got > 0 ? got : 0;
	}
	int err = got < 0 ? -errno : 0;
	close(fd);
	buf[n] = 0;
	return err ? err : (ssize_t)n;
}

int procfs_stat(int proc, int pid, struct procfs_stat *out)
{
	char buf[1024];
	ssize_t n = read_file(proc, pid, "stat", buf, sizeof(buf));
	uint64_t user, kernel;

	if (n < 0)
		return n;
	/* A name may hold anything, also ") R 1". */
	char *name = strchr(buf, '('), *end = strrchr(buf, ')');
	if (!name || !end ||
		sscanf(end + 1,
			" %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64
			" %*s %*s %*s %*s %*s %*s %" SCNu64,
			&out->state, &user, &kernel, &out->start) != 4)
		return -EINVAL;
	out->pid = pid;
	out->used = user + kernel;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(end - name - 1), name + 1);
	return 0;
}

int procfs_memory(int proc, int pid, uint64_t *vms_kb, uint64_t *rss_kb)
{
	char buf[128];
	uint64_t page_kb = sysconf(_SC_PAGESIZE) / 1024;
	ssize_t n = read_file(proc, pid, "statm", buf, sizeof(buf));

	if (n < 0)
		return n;
	if (sscanf(buf, "%" SCNu64 " %" SCNu64, vms_kb, rss_kb) != 2)
		return -EINVAL;
	*vms_kb *= page_kb;
	*rss_kb *= page_kb;
	return 0;
}

int procfs_cmdline(int proc, int pid, char *text, size_t size, char name[PROCFS_NAME])
{
	ssize_t n = read_file(proc, pid, "cmdline", text, size);

	if (n < 0)
		return n;
	const char *slash = strrchr(text, '/'), *program = slash ? slash + 1 : text;
	if (strlen(name) == COMM && !strncmp(program, name, COMM))
		snprintf(name, PROCFS_NAME, "%s", program);

	bool cut = (size_t)n == size - 1;
	while (n && !text[n - 1])
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	if (cut)
		strcpy(text + size - 4, "...");
	return 0;
}

const char *procfs_state(char state)
{
	static const struct {
		char state;
		const char *word;
	} table[] = {
		{ 'R', "running" },
		{ 'S', "sleeping" },
		{ 'D', "disk-sleep" },
		{ 'T', "stopped" },
		{ 't', "tracing-stop" },
		{ 'Z', "zombie" },
		{ 'X', "dead" },
		{ 'x', "dead" },
		{ 'K', "wake-kill" },
		{ 'W', "waking" },
		{ 'I', "idle" },
		{ 'P', "parked" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].state == state)
			return table[i].word;
	return "unknown";
}
