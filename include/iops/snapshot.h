/*
 * snapshot.h - what stood around while a trace was made: the files, the processes, the
 * machine. Nothing is run and nothing is asked of the network.
 *
 *   stream filesystem_snapshot   every regular file and symbolic link; after the first
 *                                scan what has changed, with size -1 what is gone
 *   stream process               every process
 *   DIR/system_spec/NAME.json    cpu_info memory_info disk_info network_info os_info
 *
 * Files and processes are read by threads that block all signals; rows are written by
 * the thread that calls, so that it never waits for a disk or a stuck process.
 */
#ifndef IOPS_SNAPSHOT_H
#define IOPS_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

struct anon;
struct snapshots;
struct streams;

enum { SNAPSHOT_FS = 1, SNAPSHOT_PROCESS = 2, SNAPSHOT_SYSTEM = 4 };

struct snapshot_args {
	unsigned what;             /* SNAPSHOT_* */
	struct streams *streams;   /* borrowed; closed after snapshots_close() */
	const char *dir;           /* where system_spec goes */
	struct anon *anon;         /* for system_spec; NULL: as it is. Borrowed */
	const char *const *roots;  /* of the file system scan; borrowed while it opens */
	size_t nroots;             /* 0: "/" */
	uint64_t fs_every_ns;      /* 0: an hour */
	uint64_t process_every_ns; /* 0: 300 s */
};

/*
 * Add the streams, write system_spec. Says what is wrong. 0 or -errno.
 */
int snapshots_open(struct snapshots **out, const struct snapshot_args *args);

/*
 * Every second: begin what is due, the first time all, and write rows for 20 ms at most.
 * 0, or the -errno of what failed since the last call, which was said; it goes on all the
 * same, but files are not scanned again after a scan that failed.
 */
int snapshots_tick(struct snapshots *s, uint64_t mono_ns);

/* Give up the scans in progress. For a signal handler, when closing takes too long. */
void snapshots_hurry(struct snapshots *s);

/* Finish what is in progress, and the first snapshots in any case; free. 0 or -errno. */
int snapshots_close(struct snapshots *s);

#endif
