/*
 * net_options.c - names of socket options, by level and number: as the headers of Linux
 * have them in the numbering that most machines share, some of them newer than others
 */
#include "net.h"

#include <sys/socket.h>

/* clang-format off */
static const char *const sol_socket[] = {
	[1] = "SO_DEBUG", [2] = "SO_REUSEADDR", [3] = "SO_TYPE", [4] = "SO_ERROR",
	[5] = "SO_DONTROUTE", [6] = "SO_BROADCAST", [7] = "SO_SNDBUF", [8] = "SO_RCVBUF",
	[9] = "SO_KEEPALIVE", [10] = "SO_OOBINLINE", [11] = "SO_NO_CHECK",
	[12] = "SO_PRIORITY", [13] = "SO_LINGER", [14] = "SO_BSDCOMPAT",
	[15] = "SO_REUSEPORT", [16] = "SO_PASSCRED", [17] = "SO_PEERCRED",
	[18] = "SO_RCVLOWAT", [19] = "SO_SNDLOWAT", [20] = "SO_RCVTIMEO",
	[21] = "SO_SNDTIMEO", [22] = "SO_SECURITY_AUTHENTICATION",
	[23] = "SO_SECURITY_ENCRYPTION_TRANSPORT",
	[24] = "SO_SECURITY_ENCRYPTION_NETWORK", [25] = "SO_BINDTODEVICE",
	[26] = "SO_ATTACH_FILTER", [27] = "SO_DETACH_FILTER", [28] = "SO_PEERNAME",
	[29] = "SO_TIMESTAMP", [30] = "SO_ACCEPTCONN", [31] = "SO_PEERSEC",
	[32] = "SO_SNDBUFFORCE", [33] = "SO_RCVBUFFORCE", [34] = "SO_PASSSEC",
	[35] = "SO_TIMESTAMPNS", [36] = "SO_MARK", [37] = "SO_TIMESTAMPING",
	[38] = "SO_PROTOCOL", [39] = "SO_DOMAIN", [40] = "SO_RXQ_OVFL",
	[41] = "SO_WIFI_STATUS", [42] = "SO_PEEK_OFF", [43] = "SO_NOFCS",
	[44] = "SO_LOCK_FILTER", [45] = "SO_SELECT_ERR_QUEUE", [46] = "SO_BUSY_POLL",
	[47] = "SO_MAX_PACING_RATE", [48] = "SO_BPF_EXTENSIONS", [49] = "SO_INCOMING_CPU",
	[50] = "SO_ATTACH_BPF", [51] = "SO_ATTACH_REUSEPORT_CBPF",
	[52] = "SO_ATTACH_REUSEPORT_EBPF", [53] = "SO_CNX_ADVICE", [55] = "SO_MEMINFO",
	[56] = "SO_INCOMING_NAPI_ID", [57] = "SO_COOKIE", [59] = "SO_PEERGROUPS",
	[60] = "SO_ZEROCOPY", [61] = "SO_TXTIME", [62] = "SO_BINDTOIFINDEX",
	[63] = "SO_TIMESTAMP_NEW", [64] = "SO_TIMESTAMPNS_NEW",
	[65] = "SO_TIMESTAMPING_NEW", [66] = "SO_RCVTIMEO_NEW", [67] = "SO_SNDTIMEO_NEW",
	[68] = "SO_DETACH_REUSEPORT_BPF", [69] = "SO_PREFER_BUSY_POLL",
	[70] = "SO_BUSY_POLL_BUDGET", [71] = "SO_NETNS_COOKIE", [72] = "SO_BUF_LOCK",
	[73] = "SO_RESERVE_MEM", [74] = "SO_TXREHASH", [75] = "SO_RCVMARK",
	[76] = "SO_PASSPIDFD", [77] = "SO_PEERPIDFD", [78] = "SO_DEVMEM_LINEAR",
	[79] = "SO_DEVMEM_DMABUF", [80] = "SO_DEVMEM_DONTNEED", [82] = "SO_RCVPRIORITY",
	[83] = "SO_PASSRIGHTS", [84] = "SO_INQ",
};

