/*
 * test_strace.c - calls in the text of strace(1), old and new, to operations
 */
#include "strace.h"

#include <errno.h>

static const struct row calls[] = {
	{ "read(3, \"x\", 10) = 1", "read", R_, "", U_, 1, 10, NO, 3, 0, NT, "" },
	{ "read(3, \"\", 10)" EQ40 "= 0", "read", R_, "", U_, 0, 10, NO, 3, 0, NT, "" },
	{ "read(3, \"a) = 5, \\\"...\\\"\"..., 4096) = 20", "read", R_, "", U_, 20, 4096,
		NO, 3, 0, NT, "" },
	{ "write(1, \"\\\\\", 1) = 1", "write", W_, "", U_, 1, 1, NO, 1, 0, NT, "" },
	{ "write(1, \"\\\"\\n\\0\\377<unfinished ...>\"..., 900) = 900", "write", W_, "",
		U_, 900, 900, NO, 1, 0, NT, "" },
	{ "write(1, \"\\x22\\x29\", 2) = 2", "write", W_, "", U_, 2, 2, NO, 1, 0, NT,
		"" },
	{ "read(3, 0x7ffd1000, 10) = -1 EAGAIN (Resource temporarily unavailable)",
		"read", R_, "", U_, -EAGAIN, 10, NO, 3, 0, NT, "" },
	{ "read(3, 0x7ffd1000, 10) = ? ERESTARTSYS (To be restarted if SA_RESTART is "
	  "set)",
		"read", R_, "", U_, -512, 10, NO, 3, 0, NT, "" },
	{ "pause() = 0\nread(3, 0x7ff, 10) = -1 EBADF (Bad file descriptor) <0.000012>",
		"read", R_, "", U_, -EBADF, 10, NO, 3, 0, 12 * US, "" },
	{ "read(0x3, 0x7ffd1000, 0xa) = 0xa", "read", R_, "", U_, 10, 10, NO, 3, 0, NT,
		"" },
	{ "read(3, 0x7ffd1000, 10) = -1 (errno 5)", "read", R_, "", U_, -EIO, 10, NO, 3,
		0, NT, "" },
	{ "read(3, 0x7ffd1000, 10) = -99999", "read", R_, "", U_, -EIO, 10, NO, 3, 0, NT,
		"" },
	{ "read(3, 0x7ffd1000, 10) = -1 ENEWONE (Unheard of)", "read", R_, "", U_, -EIO,
		10, NO, 3, 0, NT, "" },
	{ "read(3, \"x\", 1) = 1 (INJECTED: args, retval)", "read", R_, "", U_, 1, 1, NO,
		3, 0, NT, "" },
	{ "read(3, \"x\", 1) = 1 (DELAYED) <0.100000>", "read", R_, "", U_, 1, 1, NO, 3,
		0, 100 * MS, "" },
	{ "write(1, \"x\", 1) = -1 ENOSPC (No space left on device) (INJECTED)", "write",
		W_, "", U_, -ENOSPC, 1, NO, 1, 0, NT, "" },
	{ "pread(3, \"x\", 10, 4096) = 1", "pread64", R_, "", U_, 1, 10, 4096, 3, 0, NT,
		"" },
	{ "pwrite64(3, \"x\"..., 10, 4294967296) = 10", "pwrite64", W_, "", U_, 10, 10,
		4294967296, 3, 0, NT, "" },
	{ "readv(3, [{iov_base=\"a\", iov_len=1}, {iov_base=\"b\", iov_len=9}], 2) = 2",
		"readv", R_, "", U_, 2, 10, NO, 3, 0, NT, "" },
	{ "writev(1, [{\"a, {\", 4}, {\"b\"..., 60}], 2) = 64", "writev", W_, "", U_, 64,
		64, NO, 1, 0, NT, "" },
	{ "preadv(3, [{iov_base=\"a\", iov_len=1}], 1, 70) = 1", "preadv", R_, "", U_, 1,
		1, 70, 3, 0, NT, "" },
	{ "preadv2(3, [{iov_base=\"a\", iov_len=1}], 1, -1, RWF_HIPRI) = 1", "preadv2",
		R_, "", U_, 1, 1, NO, 3, 0, NT, "" },
	{ "recvfrom(5, \"x\", 9, MSG_DONTWAIT, NULL, NULL) = 1", "recvfrom", R_, "", U_,
		1, 9, NO, 5, 0, NT, "" },
	{ "recvfrom(5, \"x\"..., 9, MSG_PEEK|MSG_DONTWAIT, NULL, NULL) = 9",
		"recvfrom:peek", OP_PEEK, "", U_, 9, 9, NO, 5, 0, NT, "" },
	{ "recvfrom(5, \"x\"..., 9, 0x42, NULL, NULL) = 9", "recvfrom:peek", OP_PEEK, "",
		U_, 9, 9, NO, 5, 0, NT, "" },
	{ "recvfrom(5, \"x\"..., 9, MSG_TRUNC, NULL, NULL) = 500", "recvfrom", R_, "", U_,
		9, 9, NO, 5, 0, NT, "" },
	{ "sendto(5, \"x\", 1, MSG_NOSIGNAL, {sa_family=AF_INET, sin_port=htons(53), "
	  "sin_addr=inet_addr(\"127.0.0.1\")}, 16) = 1",
		"sendto", W_, "", U_, 1, 1, NO, 5, 0, NT, "" },
	{ "send(5, \"x\", 1, 0) = 1", "send", W_, "", U_, 1, 1, NO, 5, 0, NT, "" },
	{ "recvmsg(3, {msg_name(0)=NULL, msg_iov(1)=[{\"x\", 10}], msg_controllen=0, "
	  "msg_flags=0}, 0) = 1",
		"recvmsg", R_, "", U_, 1, 10, NO, 3, 0, NT, "" },
	{ "sendmsg(3, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"x\", "
	  "iov_len=1}, "
	  "{iov_base=\"y\", iov_len=2}], msg_iovlen=2, msg_controllen=0, msg_flags=0}, "
	  "0) = 3",
		"sendmsg", W_, "", U_, 3, 3, NO, 3, 0, NT, "" },
	{ "recvmmsg(3, [{msg_hdr={msg_name=NULL, msg_iov=[{iov_base=\"x\", iov_len=9}], "
	  "msg_iovlen=1}, msg_len=7}], 4, MSG_DONTWAIT, NULL) = 1 (left {tv_sec=0})",
		"recvmmsg", R_, "", U_, 7, 9, NO, 3, 0, NT, "" },
	{ "sendmmsg(3, {{{msg_name(0)=NULL, msg_iov(1)=[{\"ab\", 2}], msg_controllen=0, "
	  "msg_flags=0}, 2}}, 1, 0) = 1",
		"sendmmsg", W_, "", U_, 2, 2, NO, 3, 0, NT, "" },
	{ "sendfile(4, 3, [0] => [100], 100) = 100", "sendfile", W_, "", U_, 100, 100, NO,
		4, 0, NT, "" },
	{ "sendfile64(4, 3, [50], 100) = 100", "sendfile", W_, "", U_, 100, 100, NO, 4, 0,
		NT, "" },
	{ "copy_file_range(3, [7], 4, [9] => [19], 10, 0) = 10", "copy_file_range", W_,
		"", U_, 10, 10, 9, 4, 0, NT, "" },
	{ "splice(3, NULL, 4, [30], 10, SPLICE_F_MOVE) = 10", "splice", W_, "", U_, 10,
		10, 30, 4, 0, NT, "" },
	{ "vmsplice(1, [{iov_base=\"x\", iov_len=3}], 1, 0) = 3", "vmsplice", W_, "", U_,
		3, 3, NO, 1, 0, NT, "" },
	{ "fsync(3) = 0", "fsync", OP_SYNC, "", U_, 0, 0, NO, 3, 0, NT, "" },
	{ "_llseek(3, 5, [5], SEEK_SET) = 0", "lseek", OP_META, "", U_, 0, 0, NO, 3, 0,
		NT, "" },
	{ "fstat64(3, {st_mode=S_IFREG|0644, st_size=5, ...}) = 0", "fstat", OP_META, "",
		U_, 0, 0, NO, 3, 0, NT, "" },
	{ "stat(\"/a\", {st_mode=S_IFDIR|0755, st_size=5, ...}) = 0", "stat", OP_META,
		"/a", FILE_DIR, 0, 0, NO, -1, 0, NT, "" },
	{ "newfstatat(-100, \"/a\", {st_mode=0100644, st_size=5, ...}, 0) = 0",
		"newfstatat", OP_META, "/a", F_, 0, 0, NO, -1, 0, NT, "" },
	{ "access(\"/a\", R_OK) = -1 ENOENT (No such file or directory)", "access",
		OP_META, "/a", U_, -ENOENT, 0, NO, -1, 0, NT, "" },
};

