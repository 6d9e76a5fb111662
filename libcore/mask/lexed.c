/* mask/lexed.c - masks of lexed grammars: the terminals of a state decide together. */
#include "mask/query.h"
#include "base/err.h"
#include "automata/work.h"

#include <stdlib.h>
#include <string.h>

enum { DEEP = 64, MOST_TERMINALS = 4096 };

/* a terminal of a state: words of an ITEM_LEX_SET */
struct terminal {
	uint32_t text, flags, state;
};

static struct terminal terminal_of(const struct grammar *g, const struct stack_item *n)
{
	if (n->kind == ITEM_SKIP)
		return (struct terminal){ g->skip, LEX_IS_SKIP, n->data[LEX_STATE] };
	return (struct terminal){ g->code[n->data[LEX_PC]].a,
		                  g->code[n->data[LEX_PC]].b ? LEX_IS_LAZY : 0,
		                  n->data[LEX_STATE] };
}

static int compare_terminals(const void *a, const void *b)
{
	const struct terminal *x = a, *y = b;

	if (x->text != y->text)
		return x->text < y->text ? -1 : 1;
	if (x->flags != y->flags)
		return x->flags < y->flags ? -1 : 1;
	return (x->state > y->state) - (x->state < y->state);
}

static int is_lexeme(const struct stack_item *n)
{
	return n->kind == ITEM_LEX || n->kind == ITEM_SKIP;
}

/* Make the set of the terminals of a state. */
static int make_set(struct mask_query *q, const struct match_state *at, struct stack_item **out)
{
	const struct grammar *g = q->k->g;
	uint32_t *head =
		slab_alloc(q->m->slab, SET_WORDS * (size_t)at->n + SET_FIRST + 1, sizeof *head);
	struct terminal *list = (struct terminal *)(head + SET_FIRST);
	struct stack_item like = { .up = q->k->hole, .kind = ITEM_LEX_SET };
	uint32_t n = 0, k = 0;
	int rc;

	if (!head)
		return err_nomem(q->err);
	head[SET_MODE] = head[SET_ACC] = 0;
	for (uint32_t i = 0; i < at->n; i++)
		if (is_lexeme(at->top[i])) {
			head[SET_MODE] = at->top[i]->data[LEX_MODE];
			head[SET_ACC] = at->top[i]->data[LEX_ACC];
			list[n++] = terminal_of(g, at->top[i]);
		}
	qsort(list, n, sizeof *list, compare_terminals);
	for (uint32_t i = 0; i < n; i++)
		if (!i || compare_terminals(list + i, list + k - 1) != 0)
			list[k++] = list[i];
	like.n = (uint16_t)(SET_FIRST + SET_WORDS * k);
	rc = stack_intern(out, &q->k->m->stacks, &like, head, q->err);
	slab_free(q->m->slab, head);
	return rc;
}

