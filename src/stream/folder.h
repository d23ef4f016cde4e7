/*
 * folder.h - what the parts of a folder of streams share
 */
#ifndef IOPS_SRC_STREAM_FOLDER_H
#define IOPS_SRC_STREAM_FOLDER_H

#include "iops/stream.h"

#include <cjson/cJSON.h>
#include <zstd.h>

/* Real time from monotonic time, in words of local time. */
struct wall {
	int64_t ahead;  /* of real time before monotonic time, as rows tell it */
	int64_t first;  /* the same by the clocks at the beginning ... */
	int64_t moved;  /* ... and how it has changed since */
	int64_t second; /* that text is of */
	char text[40];
};

enum { WALL_TEXT = 19 /* 2026-01-02 03:04:05 */, WALL_NAME = 20 };

void wall_init(struct wall *w, uint64_t real_ns, uint64_t mono_ns);
void wall_look(struct wall *w); /* at the clocks again */
uint64_t wall_mono(void);       /* now */
uint64_t wall_real(const struct wall *w, uint64_t mono_ns);

/* The second of a real time, WALL_TEXT bytes; w's. */
const char *wall_text(struct wall *w, uint64_t real_ns);

/* 20260102_030405_678 */
void wall_name(uint64_t real_ns, char name[WALL_NAME]);

/* A file that grows by rows. */
struct csv {
	int fd;          /* -1: none */
	uint64_t size;   /* of what is written */
	bool framed;     /* the end of a frame stands behind that, to be written over */
	ZSTD_CCtx *zstd; /* NULL: plain */
	uint8_t *packed;
	size_t cap;
};

int csv_init(struct csv *f, bool plain);
void csv_fini(struct csv *f);

/* 0 or -errno; -EEXIST: no file is ever opened again. */
int csv_open(struct csv *f, int dir, const char *name);
int csv_close(struct csv *f);

/* 0, or -errno with *len cut to the whole rows that are written nevertheless. */
int csv_put(struct csv *f, const char *text, size_t *len);

/* Bytes of the file. */
uint64_t csv_stored(const struct csv *f);

/* The bytes of whole rows in text, and how many they are. */
size_t csv_rows(const char *text, size_t len, uint64_t *rows);

struct part {
	char name[80];
	uint64_t rows, bytes,
		stored; /* bytes: of text, with the header; stored: on disk */
};

struct stream {
	struct streams *folder;
	char *name, *columns;
	unsigned ncolumns;
	int dir;
	struct csv csv;
	struct part *part; /* the last one is that of csv, if it is open */
	size_t nparts, capparts;
	unsigned sequence; /* of the next file */
	uint64_t first_ns; /* of the first row of the file, monotonic; 0: it has none */

	char *buf; /* waiting rows, then from row on the one at hand */
	size_t row, n, cap;
	uint64_t waiting;
	uint64_t row_ns; /* the first time that the row at hand tells; 0: none */
	unsigned fields;
	int err;

	uint64_t rows, lost, dropped;
};

struct streams {
	struct streams_args args;
	char *path;
	int dir;
	struct stream **stream;
	size_t n;
	struct wall wall;
	cJSON *notes;
	bool stale; /* the manifest has to be written */
	bool complete;
	int reserve; /* an unnamed file: room for the last manifest on a full disk; or -1
		      */
	int err;     /* the first one */
};

/* 0 or -ENOMEM. What streams_add() leaves to do is the folder and the first file. */
int stream_new(
	struct stream **out, struct streams *s, const char *name, const char *columns);
void stream_free(struct stream *t);

/* The next file, with its header, for a first row of that time. 0 or -errno, said. */
int stream_begin_file(struct stream *t, uint64_t mono_ns);
int stream_end_file(struct stream *t);

/* Write the rows that wait. 0 or -errno, said. */
int stream_store(struct stream *t);

/* Say it, if it is the first; returns err. name: of the file in the folder. */
int folder_failed(struct streams *s, int err, const char *stream, const char *name);

/* Both 0 or -errno, said. */
int manifest_keep(struct streams *s); /* the one that is there already, if one is */
int manifest_write(struct streams *s);

void manifest_reserve(struct streams *s);

#endif
