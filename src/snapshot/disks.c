/*
 * disks.c - drives, what is mounted from them, graphics cards
 */
#include "system.h"
#include "iops/anon.h"

#include <ctype.h>
#include <dirent.h>
#include <glob.h>
#include <math.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { TEXT = 256, SECTOR = 512 /* of /sys/block, whatever the drive has */ };

static cJSON *drives(void)
{
	cJSON *list = cJSON_CreateArray();
	DIR *dir = opendir("/sys/block");
	char path[TEXT + 64], model[TEXT];

	for (struct dirent *d; dir && (d = readdir(dir));) {
		snprintf(path, sizeof(path), "/sys/block/%s/size", d->d_name);
		double size = system_number(path);
		if (size <= 0)
			continue; /* loop devices and card readers with nothing in them */
		snprintf(path, sizeof(path), "/sys/block/%s/device/model", d->d_name);
		system_read(path, model, sizeof(model));
		snprintf(path, sizeof(path), "/sys/block/%s/queue/rotational", d->d_name);
		double turns = system_number(path);
		cJSON *o = cJSON_CreateObject();
		system_text(o, "name", d->d_name);
		system_text(o, "model", model);
		system_count(o, "size_bytes", size * SECTOR);
		if (turns >= 0)
			cJSON_AddBoolToObject(o, "rotational", turns > 0);
		cJSON_AddItemToArray(list, o);
	}
	if (dir)
		closedir(dir);
	return list;
}

/* /proc/filesystems has "nodev" before the tab of those that need no device. */
static bool on_device(const char *filesystems, const char *type)
{
	char line[TEXT];
	size_t len = snprintf(line, sizeof(line), "\t%s", type);

	for (const char *p = filesystems; (p = strstr(p, line)); p += len)
		if ((p == filesystems || p[-1] == '\n') && (!p[len] || p[len] == '\n'))
			return true;
	return false;
}

/* Without the values, which may name anything. */
static void put_options(cJSON *o, const struct anon *a, const char *text)
{
	char *copy = strdup(text), *to = copy;

	for (const char *p = text; copy && a && *p; p++) {
		if (*p == '=')
			p += strcspn(p, ",");
		if (!*p)
			break;
		*to++ = *p;
	}
	if (copy && a)
		*to = 0;
	system_text(o, "opts", copy ? copy : "");
	free(copy);
}

static void put_usage(cJSON *o, const char *mountpoint)
{
	struct statvfs v;
	bool known = statvfs(mountpoint, &v) == 0;
	double unit = known ? v.f_frsize : 0,
	       used = known ? unit * (v.f_blocks - v.f_bfree) : -1,
	       unused = known ? unit * v.f_bavail : -1, all = used + unused;

	system_count(o, "total_bytes", known ? unit * v.f_blocks : -1);
	system_count(o, "used_bytes", used);
	system_count(o, "free_bytes", unused);
	system_count(o, "percent_used", all > 0 ? round(used / all * 1000) / 10 : all);
}

/* A device that the kernel has named tells nothing; one of a volume manager may. */
static const char *hide_device(const struct anon *a, const char *name, char *hidden)
{
	char path[TEXT];
	const char *slash = strrchr(name, '/');

	snprintf(path, sizeof(path), "/sys/class/block/%s", slash ? slash + 1 : name);
	bool kernel = !strncmp(name, "/dev/", 5) && slash == name + 4;
	return kernel && access(path, F_OK) == 0 ? name : anon_path(a, name, hidden);
}

static cJSON *partitions(const struct anon *a)
{
	cJSON *list = cJSON_CreateArray();
	FILE *f = setmntent("/proc/self/mounts", "re");
	char known[8192], hidden[ANON_MAX], buf[8192];
	struct mntent m;

	system_read("/proc/filesystems", known, sizeof(known));
	while (f && getmntent_r(f, &m, buf, sizeof(buf))) {
		if (!on_device(known, m.mnt_type))
			continue;
		cJSON *o = cJSON_CreateObject();
		system_text(o, "device",
			a ? hide_device(a, m.mnt_fsname, hidden) : m.mnt_fsname);
		system_text(
			o, "mountpoint", a ? anon_path(a, m.mnt_dir, hidden) : m.mnt_dir);
		system_text(o, "fstype", m.mnt_type);
		put_options(o, a, m.mnt_opts);
		put_usage(o, m.mnt_dir);
		cJSON_AddItemToArray(list, o);
	}
	if (f)
		endmntent(f);
	return list;
}

static void add_text(cJSON *list, const char *text)
{
	cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

/* By the model that their driver tells, or "VENDOR:DEVICE (DRIVER)". */
static cJSON *cards(void)
{
	cJSON *list = cJSON_CreateArray();
	char text[4096], path[TEXT + 64], model[TEXT], vendor[32], device[32], link[TEXT];
	glob_t g = { 0 };
	bool nvidia = false;

	glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		system_read(g.gl_pathv[i], text, sizeof(text));
		if (system_field(text, "Model", ':', model, sizeof(model))) {
			add_text(list, model);
			nvidia = true;
		}
	}
	globfree(&g);
	glob("/sys/class/drm/card[0-9]*", 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		/* card0-HDMI-A-1 is where a screen goes. */
		if (strchr(g.gl_pathv[i], '-'))
			continue;
		snprintf(path, sizeof(path), "%s/device/vendor", g.gl_pathv[i]);
		system_read(path, vendor, sizeof(vendor));
		snprintf(path, sizeof(path), "%s/device/device", g.gl_pathv[i]);
		system_read(path, device, sizeof(device));
		snprintf(path, sizeof(path), "%s/device/driver", g.gl_pathv[i]);
		ssize_t n = readlink(path, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = 0;
		const char *slash = strrchr(link, '/'),
			   *driver = slash ? slash + 1 : link;
		if (nvidia && !strcmp(driver, "nvidia"))
			continue;
		snprintf(text, sizeof(text), "%s:%s (%s)", vendor, device, driver);
		add_text(list, text);
	}
	globfree(&g);
	return list;
}

cJSON *system_disk(const struct anon *a)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddItemToObject(o, "storage_devices", drives());
	cJSON_AddItemToObject(o, "partitions", partitions(a));
	cJSON_AddItemToObject(o, "gpus", cards());
	return o;
}
