/*
 * net_text.c - addresses, and the names of constants
 */
#include "net.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define NAME(prefix, x)                                                                  \
	{                                                                                \
		prefix##x, #x                                                            \
	}

struct constant {
	unsigned value;
	const char *name;
};

static const struct constant families[] = {
	NAME(AF_, UNSPEC),
	NAME(AF_, UNIX),
	NAME(AF_, INET),
	NAME(AF_, INET6),
	NAME(AF_, NETLINK),
	NAME(AF_, PACKET),
	NAME(AF_, ALG),
	NAME(AF_, VSOCK),
	NAME(AF_, BLUETOOTH),
	NAME(AF_, CAN),
	NAME(AF_, TIPC),
	NAME(AF_, KEY),
	NAME(AF_, RDS),
	NAME(AF_, NFC),
	NAME(AF_, KCM),
	NAME(AF_, QIPCRTR),
	NAME(AF_, SMC),
	NAME(AF_, XDP),
	{ 45, "MCTP" },
};

static const struct constant types[] = {
	NAME(SOCK_, STREAM),
	NAME(SOCK_, DGRAM),
	NAME(SOCK_, RAW),
	NAME(SOCK_, RDM),
	NAME(SOCK_, SEQPACKET),
	NAME(SOCK_, DCCP),
	NAME(SOCK_, PACKET),
};

static const struct constant protocols[] = {
	{ IPPROTO_ICMP, "icmp" },
	{ IPPROTO_TCP, "tcp" },
	{ IPPROTO_UDP, "udp" },
	{ IPPROTO_DCCP, "dccp" },
	{ IPPROTO_ICMPV6, "icmp6" },
	{ IPPROTO_SCTP, "sctp" },
	{ IPPROTO_UDPLITE, "udplite" },
	{ 262, "mptcp" },
	{ IPPROTO_RAW, "raw" },
};

/* Of the kernel's include/net/tcp_states.h. */
static const char *const states[] = { "", "ESTABLISHED", "SYN_SENT", "SYN_RECV",
	"FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK",
	"LISTEN", "CLOSING", "NEW_SYN_RECV", "BOUND_INACTIVE" };

static const struct constant msg_flags[] = {
	NAME(MSG_, OOB),
	NAME(MSG_, PEEK),
	NAME(MSG_, DONTROUTE),
	NAME(MSG_, CTRUNC),
	NAME(MSG_, PROXY),
	NAME(MSG_, TRUNC),
	NAME(MSG_, DONTWAIT),
	NAME(MSG_, EOR),
	NAME(MSG_, WAITALL),
	NAME(MSG_, FIN),
	NAME(MSG_, SYN),
	NAME(MSG_, CONFIRM),
	NAME(MSG_, RST),
	NAME(MSG_, ERRQUEUE),
	NAME(MSG_, NOSIGNAL),
	NAME(MSG_, MORE),
	NAME(MSG_, WAITFORONE),
	{ 0x40000, "BATCH" },
	{ 0x2000000, "SOCK_DEVMEM" },
	{ 0x4000000, "ZEROCOPY" },
	NAME(MSG_, FASTOPEN),
	NAME(MSG_, CMSG_CLOEXEC),
};

