/*
 * tags.c - fuzz the answers of the tag helper, and with them the records of block traces
 *
 * However a stream is cut up, the answers are the same, and to each record there is one.
 */
#include "fuzz.h"
#include "iops/groups.h"
#include "iops/tags.h"
#include "iops/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* All of it in pieces, each copied so that what lies behind it is out of bounds. */
static int answer(const struct groups *groups, const uint8_t *bytes, size_t len,
	size_t piece, size_t *at, struct wire_out *out)
{
	struct tags *tags = tags_new(groups);
	size_t used, have = 0;
	int err = 0;

	*at = 0;
	FUZZ_CHECK(tags);
	for (; !err && *at + have < len; *at += used) {
		have += piece < len - *at - have ? piece : len - *at - have;
		uint8_t *copy = malloc(have);
		memcpy(copy, bytes + *at, have);
		err = tags_answer(tags, copy, have, &used, out);
		free(copy);
		FUZZ_CHECK(used <= have && have - used < TAGS_RECORD_MAX);
		have -= used;
	}
	tags_free(tags);
	return err;
}

static uint32_t get(const struct wire_out *o, size_t at, bool swapped)
{
	uint32_t n;

	FUZZ_CHECK(at + sizeof(n) <= o->n);
	memcpy(&n, o->p + at, sizeof(n));
	return swapped ? __builtin_bswap32(n) : n;
}

/* As the host reads them. Returns how many ENDs there are. */
static uint64_t ends(const struct wire_out *o, bool swapped)
{
	uint64_t n = 0;
	uint32_t tags = 0;

	for (size_t i = 0; i < o->n;) {
		uint32_t what = get(o, i, swapped);
		FUZZ_CHECK(what <= 2);
		i += 4;
		n += !what;
		if (what == 1) {
			FUZZ_CHECK(get(o, i, swapped) == tags++);
			uint32_t size = get(o, i + 4, swapped);
			i += 8;
			FUZZ_CHECK(size && size <= o->n - i && !o->p[i + size - 1]);
			FUZZ_CHECK(strlen((char *)o->p + i) == size - 1);
			i += size;
		} else if (what == 2) {
			FUZZ_CHECK(get(o, i, swapped) < tags);
			i += 4;
		}
	}
	return n;
}

/* By the layout of version 7 and 8, in which all records that were answered are whole. */
static uint64_t count(const uint8_t *p, size_t len, bool swapped)
{
	uint64_t n = 0;

	for (size_t size; len; p += size, len -= size, n++) {
		uint16_t payload;
		bool wide = p[swapped ? 3 : 0] == 8;
		memcpy(&payload, p + (wide ? 50 : 46), sizeof(payload));
		size = (wide ? 64 : 48) +
		       (size_t)(swapped ? __builtin_bswap16(payload) : payload);
		FUZZ_CHECK(size <= len);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct groups groups = { 0 };
	struct wire_out whole = { 0 }, pieces = { 0 };
	size_t at, at2;

	FUZZ_CHECK(!groups_add(&groups, "some:1,210,212"));
	int err = answer(&groups, bytes, len, len, &at, &whole);
	FUZZ_CHECK(answer(&groups, bytes, len, 1 + len / 7, &at2, &pieces) == err);
	FUZZ_CHECK(at == at2 && whole.n == pieces.n);
	FUZZ_CHECK(!whole.n || !memcmp(whole.p, pieces.p, whole.n));
	bool swapped = at && bytes[0] == 'e';
	FUZZ_CHECK(ends(&whole, swapped) == count(bytes, at, swapped));
	wire_fini(&whole);
	wire_fini(&pieces);
	groups_fini(&groups);
	return 0;
}
