/*
 * fs.h - the pass-through file system: what its files share
 *
 * Worker threads take requests from the kernel, do them in the source folder and leave a
 * record of each in a ring of their own. The session's thread turns records into
 * operations. What all threads see is struct fs; its tree of inodes has one lock.
 */
#ifndef IOPS_FUSE_FS_H
#define IOPS_FUSE_FS_H

#include "iops/map.h"
#include "wire.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

struct names;
struct worker;

enum {
	MAX_WORKERS = 64,
	LEAST_WORKERS = 3,  /* that take requests */
	RING_SIZE = 4096,   /* records; a power of two */
	DATA_MAX = 1 << 20, /* bytes of one read or write */
	NO_REPLY = 1 << 30, /* of a handler: the kernel expects no answer, or has it */
};

/* A file of the source that the kernel knows. Its address is the kernel's number of it.
 */
struct inode {
	dev_t dev;
	ino_t ino;
	int fd;                     /* O_PATH; -1: too many are open ... */
	struct file_handle *handle; /* ... open_by_handle_at(2) */
	uint8_t type;               /* enum file_type */
	uint64_t nlookup, generation;
	unsigned refs;        /* one for nlookup, of children's names, of handles */
	struct dent *dent;    /* the name that it was last looked up by */
	struct dent *names;   /* all of them */
	struct owner *owners; /* of POSIX locks */
};

/* A name of an inode. What is open keeps the one that it was opened by. */
struct dent {
	struct dent *next;    /* in its bucket */
	struct dent *peer;    /* another name of the inode */
	struct inode *parent; /* held */
	struct inode *inode;  /* NULL: it has gone */
	unsigned refs;
	bool gone;                 /* the name was removed */
	_Atomic uint32_t path;     /* id in fs->paths ... */
	_Atomic uint64_t path_gen; /* ... which was right at this generation */
	char *name;
};

/* What was opened. Its address is the kernel's number of it. */
struct handle {
	int fd;
	struct inode *inode; /* held */
	struct dent *dent;   /* held; NULL: of the root */
	int32_t pid;         /* who opened it: for requests that are nobody's */
	uint32_t uid;
	char comm[16];
	pthread_mutex_t lock; /* of a directory's entries that wait */
	char *entries;
	size_t at, len;
	int64_t next_off;
	bool flocked;
};

/* One finished request. */
struct record {
	uint64_t start_ns, dur_ns, want;
	int64_t ret, offset;
	uint32_t path, path2; /* ids in fs->paths; path2: of the second side, or 0 */
	int32_t pid, tid;
	uint32_t uid;
	const char *call;    /* its name, static */
	uint8_t kind;        /* enum op_kind */
	uint8_t type, type2; /* enum file_type */
	bool second;         /* it has a second side */
	char *text;          /* keys and values of a FUSE trace, on the heap; or NULL */
	char comm[16];
};

/* Of one worker to the session's thread. */
struct ring {
	_Atomic uint32_t head, tail; /* read from head, written at tail */
	_Atomic uint64_t lost;
	struct record record[RING_SIZE];
};

/* Who asks, as /proc tells it. */
struct caller {
	int32_t tid, pid;
	uint32_t uid, gid;
	uint64_t read_ns;   /* when; 0: empty */
	uint64_t caps;      /* those of file systems that it has in force ... */
	uint64_t permitted; /* ... or may put in force */
	unsigned ngroups;
	gid_t *groups;
	char comm[16];
};

/* A thread's files in /proc. */
struct look {
	int32_t tid; /* 0: none */
	int status, comm, ns;
};

enum { CALLERS = 64, LOOKS = 4 };

struct worker {
	struct fs *fs;
	pthread_t thread;
	int fd; /* of the device */
	size_t in_size;
	bool running;
	unsigned slack;           /* requests in a row that were not */
	unsigned streak;          /* requests that were there at once */
	_Atomic uint64_t busy_ns; /* at a request since; 0: at none */
	_Atomic bool served;
	char *in, *out; /* see serve.c */
	int pipe[2];    /* see splice.c; -1: there is none */
	size_t slots;   /* how many pages it holds */
	struct ring ring;
	struct caller callers[CALLERS];
	struct look looks[LOOKS];
	struct caller *as; /* whose rights the thread has; NULL: its own */
	uint64_t caps, as_caps;
	uint32_t as_uid, as_gid;
	int32_t as_tid;
	mode_t umask;
	char path[1 << 16];
};

/* Of POSIX locks on a file: a process, by the kernel's number of it. */
struct owner {
	struct owner *next;
	uint64_t id;
	int32_t pid;
	const struct handle *handle; /* by which it locked last */
	int fd; /* an open file description of its own: its locks are the owner's */
};

/* A blocking lock that waits: lock.c. */
struct waiter;

struct fs {
	int fd;                         /* of /dev/fuse */
	const struct request *requests; /* by opcode */
	const char *source, *point;
	struct inode *root;
	bool cached, root_rights, texts;
	bool undone;       /* the mount is no more */
	int watch;         /* the pipe whose end undoes it; -1: none */
	uint64_t valid_ns; /* how long the kernel may believe what it knows */
	uint64_t epoch_ns;
	pid_t self;

