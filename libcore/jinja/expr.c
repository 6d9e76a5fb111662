/* jinja/expr.c - parse expressions. */
#include "jinja/parse.h"
#include "jinja/run.h"
#include "base/err.h"

#include <string.h>

enum { DEEPEST = 200 };

static struct jnode *parse_or(struct jparse *p);
static struct jnode *parse_unary(struct jparse *p, int with_filters);

static struct jnode *new_unary(struct jparse *p, enum jnode_kind kind, struct jnode *a)
{
	struct jnode *n = a ? jparse_node(p, kind) : NULL;

	if (n)
		n->a = a;
	return n;
}

static struct jnode *new_binary(struct jparse *p, enum jnode_kind kind, struct jnode *a,
                                struct jnode *b)
{
	struct jnode *n = b ? new_unary(p, kind, a) : NULL;

	if (n)
		n->b = b;
	return n;
}

static struct jnode *new_text(struct jparse *p, const char *s, size_t n)
{
	struct jnode *c = jparse_node(p, JN_CONST);
	const struct pystr *str = jparse_str(p, s, n);

	if (!c || !str)
		return NULL;
	c->val = (struct pyval){ .type = PY_STR, .s = str };
	return c;
}

static int is_tuple_end(const struct jparse *p, int how)
{
	int k = p->tok->kind;

	return k == JT_VAR_END || k == JT_BLOCK_END || k == JT_RPAREN ||
	       ((how & JTUPLE_TO_IN) && jparse_is(p, "in")) ||
	       ((how & JTUPLE_TO_RECURSIVE) && jparse_is(p, "recursive"));
}

/* JN_TUPLE: list. A single expression without a comma is returned as it is. */
static struct jnode *parse_list(struct jparse *p, int how, struct jnode *(*part)(struct jparse *))
{
	struct jnode *t = jparse_node(p, JN_TUPLE), *x;
	int commas = 0;

	if (!t)
		return NULL;
	while (!is_tuple_end(p, how)) {
		if (!(x = part(p)) || jparse_push(p, &t->list, &t->n, x))
			return NULL;
		if (p->tok->kind != JT_COMMA)
			break;
		commas = 1;
		p->tok++;
	}
	if (commas || (!t->n && (how & JTUPLE_PARENS)))
		return t;
	return t->n ? t->list[0] : jparse_fail(p, "expected an expression");
}

struct jnode *jparse_tuple(struct jparse *p, int how)
{
	return parse_list(p, how, how & JTUPLE_NO_IF ? parse_or : jparse_expr);
}

/* JN_NSREF: id, attribute str. */
static struct jnode *parse_target_part(struct jparse *p)
{
	if (p->tok->kind == JT_NAME && p->tok[1].kind == JT_DOT) {
		struct jnode *n = jparse_node(p, JN_NSREF);
		if (!n || p->tok[2].kind != JT_NAME)
			return n ? jparse_fail(p, "expected a name") : NULL;
		n->id = jparse_id(p, p->tok->at, p->tok->len);
		n->str = jparse_str(p, p->tok[2].at, p->tok[2].len);
		p->tok += 3;
		return p->rc ? NULL : n;
	}
	return jparse_primary(p);
}

static int can_assign(struct jparse *p, const struct jnode *n, int to_in)
{
	if (n->kind == JN_TUPLE) {
		for (uint32_t i = 0; i < n->n; i++)
			if (!can_assign(p, n->list[i], to_in))
				return 0;
		return 1;
	}
	return n->kind == JN_NAME || (n->kind == JN_NSREF && !to_in);
}

struct jnode *jparse_target(struct jparse *p, int to_in)
{
	struct jnode *n =
		parse_list(p, to_in ? JTUPLE_TO_IN : 0, to_in ? jparse_primary : parse_target_part);

	if (n && !can_assign(p, n, to_in))
		return jparse_fail(p, "cannot assign to this");
	return n;
}

/* JN_LIST: list. JN_DICT: list of alternating keys and values. */
static struct jnode *parse_display(struct jparse *p, enum jnode_kind kind, enum jtok_kind close)
{
	struct jnode *t = jparse_node(p, kind), *x;

