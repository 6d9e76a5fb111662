/* automata/regex_rust_class.c - the parser of escapes and classes of Rust's expressions. */
#include "automata/regex_rust.h"
#include "base/utf8.h"

#include <string.h>

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* -- sets ----------------------------------------------------------------------------------- */

static int add_property(struct rust *r, struct cpset *s, const char *name, size_t n)
{
	int known;

	TRY(cpset_property(r->x->w, s, name, n, &known));
	if (!known)
		return regex_bad(r->x, r->s, INFER_EUNSUP, "the property %.*s is not supported",
		                 n < 80 ? (int)n : 80, name);
	return cpset_norm(r->x->w, s);
}

/* Add \d, \s or \w of Unicode (UTS 18, annex C), by its letter. */
static int add_perl_class(struct rust *r, struct cpset *s, char letter)
{
	/* Other_Alphabetic and Join_Control without marks */
	static const struct dfa_range more[] = {
		{ 0x200c, 0x200d },   { 0x24b6, 0x24e9 },   { 0x1f130, 0x1f149 },
		{ 0x1f150, 0x1f169 }, { 0x1f170, 0x1f189 },
	};
	static const char *const word[] = { "L", "M", "Nd", "Nl", "Pc" };

	if (letter == 'd')
		return add_property(r, s, "Nd", 2);
	if (letter == 's')
		return add_property(r, s, "White_Space", 11);
	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		TRY(add_property(r, s, word[i], strlen(word[i])));
	for (size_t i = 0; i < sizeof more / sizeof *more; i++)
		TRY(cpset_add(r->x->w, s, more[i].lo, more[i].hi));
	return cpset_norm(r->x->w, s);
}

/* Set s to its complement; under the modifier i, of all cases. */
static int negate(struct rust *r, struct cpset *s)
{
	TRY(cpset_norm(r->x->w, s));
	if (r->flags & RUST_FOLD)
		TRY(regex_fold(r->x->w, s));
	return cpset_not(r->x->w, s);
}

/* Set a to the characters of both. */
static int intersect(struct rust *r, struct cpset *a, struct cpset *b)
{
	TRY(cpset_norm(r->x->w, a));
	TRY(cpset_norm(r->x->w, b));
	TRY(cpset_not(r->x->w, a));
	TRY(cpset_not(r->x->w, b));
	TRY(cpset_join(r->x->w, a, b));
	TRY(cpset_norm(r->x->w, a));
	return cpset_not(r->x->w, a);
}

/* Set a to the characters of a that are not in b. */
static int subtract(struct rust *r, struct cpset *a, struct cpset *b)
{
	TRY(cpset_norm(r->x->w, b));
	TRY(cpset_not(r->x->w, b));
	return intersect(r, a, b);
}

/* -- escapes -------------------------------------------------------------------------------- */

/* Parse \p{..}, \P{..}, \pL. */
static int parse_property(struct rust *r, struct cpset *s)
{
	const char *at = r->s, *name = at + 2, *end;
	struct cpset found = { 0 };
	int not = at[1] == 'P';

	if (name == r->x->end)
		return rust_bad(r, at, INFER_EINVAL, "\\p is not followed by a property");
	end = name + 1;
	if (*name == '{') {
		name++;
		end = memchr(name, '}', (size_t)(r->x->end - name));
		if (!end || end == name)
			return rust_bad(r, at, INFER_EINVAL, "\\p{ without }");
	}
	if (*name == '^') {
		not = !not ;
		name++;
	}
	TRY(add_property(r, &found, name, (size_t)(end - name)));
	r->s = end + (*end == '}' && name > at + 2);
	if (not )
		TRY(negate(r, &found));
	return cpset_join(r->x->w, s, &found);
}

