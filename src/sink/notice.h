/*
 * notice.h - what is told of processes beside their I/O, summed up.
 */
#ifndef IOPS_SINK_NOTICE_H
#define IOPS_SINK_NOTICE_H

#include "iops/stats.h"

/* Of a loss there is no process. */
void notice_put(struct totals *t, struct proc *p, const struct op *op);

#endif
