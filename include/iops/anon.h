/*
 * anon.h - names that tell nothing, but the same nothing for the same name: a keyed hash
 * (HMAC-SHA-256, cut short), so that nobody can try words out without the key.
 */
#ifndef IOPS_ANON_H
#define IOPS_ANON_H

#include <stddef.h>

struct anon;

enum { ANON_MAX = 4096 };

/* key_file: 16 bytes or more, of which the first 4096 are the key; NULL: a new random one
 * that is kept nowhere. Says what is wrong. 0 or -errno. */
int anon_new(struct anon **out, const char *key_file);
void anon_free(struct anon *a);

/* Not for several threads at a time: they remember what they were asked. All write a
 * string of less than ANON_MAX bytes to out and return it. */

/* Each component by itself, slashes and the last extension (at most 8 letters or digits)
 * stay; so do " (deleted)" and names that the kernel makes: pipe:[1], socket:[2],
 * anon_inode:x. What does not fit is one component. */
const char *anon_path(const struct anon *a, const char *path, char *out);

/* As a whole: a command line, a host name, a user. "" stays. */
const char *anon_text(const struct anon *a, const char *text, char *out);

/* An address: 10.x.x.x or fd00::x:x:x:x that stands for it; loopback and any stay, and
 * IPv4 within IPv6 is treated as such. "" for another family. */
const char *anon_addr(const struct anon *a, int family, const void *addr, char *out);

#endif