static const char *const sol_ip[] = {
	[1] = "IP_TOS", [2] = "IP_TTL", [3] = "IP_HDRINCL", [4] = "IP_OPTIONS",
	[5] = "IP_ROUTER_ALERT", [6] = "IP_RECVOPTS", [7] = "IP_RETOPTS",
	[8] = "IP_PKTINFO", [9] = "IP_PKTOPTIONS", [10] = "IP_MTU_DISCOVER",
	[11] = "IP_RECVERR", [12] = "IP_RECVTTL", [13] = "IP_RECVTOS", [14] = "IP_MTU",
	[15] = "IP_FREEBIND", [16] = "IP_IPSEC_POLICY", [17] = "IP_XFRM_POLICY",
	[18] = "IP_PASSSEC", [19] = "IP_TRANSPARENT", [20] = "IP_ORIGDSTADDR",
	[21] = "IP_MINTTL", [22] = "IP_NODEFRAG", [23] = "IP_CHECKSUM",
	[24] = "IP_BIND_ADDRESS_NO_PORT", [25] = "IP_RECVFRAGSIZE",
	[26] = "IP_RECVERR_RFC4884", [32] = "IP_MULTICAST_IF", [33] = "IP_MULTICAST_TTL",
	[34] = "IP_MULTICAST_LOOP", [35] = "IP_ADD_MEMBERSHIP",
	[36] = "IP_DROP_MEMBERSHIP", [37] = "IP_UNBLOCK_SOURCE", [38] = "IP_BLOCK_SOURCE",
	[39] = "IP_ADD_SOURCE_MEMBERSHIP", [40] = "IP_DROP_SOURCE_MEMBERSHIP",
	[41] = "IP_MSFILTER", [42] = "MCAST_JOIN_GROUP", [43] = "MCAST_BLOCK_SOURCE",
	[44] = "MCAST_UNBLOCK_SOURCE", [45] = "MCAST_LEAVE_GROUP",
	[46] = "MCAST_JOIN_SOURCE_GROUP", [47] = "MCAST_LEAVE_SOURCE_GROUP",
	[48] = "MCAST_MSFILTER", [49] = "IP_MULTICAST_ALL", [50] = "IP_UNICAST_IF",
	[51] = "IP_LOCAL_PORT_RANGE", [52] = "IP_PROTOCOL",
};

