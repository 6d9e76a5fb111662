/* mask/entry_stack.c - entries of stacks: follow the texts of a trie from a stack on the hole.
 * Parser states are cached; states used often also cache their successors. */
#include "mask/inner.h"
#include "base/err.h"
#include "automata/work.h"

#include <string.h>

enum { OFTEN = 3, KEEP_STATES = 4096, DEAD = 1, LOOKS = 32 };

static uint32_t hash_state(const struct match_state *at)
{
	uint32_t h = at->n;

	for (uint32_t i = 0; i < at->n; i++)
		h = htab_mix(h, at->top[i]->hash);
	return h;
}

/* True if the hole is, or may be, on top of a stack. */
static int leaves_item(const struct mask *k, const struct match_state *at)
{
	for (uint32_t i = 0; i < at->n; i++)
		if (item_after_end(k->g, at->top[i]) == k->hole)
			return 1;
	return 0;
}

/* Set may[b] for the bytes that can follow: outside of strings only those of JSON. */
static void find_possible_bytes(const struct mask_state *s, uint8_t may[256])
{
	static const char outside[] = " \t\n\r{}[],:\"-+.0123456789eEaflnrstu";

	memset(may, !s->outside, 256);
	for (const char *b = outside; *b; b++)
		may[(uint8_t)*b] = 1;
}

/* True if all stacks are outside of strings. */
static int is_outside(const struct match_state *at)
{
	for (uint32_t i = 0; i < at->n; i++)
		switch (at->top[i]->kind) {
		case ITEM_DONE:
		case ITEM_VALUE:
		case ITEM_LITERAL:
		case ITEM_NUMBER:
		case ITEM_COLON:
		case ITEM_ARRAY:
		case ITEM_OBJECT:
		case ITEM_HOLE:
			break;
		default:
			return 0;
		}
	return 1;
}

void mask_states_drop(struct mask *k)
{
	for (uint32_t i = 0; i < k->n_states; i++) {
		match_drop(k->m, &k->state[i].at);
		slab_free(&k->slab, k->state[i].next);
	}
	k->n_states = 0;
	memset(k->state_bucket, 0xff, STATE_BUCKETS * sizeof *k->state_bucket);
}

/* Find or add a parser state; takes *at_state. */
static int intern_state(struct entry_builder *f, struct match_state *at_state, uint32_t *number)
{
	struct mask *k = f->k;
	const uint32_t hash = hash_state(at_state);
	uint32_t *bucket = k->state_bucket + hash % STATE_BUCKETS, i = *bucket;
	int rc;

	for (; i != NOWHERE; i = k->state[i].chain)
		if (k->state[i].hash == hash && match_same(&k->state[i].at, at_state)) {
			match_drop(k->m, at_state);
			*number = i;
			return INFER_OK;
		}
	rc = builder_grow(f, &k->state, &k->cap_states, k->n_states + 1, sizeof *k->state);
	if (rc) {
		match_drop(k->m, at_state);
		return rc;
	}
	i = *number = k->n_states++;
	k->state[i] = (struct mask_state){ .at = *at_state,
		                           .hash = hash,
		                           .chain = *bucket,
		                           .leaves = leaves_item(k, at_state),
		                           .outside = (uint8_t)is_outside(at_state) };
	*bucket = i;
	return INFER_OK;
}

/* Advance a state by a byte.  *to: DEAD, or the number of the state + 2 */
static int state_step(struct entry_builder *f, uint32_t from, uint8_t b, uint32_t *to)
{
	struct mask_state *s = f->k->state + from;
	struct match_state at = { 0 };
	uint32_t number;
	int rc;

	if (s->next && s->next[b]) {
		*to = s->next[b];
		return INFER_OK;
	}
	if (!s->next && ++s->asked > OFTEN)
		s->next = slab_zalloc(&f->k->slab, 256,
		                      sizeof *s->next); /* NULL: successors are not cached */
	rc = match_copy(f->k->m, &at, &s->at, f->err);
	if (!rc)
		rc = match_byte(f->k->m, &at, b, f->err);
	if (rc || !match_live(&at)) {
		match_drop(f->k->m, &at);
		*to = DEAD;
	} else {
		rc = intern_state(f, &at, &number);
		*to = number + 2;
	}
	s = f->k->state + from;
	if (!rc && s->next)
		s->next[b] = *to;
	return rc;
}

/* -- plain characters ----------------------------------------------------------------------- */

