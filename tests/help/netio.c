/*
 * netio.c - network traffic that is known: "netio PART..." does what its table of parts
 * says and prints the ports and descriptors that it was given, as JSON
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#define SURE(x) sure((long)(x), #x, __LINE__)

static char buf[65536];

static long sure(long ret, const char *what, int line)
{
	if (ret >= 0)
		return ret;
	fprintf(stderr, "netio:%d: %s: %s\n", line, what, strerror(errno));
	exit(9);
}

static void told(const char *key, long value)
{
	static int n;

	printf("%s\"%s\": %ld", n++ ? ", " : "{", key, value);
}

struct addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un un;
	};
	socklen_t len;
};

static struct addr loopback(int family, int port)
{
	struct addr a;

	memset(&a, 0, sizeof(a));
	a.sa.sa_family = (sa_family_t)family;
	a.len = family == AF_INET ? sizeof(a.v4) : sizeof(a.v6);
	a.v4.sin_port = htons((uint16_t)port); /* at the same place in both */
	if (family == AF_INET)
		a.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		a.v6.sin6_addr = in6addr_loopback;
	return a;
}

static struct addr un(const char *path, int abstract)
{
	struct addr a;

	memset(&a, 0, sizeof(a));
	a.un.sun_family = AF_UNIX;
	strcpy(a.un.sun_path + abstract, path);
	a.len = offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1;
	return a;
}

static int port_of(int fd)
{
	struct addr a = { .len = sizeof(a) };

	SURE(getsockname(fd, &a.sa, &a.len));
	return ntohs(a.v4.sin_port);
}

static int bound(int family, int type)
{
	struct addr a = loopback(family, 0);
	int fd = (int)SURE(socket(family, type, 0));

	SURE(bind(fd, &a.sa, a.len));
	return fd;
}

static int options(int fd)
{
	int one = 1, value = 0;
	struct timeval tv = { 2, 500000 };
	struct linger linger = { 1, 7 };
	char name[16];
	socklen_t len = sizeof(value), name_len = sizeof(name);

	SURE(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	SURE(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &len));
	one = 0;
	SURE(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	SURE(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &name_len));
	SURE(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	SURE(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	one = 9;
	if (!setsockopt(fd, SOL_SOCKET, 9999, &one, sizeof(one)) || errno != ENOPROTOOPT)
		return SURE(-1);
	if (!setsockopt(fd, 777, 3, &one, sizeof(one)))
		return SURE(-1);
	return 0;
}

/* 10 operations of 4,380 bytes. */
static void send_all(int fd)
{
	struct iovec v[2] = { { buf, 100 }, { buf, 200 } }, one = { buf, 50 },
		     ten = { buf, 10 };
	struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1 };
	struct mmsghdr mm[3];

	for (int i = 0; i < 3; i++)
		SURE(send(fd, buf, 1000, MSG_NOSIGNAL));
	for (int i = 0; i < 2; i++)
		SURE(write(fd, buf, 500));
	SURE(writev(fd, v, 2));
	SURE(sendmsg(fd, &m, 0));
	memset(mm, 0, sizeof(mm));
	for (int i = 0; i < 3; i++) {
		mm[i].msg_hdr.msg_iov = &ten;
		mm[i].msg_hdr.msg_iovlen = 1;
	}
	SURE(sendmmsg(fd, mm, 3, 0));
}

/* 9 operations of 4,380 bytes; one look at 10 of them before, one EAGAIN behind. */
static void receive_all(int fd)
{
	struct iovec v[2] = { { buf, 100 }, { buf, 200 } }, one = { buf, 50 },
		     ten = { buf, 10 };
	struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1 };
	struct mmsghdr mm[3];

	SURE(recv(fd, buf, 10, MSG_PEEK));
	for (int i = 0; i < 3; i++)
		SURE(recv(fd, buf, 1000, MSG_WAITALL));
	SURE(read(fd, buf, 1000));
	SURE(readv(fd, v, 2));
	SURE(recvmsg(fd, &m, 0));
	memset(mm, 0, sizeof(mm));
	for (int i = 0; i < 3; i++) {
		mm[i].msg_hdr.msg_iov = &ten;
		mm[i].msg_hdr.msg_iovlen = 1;
	}
	SURE(recvmmsg(fd, mm, 3, 0, NULL));
	if (recv(fd, buf, 10, MSG_DONTWAIT) >= 0 || errno != EAGAIN)
		SURE(-1);
}

