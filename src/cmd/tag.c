/*
 * tag.c - iops tag-by-pid: a block trace in, tags of its processes and groups out
 *
 * The host may wait for each answer before it sends more, so none is held back and no
 * record is waited for while there is one to answer.
 */
#include "iops/cmd.h"
#include "iops/diag.h"
#include "iops/out.h"
#include "iops/tags.h"
#include "iops/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 2 * TAGS_RECORD_MAX };

struct stream {
	struct tags *tags;
	struct out out;
	struct wire_out answers;
	uint8_t *buf;
	size_t have;
	uint64_t at; /* of buf in the stream */
};

/* Whether to try again: after a signal, and when a descriptor that does not block is
 * ready. */
static bool again(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	if (errno == EAGAIN)
		poll(&p, 1, -1);
	return errno == EINTR || errno == EAGAIN;
}

static int put_answers(struct stream *s)
{
	const uint8_t *p = s->answers.p;

	for (size_t left = s->answers.n; left;) {
		ssize_t n = write(s->out.fd, p, left);
		if (n < 0 && !again(s->out.fd, POLLOUT))
			return diag_err(errno, "cannot write tags to %s", s->out.name);
		if (n > 0) {
			p += n;
			left -= n;
		}
	}
	s->answers.n = 0;
	return 0;
}

static int refuse(const struct stream *s, size_t at, int err)
{
	uint64_t byte = s->at + at;

	if (err == -ENOMEM)
		diag_err(err, "tag-by-pid");
	else if (err == -EPROTONOSUPPORT)
		diag("standard input: byte %" PRIu64
		     ": a block trace of another version than 7 and 8",
			byte);
	else if (!byte)
		diag("standard input: not a block trace: it does not begin as a record "
		     "does");
	else
		diag("standard input: byte %" PRIu64
		     ": no record of the block trace begins here; what follows is not "
		     "read",
			byte);
	return err;
}

/* What was answered is written even if what follows is refused. */
static int step(struct stream *s)
{
	ssize_t n = read(STDIN_FILENO, s->buf + s->have, BUFFER - s->have);
	size_t used;

	if (n < 0)
		return again(STDIN_FILENO, POLLIN) ? 1
						   : diag_err(errno, "standard input");
	if (!n && s->have) {
		diag("standard input: ends in the middle of a record, at byte %" PRIu64,
			s->at + s->have);
		return -EBADMSG;
	}
	s->have += n;
	int err = tags_answer(s->tags, s->buf, s->have, &used, &s->answers);
	int late = put_answers(s);
	if (late < 0)
		return late;
	if (err < 0)
		return refuse(s, used, err);
	s->have -= used;
	s->at += used;
	memmove(s->buf, s->buf + used, s->have);
	return n > 0;
}

static int serve(const struct options *o)
{
	struct stream s = { .tags = tags_new(&o->groups), .buf = malloc(BUFFER) };
	int err = 0;

	if (!s.tags || !s.buf)
		err = diag_err(ENOMEM, "tag-by-pid");
	else if (fcntl(STDIN_FILENO, F_GETFD) & FD_CLOEXEC) /* main() has filled it */
		err = diag_err(EBADF, "standard input");
	else
		err = out_open(&s.out, "-");
	if (!err) {
		while ((err = step(&s)) > 0)
			;
		int late = out_close(&s.out);
		err = err ? err : late;
	}
	wire_fini(&s.answers);
	free(s.buf);
	tags_free(s.tags);
	return err;
}

static int tag(const struct options *o)
{
	if (o->argc) {
		diag_usage("tag-by-pid", "tag-by-pid: unexpected %s", o->argv[0]);
		return EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	int err = serve(o);
	return err == -EBADMSG || err == -EPROTONOSUPPORT ? EXIT_DAMAGED : err < 0;
}

const struct command command_tag = {
	.name = "tag-by-pid",
	.args = "[-g NAME:PID[,PID...]]...",
	.help = "tell a program that draws block traces who did what\n"
		"\nRecords of a block trace on standard input, tags by process or group "
		"on\n"
		"standard output, each as soon as it is asked for.",
	.takes = "g",
	.main = tag,
};
