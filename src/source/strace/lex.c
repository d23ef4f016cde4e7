/*
 * lex.c - calls in the text of strace(1) taken apart
 *
 * strace puts no more than its own escapes between what it prints and what the program
 * had in its memory, so brackets count only outside of strings, and a '>' that belongs
 * to the arrow of a socket's name closes nothing.
 */
#include "lex.h"
#include "iops/diag.h"
#include "../text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

bool word_is(struct word w, const char *text)
{
	return strlen(text) == w.len && !memcmp(w.p, text, w.len);
}

bool word_has(struct word w, const char *text)
{
	return memmem(w.p, w.len, text, strlen(text)) != NULL;
}

/* Behind the string that begins at p; end if it does not end. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		p = memchr(p, '"', end - p);
		if (!p)
			return end;
		const char *b = p;
		while (b[-1] == '\\')
			b--;
		if ((p - b) % 2 == 0)
			return p + 1;
	}
	return end;
}

/* What may follow a descriptor. */
static bool ends_fd(const char *p, const char *end)
{
	return p >= end || strchr(",)]} (>;|", *p);
}

/*
 * Behind the <...> at p: what -y says. A name in brackets is a socket's, with strings and
 * arrows in it; in a path, old versions leave every character as it is.
 */
static const char *skip_angle(const char *p, const char *end)
{
	bool path = p + 1 < end && (p[1] == '/' || p[1] == '\\');
	int depth = 0;

	for (; p < end; p++) {
		if (*p == '\\')
			p++;
		else if (*p == '"' && !path)
			p = skip_string(p, end) - 1;
		else if (*p == '<')
			depth++;
		else if (*p == '>' && (path ? ends_fd(p + 1, end) : p[-1] != '-') &&
			 !--depth)
			return p + 1;
	}
	return end;
}

static bool opens_angle(const char *p)
{
	return p[1] != '<' && p[-1] != '<' &&
	       (isdigit((unsigned char)p[-1]) || p[-1] == 'D' || p[-1] == '>' ||
		       (p[-1] == '/' && p[-2] == '*'));
}

enum { C_PLAIN, C_QUOTE, C_OPEN, C_CLOSE, C_COMMA, C_ANGLE };
static const uint8_t class_of[256] = { ['"'] = C_QUOTE,
	['('] = C_OPEN,
	['['] = C_OPEN,
	['{'] = C_OPEN,
	[')'] = C_CLOSE,
	[']'] = C_CLOSE,
	['}'] = C_CLOSE,
	[','] = C_COMMA,
	['<'] = C_ANGLE };

/* From p to the comma or closing bracket that ends the element there. */
static const char *skip_element(const char *p, const char *end)
{
	int depth = 0;

	while (p < end) {
		switch (class_of[(unsigned char)*p]) {
		case C_QUOTE:
			p = skip_string(p, end);
			continue;
		case C_OPEN:
			depth++;
			break;
		case C_CLOSE:
			if (!depth--)
				return p;
			break;
		case C_COMMA:
			if (!depth)
				return p;
			break;
		case C_ANGLE:
			if (opens_angle(p)) {
				p = skip_angle(p, end);
				continue;
			}
			break;
		}
		p++;
	}
	return end;
}

static int error_number(const char *name)
{
	static const struct {
		const char *name;
		int err;
	} kernel[] = { { "ERESTARTSYS", 512 }, { "ERESTARTNOINTR", 513 },
		{ "ERESTARTNOHAND", 514 }, { "ERESTART_RESTARTBLOCK", 516 },
		{ "EAGAIN", EAGAIN }, { "ENOENT", ENOENT } };
	size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
	char buf[16];

	for (size_t i = 0; i < sizeof(kernel) / sizeof(*kernel); i++)
		if (!strncmp(kernel[i].name, name, len) && !kernel[i].name[len])
			return kernel[i].err;
	for (int err = 1; err < 134; err++) {
		const char *s = errno_name(err, buf);
		if (!strncmp(s, name, len) && !s[len])
			return err;
	}
	return !strncmp(name, "ENOTSUPP", len) ? 524 : 0;
}

/* "<0.000012>" at the end of the line: -T. */
static void lex_duration(struct call_text *c, const char *from, const char *end)
{
	uint64_t s;

	while (end > from && end[-1] == ' ')
		end--;
	if (end == from || end[-1] != '>')
		return;
	const char *p = memrchr(from, '<', end - from);
	if (!p)
		return;
	p++;
	if (!text_number(&p, &s) || *p++ != '.' || s >= LINE_TIME_MAX / 1000000000)
		return;
	c->dur_ns = s * UINT64_C(1000000000) + text_fraction_ns(&p);
	c->timed = *p == '>';
}

/* " = 1", " = -1 ENOENT (...)", " = ? ERESTARTSYS (...)", " = 3</x>". */
static bool lex_result(struct call_text *c, const char *p, const char *end)
{
	p = lex_blanks(p);
	if (*p++ != '=')
		return false;
	lex_duration(c, p, end);
	p = lex_blanks(p);
	if (*p == '?') {
		const char *e = lex_blanks(p + 1);
		int err = *e == 'E' ? error_number(e) : 0;
		c->known = err != 0;
		c->ret = -err;
		return true;
	}
	bool minus = *p == '-';
	char *after;
	uint64_t n;
	const char *d = p + minus;
	if (*d != '0' && text_number(&d, &n)) {
		after = (char *)d;
	} else {
		n = strtoull(p + minus, &after, 0);
		if (after == p + minus)
			return false;
	}
	c->known = true;
	c->ret = minus ? -(int64_t)n : (int64_t)n;
	const char *e = lex_blanks(after);
	if (minus && (*e == 'E' || lex_begins(e, "(errno "))) {
		int err = *e == 'E' ? error_number(e) : atoi(e + 7);
		c->ret = err > 0 && err < 4096 ? -err : -EIO;
	} else if (lex_begins(e, "/* ") && strstr(e, " in strace's PID NS */")) {
		c->ret = atoi(e + 3);
	} else if (*after == '<') {
		c->path.p = after;
		c->path.len = skip_angle(after, end) - after;
	}
	return true;
}

