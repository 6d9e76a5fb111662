/* base/map.c - a hash table from byte strings to u32. */
#include "base/map.h"
#include <infer/status.h>

#include <string.h>

static uint32_t hash_key(const struct map *m, const char *key, size_t len)
{
	return (uint32_t)sip_hash(&m->sip, key, len);
}

/* Return the slot of key, or the empty slot for it.  There is always an empty one. */
static struct map_slot *find_map_slot(const struct map *m, const char *key, size_t len,
                                      uint32_t hash)
{
	uint32_t i = hash & m->mask;

	for (; m->at[i].key; i = (i + 1) & m->mask)
		if (m->at[i].hash == hash && m->at[i].len == len && !memcmp(m->at[i].key, key, len))
			break;
	return &m->at[i];
}

/* Rehash into `slots` slots, a power of two. */
static int resize(struct map *m, uint64_t slots)
{
	struct map_slot *old = m->at, *at;
	uint64_t n = old ? (uint64_t)m->mask + 1 : 0;

	at = slots <= (uint64_t)1 << 32 ? mem_zalloc(m->who, slots, sizeof *at) : NULL;
	if (!at)
		return INFER_ENOMEM;
	if (!old)
		sip_draw(&m->sip);
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
	if (len > UINT32_MAX || (!m->at && resize(m, 8)))
		return INFER_ENOMEM;
	if (!key) /* NULL means empty */
		key = "";
	uint32_t hash = hash_key(m, key, len);
	uint64_t slots = (uint64_t)m->mask + 1;
	struct map_slot *s = find_map_slot(m, key, len, hash);
	if (s->key)
		return INFER_EINVAL;
	if (m->count >= slots / 4 * 3) {
		if (resize(m, slots * 2))
			return INFER_ENOMEM;
		s = find_map_slot(m, key, len, hash);
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
	s = find_map_slot(m, key ? key : "", len, hash_key(m, key, len));
	return s->key ? &s->value : NULL;
}
