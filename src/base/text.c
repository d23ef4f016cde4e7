/*
 * text.c - clean UTF-8, base64, JSON and CSV; numbers in texts
 */
#include "iops/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

size_t text_utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = *s < 0x80   ? 1
		   : *s < 0xc2 ? 0
		   : *s < 0xe0 ? 2
		   : *s < 0xf0 ? 3
		   : *s < 0xf5 ? 4
			       : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
		(*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

size_t text_named(const char *path, size_t len)
{
	static const char deleted[] = " (deleted)";
	size_t n = sizeof(deleted) - 1;

	return len > n && !memcmp(path + len - n, deleted, n) ? len - n : len;
}

bool text_is_utf8(const char *s)
{
	while (*s) {
		size_t n = text_utf8_length(s);
		if (!n)
			return false;
		s += n;
	}
	return true;
}

char *text_clean(const char *s)
{
	char *clean = malloc(3 * strlen(s) + 1), *to = clean;

	while (clean && *s) {
		size_t n = text_utf8_length(s);
		memcpy(to, n ? s : replacement, n ? n : 3);
		to += n ? n : 3;
		s += n ? n : 1;
	}
	if (clean)
		*to = 0;
	return clean;
}

char *text_base64(const char *s)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = strlen(s);
	char *out = malloc((len + 2) / 3 * 4 + 1), *to = out;

	for (size_t i = 0; out && i < len; i += 3) {
		uint32_t w = (unsigned char)s[i] << 16;
		if (i + 1 < len)
			w |= (unsigned char)s[i + 1] << 8;
		if (i + 2 < len)
			w |= (unsigned char)s[i + 2];
		*to++ = digit[w >> 18];
		*to++ = digit[w >> 12 & 63];
		*to++ = i + 1 < len ? digit[w >> 6 & 63] : '=';
		*to++ = i + 2 < len ? digit[w & 63] : '=';
	}
	if (out)
		*to = 0;
	return out;
}

void text_put_json(FILE *out, const char *s)
{
	putc('"', out);
	while (*s) {
		size_t n = text_utf8_length(s);
		if (!n)
			fputs(replacement, out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < 0x20 || *s == 0x7f)
			fprintf(out, "\\u%04x", *s);
		else
			fwrite(s, 1, n, out);
		s += n ? n : 1;
	}
	putc('"', out);
}

void text_put_csv(FILE *out, const char *s)
{
	if (!strpbrk(s, ",\"\r\n")) {
		fputs(s, out);
		return;
	}
	putc('"', out);
	for (; *s; s++) {
		if (*s == '"')
			putc('"', out);
		putc(*s, out);
	}
	putc('"', out);
}

bool text_number(const char **p, uint64_t *out)
{
	const char *s = *p;
	uint64_t n = 0;

	while (*s >= '0' && *s <= '9' && s - *p < 19)
		n = n * 10 + (*s++ - '0');
	if (s == *p || (*s >= '0' && *s <= '9'))
		return false;
	*p = s;
	*out = n;
	return true;
}

uint64_t text_fraction_ns(const char **p)
{
	uint64_t ns = 0, unit = 100000000;

	for (; **p >= '0' && **p <= '9'; ++*p, unit /= 10)
		ns += (**p - '0') * unit;
	return ns;
}
