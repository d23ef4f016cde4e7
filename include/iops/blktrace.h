/*
 * blktrace.h - records of blktrace as lines of text, as blkparse(1) prints them.
 */
#ifndef IOPS_BLKTRACE_H
#define IOPS_BLKTRACE_H

#include <stdio.h>

struct input;

/*
 * The events of one trace. 0; 1: part of it could not be read, said what; -errno, of
 * reading; what cannot be written is for the caller to ask of the stream.
 */
int blktrace_print(FILE *out, struct input *const *in, unsigned n);

#endif
