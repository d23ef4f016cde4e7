/*
 * fs_calls.c - the calls that are rows of fs, and where their arguments are
 *
 * One row adds a call: what the kernel side has to read, and what each column shows, are
 * taken from here. Numbers are those of syscalls[], where it has the call.
 */
#include "fs.h"

#include <fcntl.h>
#include <string.h>

#define C(name, word, ...)                                                               \
	{                                                                                \
		.call = #name, .op = word, __VA_ARGS__                                   \
	}
#define FLAGS(at, which) .flags = (at), .words = WORDS_##which
#define OF_FILE          .words = WORDS_FILE
#define DATA             .data = true, OF_FILE, .moves = true
#define BYTES            .data = true
#define OUT(at, how)     .out = (at), .out_how = FS_OUT_##how
#define LINK             .link = true

/* clang-format off */
const struct fs_call fs_calls[] = {
	C(read, "read", .fd = 1, .size = 3, DATA),
	C(write, "write", .fd = 1, .size = 3, DATA),
	C(pread64, "read", .fd = 1, .size = 3, .offset = 4, DATA),
	C(pwrite64, "write", .fd = 1, .size = 3, .offset = 4, DATA),
	C(readv, "read", .fd = 1, .vec = 2, DATA),
	C(writev, "write", .fd = 1, .vec = 2, DATA),
	C(preadv, "read", .fd = 1, .vec = 2, .offset = 4, DATA),
	C(pwritev, "write", .fd = 1, .vec = 2, .offset = 4, DATA),
	C(preadv2, "read", .fd = 1, .vec = 2, .offset = 4, DATA, .more = 6, .bits = WORDS_RW),
	C(pwritev2, "write", .fd = 1, .vec = 2, .offset = 4, DATA, .more = 6, .bits = WORDS_RW),
	C(sendfile, "sendfile", .fd = 2, .at = 3, .fd2 = 1, .size = 4, DATA),
	C(copy_file_range, "copy_file_range", .fd = 1, .at = 2, .fd2 = 3, .at2 = 4, .size = 5, DATA),
	C(splice, "splice", .fd = 1, .at = 2, .fd2 = 3, .at2 = 4, .size = 5, BYTES,
		FLAGS(6, SPLICE), .moves = true),
	C(tee, "tee", .fd = 1, .fd2 = 2, .size = 3, BYTES, FLAGS(4, SPLICE)),
	C(vmsplice, "vmsplice", .fd = 1, .vec = 2, BYTES, FLAGS(4, SPLICE)),
	C(fsync, "fsync", .fd = 1, OF_FILE),
	C(fdatasync, "fdatasync", .fd = 1, OF_FILE),
	C(sync_file_range, "sync_file_range", .fd = 1, .offset = 2, .size = 3, FLAGS(4, RANGE)),
	C(syncfs, "syncfs", .fd = 1, OF_FILE),
	C(sync, "sync"),
	C(open, "open", .form = FS_OPEN, .path = 1, FLAGS(2, OPEN)),
	C(openat, "open", .form = FS_OPEN, .fd = 1, .path = 2, FLAGS(3, OPEN)),
	C(openat2, "open", .form = FS_OPEN, .fd = 1, .path = 2, .at = 3, .words = WORDS_OPEN),
	C(creat, "open", .form = FS_OPEN, .path = 1, .fixed = O_WRONLY | O_CREAT | O_TRUNC,
		.words = WORDS_OPEN),
	C(open_by_handle_at, "open", .form = FS_OPEN, FLAGS(3, OPEN)),
	C(memfd_create, "memfd_create", .form = FS_OPEN, FLAGS(2, MEMFD)),
	C(dup, "dup", .fd = 1),
	C(dup2, "dup", .fd = 1),
	C(dup3, "dup", .fd = 1, FLAGS(3, OPEN)),
	C(fcntl, "fcntl", .fd = 1, FLAGS(2, FCNTL)),
	C(close, "close", .form = FS_EARLY, .fd = 1, OF_FILE),
	C(close_range, "close_range", FLAGS(3, CLOSE)),
	C(stat, "getattr", .path = 1, OUT(2, STAT)),
	C(lstat, "getattr", .path = 1, OUT(2, STAT), LINK),
	C(fstat, "getattr", .fd = 1, OUT(2, STAT)),
	C(newfstatat, "getattr", .fd = 1, .path = 2, OUT(3, STAT), FLAGS(4, AT)),
	C(statx, "getattr", .fd = 1, .path = 2, OUT(5, STATX), FLAGS(3, AT)),
	C(access, "access", .path = 1, FLAGS(2, ACCESS)),
	C(faccessat, "access", .fd = 1, .path = 2, FLAGS(3, ACCESS)),
	C(faccessat2, "access", .fd = 1, .path = 2, FLAGS(3, ACCESS), .more = 4, .bits = WORDS_AT),
	C(readlink, "readlink", .path = 1, .size = 3, BYTES, LINK),
	C(readlinkat, "readlink", .fd = 1, .path = 2, .size = 4, BYTES, LINK),
	C(rename, "rename", .path = 1, .path2 = 2, LINK),
	C(renameat, "rename", .fd = 1, .path = 2, .fd2 = 3, .path2 = 4, LINK),
	C(renameat2, "rename", .fd = 1, .path = 2, .fd2 = 3, .path2 = 4, FLAGS(5, RENAME), LINK),
	C(link, "link", .path = 1, .path2 = 2, LINK),
	C(linkat, "link", .fd = 1, .path = 2, .fd2 = 3, .path2 = 4, FLAGS(5, AT), LINK),
	C(symlink, "symlink", .form = FS_SYMLINK, .path = 1, .path2 = 2, .makes = true, LINK),
	C(symlinkat, "symlink", .form = FS_SYMLINK, .path = 1, .fd2 = 2, .path2 = 3, .makes = true, LINK),
	C(unlink, "unlink", .path = 1, .gone = true, LINK),
	C(unlinkat, "unlink", .other = "rmdir", .when = AT_REMOVEDIR, .fd = 1, .path = 2,
		.flags = 3, .gone = true, LINK),
	C(rmdir, "rmdir", .path = 1, .gone = true, LINK),
	C(mkdir, "mkdir", .path = 1, FLAGS(2, MODE), .makes = true),
	C(mkdirat, "mkdir", .fd = 1, .path = 2, FLAGS(3, MODE), .makes = true),
	C(mknod, "mknod", .path = 1, FLAGS(2, MODE), LINK, .makes = true),
	C(mknodat, "mknod", .fd = 1, .path = 2, FLAGS(3, MODE), LINK, .makes = true),
	C(chmod, "setattr", .path = 1, FLAGS(2, MODE)),
	C(fchmod, "setattr", .fd = 1, FLAGS(2, MODE)),
	C(fchmodat, "setattr", .fd = 1, .path = 2, FLAGS(3, MODE)),
	C(fchmodat2, "setattr", .fd = 1, .path = 2, FLAGS(3, MODE), .more = 4, .bits = WORDS_AT),
	C(chown, "setattr", .path = 1),
	C(lchown, "setattr", .path = 1, LINK),
	C(fchown, "setattr", .fd = 1),
	C(fchownat, "setattr", .fd = 1, .path = 2, FLAGS(5, AT)),
	C(utime, "setattr", .path = 1),
	C(utimes, "setattr", .path = 1),
	C(futimesat, "setattr", .fd = 1, .path = 2),
	C(utimensat, "setattr", .fd = 1, .path = 2, FLAGS(4, AT)),
	C(truncate, "truncate", .path = 1, .size = 2),
	C(ftruncate, "truncate", .fd = 1, .size = 2),
	C(statfs, "statfs", .path = 1),
	C(fstatfs, "statfs", .fd = 1),
	C(setxattr, "setxattr", .path = 1, .size = 4, FLAGS(5, XATTR)),
	C(lsetxattr, "setxattr", .path = 1, .size = 4, FLAGS(5, XATTR), LINK),
	C(fsetxattr, "setxattr", .fd = 1, .size = 4, FLAGS(5, XATTR)),
	C(getxattr, "getxattr", .path = 1, .size = 4, BYTES),
	C(lgetxattr, "getxattr", .path = 1, .size = 4, BYTES, LINK),
	C(fgetxattr, "getxattr", .fd = 1, .size = 4, BYTES),
	C(listxattr, "listxattr", .path = 1, .size = 3, BYTES),
	C(llistxattr, "listxattr", .path = 1, .size = 3, BYTES, LINK),
	C(flistxattr, "listxattr", .fd = 1, .size = 3, BYTES),
	C(removexattr, "removexattr", .path = 1),
	C(lremovexattr, "removexattr", .path = 1, LINK),
	C(fremovexattr, "removexattr", .fd = 1),
	C(name_to_handle_at, "name_to_handle", .fd = 1, .path = 2, FLAGS(5, AT)),
	C(lseek, "lseek", .fd = 1, .offset = 2, FLAGS(3, SEEK)),
	C(fallocate, "fallocate", .fd = 1, FLAGS(2, FALLOCATE), .offset = 3, .size = 4),
	C(getdents, "readdir", .fd = 1, .size = 3, BYTES, OF_FILE),
	C(getdents64, "readdir", .fd = 1, .size = 3, BYTES, OF_FILE),
	C(fadvise64, "fadvise", .fd = 1, .offset = 2, .size = 3, FLAGS(4, ADVICE)),
	C(readahead, "readahead", .fd = 1, .offset = 2, .size = 3),
	C(flock, "flock", .fd = 1, FLAGS(2, FLOCK)),
	C(chdir, "chdir", .form = FS_CWD, .path = 1),
	C(fchdir, "chdir", .fd = 1),
	C(chroot, "chroot", .form = FS_ROOT, .path = 1),
	C(mmap, "mmap", .form = FS_MMAP, .fd = 5, .size = 2, .offset = 6, .nr = { 9, 192, 222 }),
	C(munmap, "munmap", .form = FS_MAPPED, .size = 2, .nr = { 11, 91, 215 }),
	C(mremap, "mremap", .form = FS_MAPPED, .size = 3, FLAGS(4, MREMAP), .nr = { 25, 163, 216 }),
	C(madvise, "madvise", .form = FS_MAPPED, .offset = 1, .size = 2, FLAGS(3, MADVISE),
		.nr = { 28, 219, 233 }),
	C(msync, "msync", .form = FS_MSYNC, .offset = 1, .size = 2, FLAGS(3, MSYNC)),
	C(execve, "process_exec", .form = FS_EXEC, .path = 1),
	C(execveat, "process_exec", .form = FS_EXEC, .fd = 1, .path = 2, FLAGS(5, AT)),
	{ .call = NULL },
};
/* clang-format on */

