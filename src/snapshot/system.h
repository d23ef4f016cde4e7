/*
 * system.h - the machine, a JSON object for each side of it.
 */
#ifndef IOPS_SNAPSHOT_SYSTEM_H
#define IOPS_SNAPSHOT_SYSTEM_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct anon;

/* What was asked for is on the heap; NULL: no memory. a: names go through it, or NULL. */
cJSON *system_cpu(const struct anon *a);
cJSON *system_memory(const struct anon *a);
cJSON *system_disk(const struct anon *a);
cJSON *system_network(const struct anon *a);
cJSON *system_os(const struct anon *a);

/* The text of a file of /proc or /sys without the white space at its end, NUL-terminated;
 * false, and "", if there is none. */
bool system_read(const char *path, char *buf, size_t size);

/* The number that the file begins with, or -1. */
double system_number(const char *path);

/* The value behind "KEY SEP" of a text in lines; false, and "", if there is none. */
bool system_field(const char *text, const char *key, char sep, char *buf, size_t size);

/* A string, or null for ""; bytes that are not UTF-8 are replaced. */
void system_text(cJSON *o, const char *key, const char *text);

/* A number, or null if it is below 0. */
void system_count(cJSON *o, const char *key, double n);

/* The host's name. */
void system_host(cJSON *o, const struct anon *a);

#endif
