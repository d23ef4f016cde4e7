/*
 * system.c - the files of DIR/system_spec
 */
#include "system.h"
#include "parts.h"
#include "iops/diag.h"
#include "iops/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
	const char *name;
	cJSON *(*get)(const struct anon *a);
} part[] = {
	{ "cpu_info", system_cpu },
	{ "memory_info", system_memory },
	{ "disk_info", system_disk },
	{ "network_info", system_network },
	{ "os_info", system_os },
};

static int write_part(const char *dir, const char *name, cJSON *o)
{
	char *path = NULL, *text = cJSON_Print(o);
	FILE *f = NULL;
	int err = text && asprintf(&path, "%s/%s.json", dir, name) >= 0 ? 0 : -ENOMEM;

	if (err < 0) {
		free(text);
		return diag_err(err, "%s/%s.json", dir, name);
	}
	f = fopen(path, "we");
	if (!f || fprintf(f, "%s\n", text) < 0)
		err = -errno;
	if (f && fclose(f) && !err)
		err = -errno;
	if (err < 0)
		diag_err(err, "%s", path);
	cJSON_free(text);
	free(path);
	return err;
}

int system_write(const struct snapshot_args *args)
{
	char *dir;
	int err = 0;

	if (asprintf(&dir, "%s/system_spec", args->dir) < 0)
		return -ENOMEM;
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		err = diag_err(errno, "%s", dir);
	for (size_t i = 0; i < sizeof(part) / sizeof(*part) && !err; i++) {
		cJSON *o = part[i].get(args->anon);
		err = write_part(dir, part[i].name, o);
		cJSON_Delete(o);
	}
	free(dir);
	return err;
}
