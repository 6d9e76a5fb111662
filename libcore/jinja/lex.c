/* jinja/lex.c - split a template into tokens; trim_blocks and lstrip_blocks remove white space. */
#include "jinja/parse.h"
#include "jinja/run.h"
#include "base/err.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct lex {
	struct jinja *t;
	const char *s;
	size_t n, i;
	int line, starts; /* starts: i is at the start of a line */
	struct jtok *tok;
	size_t ntok, cap;
	char open[64]; /* open brackets within a tag */
	int nopen;
	infer_error *err;
};

static int fail_lex(struct lex *l, const char *what)
{
	return err_set(l->err, INFER_EFORMAT, "%s: line %d: %s", l->t->name, l->line, what);
}

static int push_token(struct lex *l, enum jtok_kind kind, size_t at, size_t n)
{
	if (l->ntok == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 256;
		struct jtok *p = arena_alloc(&l->t->arena, cap, sizeof *p);
		if (!p)
			return err_set(l->err, INFER_ENOMEM, "%s: out of memory", l->t->name);
		if (l->ntok)
			memcpy(p, l->tok, l->ntok * sizeof *p);
		l->tok = p;
		l->cap = cap;
	}
	l->tok[l->ntok++] =
		(struct jtok){ .kind = (uint8_t)kind, .line = l->line, .at = l->s + at, .len = n };
	return INFER_OK;
}

static int starts_with(const struct lex *l, size_t at, const char *s)
{
	size_t n = strlen(s);

	return l->n - at >= n && !memcmp(l->s + at, s, n);
}

/* Skip white space (Unicode's, as Python's \s). */
static size_t skip_tag_space(const struct lex *l, size_t at)
{
	uint32_t cp;

	while (at < l->n) {
		size_t k = unicode_next(l->s + at, l->n - at, &cp);
		if (!(unicode_set(cp) & UNI_SPACE) && !(cp >= 0x1c && cp <= 0x1f))
			break;
		at += k;
	}
	return at;
}

/* Return the end of s[from .. to) without trailing white space. */
static size_t strip_end(const struct lex *l, size_t from, size_t to)
{
	size_t keep = from;

	for (size_t i = from; i < to;) {
		size_t next = skip_tag_space(l, i);
		uint32_t cp;
		if (next > i) {
			i = next;
			continue;
		}
		i += unicode_next(l->s + i, to - i, &cp);
		keep = i;
	}
	return keep < to ? keep : to;
}

/* Move to offset `to` and count lines. */
static void advance_to(struct lex *l, size_t to)
{
	for (size_t i = l->i; i < to; i++)
		l->line += l->s[i] == '\n';
	l->starts = to > l->i ? l->s[to - 1] == '\n' : l->starts;
	l->i = to;
}

/* Append the text before a tag at `tag`. sign: the character after the tag's opening. lstrip:
 * remove white space between the start of the line and the tag, as before {% and {#. */
static int lex_text(struct lex *l, size_t tag, char sign, int lstrip)
{
	size_t end = tag;

	if (sign == '-') {
		end = strip_end(l, l->i, tag);
	} else if (sign != '+' && lstrip) {
		size_t line = tag;
		while (line > l->i && l->s[line - 1] != '\n')
			line--;
		if ((line > l->i || l->starts) && line < tag && skip_tag_space(l, line) >= tag)
			end = line;
	}
	if (end > l->i)
		TRY(push_token(l, JT_DATA, l->i, end - l->i));
	advance_to(l, tag);
	return INFER_OK;
}

/* Match the end of a block or comment at `at`: a sign, `close`, and the white space that the sign
 * removes. Returns the offset after them, or 0. */
static size_t close_tag(const struct lex *l, size_t at, const char *close, int newline)
{
	size_t n = strlen(close);

	if (l->s[at] == '-' && starts_with(l, at + 1, close))
		return skip_tag_space(l, at + 1 + n);
	if (newline && l->s[at] == '+' && starts_with(l, at + 1, close))
		return at + 1 + n;
	if (!starts_with(l, at, close))
		return 0;
	at += n;
	return newline && at < l->n && l->s[at] == '\n' ? at + 1 : at;
}

