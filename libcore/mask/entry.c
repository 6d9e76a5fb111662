/* mask/entry.c - complete an entry: allowed tokens, and remaining bytes after the end of the
 * item. */
#include "mask/inner.h"
#include "base/err.h"
#include "automata/work.h"

#include <stdlib.h>
#include <string.h>

int builder_too_long(struct entry_builder *f)
{
	return err_set(f->err, INFER_EUNSUP, "a mask of the vocabulary needs too many steps");
}

void builder_allow(struct entry_builder *f, uint32_t a, uint32_t b)
{
	for (const uint32_t *id = f->t->id; a < b; a++)
		builder_allow_token(f, id[a]);
}

int builder_grow(struct entry_builder *f, void *p, uint32_t *cap, uint32_t need, size_t size)
{
	const uint32_t more = *cap * 2 > need ? *cap * 2 : need + 16;
	void *old, *at;

	if (need <= *cap)
		return INFER_OK;
	memcpy(&old, p, sizeof old);
	at = slab_realloc(&f->k->slab, old, more, size);
	if (!at)
		return err_nomem(f->err);
	memcpy(p, &at, sizeof at);
	*cap = more;
	return INFER_OK;
}

int builder_add_exit(struct entry_builder *f, uint32_t node, uint32_t slot)
{
	TRY(builder_grow(f, &f->exit, &f->cap_exits, f->n_exits + 1, sizeof *f->exit));
	f->exit[f->n_exits++] = (struct entry_exit){ node, slot, 0 };
	return INFER_OK;
}

static int compare_exits(const void *x, const void *y)
{
	const struct entry_exit *a = x, *b = y;

	if (a->slot != b->slot)
		return (a->slot > b->slot) - (a->slot < b->slot);
	return (a->node > b->node) - (a->node < b->node);
}

/* Return the first text with bytes that remain after the exit. */
static uint32_t rest_begin(const struct trie *t, const struct entry_exit *x)
{
	return x->before ? t->node[x->node].first : trie_end(t, x->node);
}

/* Build the trie of the texts that remain after exits a ... b - 1. */
static int make_rest(struct entry_builder *f, struct ending *to, uint32_t a, uint32_t b)
{
	const struct trie *t = f->t;
	struct trie_text *text;
	uint64_t most = 0;
	uint32_t n = 0;

	for (uint32_t i = a; i < b; i++)
		most += t->node[t->node[f->exit[i].node].skip].first - rest_begin(t, f->exit + i);
	if (!builder_charge(f, most) || most > UINT32_MAX)
		return builder_too_long(f);
	if (!most)
		return INFER_OK;
	text = slab_alloc(&f->k->slab, most, sizeof *text);
	if (!text)
		return err_nomem(f->err);
	for (uint32_t i = a; i < b; i++) {
		const struct trie_node *x = t->node + f->exit[i].node;
		const uint32_t cut = x->depth - (uint32_t)f->exit[i].before;

		for (uint32_t k = rest_begin(t, f->exit + i); k < t->node[x->skip].first; k++)
			text[n++] = (struct trie_text){ t->text[k].at + cut, t->text[k].n - cut,
				                        t->text[k].id };
	}
	TRY(trie_make(&to->rest, text, n, &f->k->slab, f->err));
	to->rest.serial = ++f->k->serial;
	for (uint32_t i = a + 1; i < b; i++)
		to->rest.twice |= f->exit[i].node < t->node[f->exit[i - 1].node].skip;
	f->e->bytes += to->rest.bytes;
	return INFER_OK;
}

/* List the tokens that end exactly at exits a ... b - 1. */
static int list_exact(struct entry_builder *f, struct ending *to, uint32_t a, uint32_t b)
{
	const struct trie *t = f->t;
	uint32_t n = 0;

	for (uint32_t i = a; i < b; i++)
		n += trie_end(t, f->exit[i].node) - t->node[f->exit[i].node].first;
	to->id = slab_alloc(&f->k->slab, (size_t)n + 1, sizeof *to->id);
	if (!to->id)
		return err_nomem(f->err);
	f->e->bytes += n * sizeof *to->id;
	for (uint32_t i = a; i < b; i++)
		for (uint32_t k = t->node[f->exit[i].node].first; k < trie_end(t, f->exit[i].node);
		     k++)
			to->id[to->n++] = t->text[k].id;
	return INFER_OK;
}

