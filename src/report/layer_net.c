/*
 * layer_net.c - sockets, connections, what became of packets
 */
#include "iops/layer_net.h"
#include "iops/diag.h"
#include "iops/report.h"
#include "json.h"
#include "layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The reason in the name of a drop. */
static const char *reason_of(const struct net_sums *s, const struct net_drop *d)
{
	const char *name = names_call_name(s->names, d->call);

	return strncmp(name, "net:drop:", 9) ? name : name + 9;
}

/* A socket's name in its parts: what it speaks, here, there. */
struct parts {
	char *text, *protocol, *local, *remote;
};

static int split(const struct net_sums *s, const struct net_row *r, struct parts *out)
{
	const char *path = names_get(s->names, names_file(s->names, r->file)->path);
	char *text = strdup(path), *arrow = text ? strstr(text, " -> ") : NULL, *space;

	if (!text)
		return -ENOMEM;
	*out = (struct parts){ text, text, NULL, arrow ? arrow + 4 : NULL };
	if (arrow)
		*arrow = 0;
	if ((space = strchr(text, ' '))) {
		*space = 0;
		out->local = space + 1;
	}
	return 0;
}

static void add_packets(cJSON *o, const char *key, const struct net_packets *p)
{
	cJSON *q = cJSON_AddObjectToObject(o, key);

	json_uint(q, "count", p->count);
	json_uint(q, "bytes", p->bytes);
}

static cJSON *row_object(
	const struct net_sums *s, const struct net_row *r, const struct run *run)
{
	static const struct series none;
	cJSON *o = cJSON_CreateObject();
	const struct file *f = names_file(s->names, r->file);
	struct parts p = { 0 };

	if (split(s, r, &p) == 0) {
		json_text(o, "protocol", p.protocol);
		if (p.local)
			json_text(o, "local", p.local);
		if (p.remote)
			json_text(o, "remote", p.remote);
	}
	if (f->inode)
		json_uint(o, "inode", f->inode);
	if (r->pid)
		json_int(o, "pid", r->pid);
	if (r->comm)
		json_text(o, "command", names_get(s->names, r->comm));
	cJSON_AddItemToObject(o, "sent", json_series(r->sent ? r->sent : &none, run));
	cJSON_AddItemToObject(
		o, "received", json_series(r->received ? r->received : &none, run));
	if (r->opened_ns != OP_NO_TIME)
		json_uint(o, "opened_ns", r->opened_ns);
	if (r->closed_ns != OP_NO_TIME)
		json_uint(o, "closed_ns", r->closed_ns);
	if (r->connect_ns != OP_NO_TIME)
		json_uint(o, "connect_ns", r->connect_ns);
	json_uint(o, "failed_connects", r->failed);
	add_packets(o, "drops", &r->drops);
	add_packets(o, "retransmits", &r->retransmits);
	json_uint(o, "resets", r->resets);
	free(p.text);
	return o;
}

static void put_waits(FILE *out, const struct net_sums *s)
{
	fputs(",\n   \"waits\": [", out);
	for (size_t i = 0; i < s->nwait; i++) {
		const struct net_wait *w = &s->wait[i];
		const char *name = names_call_name(s->names, w->call);
		cJSON *o = cJSON_CreateObject();
		cJSON_AddStringToObject(
			o, "call", strncmp(name, "net:", 4) ? name : name + 4);
		json_uint(o, "operations", w->series.operations);
		json_uint(o, "errors", w->series.errors);
		json_uint(o, "interrupted", w->series.interrupted);
		json_uint(o, "ready", w->ready);
		json_uint(o, "empty", w->empty);
		json_uint(o, "time_ns", w->series.time_ns);
		cJSON_AddItemToObject(o, "latency_ns", json_hist(&w->series.latency));
		fputs(i ? ",\n    " : "\n    ", out);
		json_put(out, o);
	}
	fputs(" ]", out);
}

static void put_packets(FILE *out, const struct net_sums *s)
{
	cJSON *o = cJSON_CreateObject(), *list;

	json_uint(o, "count", s->dropped.count);
	json_uint(o, "bytes", s->dropped.bytes);
	list = cJSON_AddArrayToObject(o, "by_reason");
	for (size_t i = 0; i < s->ndrop; i++) {
		cJSON *d = cJSON_CreateObject();
		json_text(d, "reason", reason_of(s, &s->drop[i]));
		json_uint(d, "count", s->drop[i].packets.count);
		json_uint(d, "bytes", s->drop[i].packets.bytes);
		cJSON_AddItemToArray(list, d);
	}
	fputs(",\n   \"drops\": ", out);
	json_put(out, o);
	o = cJSON_CreateObject();
	json_uint(o, "count", s->retransmits.count);
	json_uint(o, "bytes", s->retransmits.bytes);
	fputs(",\n   \"retransmits\": ", out);
	json_put(out, o);
	o = cJSON_CreateObject();
	json_uint(o, "sent", s->resets_sent);
	json_uint(o, "received", s->resets_received);
	fputs(",\n   \"resets\": ", out);
	json_put(out, o);
	fprintf(out, ",\n   \"receive_queue_full\": %llu",
		(unsigned long long)s->queue_full);
}

