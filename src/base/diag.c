/*
 * diag.c - messages, and the names of errors and signals
 */
#include "iops/diag.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One write, so that lines of several processes do not mix. */
__attribute__((format(printf, 1, 0))) static void line(
	const char *fmt, va_list ap, const char *why)
{
	char buf[1024 + 1];
	int n = snprintf(buf, sizeof(buf), "iops: ");

	n += vsnprintf(buf + n, sizeof(buf) - n, fmt, ap);
	if (n < (int)sizeof(buf) && why)
		n += snprintf(buf + n, sizeof(buf) - n, ": %s", why);
	n = (int)strlen(buf);
	buf[n++] = '\n';
	/* Not by stdio: beside.h. */
	for (ssize_t at = 0, done; at < n; at += done < 0 ? 0 : done) {
		done = write(STDERR_FILENO, buf + at, n - at);
		if (!done || (done < 0 && errno != EINTR))
			return;
	}
}

void diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line(fmt, ap, NULL);
	va_end(ap);
}

int diag_err(int err, const char *fmt, ...)
{
	va_list ap;

	err = err < 0 ? -err : err;
	va_start(ap, fmt);
	line(fmt, ap, strerror(err));
	va_end(ap);
	return -err;
}

const char *errno_name(int err, char buf[16])
{
	const char *name = strerrorname_np(err);

	if (name)
		return name;
	snprintf(buf, 16, "errno %d", err);
	return buf;
}

const char *signal_name(int sig, char buf[16])
{
	const char *name = sigabbrev_np(sig);

	if (name)
		snprintf(buf, 16, "SIG%s", name);
	else if (sig >= SIGRTMIN && sig <= SIGRTMAX)
		snprintf(buf, 16, "SIGRTMIN+%d", sig - SIGRTMIN);
	else
		snprintf(buf, 16, "signal %d", sig);
	return buf;
}
