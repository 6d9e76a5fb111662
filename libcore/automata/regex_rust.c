/* automata/regex_rust.c - the parser of expressions in the syntax of Rust's crate regex. */
#include "automata/regex_tree.h"
#include "automata/regex_rust.h"
#include "base/utf8.h"

#include <string.h>

static int parse_alternatives(struct rust *r, uint32_t depth, struct re **out);

/* Under the modifier x: skip white space and comments. */
static void skip_verbose(struct rust *r)
{
	while ((r->flags & RUST_VERBOSE) && r->s < r->x->end) {
		if (*r->s == '#')
			while (r->s < r->x->end && *r->s != '\n')
				r->s++;
		else if (strchr(" \t\n\r\v\f", *r->s) && *r->s)
			r->s++;
		else
			return;
	}
}

int rust_bad(const struct rust *r, const char *at, int code, const char *what)
{
	return regex_bad(r->x, at, code, "%s", what);
}

static int is_next(const struct rust *r, char c) { return r->s < r->x->end && *r->s == c; }

/* -- modifiers ------------------------------------------------------------------------------ */

/* Return the flag of a letter; 0: without effect on what a whole text is, -1: none, -2: not supported. */
static int flag_of(char c)
{
	switch (c) {
	case 'i':
		return RUST_FOLD;
	case 's':
		return RUST_DOT_ALL;
	case 'x':
		return RUST_VERBOSE;
	case 'm':
		return RUST_LINES;
	case 'U':
		return 0;
	case 'u':
		return RUST_UNICODE;
	case 'R':
		return -2;
	default:
		return -1;
	}
}

/* Parse modifiers up to `)` or `:`, which is not read. */
static int parse_modifiers(struct rust *r, const char *open)
{
	int off = 0;

	for (; r->s < r->x->end && *r->s != ')' && *r->s != ':'; r->s++) {
		const int flag = *r->s == '-' ? 0 : flag_of(*r->s);

		off |= *r->s == '-';
		if (flag == -1)
			return rust_bad(r, open, INFER_EINVAL, "(? is not followed by modifiers");
		if (flag == -2 || (flag == RUST_UNICODE && off))
			return rust_bad(r, r->s, INFER_EUNSUP,
			                "the modifiers R and -u are not supported");
		r->flags = off ? r->flags & ~(unsigned)flag : r->flags | (unsigned)flag;
	}
	return r->s < r->x->end ? INFER_OK : rust_bad(r, open, INFER_EINVAL, "( without )");
}

static int skip_name(struct rust *r, const char *open)
{
	const char *at = r->s;

	while (r->s < r->x->end && *r->s != '>' && *r->s != ')' && *r->s != '(')
		r->s++;
	if (r->s == at || !is_next(r, '>'))
		return rust_bad(r, open, INFER_EINVAL, "a group's name is missing or wrong");
	r->s++;
	return INFER_OK;
}

/* Parse what follows `(?`.  *whole: 1: modifiers of the rest of the group, which are complete */
static int parse_group_head(struct rust *r, const char *open, int *whole)
{
	const size_t n = (size_t)(r->x->end - r->s);

	*whole = 0;
	if (n > 1 && r->s[0] == '<' && (r->s[1] == '=' || r->s[1] == '!'))
		return rust_bad(r, open, INFER_EUNSUP, "look-behind is not supported");
	if (n && (r->s[0] == '=' || r->s[0] == '!'))
		return rust_bad(r, open, INFER_EUNSUP, "look-ahead is not supported");
	if (n > 1 && r->s[0] == 'P' && r->s[1] == '<')
		r->s++;
	if (n && *r->s == '<') {
		r->s++;
		return skip_name(r, open);
	}
	TRY(parse_modifiers(r, open));
	*whole = *r->s == ')';
	r->s++;
	return INFER_OK;
}

static int parse_group(struct rust *r, uint32_t depth, struct re **out)
{
	const char *open = r->s++;
	const unsigned flags = r->flags;
	int whole = 0;

	if (depth == REGEX_DEPTH)
		return rust_bad(r, open, INFER_EUNSUP, "groups are nested too deeply");
	if (is_next(r, '?')) {
		r->s++;
		TRY(parse_group_head(r, open, &whole));
	}
	if (whole)
		return regex_node(r->x, RE_CAT, open, out);
	TRY(parse_alternatives(r, depth + 1, out));
	if (!is_next(r, ')'))
		return rust_bad(r, open, INFER_EINVAL, "( without )");
	r->s++;
	r->flags = flags;
	return INFER_OK;
}

/* -- atoms ---------------------------------------------------------------------------------- */

/* True if the expression has only ^ or \A before, or $ or \z after, this anchor. */
static int is_outermost(const struct rust *r, const char *at, int end)
{
	return end ? at + (*at == '\\' ? 2 : 1) == r->x->end : at == r->first;
}

static int parse_anchor(struct rust *r, struct re **out)
{
	const char *at = r->s;
	const int end = *at == '$' || (*at == '\\' && at[1] == 'z');

	r->s += *at == '\\' ? 2 : 1;
	if (*at != '\\' && (r->flags & RUST_LINES))
		return rust_bad(r, at, INFER_EUNSUP,
		                "an anchor of lines (the modifier m) is not supported");
	if (!is_outermost(r, at, end))
		return rust_bad(r, at, INFER_EUNSUP,
		                "an anchor within an expression is not supported");
	return regex_node(r->x, RE_CAT, at, out);
}

static int is_anchor(const struct rust *r)
{
	return *r->s == '^' || *r->s == '$' ||
	       (*r->s == '\\' && r->x->end - r->s > 1 && (r->s[1] == 'A' || r->s[1] == 'z'));
}