/* True if the set has all plain characters, or none. */
static int has_all_plain_or_none(const struct charset *set)
{
	static const struct dfa_range plain[] = { { 0x20, 0x21 },
		                                  { 0x23, 0x5b },
		                                  { 0x5d, 0x7e },
		                                  { 0x80, 0xd7ff },
		                                  { 0xe000, DFA_MOST_CP } };
	uint32_t all = 0, none = 0;

	for (uint32_t i = 0; i < 5; i++) {
		none += !charset_has(set, plain[i].lo, plain[i].hi);
		all += charset_covers(set, plain[i].lo, plain[i].hi);
	}
	return all == 5 || none == 5;
}

/* True if all plain characters lead to the same state. */
static int is_uniform(const struct mask *k, const struct match_state *at)
{
	for (uint32_t i = 0; i < at->n; i++) {
		const struct stack_item *n = at->top[i];

		if (n == k->hole)
			continue;
		if (n->kind == ITEM_RULE && !n->data[1]) {
			const struct code *c = k->g->code + n->data[0];

			if (c->op == OP_BYTE ||
			    (c->op == OP_CHAR && has_all_plain_or_none(k->g->set + c->a)))
				continue;
		}
		if (n->kind == ITEM_STRING && !n->data[3] && (n->n <= LEFT || n->data[LEFT]) &&
		    item_dfa(k->g, n)->flags[n->data[2]] & DFA_ALL)
			continue;
		return 0;
	}
	return 1;
}

/* Set *safe: so many plain characters, whichever, can follow without ending the item. */
static int find_safe_length(struct entry_builder *f, uint32_t first, uint8_t *safe)
{
	uint32_t state = first, n = 0;

	while (!f->k->state[first].measured) {
		uint32_t to = DEAD;

		if (n < LOOKS && is_uniform(f->k, &f->k->state[state].at))
			TRY(state_step(f, state, 'a', &to));
		f->k->state[first].measured = to == DEAD || f->k->state[to - 2].leaves;
		if (to != DEAD && to - 2 == state) {
			n = TRIE_ANY - 1;
			f->k->state[first].measured = 1;
		} else if (!f->k->state[first].measured) {
			state = to - 2;
			n++;
		}
		f->k->state[first].safe = (uint8_t)n;
	}
	*safe = f->k->state[first].safe;
	return INFER_OK;
}

/* Walk the trie; at: [longest + 1] the state after each depth. */
static int walk_stack(struct entry_builder *f, uint32_t *at)
{
	uint8_t may[256];

	find_possible_bytes(f->k->state + at[0], may);
	for (uint32_t i = 1; (i = builder_next(f, i, may)) < f->t->n_nodes;) {
		const struct trie_node *x = f->t->node + i;
		const struct mask_state *s;
		uint8_t safe = 0;
		uint32_t to;

		if (!builder_charge(f, f->k->state[at[x->depth - 1]].at.n))
			return builder_too_long(f);
		if (x->height != TRIE_ANY)
			TRY(find_safe_length(f, at[x->depth - 1], &safe));
		if (safe && x->height <= safe) {
			builder_allow(f, x->first, f->t->node[x->skip].first);
			i = x->skip;
			continue;
		}
		TRY(state_step(f, at[x->depth - 1], x->byte, &to));
		if (to == DEAD) {
			i = x->skip;
			continue;
		}
		at[x->depth] = to - 2;
		s = f->k->state + to - 2;
		builder_allow(f, x->first, x[1].first);
		if (s->leaves)
			TRY(builder_add_exit(f, i, NOWHERE));
		/* skip the subtree if the item must have ended */
		i = s->leaves && s->at.n == 1 && s->at.top[0] == f->k->hole ? x->skip : i + 1;
	}
	return INFER_OK;
}

int build_stack_entry(struct entry_builder *f)
{
	uint32_t *at = slab_alloc(&f->k->slab, (size_t)f->t->longest + 1, sizeof *at);
	struct match_state at_state = { 0 };
	int rc;

	if (!at)
		return err_nomem(f->err);
	rc = match_reserve(f->k->m, &at_state, 1, f->err);
	if (!rc) {
		at_state.top[at_state.n++] = stack_ref(f->from->stack);
		rc = intern_state(f, &at_state, at);
	}
	if (!rc) {
		f->e->may_leave = f->k->state[at[0]].leaves;
		rc = walk_stack(f, at);
	}
	slab_free(&f->k->slab, at);
	/* parser states of JSON values seldom recur */
	if (f->k->n_states > KEEP_STATES)
		mask_states_drop(f->k);
	return rc;
}
