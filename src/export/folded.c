/*
 * folded.c - "command;file;call weight" for flame graphs, summed and sorted
 */
#include "export.h"
#include "iops/map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct stack {
	uint32_t comm, path;
	uint16_t call;
	uint8_t type, layer;
	uint64_t weight;
	char *text;
};

struct folded {
	struct sink sink;
	struct rows rows;
	struct output out;
	struct map index; /* (command and path, the rest) -> place, plus 1 */
	struct stack *stack;
	size_t n, cap;
};

/* As reports sum: errors take time but are no operations, two sides are one time. */
static uint64_t weight(const struct folded *s, const struct op *op)
{
	bool timed = op->dur_ns != OP_NO_TIME && !(op->call & (OP_PART | OP_SECOND));

	switch (s->rows.args.weight) {
	case WEIGHT_OPERATIONS:
		return op->ret < 0 ? 0 : op_count(op);
	case WEIGHT_TIME:
		return timed ? op->dur_ns : 0;
	default:
		return op_bytes(op);
	}
}

static int folded_put(struct sink *sink, const struct op *op)
{
	struct folded *s = (struct folded *)sink;
	bool row = rows_take(&s->rows, op);
	uint64_t w = row ? weight(s, op) : 0;
	const struct file *f = names_file(s->rows.args.names, op->file);
	struct stack k = { op->comm, f->path, op->call & OP_CALL, f->path ? 0 : f->type,
		op->layer, 0, NULL };

	if (!w)
		return 0;
	uint64_t a = (uint64_t)k.comm << 32 | k.path;
	uint64_t b = k.call | (uint64_t)k.type << 16 | (uint64_t)k.layer << 24;
	size_t at = map_get(&s->index, a, b);
	if (!at) {
		int err = array_room(&s->stack, s->n, &s->cap, sizeof(k));
		if (!err && map_put(&s->index, a, b, s->n + 1) < 0)
			err = output_fail(&s->out, ENOMEM);
		if (err)
			return err;
		s->stack[s->n] = k;
		at = ++s->n;
	}
	s->stack[at - 1].weight += w;
	return 0;
}

/* A frame ends at ';', a line at its end: neither may stand in a name. */
static void put_frame(FILE *out, const char *s)
{
	for (; *s; s++)
		if (*s == '\n')
			fputs("\\n", out);
		else if (*s == '\r')
			fputs("\\r", out);
		else
			putc(*s == ';' ? ':' : *s, out);
}

static char *stack_text(const struct folded *s, const struct stack *k)
{
	const struct names *n = s->rows.args.names;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	if (k->layer != LAYER_MAIN)
		fprintf(f, "[%s];", op_layer_name(k->layer));
	put_frame(f, k->comm ? names_get(n, k->comm) : "[unknown]");
	putc(';', f);
	if (k->path)
		put_frame(f, names_get(n, k->path));
	else
		fprintf(f, "[%s]", file_type_name(k->type));
	putc(';', f);
	put_frame(f, names_call_name(n, k->call));
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct stack *)a)->text, ((const struct stack *)b)->text);
}

/* Names that were made the same are one line. */
static void put_stacks(struct folded *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!(s->stack[i].text = stack_text(s, &s->stack[i]))) {
			output_fail(&s->out, ENOMEM);
			return;
		}
	if (s->n)
		qsort(s->stack, s->n, sizeof(*s->stack), by_text);
	for (size_t i = 0; i < s->n && !output_check(&s->out); i++) {
		const struct stack *k = &s->stack[i];
		sum += k->weight;
		if (i + 1 < s->n && !by_text(k, k + 1))
			continue;
		fprintf(s->out.f, "%s %" PRIu64 "\n", k->text, sum);
		sum = 0;
	}
}

static int folded_close(struct sink *sink)
{
	struct folded *s = (struct folded *)sink;

	put_stacks(s);
	int err = output_close(&s->out);
	rows_end(&s->rows);
	for (size_t i = 0; i < s->n; i++)
		free(s->stack[i].text);
	free(s->stack);
	map_fini(&s->index);
	free(s);
	return err;
}

static int folded_open(struct sink **out, const struct export_args *args)
{
	static const struct sink_ops ops = {
		.name = "folded", .put = folded_put, .close = folded_close
	};
	struct folded *s = calloc(1, sizeof(*s));
	int err = s ? output_open(&s->out, args->output) : -ENOMEM;

	if (err < 0) {
		free(s);
		return err;
	}
	s->sink.ops = &ops;
	rows_init(&s->rows, args);
	*out = &s->sink;
	return 0;
}

const struct exporter export_folded = { .name = "folded",
	.help = "process;file;call and its weight, for flame graphs",
	.open = folded_open };
