/*
 * opts_time.c - arguments that are times, and what is said of wrong ones
 */
#include "iops/opts.h"
#include "iops/diag.h"
#include "iops/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

int opts_wrong(
	const char *verb, const char *option, const char *value, const char *expected)
{
	return diag_usage(verb, "--%s %s: %s", option, value, expected);
}

int opts_seconds(const char *verb, const char *option, const char *text, uint64_t *ns)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0.001) || s > 1e9)
		return opts_wrong(verb, option, text, "not a number of seconds");
	*ns = (uint64_t)llround(s * 1e9);
	return 0;
}

/* "Z", "+01:00", or nothing: as tm is in that time zone. -1: it is none. */
static time_t zoned(const char *zone, struct tm *tm)
{
	const int day = tm->tm_mday;
	int hours = 0, minutes = 0, n = 0;
	time_t s;

	if (!*zone) {
		s = mktime(tm);
	} else if (!strcmp(zone, "Z")) {
		s = timegm(tm);
	} else if ((*zone == '+' || *zone == '-') && isdigit((unsigned char)zone[1]) &&
		   sscanf(zone + 1, "%2d:%2d%n", &hours, &minutes, &n) == 2 &&
		   !zone[1 + n] && hours < 24 && minutes >= 0 && minutes < 60) {
		time_t off = hours * 3600 + minutes * 60;
		s = timegm(tm) - (*zone == '+' ? off : -off);
	} else {
		return -1;
	}
	return tm->tm_mday == day ? s : -1; /* else it is of another month */
}

/* RFC 3339: "2026-01-31T12:00:00.5Z", without a zone in the local one. */
static bool moment_absolute(const char *text, struct moment *m)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (!p)
		return false;
	uint64_t ns = 0;
	if (*p == '.') {
		p++;
		ns = text_fraction_ns(&p);
	}
	time_t s = zoned(p, &tm);
	if (s < 0 || (uint64_t)s >= UINT64_MAX / SECOND_NS)
		return false;
	*m = (struct moment){ true, true, (uint64_t)s * SECOND_NS + ns };
	return true;
}

int opts_moment(const char *verb, const char *option, const char *text, struct moment *m)
{
	char *end;
	double s = strtod(text, &end);

	if (moment_absolute(text, m))
		return 0;
	if (end == text || *end || !(s >= 0) || s > 1e9)
		return opts_wrong(verb, option, text,
			"neither seconds since the start nor a time as "
			"2026-01-31T12:00:00Z");
	*m = (struct moment){ true, false, (uint64_t)llround(s * 1e9) };
	return 0;
}
