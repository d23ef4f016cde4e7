/*
 * process.h - what /proc tells of a process that is not ours
 */
#ifndef IOPS_PROCESS_H
#define IOPS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* The process of a thread, and its parent (NULL: not asked for). 0 if it is gone. */
pid_t process_tgid(pid_t tid, pid_t *parent);

/* The state letter of ps(1) of a thread of a process, 0 if there is no such one. */
char process_state(pid_t pid, pid_t tid);

/* Whether a thread of a process is still there and is no zombie. */
bool process_lives(pid_t pid, pid_t tid);

/* Who traces a thread; 0: nobody, or there is no such thread. */
pid_t process_tracer(pid_t pid, pid_t tid);

/* Whether a thread is one of the kernel's own in the process, as io_uring(7) has them: it
 * never runs anything of the program. */
bool process_is_worker(pid_t pid, pid_t tid);

/* Whether there is nothing of a program in it at all: a thread of the kernel. */
bool process_is_kernels(pid_t pid);

/* Whether a line of its /proc/PID/maps has that name in it. */
bool process_maps(pid_t pid, const char *name);

/* What it has for I/O that needs no calls: bits. */
enum { PROCESS_URING = 1, PROCESS_AIO = 2 };
unsigned process_async(pid_t pid);

/* Whether any thread of it is still there and is no zombie. */
bool process_runs(pid_t pid);

/* Says why there is nothing to attach to, if so: gone, or a zombie. 0 or -ESRCH. */
int process_check(pid_t pid);

#endif
