/*
 * place.c - on which CPU the tracer runs
 *
 * Tracer and tracee take turns: one sleeps while the other runs. On two CPUs each turn
 * has to wake an idle CPU, which on virtual machines costs many times the turn itself.
 * On one CPU it is a plain switch. The tracee is not ours to move, and the scheduler
 * wakes it on any CPU that is idle. But a CPU on which only SCHED_IDLE tasks run is as
 * good as idle to it (sched_idle_cpu() in kernel/sched/fair.c): so a tracer that runs as
 * SCHED_IDLE where its tracee last ran gets it back there, at every turn. Where another
 * one goes on meanwhile, as a child that its parent waits for, the tracer follows.
 *
 * Such a tracer starves as soon as anything else wants that CPU. A watchman, a thread
 * that looks every few milliseconds, takes it back to normal then.
 *
 * Before there are turns to take the two have work to do at the same time: the command
 * its exec, the tracer what it will need then. So it is sent to another CPU for that.
 */
#include "tracer.h"
#include "iops/cpu.h"
#include "iops/slurp.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	WATCH_US = 3000,
	LOOK_EVERY = 64,      /* stops before the next look */
	CHANGES = 32,         /* of who stops, among them: more if several run, */
	SAMPLES = 4,          /* or if who stopped before mostly runs on */
	BUSY_NS = 150 * 1000, /* mean time between stops that makes it worth while */
	SLOW_NS = 30 * 1000,  /* between two stops: the tracee may have moved */
	FEW = 10,             /* stops between two looks of the watchman */
	PAUSE_MS = 250,       /* after a retreat; doubled each time */
	PAUSE_MAX_MS = 8000,
};

struct place {
	pid_t tracer; /* the thread that traces */
	cpu_set_t allowed;
	int policy; /* to go back to */
	pthread_t watchman;
	bool hired, refused; /* refused: once down there would be no way back up */
	sem_t wake;          /* the watchman sleeps unless we are down */
	atomic_bool down, ended;
	_Atomic uint64_t not_before_ns, stops;
	_Atomic unsigned pause_ms;
	pid_t lead;         /* who stopped last, */
	unsigned row, slow; /* so often in a row, */
	/* Since the last look: stops, changes of who that was, and of some of these
	 * whether the one before ran on. */
	unsigned run, changes, samples, running;
	unsigned cpu;
	uint64_t since_ns, last_ns;
	pid_t away, bound; /* who was sent off; who may not run where it might */
	cpu_set_t home;    /* where that was */
};

/* sched(7): to leave SCHED_IDLE takes CAP_SYS_NICE or room in RLIMIT_NICE. */
static bool may_return(void)
{
	char line[256];
	unsigned long long caps = 0;
	struct rlimit nice;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (f)
		fclose(f);
	return caps >> 23 & 1 || (!getrlimit(RLIMIT_NICE, &nice) && nice.rlim_cur >= 20);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* Nanoseconds that the tracer has waited for a CPU: /proc/TID/schedstat, second field. */
static uint64_t waited_ns(pid_t tid)
{
	char path[64], line[128];
	uint64_t waited = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	if (slurp(path, line, sizeof(line)) < 0)
		return 0;
	/* By hand: the report may just be settling the locale. */
	for (const char *p = strchrnul(line, ' '); *p && *++p >= '0' && *p <= '9';)
		waited = waited * 10 + (uint64_t)(*p - '0');
	return waited;
}

static void go_up(struct place *p)
{
	struct sched_param none = { 0 };

	sched_setscheduler(p->tracer, p->policy, &none);
	sched_setaffinity(p->tracer, sizeof(p->allowed), &p->allowed);
	p->down = false;
}

static void retreat(struct place *p)
{
	unsigned pause = p->pause_ms;

	go_up(p);
	p->not_before_ns = now_ns() + pause * UINT64_C(1000000);
	p->pause_ms = pause * 2 < PAUSE_MAX_MS ? pause * 2 : PAUSE_MAX_MS;
}

/* Starved: waiting for the CPU most of the time, and hardly a stop was served. */
static void *watch(void *arg)
{
	struct place *p = arg;
	uint64_t at = 0, waited = 0, stops = 0;

	while (!p->ended) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WATCH_US * 1000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (!p->down)
			sem_wait(&p->wake);
		else
			sem_timedwait(&p->wake, &until);
		uint64_t now = now_ns(), w = waited_ns(p->tracer), n = p->stops;
		if (p->down && at && n - stops < FEW && (w - waited) * 2 > now - at)
			retreat(p);
		at = p->down ? now : 0;
		waited = w;
		stops = n;
	}
	return NULL;
}

