/* jinja/eval.c - evaluate expressions. */
#include "jinja/run.h"
#include "base/err.h"
#include "base/fmath.h"

#include <math.h>
#include <string.h>

/* ---- arithmetic ---- */

static int fail_overflow(struct pyrun *r)
{
	return py_fail(r, "an integer beyond 64 bits is not supported");
}

static const char *op_name(int op)
{
	static const char *const name[] = {
		[JT_ADD] = "+",   [JT_SUB] = "-", [JT_MUL] = "*", [JT_DIV] = "/",
		[JT_IDIV] = "//", [JT_MOD] = "%", [JT_POW] = "**"
	};

	return name[op];
}

static int fail_operands(struct pyrun *r, int op, struct pyval a, struct pyval b)
{
	if (a.type == PY_UNDEF || b.type == PY_UNDEF)
		return py_undef_fail(r, a.type == PY_UNDEF ? a : b);
	if (op == JT_ADD && a.type == PY_STR)
		return py_fail(r, "can only concatenate str (not \"%s\") to str", py_type_name(b));
	return py_fail(r, "unsupported operand type(s) for %s: '%s' and '%s'", op_name(op),
	               py_type_name(a), py_type_name(b));
}

static int int_pow(struct pyrun *r, int64_t a, int64_t b, struct pyval *out)
{
	int64_t x = 1;

	if (b < 0) {
		if (!a)
			return py_fail(r, "0.0 cannot be raised to a negative power");
		*out = py_float(fm_pow((double)(a < 0 ? -a : a), (double)b) *
		                (a < 0 && (b & 1) ? -1 : 1));
		return INFER_OK;
	}
	if (a == 0 || a == 1 || a == -1)
		x = b == 0 || a == 1 ? 1 : a == 0 ? 0 : (b & 1) ? -1 : 1;
	else
		for (int64_t i = 0; i < b; i++)
			if (__builtin_mul_overflow(x, a, &x))
				return fail_overflow(r);
	*out = py_int(x);
	return INFER_OK;
}

static int int_op(struct pyrun *r, int op, int64_t a, int64_t b, struct pyval *out)
{
	int64_t x = 0;

	if ((op == JT_IDIV || op == JT_MOD || op == JT_DIV) && !b)
		return py_fail(r, "division by zero");
	switch (op) {
	case JT_ADD:
		if (__builtin_add_overflow(a, b, &x))
			return fail_overflow(r);
		break;
	case JT_SUB:
		if (__builtin_sub_overflow(a, b, &x))
			return fail_overflow(r);
		break;
	case JT_MUL:
		if (__builtin_mul_overflow(a, b, &x))
			return fail_overflow(r);
		break;
	case JT_DIV:
		*out = py_float((double)a / (double)b);
		return INFER_OK;
	case JT_POW:
		return int_pow(r, a, b, out);
	default:
		if (b == -1) { /* INT64_MIN / -1 traps */
			if (op == JT_IDIV && __builtin_sub_overflow((int64_t)0, a, &x))
				return fail_overflow(r);
			break;
		}
		x = op == JT_IDIV ? a / b - (a % b != 0 && (a % b < 0) != (b < 0))
		                  : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
	}
	*out = py_int(x);
	return INFER_OK;
}

static double float_mod(double a, double b)
{
	double m = fmod(a, b);

	if (m == 0)
		return copysign(0, b);
	return (m < 0) != (b < 0) ? m + b : m;
}

static int float_op(struct pyrun *r, int op, double a, double b, struct pyval *out)
{
	double x;

	if ((op == JT_IDIV || op == JT_MOD || op == JT_DIV) && b == 0)
		return py_fail(r, "float division by zero");
	switch (op) {
	case JT_ADD:
		x = a + b;
		break;
	case JT_SUB:
		x = a - b;
		break;
	case JT_MUL:
		x = a * b;
		break;
	case JT_DIV:
		x = a / b;
		break;
	case JT_IDIV:
		TRY(py_spend(r, PY_STEP_DIGITS)); /* fmod computes the quotient bit by bit */
		x = (a - float_mod(a, b)) / b;
		x = x == 0 ? copysign(0, a / b) : floor(x) + (x - floor(x) > 0.5);
		break;
	case JT_MOD:
		TRY(py_spend(r, PY_STEP_DIGITS));
		x = float_mod(a, b);
		break;
	default:
		TRY(py_spend(r, PY_STEP_DIGITS));
		if (a < 0 && b != floor(b))
			return py_fail(r, "complex numbers are not supported");
		if (a == 0 && b < 0)
			return py_fail(r, "0.0 cannot be raised to a negative power");
		x = fm_pow(fabs(a), b);
		if (a < 0 && fmod(b, 2) != 0)
			x = -x;
		if (isinf(x) && isfinite(a) && isfinite(b))
			return py_fail(r, "Numerical result out of range");
	}
	*out = py_float(x);
	return INFER_OK;
}