static int lex_comment(struct lex *l, size_t at)
{
	for (; at < l->n; at++) {
		size_t end = close_tag(l, at, "#}", 1);
		if (end) {
			advance_to(l, end);
			return INFER_OK;
		}
	}
	return fail_lex(l, "missing end of comment tag");
}

/* Match {%, a sign, the word and %} at `at`. Returns as close_tag; *sign: the first sign. */
static size_t word_tag(const struct lex *l, size_t at, const char *word, char *sign, int newline)
{
	if (!starts_with(l, at, "{%"))
		return 0;
	at += 2;
	*sign = at < l->n ? l->s[at] : 0;
	at += *sign == '-' || *sign == '+';
	at = skip_tag_space(l, at);
	if (!starts_with(l, at, word))
		return 0;
	at = skip_tag_space(l, at + strlen(word));
	if (at >= l->n)
		return 0;
	if (!newline && l->s[at] == '+')
		return 0;
	size_t end = close_tag(l, at, "%}", newline);
	return end;
}

static int lex_raw(struct lex *l, size_t body)
{
	char sign;

	advance_to(l, body);
	for (size_t at = body; at < l->n; at++) {
		size_t end = word_tag(l, at, "endraw", &sign, 1);
		if (!end)
			continue;
		TRY(lex_text(l, at, sign, 1));
		advance_to(l, end);
		return INFER_OK;
	}
	return fail_lex(l, "missing end of raw directive");
}

/* ---- inside tags ---- */

static int is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
static int is_name_char(char c)
{
	return is_ascii_digit(c) || (c | 32) - 'a' + 0u < 26u || c == '_' ||
	       (unsigned char)c >= 0x80;
}

/* Return the end of the digits at `at`, which may have single underscores between them. */
static size_t skip_digits(const struct lex *l, size_t at)
{
	while (at < l->n &&
	       (is_ascii_digit(l->s[at]) || (l->s[at] == '_' && is_ascii_digit(l->s[at - 1]) &&
	                                     at + 1 < l->n && is_ascii_digit(l->s[at + 1]))))
		at++;
	return at;
}

/* Return the end of a float at `at`, or 0. */
static size_t float_end(const struct lex *l, size_t at)
{
	size_t e = skip_digits(l, at), k;
	int yes = 0;

	if (at && l->s[at - 1] == '.')
		return 0;
	if (e + 1 < l->n && l->s[e] == '.' && is_ascii_digit(l->s[e + 1])) {
		e = skip_digits(l, e + 1);
		yes = 1;
	}
	k = e + 1;
	if (e < l->n && (l->s[e] | 32) == 'e') {
		k += k < l->n && (l->s[k] == '+' || l->s[k] == '-');
		if (k < l->n && is_ascii_digit(l->s[k]))
			return skip_digits(l, k);
	}
	return yes ? e : 0;
}

static int lex_number(struct lex *l)
{
	size_t end = float_end(l, l->i);
	struct pystr s = { .at = l->s + l->i };
	struct pyrun r = { .steps_max = UINT64_MAX,
		           .clock_step = UINT64_MAX,
		           .name = l->t->name,
		           .line = l->line,
		           .err = l->err };
	int64_t v = 0;

	if (end) {
		s.len = end - l->i;
		TRY(push_token(l, JT_FLOAT, l->i, s.len));
		if (pystr_float(&r, &s, &l->tok[l->ntok - 1].f))
			return fail_lex(l, "not a number");
	} else {
		end = l->i;
		if (l->s[end] == '0' && end + 1 < l->n && strchr("xXoObB", l->s[end + 1]))
			for (end += 2; end < l->n && is_name_char(l->s[end]);)
				end++;
		else
			end = skip_digits(l, end);
		s.len = end - l->i;
		int rc = pystr_int(&r, &s, 0, &v);
		if (rc)
			return r.rc ? r.rc : fail_lex(l, "not an integer");
		TRY(push_token(l, JT_INT, l->i, s.len));
		l->tok[l->ntok - 1].i = v;
	}
	l->i = end;
	return INFER_OK;
}

