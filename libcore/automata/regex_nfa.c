/* automata/regex_nfa.c - compile a tree to a nondeterministic automaton, from its end to its beginning:
 * each node is emitted with its successor `next`. */
#include "automata/regex_nfa.h"

static int add_nfa_node(struct nfa *a, struct nfa_node v, uint32_t *out)
{
	TRY(work_steps(a->w, 4));
	TRY(work_grow(a->w, &a->at, &a->cap, (uint64_t)a->n + 1, sizeof *a->at));
	a->at[a->n] = v;
	*out = a->n++;
	return INFER_OK;
}

static int emit_tree(struct nfa *a, const struct re *re, uint32_t next, uint32_t *out);

static int emit_repeat(struct nfa *a, const struct re *re, uint32_t next, uint32_t *out)
{
	uint32_t at = next, copies = re->lo, body;

	if (re->hi == NOWHERE) {
		TRY(add_nfa_node(a, (struct nfa_node){ .kind = NFA_SPLIT, .b = next }, &at));
		TRY(emit_tree(a, re->kid, at, &body));
		a->at[at].a = body;
		if (copies) { /* the body of the loop is the last copy */
			at = body;
			copies--;
		}
	} else {
		for (uint32_t i = re->lo; i < re->hi; i++) {
			TRY(work_steps(a->w, 1));
			TRY(emit_tree(a, re->kid, at, &body));
			TRY(add_nfa_node(a, (struct nfa_node){ NFA_SPLIT, 0, body, next }, &at));
		}
	}
	for (; copies; copies--) {
		TRY(work_steps(a->w, 1));
		TRY(emit_tree(a, re->kid, at, &at));
	}
	*out = at;
	return INFER_OK;
}

enum { EDGES = 1 << RE_WORD_EDGE | 1 << RE_NO_WORD_EDGE };

/* Build the automata of a look-ahead or look-behind. */
static int build_look(struct nfa *a, const struct re *re, struct nfa_look *k)
{
	struct nfa_context f = { .in_ahead = a->context.in_ahead,
		                 .in_behind = a->context.in_behind };
	int variants = 1;

	k->re = re;
	if (re->kind == RE_AHEAD) {
		f.in_ahead = f.open_back = 1;
		variants = re->kid->kinds & (EDGES | 1 << RE_BEGIN) ? PREVS : 1;
	} else {
		f.in_behind = f.open_front = 1;
	}
	for (int i = 0; i < variants; i++) {
		struct dfa *d = NULL;
		int rc;

		f.prev = (enum nfa_prev)i;
		TRY(regex_det(&d, a->x, re->kid, &f));
		if (!re->lo) {
			k->dfa[i] = d;
			continue;
		}
		rc = dfa_not(k->dfa + i, d, a->w->left, a->w->err);
		dfa_drop(d, a->w->left);
		TRY(rc);
	}
	return INFER_OK;
}

static int emit_look(struct nfa *a, const struct re *re, uint32_t next, uint32_t *out)
{
	const char *at = a->x->text + re->at;
	uint32_t i = 0;

	if (re->kind == RE_AHEAD && a->context.in_behind)
		return regex_bad(a->x, at, INFER_EUNSUP,
		                 "look-ahead within look-behind is not supported");
	if (re->kind == RE_BEHIND && a->context.in_ahead)
		return regex_bad(a->x, at, INFER_EUNSUP,
		                 "look-behind within look-ahead is not supported");
	while (i < a->n_looks && a->looks[i].re != re)
		i++;
	TRY(work_steps(a->w, i + 1));
	if (i == a->n_looks) {
		TRY(work_grow(a->w, &a->looks, &a->cap_looks, (uint64_t)i + 1, sizeof *a->looks));
		a->n_looks++;
		TRY(build_look(a, re, a->looks + i));
	}
	return add_nfa_node(
		a,
		(struct nfa_node){ .kind = re->kind == RE_AHEAD ? NFA_AHEAD : NFA_BEHIND,
	                           .arg = i,
	                           .a = next },
		out);
}

/* \b: exactly one of the characters before and after is a \w; \B: both or neither. */
static int emit_edge(struct nfa *a, const struct re *re, uint32_t next, uint32_t *out)
{
	uint32_t word, other;

	TRY(add_nfa_node(a, (struct nfa_node){ .kind = NFA_WORD_NEXT, .a = next }, &word));
	TRY(add_nfa_node(a, (struct nfa_node){ .kind = NFA_WORD_NOT_NEXT, .a = next }, &other));
	if (re->kind == RE_NO_WORD_EDGE)
		return add_nfa_node(a, (struct nfa_node){ NFA_EDGE, 0, word, other }, out);
	return add_nfa_node(a, (struct nfa_node){ NFA_EDGE, 0, other, word }, out);
}

/* Collect the characters that lead from one state to another. */
static int find_step_set(struct nfa *a, const struct dfa *d, uint32_t from, uint32_t to,
                         struct cpset *set)
{
	TRY(work_steps(a->w, d->n_ranges));
	for (uint32_t i = 0; i < d->n_ranges; i++)
		if (d->next[(size_t)from * d->n_classes + d->range_class[i]] == to)
			TRY(cpset_add(a->x->w, set, d->from[i],
			              i + 1 < d->n_ranges ? d->from[i + 1] - 1 : DFA_MOST_CP));
	return cpset_norm(a->x->w, set);
}