static const struct constant epoll_flags[] = {
	{ 0x1, "IN" },
	{ 0x2, "PRI" },
	{ 0x4, "OUT" },
	{ 0x8, "ERR" },
	{ 0x10, "HUP" },
	{ 0x20, "NVAL" },
	{ 0x40, "RDNORM" },
	{ 0x80, "RDBAND" },
	{ 0x100, "WRNORM" },
	{ 0x200, "WRBAND" },
	{ 0x400, "MSG" },
	{ 0x2000, "RDHUP" },
	{ 1u << 28, "EXCLUSIVE" },
	{ 1u << 29, "WAKEUP" },
	{ 1u << 30, "ONESHOT" },
	{ 1u << 31, "ET" },
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const char *find(const struct constant *c, size_t n, unsigned value)
{
	for (size_t i = 0; i < n; i++)
		if (c[i].value == value)
			return c[i].name;
	return NULL;
}

const char *net_family(unsigned family, char buf[16])
{
	const char *name = find(families, COUNT(families), family);

	if (name)
		snprintf(buf, 16, "AF_%s", name);
	else
		snprintf(buf, 16, "%u", family);
	return buf;
}

const char *net_type(unsigned type, char buf[16])
{
	const char *name = find(types, COUNT(types), type & 0xf);

	if (name)
		snprintf(buf, 16, "SOCK_%s", name);
	else
		snprintf(buf, 16, "%u", type & 0xf);
	return buf;
}

const char *net_protocol(unsigned family, unsigned type, unsigned protocol, char buf[16])
{
	const char *name;

	if (family == AF_UNIX)
		return type == SOCK_DGRAM ? "unix-dgram" : "unix";
	if (family != AF_INET && family != AF_INET6) {
		name = find(families, COUNT(families), family);
		snprintf(buf, 16, name ? "%s" : "family%.0s%u", name ? name : "", family);
		for (char *p = buf; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		return buf;
	}
	if (type == SOCK_RAW)
		return "raw";
	name = find(protocols, COUNT(protocols), protocol);
	snprintf(buf, 16, name ? "%s" : "ip%.0s%u", name ? name : "", protocol);
	return buf;
}

const char *net_tcp_state(unsigned state)
{
	return state < COUNT(states) ? states[state] : "";
}

static void join(char *buf, size_t size, const char *prefix, uint32_t flags,
	const struct constant *c, size_t n)
{
	size_t at = 0;

	*buf = 0;
	for (size_t i = 0; i < n; i++) {
		if (!(flags & c[i].value) || at >= size)
			continue;
		at += snprintf(
			buf + at, size - at, "%s%s%s", at ? "|" : "", prefix, c[i].name);
		flags &= ~c[i].value;
	}
	if (flags && at < size)
		snprintf(buf + at, size - at, "%s0x%x", at ? "|" : "", flags);
}

void net_flags(char *buf, size_t size, uint32_t flags)
{
	join(buf, size, "MSG_", flags, msg_flags, COUNT(msg_flags));
}

void net_epoll_events(char *buf, size_t size, uint32_t flags)
{
	join(buf, size, "EPOLL", flags, epoll_flags, COUNT(epoll_flags));
}

char *net_end_text(unsigned family, const struct net_end *e, char buf[NET_END_LEN])
{
	static const uint8_t any[16];
	char addr[INET6_ADDRSTRLEN] = "";

	*buf = 0;
	if ((family != AF_INET && family != AF_INET6) ||
		(!e->port && !memcmp(e->addr, any, sizeof(any))))
		return buf;
	inet_ntop((int)family, e->addr, addr, sizeof(addr));
	snprintf(
		buf, NET_END_LEN, family == AF_INET ? "%s:%u" : "[%s]:%u", addr, e->port);
	return buf;
}

char *net_unix_text(const char *name, size_t len, char buf[NET_UNIX_LEN])
{
	size_t n = *name ? strnlen(name, len) : len;
	char *to = buf;

	for (size_t i = 0; i < n && i < NET_PATH_MAX; i++) {
		if (!i && !*name)
			*to++ = '@';
		else if (name[i])
			*to++ = name[i];
		else /* within an abstract name */
			to += sprintf(to, "\\x00");
	}
	*to = 0;
	return buf;
}

unsigned net_sockaddr(const void *addr, size_t len, struct net_end *out)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	*out = (struct net_end){ 0 };
	if (len < sizeof(v4.sin_family))
		return 0;
	memcpy(&v4.sin_family, addr, sizeof(v4.sin_family));
	if (v4.sin_family == AF_INET && len >= sizeof(v4)) {
		memcpy(&v4, addr, sizeof(v4));
		memcpy(out->addr, &v4.sin_addr, 4);
		out->port = ntohs(v4.sin_port);
		return AF_INET;
	}
	/* The kernel takes those without a scope as well: RFC 2133. */
	if (v4.sin_family == AF_INET6 &&
		len >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		memset(&v6, 0, sizeof(v6));
		memcpy(&v6, addr, len < sizeof(v6) ? len : sizeof(v6));
		memcpy(out->addr, &v6.sin6_addr, 16);
		out->port = ntohs(v6.sin6_port);
		return AF_INET6;
	}
	return v4.sin_family == AF_UNIX ? AF_UNIX : 0;
}

const char *net_reason(const struct net *n, unsigned reason, char buf[16])
{
	if (reason < NET_REASONS && *n->reason[reason])
		return n->reason[reason];
	snprintf(buf, 16, "%u", reason);
	return buf;
}
