/*
 * times.c - real time as stream_time() writes it: local, to the microsecond
 */
#include "parts.h"
#include "iops/stream.h"

#include <time.h>

static char *digits(char *to, unsigned value, int n, char end)
{
	for (int i = n; i-- > 0; value /= 10)
		to[i] = '0' + value % 10;
	to[n] = end;
	return to + n + 1;
}

void put_real_time(struct stream *t, int64_t sec, uint32_t nsec)
{
	time_t when = sec;
	struct tm tm;
	char text[32], *p = text;

	/* A file can claim a year that no calendar has. */
	if (when != sec || !localtime_r(&when, &tm) || tm.tm_year < -1900 ||
		tm.tm_year > 9999 - 1900) {
		stream_none(t);
		return;
	}
	/* Three times for each file of the machine: printf() would be half of the work.
	 */
	p = digits(p, tm.tm_year + 1900, 4, '-');
	p = digits(p, tm.tm_mon + 1, 2, '-');
	p = digits(p, tm.tm_mday, 2, ' ');
	p = digits(p, tm.tm_hour, 2, ':');
	p = digits(p, tm.tm_min, 2, ':');
	p = digits(p, tm.tm_sec, 2, '.');
	digits(p, nsec / 1000, 6, 0);
	stream_word(t, text);
}
