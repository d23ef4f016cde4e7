/*
 * logrun.c - struct run as the log holds it: fields of tag, length, bytes
 *
 * A reader passes over tags that it does not know, so that more can be added.
 */
#include "iops/log.h"
#include "iops/run.h"
#include "iops/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* X(number, member): text of fixed room */
#define TEXTS(X)                                                                         \
	X(1, id)                                                                         \
	X(2, boot_id)                                                                    \
	X(3, host)                                                                       \
	X(4, kernel)                                                                     \
	X(5, backend)                                                                    \
	X(6, why)                                                                        \
	X(11, title)                                                                     \
	X(14, no_patch)
/* X(number, member) */
#define NUMBERS(X)                                                                       \
	X(7, started_ns)                                                                 \
	X(8, epoch_ns)                                                                   \
	X(9, elapsed_ns)                                                                 \
	X(10, status)                                                                    \
	X(25, layers)
/* X(number, member): told if true */
#define FLAGS(X)                                                                         \
	X(16, complete)                                                                  \
	X(17, counters_only)                                                             \
	X(18, machine_wide)                                                              \
	X(19, verifies)                                                                  \
	X(20, imported)                                                                  \
	X(21, damaged)                                                                   \
	X(22, ended)                                                                     \
	X(23, snapshot)                                                                  \
	X(24, patches)                                                                   \
	X(26, story)                                                                     \
	X(27, filtered)

enum { TAG_ARG = 12, TAG_PID = 13 };

static void put_text(struct wire_out *o, unsigned tag, const char *s)
{
	wire_u64(o, tag);
	wire_text(o, s);
}

static void put_number(struct wire_out *o, unsigned tag, uint64_t n)
{
	uint8_t buf[WIRE_MAX];
	size_t len = wire_put(buf, n) - buf;

	wire_u64(o, tag);
	wire_u64(o, len);
	wire_bytes(o, buf, len);
}

static void put_texts(struct wire_out *o, const struct run *run)
{
#define X(number, member)                                                                \
	if (*run->member)                                                                \
		put_text(o, number, run->member);
	TEXTS(X)
#undef X
	for (char *const *arg = run->command; arg && *arg; arg++) {
		if (o->n + strlen(*arg) > LOG_ARGS_MAX)
			break;
		put_text(o, TAG_ARG, *arg);
	}
	for (unsigned i = 0; i < run->npids; i++)
		put_number(o, TAG_PID, (uint64_t)run->pids[i]);
}

void log_put_run(struct wire_out *o, const struct run *run, bool end)
{
	if (end) {
		put_text(o, 1, run->id);
		if (*run->no_patch) /* may have turned up meanwhile */
			put_text(o, 14, run->no_patch);
	} else {
		put_texts(o, run);
	}
#define X(number, member)                                                                \
	if (run->member)                                                                 \
		put_number(o, number, (uint64_t)run->member);
	NUMBERS(X)
#undef X
#define X(number, member)                                                                \
	if (run->member)                                                                 \
		put_number(o, number, 1);
	FLAGS(X)
#undef X
}

static int add_arg(struct log_run *k, const uint8_t *p, size_t len)
{
	if (k->argc + 1 >= k->capargs) {
		unsigned cap = k->capargs ? 2 * k->capargs : 16;
		char **more = realloc(k->argv, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		k->argv = more;
		k->capargs = cap;
	}
	char *s = strndup((const char *)p, len);
	if (!s)
		return -ENOMEM;
	k->argv[k->argc++] = s;
	k->argv[k->argc] = NULL;
	return 0;
}

static int add_pid(struct log_run *k, uint64_t pid)
{
	if (k->npids == k->cappids) {
		unsigned cap = k->cappids ? 2 * k->cappids : 4;
		int32_t *more = realloc(k->pids, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		k->pids = more;
		k->cappids = cap;
	}
	k->pids[k->npids++] = (int32_t)pid;
	return 0;
}

static int get_field(struct run *run, struct log_run *k, uint64_t tag, struct wire_in *f)
{
	size_t len = f->end - f->p;

	switch (tag) {
#define X(number, member)                                                                \
	case number:                                                                     \
		if (len >= sizeof(run->member))                                          \
			len = sizeof(run->member) - 1;                                   \
		memcpy(run->member, f->p, len);                                          \
		run->member[len] = 0;                                                    \
		break;
		TEXTS(X)
#undef X
#define X(number, member)                                                                \
	case number:                                                                     \
		run->member = wire_get(f);                                               \
		break;
		NUMBERS(X)
#undef X
#define X(number, member)                                                                \
	case number:                                                                     \
		run->member = wire_get(f) != 0;                                          \
		break;
		FLAGS(X)
#undef X
	case TAG_ARG:
		return add_arg(k, f->p, len);
	case TAG_PID:
		return add_pid(k, wire_get(f));
	}
	return f->bad ? -EINVAL : 0;
}

int log_get_run(struct wire_in *in, struct run *run, struct log_run *k)
{
	int err = 0;

	*run = (struct run){ 0 };
	log_run_fini(k);
	while (!err && in->p < in->end) {
		uint64_t tag = wire_get(in), len = wire_get(in);
		const uint8_t *p = wire_get_bytes(in, len);
		if (!p || in->bad)
			return -EINVAL;
		struct wire_in field = { p, p + len, false };
		err = get_field(run, k, tag, &field);
	}
	run->command = k->argc ? k->argv : NULL;
	run->pids = k->pids;
	run->npids = k->npids;
	return err;
}

void log_run_fini(struct log_run *k)
{
	for (unsigned i = 0; i < k->argc; i++)
		free(k->argv[i]);
	free(k->argv);
	free(k->pids);
	*k = (struct log_run){ 0 };
}
