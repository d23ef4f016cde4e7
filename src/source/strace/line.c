/*
 * line.c - the front of a line of strace(1): who, when, and what kind of line it is
 */
#include "lex.h"
#include "iops/diag.h"
#include "../text.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* "1234 ", "1234<bash> ", "[pid  1234] ": -f. */
static const char *lex_pid(struct line *l, const char *p)
{
	bool bracket = lex_begins(p, "[pid ");
	const char *s = lex_blanks(bracket ? p + 5 : p);
	uint64_t n;

	if (!text_number(&s, &n) || n > LINE_PID_MAX)
		return p;
	if (*s == '<') {
		const char *comm = ++s;
		while (*s && *s != '>')
			s++;
		l->comm = (struct word){ comm, s - comm };
		s += *s == '>';
	}
	if (bracket ? *s != ']' : *s != ' ')
		return p;
	l->tid = (int)n;
	l->filed = !bracket;
	return lex_blanks(s + 1);
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
	return lex_blanks(p);
}

/* -t and its kin; "(+     0.000012)" of -r beside them says nothing new. */
static const char *lex_time(struct line *l, const char *p)
{
	const char *s = lex_blanks(p);
	uint64_t n = 0;

	if (isdigit((unsigned char)s[0]) && isdigit((unsigned char)s[1]) && s[2] == ':') {
		p = lex_day(l, s);
	} else if (text_number(&s, &n) && *s == '.' && n < LINE_TIME_MAX / 1000000000) {
		s++;
		l->time_ns = n * UINT64_C(1000000000) + text_fraction_ns(&s);
		l->clock = n > 100000000 ? CLOCK_EPOCH : CLOCK_DELTA;
		l->fine = true;
		p = lex_blanks(s);
	} else if (*s == ' ' && n > 100000000 && n < LINE_TIME_MAX / 1000000000) {
		/* -ttt without a fraction: "--absolute-timestamps=format:unix" */
		l->time_ns = n * UINT64_C(1000000000);
		l->clock = CLOCK_EPOCH;
		p = lex_blanks(s);
	}
	if (p[0] == '(' && p[1] == '+') {
		const char *end = strchr(p, ')');
		p = end ? lex_blanks(end + 1) : p;
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
		p = lex_blanks(end + 1);
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
	if (lex_begins(p, "exited with ")) {
		l->kind = LINE_EXITED;
		l->value = atoi(p + 12) & 0xff;
	} else if (lex_begins(p, "killed by ")) {
		l->kind = LINE_KILLED;
		l->value = signal_number(p + 10);
	} else if (lex_begins(p, "superseded by execve in pid ")) {
		l->kind = LINE_SUPERSEDED;
		l->value = atoi(p + 28);
	}
}

/* The table that -c and -C print at the end: its title and rule; rows follow them. */
static bool is_summary(const char *p)
{
	static const char *const first[] = { "------", "% time ", "total time ",
		"min time ", "max time ", "avg time ", "seconds ", "usecs/call ",
		"calls ", "errors ", "syscall ", "System call usage summary" };

	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		if (lex_begins(p, first[i]))
			return true;
	return false;
}

/* "100.00    0.001234           1       812        12 total" */
static bool is_row(const char *p)
{
	size_t n = strspn(p, "0123456789");

	return n && p[n] == '.' && isdigit((unsigned char)p[n + 1]) &&
	       isdigit((unsigned char)p[n + 2]) && p[n + 3] == ' ';
}

/* What begins with no name: neither a call nor anything told of a process. */
static bool is_noise(const struct line *l)
{
	const char *p = l->text;

	return lex_begins(p, "--- ") || lex_begins(p, "strace: ") ||
	       lex_begins(p, "Process ") || lex_begins(p, "[ Process ") || *p == '>' ||
	       *p == '<' || !*p || ends_with(p, l->len, "<detached ...>");
}

/* "clone(...Process 5 attached": a word of strace itself breaks a call off. */
static bool broken_off(struct line *l)
{
	char end = l->text[l->len - 1];

	if ((end != 'd' || !ends_with(l->text, l->len, " attached")) &&
		(end != ')' || !ends_with(l->text, l->len, "(waiting for parent)")))
		return false;
	const char *p = memmem(l->text, l->len, "strace: Process ", 16);
	p = p ? p : memmem(l->text, l->len, "Process ", 8);
	if (!p)
		return false;
	l->len = p - l->text;
	l->kind = LINE_BROKEN;
	return true;
}

static void lex_call_kind(struct line *l)
{
	static const char unfinished[] = "<unfinished ...>", changed[] = "<pid changed ";

	l->kind = LINE_CALL;
	if (l->text[l->len - 1] != '>') {
		broken_off(l);
	} else if (ends_with(l->text, l->len, unfinished)) {
		l->kind = LINE_UNFINISHED;
		l->len -= sizeof(unfinished) - 1;
	} else if (ends_with(l->text, l->len, "<detached ...>")) {
		l->kind = LINE_NOTHING;
	} else if (ends_with(l->text, l->len, " ...>")) {
		/* execve by a thread: it goes on under the id of its process. */
		const char *p = memrchr(l->text, '<', l->len);
		if (!p || !lex_begins(p, changed))
			return;
		l->kind = LINE_UNFINISHED;
		l->len = p - l->text;
	}
}

static void lex_kind(struct line *l)
{
	const char *p = l->text;

	while (lex_is_name(*p))
		p++;
	l->name = l->text;
	l->namelen = p - l->text;
	if (*p == '(' && p > l->text)
		lex_call_kind(l);
	else if (lex_begins(l->text, "<... "))
		lex_resumed(l);
	else if (lex_begins(l->text, "+++ "))
		lex_plus(l);
	else if (is_summary(l->text))
		l->kind = LINE_SUMMARY;
	else if (lex_begins(lex_blanks(p), "<unfinished ...>"))
		l->kind = LINE_HELD;
	else
		l->kind = is_noise(l) ? LINE_NOTHING : LINE_BAD;
}

/* Lines of -k: " > /lib/x(read+0xd)"; of -e read=: " | 00000  68 65", " * 5 bytes in". */
static bool is_detail(const char *p)
{
	return *p == ' ' && (p[1] == '>' || p[1] == '|' || p[1] == '*') && p[2] == ' ';
}

void lex_line(struct line *l, const char *text, size_t len)
{
	const char *p = text;

	*l = (struct line){ .kind = LINE_BAD };
	if (is_detail(p)) {
		l->kind = LINE_NOTHING;
		return;
	}
	if (!lex_is_name(*p) || isdigit((unsigned char)*p))
		p = lex_brackets(lex_time(l, lex_pid(l, p)));
	l->text = p;
	l->len = len - (p - text);
	if (memchr(text, 0, len)) {
		l->len = 0; /* nor the rest of any call */
		return;
	}
	lex_kind(l);
	/* What looks like a time is a number of the table. */
	if ((l->kind == LINE_BAD || l->kind == LINE_NOTHING) &&
		is_row(lex_blanks(text))) {
		l->kind = LINE_NOTHING;
		l->clock = CLOCK_NONE;
		l->tid = 0;
	}
}
