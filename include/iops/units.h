/*
 * units.h - numbers as people read them.
 */
#ifndef IOPS_UNITS_H
#define IOPS_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum units { UNITS_IEC, UNITS_SI, UNITS_RAW };
enum { UNITS_LEN = 32 };

/* All write to buf, at least UNITS_LEN long, and return it. */
char *units_count(char *buf, uint64_t n, enum units u);  /* 1,234,567 */
char *units_bytes(char *buf, uint64_t n, enum units u);  /* 8.4 MiB */
char *units_rate(char *buf, double per_s, enum units u); /* 6.8 MiB/s */
char *units_ns(char *buf, uint64_t ns, enum units u);    /* 1.9 us */

/* What may be put into text: by the locale, which is looked at when that is needed. */
enum units_text { TEXT_ASCII, TEXT_UTF8, TEXT_BY_LOCALE };
bool units_utf8(enum units_text text);

/* Display columns of UTF-8 text; bytes that are none count as 4 ("\xff"). */
size_t units_width(const char *s);

/*
 * Copy s to buf with its middle elided so that it takes at most width columns.
 * Control characters and bytes that are no text become "\\xHH", so that a path cannot
 * move the cursor.
 */
char *units_elide(
	char *buf, size_t size, const char *s, size_t width, enum units_text text);

#endif
