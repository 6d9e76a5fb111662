/* automata/regex_class.c - the parser of escapes and character classes. */
#include "automata/regex_tree.h"
#include "base/utf8.h"

#include <string.h>

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int is_letter(int c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
static int is_digit(int c) { return c >= '0' && c <= '9'; }

/* Parse exactly n hexadecimal digits at s.  Returns -1 if there are fewer. */
static int64_t parse_hex(const struct regex *x, const char *s, int n)
{
	int64_t v = 0;

	if (x->end - s < n)
		return -1;
	for (int i = 0; i < n; i++) {
		int d = hex_digit(s[i]);

		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

/* Parse \uXXXX, a pair of them, or \u{X}, and move *at after it. */
static int parse_unicode_escape(struct regex *x, const char **at, uint32_t *cp)
{
	const char *s = *at + 2;
	int64_t v = parse_hex(x, s, 4), low;

	if (v >= 0) {
		*at = s + 4;
		/* a pair of surrogates is one character */
		if (v >> 10 == 0x36 && x->end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
			low = parse_hex(x, *at + 2, 4);
			if (low >= 0 && low >> 10 == 0x37) {
				v = 0x10000 + ((v & 0x3ff) << 10 | (low & 0x3ff));
				*at += 6;
			}
		}
		*cp = (uint32_t)v;
		return INFER_OK;
	}
	if (s < x->end && *s == '{') {
		v = 0;
		for (s++; s < x->end && hex_digit(*s) >= 0 && v <= DFA_MOST_CP; s++)
			v = v * 16 + hex_digit(*s);
		if (s < x->end && *s == '}' && s[-1] != '{' && v <= DFA_MOST_CP) {
			*at = s + 1;
			*cp = (uint32_t)v;
			return INFER_OK;
		}
	}
	return regex_bad(x, *at, INFER_EINVAL, "\\u is not followed by a code point");
}

/* Parse \p{..} or \P{..}. */
static int parse_property(struct regex *x, const char **at, struct cpset *s)
{
	const char *name = *at + 3, *end = x->end - *at > 3 && (*at)[2] == '{'
	                                           ? memchr(name, '}', (size_t)(x->end - name))
	                                           : NULL;
	int known;

	if (!end || end == name)
		return regex_bad(x, *at, INFER_EINVAL, "\\%c is not followed by {..}", (*at)[1]);
	TRY(cpset_property(x->w, s, name, (size_t)(end - name), &known));
	if (!known)
		return regex_bad(x, *at, INFER_EUNSUP, "the property \\%c{%.*s} is not supported",
		                 (*at)[1], end - name < 80 ? (int)(end - name) : 80, name);
	if ((*at)[1] == 'P')
		TRY(cpset_not(x->w, s));
	*at = end + 1;
	return INFER_OK;
}

/* Parse any other escape of one character.  Returns the character, or -1. */
static int64_t parse_simple_escape(const struct regex *x, const char **at)
{
	static const char from[] = "tnvfr", to[] = "\t\n\v\f\r";
	const char *s = *at + 1, *k;
	uint32_t cp = 0;
	int64_t v;
	int len;

	if (*s && (k = strchr(from, *s))) {
		*at = s + 1;
		return to[k - from];
	}
	if (*s == '0' && (s + 1 == x->end || !is_digit(s[1]))) {
		*at = s + 1;
		return 0;
	}
	if (*s == 'x') {
		v = parse_hex(x, s + 1, 2);
		*at += v < 0 ? 0 : 4;
		return v;
	}
	if (*s == 'c' && s + 1 < x->end && is_letter(s[1])) {
		*at = s + 2;
		return s[1] & 31;
	}
	if (is_letter(*s) || is_digit(*s))
		return -1;
	len = utf8_get(s, (size_t)(x->end - s), &cp);
	*at = s + len;
	return len ? (int64_t)cp : -1;
}

int regex_escape(struct regex *x, const char **at, struct cpset *s)
{
	const char *p = *at;
	uint32_t cp = 0;
	int64_t v;

	if (x->end - p < 2)
		return regex_bad(x, p, INFER_EINVAL, "\\ at the end");
	if (strchr("dwsDWS", p[1]) && p[1]) {
		*at += 2;
		TRY(cpset_escape(x->w, s, (char)(p[1] | 32)));
		return p[1] & 32 ? INFER_OK : cpset_not(x->w, s);
	}
	if (p[1] == 'p' || p[1] == 'P')
		return parse_property(x, at, s);
	if (p[1] == 'u') {
		TRY(parse_unicode_escape(x, at, &cp));
		return cpset_add(x->w, s, cp, cp);
	}
	if ((p[1] >= '1' && p[1] <= '9') || p[1] == 'k')
		return regex_bad(x, p, INFER_EUNSUP, "the back-reference \\%c is not supported",
		                 p[1]);
	v = parse_simple_escape(x, at);
	if (v < 0)
		return regex_bad(x, p, INFER_EINVAL, "\\%c is not an escape", p[1]);
	return cpset_add(x->w, s, (uint32_t)v, (uint32_t)v);
}

/* Parse one character or escape of a class. */
static int parse_class_atom(struct regex *x, const char **at, struct cpset *s)
{
	uint32_t cp = 0;
	int len;

	if (**at == '\\' && x->end - *at > 1 && ((*at)[1] == 'b' || (*at)[1] == '-')) {
		cp = (*at)[1] == 'b' ? 8 : '-';
		*at += 2;
		return cpset_add(x->w, s, cp, cp);
	}
	if (**at == '\\')
		return regex_escape(x, at, s);
	len = utf8_get(*at, (size_t)(x->end - *at), &cp);
	*at += len;
	return cpset_add(x->w, s, cp, cp);
}

static int is_char(const struct cpset *s) { return s->n == 1 && s->at[0].lo == s->at[0].hi; }

int regex_class(struct regex *x, const char **at, struct cpset *s)
{
	const char *open = *at, *p = open + 1;
	int negated = p < x->end && *p == '^';

	for (p += negated; p < x->end && *p != ']';) {
		struct cpset lo = { 0 }, hi = { 0 };
		const char *first = p;

		TRY(parse_class_atom(x, &p, &lo));
		if (x->end - p > 1 && *p == '-' && p[1] != ']') {
			p++;
			TRY(parse_class_atom(x, &p, &hi));
			if (!is_char(&lo) || !is_char(&hi)) { /* a literal - */
				TRY(cpset_add(x->w, s, '-', '-'));
				TRY(cpset_join(x->w, s, &hi));
			} else if (lo.at[0].lo > hi.at[0].lo) {
				return regex_bad(x, first, INFER_EINVAL,
				                 "the range %.*s is out of order",
				                 p - first < 40 ? (int)(p - first) : 40, first);
			} else {
				lo.at[0].hi = hi.at[0].lo;
			}
		}
		TRY(cpset_join(x->w, s, &lo));
	}
	if (p >= x->end)
		return regex_bad(x, open, INFER_EINVAL, "[ without ]");
	*at = p + 1;
	TRY(cpset_norm(x->w, s));
	return negated ? cpset_not(x->w, s) : INFER_OK;
}
