/*
 * darwin.c - error numbers of Darwin (sys/errno.h of xnu), by name, as Linux has them
 */
#include "fs_usage.h"

#include <errno.h>

/* The first 34 are the same everywhere, but for 11. */
static const short linux_errno[] = {
	[11] = EDEADLK,
	[35] = EAGAIN,
	[36] = EINPROGRESS,
	[37] = EALREADY,
	[38] = ENOTSOCK,
	[39] = EDESTADDRREQ,
	[40] = EMSGSIZE,
	[41] = EPROTOTYPE,
	[42] = ENOPROTOOPT,
	[43] = EPROTONOSUPPORT,
	[44] = ESOCKTNOSUPPORT,
	[45] = EOPNOTSUPP, /* ENOTSUP */
	[46] = EPFNOSUPPORT,
	[47] = EAFNOSUPPORT,
	[48] = EADDRINUSE,
	[49] = EADDRNOTAVAIL,
	[50] = ENETDOWN,
	[51] = ENETUNREACH,
	[52] = ENETRESET,
	[53] = ECONNABORTED,
	[54] = ECONNRESET,
	[55] = ENOBUFS,
	[56] = EISCONN,
	[57] = ENOTCONN,
	[58] = ESHUTDOWN,
	[59] = ETOOMANYREFS,
	[60] = ETIMEDOUT,
	[61] = ECONNREFUSED,
	[62] = ELOOP,
	[63] = ENAMETOOLONG,
	[64] = EHOSTDOWN,
	[65] = EHOSTUNREACH,
	[66] = ENOTEMPTY,
	[67] = EAGAIN, /* EPROCLIM */
	[68] = EUSERS,
	[69] = EDQUOT,
	[70] = ESTALE,
	[71] = EREMOTE,
	[77] = ENOLCK,
	[78] = ENOSYS,
	[80] = EACCES, /* EAUTH */
	[81] = EACCES, /* ENEEDAUTH */
	[84] = EOVERFLOW,
	[85] = ENOEXEC, /* EBADEXEC */
	[86] = ENOEXEC, /* EBADARCH */
	[87] = ENOEXEC, /* ESHLIBVERS */
	[88] = ENOEXEC, /* EBADMACHO */
	[89] = ECANCELED,
	[90] = EIDRM,
	[91] = ENOMSG,
	[92] = EILSEQ,
	[93] = ENODATA, /* ENOATTR */
	[94] = EBADMSG,
	[95] = EMULTIHOP,
	[96] = ENODATA,
	[97] = ENOLINK,
	[98] = ENOSR,
	[99] = ENOSTR,
	[100] = EPROTO,
	[101] = ETIME,
	[102] = EOPNOTSUPP,
	[104] = ENOTRECOVERABLE,
	[105] = EOWNERDEAD,
};

enum { SAME = 34, RESTART = -1, LINUX_RESTART = 512 };

int darwin_errno(int err)
{
	if (err == RESTART)
		return LINUX_RESTART; /* made again, never seen by the program */
	if (err < 0 || err >= (int)(sizeof(linux_errno) / sizeof(*linux_errno)))
		return EIO;
	if (linux_errno[err])
		return linux_errno[err];
	return err && err <= SAME ? err : EIO;
}
