/*
 * fs_usage_line.c - one line of fs_usage(1) taken apart
 *
 *	TIME  CALL  fields  path  SECONDS [W] COMMAND[.THREAD]
 *
 * Nothing but position says what a word is. Fields are known by their form, the rest is
 * read from its right end: there the time is the last word that looks like one.
 */
#include "fs_usage.h"
#include "iops/op.h"
#include "text.h"

#include <errno.h>
#include <string.h>

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static const char *skip_blanks(const char *p)
{
	while (blank(*p))
		p++;
	return p;
}

static const char *skip_word(const char *p)
{
	while (*p && !blank(*p))
		p++;
	return p;
}

/* Two digits below max, and what stands behind them. */
static bool two(const char **p, unsigned max, char behind, uint64_t *out)
{
	const char *s = *p;

	if (!digit(s[0]) || !digit(s[1]) || (behind && s[2] != behind))
		return false;
	*out = (s[0] - '0') * 10u + (s[1] - '0');
	*p = s + 2 + !!behind;
	return *out < max;
}

static bool clock_time(const char **p, struct fs_line *l)
{
	uint64_t h, m, s;

	if (!two(p, 24, ':', &h) || !two(p, 60, ':', &m) || !two(p, 61, 0, &s))
		return false;
	l->day_ns = ((h * 60 + m) * 60 + s) * UINT64_C(1000000000);
	if (**p == '.') {
		const char *from = ++*p;
		l->day_ns += text_fraction_ns(p);
		l->digits = *p - from;
	}
	return blank(**p);
}

static bool call_name(const char **p, struct fs_line *l)
{
	const char *s = skip_blanks(*p), *e = s;

	while (letter(*e) || digit(*e) || (*e && strchr("[]-.", *e)))
		e++;
	l->call = (struct fs_word){ s, e - s };
	*p = e;
	return letter(*s) && e - s <= FS_CALL_MAX && (!*e || blank(*e));
}

