/* reply/loose.c - convert arguments to JSON, from Python's (a=1, b=["c", None]) or Gemma's
 * {a:1,b:[<|"|>c<|"|>]}. */
#include "reply/reply.h"
#include "base/err.h"

#include <string.h>

enum { DEEPEST = 60 };

static const char gemma_quote[] = "<|\"|>";

/* Return the bit of the current level. */
static uint64_t level_bit(const struct infer_reply *r) { return (uint64_t)1 << r->s.loose.depth; }

static int in_object(const struct infer_reply *r)
{
	return (r->s.loose.object & level_bit(r)) != 0;
}

/* Close one level; the outermost one ends the arguments and the call. */
static void close_level(struct infer_reply *r)
{
	buf_putc(reply_args(r), in_object(r) ? '}' : ']');
	r->s.loose.state = LOOSE_NEXT;
	if (--r->s.loose.depth == 0)
		reply_call_end(r);
}

static void open_level(struct infer_reply *r, int object)
{
	buf_putc(reply_args(r), object ? '{' : '[');
	r->s.loose.depth++;
	r->s.loose.object =
		object ? r->s.loose.object | level_bit(r) : r->s.loose.object & ~level_bit(r);
	r->s.loose.filled &= ~level_bit(r);
	r->s.loose.state = object ? LOOSE_KEY : LOOSE_VALUE;
	r->base = ++r->at;
}

static void begin_loose(struct infer_reply *r, const struct reply_mark *m)
{
	(void)m;
	r->s.loose = (struct loose_args){ .token = TOKEN_NONE };
	open_level(r, 1);
}

/* Close the arguments read so far; the rest is content. */
static void break_off(struct infer_reply *r)
{
	if (r->s.loose.state == LOOSE_COLON)
		buf_puts(reply_args(r), ": null");
	else if (r->s.loose.state == LOOSE_VALUE && in_object(r))
		buf_puts(reply_args(r), "null");
	r->at = r->base;
	r->s.loose.broken = 1;
	while (r->s.loose.depth)
		close_level(r);
}

static void put_comma(struct infer_reply *r)
{
	if (r->s.loose.filled & level_bit(r))
		buf_puts(reply_args(r), ", ");
	r->s.loose.filled |= level_bit(r);
}

static int is_key(const struct infer_reply *r) { return r->s.loose.state == LOOSE_KEY; }

static void end_token(struct infer_reply *r)
{
	r->s.loose.token = TOKEN_NONE;
	r->s.loose.state = is_key(r) ? LOOSE_COLON : LOOSE_NEXT;
}

/* ---- strings ---- */

/* Return the quote that opens a string at `at`, or NULL.  *rc: the result of the match. */
static const char *opening_quote(const struct infer_reply *r, int *rc)
{
	static const char *const quotes[] = { "\"\"\"", "'''", "\"", "'" };

	*rc = P_NO;
	if (r->args == ARGS_GEMMA) {
		*rc = reply_literal(r, r->at, gemma_quote);
		return *rc == P_OK ? gemma_quote : NULL;
	}
	for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++) {
		*rc = reply_literal(r, r->at, quotes[i]);
		if (*rc != P_NO)
			return *rc == P_OK ? quotes[i] : NULL;
	}
	return NULL;
}

/* Decode the backslash at `at` and the character after it; an unknown escape stays as written. */
static void decode_escape(struct infer_reply *r)
{
	static const char of[] = "nrt\\", is[] = "\n\r\t\\";
	char c = r->in.at[r->at + 1];
	const char *known = c ? strchr(of, c) : NULL;

	if (c == '"' || c == '\'' || known) {
		reply_escape(reply_args(r), r->in.at + r->base, r->at - r->base);
		reply_escape(reply_args(r), known ? &is[known - of] : &c, 1);
		r->base = r->at + 2;
	}
	r->at += 2;
}

static int string_step(struct infer_reply *r)
{
	int escapes = r->args == ARGS_PYTHON, rc = P_NO;

	while (r->at < r->in.len && rc == P_NO) {
		char c = r->in.at[r->at];
		if (c == *r->s.loose.quote) {
			rc = reply_literal(r, r->at, r->s.loose.quote);
			r->at += rc == P_NO;
		} else if (c == '\\' && escapes) {
			if (r->at + 1 == r->in.len)
				break;
			decode_escape(r);
		} else {
			r->at++;
		}
	}
	reply_escape(reply_args(r), r->in.at + r->base, r->at - r->base);
	r->base = r->at;
	if (rc != P_OK)
		return 0;
	buf_putc(reply_args(r), '"');
	r->base = r->at += strlen(r->s.loose.quote);
	end_token(r);
	return 1;
}

/* ---- words ---- */

static int is_number(const char *s, size_t n)
{
	size_t i = n && *s == '-', digits = i;

	while (i < n && s[i] >= '0' && s[i] <= '9')
		i++;
	if (i == digits || (s[digits] == '0' && i > digits + 1))
		return 0;
	if (i < n && s[i] == '.') {
		digits = ++i;
		while (i < n && s[i] >= '0' && s[i] <= '9')
			i++;
		if (i == digits)
			return 0;
	}
	if (i < n && (s[i] == 'e' || s[i] == 'E')) {
		i += i + 1 < n && (s[i + 1] == '+' || s[i + 1] == '-') ? 2 : 1;
		digits = i;
		while (i < n && s[i] >= '0' && s[i] <= '9')
			i++;
		if (i == digits)
			return 0;
	}
	return i == n;
}

