/*
 * fds.h - descriptors of our own that others wait for
 */
#ifndef IOPS_FDS_H
#define IOPS_FDS_H

/* Where a descriptor is not needed any more, its other end should find out; its number
 * stays taken. */
void fds_let_go(int fd);

/* Descriptors that are the command's alone: whoever waits for their end should see it.
 * All but the standard ones and those to keep, in any order; -1: none. */
void fds_close_others(const int *keep, unsigned n);

#endif