static int hex(char c)
{
	if (digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "0x1f" or "31", signed or not, within 63 bits; what is no number is passed over. */
static const char *number(const char *p, int64_t *out)
{
	bool minus = *p == '-';
	const char *s = p + minus, *from;
	int base = s[0] == '0' && (s[1] | 0x20) == 'x' ? 16 : 10;
	uint64_t n = 0;
	bool fits = true;

	if (base == 16)
		s += 2;
	for (from = s; *s && hex(*s) >= 0 && hex(*s) < base; s++) {
		fits &= n <= (uint64_t)(INT64_MAX - hex(*s)) / base;
		n = n * base + hex(*s);
	}
	if (s > from && fits)
		*out = minus ? -(int64_t)n : (int64_t)n;
	return s > from ? s : skip_word(p);
}

static const char *descriptor(const char *p, struct fs_line *l)
{
	int64_t n = -1;

	p = number(p, &n);
	if (n < 0 || n > INT32_MAX)
		return p;
	if (l->fd < 0)
		l->fd = n;
	else
		l->fd2 = n;
	return p;
}

/* "F=3" and the like, known by one capital and the sign behind it. */
static const char *field(const char *p, struct fs_line *l)
{
	int64_t n = 0;

	switch (*p) {
	case 'F':
		return descriptor(p + 2, l);
	case 'B':
		p = number(p + 2, &n);
		l->bytes = n;
		return p;
	case 'O':
		n = OP_NO_OFFSET;
		p = number(p + 2, &n);
		l->offset = n >= 0 ? n : OP_NO_OFFSET;
		return p;
	case 'D':
		l->disk = true;
		break;
	}
	return number(p + 2, &n);
}

/* "[  2]" is an errno, "[5]/name" a path relative to a descriptor. NULL: neither. */
static const char *bracket(const char *p, struct fs_line *l)
{
	int64_t n = 0;
	const char *s = skip_blanks(p + 1), *e = s + (*s == '-');

	while (digit(*e))
		e++;
	if (*e != ']' || e - s < 1 || e - s > 7)
		return NULL;
	number(s, &n);
	if (e[1] == '/') {
		l->dirfd = n;
		l->at = true;
		return NULL;
	}
	l->err = n;
	return e + 1;
}

/* "(RWC__)" of open(), "(R__X)" of access(); a name may begin with a "(" too. */
static const char *flags(const char *p)
{
	const char *s = p + 1;

	while (letter(*s))
		s++;
	return *s == ')' && memchr(p, '_', s - p) && (!s[1] || blank(s[1])) ? s + 1
									    : NULL;
}

/* "<SEEK_SET>", "<LOCK_EX | LOCK_NB>", "<AF_INET, SOCK_STREAM, 0x6>" */
static const char *angle(const char *p, struct fs_line *l)
{
	const char *e = strchr(p, '>');

	if (!e)
		return NULL;
	l->full_sync |=
		!strncmp(p, "<FULLFSYNC>", 11) || !strncmp(p, "<BARRIERFSYNC>", 14);
	return e + 1;
}

/* "/dev/disk1s2" stands before the path, whether or not there is one. */
static const char *device(const char *p, struct fs_line *l)
{
	const char *e = skip_word(p);

	if (!l->disk || l->device.len || strncmp(p, "/dev/", 5))
		return NULL;
	l->device = (struct fs_word){ p, e - p };
	return e;
}

/* All that has the form of a field. What is left is the path and what follows it. */
static const char *fields(const char *p, struct fs_line *l)
{
	for (const char *next = p; next; p = next ? next : p) {
		p = skip_blanks(p);
		if (*p && strchr("FBODAPSN", *p) && p[1] == '=')
			next = field(p, l);
		else if (*p == '[')
			next = bracket(p, l);
		else if (*p == '(')
			next = flags(p);
		else if (*p == '<')
			next = angle(p, l);
		else if (!strncmp(p, "BC:", 3) && l->disk)
			next = skip_word(p);
		else
			next = device(p, l);
	}
	return p;
}

/* Seconds as "0.000012": how many digits behind the point, 0 if it is none. */
static unsigned seconds(const char *s, const char *e, uint64_t *ns)
{
	uint64_t sec;

	if (s == e || !digit(*s) || !text_number(&s, &sec) || *s != '.' ||
		sec > 100000000)
		return 0;
	const char *from = ++s;
	*ns = sec * UINT64_C(1000000000) + text_fraction_ns(&s);
	return s == e && s - from <= 9 ? s - from : 0;
}

/* The word that ends before e, going left: its begin, and its end in *end. */
static const char *word_before(const char *from, const char *e, const char **end)
{
	while (e > from && blank(e[-1]))
		e--;
	*end = e;
	while (e > from && !blank(e[-1]))
		e--;
	return e;
}

/* Is the word before e a time, or a time and its "W"? */
static bool time_before(const char *from, const char *e)
{
	const char *end, *s = word_before(from, e, &end);
	uint64_t ns;

	if (end - s == 1 && *s == 'W')
		s = word_before(from, s, &end);
	return seconds(s, end, &ns) > 0;
}

/*
 * The word that tells how long the call took: in [*s, *e) and *ns. At the very end of a
 * cut line only with all its digits, and unless it is the name of the command, as "7.12"
 * of a thread of a program named 7. A name holds no slash.
 */
static bool find_time(const char *from, const char **s, const char **e, uint64_t *ns)
{
	const char *end = *e;

	for (const char *at = end; at > from; at = *s) {
		*s = word_before(from, at, e);
		if (memchr(*s, '/', *e - *s))
			return false;
		unsigned n = seconds(*s, *e, ns);
		bool last = *e == end;
		bool apart = *s - from < 2 || blank((*s)[-2]);
		if (n && (last ? n == 6 && !time_before(from, *s) : n == 6 || apart))
			return true;
	}
	return false;
}

/* The command, and its thread. Without a thread "python2.7" is all of the name. */
static void command(struct fs_line *l, const char *s, const char *e)
{
	const char *dot = e;

	while (dot > s && digit(dot[-1]))
		dot--;
	if (dot > s && dot[-1] == '.' && (l->digits == 6 ? e > dot : e - dot >= 3)) {
		const char *p = dot;
		if (text_number(&p, &l->tid))
			e = dot - 1;
	}
	l->comm = (struct fs_word){ s, e - s };
}

/* Behind the time: "W" if the call waited, and the command. */
static void after_time(struct fs_line *l, const char *time_end)
{
	const char *s = skip_blanks(time_end), *rest = skip_blanks(s + !!*s);

	if (*s == 'W' && (*rest ? blank(s[1]) : s - time_end == 1 && !s[1]))
		s = rest;
	command(l, s, s + strlen(s));
}

/* Without a time: cut within the path or in the time, or never printed with one. */
static void without_time(struct fs_line *l, const char *s, const char **end)
{
	const char *e = *end, *word = word_before(s, e, &e);

	if ((word == s || (word - s >= 2 && blank(word[-2]))) && word < e &&
		strspn(word, "0123456789.") == (size_t)(e - word))
		word = word_before(s, word, &e); /* half of a time */
	const char *name = NULL;
	for (const char *gap = e; gap - s >= 2 && gap[-1] != '/' && !name; gap--)
		if (blank(gap[-1]) && blank(gap[-2]))
			name = gap;
	if (!name && l->digits != 6 && !memchr(s, '/', e - s))
		name = s;
	if (name)
		command(l, name, e);
	*end = name ? name : e;
}

/* What fs_usage marks as cut on the left. */
static void path(struct fs_line *l, const char *s, const char *e)
{
	if (l->at && (s = memchr(s, ']', e - s)))
		s += 2; /* "[5]/name" */
	while (s && !strncmp(s, ">>>>", 4))
		s += 4 + (s[4] == ' ');
	while (s && e > s && blank(e[-1]))
		e--;
	if (s && e > s)
		l->path = (struct fs_word){ s, e - s };
}

int fs_line_parse(struct fs_line *l, const char *text, size_t len)
{
	const char *p = text, *s, *e = text + len;

	*l = (struct fs_line){ .dur_ns = OP_NO_TIME,
		.fd = -1,
		.fd2 = -1,
		.bytes = -1,
		.offset = OP_NO_OFFSET };
	if (!clock_time(&p, l) || !call_name(&p, l))
		return -EINVAL;
	p = fields(p, l);
	const char *end = e;
	uint64_t ns;
	if (find_time(p, &s, &end, &ns)) {
		l->dur_ns = ns;
		after_time(l, end);
		end = s;
	} else {
		end = e;
		without_time(l, p, &end);
	}
	path(l, p, end);
	return 0;
}