static const char *const sol_ipv6[] = {
	[1] = "IPV6_ADDRFORM", [2] = "IPV6_2292PKTINFO", [3] = "IPV6_2292HOPOPTS",
	[4] = "IPV6_2292DSTOPTS", [5] = "IPV6_2292RTHDR", [6] = "IPV6_2292PKTOPTIONS",
	[7] = "IPV6_CHECKSUM", [8] = "IPV6_2292HOPLIMIT", [9] = "IPV6_NEXTHOP",
	[10] = "IPV6_AUTHHDR", [11] = "IPV6_FLOWINFO", [16] = "IPV6_UNICAST_HOPS",
	[17] = "IPV6_MULTICAST_IF", [18] = "IPV6_MULTICAST_HOPS",
	[19] = "IPV6_MULTICAST_LOOP", [20] = "IPV6_ADD_MEMBERSHIP",
	[21] = "IPV6_DROP_MEMBERSHIP", [22] = "IPV6_ROUTER_ALERT",
	[23] = "IPV6_MTU_DISCOVER", [24] = "IPV6_MTU", [25] = "IPV6_RECVERR",
	[26] = "IPV6_V6ONLY", [27] = "IPV6_JOIN_ANYCAST", [28] = "IPV6_LEAVE_ANYCAST",
	[29] = "IPV6_MULTICAST_ALL", [30] = "IPV6_ROUTER_ALERT_ISOLATE",
	[31] = "IPV6_RECVERR_RFC4884", [32] = "IPV6_FLOWLABEL_MGR",
	[33] = "IPV6_FLOWINFO_SEND", [34] = "IPV6_IPSEC_POLICY",
	[35] = "IPV6_XFRM_POLICY", [36] = "IPV6_HDRINCL", [42] = "MCAST_JOIN_GROUP",
	[43] = "MCAST_BLOCK_SOURCE", [44] = "MCAST_UNBLOCK_SOURCE",
	[45] = "MCAST_LEAVE_GROUP", [46] = "MCAST_JOIN_SOURCE_GROUP",
	[47] = "MCAST_LEAVE_SOURCE_GROUP", [48] = "MCAST_MSFILTER",
	[49] = "IPV6_RECVPKTINFO", [50] = "IPV6_PKTINFO", [51] = "IPV6_RECVHOPLIMIT",
	[52] = "IPV6_HOPLIMIT", [53] = "IPV6_RECVHOPOPTS", [54] = "IPV6_HOPOPTS",
	[55] = "IPV6_RTHDRDSTOPTS", [56] = "IPV6_RECVRTHDR", [57] = "IPV6_RTHDR",
	[58] = "IPV6_RECVDSTOPTS", [59] = "IPV6_DSTOPTS", [60] = "IPV6_RECVPATHMTU",
	[61] = "IPV6_PATHMTU", [62] = "IPV6_DONTFRAG", [66] = "IPV6_RECVTCLASS",
	[67] = "IPV6_TCLASS", [70] = "IPV6_AUTOFLOWLABEL", [72] = "IPV6_ADDR_PREFERENCES",
	[73] = "IPV6_MINHOPCOUNT", [74] = "IPV6_ORIGDSTADDR", [75] = "IPV6_TRANSPARENT",
	[76] = "IPV6_UNICAST_IF", [77] = "IPV6_RECVFRAGSIZE", [78] = "IPV6_FREEBIND",
};

static const char *const sol_tcp[] = {
	[1] = "TCP_NODELAY", [2] = "TCP_MAXSEG", [3] = "TCP_CORK", [4] = "TCP_KEEPIDLE",
	[5] = "TCP_KEEPINTVL", [6] = "TCP_KEEPCNT", [7] = "TCP_SYNCNT",
	[8] = "TCP_LINGER2", [9] = "TCP_DEFER_ACCEPT", [10] = "TCP_WINDOW_CLAMP",
	[11] = "TCP_INFO", [12] = "TCP_QUICKACK", [13] = "TCP_CONGESTION",
	[14] = "TCP_MD5SIG", [16] = "TCP_THIN_LINEAR_TIMEOUTS", [17] = "TCP_THIN_DUPACK",
	[18] = "TCP_USER_TIMEOUT", [19] = "TCP_REPAIR", [20] = "TCP_REPAIR_QUEUE",
	[21] = "TCP_QUEUE_SEQ", [22] = "TCP_REPAIR_OPTIONS", [23] = "TCP_FASTOPEN",
	[24] = "TCP_TIMESTAMP", [25] = "TCP_NOTSENT_LOWAT", [26] = "TCP_CC_INFO",
	[27] = "TCP_SAVE_SYN", [28] = "TCP_SAVED_SYN", [29] = "TCP_REPAIR_WINDOW",
	[30] = "TCP_FASTOPEN_CONNECT", [31] = "TCP_ULP", [32] = "TCP_MD5SIG_EXT",
	[33] = "TCP_FASTOPEN_KEY", [34] = "TCP_FASTOPEN_NO_COOKIE",
	[35] = "TCP_ZEROCOPY_RECEIVE", [36] = "TCP_INQ", [37] = "TCP_TX_DELAY",
	[38] = "TCP_AO_ADD_KEY", [39] = "TCP_AO_DEL_KEY", [40] = "TCP_AO_INFO",
	[41] = "TCP_AO_GET_KEYS", [42] = "TCP_AO_REPAIR", [43] = "TCP_IS_MPTCP",
	[44] = "TCP_RTO_MAX_MS", [45] = "TCP_RTO_MIN_US", [46] = "TCP_DELACK_MAX_US",
};

