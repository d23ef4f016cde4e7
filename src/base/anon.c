/*
 * anon.c - a keyed hash instead of names
 */
#include "iops/anon.h"
#include "iops/diag.h"
#include "iops/late.h"
#include "iops/text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define FUNCTIONS(X)                                                                     \
	X(nettle_hmac_sha256_set_key)                                                    \
	X(nettle_hmac_sha256_update)                                                     \
	X(nettle_hmac_sha256_digest)

enum {
	KEY_MIN = 16,
	KEY_MAX = 4096, /* bytes of a file that count */
	KEY_RANDOM = 32,
	HASH = 8, /* bytes: two of a million names are alike once in 37 million */
	HEX = 2 * HASH,
	EXTENSION = 8,
	NAME_MAX_OUT = HEX + 1 + EXTENSION, /* of a component */
	KNOWN = 4096,                       /* names that are remembered */
	KNOWN_TEXT = 47,
};

/* The same few names come again and again, and the hash takes longer than all else. */
struct known {
	char text[KNOWN_TEXT + 1]; /* "": none */
	char hex[HEX];
};

struct anon {
	struct {
		FUNCTIONS(LATE_MEMBER)
	} lib;
	struct hmac_sha256_ctx keyed;
	struct known *known;
};

static ssize_t read_key(const char *path, uint8_t *key)
{
	size_t n = 0;
	ssize_t got = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return diag_err(errno, "%s", path);
	while (got && n < KEY_MAX) {
		got = read(fd, key + n, KEY_MAX - n);
		if (got < 0 && errno != EINTR)
			break;
		n += got > 0 ? got : 0;
	}
	int err = got < 0 ? diag_err(errno, "%s", path) : 0;
	close(fd);
	if (!err && n < KEY_MIN) {
		diag("%s: a key has %d bytes or more", path, KEY_MIN);
		err = -EINVAL;
	}
	return err ? err : (ssize_t)n;
}

static int anon_init(struct anon *a, const char *key_file)
{
	static const char *const functions[] = { FUNCTIONS(LATE_NAME) NULL };
	uint8_t key[KEY_MAX];
	int err = late_load(LATE_NETTLE, functions, &a->lib);

	if (err < 0)
		return err;
	ssize_t n = key_file ? read_key(key_file, key) : getrandom(key, KEY_RANDOM, 0);
	if (n < 0)
		return key_file ? n : diag_err(errno, "a random key");
	a->lib.nettle_hmac_sha256_set_key(&a->keyed, n, key);
	explicit_bzero(key, sizeof(key));
	a->known = calloc(KNOWN, sizeof(*a->known));
	return a->known ? 0 : diag_err(ENOMEM, "names");
}

int anon_new(struct anon **out, const char *key_file)
{
	struct anon *a = calloc(1, sizeof(*a));
	int err = a ? anon_init(a, key_file) : diag_err(ENOMEM, "names");

	if (err < 0)
		anon_free(a);
	else
		*out = a;
	return err;
}

void anon_free(struct anon *a)
{
	if (!a)
		return;
	explicit_bzero(&a->keyed, sizeof(a->keyed));
	free(a->known);
	free(a);
}

static void digest(const struct anon *a, const void *p, size_t len, uint8_t out[HASH])
{
	struct hmac_sha256_ctx c = a->keyed;

	a->lib.nettle_hmac_sha256_update(&c, len, p);
	a->lib.nettle_hmac_sha256_digest(&c, HASH, out);
}

