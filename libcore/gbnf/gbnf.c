/* gbnf/gbnf.c - the parser of GBNF, which emits code.
 *
 *	name ::= alternative | alternative ...
 *	"text"  [a-z]  [^a-z]  .  name  ( ... )  x*  x+  x?  x{2}  x{2,}  x{2,5}  # remark
 *	<token>  <[7]>  !<token>
 *
 * A rule ends with its line, unless it is inside parentheses or the line ends with | or ::=. */
#include "gbnf/compile.h"
#include "base/err.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DEPTH = 200, MOST_CODE = 1 << 20 };

/* Fail at a position of the text. */
static int fail_at(struct gbnf *p, const char *at, const char *what)
{
	uint32_t line = 1;

	for (const char *s = p->text; s < at; s++)
		line += *s == '\n';
	return err_set(p->w.err, INFER_EINVAL, "line %u of the grammar: %s", line, what);
}

static int fail_undefined(struct gbnf *p, const struct rule *r)
{
	char what[96];

	snprintf(what, sizeof what, "rule %.*s is not defined", r->n < 60 ? (int)r->n : 60,
	         r->name);
	return fail_at(p, r->used, what);
}

static int is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

/* Skip spaces and comments; lines: newlines too. */
static void skip_blanks(struct gbnf *p, int lines)
{
	while (p->s < p->end) {
		if (*p->s == '#')
			while (p->s < p->end && *p->s != '\n' && *p->s != '\r')
				p->s++;
		else if (*p->s == ' ' || *p->s == '\t' ||
		         (lines && (*p->s == '\n' || *p->s == '\r')))
			p->s++;
		else
			return;
	}
}

/* -- code ----------------------------------------------------------------------------------- */

static int emit_op(struct gbnf *p, enum op op, uint32_t a, uint32_t b)
{
	if (p->n_code == MOST_CODE)
		return err_set(p->w.err, INFER_EUNSUP, "the grammar is too large");
	TRY(work_steps(&p->w, 1));
	TRY(work_grow(&p->w, &p->code, &p->cap_code, p->n_code + 1, sizeof *p->code));
	p->code[p->n_code++] = (struct code){ op, a, b };
	return INFER_OK;
}

static int emit_set(struct gbnf *p, struct cpset *s)
{
	TRY(cpset_norm(&p->w, s));
	TRY(work_grow(&p->w, &p->set, &p->cap_sets, p->n_sets + 1, sizeof *p->set));
	p->set[p->n_sets] = (struct charset){ s->n, s->at };
	return emit_op(p, OP_CHAR, p->n_sets++, 0);
}

/* Emit a copy of a fragment that was at `from`. */
static int emit_copy(struct gbnf *p, const struct code *f, uint32_t n, uint32_t from)
{
	const uint32_t to = p->n_code;

	for (uint32_t i = 0; i < n; i++) {
		struct code c = f[i];

		if (c.op == OP_SPLIT || c.op == OP_JUMP)
			c.a = c.a == NOWHERE ? NOWHERE : c.a - from + to;
		if (c.op == OP_SPLIT)
			c.b = c.b == NOWHERE ? NOWHERE : c.b - from + to;
		TRY(emit_op(p, c.op, c.a, c.b));
	}
	return INFER_OK;
}

/* Repeat the element whose code begins at `from` lo ... hi times; hi NOWHERE: without a bound. */
static int repeat_element(struct gbnf *p, uint32_t from, uint32_t lo, uint32_t hi)
{
	const uint32_t n = p->n_code - from;
	struct code *f;
	uint32_t first, at;

	TRY(work_alloc(&p->w, &f, (uint64_t)n + 1, sizeof *f));
	if (n)
		memcpy(f, p->code + from, n * sizeof *f);
	p->n_code = from;
	for (uint32_t i = 0; i < lo; i++)
		TRY(emit_copy(p, f, n, from));
	first = p->n_code;
	if (hi == NOWHERE) {
		TRY(emit_op(p, OP_SPLIT, first + 1, 0));
		TRY(emit_copy(p, f, n, from));
		TRY(emit_op(p, OP_JUMP, first, 0));
		p->code[first].b = p->n_code;
		return INFER_OK;
	}
	for (uint32_t i = lo; i < hi; i++) {
		at = p->n_code;
		TRY(emit_op(p, OP_SPLIT, at + 1, first));
		first = at;
		TRY(emit_copy(p, f, n, from));
	}
	/* the splits are chained by b; set b to the end of the code */
	for (uint32_t i = lo; i < hi; i++) {
		at = p->code[first].b;
		p->code[first].b = p->n_code;
		first = at;
	}
	return INFER_OK;
}

