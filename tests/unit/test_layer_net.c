/* test_layer_net.c - what operations of the network layer add up to */
#include "iops/layer_net.h"
#include "iops/names.h"
#include "iops/op.h"
#include "iops/sink.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct box {
	struct names *names;
	struct stats *stats;
};

static struct box box_new(void)
{
	struct box b = { .names = names_new() };

	assert_non_null(b.names);
	b.stats = stats_new(b.names, 0);
	assert_non_null(b.stats);
	return b;
}

static void box_free(struct box *b)
{
	stats_free(b->stats);
	names_free(b->names);
}

static const struct net_sums *sums_of(const struct box *b)
{
	return stats_layer_sums(b->stats, LAYER_NET);
}

/* An operation on socket number inode. */
static void put(struct box *b, const char *call, const char *path, uint64_t inode,
	const struct op *like)
{
	struct file f = { .type = FILE_SOCKET, .inode = inode };
	struct op op = *like;

	f.path = names_add(b->names, path, strlen(path));
	op.file = *path ? names_add_file(b->names, &f) : 0;
	op.call |= names_call(b->names, call, strlen(call));
	op.layer = LAYER_NET;
	op.pid = op.pid ? op.pid : 7;
	op.offset = OP_NO_OFFSET;
	assert_int_equal(sink_put(stats_sink(b->stats), &op), 0);
}

