/*
 * jsonl.c - a JSON object in a line for each operation, schema iops.op/1
 */
#include "export.h"
#include "iops/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct jsonl {
	struct sink sink;
	struct rows rows;
	struct output out;
};

static void put_field(FILE *out, const struct field *f, const struct cell *c)
{
	fprintf(out, ",\"%s\":", f->name);
	if (c->null)
		fputs("null", out);
	else if (f->type == FIELD_INT)
		fprintf(out, "%" PRId64, c->num);
	else
		text_put_json(out, c->str);
	if (c->null || !f->bytes || text_is_utf8(c->str))
		return;
	char *truth = text_base64(c->str);
	fprintf(out, ",\"%s_base64\":\"%s\"", f->name, truth ? truth : "");
	free(truth);
}

static int jsonl_put(struct sink *sink, const struct op *op)
{
	struct jsonl *s = (struct jsonl *)sink;

	if (!rows_take(&s->rows, op))
		return 0;
	fputs("{\"schema\":\"iops.op/1\"", s->out.f);
	for (const struct field *f = fields; f->name; f++) {
		struct cell c = rows_cell(&s->rows, f, op);
		put_field(s->out.f, f, &c);
	}
	fputs("}\n", s->out.f);
	return output_check(&s->out);
}

static int jsonl_close(struct sink *sink)
{
	struct jsonl *s = (struct jsonl *)sink;
	int err = output_close(&s->out);

	rows_end(&s->rows);
	free(s);
	return err;
}

static int jsonl_open(struct sink **out, const struct export_args *args)
{
	static const struct sink_ops ops = {
		.name = "jsonl", .put = jsonl_put, .close = jsonl_close
	};
	struct jsonl *s = calloc(1, sizeof(*s));
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

const struct exporter export_jsonl = { "jsonl", "a JSON object for each operation",
	jsonl_open };
