/*
 * story_out.c - the story as JSON, and as a table for one glance
 */
#include "json.h"
#include "story.h"
#include "iops/names.h"
#include "iops/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cJSON *flow_object(const struct story_row *r, int w)
{
	const struct flow *f = &r->side[w];
	cJSON *o = cJSON_CreateObject();

	json_uint(o, "asked_bytes", f->asked);
	json_uint(o, "calls", f->calls);
	json_uint(o, "call_time_ns", f->call_ns);
	if (w) {
		json_uint(o, "sync_calls", r->syncs);
		json_uint(o, "sync_time_ns", r->sync_ns);
		json_uint(o, "dirtied_bytes", f->dirtied);
		json_uint(o, "dropped_bytes", f->dropped);
		json_uint(o, "dirty_bytes", f->left);
	} else {
		json_uint(o, "hit_bytes", f->hit);
		json_uint(o, "missed_bytes", f->missed);
		json_uint(o, "mapped_hit_bytes", f->mapped_hit);
		json_uint(o, "mapped_missed_bytes", f->mapped_missed);
		json_uint(o, "readahead_bytes", f->ahead);
		json_uint(o, "major_faults", r->faults);
	}
	json_uint(o, "device_bytes", f->device);
	json_uint(o, "device_requests", f->requests);
	json_uint(o, "device_time_ns", f->device_ns);
	if (w) {
		json_uint(o, "flushes", r->flushes);
		json_uint(o, "flush_time_ns", r->flush_ns);
	}
	if (f->asked)
		cJSON_AddNumberToObject(o, "amplification",
			round((double)f->device / (double)f->asked * 1e6) / 1e6);
	return o;
}

static void add_sides(cJSON *o, const struct story_row *r)
{
	cJSON_AddItemToObject(o, "read", flow_object(r, 0));
	cJSON_AddItemToObject(o, "write", flow_object(r, 1));
}

static void put_file(FILE *out, const struct report_in *in, const struct story_row *r)
{
	const struct file *f = names_file(in->names, r->file);
	cJSON *o = cJSON_CreateObject();
	char device[32];

	if (f->path)
		json_text(o, "path", names_get(in->names, f->path));
	else
		cJSON_AddNullToObject(o, "path");
	if (f->inode) {
		snprintf(device, sizeof(device), "%u:%u", f->major, f->minor);
		cJSON_AddStringToObject(o, "device", device);
		json_uint(o, "inode", f->inode);
	}
	add_sides(o, r);
	json_put(out, o);
}

int story_json(FILE *out, const struct report_in *in)
{
	struct story s;
	int err = story_of(&s, in);
	cJSON *o = cJSON_CreateObject();

	add_sides(o, &s.total);
	if (s.total.faults)
		json_uint(cJSON_GetObjectItem(o, "read"), "major_fault_time_ns",
			s.fault_ns);
	fprintf(out, ",\n \"story\": {\"page_bytes\": %llu,\n  \"total\": ",
		(unsigned long long)s.page);
	json_put(out, o);
	fputs(",\n  \"by_file\": [", out);
	for (size_t i = 0; i < s.n; i++) {
		fputs(i ? ",\n   " : "\n   ", out);
		put_file(out, in, &s.row[i]);
	}
	fputs(" ] }", out);
	story_fini(&s);
	return err;
}

/* The columns: the same places for reading and for writing. */
enum what { ASKED, HIT, MISSED, AHEAD, DIRTIED, DEVICE, DIRTY, TIMES, CALLS, DISK };

static const struct cell {
	enum what what;
	const char *head;
	uint8_t width;
	bool wide; /* only where there is room */
} cells[2][8] = {
	{
		{ ASKED, "asked", 9, false },
		{ HIT, "hit", 9, false },
		{ MISSED, "missed", 9, true },
		{ AHEAD, "ahead", 9, false },
		{ DEVICE, "device", 9, false },
		{ TIMES, "x", 5, false },
		{ CALLS, "calls", 8, false },
		{ DISK, "requests", 8, false },
	},
	{
		{ ASKED, "asked", 9, false },
		{ DIRTIED, "dirtied", 9, false },
		{ MISSED, "", 9, true },
		{ DEVICE, "device", 9, false },
		{ DIRTY, "dirty", 9, false },
		{ TIMES, "x", 5, false },
		{ CALLS, "calls", 8, false },
		{ DISK, "requests", 8, false },
	},
};
enum { NCELLS = 8, WIDE = 100, NAME_MAX_WIDTH = 60, NAME_MIN_WIDTH = 12 };

struct sheet {
	FILE *out;
	const struct report_in *in;
	size_t name; /* width */
	bool wide;
};

/* Of what was looked for in the cache. */
static void share(char buf[UNITS_LEN], const struct flow *f)
{
	uint64_t all = f->hit + f->missed;

	if (all)
		snprintf(buf, UNITS_LEN, "%.1f %%", 100 * (double)f->hit / (double)all);
}

static const char *text_of(const struct sheet *t, enum what what,
	const struct story_row *r, int w, char *buf)
{
	const struct flow *f = &r->side[w];
	enum units u = t->in->view->units;

	strcpy(buf, what == MISSED && w ? "" : "-");
	switch (what) {
	case ASKED:
		return units_bytes(buf, f->asked, u);
	case HIT:
		share(buf, f);
		return buf;
	case MISSED:
		return w ? buf : units_bytes(buf, f->missed, u);
	case AHEAD:
		return units_bytes(buf, f->ahead, u);
	case DIRTIED:
		return units_bytes(buf, f->dirtied, u);
	case DEVICE:
		return units_bytes(buf, f->device, u);
	case DIRTY:
		return units_bytes(buf, f->left, u);
	case TIMES:
		if (f->asked)
			snprintf(buf, UNITS_LEN, "%.*f", f->device < 99 * f->asked,
				(double)f->device / (double)f->asked);
		return buf;
	case CALLS:
		return units_ns(buf, f->call_ns + (w ? r->sync_ns : 0), u);
	case DISK:
		return units_ns(buf, f->device_ns, u);
	}
	return buf;
}