/* kind: OP_... of it */
#define PUT(call, path, inode, k, ...)                                                   \
	put(&b, call, path, inode, &(struct op){ .kind = OP_##k, __VA_ARGS__ })

static void assert_connections(
	const struct box *b, int opened, int accepted, int failed, int closed)
{
	const struct net_connections *c = &sums_of(b)->connections;

	assert_int_equal(c->opened, opened);
	assert_int_equal(c->accepted, accepted);
	assert_int_equal(c->failed, failed);
	assert_int_equal(c->closed, closed);
}

/* However TCP and the call tell it, and in which order, a connection is one. */
static void connects_once(void **state)
{
	static const struct {
		const char *first;
		int first_ret;
		const char *second;
		int second_ret, opened, failed;
	} ways[] = {
		{ "net:established", 0, "net:connect", 0, 1, 0 },
		{ "net:established", 0, "net:connect", -EINPROGRESS, 1, 0 },
		{ "net:connect", -EINPROGRESS, "net:established", 0, 1, 0 },
		{ "net:connect", -EINTR, "net:established", 0, 1, 0 },
		{ "net:connect", -EINPROGRESS, "net:failed", -ECONNREFUSED, 0, 1 },
		{ "net:failed", -ECONNREFUSED, "net:connect", -EINPROGRESS, 0, 1 },
		{ "net:failed", -ECONNREFUSED, "net:connect", -ECONNREFUSED, 0, 1 },
		{ "net:connect", -512, "net:connect", 0, 1, 0 },
		{ "net:connect", 0, "net:connect", -EISCONN, 1, 0 },
		{ "net:connect", -EAGAIN, "net:connect", 0, 1, 0 },
		{ "net:connect", -ENETUNREACH, "net:connect", 0, 1, 1 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct box b = box_new();
		PUT(ways[i].first, "tcp a -> b", 1, META, .ret = ways[i].first_ret);
		PUT(ways[i].second, "tcp a -> b", 1, META, .ret = ways[i].second_ret);
		assert_connections(&b, ways[i].opened, 0, ways[i].failed, 0);
		PUT("net:close", "tcp a -> b", 1, CLOSE);
		PUT("net:ended", "tcp a -> b", 1, META);
		assert_connections(&b, ways[i].opened, 0, ways[i].failed, ways[i].opened);
		box_free(&b);
	}
}

/* A datagram socket has a remote end, but no connection. */
static void datagrams_do_not_connect(void **state)
{
	struct box b = box_new();
	(void)state;

	PUT("net:connect", "udp a -> b", 1, META, .ret = 0);
	PUT("net:connect", "unix-dgram -> /dev/log", 2, META, .ret = -ENOENT);
	PUT("net:close", "udp a -> b", 1, CLOSE);
	assert_connections(&b, 0, 0, 0, 0);
	box_free(&b);
}

/* While others hold a socket, its connection goes on. */
static void last_close_ends(void **state)
{
	struct box b = box_new();
	(void)state;

	PUT("net:accept4", "tcp a -> b", 1, OPEN, .ret = 5);
	PUT("net:close", "tcp a -> b", 1, CLOSE, .want = 1);
	assert_connections(&b, 0, 1, 0, 0);
	PUT("net:exit", "tcp a -> b", 1, CLOSE);
	assert_connections(&b, 0, 1, 0, 1);
	PUT("net:accept", "tcp a", 2, OPEN, .ret = -EAGAIN);
	assert_connections(&b, 0, 1, 0, 1);
	box_free(&b);
}

/* A socket is one row under all its names, the fullest of which stays. */
static void row_is_a_socket(void **state)
{
	struct box b = box_new();
	(void)state;

	PUT("net:socket", "tcp", 1, OPEN, .ret = 3);
	PUT("net:connect", "tcp a -> b", 1, META, .ret = 0);
	PUT("net:sendto", "tcp a -> b", 1, WRITE, .ret = 10);
	PUT("net:sendto", "tcp a", 1, WRITE, .ret = 5);
	PUT("net:read", "tcp a -> b", 1, READ, .ret = 3, .pid = 8);
	PUT("net:recvfrom", "tcp a -> b", 1, PEEK, .ret = 99);
	const struct net_sums *s = sums_of(&b);
	assert_int_equal(s->nrow, 2);
	const struct net_row *r = s->row;
	assert_string_equal(
		names_get(b.names, names_file(b.names, r->file)->path), "tcp a -> b");
	assert_int_equal(r->sent->bytes, 15);
	assert_int_equal(r->sent->operations, 2);
	assert_null(r->received);
	assert_int_equal(r[1].pid, 8);
	assert_int_equal(r[1].received->bytes, 3);
	box_free(&b);
}

/* What happens by itself is no call; what is none has no row either. */
static void events_are_apart(void **state)
{
	struct box b = box_new();
	struct row row;
	uint64_t n = 0;
	(void)state;

	PUT("net:drop:NO_SOCKET", "udp a", 1, META, .ret = 40);
	PUT("net:drop:NO_SOCKET", "udp a", 1, META, .ret = 2);
	PUT("net:drop:TCP_CSUM", "tcp x -> y", 0, META, .ret = 60);
	PUT("net:retransmit", "tcp a -> b", 3, META, .ret = 1000);
	PUT("net:reset_sent", "tcp a -> b", 3, META);
	PUT("net:reset_received", "tcp a -> b", 3, META);
	PUT("net:receive_queue_full", "udp a", 1, META);
	PUT("net:epoll_wait", "", 0, META, .ret = 3, .dur_ns = 50);
	PUT("net:epoll_wait", "", 0, META, .ret = 0, .dur_ns = 70);
	PUT("net:epoll_wait", "", 0, META, .ret = -EINTR, .dur_ns = 1);
	const struct net_sums *s = sums_of(&b);
	assert_int_equal(s->ndrop, 2);
	assert_int_equal(s->drop[0].packets.count, 2);
	assert_int_equal(s->drop[0].packets.bytes, 42);
	assert_int_equal(s->dropped.bytes, 102);
	assert_int_equal(s->retransmits.bytes, 1000);
	assert_int_equal(s->resets_sent + s->resets_received, 2);
	assert_int_equal(s->queue_full, 1);
	assert_int_equal(s->nwait, 1);
	assert_int_equal(s->wait[0].ready, 3);
	assert_int_equal(s->wait[0].empty, 1);
	assert_int_equal(s->wait[0].series.operations, 2);
	assert_int_equal(s->nrow, 3);
	assert_int_equal(stats_total(stats_layer(b.stats, LAYER_NET), &row), 0);
	for (int c = 0; c < NCLASS; c++)
		n += row.series[c] ? row.series[c]->operations : 0;
	assert_int_equal(n, 2);
	row_fini(&row);
	box_free(&b);
}

/* Parts of a call that made two sockets are two rows and one operation. */
static void pairs_are_one_call(void **state)
{
	struct box b = box_new();
	struct row row;
	(void)state;

	PUT("net:socketpair", "unix", 1, OPEN);
	PUT("net:socketpair", "unix", 2, OPEN, .call = OP_PART);
	assert_int_equal(sums_of(&b)->nrow, 2);
	assert_int_equal(stats_total(stats_layer(b.stats, LAYER_NET), &row), 0);
	assert_int_equal(row.series[CLASS_META]->operations, 1);
	row_fini(&row);
	box_free(&b);
}

/* An id is of another process in another run. */
static void pid_of_another_run(void **state)
{
	struct box b = box_new();
	size_t n;
	(void)state;

	for (int run = 0; run < 2; run++) {
		const struct op begins = { .kind = OP_RUN, .ret = run };
		assert_int_equal(sink_put(stats_sink(b.stats), &begins), 0);
		PUT("net:recv", "tcp", 1, READ, .ret = 1);
		PUT("net:recv", "tcp", 1, READ, .ret = 1);
	}
	const struct proc *p = stats_procs(stats_layer(b.stats, LAYER_NET), &n);
	assert_int_equal(n, 2);
	for (unsigned run = 0; run < 2; run++) {
		assert_int_equal(p[run].pid, 7);
		assert_int_equal(p[run].run, run);
	}
	box_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connects_once),
		cmocka_unit_test(datagrams_do_not_connect),
		cmocka_unit_test(last_close_ends),
		cmocka_unit_test(row_is_a_socket),
		cmocka_unit_test(events_are_apart),
		cmocka_unit_test(pairs_are_one_call),
		cmocka_unit_test(pid_of_another_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