/*
 * What 32-bit programs spread over several registers, which are numbered differently
 * then. a: an argument; L, H: a number in two, the low or the high half first; P: a
 * number of pages; -: none of ours; 0: one that is not there.
 */
static const struct {
	int16_t nr;
	const char *how;
} wide[] = {
	{ 180, "aaaL" },                    /* pread64 */
	{ 181, "aaaL" }, { 333, "aaaL" },   /* preadv */
	{ 334, "aaaL" }, { 378, "aaaL0a" }, /* preadv2 */
	{ 379, "aaaL0a" }, { 193, "aL" },   /* truncate64 */
	{ 194, "aL" }, { 324, "aaLL" },     /* fallocate */
	{ 250, "aLaa" },                    /* fadvise64 */
	{ 272, "aLLa" },                    /* fadvise64_64 */
	{ 225, "aLa" },                     /* readahead */
	{ 314, "aLLa" },                    /* sync_file_range */
	{ 140, "aH-a" },                    /* _llseek */
	{ 192, "aaaaaP" },                  /* mmap2 */
};

void fs_args_widen(const struct rec_fs *r, uint64_t arg[6])
{
	const char *how = "aaaaaa";
	unsigned from = 0, to = 0;

	for (size_t i = 0; r->head.abi && i < sizeof(wide) / sizeof(*wide); i++)
		if (wide[i].nr == r->nr)
			how = wide[i].how;
	memset(arg, 0, 6 * sizeof(*arg));
	for (; *how && from < 6 && to < 6; how++) {
		if (*how == '0') {
			to++;
			continue;
		}
		uint64_t a = r->arg[from++], b = from < 6 ? r->arg[from] : 0;
		switch (*how) {
		case 'a':
			arg[to++] = a;
			break;
		case 'P':
			arg[to++] = a << 12;
			break;
		case 'L':
			arg[to++] = a | b << 32;
			from++;
			break;
		case 'H':
			arg[to++] = a << 32 | b;
			from++;
			break;
		}
	}
}

