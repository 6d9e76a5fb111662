/* engine/token_sets.c - the tokens that a grammar names by id or text, as bits of the vocabulary */
#include "engine/constrain.h"
#include "base/err.h"
#include "base/mem.h"

static void set_bit(uint64_t *bits, int32_t id) { bits[id / 64] |= UINT64_C(1) << id % 64; }

/* Set the bit of the token with this text. */
static int set_named(const struct constraints *c, const struct token_set *set, uint64_t *bits,
                     infer_error *err)
{
	const int32_t id = infer_token_find(c->tok, set->name, set->n);

	if (id < 0 || id >= c->n_vocab)
		return err_set(err, INFER_EEMPTY, "grammar: the model has no token %.*s",
		               set->n < 100 ? (int)set->n : 100, set->name);
	set_bit(bits, id);
	return INFER_OK;
}

static int set_ranges(const struct constraints *c, const struct token_set *set, uint64_t *bits,
                      infer_error *err)
{
	for (uint32_t i = 0; i < set->n_ranges; i++) {
		if (set->range[i].hi >= (uint32_t)c->n_vocab)
			return err_set(err, INFER_EEMPTY, "grammar: the model has no token %u",
			               set->range[i].hi);
		for (uint32_t id = set->range[i].lo; id <= set->range[i].hi; id++)
			set_bit(bits, (int32_t)id);
	}
	return INFER_OK;
}

/* Replace the bits by those of all other tokens that are text. */
static void negate_set(const struct constraints *c, uint64_t *bits)
{
	for (int32_t id = 0; id < c->n_vocab; id++) {
		const char *at;
		size_t n;
		int control;

		constraints_bytes(c, id, &at, &n, &control);
		bits[id / 64] ^= UINT64_C(1) << id % 64;
		if (!n)
			bits[id / 64] &= ~(UINT64_C(1) << id % 64);
	}
}

int token_sets_new(uint64_t **out, const struct constraints *c, const struct grammar *g,
                   infer_error *err)
{
	const size_t words = ((size_t)c->n_vocab + 63) / 64;
	int rc = INFER_OK;

	*out = NULL;
	if (!g->n_token_sets)
		return INFER_OK;
	*out = mem_zalloc(MEM_ENGINE, words * g->n_token_sets, sizeof **out);
	if (!*out)
		return err_nomem(err);
	for (uint32_t i = 0; i < g->n_token_sets && !rc; i++) {
		const struct token_set *set = g->token_set + i;
		uint64_t *bits = *out + i * words;

		rc = set->name ? set_named(c, set, bits, err) : set_ranges(c, set, bits, err);
		if (!rc && set->negated)
			negate_set(c, bits);
	}
	if (rc) {
		mem_free(*out);
		*out = NULL;
	}
	return rc;
}