/* True if the set `bits` of terminals of `set` contains that of the stack. */
static int is_in_set(const struct grammar *g, const struct stack_item *set, const uint64_t *bits,
                     const struct stack_item *n)
{
	const struct terminal want = terminal_of(g, n);
	uint32_t lo = 0, hi = lex_set_size(set);

	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2, *word = set->data + SET_FIRST + SET_WORDS * mid;
		const struct terminal x = { word[0], word[1], word[2] };
		const int order = compare_terminals(&x, &want);

		if (!order)
			return bit_get(bits, mid);
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

/* Set s->out to the stacks after the terminals of a set. */
static int end_set(struct mask_query *q, struct step *s, const struct match_state *at,
                   const struct stack_item *set, const uint64_t *bits)
{
	const struct grammar *g = q->k->g;
	int skipped = 0;

	for (uint32_t i = 0; i < at->n; i++)
		skipped |= at->top[i]->kind == ITEM_SKIP && is_in_set(g, set, bits, at->top[i]);
	for (uint32_t i = 0; i < at->n; i++) {
		struct stack_item *n = at->top[i];

		if (!is_lexeme(n) || skipped != (n->kind == ITEM_SKIP) ||
		    !is_in_set(g, set, bits, n))
			continue;
		if (skipped)
			TRY(step_add(s, stack_ref(n->up)));
		else
			TRY(step_enter_rule(s, n->data[LEX_PC] + 1, n->up));
	}
	return skipped && g->skip_once ? INFER_OK : step_add_skips(s);
}

/* Add the tokens of the texts of t after the terminals of set number `end` of e. */
static int fill_after(struct mask_query *q, const struct trie *t, const struct entry *e,
                      const struct match_state *at, const struct stack_item *set, uint32_t end)
{
	struct step s = { q->m, q->k->g, q->m->steps, { 0 }, q->err };
	int rc = end_set(q, &s, at, set, e->lex_set[end].bits);

	if (!rc && s.out.n)
		rc = fill_lexed_state(q, t, &s.out);
	match_drop(q->m, &s.out);
	return rc;
}

/* Add the tokens that begin after the terminals: those whose first byte does not continue one. */
static int fill_leave(struct mask_query *q, const struct trie *t, const struct entry *e,
                      const struct match_state *at, const struct stack_item *set)
{
	uint64_t *own = slab_zalloc(q->m->slab, q->k->words, sizeof *own), *all = q->bits;
	int rc;

	if (!own)
		return err_nomem(q->err);
	q->bits = own;
	rc = fill_after(q, t, e, at, set, e->leave);
	q->bits = all;
	for (uint32_t i = 0; e->begun && i < q->k->words && !rc; i++)
		own[i] &= ~e->begun[i];
	for (int b = 0; b < 256 && !e->begun && !rc; b++) {
		const struct trie_node *x = t->node + t->begin[b];

		if (!e->continues[b] || !t->begin[b])
			continue;
		for (uint32_t i = x->first; i < t->node[x->skip].first; i++)
			bit_clear(own, t->id[i]);
	}
	for (uint32_t i = 0; i < q->k->words && !rc; i++)
		all[i] |= own[i];
	slab_free(q->m->slab, own);
	return rc;
}

static int fill_terminals(struct mask_query *q, const struct trie *t, const struct match_state *at,
                          struct stack_item *set)
{
	struct entry_key key = { .serial = t->serial, .what = set, .kind = ENTRY_LEX };
	const struct entry_source from = { .stack = set };
	struct entry *e;

	TRY(get_entry(q, &e, t, &key, &from));
	TRY(charge_query(q, e->steps + q->k->words / 8));
	for (uint32_t i = 0; e->id && i < e->n; i++)
		bit_set(q->bits, e->id[i]);
	for (uint32_t i = 0; e->bits && i < q->k->words; i++)
		q->bits[i] |= e->bits[i];
	for (uint32_t i = 0; i < e->n_endings; i++)
		if (e->ending[i].rest.n_texts)
			TRY(fill_after(q, &e->ending[i].rest, e, at, set, e->ending[i].slot));
	return e->may_leave ? fill_leave(q, t, e, at, set) : INFER_OK;
}

int fill_lexed_state(struct mask_query *q, const struct trie *t, const struct match_state *at)
{
	uint32_t lexemes = 0, others = 0, last = 0;
	struct stack_item *set;
	int rc;

	TRY(charge_query(q, at->n + 1));
	for (uint32_t i = 0; i < at->n; i++) {
		const struct stack_item *n = at->top[i];

		if (is_lexeme(n)) {
			lexemes++;
		} else if (n->kind != ITEM_DONE &&
		           (n->kind != ITEM_RULE || q->k->g->code[n->data[0]].op != OP_TOKEN)) {
			others++;
			last = i;
		}
	}
	if (!lexemes && others == 1)
		return fill_stack(q, t, at->top[last]);
	if (others || lexemes > MOST_TERMINALS || q->depth > DEEP)
		return fill_state_exact(q, t, at);
	if (!lexemes)
		return INFER_OK;
	TRY(make_set(q, at, &set));
	q->depth++;
	rc = fill_terminals(q, t, at, set);
	q->depth--;
	stack_drop(&q->k->m->stacks, set);
	return rc;
}