static void put_connections(FILE *out, const struct net_connections *c)
{
	cJSON *o = cJSON_CreateObject();

	json_uint(o, "opened", c->opened);
	json_uint(o, "accepted", c->accepted);
	json_uint(o, "failed", c->failed);
	json_uint(o, "closed", c->closed);
	fputs(",\n   \"connections\": ", out);
	json_put(out, o);
}

/* A connection that is on its way is no failure. */
static bool is_error(const struct fault *f)
{
	return f->err != EINPROGRESS;
}

static uint64_t errors_of(const struct stats *stats)
{
	size_t n;
	const struct fault *f = stats_faults(stats, &n);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += is_error(&f[i]) ? f[i].count : 0;
	return sum;
}

static void put_errors(FILE *out, const struct report_in *in)
{
	size_t n;
	const struct fault *f = stats_faults(in->stats, &n);
	const char *comma = "";
	char buf[16];

	fputs(",\n   \"errors\": [", out);
	for (size_t i = 0; i < n; i++) {
		const char *name = names_call_name(in->names, f[i].call);
		if (!is_error(&f[i]))
			continue;
		cJSON *o = cJSON_CreateObject();
		json_text(o, "call", strncmp(name, "net:", 4) ? name : name + 4);
		cJSON_AddStringToObject(o, "errno", errno_name(f[i].err, buf));
		json_uint(o, "count", f[i].count);
		fprintf(out, "%s\n    ", comma);
		json_put(out, o);
		comma = ",";
	}
	fputs(" ]", out);
}

static int put_by(FILE *out, const struct net_sums *s, const struct report_in *in)
{
	fputs(",\n   \"by\": {\n  \"socket\": [", out);
	for (size_t i = 0; i < s->nrow; i++) {
		fputs(i ? ",\n   " : "\n   ", out);
		json_put(out, row_object(s, &s->row[i], in->run));
	}
	fputs(" ],", out);
	int err = json_breakdown(out, in, DIM_PROCESS);
	fputs(",", out);
	if (!err)
		err = json_breakdown(out, in, DIM_CALL);
	fputs(" }", out);
	return err;
}

/* The sums that all layers have, or empty ones: free them as *none. */
static int common(const struct net_sums *s, struct report_in *in, struct stats **none)
{
	*none = NULL;
	in->stats = stats_layer(in->stats, LAYER_NET);
	if (!in->stats && !(in->stats = *none = stats_new(s->names, 0)))
		return -ENOMEM;
	return 0;
}

static uint64_t operations_of(const struct row *row)
{
	uint64_t sum = 0;

	for (unsigned c = 0; c < NCLASS; c++)
		sum += row->series[c] ? row->series[c]->operations : 0;
	return sum;
}

static int json(FILE *out, const void *sums, const struct report_in *main)
{
	const struct net_sums *s = sums;
	struct report_in in = *main;
	struct stats *none;
	struct row row = { 0 };
	struct line all = { 0 };
	int err = common(s, &in, &none);

	if (!err)
		err = json_total(&in, &row, &all);
	if (!err) {
		fprintf(out, "\n   \"operations\": %llu",
			(unsigned long long)operations_of(&row));
		fputs(",\n   \"sent\": ", out);
		json_put(out, json_series(line_series(&all, CLASS_WRITE), in.run));
		fputs(",\n   \"received\": ", out);
		json_put(out, json_series(line_series(&all, CLASS_READ), in.run));
		fputs(",\n   \"peeked\": ", out);
		json_put(out, json_series(line_series(&all, CLASS_PEEK), in.run));
		put_connections(out, &s->connections);
		put_packets(out, s);
		put_waits(out, s);
		put_errors(out, &in);
		err = put_by(out, s, &in);
		series_fini(&all.all);
		row_fini(&row);
	}
	stats_free(none);
	return err;
}

/* The rest is the table for people. */

static void head(FILE *out, const struct view *v, const char *line)
{
	fprintf(out, "%s%s%s\n", v->colour ? "\033[1m" : "", line,
		v->colour ? "\033[0m" : "");
}

static uint64_t bytes_of(const struct net_row *r)
{
	return (r->sent ? r->sent->bytes : 0) + (r->received ? r->received->bytes : 0);
}

static uint64_t calls_of(const struct net_row *r)
{
	return (r->sent ? r->sent->operations : 0) +
	       (r->received ? r->received->operations : 0);
}

static int by_bytes(const void *a, const void *b)
{
	const struct net_row *x = *(const struct net_row *const *)a,
			     *y = *(const struct net_row *const *)b;

	if (bytes_of(x) != bytes_of(y))
		return bytes_of(x) < bytes_of(y) ? 1 : -1;
	if (calls_of(x) != calls_of(y))
		return calls_of(x) < calls_of(y) ? 1 : -1;
	return x < y ? -1 : 1;
}

