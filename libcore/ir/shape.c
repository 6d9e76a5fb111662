/* ir/shape.c - which goals, arrays, objects and code can be satisfied or completed. */
#include "ir/ir.h"
#include "automata/work.h"

#include <string.h>

/* -- arrays --------------------------------------------------------------------------------- */

uint32_t array_count(const struct array_shape *a, uint32_t c, uint32_t adds)
{
	for (uint32_t i = 0; i < a->n_counters; i++) {
		const struct counter *k = a->counter + i;
		const uint32_t most = k->max == DFA_FOREVER ? k->min : k->max;

		if (!(adds >> i & 1))
			continue;
		if (c / k->stride % (most + 1) < most)
			c += k->stride;
		else if (k->max != DFA_FOREVER)
			return NOWHERE;
	}
	return c;
}

int array_may_end(const struct array_shape *a, uint32_t n, uint32_t c)
{
	if (n < a->min)
		return 0;
	for (uint32_t i = 0; i < a->n_counters; i++) {
		const struct counter *k = a->counter + i;
		const uint32_t most = k->max == DFA_FOREVER ? k->min : k->max;

		if (c / k->stride % (most + 1) < k->min)
			return 0;
	}
	return 1;
}

/* Return the options of element n. */
static const struct options *item_at(const struct array_shape *a, uint32_t n)
{
	return a->item + (n < a->n_prefix ? n : a->n_prefix);
}

static int any_live(const struct grammar *g, const struct options *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (g->goal[o->at[i].goal].live)
			return 1;
	return 0;
}

/* Set a->most, for an array without counters. */
static void find_most_elements(const struct grammar *g, struct array_shape *a)
{
	a->most = 0;
	while (a->most < a->n_prefix && any_live(g, item_at(a, a->most)))
		a->most++;
	if (a->most == a->n_prefix && any_live(g, item_at(a, a->most)))
		a->most = DFA_FOREVER;
	if (a->most > a->max)
		a->most = a->max;
	if (a->most < a->min)
		a->most = 0; /* none can be completed */
}

/* Update a->can for n elements and all counters; *more: an entry has become 1. Counters only increase, so
 * entries that another depends on are updated before it. */
static int update_array_row(struct work *w, const struct grammar *g, struct array_shape *a,
                            uint32_t n, int *more)
{
	const struct options *o = item_at(a, n);
	const uint32_t next = n < a->steady ? n + 1 : n;
	uint8_t *can = a->can + (size_t)n * a->width;

	*more = 0;
	TRY(work_steps(w, (uint64_t)a->width * (o->n + 1)));
	for (uint32_t c = a->width; c--;) {
		int yes = array_may_end(a, n, c);

		for (uint32_t i = 0; i < o->n && !yes && n < a->max; i++) {
			uint32_t to = array_count(a, c, o->at[i].adds);

			yes = g->goal[o->at[i].goal].live && to != NOWHERE &&
			      a->can[(size_t)next * a->width + to];
		}
		*more |= yes && !can[c];
		can[c] |= (uint8_t)yes;
	}
	return INFER_OK;
}

/* Set *live if the array can be completed.  Fills a->can backwards; the last row succeeds
 * itself. */
static int find_array_live(struct work *w, const struct grammar *g, struct array_shape *a,
                           int *live)
{
	int more = 1;

	if (!a->can) {
		find_most_elements(g, a);
		*live = a->most >= a->min;
		return INFER_OK;
	}
	while (more)
		TRY(update_array_row(w, g, a, a->steady, &more));
	for (uint32_t n = a->steady; n--;)
		TRY(update_array_row(w, g, a, n, &more));
	*live = a->can[0];
	return INFER_OK;
}

/* -- objects -------------------------------------------------------------------------------- */

enum { NEVER = 1 << 20 };

/* Return the fewest members beyond the required ones that meet the needs, or NEVER.  used: [depth]
 * slots that are taken for needs met so far */
static uint32_t count_for_needs(const struct grammar *g, const struct object_shape *o,
                                uint32_t needs, const uint32_t *seen, uint32_t *used,
                                uint32_t depth)
{
	uint32_t best = NEVER;
	const uint32_t first = needs & -needs;

	if (!needs)
		return 0;
	for (uint32_t s = 0; s < o->n_slots + o->n_classes && best; s++) {
		const struct options *v =
			s < o->n_slots ? &o->slot[s].value : &o->class[s - o->n_slots].value;
		const uint32_t price = s >= o->n_slots || !o->slot[s].required;
		uint32_t taken = 0;

		if (s < o->n_slots && has_slot(seen, s))
			continue;
		for (uint32_t i = 0; i < depth; i++)
			taken |= s < o->n_slots && used[i] == s;
		for (uint32_t i = 0; i < v->n && !taken; i++) {
			uint32_t c;

			if (!(v->at[i].adds & first) || !g->goal[v->at[i].goal].live)
				continue;
			used[depth] = s;
			c = price +
			    count_for_needs(g, o, needs & ~v->at[i].adds, seen, used, depth + 1);
			best = c < best ? c : best;
		}
	}
	return best;
}

int object_can_complete(const struct grammar *g, const struct object_shape *o,
                        const struct object_state *p)
{
	uint32_t required = 0, used[32], least;
	uint64_t most = 0;

	if (o->easy)
		return 1;
	for (uint32_t s = 0; s < o->n_slots; s++) {
		if (has_slot(p->seen, s))
			continue;
		required += o->slot[s].required != 0;
		most += any_live(g, &o->slot[s].value);
	}
	for (uint32_t c = 0; c < o->n_classes; c++)
		if (any_live(g, &o->class[c].value))
			most = DFA_FOREVER;
	least = required + count_for_needs(g, o, p->needs, p->seen, used, 0);
	return least < NEVER && (uint64_t)p->n + least <= o->max && p->n + most >= o->min;
}

