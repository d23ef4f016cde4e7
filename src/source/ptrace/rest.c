/*
 * rest.c - transfers that our presence has ended half done, made whole
 *
 * As again.c, where something was transferred before a signal came that would never have
 * been queued otherwise, or an interrupt of ours: the call returns what that was, where
 * without us it would have gone on until all is. What is left is made by one more call,
 * and at its exit there are the arguments of the program, and the sum.
 */
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

/* What goes on until all is transferred: what is written to a descriptor that blocks;
 * what is copied, to a file as well, up to the end of the other one; what is received,
 * where all is asked for; what devices of memory give, and random bytes. */
enum how { HOW_OUT, HOW_COPY, HOW_ALL, HOW_MEMORY, HOW_RANDOM };

/* Where the data is: there, or in the parts of a vector, which may be in a message. */
enum where { DATA_PLAIN, DATA_VECTOR, DATA_MESSAGE };

/* Which arguments are what; -1: it has none. offset: of the file, where it is not that of
 * the descriptor; rwf: RWF_NOWAIT and the like. */
struct transfer {
	short nr;
	enum how how;
	enum where where;
	int8_t fd, data, size, flags, offset, rwf;
};

static const struct transfer transfers[] = {
	{ SYS_write, HOW_OUT, DATA_PLAIN, 0, 1, 2, -1, -1, -1 },
	{ SYS_writev, HOW_OUT, DATA_VECTOR, 0, 1, 2, -1, -1, -1 },
	{ SYS_pwritev2, HOW_OUT, DATA_VECTOR, 0, 1, 2, -1, 3, 5 },
	{ SYS_sendto, HOW_OUT, DATA_PLAIN, 0, 1, 2, 3, -1, -1 },
	{ SYS_sendmsg, HOW_OUT, DATA_MESSAGE, 0, 1, -1, 2, -1, -1 },
	{ SYS_sendfile, HOW_COPY, DATA_PLAIN, 0, -1, 3, -1, -1, -1 },
	{ SYS_copy_file_range, HOW_COPY, DATA_PLAIN, 2, -1, 4, -1, -1, -1 },
	{ SYS_recvfrom, HOW_ALL, DATA_PLAIN, 0, 1, 2, 3, -1, -1 },
	{ SYS_recvmsg, HOW_ALL, DATA_MESSAGE, 0, 1, -1, 2, -1, -1 },
	{ SYS_read, HOW_MEMORY, DATA_PLAIN, 0, 1, 2, -1, -1, -1 },
	{ SYS_readv, HOW_MEMORY, DATA_VECTOR, 0, 1, 2, -1, -1, -1 },
	{ SYS_pread64, HOW_MEMORY, DATA_PLAIN, 0, 1, 2, -1, 3, -1 },
	{ SYS_preadv, HOW_MEMORY, DATA_VECTOR, 0, 1, 2, -1, 3, -1 },
	{ SYS_preadv2, HOW_MEMORY, DATA_VECTOR, 0, 1, 2, -1, 3, 5 },
	{ SYS_getrandom, HOW_RANDOM, DATA_PLAIN, -1, 0, 1, 2, -1, -1 },
};

static const struct transfer *transfer_of(int nr)
{
	for (size_t i = 0; i < sizeof(transfers) / sizeof(*transfers); i++)
		if (transfers[i].nr == nr)
			return &transfers[i];
	return NULL;
}

/* The parts of a transfer, there. */
struct parts {
	uint64_t at, n;
};

/* struct user_msghdr of the kernel. */
static bool message_of(const struct task *k, uint64_t at, struct msghdr *m)
{
	return task_read(k, at, m, sizeof(*m)) == sizeof(*m);
}

