/* reply/loose.c - arguments in Python's way, (a=1, b=["c", None]), or in Gemma's,
 * {a:1,b:[<|"|>c<|"|>]}, to JSON. */
#include "reply/reply.h"
#include "base/err.h"

#include <string.h>

enum { EXPECT_VALUE, EXPECT_KEY, EXPECT_COLON, EXPECT_NEXT };
enum { DEEPEST = 60 };

static const char gemma_quote[] = "<|\"|>";

static struct buf *args(const struct infer_reply *r) { return &r->calls[r->n_calls - 1].args; }

static uint64_t level(const struct infer_reply *r) { return (uint64_t)1 << r->s.depth; }

static int in_object(const struct infer_reply *r) { return (r->s.object & level(r)) != 0; }

/* Leave one level; at the outermost level the arguments and the call end. */
static void up(struct infer_reply *r)
{
	buf_putc(args(r), in_object(r) ? '}' : ']');
	r->s.expect = EXPECT_NEXT;
	if (--r->s.depth == 0)
		reply_call_end(r);
}

static void down(struct infer_reply *r, int object)
{
	buf_putc(args(r), object ? '{' : '[');
	r->s.depth++;
	r->s.object = object ? r->s.object | level(r) : r->s.object & ~level(r);
	r->s.some &= ~level(r);
	r->s.expect = object ? EXPECT_KEY : EXPECT_VALUE;
	r->base = ++r->at;
}

void reply_loose_begin(struct infer_reply *r)
{
	r->s.depth = 0;
	down(r, 1);
}

/* The rest is content; close the arguments parsed so far. */
static void broken(struct infer_reply *r)
{
	if (r->s.expect == EXPECT_COLON)
		buf_puts(args(r), ": null");
	else if (r->s.expect == EXPECT_VALUE && in_object(r))
		buf_puts(args(r), "null");
	r->at = r->base;
	r->s.broken = 1;
	while (r->s.depth)
		up(r);
}

static void comma(struct infer_reply *r)
{
	if (r->s.some & level(r))
		buf_puts(args(r), ", ");
	r->s.some |= level(r);
}

/* ---- strings ---- */

