/*
 * wait.c - which tracee is served next
 *
 * wait4(2) looks at every tracee in turn, always in the same order: among thousands it
 * is slow, among two busy ones it serves the first until that is done. So stops are
 * collected into a queue, from three places: the tasks resumed last, the id that comes
 * with SIGCHLD, and a look at all of them that takes at most a small part of the time.
 */
#include "look.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

enum {
	STALE = 200,    /* fruitless looks at a recent task before it is dropped */
	MAX_SPIN = 200, /* looks before sleeping; waking up on another CPU costs more */
	FEW = 4,        /* of them, before it is asked whether they make sense */
	SPIN_AGAIN = 4096, /* stops after which spinning gets another chance */
	SCAN_SHARE = 8,    /* a scan may take one part in so many of the time */
	MIN_NAP_NS = 20 * 1000,
	MAX_NAP_NS = 10 * 1000 * 1000,
};

/* A child may stop for the first time before its parent's event tells of it. */
static struct task *stranger(struct tracer *t, pid_t tid)
{
	pid_t parent = 0, pid = process_tgid(tid, &parent);
	struct task *k = pid ? task_new(t, tid, pid, NULL) : NULL;

	if (k) {
		task_born(t, k, pid == tid ? parent : pid);
		k->held_back = t->fast ? tracer_now(t) : 0;
		return k;
	}
	struct op lost = { .kind = OP_LOST,
		.ret = 1,
		.tid = tid,
		.pid = pid,
		.fd = -1,
		.dur_ns = OP_NO_TIME,
		.offset = OP_NO_OFFSET,
		.start_ns = tracer_now(t) };
	tracer_put(t, &lost);
	ptrace(PTRACE_CONT, tid, 0, 0);
	return NULL;
}

static void collect(struct tracer *t, pid_t tid, int status)
{
	struct task *k = task_find(t, tid);

	if (!k && WIFSTOPPED(status))
		k = stranger(t, tid);
	if (k)
		queue_add(t, k, status);
}

/* As look_stopped(). */
static int look_at(struct tracer *t, pid_t tid)
{
	int status, got = look_stopped(t, tid, &tid, &status);

	if (got > 0)
		collect(t, tid, status);
	return got;
}

/*
 * The same for tasks that have ended. One that is killed with its group has no exit stop:
 * its counters can be read just as long as it is not reaped.
 */