/* Parse \xHH, \x{H}, \uHHHH, \u{H}, \UHHHHHHHH, \U{H}. */
static int parse_hex_escape(struct rust *r, uint32_t *cp)
{
	const char *at = r->s, letter = at[1];
	int n = letter == 'x' ? 2 : letter == 'u' ? 4 : 8, braces, digits = 0;

	r->s += 2;
	braces = r->s < r->x->end && *r->s == '{';
	r->s += braces;
	n = braces ? 8 : n;
	for (*cp = 0; digits < n && r->s < r->x->end && hex_value(*r->s) >= 0; digits++)
		*cp = *cp << 4 | (uint32_t)hex_value(*r->s++);
	if (braces ? !digits || r->s == r->x->end || *r->s++ != '}' : digits < n)
		return rust_bad(r, at, INFER_EINVAL, "too few hexadecimal digits");
	if (*cp > DFA_MOST_CP || (*cp >= 0xd800 && *cp < 0xe000))
		return rust_bad(r, at, INFER_EINVAL, "not a Unicode character");
	return INFER_OK;
}

int rust_escape(struct rust *r, struct cpset *s)
{
	static const char letters[] = "nrtafv", values[] = "\n\r\t\a\f\v";
	const char *at = r->s, *l;
	struct cpset perl = { 0 };
	uint32_t cp;

	if (r->x->end - at < 2)
		return rust_bad(r, at, INFER_EINVAL, "\\ at the end");
	if (at[1] == 'p' || at[1] == 'P')
		return parse_property(r, s);
	if (at[1] == 'x' || at[1] == 'u' || at[1] == 'U') {
		TRY(parse_hex_escape(r, &cp));
		return cpset_add(r->x->w, s, cp, cp);
	}
	if (at[1] && strchr("dswDSW", at[1])) {
		TRY(add_perl_class(r, &perl, (char)(at[1] | 32)));
		r->s += 2;
		if (!(at[1] & 32))
			TRY(cpset_not(r->x->w, &perl));
		return cpset_join(r->x->w, s, &perl);
	}
	if (at[1] && strchr("bBAzG<>", at[1]))
		return rust_bad(r, at, INFER_EUNSUP, "this anchor is not supported");
	l = at[1] ? strchr(letters, at[1]) : NULL;
	cp = l ? (uint32_t)values[l - letters] : (uint32_t)(uint8_t)at[1];
	if (!l && (cp >= 128 || cp < 32 || (cp >= '0' && cp <= '9') ||
	           ((cp | 32) >= 'a' && (cp | 32) <= 'z')))
		return rust_bad(r, at, INFER_EINVAL, "there is no such escape");
	r->s += 2;
	return cpset_add(r->x->w, s, cp, cp);
}

/* -- classes -------------------------------------------------------------------------------- */

