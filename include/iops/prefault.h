/*
 * prefault.h - memory that is about to be used, asked for at once
 *
 * The first touch of each page is an exception. Some hypervisors take as long for one as
 * the kernel does for hundreds of pages that it is asked for together.
 */
#ifndef IOPS_PREFAULT_H
#define IOPS_PREFAULT_H

/*
 * For a process that has just been forked and is to work for a while: some heap, which
 * it keeps then, and some of the stack. Where that cannot be asked for (Linux < 5.14)
 * nothing happens.
 */
void prefault(void);

#endif
