/* lark/parse.c - the parser of rules and terminals.
 *
 *	rule[attributes]: alternative | alternative -> alias %if condition
 *	TERMINAL: alternative & alternative
 *	"text" "a".."z" /expression/ name <token> %json {..} ( ... ) [ ... ] ~x x* x+ x? x~2..3 x{2,3} */
#include "lark/tree.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int lark_fail(struct lark *p, uint32_t line, int code, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_set(p->w.err, code, "line %u of the grammar: %s", line, text);
}

int lark_accept(struct lark *p, char punct)
{
	const int there = lark_at(p, punct);

	p->at += (uint32_t)there;
	return there;
}

int lark_expect(struct lark *p, char punct)
{
	return lark_accept(p, punct)
	               ? INFER_OK
	               : lark_fail(p, lark_token(p)->line, INFER_EINVAL, "%c is missing", punct);
}

int lark_number(struct lark *p, uint64_t most, uint64_t *n)
{
	const struct token *t = lark_token(p);
	const int hex = t->n > 1 && (t->at[1] | 32) == 'x';
	int good = t->kind == T_NUMBER && (!hex || t->n > 2);

	*n = 0;
	for (uint32_t i = hex ? 2 : 0; i < t->n && good; i++) {
		const uint64_t base = hex ? 16 : 10;
		const char c = t->at[i];
		const uint64_t digit = c >= '0' && c <= '9' ? (uint64_t)(c - '0')
		                       : hex                ? (uint64_t)((c | 32) - 'a' + 10)
		                                            : 99;

		good = digit < base && *n <= (most - digit) / base;
		*n = *n * base + digit;
	}
	if (!good)
		return lark_fail(p, t->line, INFER_EINVAL,
		                 "a number from 0 to %llu is missing here",
		                 (unsigned long long)most);
	p->at++;
	return INFER_OK;
}

/* -- nodes ---------------------------------------------------------------------------------- */

int lark_add_node(struct lark *p, enum node_kind kind, struct node **out)
{
	TRY(work_steps(&p->tree, 1));
	TRY(work_alloc(&p->tree, out, 1, sizeof **out));
	(*out)->kind = kind;
	(*out)->line = lark_token(p)->line;
	return INFER_OK;
}

void lark_add_kid(struct node *to, struct node *kid)
{
	if (to->last)
		to->last->next = kid;
	else
		to->kid = kid;
	to->last = kid;
}

struct def *lark_find_def(struct lark *p, struct scope *scope, const char *s, uint32_t n)
{
	for (uint32_t i = 0; i < scope->n_defs; i++)
		if (scope->def[i].n == n && !memcmp(scope->def[i].name, s, n))
			return scope->def + i;
	(void)p;
	return NULL;
}

int lark_add_def(struct lark *p, const struct def *d, struct def **out)
{
	struct scope *s = p->scope;

	TRY(work_steps(&p->tree, s->n_defs / 4 + 1));
	if (lark_find_def(p, s, d->name, d->n))
		return lark_fail(p, d->line, INFER_EINVAL, "%.*s is defined twice",
		                 d->n < 60 ? (int)d->n : 60, d->name);
	TRY(work_grow(&p->tree, &s->def, &s->cap_defs, (uint64_t)s->n_defs + 1, sizeof *s->def));
	*out = s->def + s->n_defs++;
	**out = *d;
	return INFER_OK;
}

/* -- values --------------------------------------------------------------------------------- */

/* Return the only character of a text, or NOWHERE. */
static uint32_t only_char(const char *s, uint32_t n)
{
	uint32_t cp;

	return n && (uint32_t)utf8_get(s, n, &cp) == n ? cp : NOWHERE;
}

