/*
 * program.h - which program an exec will run: of a task that is about to make the call,
 * whose arguments are known
 */
#ifndef IOPS_PTRACE_PROGRAM_H
#define IOPS_PTRACE_PROGRAM_H

#include "tracer.h"

#include <limits.h>

enum { PROGRAM_PATH = PATH_MAX + 64, PROGRAM_DEPTH = 5 };

/* Only what is certain. */
struct program {
	bool missing;   /* there is nothing to read, as in most folders of a PATH */
	bool plain;     /* what runs in the end is of 64 bits, can be read, and is near */
	unsigned depth; /* of scripts whose interpreter is one */
};

/* The file that an exec names, as a path that we can open too; at: execveat(2). 0 or
 * -errno. */
int program_path(const struct task *k, bool at, char full[PROGRAM_PATH]);

/* Replaces path; false if it is no script. */
bool program_interpreter(pid_t tid, char path[PROGRAM_PATH]);

/* Whether what runs in the end is of 64 bits: elf(5). What cannot be read may be. */
bool program_is_64(pid_t tid, char path[PROGRAM_PATH]);

/* Whether there is nothing to read. Only what is certain. */
bool program_is_missing(const struct task *k);

/* What an execve(2) is about to run. root: of the task, a descriptor. */
void program_look(const struct task *k, int root, struct program *p);

/* Whether it has rights of its own: set-id bits, capabilities(7). */
bool program_gains(const struct task *k, bool at);

#endif
