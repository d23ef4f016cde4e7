/*
 * tracee.c - memory and counters of a task that stands still
 */
#include "tracer.h"
#include "iops/cpu.h"
#include "iops/slurp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

ssize_t tracee_read(pid_t tid, uint64_t from, void *to, size_t len)
{
	struct iovec mine = { to, len }, theirs = { (void *)(uintptr_t)from, len };
	ssize_t n = process_vm_readv(tid, &mine, 1, &theirs, 1, 0);

	return n < 0 ? -errno : n;
}

int tracee_write(pid_t tid, uint64_t to, const void *from, size_t len)
{
	struct iovec mine = { (void *)from, len },
		     theirs = { (void *)(uintptr_t)to, len };
	ssize_t n = process_vm_writev(tid, &mine, 1, &theirs, 1, 0);

	return n < 0 ? -errno : n == (ssize_t)len ? 0 : -EFAULT;
}

/* Whether all pages of a part of memory are there. pagemap: 63 in memory, 62 swapped out.
 */
static bool is_present(pid_t tid, uint64_t from, uint64_t to)
{
	char path[64];
	uint64_t entry = 0;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool all = fd >= 0;
	for (uint64_t page = from / 4096; all && page <= (to - 1) / 4096; page++)
		all = pread(fd, &entry, sizeof(entry), (off_t)(page * sizeof(entry))) ==
			      sizeof(entry) &&
		      entry >> 62;
	if (fd >= 0)
		close(fd);
	return all;
}

/* Whether it takes part in what userfaultfd(2) tells of: proc(5), VmFlags of smaps. */
static bool is_watched(pid_t tid, uint64_t from, uint64_t to)
{
	unsigned long long begin = 0, end = 0;
	char path[64], line[512];
	bool is = false;

	snprintf(path, sizeof(path), "/proc/%d/smaps", tid);
	FILE *f = fopen(path, "re");
	while (f && !is && begin < to && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx-%llx ", &begin, &end) != 2 && begin < to &&
			end > from && !strncmp(line, "VmFlags:", 8))
			is = strstr(line, " um") || strstr(line, " ui");
	if (f)
		fclose(f);
	return is;
}

bool tracee_brings(pid_t tid, uint64_t from, size_t len)
{
	return len && !is_present(tid, from, from + len) &&
	       is_watched(tid, from, from + len);
}

/* proc(5): "rchar: N\nwchar: N\nsyscr: N\nsyscw: N\n...". Only this task's. */
static int counters_at(const char *path, struct counters *c)
{
	char buf[512];
	unsigned long long rchar, wchar, syscr, syscw, from, to, cancelled;

	ssize_t n = slurp(path, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	if (sscanf(buf,
		    "rchar: %llu wchar: %llu syscr: %llu syscw: %llu read_bytes: %llu "
		    "write_bytes: %llu cancelled_write_bytes: %llu",
		    &rchar, &wchar, &syscr, &syscw, &from, &to, &cancelled) != 7)
		return -EINVAL;
	c->calls = syscr + syscw;
	c->bytes = rchar + wchar;
	c->ledger = (struct ledger){ rchar, wchar, from, to, cancelled };
	return 0;
}

int tracee_counters(pid_t pid, pid_t tid, struct counters *c)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/io", pid, tid);
	return counters_at(path, c);
}

/* Of all its threads, with those that have ended. */
int tracee_counters_of_all(pid_t pid, struct counters *c)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	return counters_at(path, c);
}

