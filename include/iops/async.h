/*
 * async.h - what is asked of the kernel without a call for each: io_uring(7),
 * io_submit(2).
 */
#ifndef IOPS_ASYNC_H
#define IOPS_ASYNC_H

#include <stdbool.h>
#include <stdint.h>

enum async { ASYNC_URING, ASYNC_AIO, NASYNC };

struct names;
struct syscall_set;

/* By IORING_OP_... or IOCB_CMD_...: "READ", "pread"; of a number that is not known
 * "OTHER", "other". */
const char *async_name(enum async which, unsigned number);

/* An op_kind; OP_NOTE for what moves nothing, makes nothing durable and names nothing. */
uint8_t async_kind(enum async which, unsigned number);

/* What names_call() says of "io_uring:READ", "aio:pread". */
unsigned async_call(struct names *n, enum async which, unsigned number);

/* Likewise of one that shows what it does not take: "io_uring:RECV:peek". */
unsigned async_peek(struct names *n, enum async which, unsigned number);

/* Whether -e wants such requests: the call that does the same says so. */
bool async_wanted(const struct syscall_set *want, enum async which, unsigned number);

#endif