struct place *place_new(void)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->tracer = (pid_t)syscall(SYS_gettid);
	p->policy = sched_getscheduler(0);
	p->pause_ms = PAUSE_MS;
	if (sched_getaffinity(0, sizeof(p->allowed), &p->allowed) ||
		(p->policy != SCHED_OTHER && p->policy != SCHED_BATCH) ||
		sem_init(&p->wake, 0, 0) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

/* Only once there is something to watch: most commands are over before. */
static bool hire(struct place *p)
{
	sigset_t all, old;

	if (p->hired || p->refused)
		return p->hired;
	p->refused = !may_return();
	if (p->refused)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	p->hired = pthread_create(&p->watchman, NULL, watch, p) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return p->hired;
}

static void go_down(struct place *p, int cpu)
{
	struct sched_param none = { 0 };
	cpu_set_t one;
	bool was_down = p->down;

	if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &p->allowed) ||
		(p->down && cpu == (int)p->cpu))
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(p->tracer, sizeof(one), &one) < 0)
		return;
	p->cpu = cpu;
	if (p->down)
		return;
	if (was_down) { /* the watchman has just taken us back: not to one CPU */
		go_up(p);
		return;
	}
	if (!hire(p) || sched_setscheduler(p->tracer, SCHED_IDLE, &none) < 0) {
		go_up(p);
		return;
	}
	p->down = true;
	sem_post(&p->wake);
}

void place_leave(struct place *p)
{
	if (p && p->down)
		go_up(p);
}

/*
 * Whether so many stops came in a short time, and not of tasks that run beside each
 * other: those stop in turn, or while another one runs on; one that a shell waits for
 * stops time and again, while that sleeps.
 */
static void judge(struct place *p, pid_t tid, uint64_t now)
{
	bool busy = now - p->since_ns < (uint64_t)LOOK_EVERY * BUSY_NS * 4;
	bool beside = p->changes > CHANGES || p->running >= SAMPLES - 1;

	p->run = p->changes = p->samples = p->running = 0;
	if (!busy || beside)
		place_leave(p);
	else if (p->down || now_ns() >= p->not_before_ns)
		go_down(p, tracee_cpu(tid));
}

/* Called at each stop: where one task runs at a time, and stops often, to where it runs.
 */
void place_look(struct place *p, pid_t tid, uint64_t now)
{
	if (!p || p->refused)
		return;
	atomic_fetch_add_explicit(&p->stops, 1, memory_order_relaxed);
	if (!p->run)
		p->since_ns = now;
	if (tid != p->lead) {
		if (p->samples++ < SAMPLES)
			p->running += process_state(p->lead, p->lead) == 'R';
		p->lead = tid;
		p->changes++;
		p->row = p->slow = 0;
	}
	p->row++;
	p->slow = now - p->last_ns > SLOW_NS ? p->slow + 1 : 0;
	p->last_ns = now;
	if (++p->run == LOOK_EVERY)
		judge(p, tid, now);
	else if (p->down && (p->row == 2 || p->slow == 2))
		go_down(p, tracee_cpu(tid));
}

/* For a task that stands still, until place_settle(). */
static bool bind(struct place *p, pid_t tid, const cpu_set_t *cpus)
{
	if (!CPU_COUNT(cpus) || sched_setaffinity(tid, sizeof(*cpus), cpus) < 0)
		return false;
	p->bound = tid;
	return true;
}

/* A task that stands still goes on, on any CPU but this one, until it stops again. */
void place_send(struct place *p, pid_t tid)
{
	int here = cpu_here();

	if (!p || p->bound || here < 0 || here >= CPU_SETSIZE ||
		sched_getaffinity(tid, sizeof(p->home), &p->home) < 0)
		return;
	cpu_set_t others = p->home;
	CPU_CLR(here, &others);
	if (bind(p, tid, &others))
		p->away = tid;
}

/* Has the one that was sent off stopped? It goes on here. */
void place_fetch(struct place *p, pid_t tid)
{
	int here = cpu_here();
	cpu_set_t one;

	if (!p || p->away != tid)
		return;
	p->away = 0;
	if (here < 0 || here >= CPU_SETSIZE || !CPU_ISSET(here, &p->home))
		return;
	CPU_ZERO(&one);
	CPU_SET(here, &one);
	bind(p, tid, &one);
}

/* It runs by now where it should, and may run wherever it might before. */
void place_settle(struct place *p)
{
	if (p && p->bound)
		cpu_allow(p->bound, &p->home);
	if (p)
		p->bound = 0;
}

/* A task that runs on is not in our way, nor are we in its: on another CPU. */
void place_part(struct place *p, pid_t tid)
{
	int here = cpu_here();

	if (!p || p->down || here < 0 || here >= CPU_SETSIZE || here != tracee_cpu(tid))
		return;
	cpu_set_t others = p->allowed;
	CPU_CLR(here, &others);
	if (CPU_COUNT(&others) && !sched_setaffinity(p->tracer, sizeof(others), &others))
		sched_setaffinity(p->tracer, sizeof(p->allowed), &p->allowed);
}

void place_free(struct place *p)
{
	if (!p)
		return;
	p->ended = true;
	sem_post(&p->wake);
	if (p->hired)
		pthread_join(p->watchman, NULL);
	place_leave(p);
	sem_destroy(&p->wake);
	free(p);
}
