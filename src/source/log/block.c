/*
 * block.c - decode a block of the operation log
 *
 * Every byte may be anybody's: counts are held against what is left before room is made
 * for them, places against what has been told.
 */
#include "block.h"
#include "iops/log.h"
#include "iops/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int room(void *array, size_t *cap, size_t n, size_t size)
{
	if (n <= *cap)
		return 0;
	void *more = realloc(*(void **)array, n * size);
	if (!more)
		return -ENOMEM;
	*(void **)array = more;
	*cap = n;
	return 0;
}

/* A column: its length, then its bytes. */
static struct wire_in column(struct wire_in *in)
{
	size_t len = wire_get(in);
	const uint8_t *p = wire_get_bytes(in, len);

	if (!p)
		return (struct wire_in){ NULL, NULL, true };
	return (struct wire_in){ p, p + len, false };
}

static int get_strings(struct block *b, struct wire_in *in, struct names *names)
{
	char text[LOG_NAME_MAX];
	size_t len = 0, sum = 0;

	for (size_t i = 1; i <= b->nstring; i++) {
		size_t same = wire_get(in), more = wire_get(in);
		const uint8_t *p = wire_get_bytes(in, more);
		if (!p || same > len || more > sizeof(text) - same)
			return -EINVAL;
		memcpy(text + same, p, more);
		len = same + more;
		sum += len;
		if (sum > LOG_TEXT_MAX)
			return -EINVAL;
		b->string[i] = names_add(names, text, strnlen(text, len));
		if (len && *text && !b->string[i])
			return -ENOMEM;
	}
	return 0;
}

static uint32_t get_string(const struct block *b, struct wire_in *in)
{
	uint64_t at = wire_get(in);

	if (at > b->nstring)
		in->bad = true;
	return in->bad ? 0 : b->string[at];
}

/* The type of a file may have become known after earlier blocks told of it. */
static uint32_t add_file(struct names *names, const struct file *f)
{
	bool more = !f->inode && f->type != FILE_UNKNOWN;
	uint32_t known = more ? names_find_path(names, f->path) : 0;
	const struct file *k = names_file(names, known);

	if (!known || k->type != FILE_UNKNOWN || k->mount != f->mount ||
		k->host != f->host || k->major != f->major || k->minor != f->minor)
		return names_add_file(names, f);
	names_learn_type(names, known, f->type);
	names_learn_system(names, known, f->fs);
	return known;
}

/* systems: the type of each one's file system, where the log has that. */
static int get_files(
	struct block *b, struct wire_in *in, struct wire_in *systems, struct names *names)
{
	uint64_t inode = 0;

	for (size_t i = 1; i <= b->nfile; i++) {
		struct file f = { .path = get_string(b, in) };
		f.mount = get_string(b, in);
		f.host = get_string(b, in);
		uint64_t type = wire_get(in);
		f.type = type < NFILE_TYPES ? type : FILE_UNKNOWN;
		f.major = wire_get(in);
		f.minor = wire_get(in);
		f.inode = inode += wire_unzigzag(wire_get(in));
		f.fs = systems ? get_string(b, systems) : 0;
		if (in->bad || (systems && systems->bad))
			return -EINVAL;
		b->file[i] = add_file(names, &f);
		if (!b->file[i])
			return -ENOMEM;
	}
	return 0;
}

/* The difference of two numbers takes 33 bits, but one of them is known. */
static int32_t plus(int32_t n, uint64_t zigzag)
{
	return (int32_t)((uint32_t)n + (uint32_t)wire_unzigzag(zigzag));
}

