/* lark/token_set.c - sets of tokens: <name>, <[1,5-7]>, <[^1]>, <[*]>. */
#include "lark/tree.h"

#include <string.h>

static int bad_set(struct lark *p, const struct node *x)
{
	return lark_fail(p, x->line, INFER_EINVAL, "not a set of tokens: <%.*s>",
	                 x->n < 60 ? (int)x->n : 60, x->s);
}

/* Read an id at *s. Returns 0 if there is none. */
static int read_id(const char **s, const char *end, uint32_t *id)
{
	const char *at = *s;

	*id = 0;
	for (; *s < end && **s >= '0' && **s <= '9'; ++*s)
		*id = *id < 100000000 ? *id * 10 + (uint32_t)(**s - '0') : *id;
	return *s > at;
}

/* Read ids and ranges, separated by commas. */
static int read_ranges(struct lark *p, const struct node *x, const char *s, const char *end,
                       struct token_set *set)
{
	struct dfa_range *at;

	TRY(work_alloc(&p->w, &at, (uint64_t)(end - s) / 2 + 1, sizeof *at));
	set->range = at;
	while (s < end) {
		struct dfa_range *r = at + set->n_ranges++;

		if (!read_id(&s, end, &r->lo))
			return bad_set(p, x);
		r->hi = r->lo;
		if (s < end && *s == '-') {
			s++;
			if (!read_id(&s, end, &r->hi))
				return bad_set(p, x);
		}
		if (r->lo > r->hi || (s < end && *s++ != ','))
			return bad_set(p, x);
	}
	return set->n_ranges ? INFER_OK : bad_set(p, x);
}

int lark_token_set(struct lark *p, const struct node *x, uint32_t *number)
{
	struct grammar *g = p->g;
	struct token_set set = { 0 };
	char *name;

	TRY(work_alloc(&p->w, &name, x->n + 1, 1));
	memcpy(name, x->s, x->n);
	if (x->n < 3 || *name != '[' || name[x->n - 1] != ']') {
		/* a name includes its brackets */
		TRY(work_alloc(&p->w, &name, (uint64_t)x->n + 3, 1));
		name[0] = '<';
		memcpy(name + 1, x->s, x->n);
		name[x->n + 1] = '>';
		set.name = name;
		set.n = x->n + 2;
	} else if (x->n == 3 && name[1] == '*') {
		set.negated = 1;
	} else {
		set.negated = name[1] == '^';
		TRY(read_ranges(p, x, name + 1 + set.negated, name + x->n - 1, &set));
	}
	TRY(work_grow(&p->w, &g->token_set, &p->cap_sets, (uint64_t)g->n_token_sets + 1,
	              sizeof *g->token_set));
	*number = g->n_token_sets;
	g->token_set[g->n_token_sets++] = set;
	return INFER_OK;
}