static int parse_text(struct lark *p, struct node *x)
{
	int fold;

	TRY(lark_decode_text(p, lark_token(p), &x->s, &x->n, &fold));
	p->at++;
	x->flags = fold ? "i" : "";
	if (lark_token(p)->kind != T_DOTS)
		return INFER_OK;
	p->at++;
	x->kind = N_RANGE;
	x->lo = fold ? NOWHERE : only_char(x->s, x->n);
	if (lark_token(p)->kind != T_TEXT)
		return lark_fail(p, x->line, INFER_EINVAL, "a range has no end");
	TRY(lark_decode_text(p, lark_token(p), &x->s, &x->n, &fold));
	p->at++;
	x->hi = fold ? NOWHERE : only_char(x->s, x->n);
	return x->lo != NOWHERE && x->hi != NOWHERE && x->lo <= x->hi
	               ? INFER_OK
	               : lark_fail(p, x->line, INFER_EINVAL,
	                           "a range must be of two ascending characters");
}

static int parse_regex(struct lark *p, struct node *x)
{
	const struct token *t = lark_token(p);
	const char *slash = t->at + t->n;
	char *flags;

	while (*--slash != '/')
		;
	x->s = t->at + 1;
	x->n = (uint32_t)(slash - x->s);
	TRY(work_alloc(&p->tree, &flags, (uint64_t)t->n - x->n, 1));
	memcpy(flags, slash + 1, t->n - x->n - 2);
	x->flags = flags;
	p->at++;
	return INFER_OK;
}

/* True if the name before the current token is followed by a count, as in x{2}. */
static int is_count(const struct lark *p)
{
	const struct token *t = lark_token(p) + 1;

	return t->kind == T_NUMBER || (t->kind == T_PUNCT && *t->at == ',');
}

static int parse_name(struct lark *p, struct node *x)
{
	const struct token *t = lark_token(p);

	x->s = t->at;
	x->n = t->n;
	p->at++;
	if (lark_at(p, '{') && !is_count(p))
		return lark_fail(p, x->line, INFER_EUNSUP, "templates are not supported");
	if (lark_token(p)->kind != T_COLONS)
		return INFER_OK;
	p->at++;
	return lark_parse_param(p, &x->param);
}

static int is_directive(const struct token *t, const char *name)
{
	return t->kind == T_DIRECTIVE && t->n == strlen(name) && !memcmp(t->at, name, t->n);
}

/* Parse %json, %regex or %lark. */
static int parse_inline(struct lark *p, struct node *x)
{
	const struct token *t = lark_token(p);
	struct scope *outer = p->scope;

	p->at++;
	if (is_directive(t, "%lark")) {
		x->kind = N_LARK;
		TRY(lark_expect(p, '{'));
		if (++p->nesting > LARK_NESTING)
			return lark_fail(p, t->line, INFER_EUNSUP, "%%lark is nested too deeply");
		TRY(lark_parse(p, &x->scope, 1));
		p->nesting--;
		p->scope = outer;
		return lark_expect(p, '}');
	}
	if (!is_directive(t, "%json") && !is_directive(t, "%regex"))
		return lark_fail(p, t->line, INFER_EINVAL,
		                 "%.*s must be at the beginning of a line",
		                 t->n < 60 ? (int)t->n : 60, t->at);
	x->kind = is_directive(t, "%json") ? N_JSON : N_CHUNKS;
	x->s = t[1].at;
	x->n = t[1].n;
	p->at++;
	return INFER_OK;
}

int lark_value(struct lark *p, struct node **out)
{
	const struct token *t = lark_token(p);
	struct node *x;

	TRY(lark_add_node(p, N_TEXT, out));
	x = *out;
	switch (t->kind) {
	case T_TEXT:
		return parse_text(p, x);
	case T_REGEX:
		x->kind = N_REGEX;
		return parse_regex(p, x);
	case T_RULE:
	case T_TERMINAL:
		x->kind = N_NAME;
		return parse_name(p, x);
	case T_SPECIAL:
		x->kind = N_TOKEN;
		x->s = t->at + 1;
		x->n = t->n - 2;
		p->at++;
		return INFER_OK;
	case T_DIRECTIVE:
		return parse_inline(p, x);
	case T_GRAMMAR:
		return lark_fail(p, t->line, INFER_EUNSUP,
		                 "%.*s: other grammars are not supported; use %%lark or %%json",
		                 t->n < 60 ? (int)t->n : 60, t->at);
	default:
		return lark_fail(p, t->line, INFER_EINVAL, "a rule, terminal or text is missing");
	}
}

