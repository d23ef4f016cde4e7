/*
 * diag.c - messages, and the names of errors and signals
 */
#include "iops/diag.h"
#include "iops/text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	LONGEST = 5 << 10 /* a path of the greatest length fits, and what is said of it */
};

/* How many bytes are a letter; 0: what would begin another line, or be more to a terminal
 * than that, as are U+0080 to U+009F, begins here; or it is not UTF-8. */
static size_t letter(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	if (*u < ' ' || *u == 0x7f || (*u == 0xc2 && u[1] < 0xa0))
		return 0;
	return text_utf8_length(s);
}

/* The rest in octal. */
static size_t legible(const char *s, char *out)
{
	char *to = out;

	for (size_t n; *s; s += n) {
		n = letter(s);
		memcpy(to, s, n);
		to += n;
		if (!n) {
			to += sprintf(to, "\\%03o", (unsigned char)*s);
			n = 1;
		}
	}
	return (size_t)(to - out);
}

/* One write, so that lines of several processes do not mix. */
__attribute__((format(printf, 1, 0))) static void line(
	const char *fmt, va_list ap, const char *between, const char *more)
{
	char text[LONGEST], buf[sizeof("iops: ") + 4 * LONGEST + 512] = "iops: ";
	size_t n = strlen(buf);

	vsnprintf(text, sizeof(text), fmt, ap);
	n += legible(text, buf + n);
	n += (size_t)snprintf(buf + n, 256, "%s%s", between, more);
	buf[n++] = '\n';
	/* Not by stdio: beside.h. */
	for (size_t at = 0; at < n;) {
		ssize_t done = write(STDERR_FILENO, buf + at, n - at);
		if (!done || (done < 0 && errno != EINTR))
			return;
		at += done < 0 ? 0 : (size_t)done;
	}
}

void diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line(fmt, ap, "", "");
	va_end(ap);
}

int diag_err(int err, const char *fmt, ...)
{
	va_list ap;

	err = err < 0 ? -err : err;
	va_start(ap, fmt);
	line(fmt, ap, ": ", strerror(err));
	va_end(ap);
	return -err;
}

int diag_usage(const char *verb, const char *fmt, ...)
{
	char help[80];
	va_list ap;

	snprintf(help, sizeof(help), "'iops help%s%s' tells more", verb ? " " : "",
		verb ? verb : "");
	va_start(ap, fmt);
	line(fmt, ap, "; ", help);
	va_end(ap);
	return -EINVAL;
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