static int repeat_sequence(struct pyrun *r, struct pyval seq, int64_t times, struct pyval *out)
{
	struct pysb b = { .r = r };
	size_t n = times > 0 ? (size_t)times : 0;

	if (seq.type == PY_STR) {
		pysb_fill(&b, seq.s, n);
		TRY(pysb_done(&b, out));
		((struct pystr *)(uintptr_t)out->s)->safe = seq.s->safe;
		return INFER_OK;
	}
	if (seq.l->n && n > r->bytes_max / sizeof seq / seq.l->n)
		return py_fail_bytes(r);
	TRY(py_spend(r, seq.l->n * n / PY_STEP_ITEMS));
	TRY(py_list(r, out, seq.type, seq.l->n * n));
	for (size_t i = 0; i < n && seq.l->n; i++) {
		memcpy(out->l->at + out->l->n, seq.l->at, seq.l->n * sizeof seq);
		out->l->n += seq.l->n;
	}
	return r->rc;
}

int jinja_binary(struct pyrun *r, int op, struct pyval a, struct pyval b, struct pyval *out)
{
	if (py_is_int(a) && py_is_int(b))
		return int_op(r, op, a.i, b.i, out);
	if (py_is_num(a) && py_is_num(b))
		return float_op(r, op, py_num(a), py_num(b), out);
	if (op == JT_ADD && a.type == PY_STR && b.type == PY_STR)
		return py_concat(r, out, a.s, b.s);
	if (op == JT_ADD && py_is_seq(a) && a.type == b.type) {
		TRY(py_list(r, out, a.type, a.l->n + b.l->n));
		for (size_t i = 0; i < a.l->n + b.l->n; i++)
			out->l->at[out->l->n++] = i < a.l->n ? a.l->at[i] : b.l->at[i - a.l->n];
		return py_spend(r, out->l->n / PY_STEP_ITEMS);
	}
	if (op == JT_MUL && (a.type == PY_STR || py_is_seq(a)) && py_is_int(b))
		return repeat_sequence(r, a, b.i, out);
	if (op == JT_MUL && (b.type == PY_STR || py_is_seq(b)) && py_is_int(a))
		return repeat_sequence(r, b, a.i, out);
	if (op == JT_MOD && a.type == PY_STR)
		return py_percent(r, a.s, b, out);
	return fail_operands(r, op, a, b);
}

static int eval_sign(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	struct pyval v;

	TRY(jinja_eval(r, n->a, &v));
	if (v.type == PY_FLOAT)
		*out = py_float(n->kind == JN_NEG ? -v.f : v.f);
	else if (!py_is_int(v))
		return v.type == PY_UNDEF ? py_undef_fail(r, v)
		                          : py_fail(r, "bad operand type for unary %c: '%s'",
		                                    n->kind == JN_NEG ? '-' : '+', py_type_name(v));
	else if (n->kind == JN_NEG && v.i == INT64_MIN)
		return fail_overflow(r);
	else
		*out = py_int(n->kind == JN_NEG ? -v.i : v.i);
	return INFER_OK;
}

/* ---- comparisons ---- */

static int compare_values(struct pyrun *r, int op, struct pyval a, struct pyval b, int *yes)
{
	static const char *const name[] = {
		[JT_GT] = ">", [JT_GE] = ">=", [JT_LT] = "<", [JT_LE] = "<="
	};
	int sign;

	switch (op) {
	case JT_EQ:
	case JT_NE:
		*yes = py_eq(r, a, b) == (op == JT_EQ);
		return r->rc;
	case JT_IN:
	case JT_NOT_IN:
		TRY(py_in(r, a, b, yes));
		*yes = *yes == (op == JT_IN);
		return INFER_OK;
	default:
		TRY(py_cmp(r, a, b, name[op], &sign));
		*yes = sign != 2 && (op == JT_GT   ? sign > 0
		                     : op == JT_GE ? sign >= 0
		                     : op == JT_LT ? sign < 0
		                                   : sign <= 0);
		return INFER_OK;
	}
}

static int eval_cmp(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	struct pyval a, b;
	int yes = 1;

	TRY(jinja_eval(r, n->a, &a));
	for (uint32_t i = 0; i < n->n && yes; i++) {
		TRY(jinja_eval(r, n->list[i]->a, &b));
		TRY(compare_values(r, n->list[i]->op, a, b, &yes));
		a = b;
	}
	*out = py_bool(yes);
	return INFER_OK;
}

/* ---- names, displays, calls ---- */

