/* grammar/parts_merge.c - a compiled grammar as a part: its goals and code are appended to those of the
 * grammar that is being built. */
#include "base/err.h"
#include "grammar/parts_tree.h"

#include <string.h>

/* A grammar that is appended, and the numbers that its first goal, array and object get. */
struct merge {
	struct parts *p;
	struct grammar from;
	uint32_t goal, array, object;
};

/* Set *to to a copy of n elements. */
static int copy_elements(struct merge *m, void *to, const void *from, uint64_t n, size_t size)
{
	void *copy = NULL;

	TRY(work_alloc(&m->p->w, &copy, n + 1, size));
	if (n)
		memcpy(copy, from, n * size);
	memcpy(to, &copy, sizeof copy);
	return INFER_OK;
}

/* Options may be shared between members, so they are copied. */
static int renumber_options(struct merge *m, struct options *o)
{
	TRY(copy_elements(m, &o->at, o->at, o->n, sizeof *o->at));
	for (uint32_t i = 0; i < o->n; i++)
		o->at[i].goal += m->goal;
	return INFER_OK;
}

static int merge_arrays(struct merge *m)
{
	struct grammar *g = m->p->g;
	const uint32_t n = m->from.n_arrays;

	TRY(work_grow(&m->p->w, &g->array, &g->cap_arrays, (uint64_t)g->n_arrays + n,
	              sizeof *g->array));
	for (uint32_t i = 0; i < n; i++) {
		struct array_shape *a = m->from.array[i];

		TRY(copy_elements(m, &a->item, a->item, (uint64_t)a->n_prefix + 1,
		                  sizeof *a->item));
		for (uint32_t k = 0; k <= a->n_prefix; k++)
			TRY(renumber_options(m, a->item + k));
		g->array[g->n_arrays++] = a;
	}
	return INFER_OK;
}

static int merge_objects(struct merge *m)
{
	struct grammar *g = m->p->g;
	const uint32_t n = m->from.n_objects;

	TRY(work_grow(&m->p->w, &g->object, &g->cap_objects, (uint64_t)g->n_objects + n,
	              sizeof *g->object));
	for (uint32_t i = 0; i < n; i++) {
		struct object_shape *o = m->from.object[i];

		TRY(copy_elements(m, &o->slot, o->slot, o->n_slots, sizeof *o->slot));
		for (uint32_t k = 0; k < o->n_slots; k++)
			TRY(renumber_options(m, &o->slot[k].value));
		TRY(copy_elements(m, &o->class, o->class, o->n_classes, sizeof *o->class));
		for (uint32_t k = 0; k < o->n_classes; k++)
			TRY(renumber_options(m, &o->class[k].value));
		g->object[g->n_objects++] = o;
	}
	return INFER_OK;
}

static int merge_goals(struct merge *m)
{
	struct grammar *g = m->p->g;
	const uint32_t n = m->from.n_goals;

	TRY(work_grow(&m->p->w, &g->goal, &g->cap_goals, (uint64_t)g->n_goals + n,
	              sizeof *g->goal));
	for (uint32_t i = 0; i < n; i++) {
		struct goal *x = m->from.goal + i;

		TRY(copy_elements(m, &x->alt, x->alt, x->n, sizeof *x->alt));
		x->cap = x->n;
		for (uint32_t k = 0; k < x->n; k++)
			if (x->alt[k].type == ALT_ARRAY)
				x->alt[k].shape += m->array;
			else if (x->alt[k].type == ALT_OBJECT)
				x->alt[k].shape += m->object;
		g->goal[g->n_goals++] = *x;
	}
	return INFER_OK;
}