static int look_ended(struct tracer *t, pid_t tid)
{
	siginfo_t info = { .si_pid = 0 };
	int status;

	if (waitid(tid ? P_PID : P_ALL, tid, &info,
		    WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
		return -errno;
	/* Stops of tracees are told whatever was asked for. */
	if (info.si_pid && (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED))
		return look_at(t, info.si_pid);
	struct task *k = info.si_pid ? task_find(t, info.si_pid) : NULL;
	if (k && !k->exiting) {
		if (t->fast)
			drain_killed(t, k);
		call_died(t, k);
		task_exiting(t, k);
	}
	if (!info.si_pid || waitpid(info.si_pid, &status, WNOHANG | __WALL) <= 0)
		return 0;
	collect(t, info.si_pid, status);
	return 1;
}

/* One that may be hidden by others. */
static void look_behind(struct tracer *t, struct task *k, void *arg)
{
	(void)arg;
	if (k->state == TASK_RUNNING && look_at(t, k->tid) == 0)
		look_ended(t, k->tid);
}

static bool look_recent(struct tracer *t)
{
	bool found = false;

	for (unsigned i = t->nrecent; i-- > 0;) {
		struct task *k = t->recent[i];
		if (k->state == TASK_RUNNING && look_at(t, k->tid) > 0)
			found = true;
		else if (++k->looks > STALE)
			t->recent[i] = t->recent[--t->nrecent];
	}
	return found;
}

static int scan(struct tracer *t)
{
	uint64_t begin = tracer_now(t);
	int found = 0, got;

	t->dirty = false;
	while ((got = look_at(t, 0)) > 0 || (got = look_ended(t, 0)) > 0) {
		found = 1;
		if (got == AT_SIGNAL) {
			t->dirty = true;
			tasks_each(t, look_behind, NULL);
			break;
		}
	}
	t->scan_ns = tracer_now(t);
	t->scan_cost_ns = t->scan_ns - begin;
	return found ? 1 : got;
}

/* Sleeping until another CPU wakes us costs far more than a few looks. */
static bool spin(struct tracer *t)
{
	if (t->stops % SPIN_AGAIN == 0 && t->may_spin)
		t->spin = MAX_SPIN;
	for (unsigned i = 0; i < t->spin; i++) {
		if (look_recent(t)) {
			t->spin = t->spin * 2 < MAX_SPIN ? t->spin * 2 : MAX_SPIN;
			return true;
		}
		/* It may be to run on this very CPU. Not sched_yield(2): where others
		 * want that too, each has its turn before. */
		if (i == FEW && t->nrecent &&
			tracee_is_beside(t->recent[t->nrecent - 1]->tid))
			return false;
	}
	t->spin /= 2;
	return false;
}

/* Sleep until something happens to one of many. 0, 1: nothing did in time, or -EINTR. */
static int sleep_for_any(struct tracer *t, uint64_t at_most_ns)
{
	siginfo_t info;
	sigset_t set;
	uint64_t due = t->scan_ns + SCAN_SHARE * t->scan_cost_ns, now = tracer_now(t);
	struct timespec left = { 0, due > now ? (long)(due - now) % 1000000000 : 0 };

	if (at_most_ns && (!t->dirty || (uint64_t)left.tv_nsec > at_most_ns))
		left.tv_nsec = (long)at_most_ns;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	int sig = sigtimedwait(&set, &info, t->dirty || at_most_ns ? &left : NULL);
	if (sig < 0)
		return errno == EAGAIN ? 1 : -errno;
	t->dirty = true; /* signals do not queue: others may have stopped too */
	if (info.si_pid > 0 && look_at(t, info.si_pid) <= 0)
		look_ended(t, info.si_pid);
	return 0;
}

/* What is not needed any more, now that nobody waits for us. */
static void tidy(struct tracer *t)
{
	if (t->fast)
		rings_bury(&t->fast->dead);
}

/* With one tracee there is no order to care for: wait for it, whatever its id. */
static int wait_single(struct tracer *t)
{
	int status;

	if (spin(t))
		return 0;
	tidy(t);
	pid_t tid = waitpid(-1, &status, __WALL);
	if (tid < 0)
		return -errno;
	collect(t, tid, status);
	return 0;
}

static int wait_many(struct tracer *t)
{
	uint64_t now = tracer_now(t);

	if (now - t->scan_ns >= SCAN_SHARE * t->scan_cost_ns) {
		int found = scan(t);
		if (found)
			return found < 0 ? found : 0;
	}
	if (spin(t) || look_recent(t))
		return 0;
	tidy(t);
	return sleep_for_any(t, t->held_ns ? MAX_NAP_NS : 0);
}

/* Nobody has stopped for a while: what is to be done for those who run can be done beside
 * them. From then on a look now and then. */
static void part(struct tracer *t, uint64_t now)
{
	enum { CALM_NS = 500 * 1000, AGAIN_NS = 4 * 1000 * 1000 };

	if (t->calm_stops != t->stops) {
		t->calm_stops = t->stops;
		t->part_ns = now + CALM_NS;
	} else if (now >= t->part_ns && t->fast->busiest) {
		t->part_ns = now + AGAIN_NS;
		place_part(t->place, t->fast->busiest);
	}
}

/*
 * Tasks with rings go on without stopping: their records are fetched every now and then,
 * in time before a ring is half full.
 */
static int wait_ringed(struct tracer *t)
{
	struct fast *f = t->fast;
	uint64_t now = tracer_now(t);
	bool scans = now - t->scan_ns >= SCAN_SHARE * t->scan_cost_ns;

	if (scans) {
		int found = scan(t);
		if (found)
			return found < 0 ? found : 0;
	}
	if ((t->by_stops && spin(t)) || (!scans && look_recent(t)))
		return 0;
	part(t, now);
	/* Passes that stops have made count too: how fast do rings fill? */
	if (drain_all(t) > RING_PARTS / 2)
		return 0;
	uint64_t nap = (uint64_t)((double)f->fill_ticks * f->clock.ns_per_tick);
	int err = sleep_for_any(t, nap < MIN_NAP_NS   ? MIN_NAP_NS
				   : nap > MAX_NAP_NS ? MAX_NAP_NS
						      : nap);
	if (err > 0)
		tidy(t);
	return err;
}

/*
 * Whether most calls come through rings, by the last of them. Else, as in programs whose
 * sites cannot be patched, all is as if there were none: waking up costs most.
 */
static bool come_by_rings(struct tracer *t)
{
	enum { SOME = 256 };
	const struct fast *f = t->fast;

	if (!f || !f->nringed)
		return false;
	uint64_t stops = t->stops - t->judged_stops;
	if (stops >= SOME) {
		t->by_stops = f->records - t->judged_records < stops;
		t->judged_stops = t->stops;
		t->judged_records = f->records;
	}
	return !t->by_stops;
}

int wait_next(struct tracer *t, struct task **out)
{
	place_settle(t->place);
	if (!t->queue) {
		int err = t->fast && (t->fast->nringed || t->stopping) ? wait_ringed(t)
			  : t->ntasks > 1 || !t->launch || t->held_ns  ? wait_many(t)
								       : wait_single(t);
		if (err < 0)
			return err == -ECHILD ? 0 : err;
		if (!t->queue)
			return -EINTR;
	}
	*out = queue_take(t);
	place_fetch(t->place, (*out)->tid);
	t->stops++;
	if (come_by_rings(t))
		place_leave(t->place);
	else
		place_look(t->place, (*out)->tid, tracer_now(t));
	return 1;
}