static void put_word(struct infer_reply *r, const char *s, size_t n)
{
	static const char *const words[][2] = { { "True", "true" },   { "False", "false" },
		                                { "None", "null" },   { "true", "true" },
		                                { "false", "false" }, { "null", "null" } };

	for (size_t i = 0; !is_key(r) && i < sizeof words / sizeof *words; i++)
		if (strlen(words[i][0]) == n && !memcmp(s, words[i][0], n)) {
			buf_puts(reply_args(r), words[i][1]);
			return;
		}
	if (!is_key(r) && is_number(s, n)) {
		buf_put(reply_args(r), s, n);
		return;
	}
	buf_putc(reply_args(r), '"');
	reply_escape(reply_args(r), s, n);
	buf_putc(reply_args(r), '"');
}

static int word_step(struct infer_reply *r)
{
	while (r->at < r->in.len && !reply_space(r->in.at[r->at]) &&
	       !memchr(",:=()[]{}'\"<", r->in.at[r->at], 12))
		r->at++;
	if (r->at - r->base > HEAD_MOST || (r->at < r->in.len && r->at == r->base)) {
		break_off(r);
		return 1;
	}
	if (r->at == r->in.len)
		return 0;
	if (is_key(r) || !in_object(r))
		put_comma(r);
	put_word(r, r->in.at + r->base, r->at - r->base);
	r->base = r->at;
	end_token(r);
	return 1;
}

/* ---- all of it ---- */

/* Begin a key or a value. */
static int begin_item(struct infer_reply *r, char c)
{
	int rc;

	if (!is_key(r) && (c == '{' || c == '[' || c == '(')) {
		if (r->s.loose.depth == DEEPEST) {
			break_off(r);
			return 1;
		}
		if (!in_object(r))
			put_comma(r);
		open_level(r, c == '{');
		return 1;
	}
	r->s.loose.quote = opening_quote(r, &rc);
	if (rc == P_NEED)
		return 0;
	r->s.loose.token = r->s.loose.quote ? TOKEN_STRING : TOKEN_WORD;
	if (r->s.loose.token == TOKEN_WORD)
		return 1;
	if (is_key(r) || !in_object(r))
		put_comma(r);
	buf_putc(reply_args(r), '"');
	r->base = r->at += strlen(r->s.loose.quote);
	return 1;
}

/* Read the separators between keys and values. */
static int between_step(struct infer_reply *r)
{
	while (r->at < r->in.len && reply_space(r->in.at[r->at]))
		r->at++;
	r->base = r->at;
	if (r->at == r->in.len)
		return 0;
	char c = r->in.at[r->at];
	enum loose_state e = r->s.loose.state;
	if ((c == ')' || c == '}' || c == ']') &&
	    (e == LOOSE_NEXT || e == LOOSE_KEY || (e == LOOSE_VALUE && !in_object(r)))) {
		r->base = ++r->at;
		close_level(r);
	} else if (e == LOOSE_NEXT && c == ',') {
		r->s.loose.state = in_object(r) ? LOOSE_KEY : LOOSE_VALUE;
		r->base = ++r->at;
	} else if (e == LOOSE_COLON && (c == ':' || c == '=')) {
		buf_puts(reply_args(r), ": ");
		r->s.loose.state = LOOSE_VALUE;
		r->base = ++r->at;
	} else if (e == LOOSE_KEY || e == LOOSE_VALUE) {
		return begin_item(r, c);
	} else {
		break_off(r);
	}
	return 1;
}

static int loose_step(struct infer_reply *r)
{
	switch (r->s.loose.token) {
	case TOKEN_STRING:
		return string_step(r);
	case TOKEN_WORD:
		return word_step(r);
	case TOKEN_NONE:
		break;
	}
	return between_step(r);
}

static void end_loose(struct infer_reply *r)
{
	buf_put(reply_args(r), r->in.at + r->base, r->in.len - r->base);
}

const struct reply_reader reply_loose = { begin_loose, loose_step, end_loose };

int reply_loose_value(struct buf *to, const char *s, size_t n)
{
	struct reply_call call = { 0 };
	struct infer_reply r = {
		.calls = &call, .n_calls = 1, .reader = &reply_loose, .args = ARGS_PYTHON
	};

	if (!n || (*s != '{' && *s != '['))
		return 0;
	buf_init(&r.in, MEM_REPLY);
	buf_init(&call.args, MEM_REPLY);
	buf_put(&r.in, s, n);
	if (!r.in.bad) {
		open_level(&r, *s == '{');
		while (r.reader && loose_step(&r))
			;
	}
	int whole = !r.reader && !r.s.loose.broken && r.at == n;
	if (whole)
		buf_put(to, call.args.at, call.args.len);
	to->bad |= r.in.bad | call.args.bad;
	buf_fini(&r.in);
	buf_fini(&call.args);
	return whole;
}
