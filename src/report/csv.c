/*
 * csv.c - the rows of a breakdown by RFC 4180, every column unless some were asked for
 */
#include "iops/report.h"
#include "iops/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_value(FILE *out, const struct value *v)
{
	switch (v->type) {
	case VALUE_NONE:
		break;
	case VALUE_STR:
		text_put_csv(out, v->str);
		break;
	case VALUE_RATE:
	case VALUE_BYTE_RATE:
		fprintf(out, "%.3f", v->rate);
		break;
	default:
		fprintf(out, "%" PRIu64, v->num);
	}
}

/* "read_size_bytes_p50" */
static void put_name(FILE *out, const struct column *c)
{
	if (c->of_series)
		fprintf(out, "%s_", c->class == NCLASS ? "all" : op_class_name(c->class));
	for (const char *p = c->name; *p; p++)
		fputc(*p == '.' ? '_' : *p, out);
}

/* What a breakdown has: its own columns, then each class of series. */
static size_t all_columns(enum dim dim, struct column *out)
{
	static const unsigned classes[] = { CLASS_READ, CLASS_WRITE, NCLASS, CLASS_SYNC,
		CLASS_META, CLASS_PEEK };
	size_t n = 0;

	for (const struct column *c = row_columns; c->name; c++)
		if (c->dims >> dim & 1)
			out[n++] = *c;
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		for (const struct column *c = series_columns; c->name; c++) {
			out[n] = *c;
			out[n++].class = classes[i];
		}
	return n;
}

static int render_by(FILE *out, const struct report_in *in, enum dim dim)
{
	struct column column[256];
	size_t ncolumns = 0;
	struct lines l;

	if (lines_of(in, dim, in->view->top, &l) < 0)
		return -ENOMEM;
	if (in->view->ncolumns)
		for (; ncolumns < in->view->ncolumns; ncolumns++)
			column[ncolumns] = *in->view->column[ncolumns];
	else
		ncolumns = all_columns(dim, column);
	for (size_t c = 0; c < ncolumns; c++) {
		fputs(c ? "," : "", out);
		put_name(out, &column[c]);
	}
	fputs("\r\n", out);
	for (size_t i = 0; i < l.n; i++) {
		for (size_t c = 0; c < ncolumns; c++) {
			struct value v = column_value(&column[c], &l.line[i]);
			fputs(c ? "," : "", out);
			put_value(out, &v);
		}
		fputs("\r\n", out);
	}
	lines_fini(&l);
	return 0;
}

static int render(FILE *out, const struct report_in *in)
{
	int err = 0;

	for (unsigned i = 0; i < in->view->nby && !err; i++) {
		if (i)
			fputs("\r\n", out); /* an empty line between breakdowns */
		err = render_by(out, in, in->view->by[i]);
	}
	return err ? err : ferror(out) ? -EIO : 0;
}

const struct report report_csv = { "csv", "the rows of --by, RFC 4180", render };
