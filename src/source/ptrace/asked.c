/*
 * asked.c - how many bytes vectors and messages ask for
 */
#include "asked.h"
#include "tracer.h"

#include <string.h>

const struct layout layouts[NABI] = {
	[ABI_X86_64] = { 8, 16, 16, 24, 64, 56 },
	[ABI_I386] = { 4, 8, 8, 12, 32, 28 },
	[ABI_AARCH64] = { 8, 16, 16, 24, 64, 56 },
};

enum { MAX_VEC = 1024 /* IOV_MAX: more is EINVAL */ };

uint64_t word_at(const struct layout *l, const uint8_t *p)
{
	uint64_t wide;
	uint32_t narrow;

	if (l->word == 8)
		return memcpy(&wide, p, 8), wide;
	return memcpy(&narrow, p, 4), narrow;
}

uint64_t asked_vec(const struct task *k, uint64_t at, uint64_t n)
{
	const struct layout *l = &layouts[k->call.abi];
	uint8_t buf[MAX_VEC * 16];
	uint64_t sum = 0;

	if (!n || n > MAX_VEC ||
		task_read(k, at, buf, n * l->vec) != (ssize_t)(n * l->vec))
		return 0;
	for (uint64_t i = 0; i < n; i++)
		sum += word_at(l, buf + i * l->vec + l->word);
	return sum;
}

uint64_t asked_msg_beside(const struct task *k, uint64_t at)
{
	const struct layout *l = &layouts[k->call.abi];
	uint8_t msg[64];
	uint32_t name;

	if (task_read(k, at, msg, l->mmsg_bytes) != l->mmsg_bytes)
		return 0;
	memcpy(&name, msg + l->word, sizeof(name));
	return name + word_at(l, msg + l->msg_len + 2 * l->word);
}

uint64_t asked_msg(const struct task *k, uint64_t at)
{
	const struct layout *l = &layouts[k->call.abi];
	uint8_t msg[64];

	if (task_read(k, at, msg, l->mmsg_bytes) != l->mmsg_bytes)
		return 0;
	return asked_vec(k, word_at(l, msg + l->msg_vec), word_at(l, msg + l->msg_len));
}
