/* lark/token.c - split the text of a Lark grammar into tokens. */
#include "lark/tree.h"
#include "base/utf8.h"

#include <string.h>

static int is_lower(char c) { return c >= 'a' && c <= 'z'; }
static int is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static int is_decimal(char c) { return c >= '0' && c <= '9'; }
static int is_blank(char c) { return c == ' ' || c == '\t'; }

/* Return the character k bytes after s, 0 past the end. */
static char peek(const struct lark *p, const char *s, size_t k)
{
	return k < (size_t)(p->end - s) ? s[k] : 0;
}

static int add_token(struct lark *p, enum token_kind kind, const char *at, const char *end,
                     uint32_t line)
{
	TRY(work_steps(&p->tree, 1));
	TRY(work_grow(&p->tree, &p->token, &p->cap_tokens, (uint64_t)p->n_tokens + 1,
	              sizeof *p->token));
	p->token[p->n_tokens++] = (struct token){ kind, line, (uint32_t)(end - at), at };
	return INFER_OK;
}

static const char *skip_name(const struct lark *p, const char *s, int upper)
{
	while (s < p->end &&
	       (*s == '_' || *s == '-' || is_decimal(*s) || (upper ? is_upper(*s) : is_lower(*s))))
		s++;
	return s;
}

/* Return the end of a name at s, or s if there is none. */
static const char *find_name(const struct lark *p, const char *s, enum token_kind *kind)
{
	size_t k = peek(p, s, 0) == '!';

	*kind = T_RULE;
	k += peek(p, s, k) == '_' || peek(p, s, k) == '?';
	if (is_lower(peek(p, s, k)))
		return skip_name(p, s + k, 0);
	*kind = T_TERMINAL;
	k = *s == '_';
	return is_upper(peek(p, s, k)) ? skip_name(p, s + k, 1) : s;
}

/* Return the end of a "text", an /expression/ or a <token>, or NULL. */
static const char *find_quoted(const struct lark *p, const char *s)
{
	const char quote = *s == '<' ? '>' : *s;
	const char *at = s + 1;

	for (; at < p->end && *at != quote; at++) {
		if (quote != '/' && ((uint8_t)*at < 32 || *at == 127))
			return NULL;
		if (quote == '>' && (*at == ' ' || *at == '<'))
			return NULL;
		if (quote != '>' && *at == '\\' && ++at == p->end)
			return NULL;
	}
	if (at >= p->end || at == s + (quote != '"'))
		return NULL;
	at++;
	if (quote == '"')
		return at + (peek(p, at, 0) == 'i');
	while (quote == '/' && at < p->end && *at && strchr("imslux", *at))
		at++;
	return at;
}

static const char *find_number(const struct lark *p, const char *s)
{
	if (*s == '0' && (peek(p, s, 1) | 32) == 'x') {
		for (s += 2;
		     s < p->end && (is_decimal(*s) || ((*s | 32) >= 'a' && (*s | 32) <= 'f'));)
			s++;
		return s;
	}
	s += *s == '-';
	while (s < p->end && is_decimal(*s))
		s++;
	if (peek(p, s, 0) == '.' && is_decimal(peek(p, s, 1)))
		for (s++; s < p->end && is_decimal(*s);)
			s++;
	return s;
}

/* Return the end of the JSON value at s, by its brackets and quotes. */
static const char *find_json_end(const struct lark *p, const char *s)
{
	uint32_t depth = 0;

	for (; s < p->end; s++) {
		if (*s == '"') {
			for (s++; s < p->end && *s != '"'; s++)
				s += *s == '\\' && s + 1 < p->end;
			if (s >= p->end)
				return p->end;
		}
		depth += *s == '{' || *s == '[';
		if ((*s == '}' || *s == ']') && !--depth)
			return s + 1;
		if (!depth && (is_blank(*s) || *s == '\n' || *s == '\r'))
			return s;
	}
	return s;
}

/* Read a directive, and the JSON value that follows some. */
static int add_directive(struct lark *p, const char **at, uint32_t *line)
{
	static const char *const with_json[] = { "%json", "%regex", "%llguidance" };
	const char *s = *at, *name = s++;

	while (s < p->end && (is_lower(*s) || *s == '_'))
		s++;
	TRY(add_token(p, T_DIRECTIVE, name, s, *line));
	*at = s;
	for (int i = 0; i < 3; i++) {
		if ((size_t)(s - name) != strlen(with_json[i]) ||
		    memcmp(name, with_json[i], (size_t)(s - name)) != 0)
			continue;
		for (; s < p->end && (is_blank(*s) || *s == '\n' || *s == '\r'); s++)
			*line += *s == '\n';
		*at = find_json_end(p, s);
		TRY(add_token(p, T_JSON, s, *at, *line));
		for (; s < *at; s++)
			*line += *s == '\n';
	}
	return INFER_OK;
}