unsigned fs_call_rows(void)
{
	return sizeof(fs_calls) / sizeof(*fs_calls) - 1;
}

static bool has_stat64(int nr)
{
	return (nr >= 195 && nr <= 197) || nr == 300;
}

static void shape(struct fs_shape *s, int row, enum abi abi, int nr)
{
	const struct fs_call *c = &fs_calls[row];

	*s = (struct fs_shape){
		.on = 1,
		.form = c->form,
		.fd = c->fd,
		.path = c->path,
		.fd2 = c->fd2,
		.path2 = c->path2,
		.at = c->at,
		.at2 = c->at2,
		.vec = c->vec,
		.out = c->out,
		.out_how = c->out_how,
		.narrow = abi == ABI_I386 && nr == 187, /* sendfile(2), the old one */
		.row = row,
	};
	/* Of the several kinds of struct stat that 32-bit programs use, the newest. */
	if (abi == ABI_I386 && s->out_how == FS_OUT_STAT) {
		s->out = has_stat64(nr) ? s->out : 0;
		s->out_how = FS_OUT_STAT64;
	}
}

void fs_shapes_fill(
	struct fs_shape table[SHAPES_ABIS][SHAPES_MAX], const struct syscall_set *only)
{
	int16_t index[NR_MAX];

	for (unsigned a = 0; a < SHAPES_ABIS; a++) {
		enum abi abi = ebpf_abi(a);
		syscall_index(abi, index);
		for (unsigned row = 0; row < fs_call_rows(); row++) {
			const struct fs_call *c = &fs_calls[row];
			int known = syscall_by_name(c->call);
			if (only && c->form != FS_EXEC &&
				(known < 0 || !syscall_wanted(only, known)))
				continue;
			if (known < 0 && c->nr[abi] > 0)
				shape(&table[a][c->nr[abi]], row, abi, c->nr[abi]);
			for (int nr = 0; nr < NR_MAX && nr < SHAPES_MAX; nr++)
				if (known >= 0 && index[nr] == known)
					shape(&table[a][nr], row, abi, nr);
		}
	}
}
