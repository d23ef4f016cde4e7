/*
 * fsops DIR REAL BIND OVERLAY
 *
 * Does operations on files, each a raw system call, between two calls that nobody else
 * makes, and prints what rows a tracer must show of them: key=value with tabs between.
 * DIR is the working directory and has a file "secret" that is root's alone. REAL and BIND
 * are where one directory with a file "same" is seen, OVERLAY is where a lower layer has
 * a file "low"; or "-". Inodes and devices are those that fstat(2) says, in the end.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/stat.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { NSLOTS = 16, ANY = -2, NONE = -1, F = 0, G, D, S, FIFO, PIPE, DIO, LOW, NEW, OLD, SUB, TOP, SAME };

static char text[1 << 20];
static size_t at;
static struct stat slot[NSLOTS];
static char buf[1 << 16] __attribute__((aligned(4096)));
static const char *W;

/* A row of this operation is wanted; inode and device are those of a slot. */
static __attribute__((format(printf, 4, 5))) long did(
	const char *op, long ret, int of, const char *fmt, ...)
{
	int err = ret == -1 ? errno : 0;
	va_list ap;

	at += sprintf(text + at, "operation=%s\treturn_value=%ld\terrno=%s", op,
		err ? -(long)err : ret, err ? strerrorname_np(err) : "");
	if (of == NONE)
		at += sprintf(text + at, "\tinode=\tdevice=");
	else if (of >= 0)
		at += sprintf(text + at, "\tinode=@%d\tdevice=@%d", of, of);
	at += sprintf(text + at, "\t");
	va_start(ap, fmt);
	at += vsprintf(text + at, fmt, ap);
	va_end(ap);
	at += sprintf(text + at, "\n");
	return ret;
}

static void learn(int fd, int of, const char *path)
{
	long r = syscall(SYS_newfstatat, fd, "", &slot[of], AT_EMPTY_PATH);

	did("getattr", r, of, "call=newfstatat\tfd=%d\tfilename=%s%s%s\tflags=AT_EMPTY_PATH", fd,
		*path == '/' ? "" : W, *path == '/' ? "" : "/", path);
}

static void print(void)
{
	bool device = false;

	for (char *p = text; p < text + at; p++) {
		if (*p != '@') {
			putchar(*p);
			continue;
		}
		long n = strtol(p + 1, &p, 10);
		p--;
		if (device)
			printf("%u:%u", major(slot[n].st_dev), minor(slot[n].st_dev));
		else
			printf("%llu", (unsigned long long)slot[n].st_ino);
		device = !device;
	}
}