uint32_t tracee_comm(struct names *names, pid_t tid)
{
	char path[64], buf[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	ssize_t n = slurp(path, buf, sizeof(buf));
	return n > 0 ? names_add(names, buf, strcspn(buf, "\n")) : 0;
}

/* Field 39 of /proc/TID/stat, counted from behind the name, which may hold anything. */
int tracee_cpu(pid_t tid)
{
	char path[64], buf[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	if (slurp(path, buf, sizeof(buf)) <= 0)
		return -1;
	char *p = strrchr(buf, ')');
	for (int field = 2; p && field < 39; field++)
		p = strchr(p + 1, ' ');
	return p ? atoi(p + 1) : -1;
}

/* flags: PTRACE_PEEKSIGINFO_SHARED, or 0. */
static int peek(pid_t tid, uint32_t flags, siginfo_t *info, int most)
{
	struct {
		uint64_t off;
		uint32_t flags;
		int32_t nr;
	} args = { .flags = flags, .nr = most };
	long n = ptrace(PTRACE_PEEKSIGINFO, tid, &args, info);

	return n < 0 ? -errno : (int)n;
}

/* The first signals that wait for this very thread. How many, or -errno. */
int tracee_waiting(pid_t tid, siginfo_t *info, int most)
{
	return peek(tid, 0, info, most);
}

/* Whether one of some signals waits, for the thread or its process: what cannot be told
 * may be so. */
bool tracee_pends(pid_t tid, uint64_t signals)
{
	enum { MOST = 8 };
	siginfo_t info[MOST];

	for (uint32_t shared = 0; shared <= PTRACE_PEEKSIGINFO_SHARED; shared++) {
		int n = peek(tid, shared, info, MOST);
		if (n < 0 || n == MOST)
			return true;
		while (n-- > 0)
			if (signals & signal_bit(info[n].si_signo))
				return true;
	}
	return false;
}

/* At the exit stop: whether it ends by that signal. */
bool tracee_ends_by(pid_t tid, int sig)
{
	unsigned long status = 0;

	return !ptrace(PTRACE_GETEVENTMSG, tid, 0, &status) &&
	       WTERMSIG((int)status) == sig;
}

/* Was it last on the CPU that the caller is on? */
bool tracee_is_beside(pid_t tid)
{
	int here = cpu_here();

	return here >= 0 && here == tracee_cpu(tid);
}

/* proc(5), to be freed. Its line of groups may be of any length. */
static char *status_of(pid_t tid)
{
	char path[64], *text = NULL;
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	FILE *f = fopen(path, "re");
	if (f && getdelim(&text, &size, 0, f) < 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

static uint64_t mask_of(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

static bool has_bit(const char *status, const char *name, int sig)
{
	return mask_of(status, name) >> (sig - 1) & 1;
}

int tracee_signals(pid_t tid, const int *sig, struct signal_state *s, unsigned n)
{
	char *status = status_of(tid);

	if (!status)
		return -ESRCH;
	for (unsigned i = 0; i < n; i++) {
		s[i].mask = mask_of(status, "\nSigBlk:");
		s[i].blocked = has_bit(status, "\nSigBlk:", sig[i]);
		s[i].ignored = has_bit(status, "\nSigIgn:", sig[i]);
		s[i].caught = has_bit(status, "\nSigCgt:", sig[i]);
		s[i].pending = has_bit(status, "\nSigPnd:", sig[i]) ||
			       has_bit(status, "\nShdPnd:", sig[i]);
	}
	free(status);
	return 0;
}

int tracee_signal(pid_t tid, int sig, struct signal_state *s)
{
	return tracee_signals(tid, &sig, s, 1);
}

/* Signals that wait for a task and are not blocked: those that it would have got without
 * us as well, and those that would have been thrown away. false: it is gone. */
static bool waiting(pid_t tid, uint64_t *wanted, uint64_t *vain)
{
	static const int by_default[] = { SIGCHLD, SIGWINCH, SIGURG, SIGCONT };
	char *status = status_of(tid);
	uint64_t ignored = 0;

	if (!status)
		return false;
	for (size_t i = 0; i < sizeof(by_default) / sizeof(*by_default); i++)
		ignored |= UINT64_C(1) << (by_default[i] - 1);
	ignored &= ~mask_of(status, "\nSigCgt:");
	ignored |= mask_of(status, "\nSigIgn:");
	uint64_t waits = (mask_of(status, "\nSigPnd:") | mask_of(status, "\nShdPnd:")) &
			 ~mask_of(status, "\nSigBlk:");
	free(status);
	*wanted = waits & ~ignored;
	*vain = waits & ignored;
	return true;
}

/* Whether a signal waits that the task would have got without us as well. */
bool tracee_awaits(pid_t tid)
{
	uint64_t wanted, vain;

	return !waiting(tid, &wanted, &vain) || wanted;
}

/* Whether one waits, and no such. */
bool tracee_wakes_in_vain(pid_t tid)
{
	uint64_t wanted, vain;

	return waiting(tid, &wanted, &vain) && vain && !wanted;
}

/* Whether a signal would have been thrown away, had the task not been traced. */
bool tracee_ignores(pid_t tid, int sig)
{
	struct signal_state s;

	if (tracee_signal(tid, sig, &s) < 0)
		return false;
	if (s.ignored || s.caught)
		return s.ignored;
	return sig == SIGCHLD || sig == SIGWINCH || sig == SIGURG || sig == SIGCONT;
}

/* A number that proc(5) has of it behind a line's end and a name; -1: it has none. */
static int status_number(pid_t tid, const char *name)
{
	char *status = status_of(tid);
	const char *line = status ? strstr(status, name) : NULL;
	int n = line ? atoi(line + strlen(name)) : -1;

	free(status);
	return n;
}

/* Whether something judges its calls: seccomp(2). */
bool tracee_is_filtered(pid_t tid)
{
	return status_number(tid, "\nSeccomp:") > 0;
}

/* How many filters do; -1: not known, before Linux 5.9. */
int tracee_filters(pid_t tid)
{
	return status_number(tid, "\nSeccomp_filters:");
}

/* Whether a call with that answer has not been made, but ends as one does that was. */
static bool is_answer(uint32_t ret)
{
	uint32_t error = ret & SECCOMP_RET_DATA;

	switch (ret & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_TRAP:
	case SECCOMP_RET_USER_NOTIF:
		return true;
	case SECCOMP_RET_ERRNO:
		return !error || error == EAGAIN || error == EINTR;
	}
	return false;
}

static bool may_answer(const struct sock_filter *code, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (BPF_CLASS(code[i].code) == BPF_RET &&
			(BPF_RVAL(code[i].code) != BPF_K || is_answer(code[i].k)))
			return true;
	return false;
}

/*
 * Whether a call may be answered in place of the kernel by what judges it: its
 * supervisor, seccomp_unotify(2), or SECCOMP_RET_TRAP, by which its number is where its
 * result would be. Only who is privileged, and judged by nothing, may read that: else it
 * may be so.
 */
bool tracee_is_answered(pid_t tid)
{
	for (long i = 0;; i++) {
		long n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, 0);
		if (n < 0)
			return errno != ENOENT;
		struct sock_filter *code = calloc(n ? (size_t)n : 1, sizeof(*code));
		bool may = !code ||
			   ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, code) != n ||
			   may_answer(code, (unsigned)n);
		free(code);
		if (may)
			return true;
	}
}

/* capabilities(7), execve(2): set-uid, set-gid and file capabilities. */
bool tracee_gains_rights(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
		((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
			st.st_gid != getegid()))
		return true;
	return getxattr(path, "security.capability", NULL, 0) > 0;
}