static bool parts_of(const struct task *k, const struct transfer *d,
	const struct made_call *c, struct parts *p)
{
	struct msghdr m;

	if (d->where == DATA_VECTOR) {
		*p = (struct parts){ c->arg[d->data], c->arg[d->size] };
		return true;
	}
	if (!message_of(k, c->arg[d->data], &m))
		return false;
	*p = (struct parts){ (uintptr_t)m.msg_iov, m.msg_iovlen };
	return true;
}

enum { LIMIT = 0x7ffff000 /* MAX_RW_COUNT */ };

/* Bytes of all parts; -1: they cannot be read. */
static int64_t sum_of(const struct task *k, const struct parts *p)
{
	enum { SOME = 64 };
	struct iovec v[SOME];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < p->n; i++) {
		size_t left = p->n - i < SOME ? p->n - i : SOME;
		if (i % SOME == 0 &&
			task_read(k, p->at + i * sizeof(*v), v, left * sizeof(*v)) !=
				(ssize_t)(left * sizeof(*v)))
			return -1;
		sum += v[i % SOME].iov_len;
	}
	return sum < LIMIT ? (int64_t)sum : LIMIT;
}

/* Bytes that it asks for; -1: that cannot be read. */
static int64_t asked(
	const struct task *k, const struct transfer *d, const struct made_call *c)
{
	struct parts p;

	if (d->where == DATA_PLAIN)
		return c->arg[d->size] < LIMIT ? (int64_t)c->arg[d->size] : LIMIT;
	return parts_of(k, d, c, &p) ? sum_of(k, &p) : -1;
}

static bool has_timeout(int fd, int what)
{
	struct timeval limit = { 0 };
	socklen_t len = sizeof(limit);

	return getsockopt(fd, SOL_SOCKET, what, &limit, &len) < 0 || limit.tv_sec ||
	       limit.tv_usec;
}

static bool is_stream(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_STREAM;
}

/* /dev/zero, full, random, urandom: admin-guide/devices.txt of the kernel. */
static bool is_endless(const struct stat *st)
{
	enum { MEMORY = 1, ZERO = 5, FULL = 7, RANDOM = 8, URANDOM = 9 };
	unsigned n = minor(st->st_rdev);

	return S_ISCHR(st->st_mode) && major(st->st_rdev) == MEMORY &&
	       (n == ZERO || n == FULL || n == RANDOM || n == URANDOM);
}

/* fd: the same as the task's. Whether it returns nothing before all is transferred. */
static bool goes_on(int fd, enum how how, uint64_t flags)
{
	const uint64_t parts = MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE;
	const uint64_t told = MSG_OOB | MSG_ZEROCOPY; /* each call is seen by others */
	struct stat st;
	int mode = fcntl(fd, F_GETFL);

	if (mode < 0 || mode & O_NONBLOCK || flags & (MSG_DONTWAIT | told) ||
		fstat(fd, &st) < 0)
		return false;
	if (how == HOW_MEMORY)
		return is_endless(&st);
	if (how == HOW_ALL && (!(flags & MSG_WAITALL) || flags & parts))
		return false;
	if (S_ISSOCK(st.st_mode))
		return is_stream(fd) &&
		       !has_timeout(fd, how == HOW_ALL ? SO_RCVTIMEO : SO_SNDTIMEO);
	return S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) ||
	       (how == HOW_COPY && S_ISREG(st.st_mode));
}

static bool is_local(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX;
}

/* Whether descriptors are all that comes with a message. */
static bool has_descriptors_alone(const struct task *k, struct msghdr *m)
{
	union {
		char room[1200]; /* of SCM_MAX_FD, 253 */
		struct cmsghdr head;
	} control;
	ssize_t len = (ssize_t)m->msg_controllen;
	bool alone = true;

	if (len < 0 || (size_t)len > sizeof(control) ||
		task_read(k, (uintptr_t)m->msg_control, &control, (size_t)len) != len)
		return false;
	m->msg_control = &control;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		alone = alone && c->cmsg_level == SOL_SOCKET &&
			c->cmsg_type == SCM_RIGHTS;
	return alone;
}

