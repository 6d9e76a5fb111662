/* schema/schema.c - compile a JSON Schema to a grammar. */
#include "schema/compile.h"
#include "base/err.h"

#include <string.h>

/* Return the last goal from `first` on whose objects are closed and cannot exist; NOWHERE: none. */
static uint32_t find_dead_goal(const struct grammar *g, uint32_t first)
{
	for (uint32_t i = g->n_goals; i-- > first;) {
		const struct goal *x = g->goal + i;
		int live = 0;

		for (uint32_t k = 0; x->closed && k < x->n; k++)
			live |= x->alt[k].type == ALT_OBJECT && x->alt[k].live;
		if (x->closed && !live)
			return i;
	}
	return NOWHERE;
}

/* Open closed objects that could not exist otherwise, one goal at a time: a goal may only lack a
 * member that is opened first. Goals of members follow those of their objects. */
static int reopen_objects(struct schema *c, uint32_t first)
{
	for (;;) {
		uint32_t i, next = c->g->n_goals;

		TRY(ir_find_live(&c->w, c->g));
		TRY(work_steps(&c->w, c->g->n_goals));
		i = find_dead_goal(c->g, first);
		if (i == NOWHERE)
			return INFER_OK;
		c->g->goal[i].closed = 0;
		TRY(schema_expand_open(c, i));
		for (; next < c->g->n_goals; next++)
			TRY(schema_expand(c, next));
	}
}

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
	const uint32_t first = next;

	TRY(schema_enter_scope(c, 0, &root));
	root *= 2;
	TRY(schema_goal(c, &root, 1, goal));
	for (; next < c->g->n_goals; next++)
		TRY(schema_expand(c, next));
	if (c->opts.closed)
		TRY(reopen_objects(c, first));
	return c->n_unique ? schema_unique(c) : INFER_OK;
}

/* Set up *c and compile with these options. */
static int compile_with(struct schema *c, struct grammar *g, struct work *w,
                        const struct json *schema, const struct schema_opts *opts, uint32_t *goal)
{
	int rc;

	*c = (struct schema){ .g = g, .root = schema, .w = *w };
	if (opts)
		c->opts = *opts;
	c->w.what = "the schema";
	rc = compile_schema(c, goal);
	w->mem = c->w.mem;
	w->taken = c->w.taken;
	return rc;
}

int schema_goal_of(struct grammar *g, struct work *w, const struct json *schema,
                   const struct schema_opts *opts, uint32_t *goal)
{
	struct schema c = { 0 };
	int rc;

	rc = compile_with(&c, g, w, schema, opts, goal);
	if (rc == INFER_EUNSUP && c.opts.closed && !w->left->exhausted) {
		struct schema_opts open = *opts;

		open.closed = 0;
		rc = compile_with(&c, g, w, schema, &open, goal);
	}
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
