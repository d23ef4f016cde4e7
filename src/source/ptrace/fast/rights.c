/*
 * rights.c - descriptors that a call has made, or that came with a message
 *
 * They are asked for while the task stands: it may close them at once. A recvmsg(2) that
 * the hook makes stops for that if there are some, at another one that it would make of
 * descriptor -1: hook_control. Wherever a signal stops it before, it is looked for them.
 */
#include "../tracer.h"
#include "mend.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>

void rights_opened(struct tracer *t, struct task *k, int fd)
{
	struct fd_view v;

	fdtrack_close(t->fast->track, k->files, fd);
	fdtab_ask(t->fdtab, &k->fd, fd, &v);
	history_seed(t, k, fd, &v, v.offset, fast_tsc());
}

void rights_opened_pair(struct tracer *t, struct task *k)
{
	bool socket = !strcmp(syscalls[k->call.row].name, "socketpair");
	int fd[2];

	if (task_read(k, k->call.arg[socket ? 3 : 0], fd, sizeof(fd)) == sizeof(fd)) {
		rights_opened(t, k, fd[0]);
		rights_opened(t, k, fd[1]);
	}
}

/* Descriptors that came with a message: cmsg(3), unix(7). */
static void came(struct tracer *t, struct task *k, uint64_t at)
{
	char control[4096];
	struct msghdr m;

	if (task_read(k, at, &m, sizeof(m)) != sizeof(m) || !m.msg_control ||
		!m.msg_controllen)
		return;
	size_t len =
		m.msg_controllen < sizeof(control) ? m.msg_controllen : sizeof(control);
	if (task_read(k, (uintptr_t)m.msg_control, control, len) != (ssize_t)len)
		return;
	m.msg_control = control;
	m.msg_controllen = len;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		const size_t left = (size_t)(control + len - (char *)c),
			     own = c->cmsg_len < left ? c->cmsg_len : left;
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= own; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			rights_opened(t, k, fd);
		}
	}
}

void rights_by_messages(struct tracer *t, struct task *k, int64_t ret)
{
	bool many = syscalls[k->call.row].form == FORM_MMSG;

	if (k->call.abi != ABI_X86_64)
		return;
	uint64_t at = k->call.arg[1];

	for (int64_t i = 0; i < (many ? ret : 1); i++, at += sizeof(struct mmsghdr))
		came(t, k, at);
}

/* Where the program goes on: behind its site, or in its stub, where that is another one's
 * by now. */
static uint64_t behind(struct task *k, const struct fast_ctl *c)
{
	const struct site *s = space_site_of_stub(k->space, c->back);

	return s ? s->at + 2 : c->back;
}

/* Whether its last call was a recvmsg(2) that may have brought some. */
bool rights_may_come(const struct task *k)
{
	return k->slot.ctl && k->slot.ctl->ret == AT(hook_control);
}

/* As the program is to have them behind the call. */
static void put_back(struct task *k, struct user_regs_struct *r, uint64_t to)
{
	struct fast_ctl *c = k->slot.ctl;

	if (c->rights == RIGHTS_DUE)
		r->rdi = c->rdi;
	c->rights = k->space->locked ? RIGHTS_NEVER : RIGHTS_MAY;
	r->rax = c->result;
	r->rdx = c->rdx;
	r->r11 = c->r11;
	r->rip = r->rcx = to;
	r->orig_rax = (uint64_t)-1;
}

/* Its stop is still to come, as a signal that waits: others come before. */
static bool is_raised(const struct user_regs_struct *r)
{
	return r->orig_rax == SYS_recvmsg && r->rax == r->orig_rax;
}

/*
 * At a stop of a signal or of its group: whether it stood behind such a call, on its way
 * here or there, where it stands as the program has it now.
 */
bool rights_mend(struct task *k, struct user_regs_struct *r)
{
	struct fast_ctl *c = k->slot.ctl;

	if (!rights_may_come(k))
		return false;
	const bool inside = between(r->rip, hook_control, hook_control_over);
	if (!inside && (c->rights != RIGHTS_DUE || !space_site_of_stub(k->space, r->rip)))
		return false;
	if (r->rip == AT(hook_control))
		c->result = r->rax;
	else if (inside)
		mend_flags(r, c);
	if (!inside && is_raised(r)) {
		r->rdi = c->rdi;
		r->rip = r->rcx = behind(k, c);
	} else {
		put_back(k, r, behind(k, c));
	}
	return true;
}

/* Once its records are fetched: where it stands behind such a call. */
void rights_look(struct tracer *t, struct task *k, const struct user_regs_struct *r)
{
	const bool may = rights_may_come(k) && k->slot.ctl->rights != RIGHTS_DUE &&
			 r->rip == behind(k, k->slot.ctl);

	if (may && k->files && (int64_t)r->rax >= 0)
		came(t, k, k->slot.ctl->rsi);
	if (may)
		k->slot.ctl->ret = 0;
}

/* At the stop for them. 1: the task goes on as if it had been there; 0: it is none. */
int rights_stop(struct tracer *t, struct task *k, uint64_t nr)
{
	struct user_regs_struct r;

	if (nr != SYS_recvmsg || !rights_may_come(k) ||
		k->slot.ctl->rights != RIGHTS_DUE ||
		ptrace(PTRACE_GETREGS, k->tid, 0, &r) < 0)
		return 0;
	put_back(k, &r, behind(k, k->slot.ctl));
	ptrace(PTRACE_SETREGS, k->tid, 0, &r);
	drain_task(t, k);
	rights_look(t, k, &r);
	return 1;
}
