/* text/tok_map.c - pieces to ids, and the added tokens that text begins with. */
#include <string.h>
#include "base/mem.h"
#include "text/tok_key.h"

int32_t tok_find(const struct infer_tokenizer *t, const char *s, size_t n, const char *end)
{
	if (!n || n > t->max_len)
		return -1;
	struct tok_key k;
	tok_key(&k, s, n, end);
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
	m->slot = mem_alloc(MEM_TEXT, slots, sizeof *m->slot);
	/* written at once: a page that is read first is mapped twice */
	if (m->slot)
		memset(m->slot, 0, slots * sizeof *m->slot);
	return m->slot ? INFER_OK : INFER_ENOMEM;
}

/* From the last to the first, so that of equal pieces a search meets the last one first. */
int tok_map_fill(struct tok_map *m, const struct tok_strings *s)
{
	enum { AHEAD = 16 };
	struct tok_key key[AHEAD];
	int doubles = 0;

	for (uint32_t end = s->n; end;) {
		uint32_t k = end < AHEAD ? end : AHEAD;
		for (uint32_t i = 0; i < k; i++) {
			const struct tok_string *p = &s->at[end - 1 - i];
			tok_key(&key[i], s->base + p->at, p->len, s->end);
			__builtin_prefetch(&m->slot[key[i].hash & m->mask], 1);
		}
		for (uint32_t i = 0; i < k; i++) {
			uint32_t j = key[i].hash & m->mask;
			if (!key[i].n)
				continue;
			for (; m->slot[j]; j = (j + 1) & m->mask)
				doubles |= !((m->slot[j] ^ key[i].hash) & ~m->at) && tok_is(s, (m->slot[j] & m->at) - 1, &key[i]);
			m->slot[j] = (key[i].hash & ~m->at) | (end - i);
		}
		end -= k;
	}
	return doubles;
}

static uint32_t *child(struct tok_trie *trie, uint32_t *list, unsigned char c)
{
	while (*list && trie->node[*list].c != c)
		list = &trie->node[*list].next;
	return list;
}

static int is_added(const struct infer_tokenizer *t, uint32_t i)
{
	return t->piece.at[i].len && (t->kind[i] == TOK_USER || t->kind[i] == TOK_CONTROL || t->kind[i] == TOK_UNKNOWN);
}

int tok_trie_new(struct tok_trie *trie, const struct infer_tokenizer *t)
{
	size_t bytes = 1;
	uint32_t n = 1;

	for (uint32_t i = 0; i < t->piece.n; i++)
		bytes += is_added(t, i) ? t->piece.at[i].len : 0;
	trie->node = mem_zalloc(MEM_TEXT, bytes, sizeof *trie->node);
	if (!trie->node)
		return INFER_ENOMEM;
	for (uint32_t i = 0; i < t->piece.n; i++) {
		const unsigned char *s = (const unsigned char *)t->piece.base + t->piece.at[i].at;
		uint32_t *at = is_added(t, i) ? &trie->first[s[0]] : NULL;
		for (uint32_t k = 0; at && k < t->piece.at[i].len; k++) {
			if (k)
				at = child(trie, &trie->node[*at].child, s[k]);
			if (!*at) {
				trie->node[n] = (struct tok_node){ .id = -1, .c = s[k] };
				*at = n++;
			}
			if (k == t->piece.at[i].len - 1)
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