static int parse_atom(struct rust *r, uint32_t depth, struct re **out)
{
	const char *at = r->s;
	struct cpset set = { 0 };
	uint32_t cp;

	if (*at == '(')
		return parse_group(r, depth, out);
	if (is_anchor(r))
		return parse_anchor(r, out);
	if (*at == '[') {
		TRY(rust_class(r, 0, &set));
	} else if (*at == '\\') {
		TRY(rust_escape(r, &set));
	} else if (*at == '.') {
		r->s++;
		TRY(cpset_add(r->x->w, &set, 0, r->flags & RUST_DOT_ALL ? DFA_MOST_CP : '\n' - 1));
		if (!(r->flags & RUST_DOT_ALL))
			TRY(cpset_add(r->x->w, &set, '\n' + 1, DFA_MOST_CP));
	} else {
		if (strchr("*+?{", *at) && *at)
			return rust_bad(r, at, INFER_EINVAL, "nothing to repeat");
		r->s += utf8_get(at, (size_t)(r->x->end - at), &cp);
		TRY(cpset_add(r->x->w, &set, cp, cp));
	}
	if (r->flags & RUST_FOLD)
		TRY(regex_fold(r->x->w, &set));
	TRY(cpset_norm(r->x->w, &set));
	return regex_set_node(r->x, at, &set, out);
}

static int parse_rust_count(struct rust *r, uint32_t *n)
{
	const char *at = r->s;

	*n = 0;
	for (; r->s < r->x->end && *r->s >= '0' && *r->s <= '9'; r->s++)
		*n = *n < 100000000 ? *n * 10 + (uint32_t)(*r->s - '0') : *n;
	return r->s > at ? INFER_OK : rust_bad(r, at, INFER_EINVAL, "a number is missing");
}

static int parse_braces(struct rust *r, uint32_t *lo, uint32_t *hi)
{
	const char *open = r->s++;

	skip_verbose(r);
	TRY(parse_rust_count(r, lo));
	*hi = *lo;
	skip_verbose(r);
	if (is_next(r, ',')) {
		r->s++;
		skip_verbose(r);
		*hi = NOWHERE;
		if (!is_next(r, '}'))
			TRY(parse_rust_count(r, hi));
		skip_verbose(r);
	}
	if (!is_next(r, '}'))
		return rust_bad(r, open, INFER_EINVAL, "{ without }");
	r->s++;
	return *lo > *hi ? rust_bad(r, open, INFER_EINVAL, "the minimum is above the maximum")
	                 : INFER_OK;
}

/* Parse an atom and its quantifiers. */
static int parse_term(struct rust *r, uint32_t depth, struct re **out)
{
	const char *at = r->s;
	const unsigned flags = r->flags;

	TRY(parse_atom(r, depth, out));
	for (uint32_t n = 0;; n++) {
		struct re *kid = *out;
		uint32_t lo, hi = NOWHERE;

		skip_verbose(r);
		if (r->s == r->x->end || !*r->s || !strchr("*+?{", *r->s))
			return INFER_OK;
		if (n == REGEX_DEPTH)
			return rust_bad(r, r->s, INFER_EUNSUP, "too many quantifiers");
		if (*at == '(' && r->flags != flags)
			return rust_bad(r, r->s, INFER_EINVAL, "nothing to repeat");
		lo = *r->s == '+';
		if (*r->s == '?')
			hi = 1;
		if (*r->s == '{')
			TRY(parse_braces(r, &lo, &hi));
		else
			r->s++;
		r->s += is_next(r, '?'); /* a lazy quantifier accepts the same texts */
		TRY(regex_node(r->x, RE_REPEAT, at, out));
		(*out)->kid = kid;
		(*out)->kinds |= kid->kinds;
		(*out)->lo = lo;
		(*out)->hi = hi;
	}
}

static int parse_sequence(struct rust *r, uint32_t depth, struct re **out)
{
	struct re *kid;

	TRY(regex_node(r->x, RE_CAT, r->s, out));
	for (;;) {
		skip_verbose(r);
		if (r->s == r->x->end || *r->s == '|' || *r->s == ')')
			return INFER_OK;
		TRY(parse_term(r, depth, &kid));
		kid->next = (*out)->kid;
		(*out)->kid = kid;
		(*out)->kinds |= kid->kinds;
	}
}

/* Parse alternatives up to a ) or the end of the expression. */
static int parse_alternatives(struct rust *r, uint32_t depth, struct re **out)
{
	struct re *alt, *seq;

	TRY(regex_node(r->x, RE_ALT, r->s, &alt));
	for (;;) {
		TRY(parse_sequence(r, depth, &seq));
		seq->next = alt->kid;
		alt->kid = seq;
		alt->kinds |= seq->kinds;
		if (!is_next(r, '|'))
			break;
		r->s++;
	}
	*out = alt;
	return INFER_OK;
}

int regex_parse_rust(struct regex *x, const char *text, size_t n, const char *flags,
                     struct re **out)
{
	struct rust r = { .x = x, .s = text, .first = text, .flags = RUST_UNICODE };
	const size_t good = n ? utf8_check(text, n) : 0;

	x->text = text;
	x->end = text + n;
	if (good < n)
		return rust_bad(&r, text + good, INFER_EINVAL, "not UTF-8");
	for (; *flags; flags++) {
		if (flag_of(*flags) < 0)
			return rust_bad(&r, text, INFER_EUNSUP, "a flag is not supported");
		r.flags |= (unsigned)flag_of(*flags);
	}
	TRY(parse_alternatives(&r, 0, out));
	return r.s < x->end ? rust_bad(&r, r.s, INFER_EINVAL, ") without (") : INFER_OK;
}
