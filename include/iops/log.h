/*
 * log.h - the operation log: what its writer (a sink) and its reader (a source) share.
 * iops-log(5) describes it byte by byte.
 *
 * A log is a row of blocks, each with a head of LOG_HEAD bytes (little endian):
 *
 *   0 magic   4 version   5 type   6 coding   7 zero   8 number of the block
 *   12 stored length   16 raw length   20 operations in all blocks before
 *   28 operations in this one   32 CRC-32C
 *
 * The CRC covers the head before it and the stored payload. Blocks need nothing of one
 * another but the first one, which says what was run: names are told anew in each.
 */
#ifndef IOPS_LOG_H
#define IOPS_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names;
struct run;
struct sink;
struct wire_in;
struct wire_out;

#define LOG_MAGIC "iop\xb1"

enum { LOG_VERSION = 1, LOG_HEAD = 36, LOG_CRC = 32 };
enum log_type { LOG_RUN = 1, LOG_OPS = 2, LOG_END = 3 };
enum log_coding { LOG_PLAIN = 0, LOG_ZSTD = 1 };

/* What no block exceeds, so that readers need not believe every number. */
enum {
	LOG_STORED_MAX = 3 << 20, /* bytes of a payload ... */
	LOG_RAW_MAX = 4 << 20,    /* ... and when it is unpacked */
	LOG_RECORDS_MAX = 1 << 16,
	LOG_NAMES_MAX = 6,      /* names that a record can need */
	LOG_NAME_MAX = 1 << 16, /* bytes of one; longer ones are cut */
	LOG_TEXT_MAX = 8 << 20, /* bytes of all of them */
	LOG_ARGS_MAX = 2 << 20, /* bytes of the command; what is beyond is left out */
};

/* What an operation's flag byte says. */
enum log_flag {
	LOG_SAME_WANT = 1, /* asked for as much as the one before of its context */
	LOG_FULL = 2,      /* ret is what was asked for */
	LOG_FOLLOWS = 4,   /* begins where the one before of its context ended, or at 0 */
	LOG_NO_TIME = 8,   /* no duration */
	LOG_NO_OFFSET = 16, /* no offset */
	LOG_SAME_TIME = 32, /* start and duration are those of the one before */
	LOG_FLAGS = 63,
};

/* What is known of a run, as the payload of the first block; of the last one, end. */
void log_put_run(struct wire_out *o, const struct run *run, bool end);

/* Text and words that a struct run points to. All zero is empty. */
struct log_run {
	char **argv;
	int32_t *pids;
	unsigned argc, npids, capargs, cappids;
};

/* 0 or -EINVAL, -ENOMEM. The strings are k's, which is to be freed in any case. */
int log_get_run(struct wire_in *in, struct run *run, struct log_run *k);
void log_run_fini(struct log_run *k);

struct log_args {
	struct names *names;
	const struct run *run; /* filled in until the first operation; at close the end */
	const char *name;      /* for messages */
	int fd;                /* to write to; borrowed */
};

/* The sink that writes a log. What fails is said once and returned by close(). */
int log_new(struct sink **out, const struct log_args *args);

#endif
