/*
 * calls.c - system calls that the kernel told of, as operations
 */
#include "bpf.h"
#include "iops/names.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum abi ebpf_abi(unsigned abi)
{
#ifdef __x86_64__
	return abi ? ABI_I386 : ABI_X86_64;
#else
	(void)abi;
	return ABI_AARCH64;
#endif
}

static void count(struct bpf *b, const struct rec_call *r)
{
	struct account *a;

	if (!b->countable || !r->counted ||
		!(a = ebpf_life_account(b, (pid_t)r->head.tid)))
		return;
	a->calls += r->counted;
	a->bytes += r->ret > 0 ? r->counted * (uint64_t)r->ret : 0;
}

/*
 * Where it began. placed: 0 the position after the call, which has moved it; 1 what the
 * call said; 2 what it said, moved on by the call.
 */
static int64_t begun(
	const struct seen *s, uint8_t placed, int64_t position, int64_t ret, bool moves)
{
	if (!s->placed)
		return OP_NO_OFFSET;
	if (placed == 1 || !moves || ret <= 0)
		return position;
	return position < ret ? OP_NO_OFFSET : position - ret;
}

static bool moves(uint8_t kind)
{
	return kind == OP_READ || kind == OP_WRITE || kind == OP_PEEK;
}

/* The call that shows without consuming has a name of its own. */
static void peek(struct op *op, const struct syscall_desc *d)
{
	char name[40] = "";

	if (op->kind != OP_READ)
		return;
	strcat(strncat(name, d->name, 24), ":peek");
	int row = syscall_by_name(name);
	if (row >= 0) {
		op->kind = OP_PEEK;
		op->call = row;
	}
}

static struct op op_of(struct bpf *b, const struct process *p, const struct rec_call *r)
{
	const struct syscall_desc *d = &syscalls[r->head.row];
	struct seen s = ebpf_files_get(b, r->head.file);
	struct op op = {
		.start_ns = ebpf_since(b, r->head.at_ns),
		.dur_ns = r->dur_ns,
		.ret = r->ret,
		.want = r->want,
		.file = s.file,
		.comm = p->comm,
		.pid = p->pid,
		.tid = (pid_t)r->head.tid,
		.fd = r->fd,
		.kind = d->kind,
		.call = r->head.row,
	};

	/* vmsplice(2) takes pages to a pipe's writing end, or from its reading end. */
	if (d->form == FORM_VEC && !d->weight && r->flags & REC_F_RDONLY)
		op.kind = OP_READ;
	if (r->flags & REC_F_PEEK)
		peek(&op, d);
	op.offset = begun(&s, r->placed, r->position, r->ret, moves(d->kind));
	return op;
}

static void take_two(struct bpf *b, struct process *p, const struct rec_two *r)
{
	struct op op = op_of(b, p, &r->one);
	struct seen s = ebpf_files_get(b, r->file2);

	if (!syscall_wanted(&b->want, r->one.head.row))
		return;
	ebpf_put(b, &op);
	if (op.kind == OP_PEEK)
		return;
	op.kind = OP_WRITE;
	op.call |= OP_SECOND;
	op.file = s.file;
	op.fd = r->fd2;
	op.offset = begun(&s, r->placed2, r->position2, r->one.ret, true);
	ebpf_put(b, &op);
}

static void take_path(
	struct bpf *b, struct process *p, const struct rec_path *r, size_t len)
{
	struct op op = op_of(b, p, &r->call);
	struct seen dir = ebpf_files_get(b, r->call.head.file);
	size_t n = strnlen(r->path, len - sizeof(*r));

	op.offset = OP_NO_OFFSET;
	if (!n) { /* AT_EMPTY_PATH: the descriptor itself */
		op.file = dir.file;
	} else {
		op.fd = -1;
		op.file = ebpf_files_join(b, r->call.head.tid, dir.file, r->path, n);
	}
	ebpf_put(b, &op);
}

static void take_messages(
	struct bpf *b, struct process *p, const struct rec_mmsg *r, size_t len)
{
	struct op op = op_of(b, p, &r->call);
	size_t room = (len - offsetof(struct rec_mmsg, msg)) / sizeof(*r->msg);
	uint32_t n = r->n < room ? r->n : (uint32_t)room;

	if (r->call.ret < 0) {
		ebpf_put(b, &op);
		return;
	}
	for (int64_t i = 0; i < r->call.ret; i++) {
		uint32_t got = i < n ? r->msg[i].got : 0;
		op.want = i < n ? r->msg[i].asked : 0;
		op.ret = r->call.placed & 4 && got > op.want ? (int64_t)op.want : got;
		ebpf_put(b, &op);
		op.call |= OP_PART;
	}
}

void ebpf_calls_take(struct bpf *b, const struct rec *head, size_t len)
{
	const struct rec_call *r = (const struct rec_call *)head;
	struct process *p = len < sizeof(*r) ? NULL : ebpf_life_caller(b, head);

	if (!p || head->row >= syscall_rows())
		return;
	count(b, r);
	if (!syscall_wanted(&b->want, head->row))
		return;
	if (head->type == REC_CALL) {
		struct op op = op_of(b, p, r);
		ebpf_put(b, &op);
	} else if (head->type == REC_TWO && len >= sizeof(struct rec_two)) {
		take_two(b, p, (const struct rec_two *)head);
	} else if (head->type == REC_PATH && len > sizeof(struct rec_path)) {
		take_path(b, p, (const struct rec_path *)head, len);
	} else if (head->type == REC_MMSG && len >= offsetof(struct rec_mmsg, msg)) {
		take_messages(b, p, (const struct rec_mmsg *)head, len);
	}
}

void ebpf_calls_sum(struct bpf *b, const struct sum_key *k, const struct sum_value *v)
{
	const struct syscall_desc *d = &syscalls[k->row];
	struct op op = {
		.start_ns = ebpf_since(b, v->first_ns),
		.dur_ns = v->ns,
		.ret = (int64_t)v->bytes,
		.want = v->calls,
		.file = ebpf_files_get(b, k->file).file,
		.pid = (pid_t)k->pid,
		.tid = (pid_t)k->pid,
		.comm = (uint32_t)map_get(&b->commands, k->pid, 0),
		.fd = -1,
		.offset = OP_NO_OFFSET,
		.kind = d->form == FORM_VEC && !d->weight && k->rdonly ? OP_READ
								       : d->kind,
		.call = k->row | OP_SUM,
	};

	if (op.kind != OP_READ && op.kind != OP_WRITE)
		op.ret = 0;
	ebpf_put(b, &op);
}