/* -- expressions ---------------------------------------------------------------------------- */

/* Parse a count such as ~2, ~2..3, {2}, {2,}, {,3}.  *hi: NOWHERE: without a bound */
static int parse_counts(struct lark *p, uint32_t *lo, uint32_t *hi)
{
	const uint32_t line = lark_token(p)->line;
	const int braces = lark_at(p, '{');
	uint64_t a = 0, b;

	p->at++;
	if (!braces || !lark_at(p, ','))
		TRY(lark_number(p, INT32_MAX, &a));
	b = a;
	if (!braces && lark_token(p)->kind == T_DOTS) {
		p->at++;
		TRY(lark_number(p, INT32_MAX, &b));
	} else if (braces && lark_accept(p, ',')) {
		b = NOWHERE;
		if (!lark_at(p, '}'))
			TRY(lark_number(p, INT32_MAX, &b));
	}
	if (braces)
		TRY(lark_expect(p, '}'));
	*lo = (uint32_t)a;
	*hi = (uint32_t)b;
	return a <= b ? INFER_OK
	              : lark_fail(p, line, INFER_EINVAL, "the minimum is above the maximum");
}

static int parse_atom(struct lark *p, struct node **out, uint32_t depth)
{
	struct node *kid;

	if (depth > LARK_DEPTH)
		return lark_fail(p, lark_token(p)->line, INFER_EUNSUP, "nested too deeply");
	if (lark_accept(p, '~')) {
		TRY(lark_add_node(p, N_NOT, out));
		TRY(parse_atom(p, &kid, depth + 1));
		lark_add_kid(*out, kid);
		return INFER_OK;
	}
	if (lark_accept(p, '(')) {
		TRY(lark_alternatives(p, out, depth + 1));
		return lark_expect(p, ')');
	}
	if (lark_accept(p, '[')) {
		TRY(lark_add_node(p, N_REPEAT, out));
		(*out)->hi = 1;
		TRY(lark_alternatives(p, &kid, depth + 1));
		lark_add_kid(*out, kid);
		return lark_expect(p, ']');
	}
	return lark_value(p, out);
}

/* Parse an atom and its operator. */
static int parse_expr(struct lark *p, struct node **out, uint32_t depth)
{
	const struct token *t;
	struct node *kid;
	uint32_t lo, hi;

	TRY(parse_atom(p, out, depth));
	t = lark_token(p);
	if (t->kind == T_OPERATOR) {
		lo = *t->at == '+';
		hi = *t->at == '?' ? 1 : NOWHERE;
		p->at++;
	} else if (lark_at(p, '{') || (lark_at(p, '~') && t[1].kind == T_NUMBER)) {
		TRY(parse_counts(p, &lo, &hi));
	} else {
		return INFER_OK;
	}
	kid = *out;
	TRY(lark_add_node(p, N_REPEAT, out));
	(*out)->lo = lo;
	(*out)->hi = hi;
	lark_add_kid(*out, kid);
	return INFER_OK;
}

/* True at the end of a sequence. */
static int is_end(const struct lark *p)
{
	const struct token *t = lark_token(p);

	return t->kind == T_NEWLINE || t->kind == T_END || t->kind == T_ARROW ||
	       (t->kind == T_PUNCT && strchr("|)]}&", *t->at)) || is_directive(t, "%if");
}

static int parse_sequence(struct lark *p, struct node **out, uint32_t depth)
{
	struct node *kid;

	TRY(lark_add_node(p, N_SEQ, out));
	while (!is_end(p)) {
		TRY(parse_expr(p, &kid, depth));
		lark_add_kid(*out, kid);
	}
	return INFER_OK;
}