static int parse_hex(const char *s, size_t n, size_t digits, uint32_t *v)
{
	*v = 0;
	if (n < digits)
		return 1;
	for (size_t i = 0; i < digits; i++) {
		int c = s[i], d = is_ascii_digit((char)c)              ? c - '0'
		                  : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
		                                                       : -1;
		if (d < 0)
			return 1;
		*v = *v << 4 | (uint32_t)d;
	}
	return 0;
}

/* Decode the escape s, after the backslash, to out. Returns the bytes written, or -1 if it is
 * malformed. *used: bytes read. */
static int lex_escape(const char *s, size_t n, char out[5], size_t *used)
{
	static const char plain[] = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v";
	uint32_t v;

	*used = 1;
	if (*s == '\n')
		return 0;
	for (const char *p = plain; *p; p += 2)
		if (*p == *s) {
			out[0] = p[1];
			return 1;
		}
	if (*s >= '0' && *s <= '7') {
		for (v = 0, *used = 0; *used < 3 && *used < n && s[*used] >= '0' && s[*used] <= '7';
		     ++*used)
			v = v * 8 + (uint32_t)(s[*used] - '0');
		return utf8_put(out, v);
	}
	if (*s == 'x' || *s == 'u' || *s == 'U') {
		size_t digits = *s == 'x' ? 2 : *s == 'u' ? 4 : 8;
		*used = 1 + digits;
		int k = parse_hex(s + 1, n - 1, digits, &v) ? 0 : utf8_put(out, v);
		return k ? k : -1;
	}
	if (*s == 'N')
		return -1;
	out[0] = '\\'; /* not an escape: the backslash is kept, as in Python */
	out[1] = *s;
	return 2;
}

static int lex_string(struct lex *l)
{
	size_t from = l->i + 1, end = from, n = 0;
	char quote = l->s[l->i];

	while (end < l->n && l->s[end] != quote)
		end += l->s[end] == '\\' ? 2 : 1;
	if (end >= l->n)
		return fail_lex(l, "a string does not end");
	char *to = arena_alloc(&l->t->arena, end - from + 1, 2);
	if (!to)
		return err_set(l->err, INFER_ENOMEM, "%s: out of memory", l->t->name);
	for (size_t i = from; i < end;) {
		size_t used;
		if (l->s[i] != '\\') {
			to[n++] = l->s[i++];
			continue;
		}
		int k = lex_escape(l->s + i + 1, end - i - 1, to + n, &used);
		if (k < 0 || i + 1 + used > end)
			return fail_lex(
				l, "an escape in a string is not well formed, or is \\N, which "
				   "is not supported");
		n += (size_t)k;
		i += 1 + used;
	}
	TRY(push_token(l, JT_STR, from, end - from));
	l->tok[l->ntok - 1].at = to;
	l->tok[l->ntok - 1].len = n;
	advance_to(l, end + 1);
	return INFER_OK;
}

