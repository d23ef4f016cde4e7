/*
 * fs_fields.c - what rows of calls and of requests have in common
 */
#include "fs_rows.h"
#include "iops/diag.h"
#include "iops/names.h"
#include "iops/stream.h"

/* What the kernel gives back only when a call is made again: errno of include/linux. */
const char *fs_errno(int64_t ret, char buf[16])
{
	static const char *const again[] = { "ERESTARTSYS", "ERESTARTNOINTR",
		"ERESTARTNOHAND", NULL, "ERESTART_RESTARTBLOCK" };

	if (ret >= 0 || ret < -4095)
		return NULL;
	if (op_interrupted(ret) && again[-ret - 512])
		return again[-ret - 512];
	return errno_name((int)-ret, buf);
}

void fs_put_found(struct stream *t, const struct fs_found *f)
{
	if (f->inode)
		stream_u64(t, f->inode);
	else
		stream_none(t);
	if (f->inode || f->major || f->minor)
		stream_device(t, f->major, f->minor);
	else
		stream_none(t);
}

void fs_put_name(struct bpf *b, struct stream *t, uint32_t name)
{
	if (name)
		stream_word(t, names_get(b->names, name));
	else
		stream_none(t);
}

void fs_put_path(struct bpf *b, struct stream *t, uint32_t file)
{
	uint32_t path = names_file(b->names, file)->path;

	if (path)
		stream_path(t, names_get(b->names, path));
	else
		stream_none(t);
}

void fs_put_who(struct bpf *b, struct stream *t, const struct fs_process *p)
{
	if (p && p->args)
		stream_text(t, names_get(b->names, p->args));
	else
		stream_none(t);
	if (!p || !p->told) {
		stream_none(t);
		stream_none(t);
		return;
	}
	stream_i64(t, p->ppid);
	stream_u64(t, p->cgroup);
}