static int make_endings(struct entry_builder *f)
{
	const int names = f->e->key.kind == ENTRY_NAME || f->e->key.kind == ENTRY_SLOTS;
	uint32_t n = 0, k;

	if (!f->n_exits)
		return INFER_OK;
	if (f->e->key.kind == ENTRY_SLOTS || f->e->key.kind == ENTRY_LEX)
		qsort(f->exit, f->n_exits, sizeof *f->exit, compare_exits);
	for (uint32_t i = 0; i < f->n_exits; i++)
		n += !i || f->exit[i].slot != f->exit[i - 1].slot;
	f->e->ending = slab_zalloc(&f->k->slab, n, sizeof *f->e->ending);
	if (!f->e->ending)
		return err_nomem(f->err);
	f->e->bytes += n * sizeof *f->e->ending;
	for (uint32_t i = 0; i < f->n_exits; i = k) {
		struct ending *to = f->e->ending + f->e->n_endings++;

		for (k = i + 1; k < f->n_exits && f->exit[k].slot == f->exit[i].slot;)
			k++;
		to->slot = f->exit[i].slot;
		if (names)
			TRY(list_exact(f, to, i, k));
		TRY(make_rest(f, to, i, k));
	}
	return INFER_OK;
}

/* Move *at to the next word of scratch that is not zero.  Returns 0 if there is none. */
static int next_word(const struct mask *k, uint32_t *at)
{
	while (*at < k->words) {
		const uint64_t left = k->touched[*at / 64] >> *at % 64;

		if (left) {
			*at += (uint32_t)__builtin_ctzll(left);
			return 1;
		}
		*at = (*at / 64 + 1) * 64;
	}
	return 0;
}

void builder_clear(struct mask *k)
{
	for (uint32_t i = 0; next_word(k, &i); i++)
		k->scratch[i] = 0;
	memset(k->touched, 0, (k->words / 64 + 1) * sizeof *k->touched);
}

static int store_tokens(struct entry_builder *f)
{
	const uint32_t words = f->k->words;
	const uint64_t *from = f->k->scratch;
	struct entry *e = f->e;
	uint32_t n = 0;

	for (uint32_t i = 0; next_word(f->k, &i) && e->n <= words; i++)
		e->n += (uint32_t)__builtin_popcountll(from[i]);
	if (e->n > words) {
		e->bits = slab_alloc(&f->k->slab, words, sizeof *e->bits);
		if (!e->bits)
			return err_nomem(f->err);
		memcpy(e->bits, from, words * sizeof *e->bits);
		e->bytes += words * sizeof *e->bits;
		return INFER_OK;
	}
	e->id = slab_alloc(&f->k->slab, (size_t)e->n + 1, sizeof *e->id);
	if (!e->id)
		return err_nomem(f->err);
	e->bytes += e->n * sizeof *e->id;
	for (uint32_t i = 0; next_word(f->k, &i); i++)
		for (uint64_t w = from[i]; w; w &= w - 1)
			e->id[n++] = i * 64 + (uint32_t)__builtin_ctzll(w);
	return INFER_OK;
}

int builder_finish(struct entry_builder *f)
{
	struct entry *e = f->e;

	e->bytes += sizeof *e + e->n_slots * sizeof *e->slot + e->n_partial * sizeof *e->partial;
	TRY(store_tokens(f));
	return make_endings(f);
}

void entry_free(struct mask *k, struct entry *e)
{
	for (uint32_t i = 0; i < e->n_endings; i++) {
		trie_fini(&e->ending[i].rest);
		slab_free(&k->slab, e->ending[i].id);
	}
	for (uint32_t i = 0; i < e->n_lex_sets; i++)
		slab_free(&k->slab, e->lex_set[i].bits);
	slab_free(&k->slab, e->lex_set);
	slab_free(&k->slab, e->continues);
	slab_free(&k->slab, e->begun);
	slab_free(&k->slab, e->ending);
	slab_free(&k->slab, e->slot);
	slab_free(&k->slab, e->partial);
	slab_free(&k->slab, e->id);
	slab_free(&k->slab, e->bits);
	slab_free(&k->slab, e);
}
