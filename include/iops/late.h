/*
 * late.h - libraries that are loaded when they are asked for
 *
 * They bring others along, and every run would wait for what few exports need, and few
 *traces. Types come from the header of the library: with its functions listed as LIST(X)
 *X(a) X(b) ... struct functions { LIST(LATE_MEMBER) } f; late_load(which, (const char
 **const[]){ LIST(LATE_NAME) NULL }, &f);
 */
#ifndef IOPS_LATE_H
#define IOPS_LATE_H

#define LATE_MEMBER(f) __typeof__(&f) f;
#define LATE_NAME(f)   #f,

enum late_library { LATE_AVRO, LATE_SQLITE3, LATE_NETTLE, LATE_FUSE3, LATE_ZYDIS, NLATE };

/* Load it for good and put its functions of these names, which end with NULL, one after
 * the other into a struct of pointers. 0 or -ELIBACC, said why. */
int late_load(enum late_library which, const char *const name[], void *functions);

#endif