static const char *const sol_udp[] = {
	[1] = "UDP_CORK", [100] = "UDP_ENCAP", [101] = "UDP_NO_CHECK6_TX",
	[102] = "UDP_NO_CHECK6_RX", [103] = "UDP_SEGMENT", [104] = "UDP_GRO",
};

static const char *const sol_netlink[] = {
	[1] = "NETLINK_ADD_MEMBERSHIP", [2] = "NETLINK_DROP_MEMBERSHIP",
	[3] = "NETLINK_PKTINFO", [4] = "NETLINK_BROADCAST_ERROR",
	[5] = "NETLINK_NO_ENOBUFS", [6] = "NETLINK_RX_RING", [7] = "NETLINK_TX_RING",
	[8] = "NETLINK_LISTEN_ALL_NSID", [9] = "NETLINK_LIST_MEMBERSHIPS",
	[10] = "NETLINK_CAP_ACK", [11] = "NETLINK_EXT_ACK",
	[12] = "NETLINK_GET_STRICT_CHK",
};

static const char *const sol_packet[] = {
	[1] = "PACKET_ADD_MEMBERSHIP", [2] = "PACKET_DROP_MEMBERSHIP",
	[3] = "PACKET_RECV_OUTPUT", [5] = "PACKET_RX_RING", [6] = "PACKET_STATISTICS",
	[7] = "PACKET_COPY_THRESH", [8] = "PACKET_AUXDATA", [9] = "PACKET_ORIGDEV",
	[10] = "PACKET_VERSION", [11] = "PACKET_HDRLEN", [12] = "PACKET_RESERVE",
	[13] = "PACKET_TX_RING", [14] = "PACKET_LOSS", [15] = "PACKET_VNET_HDR",
	[16] = "PACKET_TX_TIMESTAMP", [17] = "PACKET_TIMESTAMP", [18] = "PACKET_FANOUT",
	[19] = "PACKET_TX_HAS_OFF", [20] = "PACKET_QDISC_BYPASS",
	[21] = "PACKET_ROLLOVER_STATS", [22] = "PACKET_FANOUT_DATA",
	[23] = "PACKET_IGNORE_OUTGOING", [24] = "PACKET_VNET_HDR_SZ",
};

static const char *const sol_tls[] = {
	[1] = "TLS_TX", [2] = "TLS_RX", [3] = "TLS_TX_ZEROCOPY_RO",
	[4] = "TLS_RX_EXPECT_NO_PAD", [5] = "TLS_TX_MAX_PAYLOAD_LEN",
};

static const char *const af_vsock[] = {
	[0] = "SO_VM_SOCKETS_BUFFER_SIZE", [1] = "SO_VM_SOCKETS_BUFFER_MIN_SIZE",
	[2] = "SO_VM_SOCKETS_BUFFER_MAX_SIZE", [3] = "SO_VM_SOCKETS_PEER_HOST_VM_ID",
	[5] = "SO_VM_SOCKETS_TRUSTED", [6] = "SO_VM_SOCKETS_CONNECT_TIMEOUT",
	[7] = "SO_VM_SOCKETS_NONBLOCK_TXRX", [8] = "SO_VM_SOCKETS_CONNECT_TIMEOUT_NEW",
};

static const char *const sol_xdp[] = {
	[1] = "XDP_MMAP_OFFSETS", [2] = "XDP_RX_RING", [3] = "XDP_TX_RING",
	[4] = "XDP_UMEM_REG", [5] = "XDP_UMEM_FILL_RING",
	[6] = "XDP_UMEM_COMPLETION_RING", [7] = "XDP_STATISTICS", [8] = "XDP_OPTIONS",
};

static const char *const sol_mptcp[] = {
	[1] = "MPTCP_INFO", [2] = "MPTCP_TCPINFO", [3] = "MPTCP_SUBFLOW_ADDRS",
	[4] = "MPTCP_FULL_INFO",
};

static const char *const sol_icmpv6[] = {
	[1] = "ICMPV6_FILTER",
};

static const char *const sol_raw[] = {
	[1] = "ICMP_FILTER",
};

