/*
 * notice.c - what is told of processes beside their I/O
 */
#include "notice.h"

void notice_put(struct totals *t, struct proc *p, const struct op *op)
{
	switch (op->kind) {
	case OP_FORK:
		if (op->tid != op->pid)
			break; /* a thread */
		p->ppid = (pid_t)op->ret;
		p->comm = op->comm;
		p->start_ns = op->start_ns;
		break;
	case OP_EXEC:
		if (op->ret > 0)
			p->ppid = (pid_t)op->ret;
		if (!p->start_ns)
			p->start_ns = op->start_ns;
		p->comm = op->comm;
		p->exe = op->file;
		break;
	case OP_EXIT:
		if (op->tid == op->pid) {
			p->end_ns = op->start_ns;
			p->status = (int)op->ret;
		}
		break;
	case OP_VERIFY:
		t->threads += op->fd == 0;
		t->matched += op->fd == 0 && !op->ret && !op->offset;
		t->unchecked += op->fd != 0;
		if (op->fd)
			break;
		/* Without sign: a log can say anything. */
		t->off_calls = (int64_t)((uint64_t)t->off_calls + op->ret);
		t->off_bytes = (int64_t)((uint64_t)t->off_bytes + op->offset);
		break;
	case OP_NOTE:
		if (op->ret < 0 || op->ret >= NNOTES || p->notes & 1u << op->ret)
			break;
		p->notes |= 1u << op->ret;
		p->running_on |= op->ret == NOTE_RUNNING;
		t->notes[op->ret]++;
		break;
	case OP_LEDGER:
		t->storage_read += op->ret;
		t->storage_written += op->want;
		t->storage_cancelled += op->offset > 0 ? op->offset : 0;
		break;
	case OP_CHARS:
		t->accounts++;
		t->rchar += op->ret;
		t->wchar += op->want;
		break;
	case OP_FAST:
		t->fast += op->ret;
		t->stopped += op->want;
		break;
	case OP_LOST:
		t->lost += op->ret;
		break;
	}
}