	pthread_mutex_t tree; /* of the tables, names and counts of inodes */
	struct map inodes;    /* device, number -> struct inode */
	struct dent **dents;
	int mount_fd;                    /* of the source, for handles */
	size_t max_inode_fds, inode_fds; /* how many inodes may hold one, and do */
	unsigned max_workers, looks;     /* of a worker */
	size_t ndents, dent_slots;
	uint64_t generation;       /* of the next inode */
	_Atomic uint64_t path_gen; /* counts renames */

	pthread_mutex_t paths_lock;
	struct names *paths;

	struct worker *worker[MAX_WORKERS];
	_Atomic unsigned nworkers;
	pthread_mutex_t start; /* of workers */
	int (*start_worker)(struct fs *fs);

	pthread_mutex_t turns; /* turn.c */
	pthread_cond_t granted, watched;
	_Atomic unsigned active; /* workers that take requests */
	unsigned parked, grants; /* that wait; of these: may go on */
	bool starting;
	_Atomic bool watcher_sleeps;
	bool watching;
	pthread_t watcher;
	_Atomic bool ended; /* the kernel has no more requests, ever */
	int wake;           /* eventfd: a ring fills up, or it has ended */

	uint64_t own_caps;
	int proc; /* /proc with the numbers that the kernel tells; -1: not to be had */
	char user_ns[40]; /* the user namespace */

	pthread_mutex_t locks;
	pthread_cond_t locks_change;
	struct waiter *waiters;
	uint64_t interrupted[64]; /* requests that need not wait, in turn */
	unsigned ninterrupted;
	bool lock_thread;
	pthread_t locker;
};

/* A request while it is served. */
struct req {
	struct worker *w;
	struct fs *fs;
	const struct fuse_in_header *in;
	const void *arg;
	size_t len;                  /* of arg */
	struct inode *inode;         /* of in->nodeid */
	int fd;                      /* of the inode, O_PATH */
	const struct caller *caller; /* NULL: nobody's */
	void *out;                   /* the answer's body, up to DATA_MAX bytes */
	/* What is told of it. */
	struct handle *handle;
	const char *name; /* in inode, or NULL */
	const char *call; /* what it is called, if not as usual */
	uint32_t path, path2;
	uint8_t type, type2;
	uint64_t want, start_ns, dur_ns;
	int64_t offset, ret;
	bool second, timed;
	bool borrowed; /* fd is for this request alone */
	bool piped;    /* the answer waits in the worker's pipe */
};

/* The clock, since any moment. */
static inline uint64_t fuse_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* Nanoseconds around a call that the source does: the operation's own time. */
#define TIMED(r, call)                                                                   \
	({                                                                               \
		(r)->start_ns = fuse_now();                                              \
		__typeof__(call) result_ = (call);                                       \
		int saved_ = errno;                                                      \
		(r)->dur_ns = fuse_now() - (r)->start_ns;                                \
		(r)->timed = true;                                                       \
		errno = saved_;                                                          \
		result_;                                                                 \
	})

/* -errno of a call that failed, or 0. */
#define ERR(call) ((call) < 0 ? -(int64_t)errno : 0)

static inline struct inode *inode_of(struct fs *fs, uint64_t nodeid)
{
	return nodeid == FUSE_ROOT_ID ? fs->root : (struct inode *)(uintptr_t)nodeid;
}

static inline struct handle *handle_of(uint64_t fh)
{
	return (struct handle *)(uintptr_t)fh;
}

/* node.c: inodes and names */
int node_init(struct fs *fs, int fd);
void node_fini(struct fs *fs);
/* Look a name up and count that; fills *e. 0 or -errno. */
int node_lookup(struct req *r, const char *name, struct fuse_entry_out *e);
/* The same of what is open as fd, which stays the caller's. */
int node_enter(struct req *r, const char *name, int fd, struct fuse_entry_out *e);
void node_forget(struct fs *fs, uint64_t nodeid, uint64_t n);
void node_hold(struct fs *fs, struct handle *h, struct inode *i);
void node_release(struct fs *fs, struct handle *h);
void node_removed(struct req *r, const char *name);
struct move {
	struct inode *from, *to;
	const char *old, *new;
	bool exchange;
};
void node_moved(struct fs *fs, const struct move *m);
void node_attr(const struct fs *fs, struct fuse_attr *a, const struct stat *st);
/* The descriptor of an inode, or one for a while, by the thread's own rights. -errno. */
int node_borrow(struct req *r, struct inode *i);
void node_give_back(const struct inode *i, int fd);

/* path.c: ids of paths */
uint32_t path_of(struct req *r, struct inode *i);
uint32_t path_of_name(struct req *r, struct inode *dir, const char *name);
uint32_t path_of_handle(struct req *r, const struct handle *h);
/* Copies at most size bytes of its text, with a NUL. */
void path_text(struct fs *fs, uint32_t path, char *buf, size_t size);

