/*
 * lex.c - lines of strace(1) taken apart
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
#include <signal.h>
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

static const char *skip_blanks(const char *p)
{
	while (*p == ' ')
		p++;
	return p;
}

static bool begins(const char *p, const char *with)
{
	return !strncmp(p, with, strlen(with));
}

/* "1234 ", "1234<bash> ", "[pid  1234] ": -f. */
static const char *lex_pid(struct line *l, const char *p)
{
	bool bracket = begins(p, "[pid ");
	const char *s = skip_blanks(bracket ? p + 5 : p);
	uint64_t n;

	if (!text_number(&s, &n) || n > 1 << 22)
		return p;
	if (*s == '<') {
		while (*s && *s != '>')
			s++;
		s += *s == '>';
	}
	if (bracket ? *s != ']' : *s != ' ')
		return p;
	l->tid = (int)n;
	return skip_blanks(s + 1);
}

/* "12:34:56", with a fraction or not. */
static const char *lex_day(struct line *l, const char *p)
{
	for (int i = 0; i < 8; i++)
		if (i % 3 == 2 ? p[i] != ':' : !isdigit((unsigned char)p[i]))
			return p;
	uint64_t h = (p[0] - '0') * 10 + (p[1] - '0'),
		 m = (p[3] - '0') * 10 + (p[4] - '0'),
		 s = (p[6] - '0') * 10 + (p[7] - '0');
	l->clock = CLOCK_DAY;
	l->time_ns = (h * 3600 + m * 60 + s) * UINT64_C(1000000000);
	p += 8;
	if (*p == '.') {
		p++;
		l->time_ns += text_fraction_ns(&p);
		l->fine = true;
	}
	return skip_blanks(p);
}

/* -t and its kin; "(+     0.000012)" of -r beside them says nothing new. */
static const char *lex_time(struct line *l, const char *p)
{
	const char *s = skip_blanks(p);
	uint64_t n = 0;

	if (isdigit((unsigned char)s[0]) && isdigit((unsigned char)s[1]) && s[2] == ':') {
		p = lex_day(l, s);
	} else if (text_number(&s, &n) && *s == '.') {
		s++;
		l->time_ns = n * UINT64_C(1000000000) + text_fraction_ns(&s);
		l->clock = n > 100000000 ? CLOCK_EPOCH : CLOCK_DELTA;
		l->fine = true;
		p = skip_blanks(s);
	} else if (*s == ' ' && n > 100000000) {
		/* -ttt without a fraction: "--absolute-timestamps=format:unix" */
		l->time_ns = n * UINT64_C(1000000000);
		l->clock = CLOCK_EPOCH;
		p = skip_blanks(s);
	}
	if (p[0] == '(' && p[1] == '+') {
		const char *end = strchr(p, ')');
		p = end ? skip_blanks(end + 1) : p;
	}
	return p;
}

/* "[ 257]" of -n, "[00007f...]" of -i, "[unconfined_t]" of --secontext. */
static const char *lex_brackets(const char *p)
{
	while (*p == '[') {
		const char *end = strchr(p, ']');
		if (!end || end[1] != ' ')
			break;
		p = skip_blanks(end + 1);
	}
	return p;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(text + len - n, end, n);
}

/* "<... read resumed> ...", or in old versions "<... read resumed> )   = 1". */
static void lex_resumed(struct line *l)
{
	const char *name = l->text + 5, *end = strstr(name, " resumed>");

	if (!end) {
		l->kind = LINE_BAD;
		return;
	}
	l->kind = LINE_RESUMED;
	l->name = name;
	l->namelen = end - name;
	l->len -= end + 9 - l->text;
	l->text = end + 9;
}

static int signal_number(const char *name)
{
	char buf[16];

	for (int sig = 1; sig < NSIG; sig++) {
		const char *s = signal_name(sig, buf);
		size_t n = strlen(s);
		if (!strncmp(s, name, n) && !isalnum((unsigned char)name[n]) &&
			name[n] != '_')
			return sig;
	}
	return 0;
}

/* "+++ exited with 0 +++", "+++ killed by SIGKILL (core dumped) +++". */
static void lex_plus(struct line *l)
{
	const char *p = l->text + 4;

	l->kind = LINE_NOTHING;
	if (begins(p, "exited with ")) {
		l->kind = LINE_EXITED;
		l->value = atoi(p + 12);
	} else if (begins(p, "killed by ")) {
		l->kind = LINE_KILLED;
		l->value = signal_number(p + 10);
	} else if (begins(p, "superseded by execve in pid ")) {
		l->kind = LINE_SUPERSEDED;
		l->value = atoi(p + 28);
	}
}

