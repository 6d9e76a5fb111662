/* mask/vocab.c - vocabularies, and token masks by walking the trie of all tokens. */
#include "mask/vocab.h"
#include "base/err.h"
#include "base/mem.h"
#include "mask/inner.h"

#include <string.h>

struct vocab {
	struct slab heap;
	uint32_t n_tokens;
	char *bytes;
	/* tries of all tokens; of tokens with a quote, with a quote or \; bits: these tokens */
	struct trie trie, quotes[2];
	uint64_t *quoted[2];
};

static int make_quotes(struct vocab *v, int escapes, infer_error *err)
{
	const struct trie *t = &v->trie;
	struct trie_text *text = mem_alloc(MEM_GRAMMAR, (size_t)t->n_texts + 1, sizeof *text);
	uint64_t *bits = mem_zalloc(MEM_GRAMMAR, vocab_words(v) + 1, sizeof *bits);
	uint32_t n = 0;

	v->quoted[escapes] = bits;
	if (!text || !bits) {
		mem_free(text);
		return err_nomem(err);
	}
	for (uint32_t i = 0; i < t->n_texts; i++)
		if (memchr(t->text[i].at, '"', t->text[i].n) ||
		    (escapes && memchr(t->text[i].at, '\\', t->text[i].n))) {
			text[n++] = t->text[i];
			bit_set(bits, t->text[i].id);
		}
	return trie_make(v->quotes + escapes, text, n, &v->heap, err);
}

/* Build the tries; takes text. */
static int build_tries(struct vocab *v, struct trie_text *text, const struct vocab_token *tokens,
                       infer_error *err)
{
	char *to = v->bytes;
	uint32_t n = 0;

	for (uint32_t id = 0; id < v->n_tokens; id++) {
		const struct vocab_token *t = tokens + id;

		if (!t->n)
			continue;
		memcpy(to, t->at, t->n);
		text[n++] = (struct trie_text){ to, t->n, id };
		to += t->n;
	}
	TRY(trie_make(&v->trie, text, n, &v->heap, err));
	TRY(make_quotes(v, 0, err));
	TRY(make_quotes(v, 1, err));
	return trie_split(&v->trie, vocab_words(v), err);
}

int vocab_new(struct vocab **out, const struct vocab_token *tokens, uint32_t n, infer_error *err)
{
	struct vocab *v = mem_zalloc(MEM_GRAMMAR, 1, sizeof *v);
	struct trie_text *text = mem_alloc(MEM_GRAMMAR, (size_t)n + 1, sizeof *text);
	size_t bytes = 0;
	int rc;

	*out = NULL;
	for (uint32_t i = 0; i < n; i++)
		bytes += tokens[i].n;
	if (v) {
		slab_init_heap(&v->heap, MEM_GRAMMAR);
		v->n_tokens = n;
		v->bytes = mem_alloc(MEM_GRAMMAR, bytes + 1, 1);
	}
	if (!v || !text || !v->bytes) {
		mem_free(text);
		vocab_free(v);
		return err_nomem(err);
	}
	rc = build_tries(v, text, tokens, err);
	if (rc)
		vocab_free(v);
	else
		*out = v;
	return rc;
}

void vocab_free(struct vocab *v)
{
	if (!v)
		return;
	trie_fini(&v->trie);
	for (int i = 0; i < 2; i++) {
		trie_fini(v->quotes + i);
		mem_free(v->quoted[i]);
	}
	mem_free(v->bytes);
	mem_free(v);
}

uint32_t vocab_words(const struct vocab *v) { return (v->n_tokens + 63) / 64; }
const struct trie *vocab_trie(const struct vocab *v) { return &v->trie; }
const struct trie *vocab_quotes(const struct vocab *v, int escapes) { return v->quotes + escapes; }
const uint64_t *vocab_quoted(const struct vocab *v, int escapes) { return v->quoted[escapes]; }

/* Walk the trie; state[k]: the state after k bytes. */
static int walk_vocab(const struct trie *t, struct match *m, struct match_state *state,
                      uint64_t *bits, struct budget *left, infer_error *err)
{
	for (uint32_t i = 1; i < t->n_nodes;) {
		const struct trie_node *x = t->node + i;
		struct match_state *to = state + x->depth;
		const uint64_t steps = (uint64_t)to[-1].n + 1;

		if (steps > left->steps)
			return err_set(err, INFER_EUNSUP,
			               "a mask of the vocabulary needs too many steps");
		left->steps -= steps;
		TRY(match_copy(m, to, to - 1, err));
		TRY(match_byte(m, to, x->byte, err));
		if (!match_live(to)) {
			i = x->skip;
			continue;
		}
		for (uint32_t k = x->first; k < trie_end(t, i); k++)
			bits[t->text[k].id / 64] |= UINT64_C(1) << t->text[k].id % 64;
		i++;
	}
	return INFER_OK;
}

int vocab_walk(const struct trie *t, struct match *m, const struct match_state *at, uint64_t *bits,
               struct budget *left, infer_error *err)
{
	struct match_state *state = slab_zalloc(m->slab, (size_t)t->longest + 1, sizeof *state);
	int rc;

	if (!state)
		return err_nomem(err);
	rc = match_copy(m, state, at, err);
	if (!rc && match_live(at))
		rc = walk_vocab(t, m, state, bits, left, err);
	for (uint32_t i = 0; i <= t->longest; i++)
		match_drop(m, state + i);
	slab_free(m->slab, state);
	return rc;
}

int vocab_mask(const struct vocab *v, struct match *m, const struct match_state *at, uint64_t *bits,
               struct budget *left, infer_error *err)
{
	const size_t bytes = (size_t)vocab_words(v) * sizeof *bits;
	int rc;

	memset(bits, 0, bytes);
	rc = vocab_walk(&v->trie, m, at, bits, left, err);
	if (rc)
		memset(bits, 0, bytes);
	return rc;
}