static const char *const sol_alg[] = {
	[1] = "ALG_SET_KEY", [2] = "ALG_SET_IV", [3] = "ALG_SET_OP",
	[4] = "ALG_SET_AEAD_ASSOCLEN", [5] = "ALG_SET_AEAD_AUTHSIZE",
	[6] = "ALG_SET_DRBG_ENTROPY", [7] = "ALG_SET_KEY_BY_KEY_SERIAL",
};

static const char *const sol_sctp[] = {
	[0] = "SCTP_RTOINFO", [1] = "SCTP_ASSOCINFO", [2] = "SCTP_INITMSG",
	[3] = "SCTP_NODELAY", [4] = "SCTP_AUTOCLOSE", [5] = "SCTP_SET_PEER_PRIMARY_ADDR",
	[6] = "SCTP_PRIMARY_ADDR", [7] = "SCTP_ADAPTATION_LAYER",
	[8] = "SCTP_DISABLE_FRAGMENTS", [9] = "SCTP_PEER_ADDR_PARAMS",
	[10] = "SCTP_DEFAULT_SEND_PARAM", [11] = "SCTP_EVENTS",
	[12] = "SCTP_I_WANT_MAPPED_V4_ADDR", [13] = "SCTP_MAXSEG", [14] = "SCTP_STATUS",
	[15] = "SCTP_GET_PEER_ADDR_INFO", [16] = "SCTP_DELAYED_SACK",
	[17] = "SCTP_CONTEXT", [18] = "SCTP_FRAGMENT_INTERLEAVE",
	[19] = "SCTP_PARTIAL_DELIVERY_POINT", [20] = "SCTP_MAX_BURST",
};

#define TABLE(t) t, sizeof(t) / sizeof(*(t))
static const struct {
	int level;
	const char *name;
	const char *const *option;
	int n;
} levels[] = {
	{ 0, "IPPROTO_IP", TABLE(sol_ip) },
	{ 1, "SOL_SOCKET", TABLE(sol_socket) },
	{ 6, "IPPROTO_TCP", TABLE(sol_tcp) },
	{ 17, "IPPROTO_UDP", TABLE(sol_udp) },
	{ 41, "IPPROTO_IPV6", TABLE(sol_ipv6) },
	{ 58, "IPPROTO_ICMPV6", TABLE(sol_icmpv6) },
	{ 132, "IPPROTO_SCTP", TABLE(sol_sctp) },
	{ 136, "IPPROTO_UDPLITE", NULL, 0 },
	{ 255, "SOL_RAW", TABLE(sol_raw) },
	{ 263, "SOL_PACKET", TABLE(sol_packet) },
	{ 269, "SOL_DCCP", NULL, 0 },
	{ 270, "SOL_NETLINK", TABLE(sol_netlink) },
	{ 271, "SOL_TIPC", NULL, 0 },
	{ 274, "SOL_BLUETOOTH", NULL, 0 },
	{ 279, "SOL_ALG", TABLE(sol_alg) },
	{ 281, "SOL_KCM", NULL, 0 },
	{ 282, "SOL_TLS", TABLE(sol_tls) },
	{ 283, "SOL_XDP", TABLE(sol_xdp) },
	{ 284, "SOL_MPTCP", TABLE(sol_mptcp) },
	{ 286, "SOL_SMC", NULL, 0 },
	{ 287, "SOL_VSOCK", NULL, 0 },
	{ AF_VSOCK, "AF_VSOCK", TABLE(af_vsock) },
};
/* clang-format on */

/* The level of vsock is its family, which no protocol has for its number. */
static int row_of(int level, unsigned family)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (levels[i].level == level &&
			(levels[i].option != af_vsock || family == AF_VSOCK))
			return (int)i;
	return -1;
}

const char *net_level(int level, unsigned family)
{
	int i = row_of(level, family);

	return i < 0 ? NULL : levels[i].name;
}

const char *net_option(int level, unsigned family, int name)
{
	int i = row_of(level, family);

	return i < 0 || name < 0 || name >= levels[i].n ? NULL : levels[i].option[name];
}
