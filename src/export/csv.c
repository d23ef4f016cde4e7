/*
 * csv.c - a row for each operation, RFC 4180
 */
#include "export.h"
#include "iops/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct csv {
	struct sink sink;
	struct rows rows;
	struct output out;
};

static int csv_put(struct sink *sink, const struct op *op)
{
	struct csv *s = (struct csv *)sink;

	if (!rows_take(&s->rows, op))
		return 0;
	for (const struct field *f = fields; f->name; f++) {
		struct cell c = rows_cell(&s->rows, f, op);
		if (f > fields)
			putc(',', s->out.f);
		if (!c.null && f->type == FIELD_INT)
			fprintf(s->out.f, "%" PRId64, c.num);
		else if (!c.null)
			text_put_csv(s->out.f, c.str);
	}
	fputs("\r\n", s->out.f);
	return output_check(&s->out);
}

static int csv_close(struct sink *sink)
{
	struct csv *s = (struct csv *)sink;
	int err = output_close(&s->out);

	rows_end(&s->rows);
	free(s);
	return err;
}

static int csv_open(struct sink **out, const struct export_args *args)
{
	static const struct sink_ops ops = {
		.name = "csv", .put = csv_put, .close = csv_close
	};
	struct csv *s = calloc(1, sizeof(*s));
	int err = s ? output_open(&s->out, args->output) : -ENOMEM;

	if (err < 0) {
		free(s);
		return err;
	}
	s->sink.ops = &ops;
	rows_init(&s->rows, args);
	for (const struct field *f = fields; f->name; f++)
		fprintf(s->out.f, "%s%s", f > fields ? "," : "", f->name);
	fputs("\r\n", s->out.f);
	*out = &s->sink;
	return 0;
}

const struct exporter export_csv = { "csv", "a row for each operation, RFC 4180",
	csv_open };
