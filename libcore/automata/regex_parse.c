/* automata/regex_parse.c - the parser of regular expressions. */
#include "automata/regex_tree.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int regex_bad(const struct regex *x, const char *at, int code, const char *fmt, ...)
{
	char text[160];
	size_t n = 1;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	for (const char *s = x->text; s < at; s++)
		n += (*s & 0xc0) != 0x80;
	return err_set(x->w->err, code, "%s: character %zu: %s", x->w->what, n, text);
}

int regex_set(struct regex *x, const struct cpset *s, uint32_t *set)
{
	uint32_t hash = s->n;
	struct htab_slot *e;

	for (uint32_t i = 0; i < s->n; i++)
		hash = htab_mix(htab_mix(hash, s->at[i].lo), s->at[i].hi);
	TRY(work_steps(x->w, s->n));
	for (e = htab_find(&x->index, hash); e->index != NOWHERE; e = htab_next(&x->index, e)) {
		const struct cpset *old = x->sets + e->index;

		TRY(work_steps(x->w, s->n + 1));
		if (old->n == s->n && (!s->n || !memcmp(old->at, s->at, s->n * sizeof *s->at))) {
			*set = e->index;
			return INFER_OK;
		}
	}
	TRY(work_grow(x->w, &x->sets, &x->cap, (uint64_t)x->n_sets + 1, sizeof *x->sets));
	*set = x->n_sets++;
	x->sets[*set] = *s;
	return htab_insert(x->w, &x->index, e, hash, *set);
}

int regex_node(struct regex *x, enum re_kind kind, const char *at, struct re **out)
{
	TRY(work_steps(x->w, 8));
	TRY(work_alloc(x->w, out, 1, sizeof **out));
	(*out)->kind = kind;
	(*out)->kinds = UINT32_C(1) << kind;
	(*out)->at = (size_t)(at - x->text);
	return INFER_OK;
}

int regex_set_node(struct regex *x, const char *at, const struct cpset *s, struct re **out)
{
	TRY(regex_node(x, RE_SET, at, out));
	return regex_set(x, s, &(*out)->lo);
}

/* Parse a number at *at, clamped to NOWHERE - 1.  Returns 0 if there is none. */
static int parse_count(const struct regex *x, const char **at, uint32_t *v)
{
	const char *s = *at;
	uint64_t n = 0;

	for (; s < x->end && *s >= '0' && *s <= '9'; s++)
		n = n < NOWHERE ? n * 10 + (uint64_t)(*s - '0') : n;
	*v = n < NOWHERE ? (uint32_t)n : NOWHERE - 1;
	if (s == *at)
		return 0;
	*at = s;
	return 1;
}

/* Parse a quantifier and move *at after it.  Returns 0 if there is none; then a { is a literal. */
static int parse_quantifier(const struct regex *x, const char **at, uint32_t *lo, uint32_t *hi)
{
	const char *s = *at;

	if (s == x->end)
		return 0;
	*lo = *s == '+';
	*hi = *s == '?' ? 1 : NOWHERE;
	if (*s == '{') {
		s++;
		if (!parse_count(x, &s, lo) || s == x->end)
			return 0;
		*hi = *lo;
		if (*s == ',') {
			s++;
			if (!parse_count(x, &s, hi))
				*hi = NOWHERE;
		}
		if (s == x->end || *s != '}')
			return 0;
	} else if (*s != '*' && *s != '+' && *s != '?') {
		return 0;
	}
	s++;
	*at = s + (s < x->end && *s == '?'); /* a lazy quantifier accepts the same texts */
	return 1;
}

static int parse_alternatives(struct regex *x, const char **at, uint32_t depth, struct re **out);

/* Skip the name of a group and its >. */
static int skip_group_name(struct regex *x, const char **at)
{
	const char *s = *at;

	while (s < x->end &&
	       (((*s | 32) >= 'a' && (*s | 32) <= 'z') || (*s >= '0' && *s <= '9' && s != *at) ||
	        *s == '_' || *s == '$' || (unsigned char)*s >= 128))
		s++;
	if (s == *at || s == x->end || *s != '>')
		return regex_bad(x, *at, INFER_EINVAL, "a group's name is missing or wrong");
	*at = s + 1;
	return INFER_OK;
}

static int parse_group(struct regex *x, const char **at, uint32_t depth, struct re **out)
{
	const char *open = *at, *s = open + 1;
	const size_t n = (size_t)(x->end - s);
	struct re *look = NULL;

	if (depth == REGEX_DEPTH)
		return regex_bad(x, open, INFER_EUNSUP, "groups nested deeper than %d",
		                 REGEX_DEPTH);
	if (n > 1 && s[0] == '?') {
		int behind = n > 2 && s[1] == '<' && (s[2] == '=' || s[2] == '!');
		const char *mark = s + 1 + behind;

		if (*mark == '=' || *mark == '!') {
			TRY(regex_node(x, behind ? RE_BEHIND : RE_AHEAD, open, &look));
			look->lo = *mark == '!';
			s = mark + 1;
		} else if (s[1] == ':') {
			s += 2;
		} else if (s[1] == '<') {
			s += 2;
			TRY(skip_group_name(x, &s));
		} else if (s[1] == '-' || s[1] == 'i' || s[1] == 'm' || s[1] == 's') {
			return regex_bad(x, open, INFER_EUNSUP,
			                 "modifiers like (?%c are not supported", s[1]);
		} else {
			return regex_bad(x, open, INFER_EINVAL, "(? is not followed by : = ! or <");
		}
	}
	TRY(parse_alternatives(x, &s, depth + 1, look ? &look->kid : out));
	if (s == x->end)
		return regex_bad(x, open, INFER_EINVAL, "( without )");
	if (look) {
		look->kinds |= look->kid->kinds;
		*out = look;
	}
	*at = s + 1;
	return INFER_OK;
}

