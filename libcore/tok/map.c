/* tok/map.c - hash table from pieces to ids. */
#include "base/mem.h"
#include "tok/key.h"

#include <string.h>

int32_t tok_find(const struct infer_tokenizer *t, const char *s, size_t n, const char *end)
{
	if (!n || n > t->max_len)
		return -1;
	struct tok_key k;
	tok_key(t->secret, &k, s, n, end);
	return tok_map_get(&t->map, &t->piece, &k);
}

int tok_map_new(struct tok_map *m, uint32_t n)
{
	uint64_t slots = 16;

	while (slots < 2 * (uint64_t)n)
		slots *= 2;
	m->mask = (uint32_t)(slots - 1);
	for (m->at = 1; m->at < n + 1; m->at = 2 * m->at + 1)
		;
	m->slot = mem_alloc(MEM_TOK, slots, sizeof *m->slot);
	/* write the pages now: a page that is read before it is written has two page faults */
	if (m->slot)
		memset(m->slot, 0, slots * sizeof *m->slot);
	return m->slot ? INFER_OK : INFER_ENOMEM;
}

/* Pieces are added from the last to the first, so the last of equal pieces counts. */
int tok_map_fill(struct tok_map *m, const struct tok_strings *s, const uint64_t secret[3])
{
	enum { AHEAD = 16 };
	struct tok_key key[AHEAD];
	int duplicates = 0;

	for (uint32_t end = s->n; end;) {
		uint32_t k = end < AHEAD ? end : AHEAD;
		for (uint32_t i = 0; i < k; i++) {
			const struct tok_string *p = &s->at[end - 1 - i];
			tok_key(secret, &key[i], s->base + p->at, p->len, s->end);
			__builtin_prefetch(&m->slot[key[i].hash & m->mask], 1);
		}
		for (uint32_t i = 0; i < k; i++) {
			uint32_t j = key[i].hash & m->mask;
			if (!key[i].n)
				continue;
			while (m->slot[j] && (((m->slot[j] ^ key[i].hash) & ~m->at) ||
			                      !tok_is(s, (m->slot[j] & m->at) - 1, &key[i])))
				j = (j + 1) & m->mask;
			if (m->slot[j])
				duplicates = 1;
			else
				m->slot[j] = (key[i].hash & ~m->at) | (end - i);
		}
		end -= k;
	}
	return duplicates;
}