static int data(void)
{
	struct iovec v[2] = { { buf, 300 }, { buf + 4096, 200 } };
	int fd = did("open", syscall(SYS_openat, AT_FDCWD, "d/f", O_RDWR | O_CREAT | O_EXCL, 0644),
		F, "filename=%s/d/f\tflags=O_RDWR|O_CREAT|O_EXCL\tcall=openat\tsize=\toffset=\tbytes_completed=", W);

	learn(fd, F, "d/f");
#define FD(op, ret, fmt, ...) did(op, ret, F, "filename=%s/d/f\tfd=%d\t" fmt, W, fd, ##__VA_ARGS__)
	FD("write", syscall(SYS_write, fd, buf, 1000), "size=1000\toffset=0\tbytes_completed=1000\tcall=write");
	FD("write", syscall(SYS_pwrite64, fd, buf, 100, 5000), "size=100\toffset=5000\tbytes_completed=100\tcall=pwrite64\tfile_size=5100");
	FD("write", syscall(SYS_writev, fd, v, 2), "size=500\toffset=1000\tbytes_completed=500\tcall=writev");
	FD("write", syscall(SYS_pwritev, fd, v, 1, 2000, 0), "size=300\toffset=2000\tbytes_completed=300\tcall=pwritev");
	FD("lseek", syscall(SYS_lseek, fd, 0, SEEK_SET), "offset=0\tflags=SEEK_SET\tsize=");
	FD("read", syscall(SYS_read, fd, buf, 400), "size=400\toffset=0\tbytes_completed=400");
	FD("read", syscall(SYS_pread64, fd, buf, 100, 5050), "size=100\toffset=5050\tbytes_completed=50");
	FD("read", syscall(SYS_readv, fd, v, 2), "size=500\toffset=400\tbytes_completed=500");
	FD("read", syscall(SYS_preadv, fd, v, 2, 0, 0), "size=500\toffset=0\tbytes_completed=500");
	FD("read", syscall(SYS_preadv2, fd, v, 2, -1L, -1L, 0), "size=500\toffset=900\tbytes_completed=500");
	FD("lseek", syscall(SYS_lseek, fd, -100L, SEEK_END), "offset=-100\tflags=SEEK_END\tcall=lseek");
	FD("read", syscall(SYS_read, fd, buf, 400), "size=400\toffset=5000\tbytes_completed=100");
	FD("read", syscall(SYS_read, fd, buf, 400), "size=400\toffset=5100\tbytes_completed=0");
	FD("read", syscall(SYS_pread64, fd, buf, 1, -5L), "size=1\toffset=-5\tbytes_completed=0");
	FD("fsync", syscall(SYS_fsync, fd), "flags=O_RDWR|O_LARGEFILE\tsize=\toffset=");
	FD("fdatasync", syscall(SYS_fdatasync, fd), "flags=O_RDWR|O_LARGEFILE");
	FD("sync_file_range", syscall(SYS_sync_file_range, fd, 0L, 4096L, 2), "size=4096\toffset=0\tflags=SYNC_FILE_RANGE_WRITE");
	FD("syncfs", syscall(SYS_syncfs, fd), "size=");
	FD("fallocate", syscall(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, 4096L, 8192L), "size=8192\toffset=4096\tflags=FALLOC_FL_KEEP_SIZE");
	FD("truncate", syscall(SYS_ftruncate, fd, 6000L), "size=6000\tcall=ftruncate\tfile_size=6000");
	FD("setattr", syscall(SYS_fchmod, fd, 0604), "call=fchmod\tflags=S_IRUSR|S_IWUSR|S_IROTH");
	FD("setattr", syscall(SYS_fchown, fd, 0, 0), "call=fchown\tflags=");
	FD("fadvise", syscall(SYS_fadvise64, fd, 0L, 4096L, POSIX_FADV_WILLNEED), "size=4096\toffset=0\tflags=POSIX_FADV_WILLNEED");
	FD("readahead", syscall(SYS_readahead, fd, 0L, 4096L), "size=4096\toffset=0\tflags=");
	FD("flock", syscall(SYS_flock, fd, LOCK_EX | LOCK_NB), "flags=LOCK_EX|LOCK_NB");
	FD("flock", syscall(SYS_flock, fd, LOCK_UN), "flags=LOCK_UN");
	FD("fcntl", syscall(SYS_fcntl, fd, F_GETFL), "flags=F_GETFL");
	FD("setxattr", syscall(SYS_fsetxattr, fd, "user.x", "abc", 3L, XATTR_CREATE), "size=3\tflags=XATTR_CREATE");
	long r = syscall(SYS_fgetxattr, fd, "user.x", buf, 100L);
	FD("getxattr", r, "size=100\tbytes_completed=%ld", r > 0 ? r : 0);
	FD("listxattr", syscall(SYS_flistxattr, fd, buf, 0L), "size=0\tcall=flistxattr");
	FD("removexattr", syscall(SYS_fremovexattr, fd, "user.none"), "size=");
	FD("statfs", syscall(SYS_fstatfs, fd, buf), "call=fstatfs");
	int other = FD("dup", syscall(SYS_dup, fd), "call=dup");
	did("close", syscall(SYS_close, other), F, "filename=%s/d/f\tfd=%d\tflags=O_RDWR|O_LARGEFILE", W, other);
	did("close", syscall(SYS_close, other), NONE, "filename=\tfd=%d", other);
	return fd;
}