static void tcp(int family)
{
	int s = bound(family, SOCK_STREAM), port = port_of(s), c, a;
	struct addr to = loopback(family, port), from = { .len = sizeof(from) };

	SURE(listen(s, 7));
	c = (int)SURE(socket(family, SOCK_STREAM, 0));
	options(c);
	SURE(connect(c, &to.sa, to.len));
	a = (int)SURE(accept(s, &from.sa, &from.len));
	send_all(c);
	receive_all(a);
	SURE(send(a, buf, 77, 0));
	SURE(recv(c, buf, sizeof(buf), 0));
	SURE(shutdown(c, SHUT_WR));
	SURE(recv(a, buf, 10, 0)); /* 0: the end */
	SURE(shutdown(a, SHUT_RD));
	SURE(shutdown(a, SHUT_RDWR));
	told(family == AF_INET ? "tcp4" : "tcp6", port);
	told(family == AF_INET ? "tcp4_client" : "tcp6_client", port_of(c));
	SURE(close(c));
	SURE(close(a));
	SURE(close(s));
}

/* Two sockets that have ports: 9 datagrams of 132 bytes either way. */
static void udp(int family)
{
	int a = bound(family, SOCK_DGRAM), b = bound(family, SOCK_DGRAM);
	struct addr to = loopback(family, port_of(b)), from = { .len = sizeof(from) };
	struct iovec v = { buf, 8 };
	struct mmsghdr mm[4];

	for (int i = 0; i < 5; i++)
		SURE(sendto(a, buf, 20, 0, &to.sa, to.len));
	memset(mm, 0, sizeof(mm));
	for (int i = 0; i < 4; i++) {
		mm[i].msg_hdr.msg_iov = &v;
		mm[i].msg_hdr.msg_iovlen = 1;
		mm[i].msg_hdr.msg_name = &to.sa;
		mm[i].msg_hdr.msg_namelen = to.len;
	}
	SURE(sendmmsg(a, mm, 4, 0));
	for (int i = 0; i < 5; i++)
		SURE(recvfrom(b, buf, 100, 0, &from.sa, &from.len));
	for (int i = 0; i < 4; i++)
		mm[i].msg_hdr.msg_name = NULL;
	SURE(recvmmsg(b, mm, 4, 0, NULL));
	told(family == AF_INET ? "udp4_from" : "udp6_from", port_of(a));
	told(family == AF_INET ? "udp4_to" : "udp6_to", port_of(b));
	SURE(close(a));
	SURE(close(b));
}

/* A port that nobody has: its socket is gone. */
static int free_port(int family, int type)
{
	int fd = bound(family, type), port = port_of(fd);

	SURE(close(fd));
	return port;
}

static void refused(int family)
{
	int port = free_port(family, SOCK_STREAM), uport = free_port(family, SOCK_DGRAM);
	struct addr to = loopback(family, port), uto = loopback(family, uport);
	int c = (int)SURE(socket(family, SOCK_STREAM, 0));

	if (!connect(c, &to.sa, to.len) || errno != ECONNREFUSED)
		SURE(-1);
	told("refused", port);
	SURE(close(c));
	c = (int)SURE(socket(family, SOCK_DGRAM, 0));
	SURE(sendto(c, buf, 11, 0, &uto.sa, uto.len));
	told("dropped", uport);
	told("dropped_from", port_of(c));
	SURE(close(c));
}

/* Connects that go on in the background: one comes about, one does not. */
static void later(int family)
{
	int s = bound(family, SOCK_STREAM), c, first = -1, err;
	struct addr to = loopback(family, port_of(s));
	socklen_t len = sizeof(err);

	SURE(listen(s, 1));
	for (int i = 0; i < 2; i++) {
		c = (int)SURE(socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0));
		if (i)
			to = loopback(family, free_port(family, SOCK_STREAM));
		if (!connect(c, &to.sa, to.len) || errno != EINPROGRESS)
			SURE(-1);
		struct pollfd p = { c, POLLOUT, 0 };
		SURE(poll(&p, 1, 5000));
		SURE(getsockopt(c, SOL_SOCKET, SO_ERROR, &err, &len));
		if (err != (i ? ECONNREFUSED : 0))
			SURE(-1);
		if (!i)
			first = c;
	}
	SURE(close(c));
	SURE(close(s)); /* before its peer: a FIN and the reset would race */
	SURE(close(first));
}