int object_can_begin_with(const struct grammar *g, const struct object_shape *o, uint32_t slot,
                          const struct options *value, uint32_t *seen)
{
	int can = 0;

	for (uint32_t i = 0; i < value->n && !can; i++) {
		if (!g->goal[value->at[i].goal].live)
			continue;
		if (slot != NOWHERE)
			seen[slot / 32] |= UINT32_C(1) << slot % 32;
		can = object_can_complete(
			g, o, &(struct object_state){ 1, o->needs & ~value->at[i].adds, seen });
		if (slot != NOWHERE)
			seen[slot / 32] &= ~(UINT32_C(1) << slot % 32);
	}
	return can;
}

static int find_object_live(struct work *w, const struct grammar *g, struct object_shape *o,
                            int *live)
{
	uint32_t *seen;

	*live = 0;
	TRY(work_steps(w, (uint64_t)o->n_slots + o->n_classes));
	for (uint32_t s = 0; s < o->n_slots; s++)
		if (o->slot[s].required && !any_live(g, &o->slot[s].value))
			return INFER_OK;
	if (o->easy) {
		*live = 1;
		return INFER_OK;
	}
	TRY(work_alloc(w, &seen, o->n_slots / 32 + 1, sizeof *seen));
	*live = object_can_complete(g, o, &(struct object_state){ 0, o->needs, seen });
	return INFER_OK;
}

/* -- all of it ------------------------------------------------------------------------------ */

static int find_alt_live(struct work *w, const struct grammar *g, struct alt *a, int *live)
{
	if (a->type == ALT_ARRAY)
		return find_array_live(w, g, a->array, live);
	if (a->type == ALT_OBJECT)
		return find_object_live(w, g, a->object, live);
	*live = !a->text || !dfa_is_none(a->text);
	return INFER_OK;
}

static void prune_options(const struct grammar *g, struct options *o)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->n; i++)
		if (g->goal[o->at[i].goal].live)
			o->at[n++] = o->at[i];
	o->n = n;
}

static void prune_dead(struct grammar *g)
{
	for (uint32_t i = 0; i < g->n_goals; i++) {
		struct goal *x = g->goal + i;
		uint32_t n = 0;

		for (uint32_t k = 0; k < x->n; k++)
			if (x->alt[k].live)
				x->alt[n++] = x->alt[k];
		x->n = n;
	}
	for (uint32_t i = 0; i < g->n_arrays; i++)
		for (uint32_t k = 0; k <= g->array[i]->n_prefix; k++)
			prune_options(g, g->array[i]->item + k);
	for (uint32_t i = 0; i < g->n_objects; i++) {
		struct object_shape *o = g->object[i];

		for (uint32_t k = 0; k < o->n_slots; k++)
			prune_options(g, &o->slot[k].value);
		for (uint32_t k = 0; k < o->n_classes; k++)
			prune_options(g, &o->class[k].value);
	}
}

int ir_find_live(struct work *w, struct grammar *g)
{
	for (int more = 1; more;) {
		more = 0;
		for (uint32_t i = 0; i < g->n_goals; i++)
			for (uint32_t k = 0; k < g->goal[i].n; k++) {
				struct alt *a = g->goal[i].alt + k;
				int live = a->live;

				TRY(work_steps(w, 1));
				if (!live)
					TRY(find_alt_live(w, g, a, &live));
				/* a copied alternative may be live before its goal */
				if (!live || (a->live && g->goal[i].live))
					continue;
				a->live = 1;
				more |= !g->goal[i].live;
				g->goal[i].live = 1;
			}
	}
	return INFER_OK;
}

int ir_prune(struct work *w, struct grammar *g)
{
	TRY(ir_find_live(w, g));
	/* goals that became live later may allow longer arrays */
	for (uint32_t i = 0; i < g->n_arrays; i++) {
		int live;

		TRY(find_array_live(w, g, g->array[i], &live));
	}
	prune_dead(g);
	return INFER_OK;
}

/* -- code ----------------------------------------------------------------------------------- */

static int reaches_end(const struct grammar *g, const uint8_t *yes, uint32_t pc, int empty)
{
	const struct code *c = g->code + pc;
	const struct dfa *text;

	switch (c->op) {
	case OP_END:
		return 1;
	case OP_SPLIT:
		return yes[c->a] || (c->b != NOWHERE && yes[c->b]);
	case OP_JUMP:
		return yes[c->a];
	case OP_CALL:
		return yes[c->a] && yes[pc + 1];
	case OP_TEXT:
		text = g->plain[c->a];
		return yes[pc + 1] && (empty ? dfa_accepts(text, text->start) : !dfa_is_none(text));
	case OP_VALUE:
		return !empty && yes[pc + 1] && g->goal[c->a].live;
	case OP_CHAR:
		return !empty && yes[pc + 1] && g->set[c->a].n;
	case OP_BYTE:
	case OP_TOKEN:
		return !empty && yes[pc + 1];
	case OP_LEX:
		return !empty && yes[pc + 1] && !dfa_is_none(g->plain[c->a]);
	}
	return 0;
}

int ir_find_ends(struct work *w, const struct grammar *g, uint8_t *yes, int empty)
{
	for (int more = 1; more;) {
		more = 0;
		TRY(work_steps(w, g->n_code));
		for (uint32_t pc = g->n_code; pc--;)
			if (!yes[pc] && reaches_end(g, yes, pc, empty))
				more = yes[pc] = 1;
	}
	return INFER_OK;
}