const struct pyval *jinja_var(struct pyrun *r, uint32_t id)
{
	uint64_t looked = 0;

	for (const struct jscope *s = r->in->scope; s; s = s->up) {
		looked += 1 + s->n;
		for (uint32_t i = s->n; i-- > 0;)
			if (s->at[i].id == id) {
				py_spend(r, looked / PY_STEP_ITEMS);
				return &s->at[i].v;
			}
	}
	py_spend(r, looked / PY_STEP_ITEMS);
	return r->in->ctx[id].type == PY_MISSING ? NULL : &r->in->ctx[id];
}

static int eval_name(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	const struct pyval *v = jinja_var(r, n->id);
	const struct pyfn *fn;

	if (v && v->type != PY_MISSING) {
		*out = *v;
		return INFER_OK;
	}
	fn = v ? NULL : jinja_find_global(n->str->at, n->str->len);
	if (!fn)
		return py_undef(r, out, NULL, n->str);
	*out = (struct pyval){ .type = PY_FN, .fn = fn };
	return INFER_OK;
}

static int eval_list(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	TRY(py_list(r, out, n->kind == JN_LIST ? PY_LIST : PY_TUPLE, n->n));
	for (uint32_t i = 0; i < n->n; i++) {
		TRY(jinja_eval(r, n->list[i], &out->l->at[i]));
		out->l->n++;
	}
	return INFER_OK;
}

static int eval_dict(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	struct pyval k, v;

	TRY(py_dict(r, out, PY_DICT, n->n / 2));
	for (uint32_t i = 0; i < n->n; i += 2) {
		TRY(jinja_eval(r, n->list[i], &k));
		TRY(jinja_eval(r, n->list[i + 1], &v));
		TRY(pydict_put(r, out->d, k, v));
	}
	return INFER_OK;
}

static int eval_concat(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	struct pyval sum = { 0 }, v;
	const struct pystr *s;

	for (uint32_t i = 0; i < n->n; i++) {
		TRY(jinja_eval(r, n->list[i], &v));
		TRY(py_to_str(r, v, &s));
		struct pystr plain = *s;
		plain.safe = 0;
		TRY(i ? py_concat(r, &sum, sum.s, &plain) : py_sub(r, &sum, &plain, 0, plain.len));
	}
	*out = sum;
	return INFER_OK;
}

static int push_keyword(struct pyrun *r, struct pycall *c, const struct pystr *name, struct pyval v,
                        uint32_t cap)
{
	must(c->nkw < cap);
	TRY(py_spend(r, 1 + c->nkw / PY_STEP_ITEMS));
	for (uint32_t i = 0; i < c->nkw; i++)
		if (c->name[i]->len == name->len && !memcmp(c->name[i]->at, name->at, name->len))
			return py_fail(r, "got multiple values for keyword argument '%.*s'",
			               (int)(name->len & 63), name->at);
	c->name[c->nkw] = name;
	c->kw[c->nkw++] = v;
	return INFER_OK;
}

static int spread_arguments(struct pyrun *r, const struct jargs *a, struct pyval *star,
                            struct pyval *star2)
{
	struct pyval v;

	*star = *star2 = (struct pyval){ 0 };
	if (a->star) {
		TRY(jinja_eval(r, a->star, &v));
		TRY(py_to_list(r, star, v));
	}
	if (a->star2) {
		TRY(jinja_eval(r, a->star2, star2));
		if (star2->type != PY_DICT)
			return py_fail(r, "argument after ** must be a mapping, not %s",
			               py_type_name(*star2));
	}
	return INFER_OK;
}

int jinja_args(struct pyrun *r, const struct jargs *a, struct pycall *c)
{
	struct pyval star, star2;

	if (!a)
		return INFER_OK;
	if (a->n) {
		c->pos = py_alloc(r, a->n, sizeof *c->pos);
		for (; !r->rc && c->n < a->n; c->n++)
			TRY(jinja_eval(r, a->pos[c->n], &c->pos[c->n]));
	}
	TRY(spread_arguments(r, a, &star, &star2));
	if (star.type && !r->rc) {
		struct pyval *all = py_alloc(r, c->n + star.l->n, sizeof *all);
		for (size_t i = 0; all && i < c->n + star.l->n; i++)
			all[i] = i < c->n ? c->pos[i] : star.l->at[i - c->n];
		c->pos = all;
		c->n += (uint32_t)star.l->n;
	}
	uint32_t cap = a->nkw + (star2.type ? (uint32_t)star2.d->n : 0);
	if (!cap)
		return r->rc;
	c->kw = py_alloc(r, cap, sizeof *c->kw);
	c->name = py_alloc(r, cap, sizeof *c->name);
	for (uint32_t i = 0; !r->rc && i < a->nkw; i++) {
		struct pyval v;
		TRY(jinja_eval(r, a->kw[i], &v));
		TRY(push_keyword(r, c, a->name[i], v, cap));
	}
	for (uint32_t i = 0; !r->rc && i < cap - a->nkw; i++) {
		if (star2.d->at[i].k.type != PY_STR)
			return py_fail(r, "keywords must be strings");
		TRY(push_keyword(r, c, star2.d->at[i].k.s, star2.d->at[i].v, cap));
	}
	return r->rc;
}