static int get_contexts(struct block *b, struct wire_in *in, struct names *names)
{
	struct op before = { 0 };

	for (size_t i = 0; i < b->ncontext; i++) {
		uint64_t kind = wire_get(in), layer = wire_get(in);
		uint32_t call = get_string(b, in);
		uint64_t bits = wire_get(in);
		struct op op = { .kind = kind };
		op.layer = layer;
		op.pid = plus(before.pid, wire_get(in));
		op.tid = plus(op.pid, wire_get(in));
		op.fd = plus(before.fd, wire_get(in));
		uint64_t file = wire_get(in);
		op.comm = get_string(b, in);
		if (in->bad || kind >= OP_NKINDS || layer >= NLAYERS || bits > 7 ||
			file > b->nfile)
			return -EINVAL;
		op.file = b->file[file];
		if (call)
			op.call = names_call(names, names_get(names, call),
				strlen(names_get(names, call)));
		op.call |= bits << 13;
		before = op;
		b->context[i] = (struct block_context){ .op = op };
	}
	return 0;
}

int block_open(struct block *b, struct wire_in payload, struct names *names)
{
	struct wire_in *in = &payload;

	b->nstring = wire_get(in);
	b->nfile = wire_get(in);
	b->ncontext = wire_get(in);
	b->left = wire_get(in);
	struct wire_in texts = column(in), files = column(in), contexts = column(in);
	b->ids = column(in);
	b->flags = column(in);
	b->times = column(in);
	b->values = column(in);
	bool more = in->p < in->end;
	struct wire_in systems = more ? column(in) : *in;
	b->seen = b->start_ns = b->dur_ns = b->end_ns = 0;
	/* A context is there for a record; names and files are there for contexts. */
	if (in->bad || b->left > LOG_RECORDS_MAX || b->ncontext > b->left ||
		b->nfile > b->ncontext || b->nstring > LOG_NAMES_MAX * b->ncontext ||
		b->left != (size_t)(b->flags.end - b->flags.p)) {
		b->left = 0;
		return -EINVAL;
	}
	if (room(&b->string, &b->capstring, b->nstring + 1, sizeof(*b->string)) < 0 ||
		room(&b->file, &b->capfile, b->nfile + 1, sizeof(*b->file)) < 0 ||
		room(&b->context, &b->capcontext, b->ncontext, sizeof(*b->context)) < 0)
		return -ENOMEM;
	b->string[0] = b->file[0] = 0;
	int err = get_strings(b, &texts, names);
	if (!err)
		err = get_files(b, &files, more ? &systems : NULL, names);
	return err ? err : get_contexts(b, &contexts, names);
}

int block_next(struct block *b, struct op *op)
{
	if (!b->left)
		return 0;
	uint64_t back = wire_get(&b->ids), at = back ? b->seen - back : b->seen;
	uint8_t flags = *b->flags.p++;
	if (back > b->seen || at >= b->ncontext || flags > LOG_FLAGS)
		return -EINVAL;

	struct block_context *c = &b->context[at];
	b->seen += !back;
	b->left--;
	*op = c->op;
	if (!(flags & LOG_SAME_TIME)) {
		b->start_ns = b->end_ns + wire_unzigzag(wire_get(&b->times));
		b->dur_ns = flags & LOG_NO_TIME ? OP_NO_TIME : wire_get(&b->times);
		b->end_ns = b->start_ns + (flags & LOG_NO_TIME ? 0 : b->dur_ns);
	}
	op->start_ns = b->start_ns;
	op->dur_ns = b->dur_ns;
	op->want = c->want = flags & LOG_SAME_WANT ? c->want : wire_get(&b->values);
	op->ret = flags & LOG_FULL ? (int64_t)op->want
				   : wire_unzigzag(wire_get(&b->values));
	if (flags & LOG_NO_OFFSET) {
		op->offset = OP_NO_OFFSET;
	} else {
		if (!(flags & LOG_FOLLOWS))
			c->next += wire_unzigzag(wire_get(&b->values));
		op->offset = (int64_t)c->next;
		c->next += op->ret > 0 ? op->ret : 0;
	}
	return b->ids.bad || b->times.bad || b->values.bad ? -EINVAL : 1;
}

void block_fini(struct block *b)
{
	free(b->string);
	free(b->file);
	free(b->context);
	*b = (struct block){ 0 };
}