static int lex_operator(struct lex *l)
{
	static const struct {
		char s[3];
		uint8_t kind;
	} ops[] = {
		{ "**", JT_POW },     { "//", JT_IDIV },    { "==", JT_EQ },    { "!=", JT_NE },
		{ ">=", JT_GE },      { "<=", JT_LE },      { "+", JT_ADD },    { "-", JT_SUB },
		{ "*", JT_MUL },      { "/", JT_DIV },      { "%", JT_MOD },    { "~", JT_CAT },
		{ "[", JT_LBRACKET }, { "]", JT_RBRACKET }, { "(", JT_LPAREN }, { ")", JT_RPAREN },
		{ "{", JT_LBRACE },   { "}", JT_RBRACE },   { ">", JT_GT },     { "<", JT_LT },
		{ "=", JT_ASSIGN },   { ".", JT_DOT },      { ":", JT_COLON },  { "|", JT_PIPE },
		{ ",", JT_COMMA },    { ";", JT_SEMI },
	};
	static const char pairs[] = "()[]{}";

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		if (!starts_with(l, l->i, ops[i].s))
			continue;
		char c = ops[i].s[0];
		const char *p = strlen(ops[i].s) == 1 ? strchr(pairs, c) : NULL;
		if (p && (p - pairs) % 2 == 0) {
			if (l->nopen == (int)sizeof l->open)
				return fail_lex(l, "brackets are nested too deeply");
			l->open[l->nopen++] = p[1];
		} else if (p && (!l->nopen || l->open[--l->nopen] != c)) {
			return fail_lex(l, "a bracket is closed that was not opened");
		}
		TRY(push_token(l, ops[i].kind, l->i, strlen(ops[i].s)));
		l->i += strlen(ops[i].s);
		return INFER_OK;
	}
	return fail_lex(l, "an unexpected character");
}

/* Append the tokens of a tag, up to its end. */
static int lex_tag_token(struct lex *l, const char *close, enum jtok_kind kind)
{
	l->nopen = 0;
	for (;;) {
		if (l->i >= l->n)
			return fail_lex(l, "a tag does not end");
		size_t end = l->nopen ? 0 : close_tag(l, l->i, close, kind == JT_BLOCK_END);
		if (end) {
			TRY(push_token(l, kind, l->i, 0));
			advance_to(l, end);
			return INFER_OK;
		}
		char c = l->s[l->i];
		size_t next = skip_tag_space(l, l->i);
		if (next > l->i) {
			advance_to(l, next);
		} else if (is_ascii_digit(c)) {
			TRY(lex_number(l));
		} else if (is_name_char(c)) {
			for (next = l->i; next < l->n && is_name_char(l->s[next]); next++)
				;
			TRY(push_token(l, JT_NAME, l->i, next - l->i));
			l->i = next;
		} else if (c == '"' || c == '\'') {
			TRY(lex_string(l));
		} else {
			TRY(lex_operator(l));
		}
	}
}

static int lex_tag(struct lex *l, size_t at)
{
	char kind = l->s[at + 1], sign, raw_sign = 0;
	size_t after = word_tag(l, at, "raw", &raw_sign, 0);

	sign = at + 2 < l->n ? l->s[at + 2] : 0;
	TRY(lex_text(l, at, sign, kind != '{'));
	if (after)
		return lex_raw(l, after);
	at += 2 + (sign == '-' || sign == '+');
	if (kind == '#')
		return lex_comment(l, at);
	TRY(push_token(l, kind == '{' ? JT_VAR : JT_BLOCK, l->i, 2));
	advance_to(l, at);
	l->starts = 0;
	return kind == '{' ? lex_tag_token(l, "}}", JT_VAR_END)
	                   : lex_tag_token(l, "%}", JT_BLOCK_END);
}

int jinja_lex(struct jinja *t, struct jtok **out, size_t *n, infer_error *err)
{
	struct lex l = { .t = t, .s = t->src, .n = t->len, .line = 1, .starts = 1, .err = err };

	*out = NULL;
	while (l.i < l.n) {
		size_t at = l.i;
		for (;; at++) {
			const char *p = at + 1 < l.n ? memchr(l.s + at, '{', l.n - at - 1) : NULL;
			at = p ? (size_t)(p - l.s) : l.n;
			if (!p || strchr("{%#", p[1]))
				break;
		}
		if (at < l.n && l.s[at + 1]) {
			TRY(lex_tag(&l, at));
		} else {
			TRY(push_token(&l, JT_DATA, l.i, at - l.i));
			advance_to(&l, at);
		}
	}
	TRY(push_token(&l, JT_EOF, l.n, 0));
	*out = l.tok;
	*n = l.ntok;
	return INFER_OK;
}
