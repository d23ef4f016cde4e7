/*
 * net_calls.c - the calls of the network layer
 */
#include "net.h"

#include <string.h>

#define ROW(call, a, b, c, h, ...)                                                       \
	{                                                                                \
		.name = #call, .nr = { a, b, c }, .shape = {                             \
			.how = NET_##h,                                                  \
			__VA_ARGS__                                                      \
		}                                                                        \
	}
#define ARGS(s, f, a)                   .size = s, .flags = f, .addr = a
#define DATA(call, a, b, c, h, s, f, p) ROW(call, a, b, c, h, ARGS(s, f, p))
#define FILE_DATA(call, a, b, c, h, s)  ROW(call, a, b, c, h, ARGS(s, -1, -1), .check = 1)
#define LIFE(call, a, b, c, h)          ROW(call, a, b, c, h, ARGS(-1, -1, -1))
#define WAIT(call, a, b, c, h, t)                                                        \
	ROW(call, a, b, c, h, ARGS(-1, -1, -1), .time = NET_TIME_##t)

/* clang-format off */
const struct net_call net_calls[] = {
	/* call, number on x86_64, i386 and aarch64; positions of size, flags, address */
	FILE_DATA(read, 0, 3, 63, RECV, 2),
	FILE_DATA(write, 1, 4, 64, SEND, 2),
	FILE_DATA(readv, 19, 145, 65, RECVV, -1),
	FILE_DATA(writev, 20, 146, 66, SENDV, -1),
	FILE_DATA(preadv2, 327, 378, 286, RECVV, -1),
	FILE_DATA(pwritev2, 328, 379, 287, SENDV, -1),
	FILE_DATA(sendfile, 40, 187, 71, SENDFILE, 3),
	FILE_DATA(splice, 275, 313, 76, SPLICE, 4),
	DATA(recvfrom, 45, 371, 207, RECV, 2, 3, 4),
	DATA(sendto, 44, 369, 206, SEND, 2, 3, 4),
	DATA(recv, -1, -1, -1, RECV, 2, 3, -1),
	DATA(send, -1, -1, -1, SEND, 2, 3, -1),
	DATA(recvmsg, 47, 372, 212, RECVMSG, -1, 2, -1),
	DATA(sendmsg, 46, 370, 211, SENDMSG, -1, 2, -1),
	DATA(recvmmsg, 299, 337, 243, RECVMMSG, -1, 3, -1),
	DATA(sendmmsg, 307, 345, 269, SENDMMSG, -1, 3, -1),
	LIFE(socket, 41, 359, 198, SOCKET),
	LIFE(socketpair, 53, 360, 199, SOCKETPAIR),
	LIFE(bind, 49, 361, 200, ADDRESS),
	LIFE(listen, 50, 363, 201, LISTEN),
	LIFE(accept, 43, -1, 202, ACCEPT),
	LIFE(accept4, 288, 364, 242, ACCEPT),
	LIFE(connect, 42, 362, 203, ADDRESS),
	LIFE(shutdown, 48, 373, 210, LISTEN),
	LIFE(setsockopt, 54, 366, 208, SETOPT),
	LIFE(getsockopt, 55, 365, 209, GETOPT),
	LIFE(close, 3, 6, 57, CLOSE),
	LIFE(close_range, 436, 436, 436, CLOSE_RANGE),
	LIFE(dup2, 33, 63, -1, DUP2),
	LIFE(dup3, 292, 330, 24, DUP2),
	LIFE(exit, -1, -1, -1, NONE),
	LIFE(epoll_create, 213, 254, -1, EPOLL_CREATE),
	LIFE(epoll_create1, 291, 329, 20, EPOLL_CREATE),
	LIFE(epoll_ctl, 233, 255, 21, EPOLL_CTL),
	WAIT(epoll_wait, 232, 256, -1, EPOLL_WAIT, MS),
	WAIT(epoll_pwait, 281, 319, 22, EPOLL_WAIT, MS),
	WAIT(epoll_pwait2, 441, 441, 441, EPOLL_WAIT, SPEC64),
	WAIT(poll, 7, 168, -1, POLL, MS),
	WAIT(ppoll, 271, 309, 73, POLL, SPEC),
	WAIT(select, 23, 142, -1, SELECT, VAL),
	WAIT(pselect6, 270, 308, 72, SELECT, SPEC),
	LIFE(socketcall, -1, 102, -1, SOCKETCALL),
	{ .name = NULL },
};

/* i386 has several numbers for one call, of which some have times of 64 bits. */
static const struct {
	const char *name;
	int nr;
	uint8_t how, time; /* if they are others */
} i386_twin[] = {
	{ "sendfile", 239, 0, 0 },
	{ "recvmmsg", 417, 0, 0 },
	{ "ppoll", 414, 0, NET_TIME_SPEC64 },
	{ "pselect6", 413, 0, NET_TIME_SPEC64 },
	{ "select", 82, NET_OLD_SELECT, NET_TIME_VAL },
};

static const char *const socketcalls[] = {
	NULL, "socket", "bind", "connect", "listen", "accept", NULL, NULL, "socketpair", "send",
	"recv", "sendto", "recvfrom", "shutdown", "setsockopt", "getsockopt", "sendmsg", "recvmsg",
	"accept4", "recvmmsg", "sendmmsg",
};
/* clang-format on */

_Static_assert(sizeof(net_calls) / sizeof(*net_calls) <= NET_CALLS_MAX, "rows have room");

static int row_of(const char *name)
{
	for (int i = 0; name && net_calls[i].name; i++)
		if (!strcmp(net_calls[i].name, name))
			return i;
	return -1;
}

static struct net_shape shape(int row)
{
	struct net_shape s = net_calls[row].shape;

	s.row = row;
	return s;
}

static void fill_i386(struct net_shape table[SHAPES_MAX])
{
	for (size_t i = 0; i < sizeof(i386_twin) / sizeof(*i386_twin); i++) {
		struct net_shape *s = &table[i386_twin[i].nr];
		*s = shape(row_of(i386_twin[i].name));
		if (i386_twin[i].how)
			s->how = i386_twin[i].how;
		if (i386_twin[i].time)
			s->time = i386_twin[i].time;
	}
	for (size_t i = 0; i < sizeof(socketcalls) / sizeof(*socketcalls); i++)
		if (row_of(socketcalls[i]) >= 0)
			table[SHAPES_MAX - 32 + i] = shape(row_of(socketcalls[i]));
}

void ebpf_net_shapes(struct net_shape table[SHAPES_ABIS][SHAPES_MAX])
{
	for (unsigned a = 0; a < SHAPES_ABIS; a++)
		for (int i = 0; net_calls[i].name; i++)
			if (net_calls[i].nr[ebpf_abi(a)] >= 0)
				table[a][net_calls[i].nr[ebpf_abi(a)]] = shape(i);
	if (ebpf_abi(1) == ABI_I386)
		fill_i386(table[1]);
	table[0][SHAPES_MAX - 1].row = row_of("exit");
}
