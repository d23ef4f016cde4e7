/*
 * ledger.c - bytes of calls beside those of the kernel's accounts, and why they differ
 *
 * What /proc/PID/task/TID/io says of threads (proc_pid_io(5)): rchar and wchar are what
 * calls moved. read_bytes is what was read from storage while the thread ran. write_bytes
 * grows when a page of a file becomes dirty, and with direct writes; the part of it that
 * was truncated or deleted in time is cancelled_write_bytes.
 */
#include "ledger.h"
#include "iops/report.h"
#include "iops/syscalls.h"

#include <inttypes.h>
#include <string.h>

struct side {
	uint64_t calls; /* all of them */
	uint64_t apart; /* those that the kernel does not count in rchar, wchar */
	uint64_t files; /* regular files and block devices */
	uint64_t memory, remote; /* of these: on file systems that never touch storage, or
				    that another machine or process stores */
	uint64_t chars, storage;
};

struct ledger {
	struct side side[2]; /* reads, writes */
	uint64_t cancelled, syncs;
	bool known;   /* there are accounts */
	bool left;    /* some are missing */
	bool lost;    /* calls are */
	bool partial; /* not all calls are in it */
	bool blind;   /* files are not told apart */
};

/* File systems that lie in memory, and those whose I/O is somebody else's. */
static const char memory[] =
	" tmpfs ramfs devtmpfs devpts proc sysfs cgroup cgroup2 debugfs tracefs "
	"securityfs "
	"bpf configfs pstore mqueue hugetlbfs efivarfs selinuxfs binfmt_misc nsfs "
	"rpc_pipefs fusectl autofs ";
static const char remote[] =
	" nfs nfs4 cifs smb3 9p virtiofs ceph afs fuse lustre gpfs beegfs orangefs ";

static bool is_in(const char *list, const char *fs)
{
	char word[40];

	/* "fuse.sshfs", but fuseblk is a disk. */
	snprintf(word, sizeof(word), " %.*s ", (int)strcspn(fs, "."), fs);
	return *fs && strstr(list, word);
}

bool ledger_in_memory(const char *fs)
{
	return is_in(memory, fs);
}

static uint64_t bytes_of(const struct row *r, int write)
{
	const struct series *s = r->series[write ? CLASS_WRITE : CLASS_READ];

	return s ? s->bytes : 0;
}

static void add_files(struct ledger *l, const struct report_in *in)
{
	size_t n;
	const struct row *r = stats_rows(in->stats, DIM_FILE, &n);

	for (size_t i = 0; i < n; i++) {
		const struct file *f = names_file(in->names, r[i].key[0]);
		const char *fs = names_get(in->names, f->fs);
		bool block = f->type == FILE_BLOCK;
		for (int w = 0; w < 2 && (block || f->type == FILE_REGULAR); w++) {
			uint64_t bytes = bytes_of(&r[i], w);
			l->side[w].files += bytes;
			l->side[w].memory += !block && is_in(memory, fs) ? bytes : 0;
			l->side[w].remote += !block && is_in(remote, fs) ? bytes : 0;
		}
	}
	r = stats_rows(in->stats, DIM_CALL, &n);
	for (size_t i = 0; i < n; i++) {
		unsigned call = r[i].key[0];
		bool counted = call < syscall_rows() && syscalls[call].weight;
		for (int w = 0; w < 2 && !counted; w++)
			l->side[w].apart += bytes_of(&r[i], w);
	}
}

static bool is_filtered(const struct report_in *in)
{
	return in->view->partial || in->run->filtered;
}

static struct ledger ledger_of(const struct report_in *in, const struct row *row)
{
	const struct totals *t = stats_totals(in->stats);
	const struct series *sync = row->series[CLASS_SYNC];
	struct ledger l = {
		.side = { { .chars = t->rchar, .storage = t->storage_read },
			{ .chars = t->wchar, .storage = t->storage_written } },
		.cancelled = t->storage_cancelled,
		.syncs = sync ? sync->operations : 0,
		.known = t->accounts || in->run->verifies,
		.left = in->run->snapshot || t->unchecked,
		.lost = t->lost,
		.partial = is_filtered(in) || !in->run->verifies,
		.blind = in->run->counters_only,
	};

	for (int w = 0; w < 2; w++)
		l.side[w].calls = bytes_of(row, w);
	if (l.blind)
		l.partial = is_filtered(in);
	add_files(&l, in);
	return l;
}

/* What would have gone to storage, had there been no cache. */
static uint64_t asked(const struct ledger *l, int w)
{
	const struct side *s = &l->side[w];

	return l->blind ? s->calls : s->files - s->memory - s->remote;
}

static uint64_t less(const struct ledger *l, int w)
{
	uint64_t a = asked(l, w), b = l->side[w].storage;

	return l->partial || l->left || l->lost || a < b ? 0 : a - b;
}