/* -- characters ----------------------------------------------------------------------------- */

static int parse_hex_digits(struct gbnf *p, int n, uint32_t *cp)
{
	*cp = 0;
	for (; n; n--, p->s++) {
		const char c = p->s < p->end ? *p->s : 0;
		const int v = c >= '0' && c <= '9'                 ? c - '0'
		              : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
		                                                   : -1;

		if (v < 0)
			return fail_at(p, p->s, "too few hexadecimal digits");
		*cp = *cp << 4 | (uint32_t)v;
	}
	return INFER_OK;
}

/* Parse a character of a literal or class. */
static int parse_char(struct gbnf *p, uint32_t *cp)
{
	static const char letters[] = "trn\\\"[]-^", values[] = "\t\r\n\\\"[]-^";
	const char *at = p->s, *l;
	int n;

	if (p->s == p->end)
		return fail_at(p, at, "the text ends too early");
	if (*p->s != '\\') {
		n = utf8_get(p->s, (size_t)(p->end - p->s), cp);
		p->s += n;
		return n ? INFER_OK : fail_at(p, at, "not UTF-8");
	}
	if (++p->s == p->end)
		return fail_at(p, at, "the text ends too early");
	l = *p->s ? strchr(letters, *p->s) : NULL;
	n = *p->s == 'x' ? 2 : *p->s == 'u' ? 4 : *p->s == 'U' ? 8 : 0;
	p->s++;
	if (n)
		TRY(parse_hex_digits(p, n, cp));
	else if (!l)
		return fail_at(p, at, "there is no such escape");
	else
		*cp = (unsigned char)values[l - letters];
	if (*cp > DFA_MOST_CP || (*cp >= 0xd800 && *cp < 0xe000))
		return fail_at(p, at, "not a Unicode character");
	return INFER_OK;
}

static int parse_literal(struct gbnf *p)
{
	const char *at = p->s++;

	while (p->s < p->end && *p->s != '"') {
		struct cpset one = { 0 };
		uint32_t cp;

		TRY(parse_char(p, &cp));
		TRY(cpset_add(&p->w, &one, cp, cp));
		TRY(emit_set(p, &one));
	}
	if (p->s == p->end)
		return fail_at(p, at, "this text has no end");
	p->s++;
	return INFER_OK;
}

static int parse_class(struct gbnf *p)
{
	const char *at = p->s++;
	struct cpset set = { 0 };
	int not = p->s < p->end && *p->s == '^';

	p->s += not ;
	while (p->s < p->end && *p->s != ']') {
		uint32_t lo, hi;

		TRY(parse_char(p, &lo));
		hi = lo;
		if (p->end - p->s > 1 && *p->s == '-' && p->s[1] != ']') {
			p->s++;
			TRY(parse_char(p, &hi));
		}
		if (lo > hi)
			return fail_at(p, at, "a range of characters is out of order");
		TRY(cpset_add(&p->w, &set, lo, hi));
	}
	if (p->s == p->end)
		return fail_at(p, at, "this class has no end");
	p->s++;
	TRY(cpset_norm(&p->w, &set));
	if (not )
		TRY(cpset_not(&p->w, &set));
	return emit_set(p, &set);
}

/* -- rules ---------------------------------------------------------------------------------- */

