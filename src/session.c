/*
 * session.c - the only loop
 */
#include "iops/session.h"
#include "iops/op.h"
#include "iops/sink.h"
#include "iops/source.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t asked_stop, asked_snapshot;

/*
 * A signal may come between our look at the flags and the wait of the source. The
 * clock ticks on, so that it is seen a moment later.
 */
enum { TICK_US = 50 * 1000 };

#define FLUSH_NS UINT64_C(900000000)

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		asked_snapshot = 1;
	else if (sig != SIGALRM)
		asked_stop = 1;
}

static void catch (int sig)
{
	struct sigaction sa = { .sa_handler = on_signal }; /* no SA_RESTART: waits end */
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigaction(sig, &sa, NULL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static uint64_t monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

uint64_t session_now(const struct session *s)
{
	return monotonic() - s->epoch_ns;
}

void session_begin(struct session *s)
{
	struct itimerval every = { { 0, TICK_US }, { 0, TICK_US } };

	asked_stop = asked_snapshot = 0;
	catch (SIGALRM);
	catch (SIGUSR1);
	if (s->stop_on_signal) {
		catch (SIGTERM);
		catch (SIGINT);
		catch (SIGHUP);
	}
	s->epoch_ns = monotonic();
	setitimer(ITIMER_REAL, &every, NULL);
}

/* Every sink gets every operation, whatever another one says. */
static int fan_put(struct sink *sink, const struct op *op)
{
	struct session *s =
		(struct session *)((char *)sink - offsetof(struct session, fan));

	for (unsigned i = 0; i < s->nsinks; i++) {
		int err = sink_put(s->sink[i], op);
		if (err < 0 && !s->error)
			s->error = err;
	}
	return s->error;
}

struct sink *session_fan(struct session *s)
{
	static const struct sink_ops ops = { .name = "fan", .put = fan_put };

	s->fan.ops = &ops;
	return &s->fan;
}

/* What cannot be made safe is told when its sink is closed. */
static void flush_all(struct session *s)
{
	for (unsigned i = 0; i < s->nsinks; i++)
		sink_flush(s->sink[i]);
}

static int tick_all(struct session *s, uint64_t now)
{
	int err = 0;

	for (unsigned i = 0; i < s->nsinks; i++) {
		int one = sink_tick(s->sink[i], now);
		err = err ? err : one;
	}
	return err;
}

int session_run(struct session *s)
{
	static const struct itimerval never;
	struct sink *entry = s->entry ? s->entry : session_fan(s);
	uint64_t due = s->interval_ns, flush_due = FLUSH_NS;
	int got, err = 0;
	bool stopped = false;

	s->open_ns = session_now(s);
	while ((got = s->source->ops->step(s->source, entry)) > 0) {
		if (asked_snapshot && s->snapshot) {
			asked_snapshot = 0;
			s->snapshot(s->arg);
		}
		if (!s->interval_ns && !s->duration_ns && !s->flushes && !asked_stop)
			continue;
		uint64_t now = session_now(s);
		if (s->flushes && now >= flush_due) {
			flush_all(s);
			flush_due = now + FLUSH_NS;
		}
		if (s->interval_ns && now >= due) {
			err = tick_all(s, now);
			if (err < 0)
				break;
			while (due <= now)
				due += s->interval_ns;
		}
		if ((asked_stop ||
			    (s->duration_ns && now - s->open_ns >= s->duration_ns)) &&
			!stopped) {
			stopped = true;
			if (!s->source->ops->stop)
				break;
			s->source->ops->stop(s->source);
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
	if (s->interval_ns && !err && !got)
		err = tick_all(s, session_now(s));
	return err ? err : got < 0 ? got : s->error;
}