static void put_hex(const uint8_t hash[HASH], char *hex)
{
	for (int i = 0; i < HASH; i++) {
		hex[2 * i] = "0123456789abcdef"[hash[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
	}
}

/* HEX letters for a text of len bytes. Returns what is behind them. */
static char *put_name(const struct anon *a, const char *text, size_t len, char *to)
{
	uint8_t hash[HASH];
	uint32_t h = 2166136261; /* FNV-1a */

	if (len > KNOWN_TEXT) {
		digest(a, text, len, hash);
		put_hex(hash, to);
		return to + HEX;
	}
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 16777619;
	struct known *k = &a->known[(h ^ h >> 16) % KNOWN];
	if (strncmp(k->text, text, len) != 0 || k->text[len]) {
		digest(a, text, len, hash);
		put_hex(hash, k->hex);
		memcpy(k->text, text, len);
		k->text[len] = 0;
	}
	memcpy(to, k->hex, HEX);
	return to + HEX;
}

/* pipe:[1], net:[2], anon_inode:[eventfd]: names that the kernel makes. */
static bool is_kernels(const char *path)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyz_";
	size_t n = strspn(path, word);

	if (!n || path[n] != ':' || strlen(path) >= 64)
		return false;
	const char *rest = path + n + 1;
	if (!strncmp(path, "anon_inode:", n + 1))
		return !strchr(rest, '/');
	size_t digits = *rest == '[' ? strspn(rest + 1, "0123456789") : 0;
	return digits && !strcmp(rest + 1 + digits, "]");
}

/* The length of the extension with its dot; 0: none. A name that begins with its only
 * dot has none. */
static size_t extension(const char *name, size_t len)
{
	size_t n = 0;

	while (n < len && n <= EXTENSION && isalnum((unsigned char)name[len - 1 - n]))
		n++;
	return n && n <= EXTENSION && n + 1 < len && name[len - 1 - n] == '.' ? n + 1 : 0;
}

static char *put_component(const struct anon *a, const char *name, size_t len, char *to)
{
	if (*name == '.' && (len == 1 || (len == 2 && name[1] == '.'))) {
		memcpy(to, name, len);
		return to + len;
	}
	return put_name(a, name, len, to);
}

/*
 * The last component with its extension is hashed as a whole, so that it is the same
 * name where something below it is named. A path that is too long loses its slashes from
 * some place on.
 */
const char *anon_path(const struct anon *a, const char *path, char *out)
{
	const char *end = path + text_named(path, strlen(path));
	char *to = out, *limit = out + ANON_MAX - 2 * NAME_MAX_OUT - sizeof(" (deleted)");

	if (is_kernels(path))
		return strcpy(out, path);
	while (path < end) {
		size_t n = strcspn(path, "/");
		if (n > (size_t)(end - path) || to >= limit)
			n = end - path;
		if (!n) {
			*to++ = *path++;
			continue;
		}
		to = put_component(a, path, n, to);
		path += n;
		if (path == end) {
			size_t ext = extension(path - n, n);
			to = mempcpy(to, end - ext, ext);
		}
	}
	strcpy(to, end);
	return out;
}

const char *anon_text(const struct anon *a, const char *text, char *out)
{
	*(*text ? put_name(a, text, strlen(text), out) : out) = 0;
	return out;
}

/* 10.x.x.x, of which 24 bits tell addresses apart. */
static void hide4(const struct anon *a, uint8_t addr[4])
{
	static const uint8_t any[4];
	uint8_t hash[HASH];

	if (addr[0] == 127 || !memcmp(addr, any, 4))
		return;
	digest(a, addr, 4, hash);
	addr[0] = 10;
	memcpy(addr + 1, hash, 3);
}

static void hide6(const struct anon *a, struct in6_addr *addr)
{
	uint8_t *b = addr->s6_addr, hash[HASH];

	if (IN6_IS_ADDR_LOOPBACK(addr) || IN6_IS_ADDR_UNSPECIFIED(addr))
		return;
	if (IN6_IS_ADDR_V4MAPPED(addr)) {
		hide4(a, b + 12);
		return;
	}
	digest(a, b, 16, hash);
	memset(b, 0, 8);
	b[0] = 0xfd;
	memcpy(b + 8, hash, HASH);
}

const char *anon_addr(const struct anon *a, int family, const void *addr, char *out)
{
	struct in6_addr copy;

	*out = 0;
	if (family == AF_INET) {
		memcpy(&copy, addr, 4);
		hide4(a, copy.s6_addr);
	} else if (family == AF_INET6) {
		memcpy(&copy, addr, sizeof(copy));
		hide6(a, &copy);
	} else {
		return out;
	}
	inet_ntop(family, &copy, out, ANON_MAX);
	return out;
}
