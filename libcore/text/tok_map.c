/* text/tok_map.c - pieces to ids, and the added tokens that text begins with. */
#include <string.h>
#include "base/mem.h"
#include "base/num.h"
#include "text/tok.h"

/* Reads eight bytes at a time, the last eight overlapping what was read before. */
uint32_t tok_hash(const char *s, size_t n)
{
	const uint64_t k0 = UINT64_C(0x9e3779b97f4a7c15), k1 = UINT64_C(0xbf58476d1ce4e5b9), k2 = UINT64_C(0x94d049bb133111eb);
	uint64_t h = n ^ k0, a;

	if (n < 4) {
		a = n ? (uint64_t)(unsigned char)s[0] << 16 | (uint64_t)(unsigned char)s[n / 2] << 8 | (unsigned char)s[n - 1] : 0;
	} else if (n <= 8) {
		a = (uint64_t)num_u32(s) << 32 | num_u32(s + n - 4);
	} else {
		size_t left = n;
		for (; left > 8; s += 8, left -= 8)
			h = tok_mix(h ^ num_u64(s), k1);
		a = num_u64(s + left - 8);
	}
	return (uint32_t)tok_mix(h ^ a, k2);
}

int tok_map_new(struct tok_map *m, uint32_t n)
{
	uint64_t slots = 16;

	while (slots < 2 * (uint64_t)n)
		slots *= 2;
	m->mask = (uint32_t)(slots - 1);
	m->slot = mem_zalloc(MEM_TEXT, slots, sizeof *m->slot);
	return m->slot ? INFER_OK : INFER_ENOMEM;
}

/* From the last to the first, so that of equal pieces a search meets the last one first. */
void tok_map_fill(struct tok_map *m, const struct tok_strings *s)
{
	enum { AHEAD = 16 };
	uint32_t hash[AHEAD];

	for (uint32_t end = s->n; end;) {
		uint32_t k = end < AHEAD ? end : AHEAD;
		for (uint32_t i = 0; i < k; i++) {
			hash[i] = tok_hash(s->base + s->at[end - 1 - i], s->len[end - 1 - i]);
			__builtin_prefetch(&m->slot[hash[i] & m->mask], 1);
		}
		for (uint32_t i = 0; i < k; i++) {
			uint32_t j = hash[i] & m->mask;
			if (!s->len[end - 1 - i])
				continue;
			while (m->slot[j].at)
				j = (j + 1) & m->mask;
			m->slot[j] = (struct tok_slot){ hash[i], end - i };
		}
		end -= k;
	}
}

int32_t tok_map_get(const struct tok_map *m, const struct tok_strings *s, uint32_t hash, const char *key, size_t n)
{
	for (uint32_t j = hash & m->mask; m->slot[j].at; j = (j + 1) & m->mask) {
		uint32_t i = m->slot[j].at - 1;
		if (m->slot[j].hash == hash && s->len[i] == n && !memcmp(s->base + s->at[i], key, n))
			return (int32_t)i;
	}
	return -1;
}

static uint32_t *child(struct tok_trie *trie, uint32_t *list, unsigned char c)
{
	while (*list && trie->node[*list].c != c)
		list = &trie->node[*list].next;
	return list;
}

static int is_added(const struct infer_tokenizer *t, uint32_t i)
{
	return t->piece.len[i] && (t->kind[i] == TOK_USER || t->kind[i] == TOK_CONTROL || t->kind[i] == TOK_UNKNOWN);
}

int tok_trie_new(struct tok_trie *trie, const struct infer_tokenizer *t)
{
	size_t bytes = 1;
	uint32_t n = 1;

	for (uint32_t i = 0; i < t->piece.n; i++)
		bytes += is_added(t, i) ? t->piece.len[i] : 0;
	trie->node = mem_zalloc(MEM_TEXT, bytes, sizeof *trie->node);
	if (!trie->node)
		return INFER_ENOMEM;
	for (uint32_t i = 0; i < t->piece.n; i++) {
		const unsigned char *s = (const unsigned char *)t->piece.base + t->piece.at[i];
		uint32_t *at = &trie->first[s[0]];
		for (uint32_t k = 0; is_added(t, i) && k < t->piece.len[i]; k++) {
			if (k)
				at = child(trie, &trie->node[*at].child, s[k]);
			if (!*at) {
				trie->node[n] = (struct tok_node){ .id = -1, .c = s[k] };
				*at = n++;
			}
			if (k == t->piece.len[i] - 1)
				trie->node[*at].id = (int32_t)i;
		}
	}
	return INFER_OK;
}

void tok_trie_free(struct tok_trie *trie)
{
	mem_free(trie->node);
	trie->node = NULL;
}

int32_t tok_trie_get(const struct tok_trie *trie, const uint8_t *kind, uint32_t kinds, const char *s, size_t n, size_t *len)
{
	uint32_t at = n ? trie->first[(unsigned char)s[0]] : 0;
	int32_t best = -1;

	for (size_t k = 1; at; k++) {
		int32_t id = trie->node[at].id;
		if (id >= 0 && kinds >> kind[id] & 1) {
			best = id;
			*len = k;
		}
		if (k == n)
			break;
		for (at = trie->node[at].child; at && trie->node[at].c != (unsigned char)s[k]; at = trie->node[at].next)
			;
	}
	return best;
}