static void memory(int fd)
{
	char *p = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);

	FD("mmap", (long)p, "size=4096\toffset=0\tmmap_prot=PROT_READ|PROT_WRITE\tmmap_flags=MAP_SHARED\taddress=%p", (void *)p);
#define MAP(op, ret, fmt, ...) did(op, ret, F, "filename=%s/d/f\t" fmt, W, ##__VA_ARGS__)
	MAP("msync", syscall(SYS_msync, p, 4096, MS_SYNC), "size=4096\toffset=%lu\tflags=MS_SYNC\taddress=%p", (unsigned long)p, (void *)p);
	MAP("madvise", syscall(SYS_madvise, p, 4096, MADV_WILLNEED), "size=4096\tflags=MADV_WILLNEED\taddress=%p", (void *)p);
	char *q = (char *)syscall(SYS_mremap, p, 4096, 8192, MREMAP_MAYMOVE, 0);
	MAP("mremap", (long)q, "size=8192\tflags=MREMAP_MAYMOVE\taddress=%p -> %p", (void *)p, (void *)q);
	MAP("munmap", syscall(SYS_munmap, q, 8192), "size=8192\taddress=%p", (void *)q);
	/* Of no file: no row. */
	p = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	syscall(SYS_munmap, p, 4096);
	did("mmap", syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, 999, 0L), NONE,
		"filename=\tfd=999\tmmap_prot=PROT_READ\tmmap_flags=MAP_PRIVATE\taddress=0x0");
}

static void two(int fd)
{
	long off = 100;
	int pipes[2];
	int g = did("open", syscall(SYS_openat, AT_FDCWD, "./d/../d//g", O_RDWR | O_CREAT | O_APPEND, 0600), G,
		"filename=%s/d/g\tflags=O_RDWR|O_CREAT|O_APPEND", W);

	learn(g, G, "d/g");
	did("write", syscall(SYS_pwrite64, g, buf, 10, 77L), G, "filename=%s/d/g\tsize=10\toffset=0\tbytes_completed=10", W);
	did("write", syscall(SYS_write, g, buf, 10), G, "filename=%s/d/g\tsize=10\toffset=10\tbytes_completed=10", W);
	int h = did("open", syscall(SYS_openat, AT_FDCWD, "d/new", O_WRONLY | O_CREAT | O_TRUNC, 0600), NEW,
		"filename=%s/d/new\tflags=O_WRONLY|O_CREAT|O_TRUNC", W);
	learn(h, NEW, "d/new");
	FD("sendfile", syscall(SYS_sendfile, h, fd, &off, 1000L), "size=1000\toffset=100\tbytes_completed=1000\ttarget=%s/d/new\ttarget_fd=%d\ttarget_offset=0", W, h);
	FD("lseek", syscall(SYS_lseek, fd, 500L, SEEK_SET), "offset=500");
	FD("copy_file_range", syscall(SYS_copy_file_range, fd, NULL, h, NULL, 600L, 0), "size=600\toffset=500\tbytes_completed=600\ttarget=%s/d/new\ttarget_fd=%d\ttarget_offset=1000", W, h);
	if (syscall(SYS_pipe2, pipes, 0))
		exit(1);
	syscall(SYS_fstat, pipes[0], &slot[PIPE]);
	did("getattr", 0, PIPE, "call=fstat\tfd=%d\tfilename=pipe:[%llu]\tfile_type=pipe", pipes[0], (unsigned long long)slot[PIPE].st_ino);
	off = 50;
	FD("splice", syscall(SYS_splice, fd, &off, pipes[1], NULL, 200L, 1), "size=200\toffset=50\tbytes_completed=200\tflags=SPLICE_F_MOVE\ttarget_fd=%d\ttarget_offset=", pipes[1]);
	did("splice", syscall(SYS_splice, pipes[0], NULL, h, NULL, 150L, 0), PIPE, "size=150\toffset=\tbytes_completed=150\tflags=NO_FLAGS\ttarget=%s/d/new\ttarget_offset=1600", W);
	did("read", syscall(SYS_read, pipes[0], buf, 100), PIPE, "size=100\toffset=\tbytes_completed=50\tfile_type=pipe\tfile_size=");
	did("vmsplice", syscall(SYS_vmsplice, pipes[1], &(struct iovec){ buf, 64 }, 1L, 0), PIPE, "size=64\tbytes_completed=64");
	did("lseek", syscall(SYS_lseek, pipes[0], 0L, SEEK_CUR), PIPE, "flags=SEEK_CUR");
	did("close", syscall(SYS_close, g), G, "filename=%s/d/g\tfd=%d", W, g);
	syscall(SYS_close, h);
	did("close", 0, NEW, "filename=%s/d/new\tfd=%d", W, h);
}

