/* schema/member.c - keywords of objects. */
#include "schema/compile.h"
#include "base/err.h"

#include <string.h>

static int add_named_fact(struct schema *c, struct branch *x, enum fact_kind kind, const char *name,
                          uint32_t n, uint32_t lit)
{
	return schema_add_fact(
		c, x, &(struct fact){ .kind = kind, .name = name, .name_n = n, .lit = lit });
}

/* Require the member that a string of the schema names. mask: of the keyword; a closed object may
 * have the member. */
static int require_member(struct schema *c, struct branch *x, const struct json *name,
                          uint32_t mask)
{
	return schema_add_fact(c, x,
	                       &(struct fact){ .kind = FACT_REQUIRED,
	                                       .name = name->s,
	                                       .name_n = name->n,
	                                       .lit = LIT_FALSE,
	                                       .mask = mask & MASK_NAMES,
	                                       .evaluates = 1 });
}

/* Make the branch in which a keyword that names members holds. */
static int fork_named(struct schema *c, const struct todo *it, struct branch **x)
{
	TRY(schema_fork(c, x));
	(*x)->lists |= (it->mask & MASK_NAMES) != 0;
	return INFER_OK;
}

int kw_properties_apply(struct schema *c, const struct todo *it)
{
	struct branch *x = NULL;

	if (!it->neg)
		TRY(fork_named(c, it, &x));
	json_each(m, it->v) {
		struct fact f = { .kind = FACT_VALUE,
			          .name = m->key,
			          .name_n = m->key_n,
			          .mask = it->mask,
			          .evaluates = 1 };

		TRY(schema_literal(c, it->location, m, it->neg, &f.lit));
		if (it->neg) {
			TRY(schema_fork(c, &x));
			TRY(add_named_fact(c, x, FACT_REQUIRED, m->key, m->key_n, LIT_TRUE));
		}
		TRY(schema_add_fact(c, x, &f));
	}
	return INFER_OK;
}

int kw_patternProperties_apply(struct schema *c, const struct todo *it)
{
	struct branch *x = NULL;

	if (!it->neg)
		TRY(fork_named(c, it, &x));
	json_each(m, it->v) {
		struct fact f = { .kind = it->neg ? FACT_HAS : FACT_VALUE,
			          .mask = it->mask,
			          .evaluates = !it->neg,
			          .v = it->v };

		TRY(schema_literal(c, it->location, m, it->neg, &f.lit));
		TRY(schema_regex(c, m, m->key, m->key_n, &f.keys));
		if (it->neg)
			TRY(schema_fork(c, &x));
		TRY(schema_add_fact(c, x, &f));
	}
	return INFER_OK;
}

/* Return the names that neither properties nor patternProperties of the schema match. */
static int additional_names(struct schema *c, const struct json *s, const struct dfa **out)
{
	const struct json *p = json_get(s, "properties");
	struct dfa_word *word;
	size_t n = 0;

	*out = NULL;
	TRY(work_alloc(&c->w, &word, json_count(p) + 1, sizeof *word));
	json_each(m, p)
		word[n++] = (struct dfa_word){ m->key, m->key_n };
	if (n)
		TRY(schema_words(c, word, n, 0, out));
	json_each(m, json_get(s, "patternProperties")) {
		const struct dfa *d;

		TRY(schema_regex(c, m, m->key, m->key_n, &d));
		TRY(schema_unite(c, out, d));
	}
	return schema_complement(c, out);
}

int kw_additionalProperties_apply(struct schema *c, const struct todo *it)
{
	struct fact f = { .kind = it->neg ? FACT_HAS : FACT_VALUE,
		          .mask = it->mask,
		          .evaluates = !it->neg,
		          .v = it->v };
	struct branch *x;

	TRY(schema_literal(c, it->location, it->v, it->neg, &f.lit));
	TRY(additional_names(c, c->location[it->location].v, &f.keys));
	TRY(schema_fork(c, &x));
	return schema_add_fact(c, x, &f);
}