/* Read a token that is not white space. */
static int add_one(struct lark *p, const char **at, uint32_t *line)
{
	const char *s = *at, *end;
	enum token_kind kind;

	if (*s == '%')
		return add_directive(p, at, line);
	end = find_name(p, s, &kind);
	if (end == s && (is_decimal(*s) || (*s == '-' && is_decimal(peek(p, s, 1))))) {
		kind = T_NUMBER;
		end = find_number(p, s);
	} else if (end == s && (*s == '"' || *s == '/' || *s == '<')) {
		kind = *s == '"' ? T_TEXT : *s == '/' ? T_REGEX : T_SPECIAL;
		end = find_quoted(p, s);
		if (!end)
			return lark_fail(p, *line, INFER_EINVAL, "this %s has no end",
			                 kind == T_TEXT    ? "text"
			                 : kind == T_REGEX ? "expression"
			                                   : "token");
	} else if (end == s && *s == '@') {
		kind = T_GRAMMAR;
		for (end = s + 1; end < p->end && (is_lower(*end | 32) || is_decimal(*end) ||
		                                   *end == '_' || *end == '-');)
			end++;
	} else if (end == s) {
		const char next = peek(p, s, 1);

		kind = *s == '*' || *s == '+' || *s == '?'  ? T_OPERATOR
		       : *s == '-' && next == '>'           ? T_ARROW
		       : *s == ':' && next == ':'           ? T_COLONS
		       : *s == '.' && next == '.'           ? T_DOTS
		       : *s && strchr(":,.(){}[]~|&=_", *s) ? T_PUNCT
		                                            : T_END;
		if (kind == T_END)
			return lark_fail(p, *line, INFER_EINVAL, "something unexpected");
		end = s + (kind == T_ARROW || kind == T_COLONS || kind == T_DOTS ? 2 : 1);
	}
	TRY(add_token(p, kind, s, end, *line));
	for (; s < end; s++)
		*line += *s == '\n';
	*at = end;
	return INFER_OK;
}

int lark_tokens(struct lark *p)
{
	const char *s = p->text;
	uint32_t line = 1;

	while (s < p->end) {
		if (is_blank(*s) || (*s == '\r' && peek(p, s, 1) == '\n')) {
			s++;
		} else if (*s == '#' || (*s == '/' && peek(p, s, 1) == '/')) {
			while (s < p->end && *s != '\n')
				s++;
		} else if (*s == '\n') {
			if (!p->n_tokens || p->token[p->n_tokens - 1].kind != T_NEWLINE)
				TRY(add_token(p, T_NEWLINE, s, s + 1, line));
			line++;
			s++;
		} else {
			TRY(add_one(p, &s, &line));
		}
	}
	TRY(add_token(p, T_NEWLINE, s, s, line));
	return add_token(p, T_END, s, s, line);
}

/* -- texts ---------------------------------------------------------------------------------- */

static int parse_hex(const char *s, const char *end, int n, uint32_t *v)
{
	*v = 0;
	if (end - s < n)
		return 0;
	for (; n; n--, s++) {
		const char low = (char)(*s | 32);

		if (!is_decimal(*s) && (low < 'a' || low > 'f'))
			return 0;
		*v = *v << 4 | (uint32_t)(is_decimal(*s) ? *s - '0' : low - 'a' + 10);
	}
	return 1;
}

/* Decode an escape at *at, after the \. Returns 0 if there is no such. */
static int decode_escape(const char **at, const char *end, uint32_t *cp)
{
	static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *s = *at, *l = strchr(letters, *s);
	uint32_t low;

	if (*s && l) {
		*cp = (uint32_t)values[l - letters];
		*at = s + 1;
		return 1;
	}
	if (*s == 'x') {
		*at = s + 3;
		return parse_hex(s + 1, end, 2, cp);
	}
	if (*s != 'u' || !parse_hex(s + 1, end, 4, cp))
		return 0;
	*at = s + 5;
	if (*cp >> 10 == 0x36 && end - *at >= 6 && s[5] == '\\' && s[6] == 'u' &&
	    parse_hex(s + 7, end, 4, &low) && low >> 10 == 0x37) {
		*cp = 0x10000 + ((*cp & 0x3ff) << 10 | (low & 0x3ff));
		*at = s + 11;
	}
	return *cp < 0xd800 || *cp > 0xdfff;
}

int lark_decode_text(struct lark *p, const struct token *t, const char **s, uint32_t *n, int *fold)
{
	const char *at = t->at + 1, *end = t->at + t->n;
	char *to;

	*fold = end[-1] == 'i';
	end -= 1 + *fold;
	*n = 0;
	TRY(work_alloc(&p->tree, &to, (uint64_t)t->n + 4, 1));
	*s = to;
	while (at < end) {
		uint32_t cp;

		if (*at == '\\') {
			at++;
			if (!decode_escape(&at, end, &cp))
				return lark_fail(p, t->line, INFER_EINVAL,
				                 "there is no such escape");
		} else {
			const int len = utf8_get(at, (size_t)(end - at), &cp);

			if (!len)
				return lark_fail(p, t->line, INFER_EINVAL, "not UTF-8");
			at += len;
		}
		*n += (uint32_t)utf8_put(to + *n, cp);
	}
	return INFER_OK;
}
