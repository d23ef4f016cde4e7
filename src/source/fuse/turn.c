/*
 * turn.c - which worker takes the next request
 *
 * What a worker needs is in the cache of its CPU, and the kernel wakes them in turn. So
 * few take requests, and the others are parked. One alone and its caller would be on two
 * CPUs for ever, each to be woken from afar; of three, one was last where the caller is.
 * One more is let go where requests wait: when several in a row were there at once, or
 * when a watcher sees that all who take them are at one for long.
 */
#include "fs.h"

#include <errno.h>
#include <unistd.h>

#define AT_ONCE_NS UINT64_C(2500)    /* less than the way to sleep and back */
#define LONG_NS    UINT64_C(3000000) /* at one request */

enum { STREAK = 16, SLACK = 16, WATCH_US = 3000, QUIET_ROUNDS = 10 };

void turn_init(struct fs *fs)
{
	pthread_mutex_init(&fs->turns, NULL);
	pthread_cond_init(&fs->granted, NULL);
	pthread_cond_init(&fs->watched, NULL);
}

/* One more worker takes requests. */
static void widen(struct fs *fs)
{
	bool more = false;

	pthread_mutex_lock(&fs->turns);
	if (fs->parked > fs->grants) {
		fs->active++;
		fs->grants++;
		pthread_cond_signal(&fs->granted);
	} else {
		more = !fs->starting && !fs->ended;
		fs->starting |= more;
	}
	pthread_mutex_unlock(&fs->turns);
	if (!more)
		return;
	fs->start_worker(fs);
	pthread_mutex_lock(&fs->turns);
	fs->starting = false;
	pthread_mutex_unlock(&fs->turns);
}

/* Wait for a turn, unless few others take requests. */
static void park(struct fs *fs)
{
	pthread_mutex_lock(&fs->turns);
	if (fs->active > LEAST_WORKERS && !fs->ended) {
		fs->active--;
		fs->parked++;
		while (!fs->grants && !fs->ended)
			pthread_cond_wait(&fs->granted, &fs->turns);
		fs->parked--;
		fs->grants -= fs->grants > 0;
	}
	pthread_mutex_unlock(&fs->turns);
}

void turn_end(struct fs *fs)
{
	pthread_mutex_lock(&fs->turns);
	fs->ended = true;
	pthread_cond_broadcast(&fs->granted);
	pthread_cond_broadcast(&fs->watched);
	pthread_mutex_unlock(&fs->turns);
}

static void wake_watcher(struct fs *fs)
{
	if (!fs->watcher_sleeps)
		return;
	pthread_mutex_lock(&fs->turns);
	pthread_cond_signal(&fs->watched);
	pthread_mutex_unlock(&fs->turns);
}

/* Whether all who take requests are at one for long. */
static bool all_busy(struct fs *fs, uint64_t now, bool *any)
{
	unsigned busy = 0;

	for (unsigned i = 0; i < fs->nworkers; i++) {
		uint64_t since = fs->worker[i]->busy_ns;
		*any |= since || fs->worker[i]->served;
		fs->worker[i]->served = false;
		busy += since && now > since + LONG_NS;
	}
	return busy >= fs->active;
}

void *turn_watch(void *arg)
{
	struct fs *fs = arg;
	int quiet = 0;

	while (!fs->ended) {
		bool any = false;
		usleep(WATCH_US);
		if (all_busy(fs, fuse_now(), &any))
			widen(fs);
		quiet = any ? 0 : quiet + 1;
		if (quiet < QUIET_ROUNDS)
			continue;
		pthread_mutex_lock(&fs->turns);
		fs->watcher_sleeps = true;
		if (!fs->ended)
			pthread_cond_wait(&fs->watched, &fs->turns);
		fs->watcher_sleeps = false;
		pthread_mutex_unlock(&fs->turns);
		quiet = 0;
	}
	return NULL;
}

/* 1: a request; 0: none now; -1: there will be none. ENOENT: it was taken back. */
static int take(struct worker *w)
{
	ssize_t n = read(w->fd, w->in, w->in_size);

	if (n >= (ssize_t)sizeof(struct fuse_in_header))
		return 1;
	return n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN) ? 0 : -1;
}

bool turn_take(struct worker *w)
{
	struct fs *fs = w->fs;

	for (;;) {
		uint64_t before = fuse_now();
		int got = take(w);
		if (got < 0)
			return false;
		if (got) {
			bool at_once = fuse_now() - before < AT_ONCE_NS;
			w->streak = at_once ? w->streak + 1 : 0;
			if (w->streak > STREAK) {
				w->streak = 0;
				caller_become(w, NULL);
				widen(fs);
			}
			wake_watcher(fs);
			return true;
		}
	}
}

/* Those that find nothing to do leave it to one of them. */
void turn_done(struct worker *w)
{
	struct fs *fs = w->fs;

	w->slack = w->streak ? 0 : w->slack + 1;
	if (w->slack > SLACK && fs->active > LEAST_WORKERS) {
		w->slack = 0;
		park(fs);
	}
}