/* The quote that opens a string at `at`; NULL: none, or (*rc) more is needed to know. */
static const char *quote(const struct infer_reply *r, int *rc)
{
	static const char *const quotes[] = { "\"\"\"", "'''", "\"", "'" };

	*rc = P_NO;
	if (r->s.args == ARGS_GEMMA) {
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

/* A backslash at `at` and the character after it.  Any other stays as it is written. */
static void escape(struct infer_reply *r)
{
	static const char of[] = "nrt\\", is[] = "\n\r\t\\";
	char c = r->in.at[r->at + 1];
	const char *known = c ? strchr(of, c) : NULL;

	if (c == '"' || c == '\'' || known) {
		reply_escape(args(r), r->in.at + r->base, r->at - r->base);
		reply_escape(args(r), known ? &is[known - of] : &c, 1);
		r->base = r->at + 2;
	}
	r->at += 2;
}

static int string_step(struct infer_reply *r)
{
	int escapes = r->s.args == ARGS_PYTHON, rc = P_NO;

	while (r->at < r->in.len && rc == P_NO) {
		char c = r->in.at[r->at];
		if (c == *r->s.quote) {
			rc = reply_literal(r, r->at, r->s.quote);
			r->at += rc == P_NO;
		} else if (c == '\\' && escapes) {
			if (r->at + 1 == r->in.len)
				break;
			escape(r);
		} else {
			r->at++;
		}
	}
	reply_escape(args(r), r->in.at + r->base, r->at - r->base);
	r->base = r->at;
	if (rc != P_OK)
		return 0;
	buf_putc(args(r), '"');
	r->base = r->at += strlen(r->s.quote);
	r->s.quote = NULL;
	r->s.expect = r->s.key ? EXPECT_COLON : EXPECT_NEXT;
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

	for (size_t i = 0; !r->s.key && i < sizeof words / sizeof *words; i++)
		if (strlen(words[i][0]) == n && !memcmp(s, words[i][0], n)) {
			buf_puts(args(r), words[i][1]);
			return;
		}
	if (!r->s.key && is_number(s, n)) {
		buf_put(args(r), s, n);
		return;
	}
	buf_putc(args(r), '"');
	reply_escape(args(r), s, n);
	buf_putc(args(r), '"');
}

static int word_step(struct infer_reply *r)
{
	while (r->at < r->in.len && !reply_space(r->in.at[r->at]) &&
	       !memchr(",:=()[]{}'\"<", r->in.at[r->at], 12))
		r->at++;
	if (r->at - r->base > HEAD_MOST || (r->at < r->in.len && r->at == r->base)) {
		broken(r);
		return 1;
	}
	if (r->at == r->in.len)
		return 0;
	if (r->s.key || !in_object(r))
		comma(r);
	put_word(r, r->in.at + r->base, r->at - r->base);
	r->base = r->at;
	r->s.word = 0;
	r->s.expect = r->s.key ? EXPECT_COLON : EXPECT_NEXT;
	return 1;
}

/* ---- all of it ---- */

/* Start a key or a value. */
static int item(struct infer_reply *r, char c)
{
	int rc;

	r->s.key = r->s.expect == EXPECT_KEY;
	if (!r->s.key && (c == '{' || c == '[' || c == '(')) {
		if (r->s.depth == DEEPEST) {
			broken(r);
			return 1;
		}
		if (!in_object(r))
			comma(r);
		down(r, c == '{');
		return 1;
	}
	r->s.quote = quote(r, &rc);
	if (rc == P_NEED)
		return 0;
	if (!r->s.quote) {
		r->s.word = 1;
		return 1;
	}
	if (r->s.key || !in_object(r))
		comma(r);
	buf_putc(args(r), '"');
	r->base = r->at += strlen(r->s.quote);
	return 1;
}

int reply_loose_step(struct infer_reply *r)
{
	if (r->s.quote)
		return string_step(r);
	if (r->s.word)
		return word_step(r);
	while (r->at < r->in.len && reply_space(r->in.at[r->at]))
		r->at++;
	r->base = r->at;
	if (r->at == r->in.len)
		return 0;
	char c = r->in.at[r->at];
	int e = r->s.expect;
	if ((c == ')' || c == '}' || c == ']') &&
	    (e == EXPECT_NEXT || e == EXPECT_KEY || (e == EXPECT_VALUE && !in_object(r)))) {
		r->base = ++r->at;
		up(r);
	} else if (e == EXPECT_NEXT && c == ',') {
		r->s.expect = in_object(r) ? EXPECT_KEY : EXPECT_VALUE;
		r->base = ++r->at;
	} else if (e == EXPECT_COLON && (c == ':' || c == '=')) {
		buf_puts(args(r), ": ");
		r->s.expect = EXPECT_VALUE;
		r->base = ++r->at;
	} else if (e == EXPECT_KEY || e == EXPECT_VALUE) {
		return item(r, c);
	} else {
		broken(r);
	}
	return 1;
}

int reply_loose_value(struct buf *to, const char *s, size_t n)
{
	struct reply_call call = { 0 };
	struct infer_reply r = { .calls = &call,
		                 .n_calls = 1,
		                 .s = { .what = ARGS_PYTHON, .args = ARGS_PYTHON } };

	if (!n || (*s != '{' && *s != '['))
		return 0;
	buf_init(&r.in, MEM_REPLY);
	buf_init(&call.args, MEM_REPLY);
	buf_put(&r.in, s, n);
	if (!r.in.bad) {
		down(&r, *s == '{');
		while (r.s.what && reply_loose_step(&r))
			;
	}
	int whole = !r.s.what && !r.s.broken && r.at == n;
	if (whole)
		buf_put(to, call.args.at, call.args.len);
	to->bad |= r.in.bad | call.args.bad;
	buf_fini(&r.in);
	buf_fini(&call.args);
	return whole;
}