	if (!t)
		return NULL;
	p->tok++;
	while (p->tok->kind != close) {
		if (t->n && jparse_expect(p, JT_COMMA, ","))
			return NULL;
		if (p->tok->kind == close)
			break;
		if (!(x = jparse_expr(p)) || jparse_push(p, &t->list, &t->n, x))
			return NULL;
		if (kind == JN_DICT && (jparse_expect(p, JT_COLON, ":") || !(x = jparse_expr(p)) ||
		                        jparse_push(p, &t->list, &t->n, x)))
			return NULL;
	}
	p->tok++;
	return t;
}

static struct jnode *parse_name(struct jparse *p)
{
	static const struct {
		const char *s;
		struct pyval v;
	} word[] = {
		{ "true", { .type = PY_BOOL, .i = 1 } }, { "True", { .type = PY_BOOL, .i = 1 } },
		{ "false", { .type = PY_BOOL } },        { "False", { .type = PY_BOOL } },
		{ "none", { .type = PY_NONE } },         { "None", { .type = PY_NONE } },
	};
	struct jnode *n = jparse_node(p, JN_NAME);

	if (!n)
		return NULL;
	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (jparse_is(p, word[i].s)) {
			n->kind = JN_CONST;
			n->val = word[i].v;
			p->tok++;
			return n;
		}
	p->uses |= jparse_is(p, "varargs")  ? JM_VARARGS
	           : jparse_is(p, "kwargs") ? JM_KWARGS
	           : jparse_is(p, "caller") ? JM_CALLER
	                                    : 0;
	n->id = jparse_id(p, p->tok->at, p->tok->len);
	n->str = jparse_str(p, p->tok->at, p->tok->len);
	p->tok++;
	return p->rc ? NULL : n;
}

static struct jnode *parse_strings(struct jparse *p)
{
	size_t n = 0;
	const struct jtok *t = p->tok;

	for (; p->tok->kind == JT_STR; p->tok++)
		n += p->tok->len;
	if (p->tok == t + 1)
		return new_text(p, t->at, t->len);
	char *s = arena_alloc(&p->t->arena, n + 1, 1), *e = s;
	for (; s && t < p->tok; e += t++->len)
		memcpy(e, t->at, t->len);
	return s ? new_text(p, s, n) : jparse_nomem(p);
}

struct jnode *jparse_primary(struct jparse *p)
{
	struct jnode *n;

	switch (p->tok->kind) {
	case JT_NAME:
		return parse_name(p);
	case JT_STR:
		return parse_strings(p);
	case JT_INT:
	case JT_FLOAT:
		n = jparse_node(p, JN_CONST);
		if (n)
			n->val = p->tok->kind == JT_INT ? py_int(p->tok->i) : py_float(p->tok->f);
		p->tok++;
		return n;
	case JT_LPAREN:
		p->tok++;
		n = jparse_tuple(p, JTUPLE_PARENS);
		return n && !jparse_expect(p, JT_RPAREN, ")") ? n : NULL;
	case JT_LBRACKET:
		return parse_display(p, JN_LIST, JT_RBRACKET);
	case JT_LBRACE:
		return parse_display(p, JN_DICT, JT_RBRACE);
	default:
		return jparse_fail(p, "unexpected '%.*s'", p->tok->len < 20 ? (int)p->tok->len : 20,
		                   p->tok->at);
	}
}

/* ---- after a primary ---- */

/* JN_SLICE: list of start, stop and step; NULL: left out. */
static struct jnode *parse_subscript(struct jparse *p)
{
	struct jnode *first = NULL, *n;

	if (p->tok->kind != JT_COLON) {
		first = jparse_expr(p);
		if (!first || p->tok->kind != JT_COLON)
			return first;
	}
	n = jparse_node(p, JN_SLICE);
	if (!n || !(n->list = arena_alloc(&p->t->arena, 3, sizeof *n->list)))
		return jparse_nomem(p);
	n->list[0] = first;
	for (int i = 1; i < 3 && p->tok->kind == JT_COLON; i++) {
		p->tok++;
		if (p->tok->kind == JT_COLON || p->tok->kind == JT_RBRACKET ||
		    p->tok->kind == JT_COMMA)
			continue;
		if (!(n->list[i] = jparse_expr(p)))
			return NULL;
	}
	return n;
}

/* JN_ATTR: a, str.  JN_ITEM: a, key b.  JN_SLICE: a, list. */
static struct jnode *parse_brackets(struct jparse *p, struct jnode *on)
{
	struct jnode *t = jparse_node(p, JN_TUPLE), *x, *item;

