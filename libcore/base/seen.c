/* base/seen.c - a set that remembers byte strings. */
#include "base/seen.h"
#include "base/sip.h"
#include <infer/status.h>

#include <string.h>

enum { FIRST = 64 };

static void make_seen_key(const struct seen *s, uint8_t key[16], const void *bytes, size_t n)
{
	struct sha256 h = s->keyed;
	uint8_t all[32];

	sha256_add(&h, bytes, n);
	sha256_end(&h, all);
	memcpy(key, all, 16);
	key[15] |= 1; /* a slot of zeros is empty */
}

/* Return the slot of key, or the empty slot for it. */
static size_t find_seen_slot(const struct seen_half *h, const uint8_t key[16])
{
	static const uint8_t empty[16];
	uint64_t first;
	size_t i;

	memcpy(&first, key, sizeof first);
	for (i = first & (h->cap - 1); memcmp(h->at[i], empty, 16); i = (i + 1) & (h->cap - 1))
		if (!memcmp(h->at[i], key, 16))
			break;
	return i;
}

static int half_has(const struct seen_half *h, const uint8_t key[16])
{
	return h->cap && h->at[find_seen_slot(h, key)][15];
}

/* Double the table if one more entry would make it more than half full. */
static int grow_half(struct seen_half *h, enum mem_module who)
{
	struct seen_half more = { .n = h->n, .cap = h->cap ? 2 * h->cap : FIRST };

	if (2 * (h->n + 1) <= h->cap)
		return INFER_OK;
	more.at = mem_zalloc(who, more.cap, sizeof *more.at);
	if (!more.at)
		return INFER_ENOMEM;
	for (size_t i = 0; i < h->cap; i++)
		if (h->at[i][15])
			memcpy(more.at[find_seen_slot(&more, h->at[i])], h->at[i], 16);
	mem_free(h->at);
	*h = more;
	return INFER_OK;
}

void seen_init(struct seen *s, enum mem_module who, size_t most)
{
	/* the key fills a whole block of the hash, which is processed only here */
	struct sip_key key[4] = { { 0 } };

	*s = (struct seen){ .who = who, .most = most };
	sip_draw(key);
	sha256_init(&s->keyed);
	sha256_add(&s->keyed, key, sizeof key);
}

void seen_fini(struct seen *s)
{
	mem_free(s->young.at);
	mem_free(s->old.at);
	*s = (struct seen){ 0 };
}

int seen_has(const struct seen *s, const void *bytes, size_t n)
{
	uint8_t key[16];

	make_seen_key(s, key, bytes, n);
	return half_has(&s->young, key) || half_has(&s->old, key);
}

int seen_add(struct seen *s, const void *bytes, size_t n)
{
	uint8_t key[16];

	make_seen_key(s, key, bytes, n);
	if (half_has(&s->young, key) || half_has(&s->old, key))
		return INFER_EINVAL;
	if (s->most && s->young.n == s->most) {
		mem_free(s->old.at);
		s->old = s->young;
		s->young = (struct seen_half){ 0 };
	}
	if (grow_half(&s->young, s->who))
		return INFER_ENOMEM;
	memcpy(s->young.at[find_seen_slot(&s->young, key)], key, 16);
	s->young.n++;
	return INFER_OK;
}
