/*
 * source.h - where operations come from: a live tracer, counters, an importer, a log.
 */
#ifndef IOPS_SOURCE_H
#define IOPS_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct input;
struct launch;
struct mount_options;
struct names;
struct run;
struct sink;
struct source;
struct streams;
struct trace_options;
struct syscall_set;

struct source_args {
	struct names *names;
	const struct syscall_set *want;
	bool want_given;   /* by the user; else rows of streams are of all calls */
	uint64_t epoch_ns; /* CLOCK_MONOTONIC when the session began */
	pid_t *pids; /* processes to attach to; 0 from then on: one that it cannot ... */
	unsigned npids;
	struct launch *launch; /* ... or the command that waits to be let go; else NULL */
	struct foresight *foresight; /* of source_ptrace, which ends it; or NULL */
	bool follow;                 /* children of them too */
	bool wait;            /* until the last of them has ended, not only the command */
	const char *command;  /* its name, as execvp(3) takes it */
	bool filter;          /* a seccomp filter may be used */
	unsigned patch_after; /* stops of a call site before it is patched; 0: never */
	const struct trace_options *trace; /* below the calls: layers, filters; or NULL */
	bool quiet; /* of source_bpf: that it cannot is not said; another one can */
	struct streams
		*streams; /* of source_bpf: rows of every layer go there too; or NULL */
	const struct mount_options *mount; /* of source_fuse; else NULL */
	uint64_t count;                    /* source_null: how many operations */
	struct input *const *inputs;       /* saved traces; borrowed */
	unsigned ninputs;
};

struct source_ops {
	const char *name;
	const char *help;

	/*
	 * Of saved traces: how sure one is that text of this kind begins like this, 0
	 * (it does not) to 100.
	 */
	int (*probe)(const char *head, size_t len);

	/* Set *out and return 0, or say why not and return -errno. */
	int (*open)(struct source **out, const struct source_args *args);

	/*
	 * Push what is ready; block until something is. Returns 1 to be called
	 * again (also after a signal), 0 at the end, -errno on failure.
	 */
	int (*step)(struct source *s, struct sink *to);

	/* Optional: stop early and leave the targets as they were; step() until 0. */
	void (*stop)(struct source *s);

	/*
	 * Of saved traces: what is known of the run by now; strings are borrowed until
	 * close(). What of the input could not be read has been said. Of live ones,
	 * optional: what they alone know, patches and no_patch; all else is left as it
	 * is.
	 */
	void (*about)(struct source *s, struct run *run);

	/* Serve what must be served to its end, and free. 0 or -errno. */
	int (*close)(struct source *s);
};

struct source {
	const struct source_ops *ops;
};

extern const struct source_ops source_null, source_ptrace, source_bpf, source_proc,
	source_system, source_fuse, source_blktrace_live;
extern const struct source_ops source_log, source_strace, source_fs_usage,
	source_fuse_trace, source_blktrace;

/* Those that read saved traces, ending with NULL. */
extern const struct source_ops *const source_readers[];

/* What a backend can do on this machine, for doctor: 0, or -errno and why and the cure.
 */
struct source_health {
	const char *name, *status;
	char reason[600], enable[120];
};

enum { SOURCE_HEALTH_MAX = 12 };

/* Fill in a row for each way of collecting; returns how many. */
unsigned ptrace_health(struct source_health *row);
unsigned bpf_health(struct source_health *row);
unsigned fuse_health(struct source_health *row);
unsigned proc_health(struct source_health *row);
unsigned blktrace_health(struct source_health *row);

#endif
