/*
 * devices.h - the block devices of this machine.
 */
#ifndef IOPS_BLKTRACE_DEVICES_H
#define IOPS_BLKTRACE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As records have it: major << 20 | minor. */
uint32_t devices_of(dev_t dev);

/* Its node, "/dev/sda". The length; 0: there is no such device. */
int devices_node(char *out, size_t size, uint32_t dev);

/* Whether it is a partition of another one. */
bool devices_is_part(uint32_t dev);

/* What debugfs calls it. */
const char *devices_name(const char *node);

/* All whole ones; those without a size only if empty. How many, at most max. */
unsigned devices_all(uint32_t *out, unsigned max, int empty);

#endif