static int parse_alternatives(struct gbnf *p, int depth);

/* Parse the name of a rule, and find or add it. */
static int parse_rule_name(struct gbnf *p, uint32_t *rule)
{
	const char *at = p->s;
	uint32_t n;

	while (p->s < p->end && is_name_char(*p->s))
		p->s++;
	n = (uint32_t)(p->s - at);
	for (*rule = 0; *rule < p->n_rules; ++*rule) {
		TRY(work_steps(&p->w, 1));
		if (p->rule[*rule].n == n && !memcmp(p->rule[*rule].name, at, n))
			return INFER_OK;
	}
	TRY(work_grow(&p->w, &p->rule, &p->cap_rules, p->n_rules + 1, sizeof *p->rule));
	p->rule[p->n_rules++] = (struct rule){ .name = at, .n = n, .start = NOWHERE };
	return INFER_OK;
}

static int parse_count(struct gbnf *p, uint32_t *n)
{
	const char *at = p->s;

	*n = 0;
	for (; p->s < p->end && *p->s >= '0' && *p->s <= '9'; p->s++)
		*n = *n < 100000000 ? *n * 10 + (uint32_t)(*p->s - '0') : *n;
	return p->s > at ? INFER_OK : fail_at(p, at, "a number is missing");
}

static int parse_braces(struct gbnf *p, uint32_t *lo, uint32_t *hi)
{
	const char *at = p->s++;

	skip_blanks(p, 0);
	*lo = 0;
	if (p->s < p->end && *p->s != ',')
		TRY(parse_count(p, lo));
	*hi = *lo;
	skip_blanks(p, 0);
	if (p->s < p->end && *p->s == ',') {
		p->s++;
		skip_blanks(p, 0);
		*hi = NOWHERE;
		if (p->s < p->end && *p->s != '}')
			TRY(parse_count(p, hi));
		skip_blanks(p, 0);
	}
	if (p->s == p->end || *p->s != '}')
		return fail_at(p, at, "} is missing");
	p->s++;
	return *lo > *hi ? fail_at(p, at, "the minimum is above the maximum") : INFER_OK;
}

/* Parse a token by its text, <think>, or its id, <[7]>; after ! any other token. */
static int parse_token(struct gbnf *p)
{
	const char *at = p->s, *end;
	struct token_set set = { .negated = *at == '!' };
	struct dfa_range *id;

	p->s += set.negated;
	end = p->s < p->end && *p->s == '<' ? memchr(p->s, '>', (size_t)(p->end - p->s)) : NULL;
	if (!end || end - p->s < 2 || memchr(p->s, '\n', (size_t)(end - p->s)))
		return fail_at(p, at, "a token is written <text> or <[id]>");
	if (p->s[1] == '[' && end[-1] == ']') {
		TRY(work_alloc(&p->w, &id, 1, sizeof *id));
		p->s += 2;
		TRY(parse_count(p, &id->lo));
		if (p->s != end - 1)
			return fail_at(p, at, "not the id of a token");
		id->hi = id->lo;
		set.range = id;
		set.n_ranges = 1;
	} else {
		char *name;

		set.n = (uint32_t)(end + 1 - p->s);
		TRY(work_alloc(&p->w, &name, set.n, 1));
		memcpy(name, p->s, set.n);
		set.name = name;
	}
	p->s = end + 1;
	TRY(work_grow(&p->w, &p->token_set, &p->cap_tokens, p->n_tokens + 1, sizeof *p->token_set));
	p->token_set[p->n_tokens] = set;
	return emit_op(p, OP_TOKEN, p->n_tokens++, 0);
}