/* Parse an atom or assertion.  *fixed: 1 if no quantifier may follow */
static int parse_atom(struct regex *x, const char **at, uint32_t depth, struct re **out, int *fixed)
{
	const char *s = *at;
	struct cpset set = { 0 };
	uint32_t cp = 0, lo, hi;

	*fixed = 1;
	if (*s == '^' || *s == '$') {
		++*at;
		return regex_node(x, *s == '^' ? RE_BEGIN : RE_END, s, out);
	}
	if (*s == '\\' && x->end - s > 1 && (s[1] == 'b' || s[1] == 'B')) {
		*at += 2;
		return regex_node(x, s[1] == 'b' ? RE_WORD_EDGE : RE_NO_WORD_EDGE, s, out);
	}
	*fixed = 0;
	if (*s == '(') {
		TRY(parse_group(x, at, depth, out));
		*fixed = (*out)->kind == RE_AHEAD || (*out)->kind == RE_BEHIND;
		return INFER_OK;
	}
	if (*s == '[') {
		TRY(regex_class(x, at, &set));
	} else if (*s == '\\') {
		TRY(regex_escape(x, at, &set));
	} else if (*s == '.') {
		++*at;
		TRY(cpset_escape(x->w, &set, '.'));
	} else {
		const char *q = s;

		if (parse_quantifier(x, &q, &lo, &hi))
			return regex_bad(x, s, INFER_EINVAL, "nothing to repeat");
		*at += utf8_get(s, (size_t)(x->end - s), &cp);
		TRY(cpset_add(x->w, &set, cp, cp));
	}
	return regex_set_node(x, s, &set, out);
}

/* Parse an atom and its quantifier. */
static int parse_term(struct regex *x, const char **at, uint32_t depth, struct re **out)
{
	const char *s;
	struct re *kid;
	uint32_t lo, hi;
	int fixed;

	TRY(parse_atom(x, at, depth, &kid, &fixed));
	*out = kid;
	s = *at;
	if (!parse_quantifier(x, at, &lo, &hi))
		return INFER_OK;
	if (fixed)
		return regex_bad(x, s, INFER_EINVAL, "nothing to repeat");
	if (lo > hi)
		return regex_bad(x, s, INFER_EINVAL, "a repeat of %u to %u times", lo, hi);
	TRY(regex_node(x, RE_REPEAT, s, out));
	(*out)->kid = kid;
	(*out)->kinds |= kid->kinds;
	(*out)->lo = lo;
	(*out)->hi = hi;
	s = *at;
	if (parse_quantifier(x, &s, &lo, &hi))
		return regex_bad(x, *at, INFER_EINVAL, "nothing to repeat");
	return INFER_OK;
}

/* Parse alternatives up to a ) or the end of the pattern. */
static int parse_alternatives(struct regex *x, const char **at, uint32_t depth, struct re **out)
{
	struct re *alt, **next_alt;

	TRY(regex_node(x, RE_ALT, *at, &alt));
	next_alt = &alt->kid;
	for (;;) {
		struct re *seq, *kid;

		TRY(regex_node(x, RE_CAT, *at, &seq));
		while (*at < x->end && **at != '|' && **at != ')') {
			TRY(parse_term(x, at, depth, &kid));
			kid->next = seq->kid;
			seq->kid = kid;
			seq->kinds |= kid->kinds;
		}
		*next_alt = seq;
		alt->kinds |= seq->kinds;
		next_alt = &seq->next;
		if (*at == x->end || **at == ')')
			break;
		++*at;
	}
	*out = alt->kid->next ? alt : alt->kid;
	return INFER_OK;
}

int regex_parse(struct regex *x, struct work *w, const char *text, size_t n)
{
	const char *at;
	struct re *tree;

	text = n ? text : ""; /* NULL has no end */
	*x = (struct regex){ .w = w, .text = text, .end = text + n };
	at = text;
	size_t good = n ? utf8_check(text, n) : 0;

	if (good < n)
		return regex_bad(x, text + good, INFER_EINVAL, "not UTF-8");
	TRY(htab_init(w, &x->index));
	TRY(parse_alternatives(x, &at, 0, &tree));
	if (at < x->end)
		return regex_bad(x, at, INFER_EINVAL, ") without (");
	x->tree = tree;
	return INFER_OK;
}