/* The name of every member satisfies the schema. Negated: some name does not. */
int kw_propertyNames_apply(struct schema *c, const struct todo *it)
{
	struct fact f = { .kind = it->neg ? FACT_HAS : FACT_VALUE,
		          .lit = it->neg ? LIT_TRUE : LIT_FALSE,
		          .mask = it->mask,
		          .v = it->v };
	struct branch *x;
	uint32_t lit;

	TRY(schema_literal(c, it->location, it->v, 0, &lit));
	/* not where a longer name is to be rejected: it must be known to be wrong */
	TRY(schema_matching_names(c, lit, c->opts.short_names && !it->neg, &f.keys));
	TRY(schema_complement(c, &f.keys));
	TRY(schema_fork(c, &x));
	return schema_add_fact(c, x, &f);
}

int schema_size(struct schema *c, const struct todo *it, int is_min)
{
	const uint32_t n = schema_count(it->v), neg = (uint32_t)it->neg;
	struct branch *x;

	TRY(schema_fork(c, &x));
	if (is_min != it->neg) {
		branch_at_least(x, n + neg);
	} else {
		x->dead |= neg && !n;
		branch_at_most(x, n - (neg && n));
	}
	return INFER_OK;
}

int kw_minProperties_apply(struct schema *c, const struct todo *it)
{
	return schema_size(c, it, 1);
}

int kw_maxProperties_apply(struct schema *c, const struct todo *it)
{
	return schema_size(c, it, 0);
}

int kw_required_apply(struct schema *c, const struct todo *it)
{
	struct branch *x = NULL;

	if (!it->neg)
		TRY(schema_fork(c, &x));
	json_each(e, it->v) {
		if (it->neg)
			TRY(schema_fork(c, &x));
		TRY(it->neg ? add_named_fact(c, x, FACT_VALUE, e->s, e->n, LIT_FALSE)
		            : require_member(c, x, e, it->mask));
	}
	return INFER_OK;
}

/* Apply one entry: the member does not exist, or the condition on the object holds. */
static int apply_dependency(struct schema *c, const struct todo *it)
{
	const struct json *e = it->entry;
	struct branch *x;
	uint32_t lit;

	if (!it->neg) {
		TRY(schema_fork(c, &x));
		TRY(add_named_fact(c, x, FACT_VALUE, e->key, e->key_n, LIT_FALSE));
	}
	if (json_is_array(e) && it->neg) {
		json_each(name, e) {
			TRY(schema_fork(c, &x));
			TRY(add_named_fact(c, x, FACT_REQUIRED, e->key, e->key_n, LIT_TRUE));
			TRY(add_named_fact(c, x, FACT_VALUE, name->s, name->n, LIT_FALSE));
		}
		return INFER_OK;
	}
	TRY(schema_fork(c, &x));
	TRY(add_named_fact(c, x, FACT_REQUIRED, e->key, e->key_n, LIT_TRUE));
	if (!json_is_array(e)) {
		TRY(schema_literal(c, it->location, e, it->neg, &lit));
		return schema_require(c, x, lit, it->neg ? 0 : it->mask);
	}
	json_each(name, e)
		TRY(require_member(c, x, name, it->mask));
	return INFER_OK;
}

int kw_dependencies_apply(struct schema *c, const struct todo *it)
{
	struct branch *x = NULL;

	if (it->entry)
		return apply_dependency(c, it);
	if (!it->neg)
		TRY(schema_fork(c, &x));
	json_each(e, it->v) {
		struct todo one = *it;

		one.entry = e;
		if (it->neg)
			TRY(schema_fork(c, &x));
		TRY(schema_add_todo(c, x, &one, 1));
	}
	return INFER_OK;
}

int kw_dependentRequired_apply(struct schema *c, const struct todo *it)
{
	return kw_dependencies_apply(c, it);
}

int kw_dependentSchemas_apply(struct schema *c, const struct todo *it)
{
	return kw_dependencies_apply(c, it);
}
