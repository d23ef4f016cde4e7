/*
 * fs_words.c - the words of flags and modes, as programs write them
 */
#include "fs.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What the C library hides, or headers of some age do not have yet. */
enum {
#ifdef __aarch64__
	O_LARGE = 0400000,
#else
	O_LARGE = 0100000,
#endif
};

struct word {
	uint64_t value;
	const char *text;
};

#define W(name)                                                                          \
	{                                                                                \
		name, #name                                                              \
	}
#define N(value, name)                                                                   \
	{                                                                                \
		value, #name                                                             \
	}

/* clang-format off */
static const struct word open_words[] = {
	W(O_RDONLY), W(O_WRONLY), W(O_RDWR), W(O_ACCMODE), W(O_CREAT), W(O_EXCL), W(O_NOCTTY),
	W(O_TRUNC), W(O_APPEND), W(O_NONBLOCK), W(O_SYNC), W(O_DSYNC), W(O_ASYNC), W(O_DIRECT),
	N(O_LARGE, O_LARGEFILE), W(O_TMPFILE), W(O_DIRECTORY), W(O_NOFOLLOW), W(O_NOATIME),
	W(O_CLOEXEC), W(O_PATH), { 0, NULL },
};
static const struct word mode_words[] = {
	W(S_IFDIR), W(S_IFREG), W(S_IFLNK), W(S_IFCHR), W(S_IFBLK), W(S_IFIFO), W(S_IFSOCK),
	W(S_ISUID), W(S_ISGID), W(S_ISVTX), W(S_IRUSR), W(S_IWUSR), W(S_IXUSR), W(S_IRGRP),
	W(S_IWGRP), W(S_IXGRP), W(S_IROTH), W(S_IWOTH), W(S_IXOTH), { 0, NULL },
};
static const struct word access_words[] = { W(R_OK), W(W_OK), W(X_OK), { 0, NULL } };
static const struct word at_words[] = {
	N(0x100, AT_SYMLINK_NOFOLLOW), N(0x200, AT_EACCESS), N(0x400, AT_SYMLINK_FOLLOW),
	N(0x800, AT_NO_AUTOMOUNT), N(0x1000, AT_EMPTY_PATH), N(0x2000, AT_STATX_FORCE_SYNC),
	N(0x4000, AT_STATX_DONT_SYNC), N(0x8000, AT_RECURSIVE), { 0, NULL },
};
static const struct word prot_words[] = {
	W(PROT_READ), W(PROT_WRITE), W(PROT_EXEC), N(0x8, PROT_SEM),
	N(0x01000000, PROT_GROWSDOWN), N(0x02000000, PROT_GROWSUP), { 0, NULL },
};
static const struct word map_words[] = {
	N(3, MAP_SHARED_VALIDATE), W(MAP_SHARED), W(MAP_PRIVATE), W(MAP_FIXED), W(MAP_ANONYMOUS),
#ifdef MAP_32BIT
	W(MAP_32BIT),
#endif
	W(MAP_GROWSDOWN), W(MAP_DENYWRITE), W(MAP_EXECUTABLE), W(MAP_LOCKED), W(MAP_NORESERVE),
	W(MAP_POPULATE), W(MAP_NONBLOCK), W(MAP_STACK), W(MAP_HUGETLB), N(0x80000, MAP_SYNC),
	N(0x100000, MAP_FIXED_NOREPLACE), { 0, NULL },
};
static const struct word mremap_words[] = {
	W(MREMAP_MAYMOVE), W(MREMAP_FIXED), N(4, MREMAP_DONTUNMAP), { 0, NULL },
};
static const struct word msync_words[] = {
	W(MS_ASYNC), W(MS_INVALIDATE), W(MS_SYNC), { 0, NULL },
};
static const struct word madvise_words[] = {
	N(0, MADV_NORMAL), N(1, MADV_RANDOM), N(2, MADV_SEQUENTIAL), N(3, MADV_WILLNEED),
	N(4, MADV_DONTNEED), N(8, MADV_FREE), N(9, MADV_REMOVE), N(10, MADV_DONTFORK),
	N(11, MADV_DOFORK), N(12, MADV_MERGEABLE), N(13, MADV_UNMERGEABLE), N(14, MADV_HUGEPAGE),
	N(15, MADV_NOHUGEPAGE), N(16, MADV_DONTDUMP), N(17, MADV_DODUMP), N(18, MADV_WIPEONFORK),
	N(19, MADV_KEEPONFORK), N(20, MADV_COLD), N(21, MADV_PAGEOUT), N(22, MADV_POPULATE_READ),
	N(23, MADV_POPULATE_WRITE), N(24, MADV_DONTNEED_LOCKED), N(25, MADV_COLLAPSE),
	N(100, MADV_HWPOISON), N(101, MADV_SOFT_OFFLINE), N(102, MADV_GUARD_INSTALL),
	N(103, MADV_GUARD_REMOVE), { 0, NULL },
};
static const struct word memfd_words[] = {
	N(1, MFD_CLOEXEC), N(2, MFD_ALLOW_SEALING), N(4, MFD_HUGETLB), N(8, MFD_NOEXEC_SEAL),
	N(16, MFD_EXEC), { 0, NULL },
};
static const struct word fallocate_words[] = {
	W(FALLOC_FL_KEEP_SIZE), W(FALLOC_FL_PUNCH_HOLE), N(4, FALLOC_FL_NO_HIDE_STALE),
	W(FALLOC_FL_COLLAPSE_RANGE), W(FALLOC_FL_ZERO_RANGE), W(FALLOC_FL_INSERT_RANGE),
	W(FALLOC_FL_UNSHARE_RANGE), N(0x80, FALLOC_FL_WRITE_ZEROES), { 0, NULL },
};
static const struct word splice_words[] = {
	W(SPLICE_F_MOVE), W(SPLICE_F_NONBLOCK), W(SPLICE_F_MORE), W(SPLICE_F_GIFT), { 0, NULL },
};
static const struct word range_words[] = {
	W(SYNC_FILE_RANGE_WAIT_BEFORE), W(SYNC_FILE_RANGE_WRITE), W(SYNC_FILE_RANGE_WAIT_AFTER),
	{ 0, NULL },
};
static const struct word close_words[] = {
	N(2, CLOSE_RANGE_UNSHARE), N(4, CLOSE_RANGE_CLOEXEC), { 0, NULL },
};
static const struct word rename_words[] = {
	N(1, RENAME_NOREPLACE), N(2, RENAME_EXCHANGE), N(4, RENAME_WHITEOUT), { 0, NULL },
};
static const struct word xattr_words[] = { W(XATTR_CREATE), W(XATTR_REPLACE), { 0, NULL } };
static const struct word seek_words[] = {
	W(SEEK_SET), W(SEEK_CUR), W(SEEK_END), W(SEEK_DATA), W(SEEK_HOLE), { 0, NULL },
};
static const struct word advice_words[] = {
	W(POSIX_FADV_NORMAL), W(POSIX_FADV_RANDOM), W(POSIX_FADV_SEQUENTIAL),
	W(POSIX_FADV_WILLNEED), W(POSIX_FADV_DONTNEED), W(POSIX_FADV_NOREUSE), { 0, NULL },
};
static const struct word flock_words[] = {
	W(LOCK_SH), W(LOCK_EX), W(LOCK_UN), W(LOCK_NB), { 0, NULL },
};
static const struct word fcntl_words[] = {
	N(0, F_DUPFD), N(1, F_GETFD), N(2, F_SETFD), N(3, F_GETFL), N(4, F_SETFL), N(5, F_GETLK),
	N(6, F_SETLK), N(7, F_SETLKW), N(8, F_SETOWN), N(9, F_GETOWN), N(10, F_SETSIG),
	N(11, F_GETSIG), N(12, F_GETLK64), N(13, F_SETLK64), N(14, F_SETLKW64),
	N(15, F_SETOWN_EX), N(16, F_GETOWN_EX), N(36, F_OFD_GETLK), N(37, F_OFD_SETLK),
	N(38, F_OFD_SETLKW), N(1024, F_SETLEASE), N(1025, F_GETLEASE), N(1026, F_NOTIFY),
	N(1027, F_DUPFD_QUERY), N(1028, F_CREATED_QUERY), N(1029, F_CANCELLK),
	N(1030, F_DUPFD_CLOEXEC), N(1031, F_SETPIPE_SZ), N(1032, F_GETPIPE_SZ),
	N(1033, F_ADD_SEALS), N(1034, F_GET_SEALS), N(1035, F_GET_RW_HINT),
	N(1036, F_SET_RW_HINT), N(1037, F_GET_FILE_RW_HINT), N(1038, F_SET_FILE_RW_HINT),
	{ 0, NULL },
};
static const struct word rw_words[] = {
	N(1, RWF_HIPRI), N(2, RWF_DSYNC), N(4, RWF_SYNC), N(8, RWF_NOWAIT), N(0x10, RWF_APPEND),
	N(0x20, RWF_NOAPPEND), N(0x40, RWF_ATOMIC), N(0x80, RWF_DONTCACHE),
	N(0x100, RWF_NOSIGNAL), { 0, NULL },
};
static const struct word sqe_words[] = {
	N(1, FIXED_FILE), N(2, IO_DRAIN), N(4, IO_LINK), N(8, IO_HARDLINK), N(0x10, ASYNC),
	N(0x20, BUFFER_SELECT), N(0x40, CQE_SKIP_SUCCESS), { 0, NULL },
};
/* clang-format on */