static uint64_t more(const struct ledger *l, int w)
{
	uint64_t a = asked(l, w), b = l->side[w].storage;

	return l->partial || l->lost || a > b ? 0 : b - a;
}

static uint64_t cached(const struct ledger *l)
{
	return l->blind ? 0 : less(l, 0);
}

static uint64_t cached_or_none(const struct ledger *l)
{
	return l->blind ? less(l, 0) : 0;
}

static uint64_t ahead(const struct ledger *l)
{
	return asked(l, 0) ? more(l, 0) : 0;
}

static uint64_t loaded(const struct ledger *l)
{
	return asked(l, 0) ? 0 : more(l, 0);
}

static uint64_t pages(const struct ledger *l)
{
	return more(l, 1);
}

static uint64_t again(const struct ledger *l)
{
	return l->blind ? 0 : less(l, 1);
}

static uint64_t again_or_none(const struct ledger *l)
{
	return l->blind ? less(l, 1) : 0;
}

static uint64_t dropped(const struct ledger *l)
{
	return l->cancelled;
}

/* That a call made it durable is told by none; that none did, by there being none. */
static uint64_t unsynced(const struct ledger *l)
{
	uint64_t n = l->side[1].storage;

	bool unknown = l->partial || l->lost || l->blind;

	return l->syncs || unknown || n < l->cancelled ? 0 : n - l->cancelled;
}

static uint64_t read_memory(const struct ledger *l)
{
	return l->side[0].memory;
}

static uint64_t read_remote(const struct ledger *l)
{
	return l->side[0].remote;
}

static uint64_t write_memory(const struct ledger *l)
{
	return l->side[1].memory;
}

static uint64_t write_remote(const struct ledger *l)
{
	return l->side[1].remote;
}

static uint64_t left_out(const struct ledger *l)
{
	return l->partial;
}

static uint64_t missing(const struct ledger *l)
{
	return l->left;
}

static uint64_t lost(const struct ledger *l)
{
	return l->lost;
}

/*
 * Why storage and calls differ: by how many bytes, if that is so at all. In the table it
 * is said in brief; in full it stands behind that number, where there is one.
 */
static const struct cause {
	uint8_t write;
	enum {
		MORE,
		PLAIN,
		ALONE
	} how; /* PLAIN: no number of bytes; ALONE: in the table only
if there is nothing else to say */
	uint64_t (*bytes)(const struct ledger *l);
	const char *brief, *text;
} causes[] = {
	{ 0, PLAIN, left_out, "calls are left out",
		"not all calls are in this report: --trace and filters leave some out" },
	{ 1, PLAIN, left_out, "calls are left out",
		"not all calls are in this report: --trace and filters leave some out" },
	{ 0, MORE, ahead, "read ahead, mapped",
		"more than was asked for: read ahead, mapped files, programs that were "
		"loaded, metadata" },
	{ 0, MORE, loaded, "programs, mapped files",
		"that no call asked for: programs that were loaded, mapped files, "
		"metadata" },
	{ 0, MORE, cached, "from the page cache", "came from the page cache" },
	{ 0, MORE, cached_or_none, "from the cache, pipes",
		"came from the page cache, from pipes and the like" },
	{ 0, ALONE, read_memory, "files in memory",
		"of files that lie in memory: tmpfs, proc and the like" },
	{ 0, ALONE, read_remote, "network, FUSE",
		"of file systems that others serve: network, FUSE" },
	{ 1, MORE, dropped, "%s dropped unwritten",
		"truncated or deleted before they were written" },
	{ 1, MORE, unsynced, "not synced: may be written later",
		"without a sync that was seen: what is still in the page cache is "
		"written "
		"later" },
	{ 1, MORE, pages, "whole pages",
		"more than was asked for: whole pages, mapped files, metadata" },
	{ 1, MORE, again, "rewritten in the cache",
		"went to pages that were waiting to be written already" },
	{ 1, MORE, again_or_none, "to pipes, rewritten",
		"went to pipes and the like, or to pages that were waiting to be written "
		"already" },
	{ 1, ALONE, write_memory, "files in memory",
		"to files that lie in memory: tmpfs and the like" },
	{ 1, ALONE, write_remote, "network, FUSE",
		"to file systems that others serve: network, FUSE" },
	{ 0, PLAIN, missing, "accounts are missing",
		"the accounts of some threads are not in it" },
	{ 1, PLAIN, missing, "accounts are missing",
		"the accounts of some threads are not in it" },
	{ 0, PLAIN, lost, "operations were lost", "some operations were not seen" },
	{ 1, PLAIN, lost, "operations were lost", "some operations were not seen" },
};
enum { NCAUSES = sizeof(causes) / sizeof(*causes) };

