/*
 * avro.c - an Avro object container file of rows
 */
#include "export.h"
#include "iops/diag.h"
#include "iops/late.h"
#include "iops/text.h"

#include <avro.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A row must fit into a block: a path may have LOG_NAME_MAX, and 4 times that in two
 * forms. */
enum { BLOCK_SIZE = 1 << 20 };
#define SAFE_INTEGER ((INT64_C(1) << 53) - 2)

/* Those that avro.h declares and does not define. */
#define FUNCTIONS(X)                                                                     \
	X(avro_file_writer_append_value)                                                 \
	X(avro_file_writer_close)                                                        \
	X(avro_file_writer_create_with_codec_fp)                                         \
	X(avro_generic_class_from_schema)                                                \
	X(avro_generic_value_new)                                                        \
	X(avro_schema_decref)                                                            \
	X(avro_schema_from_json)                                                         \
	X(avro_strerror)                                                                 \
	X(avro_value_decref)

struct avro {
	struct sink sink;
	struct rows rows;
	struct output out;
	struct {
		FUNCTIONS(LATE_MEMBER)
	} lib;
	avro_schema_t schema;
	avro_value_iface_t *class;
	avro_value_t record;
	avro_file_writer_t writer;
};

static void put_type(
	FILE *f, const char *name, const char *more, const char *type, bool nullable)
{
	fprintf(f,
		nullable ? "{\"name\":\"%s%s\",\"type\":[\"null\",\"%s\"]}"
			 : "{\"name\":\"%s%s\",\"type\":\"%s\"}",
		name, more, type);
}

static char *schema_text(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fputs("{\"type\":\"record\",\"name\":\"op\",\"namespace\":\"iops\",\"fields\":[",
		out);
	for (const struct field *f = fields; f->name; f++) {
		fputs(f > fields ? "," : "", out);
		put_type(out, f->name, "", f->type == FIELD_INT ? "long" : "string",
			f->nullable);
		if (f->bytes) { /* a string must be UTF-8 */
			putc(',', out);
			put_type(out, f->name, "_base64", "string", true);
		}
	}
	fputs("]}", out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* libavro answers with an errno of its own or EINVAL, and knows the words. */
static int failed(struct avro *s, int err)
{
	if (!err || s->out.err)
		return s->out.err;
	if (output_check(&s->out) < 0)
		return s->out.err;
	diag("cannot write to %s: %s", s->out.name, s->lib.avro_strerror());
	return s->out.err = err > 0 ? -err : -EIO;
}

/* The text, or the number where there is none. */
static int set_value(struct avro *s, size_t at, bool nullable, const struct cell *c)
{
	avro_value_t v, branch = { 0 };
	int err = avro_value_get_by_index(&s->record, at, &v, NULL);

	if (!err && nullable) {
		err = avro_value_set_branch(&v, !c->null, &branch);
		v = branch;
	}
	if (err)
		return err;
	return c->null  ? avro_value_set_null(&v)
	       : c->str ? avro_value_set_string(&v, c->str)
			: avro_value_set_long(&v, c->num);
}

static int set_bytes(struct avro *s, size_t at, const struct cell *c)
{
	char *clean = NULL, *truth = NULL;
	bool bad = !c->null && !text_is_utf8(c->str);
	int err = ENOMEM;

	if (!bad) {
		err = set_value(s, at, true, c);
		return err ? err
			   : set_value(s, at + 1, true, &(struct cell){ .null = true });
	}
	if ((clean = text_clean(c->str)) && (truth = text_base64(c->str)))
		err = set_value(s, at, true, &(struct cell){ .str = clean });
	if (!err)
		err = set_value(s, at + 1, true, &(struct cell){ .str = truth });
	free(clean);
	free(truth);
	return err;
}

static int avro_put(struct sink *sink, const struct op *op)
{
	struct avro *s = (struct avro *)sink;
	size_t at = 0;
	int err = 0;

	if (!rows_take(&s->rows, op) || s->out.err)
		return s->out.err;
	for (const struct field *f = fields; f->name && !err; f++) {
		struct cell c = rows_cell(&s->rows, f, op);
		/* "As much as there is" in a number that readers in JavaScript take. */
		if (!strcmp(f->name, "requested") && c.num > SAFE_INTEGER)
			c.num = SAFE_INTEGER;
		err = f->bytes ? set_bytes(s, at, &c) : set_value(s, at, f->nullable, &c);
		at += 1 + f->bytes;
	}
	if (!err)
		err = s->lib.avro_file_writer_append_value(s->writer, &s->record);
	return err ? failed(s, err) : output_check(&s->out);
}

static void avro_fini(struct avro *s)
{
	if (s->class) {
		s->lib.avro_value_decref(&s->record);
		avro_value_iface_decref(s->class);
	}
	if (s->schema)
		s->lib.avro_schema_decref(s->schema);
	free(s);
}

static int avro_close(struct sink *sink)
{
	struct avro *s = (struct avro *)sink;
	int err = failed(s, s->lib.avro_file_writer_close(s->writer));
	int late = output_close(&s->out);

	rows_end(&s->rows);
	avro_fini(s);
	return err ? err : late;
}

static int prepare(struct avro *s)
{
	char *text = schema_text();
	avro_schema_error_t why;
	int err = text ? s->lib.avro_schema_from_json(text, 0, &s->schema, &why) : ENOMEM;

	free(text);
	if (!err && !(s->class = s->lib.avro_generic_class_from_schema(s->schema)))
		err = ENOMEM;
	if (!err)
		err = s->lib.avro_generic_value_new(s->class, &s->record);
	return err;
}

static int start_with(struct avro *s, const char *codec)
{
	return s->lib.avro_file_writer_create_with_codec_fp(
		s->out.f, s->out.name, 0, s->schema, &s->writer, codec, BLOCK_SIZE);
}

/* A libavro built without zlib knows the null codec only, and says so at once. */
static int start(struct avro *s)
{
	int err = start_with(s, "deflate");

	return err && !ferror(s->out.f) ? start_with(s, "null") : err;
}

static int avro_open(struct sink **out, const struct export_args *args)
{
	static const struct sink_ops ops = {
		.name = "avro", .put = avro_put, .close = avro_close
	};
	static const char *const functions[] = { FUNCTIONS(LATE_NAME) NULL };
	struct avro *s = calloc(1, sizeof(*s));
	int err = s ? late_load(LATE_AVRO, functions, &s->lib) : -ENOMEM;

	if (!err)
		err = output_open(&s->out, args->output);
	if (err < 0) {
		free(s);
		return err;
	}
	s->sink.ops = &ops;
	rows_init(&s->rows, args);
	if ((err = prepare(s)) || (err = start(s))) {
		err = failed(s, err);
		output_close(&s->out);
		avro_fini(s);
		return err;
	}
	*out = &s->sink;
	return 0;
}

const struct exporter export_avro = {
	.name = "avro", .help = "an Avro object container file", .open = avro_open
};
