/* ir/ir.c - freeing a compiled constraint, its size, its unused automata. */
#include "ir/ir.h"
#include "automata/work.h"

#include <stdlib.h>

void ir_free_dfas(struct grammar *g, struct budget *left)
{
	for (uint32_t i = 0; i < g->n_dfas; i++) {
		if (left)
			left->bytes += g->dfa[i]->bytes;
		dfa_free((struct dfa *)g->dfa[i]);
	}
}

void ir_free(struct grammar *g)
{
	struct arena mem;

	if (!g)
		return;
	ir_free_dfas(g, NULL);
	/* g is allocated in its own arena */
	mem = g->mem;
	arena_fini(&mem);
}

void ir_drop(struct grammar *g, struct budget *left)
{
	if (!g)
		return;
	left->bytes += g->bytes;
	for (uint32_t i = 0; i < g->n_dfas; i++)
		left->bytes += g->dfa[i]->bytes;
	ir_free(g);
}

int ir_is_none(const struct grammar *g)
{
	if (g->text)
		return dfa_is_none(g->text);
	return g->code ? !g->code_live[g->root] : !g->goal[g->root].live;
}

uint64_t ir_bytes(const struct grammar *g)
{
	uint64_t bytes = g->bytes;

	for (uint32_t i = 0; i < g->n_dfas; i++)
		bytes += g->dfa[i]->bytes;
	return bytes;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct dfa *x = *(const struct dfa *const *)a, *y = *(const struct dfa *const *)b;

	return ((uintptr_t)x > (uintptr_t)y) - ((uintptr_t)x < (uintptr_t)y);
}

/* Mark d, which may be NULL, among the sorted automata of g. */
static void mark_used(struct grammar *g, uint8_t *used, const struct dfa *d)
{
	const struct dfa **at =
		d && g->n_dfas ? bsearch(&d, g->dfa, g->n_dfas, sizeof *g->dfa, compare_addresses)
			       : NULL;

	if (at)
		used[at - g->dfa] = 1;
}

int ir_sweep(struct grammar *g, struct work *w, uint32_t n_plain)
{
	uint32_t n = 0;
	uint8_t *used;

	TRY(work_alloc(w, &used, g->n_dfas + 1, 1));
	if (g->n_dfas)
		qsort(g->dfa, g->n_dfas, sizeof *g->dfa, compare_addresses);
	for (uint32_t i = 0; i < n_plain; i++)
		mark_used(g, used, g->plain[i]);
	for (uint32_t i = 0; i < g->n_goals; i++)
		for (uint32_t k = 0; k < g->goal[i].n; k++) {
			mark_used(g, used, g->goal[i].alt[k].text);
			mark_used(g, used, g->goal[i].alt[k].plain);
		}
	for (uint32_t i = 0; i < g->n_objects; i++)
		for (uint32_t k = 0; k < g->object[i]->n_classes; k++)
			mark_used(g, used, g->object[i]->class[k].names);
	for (uint32_t i = 0; i < g->n_dfas; i++)
		if (used[i])
			g->dfa[n++] = g->dfa[i];
		else
			dfa_drop((struct dfa *)g->dfa[i], w->left);
	g->n_dfas = n;
	return INFER_OK;
}
