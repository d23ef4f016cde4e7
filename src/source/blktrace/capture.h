/*
 * capture.h - tracing of one block device by the kernel: ioctls and files of debugfs.
 */
#ifndef IOPS_BLKTRACE_CAPTURE_H
#define IOPS_BLKTRACE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A trace outlives the process that began it. So a file tells later ones whose it is: as
 * long as its lock is held somebody's, then what a killed iops has left behind.
 */
struct capture {
	uint32_t dev; /* as records have it: major << 20 | minor */
	char node[80], dir[160];
	int fd, claim; /* of the node; of that file, -1: there is none */
	int *cpu;      /* its records by CPU, -1: there are none */
	unsigned ncpus;
	bool is_set_up, runs, is_part;
};

/* CPUs that this machine can have. */
unsigned capture_cpus(void);

/*
 * Where debugfs is, with the folder of block devices; 0. Else -errno: -ENOENT, it is not
 * mounted; -EACCES, one is not allowed to look. And what to say of that.
 */
int capture_debugfs(char *dir, size_t size);
const char *capture_cannot(int err);

/* Nothing is traced yet. 0, or -errno, said why if loud: -ENODEV, there is no device. */
int capture_open(struct capture *c, uint32_t dev, bool loud);

/* With so many bytes for each CPU; it does not run yet. 0, or -errno, said why if loud.
 */
int capture_setup(struct capture *c, uint64_t buffer, bool loud);

int capture_start(struct capture *c);

/* CPUs that have come since. 0, or -errno, said why if loud. */
int capture_look(struct capture *c, bool loud);

/* What is there by now of a CPU; 0: nothing. To be called on that CPU. -errno. */
ssize_t capture_read(const struct capture *c, unsigned cpu, void *buf, size_t size);

/* No more events; what there are can still be read. */
void capture_stop(struct capture *c);

/* Events that found no room so far. */
uint64_t capture_dropped(const struct capture *c);

/* The device is as it was before. */
void capture_close(struct capture *c);

#endif
