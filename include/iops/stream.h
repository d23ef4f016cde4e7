/*
 * stream.h - a folder of CSV streams: rows go into files that are rotated by size and
 * age and compressed, with a manifest beside them that says what they hold.
 *
 *   DIR/STREAM/STREAM_<YYYYMMDD_HHMMSS_mmm>[_<seq4>].csv[.zst]
 *   DIR/manifest.json
 *
 * RFC 4180 with a header line in every file, also where no row follows. An empty field
 * was not captured; zero is 0, and a text of no bytes is "". Files are named by the local
 * time of their opening, which from the second on (_0001) is that of their first row. At
 * every moment each holds whole rows, and a compressed one whole frames: nothing need be
 * repaired when the process is killed. No file that is there is written over; a manifest
 * that was there is kept as manifest_<time>.json.
 *
 * The manifest has schema "iops.streams/1"; it is there from the beginning, is replaced
 * as a whole by the flush after files were ended or remarks made, and says "complete"
 * when all files have been closed.
 */
#ifndef IOPS_STREAM_H
#define IOPS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct anon;
struct stream;
struct streams;

struct streams_args {
	const char *dir;       /* made if it does not exist */
	bool plain;            /* not compressed */
	uint64_t rotate_bytes; /* of CSV text in a file; 0: 100 MB */
	uint64_t rotate_ns;    /* age of a file since its first row; 0: 300 s */
	uint64_t started_ns;   /* real time, since 1970, of ... */
	uint64_t epoch_ns;     /* ... this moment of CLOCK_MONOTONIC */
	struct anon *anon;     /* what texts go through; NULL: as they are. Borrowed */
};

/* Make the folder. Says what is wrong. 0 or -errno. */
int streams_open(struct streams **out, const struct streams_args *args);

/*
 * A stream of these columns, a list with commas. Its first file and header are there at
 * once. Owned by s. Says what is wrong. 0 or -errno.
 */
int streams_add(
	struct streams *s, struct stream **out, const char *name, const char *columns);

/*
 * The fields of a row, in the order of the columns; then the end. What goes wrong with a
 * field is kept for stream_end(), which returns the first error (-errno) once and counts
 * the row as dropped; the next row begins anew. -EINVAL: too few or too many fields.
 *
 * Rows are gathered and written when there are many, and by streams_flush(). Those that
 * cannot be written are dropped, all that were written stay; the first error is said
 * once, returned there and then, and again by streams_close(). A disk that has room again
 * is used again.
 */
void stream_u64(struct stream *t, uint64_t value);
void stream_i64(struct stream *t, int64_t value);
void stream_hex(struct stream *t, uint64_t value); /* 0x1f */
void stream_real(struct stream *t, double value, int digits);
void stream_device(struct stream *t, uint32_t major, uint32_t minor); /* 8:1 */
void stream_time(struct stream *t, uint64_t mono_ns); /* local time, microseconds */
void stream_word(struct stream *t, const char *text); /* never anonymised */
void stream_path(struct stream *t, const char *text); /* anonymised by component */
void stream_paths(struct stream *t, const char *from, const char *to); /* from -> to */
void stream_text(struct stream *t, const char *text); /* command lines: as a whole */
void stream_addr(struct stream *t, int family, const void *addr); /* AF_INET, AF_INET6 */
void stream_none(struct stream *t);                               /* not captured */
int stream_end(struct stream *t);

/* Events of the stream that were seen and lost before they could be rows. */
void stream_lost(struct stream *t, uint64_t events);

/*
 * Every second: what was written is safe from the death of this process, files that are
 * old are rotated (full ones are at once), and where the real clock has moved against the
 * monotonic one, stream_time() follows. 0 or the first -errno of this time.
 */
int streams_flush(struct streams *s, uint64_t mono_ns);

/* A remark for the manifest: which probes were used or missing, and the like. The value
 * is a JSON text, written as it is; it replaces that of the same key. 0, -EINVAL if it is
 * no JSON, or -ENOMEM. */
int streams_note(struct streams *s, const char *key, const char *json);

/* End all files, write the manifest; free. 0 or -errno, the first error of all times. */
int streams_close(struct streams *s);

#endif
