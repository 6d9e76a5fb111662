/* ir/ir.c - the end of a compiled constraint, and what it takes. */
#include "ir/ir.h"
#include "automata/work.h"

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
	/* g lies in its own arena */
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

static int compare(const void *a, const void *b)
{
	const struct dfa *x = *(const struct dfa *const *)a, *y = *(const struct dfa *const *)b;

	return ((uintptr_t)x > (uintptr_t)y) - ((uintptr_t)x < (uintptr_t)y);
}

static void use(struct grammar *g, uint8_t *used, const struct dfa *d)
{
	uint32_t lo = 0, hi = g->n_dfas;

	while (d && lo < hi) {
		const uint32_t mid = (lo + hi) / 2;

		if (g->dfa[mid] == d) {
			used[mid] = 1;
			return;
		}
		if ((uintptr_t)g->dfa[mid] < (uintptr_t)d)
			lo = mid + 1;
		else
			hi = mid;
	}
}

static void sort_addresses(const struct dfa **at, uint32_t n)
{
	/* a heap: n may be large */
	for (uint32_t i = n / 2, end = n; end > 1;) {
		const struct dfa *t;
		uint32_t k;

		if (i) {
			k = --i;
		} else {
			t = at[--end];
			at[end] = at[0];
			at[0] = t;
			k = 0;
		}
		for (uint32_t m = 2 * k + 1; m < end; k = m, m = 2 * k + 1) {
			if (m + 1 < end && compare(at + m, at + m + 1) < 0)
				m++;
			if (compare(at + k, at + m) >= 0)
				break;
			t = at[k];
			at[k] = at[m];
			at[m] = t;
		}
	}
}

int ir_sweep(struct grammar *g, struct work *w, uint32_t n_plain)
{
	uint32_t n = 0;
	uint8_t *used;

	TRY(work_alloc(w, &used, g->n_dfas + 1, 1));
	sort_addresses(g->dfa, g->n_dfas);
	for (uint32_t i = 0; i < n_plain; i++)
		use(g, used, g->plain[i]);
	for (uint32_t i = 0; i < g->n_goals; i++)
		for (uint32_t k = 0; k < g->goal[i].n; k++) {
			use(g, used, g->goal[i].alt[k].text);
			use(g, used, g->goal[i].alt[k].plain);
		}
	for (uint32_t i = 0; i < g->n_objects; i++)
		for (uint32_t k = 0; k < g->object[i]->n_classes; k++)
			use(g, used, g->object[i]->class[k].names);
	for (uint32_t i = 0; i < g->n_dfas; i++)
		if (used[i])
			g->dfa[n++] = g->dfa[i];
		else
			dfa_drop((struct dfa *)g->dfa[i], w->left);
	g->n_dfas = n;
	return INFER_OK;
}