static void unix_sockets(void)
{
	char here[4096];
	struct addr path, no = un("/nowhere/at/all", 0), abstract = un("iops-netio", 1);
	int s = (int)SURE(socket(AF_UNIX, SOCK_STREAM, 0)), c, a, pair[2];

	strcat(getcwd(here, sizeof(here) - 20), "/netio.sock");
	path = un(here, 0);
	unlink(here);
	SURE(bind(s, &path.sa, path.len));
	SURE(listen(s, 3));
	c = (int)SURE(socket(AF_UNIX, SOCK_STREAM, 0));
	SURE(connect(c, &path.sa, path.len));
	a = (int)SURE(accept4(s, NULL, NULL, SOCK_CLOEXEC));
	SURE(write(c, buf, 300));
	SURE(read(a, buf, 1000));
	SURE(close(c));
	SURE(close(a));
	SURE(close(s));
	c = (int)SURE(socket(AF_UNIX, SOCK_STREAM, 0));
	if (!connect(c, &no.sa, no.len) || errno != ENOENT)
		SURE(-1);
	SURE(close(c));
	SURE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	SURE(write(pair[0], buf, 40));
	SURE(read(pair[1], buf, 40));
	SURE(close(pair[0]));
	SURE(close(pair[1]));
	s = (int)SURE(socket(AF_UNIX, SOCK_DGRAM, 0));
	abstract.len--; /* all of it is the name, not its NUL */
	SURE(bind(s, &abstract.sa, abstract.len + 1));
	c = (int)SURE(socket(AF_UNIX, SOCK_DGRAM, 0));
	SURE(sendto(c, buf, 60, 0, &abstract.sa, abstract.len + 1));
	SURE(recv(s, buf, 100, 0));
	SURE(close(c));
	SURE(close(s));
}