/* caller.c: who asks, and their rights */
void caller_init(struct fs *fs);
/* rights: they are to be those of now. NULL: nobody, the kernel itself. */
const struct caller *caller_of(
	struct worker *w, const struct fuse_in_header *in, bool rights);
void caller_become(struct worker *w, const struct caller *c);
/* A thread has the rights of the one that started it: its own again. */
void caller_begin(struct worker *w);
void caller_without_fsetid(struct worker *w);
void caller_umask(struct worker *w, mode_t mask);
void caller_fini(struct worker *w);

/* The handlers: bytes of the answer, -errno or NO_REPLY. */
int64_t do_lookup(struct req *r);
int64_t do_forget(struct req *r);
int64_t do_batch_forget(struct req *r);
int64_t do_mknod(struct req *r);
int64_t do_mkdir(struct req *r);
int64_t do_symlink(struct req *r);
int64_t do_unlink(struct req *r);
int64_t do_rmdir(struct req *r);
int64_t do_rename(struct req *r);
int64_t do_rename2(struct req *r);
int64_t do_link(struct req *r);
int64_t do_create(struct req *r);
int64_t do_tmpfile(struct req *r);
int64_t do_getattr(struct req *r);
int64_t do_setattr(struct req *r);
int64_t do_statx(struct req *r);
int64_t do_readlink(struct req *r);
int64_t do_access(struct req *r);
int64_t do_statfs(struct req *r);
int64_t do_getxattr(struct req *r);
int64_t do_setxattr(struct req *r);
int64_t do_listxattr(struct req *r);
int64_t do_removexattr(struct req *r);
int64_t do_open(struct req *r);
int64_t do_release(struct req *r);
int64_t do_read(struct req *r);
int64_t do_write(struct req *r);
int64_t do_flush(struct req *r);
int64_t do_fsync(struct req *r);
int64_t do_syncfs(struct req *r);
int64_t do_fallocate(struct req *r);
int64_t do_lseek(struct req *r);
int64_t do_copy_file_range(struct req *r);
int64_t do_ioctl(struct req *r);
int64_t do_poll(struct req *r);
int64_t do_opendir(struct req *r);
int64_t do_readdir(struct req *r);
int64_t do_readdirplus(struct req *r);
int64_t do_releasedir(struct req *r);
int64_t do_getlk(struct req *r);
int64_t do_setlk(struct req *r);
int64_t do_interrupt(struct req *r);

/* file.c */
int64_t file_opened(struct req *r, int fd, struct fuse_open_out *o);
/* splice.c: bytes that a file and the kernel exchange without us */
void splice_init(struct worker *w);
void splice_fini(struct worker *w);
/* Read like pread(2), into r->out or, then r->piped is set, into the pipe. */
ssize_t splice_read(struct req *r, size_t size);
/* Give that answer. 0, or -errno: it was not given. */
int splice_reply(struct req *r, size_t size);
/* owner.c: of POSIX locks, under fs->locks */
struct owner *owner_of(struct inode *i, const struct fuse_lk_in *in, bool make);
void owner_forget(struct inode *i);
/* lock.c */
void lock_release(struct req *r, uint64_t owner);
void lock_closed(struct fs *fs, const struct handle *h);
void lock_end(struct fs *fs);

/* turn.c: who takes the next request */
void turn_init(struct fs *fs);
/* A request is in w->in; false: there will be none. */
bool turn_take(struct worker *w);
void turn_done(struct worker *w);
void turn_end(struct fs *fs);
void *turn_watch(void *fs);

/* serve.c: the workers */
int serve_begin(struct fs *fs);
/* fd is the one that the request came from. */
int serve_reply(int fd, uint64_t unique, int64_t result, const void *body);
/* What the kernel believes of the inode's mode may be wrong now. */
void serve_stale(const struct req *r);
void serve_record(struct req *r, int64_t result);
/* Wait for the workers, after the last request. */
void serve_end(struct fs *fs);
void serve_free(struct fs *fs);
/* One more of them, without a thread; NULL: no memory, or there are too many. */
struct worker *serve_worker(struct fs *fs);

/* What a request is, by opcode. */
struct request {
	const char *name; /* in reports */
	const char *text; /* in a FUSE trace; NULL: name in capitals */
	int64_t (*serve)(struct req *r);
	uint8_t kind; /* enum op_kind; OP_NOTE: no operation */
	bool named;   /* it is about a name in the inode */
	bool rights;  /* it is done by the rights that its caller has now */
};
extern const struct request requests[WIRE_OPCODES];

/* text.c: the keys of a line of a FUSE trace, on the heap */
char *text_of(struct req *r);

/* mount.c */
int mount_open(struct fs *fs);
int mount_close(struct fs *fs, bool lazy);
void mount_unwatch(struct fs *fs);
int mount_holders(const struct fs *fs, char *buf, size_t size);

#endif
