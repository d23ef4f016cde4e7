/*
 * diag.h - messages to the person at the terminal: "iops: WHAT: WHY".
 */
#ifndef IOPS_DIAG_H
#define IOPS_DIAG_H

/* One line to standard error. */
void diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same with ": " and the text of err (positive or negative errno); returns -|err|. */
int diag_err(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * The same for a wrong use of a verb (NULL: of any), with how to get help behind it;
 * returns -EINVAL.
 */
int diag_usage(const char *verb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "ENOENT" for 2; "errno 999" (in buf) for what has no name. */
const char *errno_name(int err, char buf[16]);

/* "SIGTERM" for 15, "SIGRTMIN+1" for 35 (in buf). */
const char *signal_name(int sig, char buf[16]);

#endif
