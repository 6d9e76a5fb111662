/* grammar/schema.c - a JSON Schema becomes a grammar. */
#include "grammar/schema.h"
#include "base/err.h"

#include <string.h>

static void free_dfas(struct grammar *g, struct grammar_budget *left)
{
	for (uint32_t i = 0; i < g->n_dfas; i++) {
		if (left)
			left->bytes += g->dfa[i]->bytes;
		dfa_free((struct dfa *)g->dfa[i]);
	}
}

void grammar_free(struct grammar *g)
{
	struct arena mem;

	if (!g)
		return;
	free_dfas(g, NULL);
	/* g lies in its own arena */
	mem = g->mem;
	arena_fini(&mem);
}

void grammar_drop(struct grammar *g, struct grammar_budget *left)
{
	if (!g)
		return;
	left->bytes += g->bytes;
	for (uint32_t i = 0; i < g->n_dfas; i++)
		left->bytes += g->dfa[i]->bytes;
	grammar_free(g);
}

int grammar_is_none(const struct grammar *g)
{
	if (g->text)
		return dfa_is_none(g->text);
	return g->code ? !g->code_live[g->root] : !g->goal[g->root].live;
}

uint64_t grammar_bytes(const struct grammar *g)
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

int schema_sweep(struct grammar *g, struct work *w, uint32_t n_plain)
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

static int compile(struct schema *c, uint32_t *goal)
{
	uint32_t root = 2;

	TRY(seats_init(&c->w, &c->by_value));
	TRY(seats_init(&c->w, &c->by_lits));
	TRY(seats_init(&c->w, &c->by_memo));
	TRY(seats_init(&c->w, &c->by_kept));
	TRY(seats_init(&c->w, &c->by_text));
	TRY(schema_scan(c));
	uint32_t next = c->g->n_goals;

	TRY(schema_enter(c, 0, &root));
	root *= 2;
	TRY(schema_goal(c, &root, 1, goal));
	for (; next < c->g->n_goals; next++)
		TRY(schema_expand(c, next));
	return c->n_unique ? schema_unique(c) : INFER_OK;
}

int schema_goal_of(struct grammar *g, struct work *w, const struct json *schema,
                   const struct schema_opts *opts, uint32_t *goal)
{
	struct schema c = { .g = g, .root = schema };
	int rc;

	if (opts)
		c.opts = *opts;
	c.w = *w;
	c.w.what = "the schema";
	rc = compile(&c, goal);
	w->mem = c.w.mem;
	w->taken = c.w.taken;
	if (c.failed) {
		rc = c.failed;
		if (w->err)
			*w->err = c.why;
	}
	/* the last operation knows only what was left to it */
	if (rc == INFER_EUNSUP && !w->left->steps && w->err && *w->err->message != '#')
		err_set(w->err, rc, "the schema needs more than %llu steps",
		        (unsigned long long)w->first.steps);
	return rc;
}

int grammar_schema(struct grammar **out, const struct json *schema, const struct schema_opts *opts,
                   struct grammar_budget *left, infer_error *err)
{
	struct grammar *g = NULL;
	struct work w;
	int rc;

	*out = NULL;
	work_begin(&w, "the schema", left, err);
	w.mem.who = MEM_GRAMMAR;
	rc = work_alloc(&w, &g, 1, sizeof *g);
	if (!rc)
		rc = schema_goal_of(g, &w, schema, opts, &g->root);
	if (!rc)
		rc = grammar_live(&w, g);
	if (!rc)
		rc = schema_sweep(g, &w, 0);
	if (rc) {
		if (g)
			free_dfas(g, left);
		work_end(&w);
		return rc;
	}
	g->mem = w.mem;
	g->bytes = w.taken;
	*out = g;
	return INFER_OK;
}
