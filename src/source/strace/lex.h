/*
 * lex.h - lines of strace(1) taken apart. Nothing here knows what a call means.
 */
#ifndef IOPS_SOURCE_STRACE_LEX_H
#define IOPS_SOURCE_STRACE_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* No time of a line and no latency is longer: sums of two are numbers all the same. */
#define LINE_TIME_MAX (UINT64_C(4000000000) * 1000000000)

enum { LINE_PID_MAX = 1 << 22 };

enum line_kind {
	LINE_CALL,       /* text: "read(3, "x", 1) = 1" */
	LINE_UNFINISHED, /* text: "read(3, ", without the words */
	LINE_RESUMED,    /* text: ""x", 1) = 1"; name: "read" */
	LINE_EXITED,     /* value: exit status */
	LINE_KILLED,     /* value: signal's number, 0 if it has none that we know */
	LINE_SUPERSEDED, /* value: the thread whose execve goes on under this id */
	LINE_BROKEN,     /* a call that a word of strace broke off; text: what is there */
	LINE_HELD,       /* that call's "<unfinished ...>" */
	LINE_SUMMARY,    /* title or rule of a table, whose rows follow */
	LINE_NOTHING,    /* a signal, a word of strace itself, a stack */
	LINE_BAD,
};

enum line_clock {
	CLOCK_NONE,
	CLOCK_DAY,   /* time of the day */
	CLOCK_EPOCH, /* since 1970 */
	CLOCK_DELTA, /* since the line before */
};

struct word {
	const char *p;
	size_t len;
};

struct line {
	enum line_kind kind;
	int tid;          /* 0: the line does not say */
	bool filed;       /* as in a file of -o, where nothing else is mixed in */
	struct word comm; /* "1234<cat>": --decode-pids=comm */
	enum line_clock clock;
	bool fine; /* the time has a fraction */
	uint64_t time_ns;
	const char *name;
	size_t namelen;
	const char *text;
	size_t len; /* of all kinds but LINE_NOTHING */
	int value;
};

enum { CALL_ARGS = 8 };

/* A whole call: name(args) = result. */
struct call_text {
	struct word name, arg[CALL_ARGS];
	unsigned nargs;
	bool known;       /* false: "= ?" */
	int64_t ret;      /* or -errno */
	struct word path; /* "= 3</etc/passwd>" */
	bool timed;
	uint64_t dur_ns; /* <0.000012> */
};

/* Take the front of a line apart. text must be NUL-terminated at len. */
void lex_line(struct line *l, const char *text, size_t len);

/* A call's text, NUL-terminated at len. false: it is not one, or is cut. */
bool lex_call(struct call_text *c, const char *text, size_t len);

/* The number that a word begins with, in any base that strace prints; or fallback. */
int64_t lex_number(struct word w, int64_t fallback);

/* Whether flags hold one, by its name or, of -X raw, its bits. */
bool lex_flag(struct word w, const char *name, uint64_t bits);

/*
 * A descriptor with what -y says of it: "3</etc/passwd>", "AT_FDCWD</home>". path is
 * empty if nothing is said. false: no descriptor.
 */
bool lex_fd(struct word w, int *fd, struct word *path);

/*
 * The text of "..." or <...> without its escapes, into buf. Returns its length, or -1 if
 * it is no string or was cut ("..."...).
 */
long lex_string(struct word w, char *buf, size_t size);

/* The next element of "[a, {b, c}]" or "{a=1, b=2}" or "a, b" from *at on. */
bool lex_element(struct word *rest, struct word *element);

/* What "name=" is in a structure "{name=value, ...}", at its top level. */
bool lex_member(struct word structure, const char *name, struct word *value);

/* What a name of a call is made of. */
static inline bool lex_is_name(char c)
{
	return ((unsigned char)((c | 32) - 'a') < 26) || (unsigned char)(c - '0') < 10 ||
	       c == '_' || c == '$' || c == '?';
}

static inline const char *lex_blanks(const char *p)
{
	while (*p == ' ')
		p++;
	return p;
}

static inline bool lex_begins(const char *p, const char *with)
{
	return !strncmp(p, with, strlen(with));
}

bool word_is(struct word w, const char *text);
bool word_has(struct word w, const char *text);

#endif
