/* grammar/vocab.c - masks of a vocabulary, by the beginnings that its tokens share. */
#include "grammar/vocab.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	const char *at;
	uint32_t n, id;
	uint32_t shared; /* bytes that it has in common with the one before it */
};

struct vocab {
	uint32_t n, n_tokens, longest;
	struct entry *entry; /* [n] by their bytes */
	char *bytes;
};

static int by_bytes(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	const int cmp = memcmp(a->at, b->at, a->n < b->n ? a->n : b->n);

	if (cmp)
		return cmp;
	return a->n != b->n ? (a->n > b->n) - (a->n < b->n) : (a->id > b->id) - (a->id < b->id);
}

static void fill(struct vocab *v, const struct vocab_token *tokens)
{
	char *to = v->bytes;

	for (uint32_t id = 0; id < v->n_tokens; id++) {
		const struct vocab_token *t = tokens + id;

		if (!t->n)
			continue;
		memcpy(to, t->at, t->n);
		v->entry[v->n++] = (struct entry){ .at = to, .n = t->n, .id = id };
		to += t->n;
		v->longest = t->n > v->longest ? t->n : v->longest;
	}
	qsort(v->entry, v->n, sizeof *v->entry, by_bytes);
	for (uint32_t i = 1; i < v->n; i++) {
		const struct entry *a = v->entry + i - 1;
		struct entry *b = v->entry + i;

		while (b->shared < a->n && b->shared < b->n && a->at[b->shared] == b->at[b->shared])
			b->shared++;
	}
}

int vocab_new(struct vocab **out, const struct vocab_token *tokens, uint32_t n, infer_error *err)
{
	struct vocab *v = mem_zalloc(MEM_GRAMMAR, 1, sizeof *v);
	size_t bytes = 0;

	*out = NULL;
	for (uint32_t i = 0; i < n; i++)
		bytes += tokens[i].n;
	if (v) {
		v->n_tokens = n;
		v->entry = mem_zalloc(MEM_GRAMMAR, (size_t)n + 1, sizeof *v->entry);
		v->bytes = mem_alloc(MEM_GRAMMAR, bytes + 1, 1);
	}
	if (!v || !v->entry || !v->bytes) {
		vocab_free(v);
		return err_set(err, INFER_ENOMEM, "out of memory");
	}
	fill(v, tokens);
	*out = v;
	return INFER_OK;
}

void vocab_free(struct vocab *v)
{
	if (!v)
		return;
	mem_free(v->entry);
	mem_free(v->bytes);
	mem_free(v);
}

uint32_t vocab_words(const struct vocab *v) { return (v->n_tokens + 31) / 32; }

/* place[k]: after k bytes of the token, for the first `known` ones; dead: after so many there was no
 * way on, for every token that begins so */
static int walk(const struct vocab *v, struct match *m, struct match_at *place, uint32_t *bits,
                struct grammar_budget *left, infer_error *err)
{
	uint32_t known = 0, dead = UINT32_MAX;

	for (uint32_t i = 0; i < v->n; i++) {
		const struct entry *e = v->entry + i;

		known = e->shared < known ? e->shared : known;
		if (e->shared >= dead)
			continue;
		dead = UINT32_MAX;
		for (; known < e->n && dead == UINT32_MAX; known++) {
			const uint64_t steps = (uint64_t)place[known].n + 1;

			if (steps > left->steps)
				return err_set(err, INFER_EUNSUP,
				               "a mask of the vocabulary needs too many steps");
			left->steps -= steps;
			TRY(match_copy(m, place + known + 1, place + known, err));
			TRY(match_byte(m, place + known + 1, (uint8_t)e->at[known], err));
			if (!match_live(place + known + 1))
				dead = known + 1;
		}
		if (dead == UINT32_MAX)
			bits[e->id / 32] |= UINT32_C(1) << e->id % 32;
	}
	return INFER_OK;
}

int vocab_mask(const struct vocab *v, struct match *m, const struct match_at *at, uint32_t *bits,
               struct grammar_budget *left, infer_error *err)
{
	struct match_at *place = mem_zalloc(MEM_GRAMMAR, (size_t)v->longest + 1, sizeof *place);
	int rc;

	memset(bits, 0, vocab_words(v) * sizeof *bits);
	if (!place)
		return err_set(err, INFER_ENOMEM, "out of memory");
	rc = match_copy(m, place, at, err);
	if (!rc && match_live(at))
		rc = walk(v, m, place, bits, left, err);
	for (uint32_t i = 0; i <= v->longest; i++)
		match_drop(m, place + i);
	mem_free(place);
	if (rc)
		memset(bits, 0, vocab_words(v) * sizeof *bits);
	return rc;
}
