/* jinja/test.c - the tests that follow `is`. */
#include "jinja/run.h"
#include "pyval/case.h"
#include "base/err.h"

#include <string.h>

#define TEST(name, yes) \
	static int t_##name(struct jrun *r, struct jcall *c, struct jv *out) \
	{ \
		*out = jv_bool(yes); \
		return r->rc; \
	}

TEST(boolean, c->self.type == J_BOOL)
TEST(callable, c->self.type == J_UNDEF || c->self.type >= J_MACRO)
TEST(defined, c->self.type != J_UNDEF)
TEST(escaped, c->self.type == J_STR && c->self.s->safe)
TEST(false, c->self.type == J_BOOL && !c->self.i)
TEST(true, c->self.type == J_BOOL && c->self.i)
TEST(float, c->self.type == J_FLOAT)
TEST(integer, c->self.type == J_INT)
TEST(mapping, c->self.type == J_DICT)
TEST(none, c->self.type == J_NONE)
TEST(number, jv_is_num(c->self))
TEST(sequence, c->self.type == J_UNDEF || c->self.type == J_STR || jv_is_seq(c->self) ||
                       c->self.type == J_DICT || c->self.type == J_RANGE)
TEST(string, c->self.type == J_STR)
TEST(undefined, c->self.type == J_UNDEF)
TEST(sameas, !(c->self.type == J_STR && jinja_spend(r, c->self.s->len / JSTEP_COPY)) &&
                     jv_same(c->self, c->a[0]))
TEST(eq, jv_eq(r, c->self, c->a[0]))
TEST(ne, !jv_eq(r, c->self, c->a[0]))
TEST(iterable, c->self.type == J_UNDEF || c->self.type == J_STR || jv_is_seq(c->self) ||
                       c->self.type == J_DICT || c->self.type == J_RANGE || c->self.type == J_GEN ||
                       c->self.type == J_VIEW || c->self.type == J_LOOP || c->self.type == J_SELF)

static int cmp(struct jrun *r, struct jcall *c, const char *op, struct jv *out)
{
	int sign;

	TRY(jv_cmp(r, c->self, c->a[0], op, &sign));
	*out = jv_bool(sign != 2 && ((op[0] == '<' && sign < 0) || (op[0] == '>' && sign > 0) ||
	                             (op[1] && !sign)));
	return r->rc;
}

static int t_lt(struct jrun *r, struct jcall *c, struct jv *out) { return cmp(r, c, "<", out); }
static int t_le(struct jrun *r, struct jcall *c, struct jv *out) { return cmp(r, c, "<=", out); }
static int t_gt(struct jrun *r, struct jcall *c, struct jv *out) { return cmp(r, c, ">", out); }
static int t_ge(struct jrun *r, struct jcall *c, struct jv *out) { return cmp(r, c, ">=", out); }

/* self % n == rest */
static int divides(struct jrun *r, struct jcall *c, int64_t n, int64_t rest, struct jv *out)
{
	struct jv v;

	TRY(jinja_binary(r, JT_MOD, c->self, n ? jv_int(n) : c->a[0], &v));
	*out = jv_bool(jv_eq(r, v, jv_int(rest)));
	return r->rc;
}

static int t_even(struct jrun *r, struct jcall *c, struct jv *out)
{
	return divides(r, c, 2, 0, out);
}
static int t_odd(struct jrun *r, struct jcall *c, struct jv *out)
{
	return divides(r, c, 2, 1, out);
}
static int t_divisibleby(struct jrun *r, struct jcall *c, struct jv *out)
{
	return divides(r, c, 0, 0, out);
}

static int t_in(struct jrun *r, struct jcall *c, struct jv *out)
{
	int yes;

	TRY(jv_in(r, c->self, c->a[0], &yes));
	*out = jv_bool(yes);
	return r->rc;
}

static int in_case(struct jrun *r, struct jcall *c, enum jcase_how how, struct jv *out)
{
	const struct jstr *s;

	TRY(jv_to_str(r, c->self, &s));
	TRY(jinja_spend(r, s->len / JSTEP_READ));
	*out = jv_bool(jcase_is(s, how));
	return r->rc;
}

static int t_lower(struct jrun *r, struct jcall *c, struct jv *out)
{
	return in_case(r, c, JCASE_LOWER, out);
}
static int t_upper(struct jrun *r, struct jcall *c, struct jv *out)
{
	return in_case(r, c, JCASE_UPPER, out);
}

static int known(struct jrun *r, struct jcall *c, const struct jfn *(*find)(const char *, size_t),
                 struct jv *out)
{
	*out = jv_bool(c->self.type == J_STR && find(c->self.s->at, c->self.s->len));
	return r->rc;
}

static int t_filter(struct jrun *r, struct jcall *c, struct jv *out)
{
	return known(r, c, jfn_filter, out);
}
static int t_test(struct jrun *r, struct jcall *c, struct jv *out)
{
	return known(r, c, jfn_test, out);
}

const struct jfn jinja_tests[] = { { "boolean", t_boolean, "", 0, 0 },
	                           { "callable", t_callable, "", 0, 0 },
	                           { "defined", t_defined, "", 0, 0 },
	                           { "divisibleby", t_divisibleby, "num", 1, 0 },
	                           { "escaped", t_escaped, "", 0, 0 },
	                           { "even", t_even, "", 0, 0 },
	                           { "false", t_false, "", 0, 0 },
	                           { "filter", t_filter, "", 0, 0 },
	                           { "float", t_float, "", 0, 0 },
	                           { "in", t_in, "seq", 1, 0 },
	                           { "integer", t_integer, "", 0, 0 },
	                           { "iterable", t_iterable, "", 0, 0 },
	                           { "lower", t_lower, "", 0, 0 },
	                           { "mapping", t_mapping, "", 0, 0 },
	                           { "none", t_none, "", 0, 0 },
	                           { "number", t_number, "", 0, 0 },
	                           { "odd", t_odd, "", 0, 0 },
	                           { "sameas", t_sameas, "other", 1, 0 },
	                           { "sequence", t_sequence, "", 0, 0 },
	                           { "string", t_string, "", 0, 0 },
	                           { "test", t_test, "", 0, 0 },
	                           { "true", t_true, "", 0, 0 },
	                           { "undefined", t_undefined, "", 0, 0 },
	                           { "upper", t_upper, "", 0, 0 },
	                           { "==", t_eq, "b", 1, 0 },
	                           { "eq", t_eq, "b", 1, 0 },
	                           { "equalto", t_eq, "b", 1, 0 },
	                           { "!=", t_ne, "b", 1, 0 },
	                           { "ne", t_ne, "b", 1, 0 },
	                           { ">", t_gt, "b", 1, 0 },
	                           { "gt", t_gt, "b", 1, 0 },
	                           { "greaterthan", t_gt, "b", 1, 0 },
	                           { ">=", t_ge, "b", 1, 0 },
	                           { "ge", t_ge, "b", 1, 0 },
	                           { "<", t_lt, "b", 1, 0 },
	                           { "lt", t_lt, "b", 1, 0 },
	                           { "lessthan", t_lt, "b", 1, 0 },
	                           { "<=", t_le, "b", 1, 0 },
	                           { "le", t_le, "b", 1, 0 },
	                           { NULL } };