static void names(int fd)
{
	struct statx x;
	int d = did("open", syscall(SYS_openat, AT_FDCWD, "d", O_RDONLY | O_DIRECTORY, 0), D, "filename=%s/d\tflags=O_RDONLY|O_DIRECTORY\tfile_type=dir", W);

	learn(d, D, "d");
	long r = syscall(SYS_getdents64, d, buf, 4096L);
	did("readdir", r, D, "filename=%s/d\tsize=4096\tbytes_completed=%ld\tfd=%d", W, r, d);
	did("mkdir", syscall(SYS_mkdirat, d, "sub", 0750), ANY, "filename=%s/d/sub\tflags=S_IRUSR|S_IWUSR|S_IXUSR|S_IRGRP|S_IXGRP", W);
	did("mkdir", syscall(SYS_mkdirat, d, "sub", 0700), NONE, "filename=%s/d/sub", W);
	did("getattr", syscall(SYS_newfstatat, d, "sub", &slot[SUB], 0), SUB, "filename=%s/d/sub\tflags=NO_FLAGS\tfd=", W);
	did("link", syscall(SYS_linkat, d, "f", AT_FDCWD, "d/l", 0), F, "filename=%s/d/f -> %s/d/l", W, W);
	did("symlink", syscall(SYS_symlinkat, "to nowhere", d, "s"), S, "filename=to nowhere -> %s/d/s", W);
	did("getattr", syscall(SYS_newfstatat, d, "s", &slot[S], AT_SYMLINK_NOFOLLOW), S, "filename=%s/d/s\tflags=AT_SYMLINK_NOFOLLOW", W);
	did("getattr", syscall(SYS_newfstatat, d, "s", buf, 0), NONE, "filename=%s/d/s", W);
	did("readlink", syscall(SYS_readlinkat, d, "s", buf, 100L), S, "filename=%s/d/s\tsize=100\tbytes_completed=10", W);
	did("getattr", syscall(SYS_statx, AT_FDCWD, "d/g", AT_SYMLINK_NOFOLLOW, STATX_ALL, &x), G, "filename=%s/d/g\tcall=statx", W);
	did("access", syscall(SYS_faccessat, d, "g", R_OK | W_OK), G, "filename=%s/d/g\tflags=R_OK|W_OK", W);
	did("setattr", syscall(SYS_fchmodat, d, "g", 0644), G, "filename=%s/d/g\tcall=fchmodat", W);
	did("setattr", syscall(SYS_fchownat, d, "g", 0, 0, AT_SYMLINK_NOFOLLOW), G, "filename=%s/d/g\tflags=AT_SYMLINK_NOFOLLOW", W);
	did("setattr", syscall(SYS_utimensat, d, "g", NULL, 0), G, "filename=%s/d/g", W);
	did("setattr", syscall(SYS_utimensat, fd, NULL, NULL, 0), F, "filename=%s/d/f\tcall=utimensat", W);
	did("truncate", syscall(SYS_truncate, "d/g", 15L), G, "filename=%s/d/g\tsize=15", W);
	did("statfs", syscall(SYS_statfs, "d", buf), D, "filename=%s/d", W);
	did("mknod", syscall(SYS_mknodat, d, "fifo", S_IFIFO | 0600, 0), ANY, "filename=%s/d/fifo\tflags=S_IFIFO|S_IRUSR|S_IWUSR", W);
	did("getattr", syscall(SYS_newfstatat, d, "fifo", &slot[FIFO], 0), FIFO, "filename=%s/d/fifo", W);
	/* What the name of an open file is, follows it. */
	did("rename", syscall(SYS_renameat2, d, "f", d, "h", 1), F, "filename=%s/d/f -> %s/d/h\tflags=RENAME_NOREPLACE", W, W);
	did("write", syscall(SYS_pwrite64, fd, buf, 1, 0L), F, "filename=%s/d/h\toffset=0", W);
	did("unlink", syscall(SYS_unlinkat, d, "h", 0), F, "filename=%s/d/h\tflags=", W);
	did("write", syscall(SYS_pwrite64, fd, buf, 2, 0L), F, "filename=%s/d/h (deleted)\toffset=0\tbytes_completed=2", W);
	did("rename", syscall(SYS_renameat2, AT_FDCWD, "d/sub", AT_FDCWD, "d/bus", 0), SUB, "filename=%s/d/sub -> %s/d/bus", W, W);
	did("rmdir", syscall(SYS_unlinkat, d, "bus", AT_REMOVEDIR), SUB, "filename=%s/d/bus\tcall=unlinkat", W);
	did("unlink", syscall(SYS_unlinkat, d, "fifo", 0), FIFO, "filename=%s/d/fifo", W);
	did("chdir", syscall(SYS_chdir, "d/."), D, "filename=%s/d", W);
	int g = did("open", syscall(SYS_openat, AT_FDCWD, "../d/g", O_RDONLY, 0), G, "filename=%s/d/g\tflags=O_RDONLY", W);
	did("write", syscall(SYS_write, g, buf, 5), G, "filename=%s/d/g\tsize=5\toffset=0\tbytes_completed=0", W);
	did("close_range", syscall(SYS_close_range, g, g, 0), NONE, "filename=\tflags=NO_FLAGS");
	did("access", syscall(SYS_faccessat, AT_FDCWD, "g", 0), G, "filename=%s/d/g\tflags=F_OK", W);
	did("chdir", syscall(SYS_chdir, ".."), TOP, "filename=%s", W);
	did("chdir", syscall(SYS_fchdir, d), D, "filename=%s/d\tcall=fchdir\tfd=%d", W, d);
	did("chdir", syscall(SYS_chdir, ".."), TOP, "filename=%s", W);
	did("getattr", syscall(SYS_newfstatat, AT_FDCWD, ".", &slot[TOP], 0), TOP, "filename=%s", W);
}