/* value: bits that are a number among the words, not words each. */
static const struct {
	const struct word *word;
	uint64_t value;
	const char *none; /* where no bit is set */
} vocabulary[NWORDS] = {
	[WORDS_OPEN] = { open_words, O_ACCMODE, "O_RDONLY" },
	[WORDS_FILE] = { open_words, O_ACCMODE, "O_RDONLY" },
	[WORDS_MODE] = { mode_words, S_IFMT, "0" },
	[WORDS_ACCESS] = { access_words, 0, "F_OK" },
	[WORDS_AT] = { at_words, 0, "NO_FLAGS" },
	[WORDS_PROT] = { prot_words, 0, "PROT_NONE" },
	[WORDS_MAP] = { map_words, 3, "NO_MAP" },
	[WORDS_MREMAP] = { mremap_words, 0, "NO_FLAGS" },
	[WORDS_MSYNC] = { msync_words, 0, "NO_FLAGS" },
	[WORDS_MADVISE] = { madvise_words, ~0ull, "MADV_NORMAL" },
	[WORDS_MEMFD] = { memfd_words, 0, "NO_FLAGS" },
	[WORDS_FALLOCATE] = { fallocate_words, 0, "NO_FLAGS" },
	[WORDS_SPLICE] = { splice_words, 0, "NO_FLAGS" },
	[WORDS_RANGE] = { range_words, 0, "NO_FLAGS" },
	[WORDS_CLOSE] = { close_words, 0, "NO_FLAGS" },
	[WORDS_RENAME] = { rename_words, 0, "NO_FLAGS" },
	[WORDS_XATTR] = { xattr_words, 0, "NO_FLAGS" },
	[WORDS_SEEK] = { seek_words, ~0ull, "SEEK_SET" },
	[WORDS_ADVICE] = { advice_words, ~0ull, "POSIX_FADV_NORMAL" },
	[WORDS_FLOCK] = { flock_words, 0, "NO_FLAGS" },
	[WORDS_FCNTL] = { fcntl_words, ~0ull, "F_DUPFD" },
	[WORDS_RW] = { rw_words, 0, "NO_FLAGS" },
	[WORDS_SQE] = { sqe_words, 0, "NO_FLAGS" },
};

const char *fs_words(enum fs_vocabulary which, uint64_t value, char out[WORDS_MAX])
{
	uint64_t number = vocabulary[which].value, left = value;
	size_t at = 0;

	if (!value)
		return vocabulary[which].none;
	for (const struct word *w = vocabulary[which].word; w->text; w++) {
		bool is_number = number && !(w->value & ~number);
		if (is_number ? (value & number) != w->value ||
					!(left & number || !w->value)
			      : !w->value || (left & w->value) != w->value)
			continue;
		left &= ~w->value;
		at += snprintf(out + at, WORDS_MAX - at, "%s%s", at ? "|" : "", w->text);
	}
	if (left)
		snprintf(out + at, WORDS_MAX - at, "%s%#llx", at ? "|" : "",
			(unsigned long long)left);
	return out;
}
