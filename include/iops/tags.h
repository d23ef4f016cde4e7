/*
 * tags.h - who did it: the answers of a tag helper to the records of a block trace.
 *
 * The host sends records as they are and gets for each of them, in their byte order,
 *
 *	00000000			END: all that there is to say
 *
 * and before it, where the record is a queued or an issued request,
 *
 *	00000001 tag len label		NEW_TAG: len bytes, the last of them NUL
 *	00000002 tag			TAG_IO: the request is of this one
 *
 * in numbers of 32 bits. Tags count from 0; NEW_TAG comes once, before the first TAG_IO.
 */
#ifndef IOPS_TAGS_H
#define IOPS_TAGS_H

#include <stddef.h>

enum { TAGS_RECORD_MAX = 64 + 65535 /* bytes of the longest record */ };

struct groups;
struct tags;
struct wire_out;

/* groups are borrowed as long as the tags live. NULL: out of memory. */
struct tags *tags_new(const struct groups *groups);
void tags_free(struct tags *t);

/*
 * Append the answers to all whole records among len bytes, and set *used to how many
 * bytes those are; the rest is to come again with what follows it. 0; of the record at
 * *used: -EBADMSG, it has no magic or not the byte order of the first; -EPROTONOSUPPORT,
 * it is of another version; or -ENOMEM.
 */
int tags_answer(struct tags *t, const void *bytes, size_t len, size_t *used,
	struct wire_out *answers);

#endif