/* Of a long path its end, from a slash on where that fits. */
static const char *end_of(const struct sheet *t, const char *path, char *buf, size_t size)
{
	const char *p = path;

	if (units_width(path) <= t->name)
		return path;
	const char *dots = units_utf8(t->in->view->text) ? "\u2026" : "...";
	size_t room = t->name - units_width(dots);
	while (p && units_width(p) > room)
		p = strchr(p + 1, '/');
	if (!p)
		return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	snprintf(buf, size, "%s%s", dots, p);
	return buf;
}

static void put_row(
	const struct sheet *t, const char *name, const struct story_row *r, int w)
{
	char shown[4 * NAME_MAX_WIDTH + 64], buf[UNITS_LEN], end[NAME_MAX_WIDTH * 4 + 8];

	name = end_of(t, name, end, sizeof(end));
	units_elide(shown, sizeof(shown), name, t->name, t->in->view->text);
	fprintf(t->out, "%s%*s", shown,
		(int)(t->name > units_width(shown) ? t->name - units_width(shown) : 0),
		"");
	for (unsigned i = 0; i < NCELLS; i++)
		if (t->wide || !cells[w][i].wide)
			fprintf(t->out, " %*s", cells[w][i].width,
				text_of(t, cells[w][i].what, r, w, buf));
	fputc('\n', t->out);
}

static void put_head(const struct sheet *t, int w)
{
	bool colour = t->in->view->colour;

	fprintf(t->out, "\n%s%-*s", colour ? "\033[1m" : "", (int)t->name,
		w ? "written" : "read");
	for (unsigned i = 0; i < NCELLS; i++)
		if (t->wide || !cells[w][i].wide)
			fprintf(t->out, " %*s", cells[w][i].width, cells[w][i].head);
	fprintf(t->out, "%s\n", colour ? "\033[0m" : "");
}

/* What was only mapped, and in the cache, is no part of it. */
static bool any(const struct story_row *r, int w)
{
	const struct flow *f = &r->side[w];

	return f->asked || f->device || f->dirtied || f->missed || f->ahead;
}

/* By bytes of one direction: as asked for, or by the device where that is more. */
static uint64_t weight(const struct story_row *r, int w)
{
	const struct flow *f = &r->side[w];

	return f->asked > f->device ? f->asked : f->device;
}

static int by_read(const void *a, const void *b)
{
	uint64_t x = weight(a, 0), y = weight(b, 0);

	return x < y ? 1 : x > y ? -1 : 0;
}

static int by_written(const void *a, const void *b)
{
	uint64_t x = weight(a, 1), y = weight(b, 1);

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The rows are put in order for it. */
static void put_side(const struct sheet *t, struct story *s, int w)
{
	unsigned shown = 0, most = t->in->view->top;
	size_t left = 0;

	if (!any(&s->total, w))
		return;
	if (s->n)
		qsort(s->row, s->n, sizeof(*s->row), w ? by_written : by_read);
	put_head(t, w);
	put_row(t, "all files", &s->total, w);
	for (size_t i = 0; i < s->n; i++) {
		const struct file *f = names_file(t->in->names, s->row[i].file);
		const char *path = names_get(t->in->names, f->path);
		if (!any(&s->row[i], w))
			continue;
		if (most && shown == most) {
			left++;
			continue;
		}
		put_row(t, *path ? path : "(no name)", &s->row[i], w);
		shown++;
	}
	if (left)
		fprintf(t->out, "... and %zu more; --top 0 shows all\n", left);
}

/* What the columns leave out. */
static void put_rest(const struct sheet *t, const struct story *s)
{
	const struct story_row *r = &s->total;
	enum units u = t->in->view->units;
	char a[UNITS_LEN], b[UNITS_LEN];

	if (r->faults)
		fprintf(t->out, "page faults that waited for a device: %s, %s\n",
			units_count(a, r->faults, u), units_ns(b, s->fault_ns, u));
	if (r->flushes)
		fprintf(t->out, "flushes of the device's own cache: %s, %s\n",
			units_count(a, r->flushes, u), units_ns(b, r->flush_ns, u));
	if (r->side[1].left)
		fprintf(t->out, "still dirty at the end: %s, to be written later\n",
			units_bytes(a, r->side[1].left, u));
}

int story_table(FILE *out, const struct report_in *in)
{
	const struct view *v = in->view;
	struct sheet t = { .out = out, .in = in, .wide = !v->width || v->width >= WIDE };
	size_t fixed = 0, room = v->width ? v->width : 2 * NAME_MAX_WIDTH + 60;
	struct story s;
	int err = story_of(&s, in);

	for (unsigned i = 0; i < NCELLS; i++)
		fixed += t.wide || !cells[0][i].wide ? cells[0][i].width + 1 : 0;
	t.name = room > fixed + NAME_MIN_WIDTH ? room - fixed : NAME_MIN_WIDTH;
	if (t.name > NAME_MAX_WIDTH)
		t.name = NAME_MAX_WIDTH;
	for (int w = 0; w < 2 && !err; w++)
		put_side(&t, &s, w);
	if (!err)
		put_rest(&t, &s);
	story_fini(&s);
	return err;
}