static void failing(void)
{
	did("open", syscall(SYS_openat, AT_FDCWD, "d/nosuch", O_RDONLY, 0), NONE, "filename=%s/d/nosuch\tflags=O_RDONLY\tfd=", W);
	did("open", syscall(SYS_openat, AT_FDCWD, "", O_RDONLY, 0), NONE, "filename=");
	did("open", syscall(SYS_openat, AT_FDCWD, "d/g/x", O_WRONLY, 0), NONE, "filename=%s/d/g/x\tflags=O_WRONLY", W);
	did("open", syscall(SYS_openat, 999, "x", O_WRONLY, 0), NONE, "filename=x");
	did("open", syscall(SYS_openat, AT_FDCWD, (char *)1, O_WRONLY, 0), NONE, "filename=");
	did("read", syscall(SYS_read, 999, buf, 10), NONE, "filename=\tsize=10\toffset=\tbytes_completed=0\tflags=\tfd=999");
	did("fsync", syscall(SYS_fsync, -1), NONE, "filename=\tfd=-1");
	did("unlink", syscall(SYS_unlinkat, AT_FDCWD, "d/nosuch", 0), NONE, "filename=%s/d/nosuch", W);
	did("rmdir", syscall(SYS_unlinkat, AT_FDCWD, "d", AT_REMOVEDIR), NONE, "filename=%s/d", W);
	did("rename", syscall(SYS_renameat2, AT_FDCWD, "d/nosuch", AT_FDCWD, "d/other", 0), NONE, "filename=%s/d/nosuch -> %s/d/other", W, W);
	did("chdir", syscall(SYS_chdir, "d/g"), NONE, "filename=%s/d/g", W);
	did("process_exec", syscall(SYS_execve, "d/nosuch", (char *[]){ "x", NULL }, (char *[]){ NULL }), NONE, "filename=%s/d/nosuch\tcall=execve", W);
	did("mmap", syscall(SYS_mmap, NULL, 4096, PROT_NONE, MAP_SHARED, 998, 0L), NONE, "filename=\tmmap_prot=PROT_NONE");
	did("msync", syscall(SYS_msync, 4096L, 4096, MS_ASYNC), NONE, "filename=\taddress=0x1000\tflags=MS_ASYNC");
	if (syscall(SYS_setresuid, -1, 65534, -1))
		exit(1);
	did("open", syscall(SYS_openat, AT_FDCWD, "secret", O_RDONLY, 0), NONE, "filename=%s/secret\tuid=0", W);
	did("unlink", syscall(SYS_unlinkat, AT_FDCWD, "secret", 0), NONE, "filename=%s/secret", W);
	syscall(SYS_setresuid, -1, 0, -1);
}