	if (!t)
		return NULL;
	p->tok++;
	while (p->tok->kind != JT_RBRACKET) {
		if (t->n && jparse_expect(p, JT_COMMA, ","))
			return NULL;
		if (!(x = parse_subscript(p)) || jparse_push(p, &t->list, &t->n, x))
			return NULL;
	}
	if (jparse_expect(p, JT_RBRACKET, "]"))
		return NULL;
	if (t->n == 1 && t->list[0]->kind == JN_SLICE && !t->list[0]->a) {
		t->list[0]->a = on;
		return t->list[0];
	}
	for (uint32_t i = 0; t->n > 1 && i < t->n; i++)
		if (t->list[i]->kind == JN_SLICE && !t->list[i]->a)
			return jparse_fail(p, "a slice among several subscripts is not supported");
	item = new_binary(p, JN_ITEM, on, t->n == 1 ? t->list[0] : t);
	return item;
}

static struct jnode *parse_dot(struct jparse *p, struct jnode *on)
{
	struct jnode *n = new_unary(p, JN_ATTR, on);

	p->tok++;
	if (!n)
		return NULL;
	if (p->tok->kind == JT_NAME) {
		n->str = jparse_str(p, p->tok->at, p->tok->len);
	} else if (p->tok->kind == JT_INT) {
		n->kind = JN_ITEM;
		n->b = jparse_primary(p);
		return n->b ? n : NULL;
	} else {
		return jparse_fail(p, "expected a name or a number after '.'");
	}
	p->tok++;
	return p->rc ? NULL : n;
}

static int fail_call(struct jparse *p)
{
	jparse_fail(p, "invalid syntax for function call expression");
	return 1;
}

static int parse_argument(struct jparse *p, struct jargs *a)
{
	struct jnode *x;

	if (p->tok->kind == JT_MUL || p->tok->kind == JT_POW) {
		struct jnode **to = p->tok->kind == JT_MUL ? &a->star : &a->star2;
		if (*to || a->star2)
			return fail_call(p);
		p->tok++;
		return !(*to = jparse_expr(p));
	}
	if (p->tok->kind == JT_NAME && p->tok[1].kind == JT_ASSIGN) {
		const struct pystr *s = jparse_str(p, p->tok->at, p->tok->len);
		const struct pystr **names =
			s ? arena_alloc(&p->t->arena, a->nkw + 1, sizeof *names) : NULL;
		if (!names || a->star2)
			return names ? fail_call(p) : jparse_nomem(p) == NULL;
		for (uint32_t i = 0; i < a->nkw; i++) {
			names[i] = a->name[i];
			if (names[i]->len == s->len && !memcmp(names[i]->at, s->at, s->len))
				return !jparse_fail(p, "keyword argument repeated: %.*s",
				                    (int)(s->len & 63), s->at);
		}
		names[a->nkw] = s;
		a->name = names;
		p->tok += 2;
		return !(x = jparse_expr(p)) || jparse_push(p, &a->kw, &a->nkw, x);
	}
	if (a->star || a->star2 || a->nkw)
		return fail_call(p);
	return !(x = jparse_expr(p)) || jparse_push(p, &a->pos, &a->n, x);
}

static struct jargs *parse_arguments(struct jparse *p)
{
	struct jargs *a = arena_alloc(&p->t->arena, 1, sizeof *a);
	int comma = 0;

	if (!a)
		return jparse_nomem(p);
	for (p->tok++; p->tok->kind != JT_RPAREN; comma = 1) {
		if (comma && jparse_expect(p, JT_COMMA, ","))
			return NULL;
		if (comma && p->tok->kind == JT_RPAREN)
			break;
		if (parse_argument(p, a))
			return NULL;
	}
	p->tok++;
	return a;
}

/* JN_CALL: a, args. */
static struct jnode *parse_call(struct jparse *p, struct jnode *on)
{
	struct jnode *n = new_unary(p, JN_CALL, on);

	return n && (n->args = parse_arguments(p)) ? n : NULL;
}