/* Parse an element.  *there: 0 if none begins here */
static int parse_element(struct gbnf *p, int depth, int *there)
{
	struct cpset all = { 0 };
	const char *at = p->s;
	uint32_t rule;

	*there = 1;
	switch (*p->s) {
	case '"':
		return parse_literal(p);
	case '[':
		return parse_class(p);
	case '.':
		p->s++;
		TRY(cpset_add(&p->w, &all, 0, DFA_MOST_CP));
		return emit_set(p, &all);
	case '(':
		p->s++;
		TRY(parse_alternatives(p, depth + 1));
		if (p->s == p->end || *p->s != ')')
			return fail_at(p, at, ") is missing");
		p->s++;
		return INFER_OK;
	case '<':
	case '!':
		return parse_token(p);
	default:
		break;
	}
	*there = is_name_char(*p->s);
	if (!*there)
		return INFER_OK;
	TRY(parse_rule_name(p, &rule));
	if (!p->rule[rule].used)
		p->rule[rule].used = at;
	return emit_op(p, OP_CALL, rule, 0);
}

static int parse_sequence(struct gbnf *p, int depth)
{
	for (;;) {
		const uint32_t from = p->n_code;
		uint32_t lo, hi;
		int there;

		skip_blanks(p, depth > 0);
		if (p->s == p->end)
			return INFER_OK;
		TRY(parse_element(p, depth, &there));
		if (!there)
			return INFER_OK;
		for (;;) {
			skip_blanks(p, depth > 0);
			if (p->s == p->end || !*p->s || !strchr("*+?{", *p->s))
				break;
			lo = *p->s == '+';
			hi = *p->s == '?' ? 1 : NOWHERE;
			if (*p->s == '{')
				TRY(parse_braces(p, &lo, &hi));
			else
				p->s++;
			TRY(repeat_element(p, from, lo, hi));
		}
	}
}

static int parse_alternatives(struct gbnf *p, int depth)
{
	uint32_t split, jumps = NOWHERE;

	if (depth > MOST_DEPTH)
		return fail_at(p, p->s, "parentheses are nested too deeply");
	for (;;) {
		split = p->n_code;
		TRY(emit_op(p, OP_SPLIT, split + 1, NOWHERE));
		TRY(parse_sequence(p, depth));
		TRY(emit_op(p, OP_JUMP, jumps, 0));
		jumps = p->n_code - 1;
		if (p->s == p->end || *p->s != '|')
			break;
		p->s++;
		skip_blanks(p, 1);
		p->code[split].b = p->n_code;
	}
	while (jumps != NOWHERE) {
		const uint32_t before = p->code[jumps].a;

		p->code[jumps].a = p->n_code;
		jumps = before;
	}
	return INFER_OK;
}

static int parse_rule(struct gbnf *p)
{
	const char *at = p->s;
	uint32_t rule, start = p->n_code;

	if (!is_name_char(*p->s))
		return fail_at(p, at, "the name of a rule is missing");
	TRY(parse_rule_name(p, &rule));
	skip_blanks(p, 0);
	if (p->end - p->s < 3 || memcmp(p->s, "::=", 3) != 0)
		return fail_at(p, at, "::= is missing");
	p->s += 3;
	skip_blanks(p, 1);
	if (p->rule[rule].start != NOWHERE)
		return fail_at(p, at, "this rule is defined twice");
	p->rule[rule].start = start;
	TRY(parse_alternatives(p, 0));
	if (p->s < p->end && *p->s != '\n' && *p->s != '\r')
		return fail_at(p, p->s, "something unexpected");
	TRY(emit_op(p, OP_END, 0, 0));
	skip_blanks(p, 1);
	return INFER_OK;
}

int gbnf_parse(struct gbnf *p)
{
	uint32_t root = 0;

	skip_blanks(p, 1);
	while (p->s < p->end)
		TRY(parse_rule(p));
	while (root < p->n_rules &&
	       (p->rule[root].n != 4 || memcmp(p->rule[root].name, "root", 4) != 0))
		root++;
	if (root == p->n_rules)
		return err_set(p->w.err, INFER_EINVAL, "the grammar has no rule root");
	for (uint32_t i = 0; i < p->n_rules; i++)
		if (p->rule[i].start == NOWHERE)
			return fail_undefined(p, p->rule + i);
	p->root = root;
	return INFER_OK;
}
