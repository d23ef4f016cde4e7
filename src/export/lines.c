/*
 * lines.c - a line of text for each operation: CSV by RFC 4180, and JSON of iops.op/1
 */
#include "export.h"
#include "iops/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* How a line is written. */
struct form {
	const char *begin, *end; /* of a line */
	void (*put)(FILE *out, const struct field *f, const struct cell *c);
	bool header; /* the first line is the names of the fields */
};

struct lines {
	struct sink sink;
	struct rows rows;
	struct output out;
	const struct form *form;
};

static void put_csv(FILE *out, const struct field *f, const struct cell *c)
{
	if (f > fields)
		putc(',', out);
	if (!c->null && f->type == FIELD_INT)
		fprintf(out, "%" PRId64, c->num);
	else if (!c->null)
		text_put_csv(out, c->str);
}

static void put_json(FILE *out, const struct field *f, const struct cell *c)
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

static int lines_put(struct sink *sink, const struct op *op)
{
	struct lines *s = (struct lines *)sink;

	if (!rows_take(&s->rows, op))
		return 0;
	fputs(s->form->begin, s->out.f);
	for (const struct field *f = fields; f->name; f++) {
		struct cell c = rows_cell(&s->rows, f, op);
		s->form->put(s->out.f, f, &c);
	}
	fputs(s->form->end, s->out.f);
	return output_check(&s->out);
}

static int lines_close(struct sink *sink)
{
	struct lines *s = (struct lines *)sink;
	int err = output_close(&s->out);

	rows_end(&s->rows);
	free(s);
	return err;
}

static int lines_open(
	struct sink **out, const struct export_args *args, const struct form *form)
{
	static const struct sink_ops ops = {
		.name = "lines", .put = lines_put, .close = lines_close
	};
	struct lines *s = calloc(1, sizeof(*s));
	int err = s ? output_open(&s->out, args->output) : -ENOMEM;

	if (err < 0) {
		free(s);
		return err;
	}
	s->sink.ops = &ops;
	s->form = form;
	rows_init(&s->rows, args);
	for (const struct field *f = fields; form->header && f->name; f++)
		fprintf(s->out.f, "%s%s", f > fields ? "," : "", f->name);
	fputs(form->header ? form->end : "", s->out.f);
	*out = &s->sink;
	return 0;
}

static int csv_open(struct sink **out, const struct export_args *args)
{
	static const struct form csv = { "", "\r\n", put_csv, true };

	return lines_open(out, args, &csv);
}

static int jsonl_open(struct sink **out, const struct export_args *args)
{
	static const struct form json = { "{\"schema\":\"iops.op/1\"", "}\n", put_json,
		false };

	return lines_open(out, args, &json);
}

const struct exporter export_csv = {
	.name = "csv", .help = "a row for each operation, RFC 4180", .open = csv_open
};
const struct exporter export_jsonl = {
	.name = "jsonl", .help = "a JSON object for each operation", .open = jsonl_open
};
