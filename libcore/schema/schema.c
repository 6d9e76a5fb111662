/* schema/schema.c - compile a JSON Schema to a grammar. */
#include "schema/compile.h"
#include "base/err.h"

#include <string.h>

static int compile_schema(struct schema *c, uint32_t *goal)
{
	uint32_t root = 2;

	TRY(htab_init(&c->w, &c->by_value));
	TRY(htab_init(&c->w, &c->by_lits));
	TRY(htab_init(&c->w, &c->by_memo));
	TRY(htab_init(&c->w, &c->by_cached));
	TRY(htab_init(&c->w, &c->by_text));
	TRY(schema_scan(c));
	uint32_t next = c->g->n_goals;

	TRY(schema_enter_scope(c, 0, &root));
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
	rc = compile_schema(&c, goal);
	w->mem = c.w.mem;
	w->taken = c.w.taken;
	if (c.failed) {
		rc = c.failed;
		if (w->err)
			*w->err = c.why;
	}
	/* the message of the operation that failed names only the rest of the budget */
	if (rc == INFER_EUNSUP && !w->left->steps && w->err && *w->err->message != '#')
		err_set(w->err, rc, "the schema needs more than %llu steps",
		        (unsigned long long)w->first.steps);
	return rc;
}

int schema_compile(struct grammar **out, const struct json *schema, const struct schema_opts *opts,
                   struct budget *left, infer_error *err)
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
		rc = ir_prune(&w, g);
	if (!rc)
		rc = ir_sweep(g, &w, 0);
	if (rc) {
		if (g)
			ir_free_dfas(g, left);
		work_end(&w);
		return rc;
	}
	g->mem = w.mem;
	g->bytes = w.taken;
	*out = g;
	return INFER_OK;
}