bool lex_call(struct call_text *c, const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	c->nargs = 0;
	c->known = c->timed = false;
	c->path.len = 0;
	while (lex_is_name(*p))
		p++;
	c->name = (struct word){ text, p - text };
	if (*p++ != '(')
		return false;
	while (p < end) {
		p = *p == ' ' ? lex_blanks(p) : p;
		const char *stop = skip_element(p, end);
		if (stop == end)
			return false;
		if (c->nargs < CALL_ARGS && (stop > p || *stop == ','))
			c->arg[c->nargs++] = (struct word){ p, stop - p };
		p = stop + 1;
		if (*stop != ',')
			return *stop == ')' && lex_result(c, p, end);
	}
	return false;
}

int64_t lex_number(struct word w, int64_t fallback)
{
	char *end;
	const char *p = w.p;
	bool minus = w.len && *p == '-';
	uint64_t n = 0;

	if (!w.len || !isdigit((unsigned char)p[minus]))
		return fallback;
	if (p[minus] != '0') {
		const char *d = p + minus;
		return text_number(&d, &n) ? (minus ? -(int64_t)n : (int64_t)n)
					   : fallback;
	}
	n = strtoull(p + minus, &end, 0);
	return minus ? -(int64_t)n : (int64_t)n;
}

bool lex_fd(struct word w, int *fd, struct word *path)
{
	const char *angle = memchr(w.p, '<', w.len);

	path->len = 0;
	if (angle) {
		path->p = angle;
		path->len = skip_angle(angle, w.p + w.len) - angle;
	}
	if (w.len >= 8 && !memcmp(w.p, "AT_FDCWD", 8)) {
		*fd = AT_FDCWD;
		return true;
	}
	int64_t n = lex_number(w, INT64_MIN);
	*fd = (int)n; /* "0xffffff9c" is AT_FDCWD too */
	return n != INT64_MIN;
}

bool lex_flag(struct word w, const char *name, uint64_t bits)
{
	return word_has(w, name) || ((uint64_t)lex_number(w, 0) & bits) == bits;
}

static int digit(char c, int base)
{
	int n = isdigit((unsigned char)c)    ? c - '0'
		: isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					     : 99;

	return n < base ? n : -1;
}

/* One escape behind a backslash: \n, \", \x2f, \57. */
static const char *unescape(const char *p, char *out)
{
	static const char from[] = "ntrvfab", to[] = "\n\t\r\v\f\a\b";
	const char *plain = *p ? strchr(from, *p) : NULL;
	int n = 0, i = 0;

	if (plain) {
		*out = to[plain - from];
		return p + 1;
	}
	if (*p == 'x') {
		for (p++; i < 2 && digit(*p, 16) >= 0; i++)
			n = n * 16 + digit(*p++, 16);
		*out = (char)n;
		return p;
	}
	for (; i < 3 && digit(*p, 8) >= 0; i++)
		n = n * 8 + digit(*p++, 8);
	*out = i ? (char)n : *p;
	return i || !*p ? p : p + 1;
}

long lex_string(struct word w, char *buf, size_t size)
{
	bool quoted = w.len && *w.p == '"';
	const char *p = w.p + 1, *end = w.p + w.len;
	size_t n = 0;

	if (!w.len || (!quoted && *w.p != '<'))
		return -1;
	const char *stop = quoted ? skip_string(w.p, end) : skip_angle(w.p, end);
	if (stop[-1] != (quoted ? '"' : '>') || (quoted && stop < end && *stop == '.'))
		return -1;
	for (stop--; p < stop && n + 1 < size;) {
		if (*p == '\\')
			p = unescape(p + 1, &buf[n]);
		else
			buf[n] = *p++;
		/* Only abstract sockets have it; the kernel shows it so too: unix(7). */
		buf[n] = buf[n] ? buf[n] : '@';
		n++;
	}
	buf[n] = 0;
	return p < stop ? -1 : (long)n;
}

bool lex_element(struct word *rest, struct word *element)
{
	const char *p = rest->p, *end = p + rest->len;

	while (p < end && (*p == ' ' || *p == ','))
		p++;
	if (p == end)
		return false;
	const char *stop = skip_element(p, end);
	*element = (struct word){ p, stop - p };
	*rest = (struct word){ stop, end - stop };
	return stop > p;
}

bool lex_member(struct word structure, const char *name, struct word *value)
{
	struct word rest = structure, e;
	size_t len = strlen(name);

	if (rest.len && (*rest.p == '{' || *rest.p == '[')) {
		rest.p++;
		rest.len--;
	}
	while (lex_element(&rest, &e))
		if (e.len > len && !memcmp(e.p, name, len) && e.p[len] == '=') {
			*value = (struct word){ e.p + len + 1, e.len - len - 1 };
			return true;
		}
	return false;
}