/* Emit the steps of a state; first: the node of state 0. *at: reads a character, or ends. */
static int emit_state(struct nfa *a, const struct dfa *d, uint32_t state, uint32_t first,
                      uint32_t next, uint32_t *at)
{
	const uint32_t *row = d->next + (size_t)state * d->n_classes;

	*at = dfa_accepts(d, state) ? next : NOWHERE;
	for (uint32_t c = 0; c < d->n_classes; c++) {
		struct cpset set = { 0 };
		uint32_t number, node, k = 0;

		while (row[k] != row[c])
			k++;
		TRY(work_steps(a->w, k));
		if (k < c || !dfa_live(row[c]))
			continue;
		TRY(find_step_set(a, d, state, row[c], &set));
		TRY(regex_set(a->x, &set, &number));
		TRY(add_nfa_node(a, (struct nfa_node){ NFA_SET, number, first + row[c], 0 },
		                 &node));
		if (*at != NOWHERE)
			TRY(add_nfa_node(a, (struct nfa_node){ NFA_SPLIT, 0, node, *at }, &node));
		*at = node;
	}
	return INFER_OK;
}

/* Emit the states of an automaton, each a node that leads to its steps. */
static int emit_dfa(struct nfa *a, const struct re *re, uint32_t next, uint32_t *out)
{
	const struct dfa *d = a->x->dfas[re->lo];
	struct cpset none = { 0 };
	const uint32_t first = a->n;
	uint32_t set, at;

	TRY(regex_set(a->x, &none, &set));
	for (uint32_t i = 0; i < d->n_states; i++)
		TRY(add_nfa_node(a, (struct nfa_node){ .kind = NFA_SET, .arg = set, .a = next },
		                 &at));
	for (uint32_t i = 1; i < d->n_states; i++) {
		TRY(emit_state(a, d, i, first, next, &at));
		if (at != NOWHERE)
			a->at[first + i] = (struct nfa_node){ NFA_SPLIT, 0, at, at };
	}
	*out = first + d->start;
	return INFER_OK;
}

static int emit_tree(struct nfa *a, const struct re *re, uint32_t next, uint32_t *out)
{
	uint32_t at = next, kid;

	if (a->context.in_behind && (re->kind == RE_END || (EDGES >> re->kind & 1)))
		return regex_bad(a->x, a->x->text + re->at, INFER_EUNSUP,
		                 "$ and \\b within look-behind are not supported");
	switch (re->kind) {
	case RE_SET:
		return add_nfa_node(
			a, (struct nfa_node){ .kind = NFA_SET, .arg = re->lo, .a = next }, out);
	case RE_CAT:
		for (const struct re *k = re->kid; k; k = k->next)
			TRY(emit_tree(a, k, at, &at));
		*out = at;
		return INFER_OK;
	case RE_ALT:
		TRY(emit_tree(a, re->kid, next, &at));
		for (const struct re *k = re->kid->next; k; k = k->next) {
			TRY(emit_tree(a, k, next, &kid));
			TRY(add_nfa_node(a, (struct nfa_node){ NFA_SPLIT, 0, at, kid }, &at));
		}
		*out = at;
		return INFER_OK;
	case RE_REPEAT:
		return emit_repeat(a, re, next, out);
	case RE_BEGIN:
		return add_nfa_node(a, (struct nfa_node){ .kind = NFA_BEGIN, .a = next }, out);
	case RE_END:
		return add_nfa_node(a, (struct nfa_node){ .kind = NFA_END, .a = next }, out);
	case RE_WORD_EDGE:
	case RE_NO_WORD_EDGE:
		return emit_edge(a, re, next, out);
	case RE_AHEAD:
	case RE_BEHIND:
		return emit_look(a, re, next, out);
	case RE_DFA:
		return emit_dfa(a, re, next, out);
	}
	return INFER_OK;
}

int nfa_init(struct nfa *a, struct work *w, struct regex *x, const struct re *tree,
             const struct nfa_context *context)
{
	const struct cpset any = { .n = 1, .at = (struct dfa_range[]){ { 0, DFA_MOST_CP } } };
	struct cpset all = { 0 };
	uint32_t end, at, set, loop;

	*a = (struct nfa){
		.w = w, .x = x, .context = *context, .edges = (tree->kinds & EDGES) != 0
	};
	TRY(add_nfa_node(a, (struct nfa_node){ .kind = context->open_back ? NFA_ALL : NFA_ACCEPT },
	                 &end));
	TRY(emit_tree(a, tree, end, &at));
	if (context->open_front) {
		/* a loop over any characters precedes the pattern */
		TRY(cpset_join(x->w, &all, &any));
		TRY(regex_set(x, &all, &set));
		TRY(add_nfa_node(a, (struct nfa_node){ .kind = NFA_SPLIT, .b = at }, &loop));
		TRY(add_nfa_node(a, (struct nfa_node){ .kind = NFA_SET, .arg = set, .a = loop },
		                 &at));
		a->at[loop].a = at;
		at = loop;
	}
	a->start = at;
	return INFER_OK;
}

void nfa_fini(struct nfa *a)
{
	for (uint32_t i = 0; i < a->n_looks; i++)
		for (int k = 0; k < PREVS; k++)
			dfa_drop(a->looks[i].dfa[k], a->w->left);
	a->n_looks = 0;
}
