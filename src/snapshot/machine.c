/*
 * machine.c - processors, memory, the system
 */
#include "system.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CPUS "/sys/devices/system/cpu/"

enum { TEXT = 256, FILE_MAX = 64 << 10 };

/* Machines other than PCs have the name of the board, or of who designed the core. */
static void brand(cJSON *o, const char *cpuinfo)
{
	static const char *const key[] = { "model name", "Processor", "cpu model",
		"cpu" };
	char text[TEXT], core[TEXT] = "", maker[TEXT];

	for (size_t i = 0; i < sizeof(key) / sizeof(*key); i++)
		if (system_field(cpuinfo, key[i], ':', text, sizeof(text))) {
			system_text(o, "brand", text);
			return;
		}
	if (!system_read("/proc/device-tree/model", text, sizeof(text)) &&
		system_field(cpuinfo, "CPU implementer", ':', maker, sizeof(maker)) &&
		system_field(cpuinfo, "CPU part", ':', core, sizeof(core)))
		snprintf(text, sizeof(text), "implementer %.60s part %.60s", maker, core);
	system_text(o, "brand", text);
}

/* Those that come first in the list of the threads of their core. */
static double cores(void)
{
	static const char *const list[] = { "core_cpus_list", "thread_siblings_list" };
	char path[128], text[TEXT];
	glob_t g;
	int n = 0;

	if (glob(CPUS "cpu[0-9]*", GLOB_NOSORT, NULL, &g) != 0)
		return -1;
	for (size_t i = 0; i < g.gl_pathc; i++)
		for (int k = 0; k < 2; k++) {
			snprintf(path, sizeof(path), "%s/topology/%s", g.gl_pathv[i],
				list[k]);
			if (!system_read(path, text, sizeof(text)))
				continue;
			n += atoi(text) == atoi(g.gl_pathv[i] + strlen(CPUS "cpu"));
			break;
		}
	globfree(&g);
	return n ? n : -1;
}

/* The mean of all files of that pattern, in MHz, or -1. */
static double mean_mhz(const char *pattern)
{
	double sum = 0, n = 0;
	glob_t g;

	if (glob(pattern, GLOB_NOSORT, NULL, &g) != 0)
		return -1;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		double khz = system_number(g.gl_pathv[i]);
		sum += khz > 0 ? khz : 0;
		n += khz > 0;
	}
	globfree(&g);
	return n ? sum / n / 1000 : -1;
}

cJSON *system_cpu(const struct anon *a)
{
	cJSON *o = cJSON_CreateObject();
	char *cpuinfo = malloc(FILE_MAX), text[TEXT] = "";
	double mhz = mean_mhz(CPUS "cpufreq/policy*/scaling_cur_freq");

	(void)a;
	if (cpuinfo) {
		system_read("/proc/cpuinfo", cpuinfo, FILE_MAX);
		brand(o, cpuinfo);
		if (mhz < 0 && system_field(cpuinfo, "cpu MHz", ':', text, sizeof(text)))
			mhz = strtod(text, NULL);
	}
	free(cpuinfo);
	system_count(o, "cores_logical", sysconf(_SC_NPROCESSORS_ONLN));
	system_count(o, "cores_physical", cores());
	system_count(o, "frequency_mhz", mhz);
	system_count(o, "frequency_min_mhz",
		mean_mhz(CPUS "cpufreq/policy*/cpuinfo_min_freq"));
	system_count(o, "frequency_max_mhz",
		mean_mhz(CPUS "cpufreq/policy*/cpuinfo_max_freq"));
	return o;
}

static double meminfo(const char *text, const char *key)
{
	char kb[64];

	return system_field(text, key, ':', kb, sizeof(kb)) ? strtod(kb, NULL) * 1024
							    : -1;
}

static double gib(double bytes)
{
	return bytes < 0 ? -1 : round(bytes / (1 << 30) * 100) / 100;
}

cJSON *system_memory(const struct anon *a)
{
	cJSON *o = cJSON_CreateObject();
	char text[FILE_MAX / 8];

	(void)a;
	system_read("/proc/meminfo", text, sizeof(text));
	double total = meminfo(text, "MemTotal");
	double available = meminfo(text, "MemAvailable");
	double swap = meminfo(text, "SwapTotal"), unused = meminfo(text, "SwapFree");
	bool known = total > 0 && available >= 0;
	system_count(o, "total_bytes", total);
	system_count(o, "available_bytes", available);
	system_count(o, "used_bytes", known ? total - available : -1);
	system_count(o, "percent_used",
		known ? round((total - available) / total * 1000) / 10 : -1);
	system_count(o, "total_gb", gib(total));
	system_count(o, "available_gb", gib(available));
	system_count(o, "swap_total_bytes", swap);
	system_count(o, "swap_used_bytes", swap < 0 ? -1 : swap - unused);
	system_count(o, "swap_free_bytes", unused);
	return o;
}

/* A value of os-release(5) may be in quotes. */
static void release(cJSON *o, const char *text, const char *key, const char *name)
{
	char value[TEXT];

	system_field(text, name, '=', value, sizeof(value));
	size_t len = strlen(value);
	bool quoted = len > 1 && strchr("\"'", *value) && value[len - 1] == *value;
	if (quoted)
		value[len - 1] = 0;
	system_text(o, key, value + quoted);
}

cJSON *system_os(const struct anon *a)
{
	cJSON *o = cJSON_CreateObject();
	char text[FILE_MAX / 8];
	struct utsname u;

	uname(&u);
	system_text(o, "system", u.sysname);
	system_text(o, "release", u.release);
	system_text(o, "version", u.version);
	system_text(o, "machine", u.machine);
	system_host(o, a);
	cJSON_AddNullToObject(o, "country"); /* the network is never asked for it */
	if (!system_read("/etc/os-release", text, sizeof(text)))
		system_read("/usr/lib/os-release", text, sizeof(text));
	cJSON *d = cJSON_AddObjectToObject(o, "distribution");
	release(d, text, "name", "NAME");
	release(d, text, "version", "VERSION_ID");
	release(d, text, "codename", "VERSION_CODENAME");
	return o;
}
