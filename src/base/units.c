/*
 * units.c - numbers as people read them
 */
#include "iops/units.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

char *units_count(char *buf, uint64_t n, enum units u)
{
	char digits[UNITS_LEN];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	char *to = buf;

	for (int i = 0; i < len; i++) {
		if (i && u != UNITS_RAW && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return buf;
}

/* Three digits or so with the largest unit that keeps them at or above one. */
static char *scaled(char *buf, double v, enum units u, const char *tail)
{
	static const char *const iec[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB",
		"EiB" };
	static const char *const si[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double step = u == UNITS_SI ? 1000 : 1024;
	unsigned i = 0;

	while (v >= step - (i ? 0.05 : 0.5) && i < 6) {
		v /= step;
		i++;
	}
	snprintf(buf, UNITS_LEN, i ? "%.1f %s%s" : "%.0f %s%s", v,
		u == UNITS_SI ? si[i] : iec[i], tail);
	return buf;
}

char *units_bytes(char *buf, uint64_t n, enum units u)
{
	return u == UNITS_RAW ? units_count(buf, n, u) : scaled(buf, (double)n, u, "");
}

char *units_rate(char *buf, double per_s, enum units u)
{
	if (u != UNITS_RAW)
		return scaled(buf, per_s, u, "/s");
	snprintf(buf, UNITS_LEN, "%.0f", per_s);
	return buf;
}

char *units_ns(char *buf, uint64_t ns, enum units u)
{
	static const struct {
		double scale;
		const char *name;
	} unit[] = { { 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" } };
	unsigned i = 0;

	if (u == UNITS_RAW)
		return units_count(buf, ns, u);
	while (i < 3 && (double)ns >= 0.9995 * unit[i + 1].scale)
		i++;

	double v = (double)ns / unit[i].scale;
	snprintf(buf, UNITS_LEN, "%.*f %s",
		i == 0 || v >= 99.95  ? 0
		: v < 9.995 && i == 3 ? 2
				      : 1,
		v, unit[i].name);
	return buf;
}

/* Once it is needed, which takes longer than many a command runs: most text is ASCII. */
static void settle_locale(void)
{
	const char *now = setlocale(LC_CTYPE, NULL);

	if (!now || !strcmp(now, "C"))
		setlocale(LC_CTYPE, "");
}

bool units_utf8(enum units_text text)
{
	if (text != TEXT_BY_LOCALE)
		return text == TEXT_UTF8;
	settle_locale();
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* What turns the direction of text around would show a path as another one: Unicode,
 * Bidi_Control. */
static bool turns(wchar_t c)
{
	return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/* One character: its bytes and its columns. Bytes that are no text: 1 and 4. */
static int next_char(const char *s, size_t *columns)
{
	wchar_t wc;
	mbstate_t st = { 0 };
	int w;

	if (*s >= ' ' && *s <= '~') {
		*columns = 1;
		return 1;
	}
	settle_locale();
	size_t n = mbrtowc(&wc, s, strlen(s), &st);
	if (n == 0 || n > 8 || turns(wc) || (w = wcwidth(wc)) < 0) {
		*columns = 4;
		return 1;
	}
	*columns = w;
	return (int)n;
}

size_t units_width(const char *s)
{
	size_t sum = 0, w;

	for (; *s; s += next_char(s, &w), sum += w)
		;
	return sum;
}

/* Append one character, or "\xHH" for what cannot be shown. Returns the new end. */
static char *put_char(char *to, const char *end, const char *s, int bytes, size_t columns)
{
	if (columns == 4 && bytes == 1)
		return to + snprintf(to, end - to, "\\x%02x", (unsigned char)*s);
	if (to + bytes >= end)
		return to;
	memcpy(to, s, bytes);
	return to + bytes;
}

char *units_elide(
	char *buf, size_t size, const char *s, size_t width, enum units_text text)
{
	size_t total = 0, w, at = 0;
	char *to = buf;
	const char *end = buf + size - 5;

	for (const char *p = s; *p; p += next_char(p, &w), total += w)
		;
	bool utf8 = total > width && units_utf8(text);
	const char *dots = utf8 ? "\xe2\x80\xa6" : "...";
	size_t ndots = utf8 ? 1 : 3;

	/* Keep a third at the front and the rest at the end, where paths differ. */
	size_t keep = width > ndots ? width - ndots : 0;
	size_t head = total <= width ? total : keep / 3, tail = keep - head;
	bool cut = false;
	for (const char *p = s; *p && to < end;) {
		int n = next_char(p, &w);
		if (total <= width || at + w <= head || at >= total - tail) {
			to = put_char(to, end, p, n, w);
		} else if (!cut) {
			to += snprintf(to, end - to, "%s", dots);
			cut = true;
			head = 0;
		}
		at += w;
		p += n;
	}
	*to = 0;
	return buf;
}