static void direct(void)
{
	int fd = syscall(SYS_openat, AT_FDCWD, "d/direct", O_RDWR | O_CREAT | O_DIRECT, 0600);
	char path[4200];

	did("open", fd, fd < 0 ? NONE : DIO, "filename=%s/d/direct\tflags=O_RDWR|O_CREAT|O_DIRECT", W);
	if (fd < 0)
		return;
	sprintf(path, "%s/d/direct", W);
	learn(fd, DIO, path);
	did("dio_write", syscall(SYS_pwrite64, fd, buf, 8192, 4096L), DIO, "filename=%s\tsize=8192\toffset=4096\tbytes_completed=8192\tflags=O_RDWR|O_DIRECT|O_LARGEFILE", path);
	did("dio_read", syscall(SYS_pread64, fd, buf, 4096, 0L), DIO, "filename=%s\tsize=4096\toffset=0\tbytes_completed=4096", path);
	/* Where it must be aligned, EINVAL. */
	long r = syscall(SYS_pread64, fd, buf + 1, 4096L, 1L);
	did("dio_read", r, DIO, "filename=%s\toffset=1\tbytes_completed=%ld", path, r > 0 ? r : 0);
}

/* The same file by way of another mount; and one that is copied when it is written to. */
static void mounted(const char *real, const char *bind, const char *overlay)
{
	char path[4200];
	int fd;

	if (strcmp(bind, "-")) {
		sprintf(path, "%s/same", real);
		fd = did("open", syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0), SAME, "filename=%s", path);
		learn(fd, SAME, path);
		sprintf(path, "%s/same", bind);
		fd = did("open", syscall(SYS_openat, AT_FDCWD, path, O_RDWR, 0), SAME, "filename=%s", path);
		did("read", syscall(SYS_read, fd, buf, 4), SAME, "filename=%s\toffset=0\tbytes_completed=4", path);
		did("setattr", syscall(SYS_fchmodat, AT_FDCWD, path, 0640), SAME, "filename=%s", path);
	}
	if (strcmp(overlay, "-")) {
		sprintf(path, "%s/low", overlay);
		fd = did("open", syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0), LOW, "filename=%s\tfs_type=overlay", path);
		learn(fd, LOW, path);
		did("read", syscall(SYS_read, fd, buf, 100), LOW, "filename=%s\tbytes_completed=4", path);
		fd = did("open", syscall(SYS_openat, AT_FDCWD, path, O_RDWR, 0), LOW, "filename=%s", path);
		did("write", syscall(SYS_write, fd, buf, 3), LOW, "filename=%s\toffset=0\tbytes_completed=3", path);
	}
}