static inline bool is_name(char c)
{
	return ((unsigned char)((c | 32) - 'a') < 26) || (unsigned char)(c - '0') < 10 ||
	       c == '_' || c == '$' || c == '?';
}

/* The table that -c and -C print at the end, its rule and rows. */
static bool is_summary(const char *p)
{
	return begins(p, "% time") || begins(p, "------") || begins(p, "100.00 ") ||
	       (isdigit((unsigned char)*p) && strspn(p, "0123456789. ") > 20);
}

/* What begins with no name: neither a call nor anything told of a process. */
static bool is_noise(const struct line *l)
{
	const char *p = l->text;

	return begins(p, "--- ") || begins(p, "strace: ") || begins(p, "Process ") ||
	       begins(p, "[ Process ") || *p == '>' || *p == '<' || !*p ||
	       is_summary(p) || ends_with(p, l->len, "<detached ...>");
}

static void lex_kind(struct line *l)
{
	static const char unfinished[] = "<unfinished ...>";
	const char *p = l->text;

	while (is_name(*p))
		p++;
	l->name = l->text;
	l->namelen = p - l->text;
	if (*p == '(' && p > l->text) {
		l->kind = LINE_CALL;
		if (l->text[l->len - 1] != '>')
			return;
		if (ends_with(l->text, l->len, unfinished)) {
			l->kind = LINE_UNFINISHED;
			l->len -= sizeof(unfinished) - 1;
		} else if (ends_with(l->text, l->len, "<detached ...>")) {
			l->kind = LINE_NOTHING;
		}
	} else if (begins(l->text, "<... ")) {
		lex_resumed(l);
	} else if (begins(l->text, "+++ ")) {
		lex_plus(l);
	} else {
		l->kind = is_noise(l) ? LINE_NOTHING : LINE_BAD;
	}
}

void lex_line(struct line *l, const char *text, size_t len)
{
	const char *p = text;

	*l = (struct line){ .kind = LINE_BAD };
	/* A stack line of -k; an answer of strace's own. */
	if (begins(p, " > ")) {
		l->kind = LINE_NOTHING;
		return;
	}
	if (!is_name(*p) || isdigit((unsigned char)*p))
		p = lex_brackets(lex_time(l, lex_pid(l, p)));
	l->text = p;
	l->len = len - (p - text);
	if (memchr(text, 0, len))
		return;
	lex_kind(l);
	if (l->kind == LINE_BAD && l->tid && is_summary(skip_blanks(text)))
		l->kind = LINE_NOTHING;
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

/* Behind the <...> at p: what -y says. Names of sockets have arrows in them. */
static const char *skip_angle(const char *p, const char *end)
{
	int depth = 0;

	for (; p < end; p++) {
		if (*p == '"')
			p = skip_string(p, end) - 1;
		else if (*p == '<')
			depth++;
		else if (*p == '>' && p[-1] != '-' && !--depth)
			return p + 1;
	}
	return end;
}

static bool opens_angle(const char *p)
{
	return p[1] != '<' && p[-1] != '<' &&
	       (isdigit((unsigned char)p[-1]) || p[-1] == 'D' || p[-1] == '>');
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
	if (!p++ || !text_number(&p, &s) || *p++ != '.')
		return;
	c->dur_ns = s * UINT64_C(1000000000) + text_fraction_ns(&p);
	c->timed = *p == '>';
}

/* " = 1", " = -1 ENOENT (...)", " = ? ERESTARTSYS (...)", " = 3</x>". */
static bool lex_result(struct call_text *c, const char *p, const char *end)
{
	p = skip_blanks(p);
	if (*p++ != '=')
		return false;
	lex_duration(c, p, end);
	p = skip_blanks(p);
	if (*p == '?') {
		const char *e = skip_blanks(p + 1);
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
	const char *e = skip_blanks(after);
	if (minus && *e == 'E') {
		int err = error_number(e);
		c->ret = err ? -err : -EIO;
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
	while (is_name(*p))
		p++;
	c->name = (struct word){ text, p - text };
	if (*p++ != '(')
		return false;
	while (p < end) {
		p = *p == ' ' ? skip_blanks(p) : p;
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
			p = unescape(p + 1, &buf[n++]);
		else
			buf[n++] = *p++;
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