/* 500 bytes of a file to a socket, 300 of those through a pipe. */
static void two_sided(void)
{
	int sp[2], p[2], f = (int)SURE(open("netio.data", O_RDWR | O_CREAT, 0600));

	SURE(ftruncate(f, 1000));
	SURE(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
	SURE(pipe(p));
	SURE(sendfile(sp[0], f, NULL, 500));
	SURE(splice(sp[1], NULL, p[1], NULL, 300, 0));
	SURE(splice(p[0], NULL, sp[1], NULL, 300, 0));
	SURE(close(sp[0]));
	SURE(close(sp[1]));
	close(p[0]);
	close(p[1]);
	close(f);
}

static void waits(void)
{
	int ep = (int)SURE(epoll_create1(0)), sp[2];
	struct epoll_event e = { .events = EPOLLIN | EPOLLET }, got[8];
	struct pollfd p;
	struct timespec ts = { 0, 2500000 };
	struct timeval tv = { 0, 1000 };
	fd_set set;

	SURE(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
	SURE(epoll_ctl(ep, EPOLL_CTL_ADD, sp[0], &e));
	e.events = EPOLLIN;
	SURE(epoll_ctl(ep, EPOLL_CTL_MOD, sp[0], &e));
	SURE(epoll_wait(ep, got, 8, 0));
	SURE(write(sp[1], buf, 5));
	SURE(epoll_wait(ep, got, 8, -1));
	SURE(epoll_pwait(ep, got, 4, 20, NULL));
	p = (struct pollfd){ sp[0], POLLIN, 0 };
	SURE(poll(&p, 1, 7));
	SURE(read(sp[0], buf, 5));
	SURE(ppoll(&p, 1, &ts, NULL));
	FD_ZERO(&set);
	FD_SET(sp[0], &set);
	SURE(select(sp[0] + 1, &set, NULL, NULL, &tv));
	SURE(epoll_ctl(ep, EPOLL_CTL_DEL, sp[0], NULL));
	told("epoll", ep);
	told("target", sp[0]);
	SURE(close(sp[0]));
	SURE(close(sp[1]));
	close(ep);
}

/* Connections that end otherwise than by the close(2) of their only descriptor. */
static void ends(void)
{
	int s = bound(AF_INET, SOCK_STREAM), c[4], a[4], extra;
	struct addr to = loopback(AF_INET, port_of(s));
	struct linger abort = { 1, 0 };

	SURE(listen(s, 8));
	for (int i = 0; i < 4; i++) {
		c[i] = (int)SURE(socket(AF_INET, SOCK_STREAM, 0));
		SURE(connect(c[i], &to.sa, to.len));
		a[i] = (int)SURE(accept(s, NULL, NULL));
	}
	extra = (int)SURE(dup(c[0]));
	SURE(close(c[0])); /* one is left */
	SURE(close(extra));
	SURE(dup2(1, c[1])); /* over it */
	SURE(syscall(SYS_close_range, c[2], c[2], 0));
	SURE(setsockopt(c[3], SOL_SOCKET, SO_LINGER, &abort, sizeof(abort)));
	SURE(close(c[3])); /* a reset */
	for (int i = 0; i < 3; i++)
		SURE(close(a[i]));
	told("left_open", a[3]);
	told("listener", s);
	close(c[1]);
}

/* A queue that has no room for all datagrams, and one that has none for a connection. */
static void full(void)
{
	int s = bound(AF_INET, SOCK_DGRAM), c, size = 1, got = 0;
	struct addr to = loopback(AF_INET, port_of(s));

	SURE(setsockopt(s, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	c = (int)SURE(socket(AF_INET, SOCK_DGRAM, 0));
	for (int i = 0; i < 50; i++)
		SURE(sendto(c, buf, 700, 0, &to.sa, to.len));
	while (recv(s, buf, 1000, MSG_DONTWAIT) == 700)
		got++;
	told("got", got);
	SURE(close(c));
	SURE(close(s));
	s = bound(AF_INET, SOCK_STREAM);
	to = loopback(AF_INET, port_of(s));
	SURE(listen(s, 0));
	c = (int)SURE(socket(AF_INET, SOCK_STREAM, 0));
	SURE(connect(c, &to.sa, to.len));
	int d = (int)SURE(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	if (!connect(d, &to.sa, to.len) || errno != EINPROGRESS)
		SURE(-1);
	/* Its first packet is sent again after a second, or when the machine comes to it.
	 */
	struct pollfd p = { d, POLLOUT, 0 };
	struct tcp_info info = { 0 };
	for (int i = 0; i < 100 && !info.tcpi_total_retrans; i++) {
		socklen_t len = sizeof(info);
		SURE(poll(&p, 1, 200));
		SURE(getsockopt(d, IPPROTO_TCP, TCP_INFO, &info, &len));
	}
	told("again", (int)info.tcpi_total_retrans);
	SURE(close(d));
	SURE(close(s)); /* before its peer, as above */
	SURE(close(c));
}

static void child(void)
{
	int sp[2], status;

	SURE(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
	pid_t pid = (pid_t)SURE(fork());
	if (!pid) {
		SURE(write(sp[1], buf, 9));
		_exit(0);
	}
	SURE(waitpid(pid, &status, 0));
	SURE(read(sp[0], buf, 9));
	told("child", pid);
	SURE(close(sp[0]));
	SURE(close(sp[1]));
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *p = argv[i];
		if (!strcmp(p, "tcp4") || !strcmp(p, "tcp6"))
			tcp(p[3] == '4' ? AF_INET : AF_INET6);
		else if (!strcmp(p, "udp4") || !strcmp(p, "udp6"))
			udp(p[3] == '4' ? AF_INET : AF_INET6);
		else if (!strcmp(p, "refused4") || !strcmp(p, "refused6"))
			refused(p[7] == '4' ? AF_INET : AF_INET6);
		else if (!strcmp(p, "later"))
			later(AF_INET);
		else if (!strcmp(p, "unix"))
			unix_sockets();
		else if (!strcmp(p, "two"))
			two_sided();
		else if (!strcmp(p, "waits"))
			waits();
		else if (!strcmp(p, "ends"))
			ends();
		else if (!strcmp(p, "full"))
			full();
		else if (!strcmp(p, "child"))
			child();
		else
			return 2;
	}
	told("pid", getpid());
	puts("}");
	fflush(stdout);
	return 0;
}