/* Whether what comes with a message is all with its first byte: descriptors that are
 * sent. Else it may be of the rest as well, or come in the middle. */
static bool is_data_alone(
	const struct task *k, const struct transfer *d, const struct made_call *c, int fd)
{
	struct msghdr m;

	return d->where != DATA_MESSAGE ||
	       (message_of(k, c->arg[d->data], &m) &&
		       (!m.msg_control || (d->how == HOW_OUT && is_local(fd) &&
						  has_descriptors_alone(k, &m))));
}

/* The descriptors of a thread, which may have its own, or be left without the first one:
 * PIDFD_THREAD, Linux >= 6.9. */
static int pidfd_of(const struct task *k)
{
	int pidfd = (int)syscall(SYS_pidfd_open, k->tid, O_EXCL);

	return pidfd < 0 ? (int)syscall(SYS_pidfd_open, k->process->pid, 0) : pidfd;
}

static bool is_whole(
	const struct task *k, const struct transfer *d, const struct made_call *c)
{
	const uint64_t flags = d->flags >= 0 ? c->arg[d->flags] : 0;

	if (d->how == HOW_RANDOM)
		return !(flags & GRND_NONBLOCK);
	if (d->rwf >= 0 && c->arg[d->rwf])
		return false;
	int pidfd = pidfd_of(k);
	int fd = pidfd < 0 ? -1
			   : (int)syscall(SYS_pidfd_getfd, pidfd, (int)c->arg[d->fd], 0);
	bool whole = fd >= 0 && goes_on(fd, d->how, flags) && is_data_alone(k, d, c, fd);
	if (fd >= 0)
		close(fd);
	if (pidfd >= 0)
		close(pidfd);
	return whole;
}

/* Whether it stands behind a transfer that has done something. */
bool rest_may(const struct task *k)
{
	struct made_call c;

	return !k->rest.on && tracee_made(k->tid, &c) && c.result > 0 &&
	       transfer_of(c.nr);
}

/* It stands behind one that is not. NULL: that is not so. */
static const struct transfer *half_done(const struct task *k, struct made_call *c)
{
	if (!tracee_made(k->tid, c) || c->result <= 0)
		return NULL;
	const struct transfer *d = transfer_of(c->nr);
	return d && c->result < asked(k, d, c) && is_whole(k, d, c) ? d : NULL;
}

/* What is put below the stack: a message that has the rest of the parts, and nothing
 * else; a part of which a beginning is done. */
struct scratch {
	struct msghdr message;
	struct iovec part;
};

/*
 * The rest of a vector: of the part where it has ended, from a copy below the stack; or
 * all parts behind that. A call has ended if it is not in the middle of either.
 */
static bool set_parts(struct task *k, const struct transfer *d, struct made_call *c)
{
	uint64_t done = (uint64_t)c->result, at = again_scratch(k, c->stack);
	struct scratch s = { 0 };
	struct parts p;

	if (!at || !parts_of(k, d, c, &p))
		return false;
	for (; p.n; p.n--, p.at += sizeof(s.part)) {
		if (task_read(k, p.at, &s.part, sizeof(s.part)) != sizeof(s.part))
			return false;
		if (s.part.iov_len > done)
			break;
		done -= s.part.iov_len;
	}
	if (!p.n)
		return false;
	if (done) {
		s.part.iov_base = (char *)s.part.iov_base + done;
		s.part.iov_len -= done;
		k->rest.part = (int64_t)s.part.iov_len;
		p = (struct parts){ at + offsetof(struct scratch, part), 1 };
	}
	s.message.msg_iov = (struct iovec *)(uintptr_t)p.at;
	s.message.msg_iovlen = p.n;
	c->arg[d->data] = d->where == DATA_MESSAGE ? at : p.at;
	if (d->where == DATA_VECTOR)
		c->arg[d->size] = p.n;
	return !tracee_write(k->tid, at, &s, sizeof(s));
}

