/*
 * layer_net.h - what calls on sockets and their packets add up to; the operations:
 *
 *   net:CALL            a system call (sendto, accept4, epoll_wait, ...); bytes are of
 *                       kind read, write or peek; file: the socket, named as below
 *   net:exit            a socket is closed by the end of a process; want of this and
 *                       other closes: descriptors that hold it still
 *   net:established     TCP has connected: dur_ns since its first packet
 *   net:failed          TCP could not: ret = -errno
 *   net:ended           the connection is over
 *   net:drop:REASON     a packet of ret bytes was dropped
 *   net:retransmit      a segment of ret bytes was sent again
 *   net:reset_sent, net:reset_received, net:receive_queue_full
 *
 * Names of sockets: "tcp 127.0.0.1:5000 -> [::1]:80", "udp 0.0.0.0:53", "unix /path",
 * "unix -> @abstract"; an end that is not known is left out.
 */
#ifndef IOPS_LAYER_NET_H
#define IOPS_LAYER_NET_H

#include "iops/layer.h"
#include "iops/map.h"
#include "iops/stats.h"

#include <stdbool.h>
#include <stdint.h>

/* Connections of those protocols that have them. */
struct net_connections {
	uint64_t opened, accepted, failed, closed;
};

struct net_packets {
	uint64_t count, bytes;
};

/* A socket in the hands of a process. */
struct net_row {
	uint32_t file, comm;
	int32_t pid;
	struct series *sent, *received; /* NULL: none */
	uint64_t opened_ns, closed_ns;  /* OP_NO_TIME: not seen */
	uint64_t connect_ns;
	uint64_t failed; /* attempts to connect */
	struct net_packets drops, retransmits;
	uint64_t resets;
	uint8_t rank;   /* how much its name says */
	bool connected; /* and not yet over */
	bool pending;   /* connect(2) has returned before it was */
	bool early;     /* it failed before that call has returned */
};

struct net_drop {
	uint16_t call; /* of the operation: its name has the reason */
	struct net_packets packets;
};

struct net_wait {
	uint16_t call;
	struct series series;
	uint64_t ready, empty; /* descriptors; waits that ended without one */
};

struct net_sums {
	struct names *names;
	struct net_row *row;
	size_t nrow, caprow;
	struct map rows; /* inode or file, process -> place, plus 1 */
	struct net_connections connections;
	struct net_packets dropped, retransmits;
	uint64_t resets_sent, resets_received, queue_full;
	struct net_drop *drop;
	size_t ndrop;
	struct net_wait *wait;
	size_t nwait;
	uint8_t *code; /* what each call is: see net.c; 0 not looked at yet */
};

extern const struct layer_sums layer_net_sums;

#endif