static void put_why(FILE *out, const struct ledger *l, int w)
{
	const char *between = "";

	for (unsigned i = 0; i < NCAUSES; i++) {
		const struct cause *c = &causes[i];
		uint64_t n = c->write == w ? c->bytes(l) : 0;
		if (!n)
			continue;
		fputs(between, out);
		if (c->how != PLAIN)
			fprintf(out, "%" PRIu64 " bytes ", n);
		fputs(c->text, out);
		between = "; ";
	}
	if (!*between)
		fputs(l->side[w].storage ? "as much as was asked for" : "no file", out);
}

/* What the kernel has counted, and is not among the calls. */
static void put_reasons(FILE *out, const struct ledger *l, int w)
{
	const char *const reasons[] = {
		w ? NULL : "the kernel's reading of programs at exec",
		l->partial ? "calls left out" : NULL,
		l->lost ? "operations that were not seen" : NULL,
		w && !l->partial && !l->lost ? "core dumps" : NULL,
	};
	const char *between = "";

	for (unsigned i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i]) {
			fprintf(out, "%s%s", between, reasons[i]);
			between = ", ";
		}
}

/* Why rchar and wchar are not what was counted here. */
static void put_chars(FILE *out, const struct ledger *l, int w)
{
	const struct side *s = &l->side[w];
	uint64_t counted = s->calls - s->apart;

	if (s->chars == counted && !s->apart)
		return;
	fprintf(out, ", \"%s\": \"", w ? "wchar" : "rchar");
	if (s->chars > counted) {
		fprintf(out, "%" PRIu64 " bytes that are no calls of this report: ",
			s->chars - counted);
		put_reasons(out, l, w);
	} else if (s->chars < counted) {
		fprintf(out, "%" PRIu64 " bytes less than the calls: %s",
			counted - s->chars,
			l->left ? "the accounts of some threads are not in it"
				: "not known why");
	}
	if (s->apart)
		fprintf(out, "%s%" PRIu64 " bytes of sockets and io_uring are not in it",
			s->chars == counted ? "" : "; ", s->apart);
	fputc('"', out);
}

void ledger_json(FILE *out, const struct report_in *in, const struct row *row)
{
	const struct totals *t = stats_totals(in->stats);
	struct ledger l = ledger_of(in, row);

	fprintf(out, "{\"call_read_bytes\":%" PRIu64 ",\"call_write_bytes\":%" PRIu64,
		l.side[0].calls, l.side[1].calls);
	if (!l.blind)
		fprintf(out,
			",\"file_read_bytes\":%" PRIu64 ",\"file_write_bytes\":%" PRIu64
			",\"memory_read_bytes\":%" PRIu64
			",\"memory_write_bytes\":%" PRIu64,
			l.side[0].files, l.side[1].files, l.side[0].memory,
			l.side[1].memory);
	if (t->accounts)
		fprintf(out,
			",\"accounts\":%" PRIu64 ",\"rchar\":%" PRIu64
			",\"wchar\":%" PRIu64,
			t->accounts, t->rchar, t->wchar);
	if (l.known)
		fprintf(out,
			",\"storage_read_bytes\":%" PRIu64
			",\"storage_write_bytes\":%" PRIu64,
			t->storage_read, t->storage_written);
	if (t->accounts) {
		fprintf(out,
			",\"cancelled_write_bytes\":%" PRIu64
			",\n  \"explanation\": {\"read\": \"",
			t->storage_cancelled);
		put_why(out, &l, 0);
		fputs("\", \"write\": \"", out);
		put_why(out, &l, 1);
		fputc('"', out);
		for (int w = 0; w < 2; w++)
			put_chars(out, &l, w);
		fputc('}', out);
	}
	fputc('}', out);
}

int ledger_line(
	char text[LEDGER_LINE], const struct report_in *in, const struct row *row, int w)
{
	struct ledger l = ledger_of(in, row);
	const struct side *s = &l.side[w];
	uint64_t calls = l.blind ? s->calls : s->files;
	size_t width = in->view->width ? in->view->width : 80, n;
	char a[UNITS_LEN], b[UNITS_LEN], cause[80];
	const char *between = ": ";

	if (!l.known || (!calls && !s->storage))
		return 0;
	n = snprintf(text, LEDGER_LINE, "%s: %s %s, storage %s", w ? "written" : "read",
		l.blind ? "calls" : "files", units_bytes(a, calls, in->view->units),
		units_bytes(b, s->storage, in->view->units));
	for (unsigned i = 0; i < NCAUSES; i++) {
		uint64_t bytes = causes[i].write == w ? causes[i].bytes(&l) : 0;
		const char *brief = causes[i].brief;
		bool number = *brief == '%';
		if (!bytes || (causes[i].how == ALONE && *between == ','))
			continue;
		snprintf(cause, sizeof(cause), "%s%s%s", between,
			number ? units_bytes(a, bytes, in->view->units) : "",
			number ? brief + 2 : brief);
		size_t len = strlen(cause);
		if (n + len > width || n + len >= LEDGER_LINE)
			continue;
		memcpy(text + n, cause, len + 1);
		n += len;
		between = ", ";
	}
	return 1;
}