static void row_line(FILE *out, const struct net_sums *s, const struct net_row *r,
	const struct view *v)
{
	static const struct series none;
	const struct series *w = r->sent ? r->sent : &none,
			    *i = r->received ? r->received : &none;
	char n[2][UNITS_LEN], b[2][UNITS_LEN], name[600], pid[16];
	size_t room = v->width ? (v->width > 70 ? v->width - 51 : 20) : 60;

	units_elide(name, sizeof(name),
		names_get(s->names, names_file(s->names, r->file)->path), room, v->text);
	snprintf(pid, sizeof(pid), "%d", r->pid);
	fprintf(out, "%s%*s %7s %10s %10s %10s %10s\n", name,
		(int)(room - units_width(name)), "", r->pid ? pid : "",
		units_count(n[0], w->operations, v->units),
		units_bytes(b[0], w->bytes, v->units),
		units_count(n[1], i->operations, v->units),
		units_bytes(b[1], i->bytes, v->units));
}

static void socket_lines(FILE *out, const struct net_sums *s, const struct view *v)
{
	const struct net_row **sorted = calloc(s->nrow + 1, sizeof(struct net_row *));
	size_t n = v->top && v->top < s->nrow ? v->top : s->nrow;
	int room = v->width ? (v->width > 70 ? (int)v->width - 51 : 20) : 60;
	char line[700];

	for (size_t i = 0; sorted && i < s->nrow; i++)
		sorted[i] = &s->row[i];
	if (sorted && s->nrow) {
		qsort(sorted, s->nrow, sizeof(struct net_row *), by_bytes);
		snprintf(line, sizeof(line), "%-*s %7s %10s %10s %10s %10s", room,
			"socket", "pid", "sent", "bytes", "received", "bytes");
		fputc('\n', out);
		head(out, v, line);
		for (size_t i = 0; i < n; i++)
			row_line(out, s, sorted[i], v);
		if (n < s->nrow)
			fprintf(out, "... and %zu more; --top 0 shows all\n",
				s->nrow - n);
	}
	free(sorted);
}

static void wait_lines(FILE *out, const struct net_sums *s, const struct view *v)
{
	char n[4][UNITS_LEN];

	if (s->nwait)
		head(out, v,
			"\nwait                 calls      ready      empty        time  "
			"   "
			" lat p50      p99");
	for (size_t i = 0; i < s->nwait; i++) {
		const struct net_wait *w = &s->wait[i];
		const char *name = names_call_name(s->names, w->call);
		char t[2][UNITS_LEN];
		fprintf(out, "%-15s %10s %10s %10s %11s %12s %8s\n",
			strncmp(name, "net:", 4) ? name : name + 4,
			units_count(n[0], w->series.operations, v->units),
			units_count(n[1], w->ready, v->units),
			units_count(n[2], w->empty, v->units),
			units_ns(n[3], w->series.time_ns, v->units),
			units_ns(t[0], hist_quantile(&w->series.latency, .5), v->units),
			units_ns(t[1], hist_quantile(&w->series.latency, .99), v->units));
	}
}

static void drop_line(FILE *out, const struct net_sums *s, enum units u)
{
	char n[UNITS_LEN], b[UNITS_LEN];

	if (!s->dropped.count)
		return;
	fprintf(out, "drops %s (%s):", units_count(n, s->dropped.count, u),
		units_bytes(b, s->dropped.bytes, u));
	for (size_t i = 0; i < s->ndrop; i++)
		fprintf(out, "%s %s %s", i ? "," : "", reason_of(s, &s->drop[i]),
			units_count(n, s->drop[i].packets.count, u));
	fputc('\n', out);
}

static void table(FILE *out, const void *sums, const struct report_in *main)
{
	const struct net_sums *s = sums;
	const struct net_connections *c = &s->connections;
	const struct view *v = main->view;
	struct report_in in = *main;
	struct stats *none = NULL;
	struct row row;
	struct line all;
	char n[8][UNITS_LEN], b[2][UNITS_LEN];

	if (common(s, &in, &none) < 0 || json_total(&in, &row, &all) < 0) {
		stats_free(none);
		return;
	}
	const struct series *w = line_series(&all, CLASS_WRITE),
			    *r = line_series(&all, CLASS_READ);
	head(out, v,
		"\nnetwork      sent      bytes   received      bytes  opened accepted "
		"failed closed");
	fprintf(out, "%17s %10s %10s %10s %7s %8s %6s %6s\n",
		units_count(n[0], w->operations, v->units),
		units_bytes(b[0], w->bytes, v->units),
		units_count(n[1], r->operations, v->units),
		units_bytes(b[1], r->bytes, v->units),
		units_count(n[2], c->opened, v->units),
		units_count(n[3], c->accepted, v->units),
		units_count(n[4], c->failed, v->units),
		units_count(n[5], c->closed, v->units));
	fprintf(out, "errors %s   retransmits %s   resets sent %s, received %s\n",
		units_count(n[0], errors_of(in.stats), v->units),
		units_count(n[1], s->retransmits.count, v->units),
		units_count(n[2], s->resets_sent, v->units),
		units_count(n[3], s->resets_received, v->units));
	drop_line(out, s, v->units);
	socket_lines(out, s, v);
	wait_lines(out, s, v);
	series_fini(&all.all);
	row_fini(&row);
	stats_free(none);
}

const struct layer_report layer_net_report = { json, table };
