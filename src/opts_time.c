/*
 * opts_time.c - arguments that are times
 */
#include "iops/opts.h"
#include "iops/diag.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int wrong(const char *option, const char *value, const char *expected)
{
	diag("--%s %s: %s", option, value, expected);
	return -EINVAL;
}

int opts_seconds(const char *option, const char *text, uint64_t *ns)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0.001) || s > 1e9)
		return wrong(option, text, "not a number of seconds");
	*ns = (uint64_t)llround(s * 1e9);
	return 0;
}

/* RFC 3339: "2026-01-31T12:00:00.5Z", without Z in the local time zone. */
static bool moment_absolute(const char *text, struct moment *m)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	double fraction = 0;
	char *end;

	if (!p)
		return false;
	if (*p == '.') {
		fraction = strtod(p, &end);
		p = end;
	}
	time_t s = *p == 'Z' ? timegm(&tm) : mktime(&tm);
	if (s < 0 || strcmp(p, *p == 'Z' ? "Z" : ""))
		return false;
	*m = (struct moment){ true, true, s * UINT64_C(1000000000) };
	m->ns += (uint64_t)llround(fraction * 1e9);
	return true;
}

int opts_moment(const char *option, const char *text, struct moment *m)
{
	char *end;
	double s = strtod(text, &end);

	if (moment_absolute(text, m))
		return 0;
	if (end == text || *end || !(s >= 0) || s > 1e9)
		return wrong(option, text,
			"neither seconds since the start nor a time as "
			"2026-01-31T12:00:00Z");
	*m = (struct moment){ true, false, (uint64_t)llround(s * 1e9) };
	return 0;
}