/* Parse [:name:] or [:^name:] at r->s.  *there: 0: there is none */
static int parse_posix(struct rust *r, struct cpset *s, int *there)
{
	static const struct posix {
		const char *name;
		struct dfa_range at[4];
	} list[] = {
		{ "alnum", { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' } } },
		{ "alpha", { { 'A', 'Z' }, { 'a', 'z' } } },
		{ "ascii", { { 0, 127 } } },
		{ "blank", { { ' ', ' ' }, { '\t', '\t' } } },
		{ "cntrl", { { 0, 31 }, { 127, 127 } } },
		{ "digit", { { '0', '9' } } },
		{ "graph", { { '!', '~' } } },
		{ "lower", { { 'a', 'z' } } },
		{ "print", { { ' ', '~' } } },
		{ "punct", { { '!', '/' }, { ':', '@' }, { '[', '`' }, { '{', '~' } } },
		{ "space", { { '\t', '\r' }, { ' ', ' ' } } },
		{ "upper", { { 'A', 'Z' } } },
		{ "word", { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' }, { '_', '_' } } },
		{ "xdigit", { { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } } },
	};
	const char *at = r->s + 2;
	struct cpset found = { 0 };
	const int not = at < r->x->end && *at == '^';

	*there = 0;
	at += not ;
	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		const size_t n = strlen(list[i].name);

		if ((size_t)(r->x->end - at) < n + 2 || memcmp(at, list[i].name, n) != 0 ||
		    at[n] != ':' || at[n + 1] != ']')
			continue;
		for (int k = 0; k < 4 && list[i].at[k].hi; k++)
			TRY(cpset_add(r->x->w, &found, list[i].at[k].lo, list[i].at[k].hi));
		*there = 1;
		r->s = at + n + 2;
		TRY(not ? negate(r, &found) : INFER_OK);
		return cpset_join(r->x->w, s, &found);
	}
	return INFER_OK;
}

static void skip_verbose_space(struct rust *r)
{
	while ((r->flags & RUST_VERBOSE) && r->s < r->x->end && *r->s &&
	       strchr(" \t\n\r\v\f", *r->s))
		r->s++;
}

/* Parse a character, escape or nested class. */
static int parse_class_atom(struct rust *r, uint32_t depth, struct cpset *s)
{
	uint32_t cp;
	int there = 0;

	if (*r->s == '\\')
		return rust_escape(r, s);
	if (*r->s == '[') {
		if (r->x->end - r->s > 1 && r->s[1] == ':')
			TRY(parse_posix(r, s, &there));
		return there ? INFER_OK : rust_class(r, depth + 1, s);
	}
	r->s += utf8_get(r->s, (size_t)(r->x->end - r->s), &cp);
	return cpset_add(r->x->w, s, cp, cp);
}

static int is_char(const struct cpset *s) { return s->n == 1 && s->at[0].lo == s->at[0].hi; }

/* Parse an atom or a range of characters. */
static int parse_class_item(struct rust *r, uint32_t depth, struct cpset *s)
{
	const char *at = r->s;
	struct cpset lo = { 0 }, hi = { 0 };

	TRY(parse_class_atom(r, depth, &lo));
	skip_verbose_space(r);
	if (r->x->end - r->s > 1 && *r->s == '-' && r->s[1] != ']' && r->s[1] != '-') {
		r->s++;
		skip_verbose_space(r);
		if (r->s == r->x->end)
			return rust_bad(r, at, INFER_EINVAL, "[ without ]");
		TRY(parse_class_atom(r, depth, &hi));
		if (!is_char(&lo) || !is_char(&hi) || lo.at[0].lo > hi.at[0].lo)
			return rust_bad(r, at, INFER_EINVAL, "a range of characters is not valid");
		lo.at[0].hi = hi.at[0].lo;
	}
	return cpset_join(r->x->w, s, &lo);
}

/* Return the letter of && -- ~~ at r->s, or 0. */
static char set_operator(const struct rust *r)
{
	return r->x->end - r->s > 1 && r->s[0] == r->s[1] && *r->s && strchr("&-~", *r->s) ? *r->s
	                                                                                   : 0;
}

/* Set a to the result of an operator. */
static int apply_operator(struct rust *r, char op, struct cpset *a, struct cpset *b)
{
	struct cpset a2 = { 0 }, b2 = { 0 };

	if (op == '&')
		return intersect(r, a, b);
	if (op == '-')
		return subtract(r, a, b);
	TRY(cpset_join(r->x->w, &a2, a));
	TRY(cpset_join(r->x->w, &b2, b));
	TRY(subtract(r, a, &b2));
	TRY(subtract(r, b, &a2));
	return cpset_join(r->x->w, a, b);
}

int rust_class(struct rust *r, uint32_t depth, struct cpset *s)
{
	const char *open = r->s++;
	struct cpset all = { 0 }, part = { 0 };
	const int not = r->s < r->x->end && *r->s == '^';
	char op = 0;

	if (depth > REGEX_DEPTH)
		return rust_bad(r, open, INFER_EUNSUP, "classes are nested too deeply");
	r->s += not ;
	for (int first = 1;; first = 0) {
		skip_verbose_space(r);
		if (r->s == r->x->end)
			return rust_bad(r, open, INFER_EINVAL, "[ without ]");
		const char next = set_operator(r);

		if ((*r->s == ']' && !first) || (next && !first)) {
			TRY(op ? apply_operator(r, op, &all, &part)
			       : cpset_join(r->x->w, &all, &part));
			if (*r->s == ']')
				break;
			part = (struct cpset){ 0 };
			op = next;
			r->s += 2;
			continue;
		}
		TRY(parse_class_item(r, depth, &part));
	}
	r->s++;
	TRY(cpset_norm(r->x->w, &all));
	if (not )
		TRY(negate(r, &all));
	return cpset_join(r->x->w, s, &all);
}