/* Calls that only old machines have. */
static void old(void)
{
#ifdef SYS_open
	did("open", syscall(SYS_creat, "d/old", 0600), OLD, "filename=%s/d/old\tflags=O_WRONLY|O_CREAT|O_TRUNC\tcall=creat", W);
	did("getattr", syscall(SYS_stat, "d/old", &slot[OLD]), OLD, "filename=%s/d/old\tcall=stat", W);
	did("open", syscall(SYS_open, "d/old", O_RDONLY | O_SYNC), OLD, "filename=%s/d/old\tflags=O_RDONLY|O_SYNC\tcall=open", W);
	did("getattr", syscall(SYS_lstat, "d/old", buf), OLD, "filename=%s/d/old\tcall=lstat", W);
	did("access", syscall(SYS_access, "d/old", X_OK), NONE, "filename=%s/d/old\tflags=X_OK", W);
	did("setattr", syscall(SYS_chmod, "d/old", 0700), OLD, "filename=%s/d/old\tflags=S_IRUSR|S_IWUSR|S_IXUSR", W);
	did("rename", syscall(SYS_rename, "d/old", "d/older"), OLD, "filename=%s/d/old -> %s/d/older\tflags=", W, W);
	did("link", syscall(SYS_link, "d/older", "d/oldest"), OLD, "filename=%s/d/older -> %s/d/oldest", W, W);
	did("unlink", syscall(SYS_unlink, "d/older"), OLD, "filename=%s/d/older", W);
	did("mkdir", syscall(SYS_mkdir, "d/dir", 0), ANY, "filename=%s/d/dir\tflags=0", W);
	did("rmdir", syscall(SYS_rmdir, "d/dir"), ANY, "filename=%s/d/dir\tcall=rmdir", W);
#endif
	did("memfd_create", syscall(SYS_memfd_create, "mine", 1), ANY, "filename=/memfd:mine (deleted)\tflags=MFD_CLOEXEC");
	did("sync", syscall(SYS_sync), NONE, "filename=\tflags=\tsize=");
}

/* What a path means to a process that has a root of its own. */
static void rooted(void)
{
	did("chroot", syscall(SYS_chroot, "d"), D, "filename=%s/d", W);
	did("open", syscall(SYS_openat, AT_FDCWD, "/g", O_RDONLY, 0), G, "filename=%s/d/g", W);
	did("access", syscall(SYS_faccessat, AT_FDCWD, "/g", R_OK), G, "filename=%s/d/g", W);
	did("access", syscall(SYS_faccessat, AT_FDCWD, "/nosuch", R_OK), NONE, "filename=%s/d/nosuch", W);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	W = argv[1];
	syscall(SYS_faccessat, AT_FDCWD, "/iops-begin", 0);
	did("mkdir", syscall(SYS_mkdirat, AT_FDCWD, "d", 0755), D, "filename=%s/d", W);
	int fd = data();
	memory(fd);
	two(fd);
	names(fd);
	failing();
	direct();
	old();
	mounted(argv[2], argv[3], argv[4]);
	rooted();
	syscall(SYS_faccessat, AT_FDCWD, "/iops-end", 0);
	print();
	return 0;
}