static bool set_rest(struct task *k, const struct transfer *d, struct made_call *c)
{
	k->rest.part = 0;
	if (d->offset >= 0 && (int64_t)c->arg[d->offset] >= 0)
		c->arg[d->offset] += (uint64_t)c->result;
	if (d->where != DATA_PLAIN)
		return set_parts(k, d, c);
	c->arg[d->size] = (uint64_t)(asked(k, d, c) - c->result);
	if (d->data >= 0)
		c->arg[d->data] += (uint64_t)c->result;
	return true;
}

/* How often the kernel counts it more than the program has made it. */
static int weight_of(const struct tracer *t, const struct made_call *c)
{
	int row = c->nr < NR_MAX ? t->row[ABI_X86_64][c->nr] : -1;

	return t->countable && row >= 0 ? syscalls[row].weight : 0;
}

static bool make(struct tracer *t, struct task *k, bool found)
{
	struct made_call c;
	const struct transfer *d =
		task_leaves(t, k) || k->rest.on ? NULL : half_done(k, &c);

	if (!d)
		return false;
	struct made_call rest = c;
	if (!set_rest(k, d, &rest) || tracee_make_again(k->tid, &rest) < 0)
		return false;
	k->rest.on = true;
	k->rest.found = found;
	if (found)
		k->rest.before = c.result;
	k->rest.call = c;
	if (!found)
		k->mine.calls += weight_of(t, &c);
	return true;
}

/* Of one that a stop has ended more is known: the next one there may be made whole. */
static bool is_over(const struct task *k, const struct made_call *c)
{
	const struct made_call *s = &k->rest.stopped;

	return c->at == k->rest.over &&
	       (!s->at || (s->result == c->result && s->stack == c->stack));
}

/* At a stop for a signal that it ignores, or an interrupt of ours; not that behind an
 * exit stop. */
void rest_make(struct tracer *t, struct task *k)
{
	const bool skips = k->rest.skips;
	struct made_call c;

	if (k->rest.on || !tracee_made(k->tid, &c))
		return;
	k->rest.skips = false;
	if (skips || is_over(k, &c))
		return;
	k->rest.before = 0;
	make(t, k, k->seized);
}

/* In a stop of its group: that ends it half done without us as well. */
void rest_never(struct task *k)
{
	struct made_call c;

	if (!tracee_made(k->tid, &c))
		return;
	rest_over(k, c.at);
	k->rest.stopped = c;
}

/* At the stop of an interrupt. seized: that by which it was attached to: if it was in the
 * middle the rest is a call like others, which stops. */
void rest_interrupted(struct tracer *t, struct task *k, bool seized)
{
	if (!seized)
		rest_make(t, k);
	else if (k->rest.on || make(t, k, true))
		dispatch_aside(k);
}

/* By what is known of the call at hand: whether it may be half done. Many are that return
 * less than they might. */
static bool may_be_half(const struct tracer *t, const struct task *k, int64_t ret)
{
	const struct call *c = &k->call;
	const struct transfer *d =
		c->row < 0 ? NULL : transfer_of(syscalls[c->row].nr[ABI_X86_64]);

	if (!d || c->abi != ABI_X86_64 || ret <= 0 || (uint64_t)ret >= c->op[0].want)
		return false;
	if (d->how == HOW_MEMORY)
		return names_file(t->names, c->op[0].file)->type == FILE_CHAR;
	return d->how != HOW_ALL || c->arg[d->flags] & MSG_WAITALL;
}

/*
 * Among threads another one may have taken the signal that has woken this one, as in
 * again_quietly(). Of pipes alone it is known that nothing else ends a write half done
 * but what ends the rest as well, and says so in the same way.
 */