/* What -y, -yy, -xx and --secontext put behind a descriptor. */
static const struct row words[] = {
	{ "read(3</a b>, \"x\", 1) = 1", "read", R_, "/a b", F_, 1, 1, NO, 3, 0, NT, "" },
	{ "read(3</a->, \"x\", 1) = 1", "read", R_, "/a-", F_, 1, 1, NO, 3, 0, NT, "" },
	{ "read(3</a->b), x>, \"x\", 1) = 1", "read", R_, "/a->b), x", F_, 1, 1, NO, 3, 0,
		NT, "" },
	{ "read(3</a,)=\\\"\\74\\76\\n\\\\>, \"x\", 1) = 1", "read", R_, "/a,)=\"<>\n\\",
		F_, 1, 1, NO, 3, 0, NT, "" },
	{ "read(3</a\"b>, \"x\", 1) = 1", "read", R_, "/a\"b", F_, 1, 1, NO, 3, 0, NT,
		"" },
	{ "read(3<\\x2f\\x61\\x3e\\x22>, \"\\x78\", 1) = 1", "read", R_, "/a>\"", F_, 1,
		1, NO, 3, 0, NT, "" },
	{ "write(4</a [x->, \"x\", 1) = 1", "write", W_, "/a [x-", F_, 1, 1, NO, 4, 0, NT,
		"" },
	{ "read(3</tmp/x (deleted)>, \"x\", 1) = 1", "read", R_, "/tmp/x (deleted)", F_,
		1, 1, NO, 3, 0, NT, "" },
	{ "read(3</tmp/x>(deleted), \"x\", 1) = 1", "read", R_, "/tmp/x (deleted)", F_, 1,
		1, NO, 3, 0, NT, "" },
	{ "read(3</tmp/x> [unconfined_u:object_r:user_tmp_t:s0], \"x\", 1) = 1", "read",
		R_, "/tmp/x", F_, 1, 1, NO, 3, 0, NT, "" },
	{ "read(3<pipe:[123]>, \"x\", 1) = 1", "read", R_, "pipe:[123]", FILE_PIPE, 1, 1,
		NO, 3, 0, NT, "" },
	{ "read(3<socket:[123]>, \"x\", 1) = 1", "read", R_, "socket:[123]", FILE_SOCKET,
		1, 1, NO, 3, 0, NT, "" },
	{ "read(3<TCP:[127.0.0.1:1->127.0.0.1:2]>, \"x\", 1) = 1", "read", R_,
		"TCP:[127.0.0.1:1->127.0.0.1:2]", FILE_SOCKET, 1, 1, NO, 3, 0, NT, "" },
	{ "read(3<TCPv6:[[::1]:80->[::1]:81]>, \"x\", 1) = 1", "read", R_,
		"TCPv6:[[::1]:80->[::1]:81]", FILE_SOCKET, 1, 1, NO, 3, 0, NT, "" },
	{ "read(3<UNIX-STREAM:[1->2,\"/x y>\"]>, \"x\", 1) = 1", "read", R_,
		"UNIX-STREAM:[1->2,\"/x y>\"]", FILE_SOCKET, 1, 1, NO, 3, 0, NT, "" },
	{ "read(3<UNIX-STREAM:[1->2,@\"a\\0b\"]>, \"x\", 1) = 1", "read", R_,
		"UNIX-STREAM:[1->2,@\"a@b\"]", FILE_SOCKET, 1, 1, NO, 3, 0, NT, "" },
	{ "open(\"/a\\0b\", O_RDONLY) = 3\nread(3, \"x\", 1) = 1", "read", R_, "/a@b", F_,
		1, 1, 0, 3, 0, NT, "" },
	{ "read(0</dev/pts/0<char 136:0>>, \"x\", 1) = 1", "read", R_, "/dev/pts/0",
		FILE_TTY, 1, 1, NO, 0, 0, NT, "" },
	{ "read(0</dev/sr0<block 11:0>>, \"x\", 1) = 1", "read", R_, "/dev/sr0",
		FILE_BLOCK, 1, 1, NO, 0, 0, NT, "" },
	{ "write(1</dev/null<char 1:3>>, \"x\", 1) = 1", "write", W_, "/dev/null",
		FILE_CHAR, 1, 1, NO, 1, 0, NT, "" },
	{ "read(3<anon_inode:[eventfd]>, \"x\", 8) = 8", "read", R_,
		"anon_inode:[eventfd]", FILE_ANON, 8, 8, NO, 3, 0, NT, "" },
	{ "openat(AT_FDCWD</home>, \"a\", O_RDONLY) = 3</home/a>", "openat", OP_OPEN,
		"/home/a", F_, 3, 0, NO, 3, 0, NT, "" },
	{ "openat(AT_FDCWD</home>, \"a\", O_RDONLY) = -1 ENOENT (No such file)", "openat",
		OP_OPEN, "/home/a", F_, -ENOENT, 0, NO, -1, 0, NT, "" },
	{ "openat(-100 /* AT_FDCWD */</ho,me>, \"a\", 0 /* O_RDONLY */) = 3</ho,me/a>",
		"openat", OP_OPEN, "/ho,me/a", F_, 3, 0, NO, 3, 0, NT, "" },
	{ "openat(AT_FDCWD [ctx], \"/a\" [ctx], O_RDONLY) = 3</a> [ctx]", "openat",
		OP_OPEN, "/a", F_, 3, 0, NO, 3, 0, NT, "" },
	/* Another file under one number, and nothing told of it: no position. */
	{ "openat(AT_FDCWD, \"/a\", O_RDONLY) = 3</a>\nread(3</b>, \"x\", 1) = 1", "read",
		R_, "/b", F_, 1, 1, NO, 3, 0, NT, "" },
	{ "openat(AT_FDCWD, \"/a\", O_RDONLY) = 3</a>\nread(3</a (deleted)>, \"x\", 1) = "
	  "1",
		"read", R_, "/a (deleted)", F_, 1, 1, 0, 3, 0, NT, "" },
};

