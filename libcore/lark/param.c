/* lark/param.c - parameters of rules: parse and apply their functions and conditions. */
#include "lark/tree.h"

#include <string.h>

/* -- functions ------------------------------------------------------------------------------ */

static uint64_t mask_of(uint32_t bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static uint64_t bits_of(uint64_t p, uint32_t lo, uint32_t hi) { return p >> lo & mask_of(hi - lo); }

uint64_t param_apply(const struct param *x, uint64_t p)
{
	const uint64_t bits = bits_of(p, x->lo, x->hi);

	switch (x->op) {
	case PARAM_VALUE:
		return x->v;
	case PARAM_SELF:
		return p;
	case PARAM_INCR:
		return bits == mask_of(x->hi - x->lo) ? p : p + (UINT64_C(1) << x->lo);
	case PARAM_DECR:
		return bits ? p - (UINT64_C(1) << x->lo) : p;
	case PARAM_AND:
		return p & x->v;
	case PARAM_OR:
		return p | x->v;
	}
	return p;
}

int cond_holds(const struct cond *c, uint64_t p)
{
	uint64_t bits = bits_of(p, c->lo, c->hi);

	if (c->count)
		bits = (uint64_t)__builtin_popcountll(bits);
	switch (c->op) {
	case COND_TRUE:
		return 1;
	case COND_EQ:
		return bits == c->v;
	case COND_NE:
		return bits != c->v;
	case COND_LT:
		return bits < c->v;
	case COND_LE:
		return bits <= c->v;
	case COND_GT:
		return bits > c->v;
	case COND_GE:
		return bits >= c->v;
	case COND_ALL:
		return bits == mask_of(c->hi - c->lo);
	case COND_AND:
		return cond_holds(c->a, p) && cond_holds(c->b, p);
	case COND_OR:
		return cond_holds(c->a, p) || cond_holds(c->b, p);
	case COND_NOT:
		return !cond_holds(c->a, p);
	}
	return 0;
}

/* -- parsing -------------------------------------------------------------------------------- */

static int is_word(const struct token *t, const char *word)
{
	return t->kind == T_RULE && t->n == strlen(word) && !memcmp(t->at, word, t->n);
}

/* Parse [lo:hi] or _, which is all bits. */
static int parse_bits(struct lark *p, uint32_t *lo, uint32_t *hi)
{
	const uint32_t line = lark_token(p)->line;
	uint64_t a, b;

	*lo = 0;
	*hi = 64;
	if (lark_accept(p, '_'))
		return INFER_OK;
	TRY(lark_expect(p, '['));
	TRY(lark_number(p, 63, &a));
	TRY(lark_expect(p, ':'));
	TRY(lark_number(p, 64, &b));
	TRY(lark_expect(p, ']'));
	*lo = (uint32_t)a;
	*hi = (uint32_t)b;
	return a < b ? INFER_OK
	             : lark_fail(p, line, INFER_EINVAL, "bits [%u:%u] are out of order", *lo, *hi);
}

static int parse_argument(struct lark *p, struct param *x, int bit)
{
	uint64_t n;

	TRY(lark_expect(p, '('));
	if (x->op == PARAM_INCR || x->op == PARAM_DECR) {
		TRY(parse_bits(p, &x->lo, &x->hi));
	} else {
		TRY(lark_number(p, bit ? 63 : UINT64_MAX, &n));
		x->v = bit ? UINT64_C(1) << n : n;
		x->v = bit && x->op == PARAM_AND ? ~x->v : x->v;
	}
	return lark_expect(p, ')');
}

int lark_parse_param(struct lark *p, const struct param **out)
{
	static const struct {
		const char *name;
		enum param_op op;
		int bit;
	} list[] = {
		{ "incr", PARAM_INCR, 0 },     { "decr", PARAM_DECR, 0 },
		{ "bit_and", PARAM_AND, 0 },   { "bit_or", PARAM_OR, 0 },
		{ "clear_bit", PARAM_AND, 1 }, { "set_bit", PARAM_OR, 1 },
	};
	const struct token *t = lark_token(p);
	struct param *x;

	TRY(work_alloc(&p->tree, &x, 1, sizeof *x));
	*x = (struct param){ .op = PARAM_SELF, .hi = 64 };
	*out = x;
	if (lark_accept(p, '_'))
		return INFER_OK;
	if (t->kind == T_NUMBER) {
		x->op = PARAM_VALUE;
		return lark_number(p, UINT64_MAX, &x->v);
	}
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (is_word(t, list[i].name)) {
			p->at++;
			x->op = list[i].op;
			return parse_argument(p, x, list[i].bit);
		}
	return lark_fail(p, t->line, INFER_EINVAL, "not a function of a parameter: %.*s",
	                 t->n < 60 ? (int)t->n : 60, t->at);
}

/* Parse the arguments of a comparison. */
static int parse_comparison(struct lark *p, struct cond *c)
{
	TRY(lark_expect(p, '('));
	TRY(parse_bits(p, &c->lo, &c->hi));
	TRY(lark_expect(p, ','));
	TRY(lark_number(p, c->count ? 63 : UINT64_MAX, &c->v));
	return lark_expect(p, ')');
}

static int parse_bit_test(struct lark *p, struct cond *c, const struct token *t)
{
	uint64_t bit;

	TRY(lark_expect(p, '('));
	if (is_word(t, "is_ones") || is_word(t, "is_zeros")) {
		TRY(parse_bits(p, &c->lo, &c->hi));
		c->op = is_word(t, "is_ones") ? COND_ALL : COND_EQ;
	} else {
		TRY(lark_number(p, 63, &bit));
		c->lo = (uint32_t)bit;
		c->hi = c->lo + 1;
		c->op = COND_EQ;
		c->v = is_word(t, "bit_set");
	}
	return lark_expect(p, ')');
}

static int parse_logic(struct lark *p, struct cond *c, uint32_t depth)
{
	TRY(lark_expect(p, '('));
	TRY(lark_parse_cond(p, &c->a, depth + 1));
	if (c->op != COND_NOT) {
		TRY(lark_expect(p, ','));
		TRY(lark_parse_cond(p, &c->b, depth + 1));
	}
	return lark_expect(p, ')');
}

int lark_parse_cond(struct lark *p, const struct cond **out, uint32_t depth)
{
	static const char *const compare[] = { "eq", "ne", "lt", "le", "gt", "ge" },
				 *const logic[] = { "and", "or", "not" };
	const struct token *t = lark_token(p);
	struct token rest = *t;
	struct cond *c;

	if (depth > LARK_DEPTH)
		return lark_fail(p, t->line, INFER_EUNSUP, "conditions are nested too deeply");
	TRY(work_alloc(&p->tree, &c, 1, sizeof *c));
	c->hi = 64;
	*out = c;
	p->at += t->kind == T_RULE;
	if (is_word(t, "true")) {
		if (lark_accept(p, '('))
			return lark_expect(p, ')');
		return INFER_OK;
	}
	if (t->kind == T_RULE && t->n > 10 && !memcmp(t->at, "bit_count_", 10)) {
		c->count = 1;
		rest.at += 10;
		rest.n -= 10;
	}
	for (int i = 0; i < 6; i++)
		if (is_word(&rest, compare[i])) {
			c->op = (enum cond_op)(COND_EQ + i);
			return parse_comparison(p, c);
		}
	for (int i = 0; i < 3; i++)
		if (is_word(t, logic[i])) {
			c->op = (enum cond_op)(COND_AND + i);
			return parse_logic(p, c, depth);
		}
	if (is_word(t, "bit_clear") || is_word(t, "bit_set") || is_word(t, "is_ones") ||
	    is_word(t, "is_zeros"))
		return parse_bit_test(p, c, t);
	return lark_fail(p, t->line, INFER_EINVAL, "not a condition: %.*s",
	                 t->n < 60 ? (int)t->n : 60, t->at);
}