static struct jnode *parse_postfix(struct jparse *p, struct jnode *n)
{
	for (;;) {
		int k = p->tok->kind;
		if (!n || (k != JT_DOT && k != JT_LBRACKET && k != JT_LPAREN))
			return n;
		n = k == JT_DOT        ? parse_dot(p, n)
		    : k == JT_LBRACKET ? parse_brackets(p, n)
		                       : parse_call(p, n);
	}
}

/* Parse the dotted name of a filter or test. No supported name has a dot. */
static const struct pystr *parse_dotted(struct jparse *p)
{
	const struct jtok *from = p->tok;

	if (jparse_expect(p, JT_NAME, "a name"))
		return NULL;
	while (p->tok->kind == JT_DOT) {
		p->tok++;
		if (jparse_expect(p, JT_NAME, "a name"))
			return NULL;
	}
	return jparse_str(p, from->at, (size_t)(p->tok[-1].at + p->tok[-1].len - from->at));
}

/* JN_FILTER: value a, fn (NULL: unknown, its name is str), args or NULL. */
static struct jnode *parse_filter(struct jparse *p, struct jnode *on)
{
	struct jnode *n = new_unary(p, JN_FILTER, on);

	if (!n || !(n->str = parse_dotted(p)))
		return NULL;
	if (p->tok->kind == JT_LPAREN && !(n->args = parse_arguments(p)))
		return NULL;
	n->fn = jinja_find_filter(n->str->at, n->str->len);
	if (!n->fn && !p->soft && !p->unknown)
		p->unknown = n;
	return n;
}

struct jnode *jparse_filters(struct jparse *p, struct jnode *on, int inline_)
{
	while (on && (p->tok->kind == JT_PIPE || inline_)) {
		if (!inline_)
			p->tok++;
		on = parse_filter(p, on);
		inline_ = 0;
	}
	return on;
}

/* JN_TEST: as JN_FILTER, and negated. */
static struct jnode *parse_test(struct jparse *p, struct jnode *on)
{
	struct jnode *n = new_unary(p, JN_TEST, on), *x;
	int k;

	p->tok++;
	if (!n)
		return NULL;
	n->negated = (uint8_t)jparse_skip(p, "not");
	if (!(n->str = parse_dotted(p)))
		return NULL;
	k = p->tok->kind;
	if (k == JT_LPAREN) {
		n->args = parse_arguments(p);
		if (!n->args)
			return NULL;
	} else if ((k == JT_NAME || k == JT_STR || k == JT_INT || k == JT_FLOAT ||
	            k == JT_LBRACKET || k == JT_LBRACE) &&
	           !jparse_is(p, "else") && !jparse_is(p, "or") && !jparse_is(p, "and")) {
		if (jparse_is(p, "is"))
			return jparse_fail(p, "tests cannot be chained with is");
		n->args = arena_alloc(&p->t->arena, 1, sizeof *n->args);
		if (!n->args || !(x = parse_postfix(p, jparse_primary(p))) ||
		    jparse_push(p, &n->args->pos, &n->args->n, x))
			return jparse_nomem(p);
	}
	n->fn = jinja_find_test(n->str->at, n->str->len);
	if (!n->fn && !p->soft && !p->unknown)
		p->unknown = n;
	return n;
}

static struct jnode *parse_filters_and_tests(struct jparse *p, struct jnode *n)
{
	for (;;) {
		int k = p->tok->kind;
		if (n && k == JT_PIPE)
			n = jparse_filters(p, n, 0);
		else if (n && k == JT_LPAREN)
			n = parse_call(p, n);
		else if (n && jparse_is(p, "is"))
			n = parse_test(p, n);
		else
			return n;
	}
}

/* ---- operators, in descending precedence ---- */

static struct jnode *parse_unary(struct jparse *p, int with_filters)
{
	struct jnode *n;

	if (++p->depth > DEEPEST)
		return jparse_fail(p, "the template is nested more than %d levels deep", DEEPEST);
	if (p->tok->kind == JT_SUB || p->tok->kind == JT_ADD) {
		enum jnode_kind kind = p->tok->kind == JT_SUB ? JN_NEG : JN_POS;
		p->tok++;
		n = new_unary(p, kind, parse_unary(p, 0));
	} else {
		n = jparse_primary(p);
	}
	n = parse_postfix(p, n);
	if (with_filters)
		n = parse_filters_and_tests(p, n);
	p->depth--;
	return n;
}