#define OPEN_A "openat(AT_FDCWD, \"/a\", O_RDWR) = 3\n"
#define READ3  "read(3, \"x\"..., 10) = 10"
#define WRITE3 "write(3, \"x\"..., 10) = 10"
#define READ4  "read(4, \"x\"..., 10) = 10"
#define READ5  "read(5, \"x\"..., 10) = 10"
#define ROW_R(text, path, type, off, fd)                                                 \
	{                                                                                \
		text, "read", R_, path, type, 10, 10, off, fd, 0, NT, ""                 \
	}
#define ROW_W(text, path, type, off, fd)                                                 \
	{                                                                                \
		text, "write", W_, path, type, 10, 10, off, fd, 0, NT, ""                \
	}

/* What calls before did to the descriptor. */
static const struct row history[] = {
	ROW_R(OPEN_A READ3, "/a", F_, 0, 3),
	ROW_R(OPEN_A READ3 "\n" READ3, "/a", F_, 10, 3),
	ROW_R(OPEN_A "read(3, 0x1, 10) = -1 EINTR (Interrupted)\n" READ3, "/a", F_, 0, 3),
	ROW_R(OPEN_A "pread64(3, \"x\"..., 10, 500) = 10\n" READ3, "/a", F_, 0, 3),
	ROW_R(OPEN_A "lseek(3, -5, SEEK_END) = 95\n" READ3, "/a", F_, 95, 3),
	ROW_R(OPEN_A "_llseek(3, 95, [95], SEEK_SET) = 0\n" READ3, "/a", F_, 95, 3),
	ROW_R(OPEN_A "lseek(3, 9, SEEK_SET) = -1 EINVAL (Invalid)\n" READ3, "/a", F_, 0,
		3),
	ROW_R(OPEN_A "close(3) = 0\n" READ3, "", U_, NO, 3),
	ROW_R(OPEN_A "close(3) = -1 EIO (Input/output error)\n" READ3, "", U_, NO, 3),
	ROW_R(OPEN_A "dup(3) = 4\n" READ3 "\n" READ4, "/a", F_, 10, 4),
	ROW_R(OPEN_A "dup2(3, 4) = 4\nclose(3) = 0\n" READ4, "/a", F_, 0, 4),
	ROW_R(OPEN_A "dup3(3, 4, O_CLOEXEC) = 4\n" READ4, "/a", F_, 0, 4),
	ROW_R(OPEN_A "fcntl(3, F_DUPFD_CLOEXEC, 4) = 4\n" READ4, "/a", F_, 0, 4),
	ROW_R(OPEN_A "fcntl64(3, F_DUPFD, 4) = 4\n" READ4, "/a", F_, 0, 4),
	ROW_R(OPEN_A "fcntl(3, 0, 4) = 4\n" READ4, "/a", F_, 0, 4),
	ROW_R(OPEN_A "fcntl(3, 0x406 /* F_DUPFD_CLOEXEC */, 4) = 4\n" READ4, "/a", F_, 0,
		4),
	ROW_R(OPEN_A "close_range(3, 4294967295, 0) = 0\n" READ3, "", U_, NO, 3),
	ROW_R(OPEN_A "close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) = 0\n" READ3, "/a", F_, 0,
		3),
	ROW_R(OPEN_A "preadv2(3, [{iov_base=\"x\", iov_len=1}], 1, -1, 0) = 1\n" READ3,
		"/a", F_, 1, 3),
	ROW_R(OPEN_A "sendfile(4, 3, NULL, 100) = 100\n" READ3, "/a", F_, 100, 3),
	ROW_R(OPEN_A "sendfile(4, 3, [0] => [100], 100) = 100\n" READ3, "/a", F_, 0, 3),
	ROW_R(OPEN_A "copy_file_range(3, NULL, 4, NULL, 70, 0) = 70\n" READ3, "/a", F_,
		70, 3),
	ROW_R(OPEN_A "splice(4, NULL, 3, NULL, 70, 0) = 70\n" READ3, "/a", F_, 70, 3),
	ROW_R("pipe([3, 4]) = 0\n" READ3, "pipe", FILE_PIPE, NO, 3),
	ROW_R("pipe2([4, 3], O_CLOEXEC) = 0\n" WRITE3 "\n" READ4, "pipe", FILE_PIPE, NO,
		4),
	ROW_R("pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0\n" READ3, "pipe:[7]", FILE_PIPE,
		NO, 3),
	ROW_R("socketpair(AF_UNIX, SOCK_STREAM, 0, [3, 4]) = 0\n" READ4, "socket",
		FILE_SOCKET, NO, 4),
	ROW_R("socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3\n" READ3, "socket",
		FILE_SOCKET, NO, 3),
	ROW_R("accept4(3, {sa_family=AF_INET}, [16], SOCK_CLOEXEC) = 5\n" READ5, "socket",
		FILE_SOCKET, NO, 5),
	ROW_R("eventfd2(0, EFD_CLOEXEC) = 3\n" READ3, "anon_inode:[eventfd]", FILE_ANON,
		NO, 3),
	ROW_R("epoll_create1(EPOLL_CLOEXEC) = 3\n" READ3, "anon_inode:[eventpoll]",
		FILE_ANON, NO, 3),
	ROW_R("memfd_create(\"m x\", MFD_CLOEXEC) = 3\n" READ3, "/memfd:m x (deleted)",
		F_, NO, 3),
	ROW_R("open(\"/d/../b//c\", O_RDONLY|O_LARGEFILE) = 3\n" READ3, "/b/c", F_, 0, 3),
	ROW_R("open(\"b\", O_RDONLY) = 3\n" READ3, "b", F_, 0, 3),
	ROW_R("chdir(\"/d\") = 0\nopen(\"b\", O_RDONLY) = 3\n" READ3, "/d/b", F_, 0, 3),
	ROW_R("chdir(\"/d\") = -1 ENOENT (No)\nopen(\"b\", O_RDONLY) = 3\n" READ3, "b",
		F_, 0, 3),
	ROW_R("chdir(\"/d\") = 0\nchdir(\"../e\") = 0\nopen(\"b\", O_RDONLY) = 3\n" READ3,
		"/e/b", F_, 0, 3),
	ROW_R("getcwd(\"/d\", 4096) = 3\nopen(\"b\", O_RDONLY) = 3\n" READ3, "/d/b", F_,
		0, 3),
	ROW_R("open(\"/d\", O_RDONLY|O_DIRECTORY) = 4\nopenat(4, \"b\", O_RDONLY) = "
	      "3\n" READ3,
		"/d/b", F_, 0, 3),
	ROW_R("open(\"/d\", O_RDONLY) = 4\nfchdir(4) = 0\nopen(\"b\", 0) = 3\n" READ3,
		"/d/b", F_, 0, 3),
	ROW_R("openat2(AT_FDCWD, \"/a\", {flags=O_RDONLY|O_CLOEXEC, resolve=0}, 24) = "
	      "3\n" READ3,
		"/a", F_, 0, 3),
	ROW_R("openat(AT_FDCWD</d>, \"b\", O_RDONLY) = 3\n" READ3, "/d/b", F_, 0, 3),
	ROW_R("open(\"/dev/tty\", O_RDWR) = 3\n" READ3, "/dev/tty", FILE_TTY, NO, 3),
	ROW_W("open(\"/a\", O_WRONLY|O_APPEND) = 3\n" WRITE3, "/a", F_, NO, 3),
	ROW_W("open(\"/a\", O_WRONLY|O_CREAT|O_TRUNC|O_APPEND, 0666) = 3\n" WRITE3
	      "\n" WRITE3,
		"/a", F_, 10, 3),
	ROW_W("open(\"/a\", 0x641, 0666) = 3\nlseek(3, 0, SEEK_SET) = 0\n" WRITE3
	      "\n" WRITE3,
		"/a", F_, 10, 3),
	ROW_W("creat(\"/a\", 0666) = 3\n" WRITE3, "/a", F_, 0, 3),
	/* Descriptors that came over a socket. */
	ROW_R(OPEN_A "sendmsg(7, {msg_name=NULL, msg_iov=[{iov_base=\"x\", iov_len=1}], "
		     "msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, "
		     "cmsg_type=SCM_RIGHTS, cmsg_data=[3]}], msg_flags=0}, 0) = 1\n"
		     "close(3) = 0\nrecvmsg(8, {msg_name=NULL, "
		     "msg_iov=[{iov_base=\"x\", iov_len=1}], msg_control=[{cmsg_len=20, "
		     "cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[5]}], "
		     "msg_flags=0}, 0) = 1\n" READ5,
		"/a", F_, 0, 5),
	/* execve closes what was to be closed. */
	ROW_R("open(\"/a\", O_RDONLY|O_CLOEXEC) = 4\n" OPEN_A
	      "execve(\"\", [], NULL) = -1 ENOENT (No)\n" READ4,
		"/a", F_, 0, 4),
};