/* Append the sets and automata that an instruction refers to, and set its operands. */
static int merge_operands(struct merge *m, struct code *c, uint32_t first)
{
	struct parts *p = m->p;

	switch (c->op) {
	case OP_CHAR:
		TRY(work_grow(&p->w, &p->set, &p->cap_sets, p->n_sets + 1, sizeof *p->set));
		p->set[p->n_sets] = m->from.set[c->a];
		c->a = p->n_sets++;
		return INFER_OK;
	case OP_TEXT:
		TRY(work_grow(&p->w, &p->g->plain, &p->cap_plain, p->n_plain + 1,
		              sizeof *p->g->plain));
		p->g->plain[p->n_plain] = m->from.plain[c->a];
		c->a = p->n_plain++;
		return INFER_OK;
	case OP_SPLIT:
		c->b += c->b == NOWHERE ? 0 : first;
		c->a += first;
		return INFER_OK;
	case OP_JUMP:
	case OP_CALL:
		c->a += first;
		return INFER_OK;
	case OP_VALUE:
		c->a += m->goal;
		return INFER_OK;
	case OP_TOKEN:
		TRY(work_grow(&p->w, &p->g->token_set, &p->cap_token_sets, p->g->n_token_sets + 1,
		              sizeof *p->g->token_set));
		p->g->token_set[p->g->n_token_sets] = m->from.token_set[c->a];
		c->a = p->g->n_token_sets++;
		return INFER_OK;
	case OP_END:
	case OP_BYTE:
	case OP_LEX: /* refused by parts_grammar */
		break;
	}
	return INFER_OK;
}

/* Append the code of the grammar; *start: its first instruction. */
static int merge_code(struct merge *m, uint32_t *start)
{
	const uint32_t first = m->p->n_code;

	for (uint32_t i = 0; i < m->from.n_code; i++) {
		struct code c = m->from.code[i];

		TRY(merge_operands(m, &c, first));
		TRY(piece_emit(m->p, c.op, c.a, c.b));
	}
	*start = first + m->from.root;
	return INFER_OK;
}

/* Take the memory and the automata of the grammar. */
static int adopt_memory(struct merge *m, struct grammar *from)
{
	struct grammar *g = m->p->g;
	struct work *w = &m->p->w;
	int rc = work_grow(w, &g->dfa, &g->cap_dfas, (uint64_t)g->n_dfas + from->n_dfas,
	                   sizeof *g->dfa);

	if (rc) {
		ir_drop(from, w->left);
		return rc;
	}
	m->from = *from;
	for (uint32_t i = 0; i < m->from.n_dfas; i++)
		g->dfa[g->n_dfas++] = m->from.dfa[i];
	w->taken += m->from.bytes;
	arena_adopt(&w->mem, &m->from.mem);
	return INFER_OK;
}

static int merge_all(struct merge *m, struct piece *x)
{
	x->kind = m->from.code ? PIECE_CODE : PIECE_VALUE;
	x->a = m->goal + m->from.root;
	TRY(merge_arrays(m));
	TRY(merge_objects(m));
	TRY(merge_goals(m));
	return m->from.code ? merge_code(m, &x->start) : INFER_OK;
}

uint32_t parts_grammar(struct parts *p, struct grammar *g)
{
	struct merge m = { .p = p };
	struct piece x = { .start = NOWHERE };
	uint32_t part;
	int rc;

	if (p->rc || g->lexed) {
		ir_drop(g, p->w.left);
		return p->rc ? PART_NONE
		             : parts_refuse(p, INFER_EUNSUP,
		                            "a Lark grammar together with tools is not supported; "
		                            "write it in GBNF");
	}
	m.goal = p->g->n_goals;
	m.array = p->g->n_arrays;
	m.object = p->g->n_objects;
	rc = adopt_memory(&m, g);
	if (!rc && m.from.text)
		return piece_borrowed(p, m.from.text, 0);
	if (!rc)
		rc = merge_all(&m, &x);
	part = rc ? piece_fail(p, rc) : piece_add(p, &x);
	if (!part || x.kind != PIECE_CODE)
		return part;
	p->piece[part].start = x.start; /* piece_add clears it */
	return parts_shared(p, part);
}
