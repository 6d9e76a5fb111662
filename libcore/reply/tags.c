/* reply/tags.c - arguments as tags: <parameter=NAME>VALUE</parameter>.  A value is JSON where the
 * tool's schema or the tag says so and it is well formed; else it is a string, given while it
 * comes. */
#include "reply/reply.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

enum { EXPECT_PARAM, EXPECT_TEXT, EXPECT_JSON };
/* longer values are strings */
enum { VALUE_MOST = 1 << 20 };

static struct buf *args(const struct infer_reply *r) { return &r->calls[r->n_calls - 1].args; }

static void end(struct infer_reply *r)
{
	if (r->s.any)
		buf_putc(args(r), '}');
	reply_call_end(r);
}

/* If the tags have no type, the schema decides. */
static int kind(struct infer_reply *r, const struct reply_mark *m, int which)
{
	if (r->f->param[1])
		return which ? EXPECT_JSON : EXPECT_TEXT;
	r->s.kinds = chat_tools_value(&r->tools->at[r->calls[r->n_calls - 1].tool],
	                              r->in.at + m->id, m->id_n);
	return r->s.kinds & VALUE_TEXT && !(r->s.kinds & VALUE_NULL) ? EXPECT_TEXT : EXPECT_JSON;
}

static int param(struct infer_reply *r)
{
	struct reply_mark m = { 0 };
	int rc = P_NO, which = 0;

	while (r->at < r->in.len && reply_space(r->in.at[r->at]))
		r->at++;
	r->base = r->at;
	if (r->at == r->in.len)
		return 0;
	for (; which < 2 && r->f->param[which]; which++)
		if ((rc = reply_pattern(r, r->at, r->f->param[which], &m)) != P_NO)
			break;
	if (rc == P_NO) {
		rc = reply_literal(r, r->at, r->f->tags_end);
		if (rc == P_NEED)
			return 0;
		/* otherwise it is malformed, and the rest is content */
		r->at += rc == P_OK ? strlen(r->f->tags_end) : 0;
		end(r);
		return 1;
	}
	if (rc == P_NEED)
		return 0;
	buf_puts(args(r), r->s.any ? ", \"" : "{\"");
	reply_escape(args(r), r->in.at + m.id, m.id_n);
	buf_puts(args(r), "\": ");
	r->s.any = r->s.lead = 1;
	r->s.expect = kind(r, &m, which);
	if (r->s.expect == EXPECT_TEXT)
		buf_putc(args(r), '"');
	r->base = r->at = m.end;
	return 1;
}

/* Move `at` to the tag that ends the value: P_OK; or to a possible beginning of it. */
static int value_end(struct infer_reply *r)
{
	for (;;) {
		const char *q = memchr(r->in.at + r->at, *r->f->param_end, r->in.len - r->at);
		r->at = q ? (size_t)(q - r->in.at) : r->in.len;
		int rc = q ? reply_literal(r, r->at, r->f->param_end) : P_NEED;
		if (rc != P_NO)
			return rc;
		r->at++;
	}
}

static int text(struct infer_reply *r)
{
	int rc = r->at < r->in.len ? value_end(r) : P_NEED;
	size_t to = r->at;

	if (r->s.lead && r->in.len > r->base) {
		r->base += r->f->flags & DIALECT_NEWLINES && r->in.at[r->base] == '\n';
		r->s.lead = 0;
	}
	if (r->f->flags & DIALECT_NEWLINES && to > r->base && r->in.at[to - 1] == '\n')
		to--;
	if (to > r->base) {
		reply_escape(args(r), r->in.at + r->base, to - r->base);
		r->base = to;
	}
	if (rc != P_OK)
		return 0;
	buf_putc(args(r), '"');
	r->base = r->at = r->at + strlen(r->f->param_end);
	r->s.expect = EXPECT_PARAM;
	return 1;
}

static int is_word(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(s, word, n);
}

/* Write the value between from and to: as JSON if it is JSON, with Python's True, False and None
 * too; otherwise as a string. */
static void put_value(struct infer_reply *r, size_t from, size_t to)
{
	static const char *const words[][2] = { { "True", "true" },
		                                { "False", "false" },
		                                { "None", "null" } };
	const char *s = r->in.at + from;
	const struct json *j;
	struct arena a;
	size_t n = to - from;

	while (n && reply_space(*s))
		s++, n--;
	while (n && reply_space(s[n - 1]))
		n--;
	for (size_t i = 0; r->s.kinds & VALUE_JSON && i < sizeof words / sizeof *words; i++)
		if (is_word(s, n, words[i][0])) {
			buf_puts(args(r), words[i][1]);
			return;
		}
	/* a string that may be null */
	int text = r->s.kinds & VALUE_TEXT && !is_word(s, n, "null");
	arena_init(&a, MEM_REPLY);
	int rc = text || n > VALUE_MOST ? INFER_EFORMAT : jread_huge(&j, &a, s, n, "a value", NULL);
	arena_fini(&a);
	if (rc == INFER_ENOMEM)
		r->rc = rc;
	if (rc == INFER_OK) {
		buf_put(args(r), s, n);
	} else if (text || n > VALUE_MOST ||
	           !reply_loose_value(args(r), s, n)) { /* some templates write Python lists */
		buf_putc(args(r), '"');
		reply_escape(args(r), r->in.at + from, to - from);
		buf_putc(args(r), '"');
	}
}

static int json(struct infer_reply *r)
{
	int newlines = r->f->flags & DIALECT_NEWLINES ? 1 : 0,
	    rc = r->at < r->in.len ? value_end(r) : P_NEED;
	size_t from = r->base, to = r->at;

	if (rc != P_OK)
		return 0;
	from += newlines && from < to && r->in.at[from] == '\n';
	to -= newlines && to > from && r->in.at[to - 1] == '\n';
	put_value(r, from, to);
	r->base = r->at = r->at + strlen(r->f->param_end);
	r->s.expect = EXPECT_PARAM;
	return 1;
}

int reply_tags_step(struct infer_reply *r)
{
	return r->s.expect == EXPECT_PARAM  ? param(r)
	       : r->s.expect == EXPECT_TEXT ? text(r)
	                                    : json(r);
}

void reply_tags_end(struct infer_reply *r)
{
	if (r->s.expect == EXPECT_TEXT)
		reply_escape(args(r), r->in.at + r->base, r->in.len - r->base);
	else if (r->s.expect == EXPECT_JSON)
		buf_put(args(r), r->in.at + r->base, r->in.len - r->base);
}
