/* jinja/test.c - the tests that follow `is`. */
#include "jinja/run.h"
#include "pyval/case.h"
#include "base/err.h"

#include <string.h>

#define TEST(name, yes) \
	static int t_##name(struct pyrun *r, struct pycall *c, struct pyval *out) \
	{ \
		*out = py_bool(yes); \
		return r->rc; \
	}

TEST(boolean, c->self.type == PY_BOOL)
TEST(callable, c->self.type == PY_UNDEF || c->self.type >= PY_MACRO)
TEST(defined, c->self.type != PY_UNDEF)
TEST(escaped, c->self.type == PY_STR && c->self.s->safe)
TEST(false, c->self.type == PY_BOOL && !c->self.i)
TEST(true, c->self.type == PY_BOOL && c->self.i)
TEST(float, c->self.type == PY_FLOAT)
TEST(integer, c->self.type == PY_INT)
TEST(mapping, c->self.type == PY_DICT)
TEST(none, c->self.type == PY_NONE)
TEST(number, py_is_num(c->self))
TEST(sequence, c->self.type == PY_UNDEF || c->self.type == PY_STR || py_is_seq(c->self) ||
                       c->self.type == PY_DICT || c->self.type == PY_RANGE)
TEST(string, c->self.type == PY_STR)
TEST(undefined, c->self.type == PY_UNDEF)
TEST(sameas, !(c->self.type == PY_STR && py_spend(r, c->self.s->len / PY_STEP_COPY)) &&
                     py_same(c->self, c->a[0]))
TEST(eq, py_eq(r, c->self, c->a[0]))
TEST(ne, !py_eq(r, c->self, c->a[0]))
TEST(iterable, c->self.type == PY_UNDEF || c->self.type == PY_STR || py_is_seq(c->self) ||
                       c->self.type == PY_DICT || c->self.type == PY_RANGE ||
                       c->self.type == PY_GEN || c->self.type == PY_VIEW ||
                       c->self.type == PY_LOOP || c->self.type == PY_SELF)

static int compare_self(struct pyrun *r, struct pycall *c, const char *op, struct pyval *out)
{
	int sign;

	TRY(py_cmp(r, c->self, c->a[0], op, &sign));
	*out = py_bool(sign != 2 && ((op[0] == '<' && sign < 0) || (op[0] == '>' && sign > 0) ||
	                             (op[1] && !sign)));
	return r->rc;
}

static int t_lt(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return compare_self(r, c, "<", out);
}
static int t_le(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return compare_self(r, c, "<=", out);
}
static int t_gt(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return compare_self(r, c, ">", out);
}
static int t_ge(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return compare_self(r, c, ">=", out);
}

/* Set *out to self % n == rest. */
static int is_divisible(struct pyrun *r, struct pycall *c, int64_t n, int64_t rest,
                        struct pyval *out)
{
	struct pyval v;

	TRY(jinja_binary(r, JT_MOD, c->self, n ? py_int(n) : c->a[0], &v));
	*out = py_bool(py_eq(r, v, py_int(rest)));
	return r->rc;
}

static int t_even(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return is_divisible(r, c, 2, 0, out);
}
static int t_odd(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return is_divisible(r, c, 2, 1, out);
}
static int t_divisibleby(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return is_divisible(r, c, 0, 0, out);
}

static int t_in(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	int yes;

	TRY(py_in(r, c->self, c->a[0], &yes));
	*out = py_bool(yes);
	return r->rc;
}

static int has_case(struct pyrun *r, struct pycall *c, enum py_case how, struct pyval *out)
{
	const struct pystr *s;

	TRY(py_to_str(r, c->self, &s));
	TRY(py_spend(r, s->len / PY_STEP_READ));
	*out = py_bool(pystr_is_case(s, how));
	return r->rc;
}

static int t_lower(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return has_case(r, c, PY_LOWER, out);
}
static int t_upper(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return has_case(r, c, PY_UPPER, out);
}

static int is_known(struct pyrun *r, struct pycall *c,
                    const struct pyfn *(*find)(const char *, size_t), struct pyval *out)
{
	*out = py_bool(c->self.type == PY_STR && find(c->self.s->at, c->self.s->len));
	return r->rc;
}

static int t_filter(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return is_known(r, c, jinja_find_filter, out);
}
static int t_test(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return is_known(r, c, jinja_find_test, out);
}

const struct pyfn jinja_tests[] = { { "boolean", t_boolean, "", 0, 0 },
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