static bool was_woken(const struct tracer *t, const struct task *k)
{
	const struct call *c = &k->call;

	return !task_leaves(t, k) && !k->process->stopped && k->process->ntasks > 1 &&
	       c->row >= 0 && !c->quiet && c->op[0].kind == OP_WRITE &&
	       names_file(t->names, c->op[0].file)->type == FILE_PIPE &&
	       !tracee_awaits(k->tid);
}

/*
 * At its exit stop, before that of the signal or of the interrupt. at: where that is.
 * Where nobody reads any more what is written each attempt raises a signal, SIGPIPE,
 * which may be ignored: it has ended what failed, and not our presence.
 */
bool rest_quietly(struct tracer *t, struct task *k, int64_t ret, uint64_t at)
{
	bool half = k->rest.went || k->rest.before || may_be_half(t, k, ret);
	bool vain = half && tracee_wakes_in_vain(k->tid);
	bool made = k->rest.parted && make(t, k, false);

	if (!made && half && !k->rest.failed && (k->poked || vain || was_woken(t, k)))
		made = make(t, k, false);
	k->rest.skips = k->rest.failed && vain;
	k->rest.parted = k->rest.went = k->rest.failed = k->poked = false;
	if (made)
		return true;
	k->rest.before = 0;
	k->rest.over = k->call.row >= 0 && !k->call.quiet ? at : 0;
	return false;
}

/* At its entry stop. Whether it has begun before. When we are to leave it is not waited
 * for. */
bool rest_begins(const struct tracer *t, const struct task *k)
{
	if (!k->rest.on || (k->rest.found && !task_leaves(t, k)))
		return false;
	if (task_leaves(t, k))
		ptrace(PTRACE_INTERRUPT, k->tid, 0, 0);
	return true;
}

/* It has not been made, and has ended as it had without us. What is told of it. */
static int64_t undo(const struct tracer *t, struct task *k)
{
	k->rest.on = false;
	if (!k->rest.found)
		k->mine.calls -= weight_of(t, &k->rest.call);
	tracee_make_undo(k->tid, &k->rest.call);
	int64_t told = k->rest.call.result - k->rest.before;
	k->rest.before = 0;
	return told;
}

/* Something else has come before it was made. It may have stopped for its entry, and is
 * over then. */
void rest_undo(struct tracer *t, struct task *k)
{
	enum { RESTARTED = -512 };

	if (!k->rest.on)
		return;
	int64_t ret = undo(t, k);
	call_leave(t, k, ret > 0 ? ret : RESTARTED, tracer_now(t));
	dispatch_again(t, k);
}

/* It has found the end of a file: whether the kernel has counted it goes by the call. */
static void doubt(const struct tracer *t, struct task *k)
{
	int weight = weight_of(t, &k->rest.call);

	k->mine.calls -= weight;
	k->unsure += weight;
}

/* At its exit. What is told of it. */
int64_t rest_exit(const struct tracer *t, struct task *k, int64_t ret)
{
	struct made_call *c = &k->rest.call;

	k->rest.went = k->rest.on;
	if (!k->rest.on)
		return ret;
	k->rest.on = false;
	k->rest.parted = ret > 0 && ret == k->rest.part;
	k->rest.failed = ret <= 0 && ret != -EINTR && !op_interrupted(ret);
	if (ret > 0)
		c->result += ret;
	else if (!ret && !k->rest.found)
		doubt(t, k);
	tracee_make_over(k->tid, c);
	return c->result > k->rest.before ? c->result - k->rest.before : ret;
}

/* It has been killed: at its exit stop. Of a call in the hook the record tells. Before
 * the rest was begun, or at its entry, it has not been made. */
void rest_died(struct tracer *t, struct task *k)
{
	struct made_call now;

	if (!k->rest.on)
		return;
	bool made = tracee_made(k->tid, &now) && now.result != -ENOSYS;
	int64_t ret = made ? rest_exit(t, k, now.result) : undo(t, k);
	k->call.noted = false; /* there is nothing more to patch */
	if (ret > 0)
		call_leave(t, k, ret, tracer_now(t));
}