/* Parse sequences joined by &, an alias and a condition. */
static int parse_alternative(struct lark *p, struct node **out, uint32_t depth)
{
	struct node *kid;

	TRY(parse_sequence(p, out, depth));
	if (lark_at(p, '&')) {
		kid = *out;
		TRY(lark_add_node(p, N_AND, out));
		lark_add_kid(*out, kid);
		while (lark_accept(p, '&')) {
			TRY(parse_sequence(p, &kid, depth));
			lark_add_kid(*out, kid);
		}
	}
	if (lark_token(p)->kind == T_ARROW) {
		p->at++;
		if (lark_token(p)->kind != T_RULE)
			return lark_fail(p, lark_token(p)->line, INFER_EINVAL,
			                 "the name of an alias is missing");
		p->at++;
	}
	if (is_directive(lark_token(p), "%if")) {
		p->at++;
		TRY(lark_parse_cond(p, &(*out)->cond, 0));
	}
	return INFER_OK;
}

/* Read a |, which may be on the next line. */
static int accept_bar(struct lark *p)
{
	const uint32_t at = p->at;

	p->at += lark_token(p)->kind == T_NEWLINE;
	if (lark_accept(p, '|'))
		return 1;
	p->at = at;
	return 0;
}

int lark_alternatives(struct lark *p, struct node **out, uint32_t depth)
{
	struct node *kid;

	if (depth > LARK_DEPTH)
		return lark_fail(p, lark_token(p)->line, INFER_EUNSUP, "nested too deeply");
	TRY(lark_add_node(p, N_ALT, out));
	do {
		TRY(parse_alternative(p, &kid, depth));
		lark_add_kid(*out, kid);
	} while (accept_bar(p));
	return INFER_OK;
}

/* -- definitions ---------------------------------------------------------------------------- */

static int refuse_template(struct lark *p)
{
	if (lark_at(p, '{'))
		return lark_fail(p, lark_token(p)->line, INFER_EUNSUP,
		                 "templates are not supported");
	if (lark_at(p, '.'))
		return lark_fail(p, lark_token(p)->line, INFER_EUNSUP,
		                 "priorities are not supported");
	return INFER_OK;
}

static int parse_def(struct lark *p)
{
	const struct token *t = lark_token(p);
	struct def d = { .name = t->at,
		         .n = t->n,
		         .line = t->line,
		         .is_terminal = t->kind == T_TERMINAL },
		   *to;

	p->at++;
	if (!d.is_terminal) {
		const uint32_t marks = (*d.name == '!') + (d.name[*d.name == '!'] == '?');

		d.name += marks; /* they only shape the tree of a parse */
		d.n -= marks;
		if (lark_token(p)->kind == T_COLONS) {
			p->at++;
			TRY(lark_expect(p, '_'));
			d.is_parametric = 1;
		}
	}
	TRY(refuse_template(p));
	if (!d.is_terminal && lark_at(p, '['))
		TRY(lark_attributes(p, &d));
	TRY(lark_expect(p, ':'));
	TRY(lark_alternatives(p, &d.body, 0));
	return lark_add_def(p, &d, &to);
}

int lark_parse(struct lark *p, struct scope **out, int nested)
{
	struct scope *scope;

	TRY(work_alloc(&p->tree, &scope, 1, sizeof *scope));
	scope->line = lark_token(p)->line;
	*out = p->scope = scope;
	for (;;) {
		const struct token *t = lark_token(p);

		if (t->kind == T_NEWLINE) {
			p->at++;
			continue;
		}
		if (t->kind == T_END || (nested && lark_at(p, '}')))
			return INFER_OK;
		if (t->kind == T_RULE || t->kind == T_TERMINAL)
			TRY(parse_def(p));
		else if (t->kind == T_DIRECTIVE)
			TRY(lark_directive(p));
		else
			return lark_fail(p, t->line, INFER_EINVAL,
			                 "a rule, terminal or directive is missing");
		t = lark_token(p);
		if (t->kind != T_NEWLINE && t->kind != T_END && !(nested && lark_at(p, '}')))
			return lark_fail(p, t->line, INFER_EINVAL, "something unexpected");
	}
}