/* JN_BIN: op, a, b. Parse left-associative operators `ops` of one precedence. */
static struct jnode *parse_binary(struct jparse *p, const char *ops,
                                  struct jnode *(*part)(struct jparse *))
{
	struct jnode *n = part(p);

	while (n && p->tok->kind < JT_LBRACKET && p->tok->kind >= JT_ADD &&
	       strchr(ops, p->tok->kind)) {
		int op = p->tok->kind;
		p->tok++;
		n = new_binary(p, JN_BIN, n, part(p));
		if (n)
			n->op = (uint8_t)op;
	}
	return n;
}

static struct jnode *parse_strong(struct jparse *p) { return parse_unary(p, 1); }
static struct jnode *parse_power(struct jparse *p)
{
	return parse_binary(p, (char[]){ JT_POW, 0 }, parse_strong);
}
static struct jnode *parse_product(struct jparse *p)
{
	return parse_binary(p, (char[]){ JT_MUL, JT_DIV, JT_IDIV, JT_MOD, 0 }, parse_power);
}

/* JN_CONCAT: list. */
static struct jnode *parse_concat(struct jparse *p)
{
	struct jnode *x = parse_product(p), *n = NULL;

	while (x && p->tok->kind == JT_CAT) {
		if (!n && (!(n = jparse_node(p, JN_CONCAT)) || jparse_push(p, &n->list, &n->n, x)))
			return NULL;
		p->tok++;
		if (!(x = parse_product(p)) || jparse_push(p, &n->list, &n->n, x))
			return NULL;
	}
	return x && n ? n : x;
}

static struct jnode *parse_sum(struct jparse *p)
{
	return parse_binary(p, (char[]){ JT_ADD, JT_SUB, 0 }, parse_concat);
}

/* JN_CMP: a, list of comparisons, each a JN_CMP with op and a. */
static struct jnode *parse_compare(struct jparse *p)
{
	struct jnode *a = parse_sum(p), *n = NULL, *x;

	for (; a;) {
		int op = p->tok->kind;
		if (op >= JT_EQ && op <= JT_LE)
			p->tok++;
		else if (jparse_skip(p, "in"))
			op = JT_IN;
		else if (jparse_is(p, "not") && p->tok[1].kind == JT_NAME && p->tok[1].len == 2 &&
		         !memcmp(p->tok[1].at, "in", 2)) {
			op = JT_NOT_IN;
			p->tok += 2;
		} else
			break;
		if (!n && !(n = new_unary(p, JN_CMP, a)))
			return NULL;
		x = new_unary(p, JN_CMP, parse_sum(p));
		if (!x || jparse_push(p, &n->list, &n->n, x))
			return NULL;
		x->op = (uint8_t)op;
	}
	return a && n ? n : a;
}

static struct jnode *parse_not(struct jparse *p)
{
	if (!jparse_is(p, "not"))
		return parse_compare(p);
	if (++p->depth > DEEPEST)
		return jparse_fail(p, "the template is nested more than %d levels deep", DEEPEST);
	p->tok++;
	struct jnode *n = new_unary(p, JN_NOT, parse_not(p));
	p->depth--;
	return n;
}

static struct jnode *parse_and(struct jparse *p)
{
	struct jnode *n = parse_not(p);

	while (n && jparse_skip(p, "and"))
		n = new_binary(p, JN_AND, n, parse_not(p));
	return n;
}

static struct jnode *parse_or(struct jparse *p)
{
	struct jnode *n = parse_and(p);

	while (n && jparse_skip(p, "or"))
		n = new_binary(p, JN_OR, n, parse_and(p));
	return n;
}

/* JN_COND: b if a else c, or undefined. An unknown filter fails only when it is evaluated. */
struct jnode *jparse_expr(struct jparse *p)
{
	if (++p->depth > DEEPEST)
		return jparse_fail(p, "the template is nested more than %d levels deep", DEEPEST);
	const struct jnode *unknown = p->unknown;
	struct jnode *n = parse_or(p);

	if (n && jparse_is(p, "if"))
		p->unknown = unknown;
	p->soft++;
	while (n && jparse_skip(p, "if")) {
		struct jnode *a = parse_or(p);
		n = new_binary(p, JN_COND, a, n);
		if (n && jparse_skip(p, "else") && !(n->c = jparse_expr(p)))
			n = NULL;
	}
	p->soft--;
	p->depth--;
	return n;
}
