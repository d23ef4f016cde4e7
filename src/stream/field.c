/*
 * field.c - the fields of a row, as text
 */
#include "folder.h"
#include "iops/anon.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	U64 = 20, /* digits */
	HEX = 18,
	DIGITS = 9,    /* behind a decimal point */
	REAL_BIG = 340 /* characters of any double with them */
};

static bool make_room(struct stream *t, size_t need)
{
	size_t cap = t->cap;

	while (cap - t->n < need)
		cap *= 2;
	char *more = realloc(t->buf, cap);
	if (!more) {
		t->err = -ENOMEM;
		return false;
	}
	t->buf = more;
	t->cap = cap;
	return true;
}

/* Where a field of at most len bytes goes; NULL: nowhere. There is room for the end of
 * the line, too. */
static inline char *begin(struct stream *t, size_t len)
{
	if (t->err)
		return NULL;
	if (t->fields == t->ncolumns) {
		t->err = -EINVAL;
		return NULL;
	}
	if (t->cap - t->n < len + 2 && !make_room(t, len + 2))
		return NULL;
	char *p = t->buf + t->n;
	if (t->fields++)
		*p++ = ',';
	return p;
}

static inline void end(struct stream *t, const char *p)
{
	t->n = p - t->buf;
}

/* Two digits at a time: a division by 100 takes as long as one by 10. */
static inline char *put_u64(char *p, uint64_t v)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char text[U64], *q = text + U64;

	for (; v >= 100; v /= 100)
		memcpy(q -= 2, pairs + 2 * (v % 100), 2);
	if (v >= 10)
		memcpy(q -= 2, pairs + 2 * v, 2);
	else
		*--q = '0' + v;
	size_t len = text + U64 - q;
	memcpy(p, q, len);
	return p + len;
}

static inline char *put_digits(char *p, uint64_t v, int n)
{
	for (int i = n; i-- > 0; v /= 10)
		p[i] = '0' + v % 10;
	return p + n;
}

void stream_u64(struct stream *t, uint64_t value)
{
	char *p = begin(t, U64);

	if (p)
		end(t, put_u64(p, value));
}

void stream_i64(struct stream *t, int64_t value)
{
	char *p = begin(t, U64 + 1);

	if (!p)
		return;
	if (value < 0)
		*p++ = '-';
	end(t, put_u64(p, value < 0 ? -(uint64_t)value : (uint64_t)value));
}

void stream_hex(struct stream *t, uint64_t value)
{
	char *p = begin(t, HEX);
	int n = 1;

	if (!p)
		return;
	while (n < 16 && value >> 4 * n)
		n++;
	*p++ = '0';
	*p++ = 'x';
	while (n-- > 0)
		*p++ = "0123456789abcdef"[value >> 4 * n & 15];
	end(t, p);
}

void stream_real(struct stream *t, double value, int digits)
{
	static const double power[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
	int n = digits < 0 ? 0 : digits > DIGITS ? DIGITS : digits;
	double scaled = value * power[n];

	if (!isfinite(value)) {
		stream_none(t);
		return;
	}
	char *p = begin(t, REAL_BIG);
	if (!p)
		return;
	if (fabs(scaled) < 1e18) {
		int64_t v = llround(scaled);
		uint64_t abs = v < 0 ? -(uint64_t)v : (uint64_t)v;
		uint64_t unit = (uint64_t)power[n];
		if (v < 0)
			*p++ = '-';
		p = put_u64(p, abs / unit);
		if (n) {
			*p++ = '.';
			p = put_digits(p, abs % unit, n);
		}
	} else {
		p += snprintf(p, REAL_BIG, "%.*f", n, value);
	}
	end(t, p);
}

void stream_device(struct stream *t, uint32_t major, uint32_t minor)
{
	char *p = begin(t, U64 + 1);

	if (!p)
		return;
	p = put_u64(p, major);
	*p++ = ':';
	end(t, put_u64(p, minor));
}

void stream_time(struct stream *t, uint64_t mono_ns)
{
	struct wall *w = &t->folder->wall;
	uint64_t real = wall_real(w, mono_ns);
	char *p = begin(t, WALL_TEXT + 7);

	if (!p)
		return;
	if (!t->row_ns)
		t->row_ns = mono_ns;
	memcpy(p, wall_text(w, real), WALL_TEXT);
	p[WALL_TEXT] = '.';
	end(t, put_digits(p + WALL_TEXT + 1, real % 1000000000 / 1000, 6));
}

static void put_text(struct stream *t, const char *text)
{
	size_t len = strlen(text), plain = strcspn(text, ",\"\r\n");
	char *p = begin(t, 2 * len + 2);

	if (!p)
		return;
	if (len && plain == len) {
		memcpy(p, text, len);
		end(t, p + len);
		return;
	}
	*p++ = '"';
	for (const char *s = text; *s; s++) {
		if (*s == '"')
			*p++ = '"';
		*p++ = *s;
	}
	*p++ = '"';
	end(t, p);
}

void stream_word(struct stream *t, const char *text)
{
	if (text)
		put_text(t, text);
	else
		stream_none(t);
}

void stream_path(struct stream *t, const char *text)
{
	const struct anon *a = t->folder->args.anon;
	char name[ANON_MAX];

	stream_word(t, text && a ? anon_path(a, text, name) : text);
}

void stream_paths(struct stream *t, const char *from, const char *to)
{
	const struct anon *a = t->folder->args.anon;
	char name[2][ANON_MAX], *both;

	from = from && a ? anon_path(a, from, name[0]) : from;
	to = to && a ? anon_path(a, to, name[1]) : to;
	if (asprintf(&both, "%s -> %s", from ? from : "", to ? to : "") < 0) {
		t->err = t->err ? t->err : -ENOMEM;
		return;
	}
	put_text(t, both);
	free(both);
}

void stream_text(struct stream *t, const char *text)
{
	const struct anon *a = t->folder->args.anon;
	char name[ANON_MAX];

	stream_word(t, text && a ? anon_text(a, text, name) : text);
}

void stream_addr(struct stream *t, int family, const void *addr)
{
	const struct anon *a = t->folder->args.anon;
	char name[ANON_MAX];

	if (family != AF_INET && family != AF_INET6)
		stream_none(t);
	else if (a)
		put_text(t, anon_addr(a, family, addr, name));
	else
		put_text(t, inet_ntop(family, addr, name, sizeof(name)));
}

void stream_none(struct stream *t)
{
	char *p = begin(t, 0);

	if (p)
		end(t, p);
}
