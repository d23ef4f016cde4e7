/*
 * asked.h - where structures of socket(7), readv(2) lie in memory, and what they ask for
 */
#ifndef IOPS_PTRACE_ASKED_H
#define IOPS_PTRACE_ASKED_H

#include "iops/syscalls.h"

#include <stdint.h>

struct task;

/* By ABI: a word, struct iovec, msghdr's vectors and their number, mmsghdr and its
 * length.
 */
struct layout {
	uint8_t word, vec, msg_vec, msg_len, mmsg_size, mmsg_bytes;
};

extern const struct layout layouts[NABI];

uint64_t word_at(const struct layout *l, const uint8_t *p);

/* Bytes that an array of n iovecs, a msghdr asks for, in a call or request of the task; 0
 * if it cannot be read. */
uint64_t asked_vec(const struct task *k, uint64_t at, uint64_t n);
uint64_t asked_msg(const struct task *k, uint64_t at);

/* How much it has room for besides: a name, and control data. */
uint64_t asked_msg_beside(const struct task *k, uint64_t at);

#endif