static void alone(void **state)
{
	(void)state;
	row_table(calls, LENGTH(calls));
}

static void descriptors(void **state)
{
	(void)state;
	row_table(words, LENGTH(words));
	row_table(history, LENGTH(history));
}

/* What cannot be read is said; it is an operation lost where one was. */
static void damage(void **state)
{
	static const struct {
		const char *text;
		unsigned lost;
	} rows[] = {
		{ "pause() = 0\n1 read(3, \"x\n", 1 },
		{ "1 read(3, \"x\", 1)\n1 pause() = 0\n", 1 },
		{ "read(3, \"x\", 1) = \n", 1 },
		{ "pause() = 0\nread(3, \"x", 1 },
		{ "pause() = 0\nread(3, \"x\", 1) = 1\nre", 0 },
		{ "1 <... read resumed>\"x\", 1) = 1\n", 1 },
		{ "1 <... futex resumed>) = 0\n", 0 },
		{ "1 read(3,  <unfinished ...>\n1 <... readv resumed>\"x\", 1) = 1\n",
			2 },
		{ "1 readv(3,  <unfinished ...>\n1 <... read resumed>\"x\", 1) = 1\n",
			2 },
		{ "1 read(3,  <unfinished ...>\n1 write(3, \"x\", 1) = 1\n", 1 },
		{ "1 read(3,  <unfinished ...>\n1 <... read resumed>\"x\n", 1 },
		{ "pause() = 0\nhello\n", 0 },
		{ "pause() = 0\n1 futex(0x7f\n", 0 },
		{ "recvmmsg(3, 0x7f, 4, 0, NULL) = 3\n", 3 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct reader r;
		unsigned lost = 0;
		print_message("# %s\n", rows[i].text);
		reader_text(&r, &source_strace, rows[i].text, strlen(rows[i].text));
		for (unsigned k = 0; k < r.n; k++)
			lost += r.op[k].kind == OP_LOST ? r.op[k].ret : 0;
		assert_int_equal(lost, rows[i].lost);
		if (!strstr(rows[i].text, "mmsg"))
			assert_true(r.run.damaged);
		reader_done(&r);
	}
	/* In flight when the process died: no operation, and nothing is wrong. */
	struct reader r;
	static const char dies[] =
		"1 read(3,  <unfinished ...>\n"
		"1 +++ killed by SIGKILL (core dumped) +++\n"
		"2 read(3,  <unfinished ...>) = ?\n2 write(1,  <unfinished ...>\n";
	reader_text(&r, &source_strace, dies, strlen(dies));
	reader_expect(&r, CLASS_READ, LAYER_MAIN, (struct sums){ 0, 0, 0 });
	assert_false(r.run.damaged);
	assert_true(r.run.ended);
	assert_int_equal(r.run.status & 0x7f, 9);
	reader_done(&r);
}

static void probes(void **state)
{
	static const char *const yes[] = { "read(3, \"\", 1) = 0\n",
		"12:34:56 read(3, \"\", 1) = 0\n",
		"[pid 12] 12:34:56.123456 read(3, \"\", 1) = 0 <0.000012>\n",
		"12 1700000000.123456 <... read resumed>\"\", 1) = 0\n",
		"     0.000012 read(3, \"\", 1) = 0\n", "read(3, \"x",
		"+++ exited with 0 +++\n" };
	static const char *const no[] = { "", "hello\nworld\n", "\x7fIOPS",
		"12:34:56  read  F=3  B=0x1  0.000012  x.8\n",
		"20240131-235958.7:  GETATTR: path=/\n", "--- a\n+++ b\n" };

	(void)state;
	for (size_t i = 0; i < LENGTH(yes); i++) {
		print_message("# %s\n", yes[i]);
		assert_true(reader_probe(&source_strace, yes[i]) >= (i == 5 ? 0 : 60));
	}
	for (size_t i = 0; i < LENGTH(no); i++)
		assert_int_equal(reader_probe(&source_strace, no[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(descriptors),
		cmocka_unit_test(damage),
		cmocka_unit_test(probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
