/* base/map.c */
#include "base/map.h"
#include "base/num.h"

#include <infer/status.h>

#include <string.h>

/* Both halves of a 128-bit product depend on all bits of both factors. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t map_hash(const void *bytes, size_t n)
{
	const uint64_t k0 = 0x9e3779b97f4a7c15, k1 = 0xbf58476d1ce4e5b9, k2 = 0x94d049bb133111eb;
	const unsigned char *p = bytes;
	uint64_t h = mix(n ^ k0, k1), last = 0;

	for (; n >= 8; p += 8, n -= 8)
		h = mix(h ^ num_u64(p) ^ k2, k1 ^ h >> 32);
	if (n)
		memcpy(&last, p, n);
	return mix(h ^ last ^ k0, k2);
}

/* The slot of key, or the empty one where it would go.  There is always an empty one. */
static struct map_slot *find(const struct map *m, const char *key, size_t len, uint32_t hash)
{
	uint32_t i = hash & m->mask;

	for (; m->at[i].key; i = (i + 1) & m->mask)
		if (m->at[i].hash == hash && m->at[i].len == len && !memcmp(m->at[i].key, key, len))
			break;
	return &m->at[i];
}

/* slots: a power of two */
static int resize(struct map *m, uint64_t slots)
{
	struct map_slot *old = m->at, *at;
	uint64_t n = old ? (uint64_t)m->mask + 1 : 0;

	at = slots <= (uint64_t)1 << 32 ? mem_zalloc(m->who, slots, sizeof *at) : NULL;
	if (!at)
		return INFER_ENOMEM;
	m->at = at;
	m->mask = (uint32_t)(slots - 1);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t j = old[i].hash & m->mask;

		if (!old[i].key)
			continue;
		while (at[j].key)
			j = (j + 1) & m->mask;
		at[j] = old[i];
	}
	mem_free(old);
	return INFER_OK;
}

int map_init(struct map *m, enum mem_module who, uint32_t expect)
{
	uint64_t slots = 8;

	while (slots / 4 * 3 < expect)
		slots *= 2;
	*m = (struct map){ .who = who };
	return resize(m, slots);
}

void map_fini(struct map *m)
{
	mem_free(m->at);
	*m = (struct map){ .who = m->who };
}

int map_put(struct map *m, const char *key, size_t len, uint32_t value)
{
	uint32_t hash = (uint32_t)map_hash(key, len);
	struct map_slot *s;
	uint64_t slots = m->at ? (uint64_t)m->mask + 1 : 4;

	if (len > UINT32_MAX)
		return INFER_ENOMEM;
	if (!key)   /* NULL means empty */
		key = "";
	s = m->at ? find(m, key, len, hash) : NULL;
	if (s && s->key)
		return INFER_EINVAL;
	if (!s || m->count >= slots / 4 * 3) {
		if (resize(m, slots * 2))
			return INFER_ENOMEM;
		s = find(m, key, len, hash);
	}
	*s = (struct map_slot){ key, (uint32_t)len, hash, value };
	m->count++;
	return INFER_OK;
}

const uint32_t *map_get(const struct map *m, const char *key, size_t len)
{
	const struct map_slot *s;

	if (!m->at || len > UINT32_MAX)
		return NULL;
	s = find(m, key ? key : "", len, (uint32_t)map_hash(key, len));
	return s->key ? &s->value : NULL;
}
