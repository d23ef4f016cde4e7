/*
 * histogram.c - log-scale histograms drawn in the terminal
 */
#include "iops/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 3, MIN_BAR = 6, NUMBER = 10, LABEL = 9 };

struct chart {
	const char *title, *unit;
	uint64_t n[SETS][HIST_OCTAVES]; /* reads, writes, all */
	bool bytes, time;               /* how to write numbers, bucket bounds */
};

/* A bar of up to width columns for n of max, in eighths of a column where we may. */
static void put_bar(FILE *out, uint64_t n, uint64_t max, unsigned width, bool utf8)
{
	static const char *const part[] = { "", "\u258f", "\u258e", "\u258d", "\u258c",
		"\u258b", "\u258a", "\u2589" };
	unsigned eighths =
		max ? (unsigned)((double)n / (double)max * width * 8 + 0.5) : 0;
	unsigned full = eighths / 8, used = full;

	if (n && !eighths)
		eighths = 1;
	for (unsigned i = 0; i < full; i++)
		fputs(utf8 ? "\u2588" : "#", out);
	if (used < width && eighths % 8 && (utf8 || (!full && n))) {
		fputs(utf8 ? part[eighths % 8] : ".", out);
		used++;
	}
	fprintf(out, "%*s", (int)(width - used), "");
}

static void put_number(FILE *out, const struct chart *c, uint64_t n, enum units u)
{
	char buf[UNITS_LEN];

	if (!n)
		fprintf(out, "%*s", NUMBER, "");
	else if (c->bytes)
		fprintf(out, "%*s", NUMBER, units_bytes(buf, n, u));
	else
		fprintf(out, "%*s", NUMBER, units_count(buf, n, u));
}

static void put_chart(FILE *out, const struct chart *c, const struct view *v)
{
	static const char *const set[SETS] = { "reads", "writes", "all" };
	unsigned first = HIST_OCTAVES, last = 0, room = v->width ? v->width : 80;
	unsigned bar = room > LABEL + SETS * (NUMBER + MIN_BAR + 2)
			       ? (room - LABEL - SETS * (NUMBER + 2)) / SETS
			       : MIN_BAR;
	uint64_t max[SETS] = { 0 };
	char buf[UNITS_LEN];

	bar = bar > 40 ? 40 : bar;
	for (unsigned i = 0; i < HIST_OCTAVES; i++)
		for (unsigned s = 0; s < SETS; s++) {
			if (!c->n[s][i])
				continue;
			first = i < first ? i : first;
			last = i;
			max[s] = c->n[s][i] > max[s] ? c->n[s][i] : max[s];
		}
	if (first == HIST_OCTAVES)
		return;
	fprintf(out, "\n%s%s%s\n%*s", v->colour ? "\033[1m" : "", c->title,
		v->colour ? "\033[0m" : "", LABEL, c->unit);
	for (unsigned s = 0; s < SETS; s++)
		fprintf(out, "  %-*s%*s", bar, set[s], NUMBER, "");
	fputc('\n', out);
	for (unsigned i = first; i <= last; i++) {
		uint64_t from = i ? UINT64_C(1) << (i - 1) : 0;
		fprintf(out, "%*s", LABEL,
			c->time ? units_ns(buf, from, v->units)
				: units_bytes(buf, from, v->units));
		for (unsigned s = 0; s < SETS; s++) {
			fputs("  ", out);
			put_bar(out, c->n[s][i], max[s], bar, units_utf8(v->text));
			put_number(out, c, c->n[s][i], v->units);
		}
		fputc('\n', out);
	}
}

static void fill_sizes(struct chart *c, const struct totals *t, bool bytes)
{
	for (unsigned i = 0; i < HIST_OCTAVES; i++) {
		for (unsigned s = 0; s < 2; s++)
			c->n[s][i] =
				bytes ? t->size[s][i].bytes : t->size[s][i].operations;
		c->n[2][i] =
			c->n[0][i] + c->n[1][i] - (bytes ? 0 : t->pair[i].operations);
	}
	c->bytes = bytes;
}

int histogram_render(FILE *out, const struct report_in *in)
{
	struct chart ops = { .title = "operations by size", .unit = "from" };
	struct chart bytes = { .title = "bytes by size of operation", .unit = "from" };
	struct chart time = {
		.title = "operations by time in the call", .unit = "from", .time = true
	};
	struct row row;
	struct series all;
	int err = stats_total(in->stats, &row);

	if (err < 0)
		return err;
	fill_sizes(&ops, stats_totals(in->stats), false);
	fill_sizes(&bytes, stats_totals(in->stats), true);
	for (unsigned s = 0; s < 2; s++)
		if (row.series[s])
			hist_octaves(&row.series[s]->latency, time.n[s]);
	err = row_all(&row, false, &all);
	if (!err) {
		hist_octaves(&all.latency, time.n[2]);
		put_chart(out, &ops, in->view);
		put_chart(out, &bytes, in->view);
		put_chart(out, &time, in->view);
		series_fini(&all);
	}
	row_fini(&row);
	return err;
}
