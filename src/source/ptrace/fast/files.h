/*
 * files.h - which file a record was about: its path, its end. Part of fast.h.
 */
#ifndef IOPS_FAST_FILES_H
#define IOPS_FAST_FILES_H

/* inside.c: another task than that one; 0: none. */
pid_t inside_too(struct tracer *t, const struct task *k, const struct fd_open *o);

/* history.c: calls that stop, and others by the same position meanwhile. */
void history_crosses(const struct task *k, struct fd_open *o);
void history_begun(const struct task *k, struct fd_open *o);
void history_used(struct fd_open *o, pid_t other);

/* seek.c: a seek that stops. */
bool seek_kept(const struct tracer *t, const struct task *k);
void seek_begun(struct tracer *t, struct task *k);
void seek_done(struct tracer *t, struct task *k, int64_t ret);

/* life.c: the task has ended in one. */
void life_leave_seek(struct task *k);

/* ends.c: see there. */
struct file_end;
struct syscall_desc;
bool ends_appends(
	const struct syscall_desc *d, const struct fd_open *o, const struct fast_rec *r);
struct file_end *ends_find(const struct tracer *t, uint32_t file);
struct file_end *ends_keep(struct tracer *t, uint32_t file);
void ends_fini(struct fast *f);
void ends_forget(struct file_end *e);
void ends_forget_all(struct fast *f);
void ends_forget_then(struct fast *f, uint64_t when);
int64_t ends_at(struct tracer *t, struct task *k, const struct fast_rec *r, int fd,
	struct file_end *e);
void ends_settle(struct tracer *t, struct task *k, int fd, struct file_end *e);
bool ends_contested(
	struct tracer *t, struct task *k, const struct fast_rec *r, struct file_end *e);
void ends_added(struct file_end *e, int64_t by);
void ends_wrote(struct file_end *e, int64_t end, bool contested, uint64_t when);
void ends_opened(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fd_open *o, int64_t size);
void ends_resized(struct tracer *t, struct task *k, const struct fast_call *c,
	const struct fast_rec *r, uint32_t file);
void ends_begun(struct tracer *t, struct task *k, uint32_t file, bool appends);
void ends_done(struct tracer *t, struct task *k, int fd);
void ends_leave(struct tracer *t, struct task *k);
struct file_end *ends_hold(struct tracer *t, uint32_t file);
void ends_release(
	struct file_end *e, uint64_t since, uint64_t when, int64_t by, int64_t to);
void ends_died(struct tracer *t, struct task *k);

/* cut.c: see there. */
bool cut_begin(struct tracer *t, struct task *k, const struct fast_call *c);
bool cut_unseen(struct tracer *t, struct task *k);
void cut_end(struct tracer *t, struct task *k, const struct fast_call *c, int64_t ret);

/* paths.c */
bool path_ask(const struct tracer *t, const struct task *k, struct fast_rec *r);
void path_made(const struct tracer *t, const struct task *k, struct fast_rec *r);
void path_opened(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c);
void path_paired(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c);
uint32_t path_start(struct tracer *t, struct task *k, int dirfd);
uint32_t path_whole(struct tracer *t, struct task *k, int dirfd, const char *path);

/* links.c */
enum one { ONE_UNKNOWN, ONE_SURELY, ONE_NOT };
struct stat;
void links_fini(struct fast *f);
void links_put(struct tracer *t, struct task *k, uint32_t real, const char *to);
void links_shared(struct tracer *t, struct task *k, uint32_t old, uint32_t new);
enum one links_one(struct tracer *t, struct task *k, uint32_t from, uint32_t to);
void links_renamed(
	struct tracer *t, struct task *k, uint32_t from, uint32_t to, bool exchange);
bool links_older(const struct tracer *t, const struct stat *st);
ssize_t links_then(struct tracer *t, struct task *k, const char *link, char *out,
	ssize_t n, size_t size);

/* renamed.c */
void path_renamed(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c);
void path_renamed_stopped(struct tracer *t, struct task *k, const struct fast_call *c);
void path_linked(struct tracer *t, struct task *k, const struct fast_rec *r,
	const struct fast_call *c);
void path_linked_stopped(struct tracer *t, struct task *k, const struct fast_call *c);
void paths_unsure(struct tracer *t);

/* root.c. full: a path made whole. */
struct stat;
void path_moved(struct task *k);
void path_part(struct tracer *t, struct task *k);
void path_inherit(struct tracer *t, struct task *parent, struct task *child, bool plain);
struct fs_view *fs_of(struct task *k);
uint32_t root_of(struct tracer *t, struct task *k);
uint64_t mounts_of(struct tracer *t, struct task *k);
int root_take(struct tracer *t, struct task *k);
void root_give(const struct tracer *t, int root);
uint32_t path_below(struct tracer *t, uint32_t from, const char *path);
int root_open(struct tracer *t, struct task *k, const char *full, int flags);
int root_look(struct tracer *t, struct task *k, const char *full, struct stat *st);
ssize_t root_link(
	struct tracer *t, struct task *k, const char *full, char *out, size_t size);

/* now.c. full: a path made whole. */
struct statx;
void stat_of(const struct statx *x, struct stat *st);
bool is_in_proc(const char *path);
bool is_deleted(const char *path);
bool is_to_come(struct tracer *t, const char *now);
bool is_there_since(struct tracer *t, const char *path, uint64_t since);
ssize_t found_path(struct tracer *t, struct task *k, const char *full,
	const struct stat *is, char *out);

/* dirs.c */
struct fast_dir *dirs_put(struct tracer *t, struct task *k, uint32_t name, uint32_t real);
struct fast_dir *dir_of(struct tracer *t, struct task *k, const char *full);
ssize_t in_path(
	const struct tracer *t, uint32_t real, const char *base, char *out, size_t size);
ssize_t in_dir(const struct tracer *t, const struct fast_dir *d, const char *base,
	char *out, size_t size);
bool ends_in_name(const char *path);
const char *dirs_follow(struct tracer *t, struct task *k, const char *full);
uint32_t path_from(struct tracer *t, struct task *k, uint32_t from, const char *path);

/* found.c. full: a path made whole. fd: who may have it, or -1. */
bool path_is_itself(const char *path, int flags);
uint32_t found_real(struct tracer *t, struct task *k, uint32_t full);
uint32_t found_file(struct tracer *t, struct task *k, int fd, uint32_t full, bool itself,
	const struct statx *x);
bool found_late(struct tracer *t, struct task *k, int fd, struct fd_open *o);
void found_soon(struct tracer *t);
void found_all(struct tracer *t, struct task *k);

#endif
