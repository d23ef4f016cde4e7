/*
 * text.h - strings as other formats want them: clean UTF-8, base64, JSON and CSV; and
 * numbers in such.
 */
#ifndef IOPS_TEXT_H
#define IOPS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The length of the UTF-8 sequence at s, or 0 if there is none: RFC 3629. */
size_t text_utf8_length(const char *s);

bool text_is_utf8(const char *s);

/* Bytes of a path without " (deleted)", the kernel's word for one that has no name any
 * more: proc(5). len: with it. */
size_t text_named(const char *path, size_t len);

/* A copy with U+FFFD for each byte that is not of UTF-8. On the heap; NULL: no memory. */
char *text_clean(const char *s);

/* On the heap; NULL: no memory. */
char *text_base64(const char *s);

/* A JSON string with its quotes, clean as above. */
void text_put_json(FILE *out, const char *s);

/* A field by RFC 4180: the bytes as they are, in quotes where it needs them. */
void text_put_csv(FILE *out, const char *s);

/* Digits at *p to a number; false if there are none or too many. */
bool text_number(const char **p, uint64_t *out);

/* "123456" after a point to nanoseconds: digits beyond nine are dropped. */
uint64_t text_fraction_ns(const char **p);

#endif