static int eval_call(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	struct pycall c = { 0 };
	struct pyval f;

	TRY(jinja_eval(r, n->a, &f));
	TRY(jinja_args(r, n->args, &c));
	r->line = n->line;
	return jinja_call(r, f, &c, out);
}

int jinja_call(struct pyrun *r, struct pyval f, struct pycall *c, struct pyval *out)
{
	switch (f.type) {
	case PY_FN:
		return pyfn_call(r, f.fn, c, out);
	case PY_METHOD:
		c->self = f.method->self;
		return pyfn_call(r, f.method->fn, c, out);
	case PY_MACRO:
		return jinja_macro(r, f.macro, c, out);
	case PY_LOOP:
		return jloop_call(r, f.loop, c, out);
	case PY_UNDEF:
		return py_undef_fail(r, f);
	default:
		return py_fail(r, "'%s' object is not callable", py_type_name(f));
	}
}

/* Evaluate a JN_FILTER or JN_TEST. */
static int apply_filter(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	struct pycall c = { 0 };

	TRY(jinja_eval(r, n->a, &c.self));
	TRY(jinja_args(r, n->args, &c));
	r->line = n->line;
	if (!n->fn)
		return py_fail(r, "no %s named '%.*s'", n->kind == JN_FILTER ? "filter" : "test",
		               (int)(n->str->len & 63), n->str->at);
	TRY(pyfn_call(r, n->fn, &c, out));
	if (n->kind == JN_TEST)
		*out = py_bool(py_true(*out) != n->negated);
	return INFER_OK;
}

/* ---- the rest ---- */

static int eval_logic(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	TRY(jinja_eval(r, n->a, out));
	if (n->kind == JN_NOT) {
		*out = py_bool(!py_true(*out));
		return INFER_OK;
	}
	return py_true(*out) == (n->kind == JN_AND) ? jinja_eval(r, n->b, out) : INFER_OK;
}

static int eval_cond(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	struct pyval v;

	TRY(jinja_eval(r, n->a, &v));
	if (py_true(v))
		return jinja_eval(r, n->b, out);
	if (n->c)
		return jinja_eval(r, n->c, out);
	return py_undef_why(
		r, out,
		"the inline if-expression evaluated to false and no else section was defined");
}

static int eval_item(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	struct pyval a, at[3] = { { 0 }, { 0 }, { 0 } };

	TRY(jinja_eval(r, n->a, &a));
	if (n->kind == JN_ATTR) {
		r->line = n->line;
		return py_attr(r, a, n->str, out);
	}
	if (n->kind == JN_ITEM)
		TRY(jinja_eval(r, n->b, &at[0]));
	for (int i = 0; i < 3 && n->kind == JN_SLICE; i++)
		if (n->list[i])
			TRY(jinja_eval(r, n->list[i], &at[i]));
	r->line = n->line;
	return n->kind == JN_ITEM ? py_item(r, a, at[0], out) : py_slice(r, a, at, out);
}

static int eval_binary(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	struct pyval a, b;

	TRY(jinja_eval(r, n->a, &a));
	TRY(jinja_eval(r, n->b, &b));
	r->line = n->line;
	return jinja_binary(r, n->op, a, b, out);
}

static int eval_node(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	switch (n->kind) {
	case JN_LIST:
	case JN_TUPLE:
		return eval_list(r, n, out);
	case JN_DICT:
		return eval_dict(r, n, out);
	case JN_ATTR:
	case JN_ITEM:
	case JN_SLICE:
		return eval_item(r, n, out);
	case JN_CALL:
		return eval_call(r, n, out);
	case JN_FILTER:
	case JN_TEST:
		return apply_filter(r, n, out);
	case JN_NOT:
	case JN_AND:
	case JN_OR:
		return eval_logic(r, n, out);
	case JN_CMP:
		return eval_cmp(r, n, out);
	case JN_CONCAT:
		return eval_concat(r, n, out);
	case JN_BIN:
		return eval_binary(r, n, out);
	case JN_NEG:
	case JN_POS:
		return eval_sign(r, n, out);
	default:
		must(n->kind == JN_COND);
		return eval_cond(r, n, out);
	}
}

int jinja_eval(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	TRY(py_spend(r, 1));
	r->line = n->line;
	*out = (struct pyval){ 0 };
	if (n->kind == JN_CONST || n->kind == JN_INPUT) {
		*out = n->kind == JN_CONST ? n->val : r->in->input;
		return INFER_OK;
	}
	if (n->kind == JN_NAME)
		return eval_name(r, n, out);
	TRY(py_enter(r));
	int rc = eval_node(r, n, out);
	r->depth--;
	return rc;
}
