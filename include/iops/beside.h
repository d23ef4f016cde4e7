/*
 * beside.h - a child process that shares our memory
 *
 * After fork(2) each page is touched anew, by both, which is most of what a start costs;
 * on some hypervisors an exception takes ten times as long as a system call.
 */
#ifndef IOPS_BESIDE_H
#define IOPS_BESIDE_H

#include <sys/types.h>

/*
 * A child that calls run, which does not return. All but its memory is its own, as after
 * fork(2): descriptors, signal actions, limits. Neither may change or free what the other
 * is to read; and as each may be killed at any time, one that holds a lock of the C
 * library would leave it locked: who may be waited for allocates nothing, and does not
 * use stdio. When memory runs out the kernel kills all that share it. What a program that
 * the child runs has used at most, getrusage(2), begins at what we use then. On Linux
 * before 5.16 signals that make a core end the child with a status, 128 and their number,
 * until it says otherwise or runs a program. The child's id; or -1 and errno.
 *
 * Where there can be none of the kind it is forked: what it shares with us on purpose is
 * to be in memory that a forked one would share as well.
 */
pid_t beside(void (*run)(void *), void *arg);

#endif
