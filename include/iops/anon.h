/*
 * anon.h - names that tell nothing, but the same nothing for the same name: a keyed hash
 * (HMAC-SHA-256, cut short), so that nobody can try words out without the key.
 */
#ifndef IOPS_ANON_H
#define IOPS_ANON_H

#include <stddef.h>

struct anon;

enum { ANON_MAX = 4096 };

/* key_file: 16 bytes or more of it are the key; NULL: a new random one that is kept
 * nowhere. Says what is wrong. 0 or -errno. */
int anon_new(struct anon **out, const char *key_file);
void anon_free(struct anon *a);

/* All write a string of less than ANON_MAX bytes to out and return it. */

/* Each component by itself, slashes and the last extension (at most 8 letters or digits)
 * stay; so do names that the kernel makes: pipe:[1], socket:[2], anon_inode:x. */
const char *anon_path(const struct anon *a, const char *path, char *out);

/* As a whole: a command line, a host name, a user. "" stays. */
const char *anon_text(const struct anon *a, const char *text, char *out);

/* An address: 10.x.x.x or fd00::x that stands for it; loopback and any stay. */
const char *anon_addr(const struct anon *a, int family, const void *addr, char *out);

#endif
