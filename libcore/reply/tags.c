/* reply/tags.c - arguments as tags: <parameter=NAME>VALUE</parameter>.  A value is JSON if the tag
 * or the tool's schema requires it and it is well formed.  Otherwise it is a string, delivered as
 * its bytes arrive. */
#include "reply/reply.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

/* longer values are read as strings; longer names have no schema */
enum { VALUE_MOST = 1 << 20, KEY_MOST = 1024 };

static void begin_tags(struct infer_reply *r, const struct reply_mark *m)
{
	(void)m;
	r->s.tags = (struct tag_args){ .state = TAG_PARAM };
}

static void end_call(struct infer_reply *r)
{
	if (r->s.tags.begun)
		buf_putc(reply_args(r), '}');
	reply_call_end(r);
}

/* Return the state for the value of a parameter.  which: index of the tag; if the dialect has one
 * tag, the schema of the parameter decides. */
static enum tag_state value_state(struct infer_reply *r, const char *name, size_t n, int which)
{
	const struct chat_tool *t = &r->tools->at[r->calls[r->n_calls - 1].tool];

	if (r->f->param[1])
		return which ? TAG_JSON : TAG_TEXT;
	r->s.tags.schema = json_getn(t->properties, name, n < KEY_MOST ? n : 0);
	r->s.tags.kinds = chat_tools_value(t, name, n);
	return r->s.tags.kinds & VALUE_TEXT && !(r->s.tags.kinds & VALUE_NULL) ? TAG_TEXT
	                                                                       : TAG_JSON;
}

/* Set the text that ends the value of a parameter. */
static void set_value_end(struct infer_reply *r, const char *name, size_t n)
{
	struct buf *b = &r->value_end;
	const char *named = strchr(r->f->param_end, *DIALECT_IDB);

	buf_clear(b);
	if (named) {
		buf_put(b, r->f->param_end, (size_t)(named - r->f->param_end));
		buf_put(b, name, n);
	}
	buf_puts(b, named ? named + 1 : r->f->param_end);
	buf_putc(b, 0);
	r->rc = b->bad ? INFER_ENOMEM : r->rc;
}

static const char *value_close(const struct infer_reply *r)
{
	return r->s.tags.cdata ? r->f->cdata[1] : r->value_end.at;
}

/* Begin the value after the tag that opens a parameter. */
static void begin_value(struct infer_reply *r, const struct reply_mark *m, int which)
{
	const char *name = r->in.at + m->id;

	buf_puts(reply_args(r), r->s.tags.begun ? ", \"" : "{\"");
	reply_escape(reply_args(r), name, m->id_n);
	buf_puts(reply_args(r), "\": ");
	set_value_end(r, name, m->id_n);
	r->s.tags.begun = r->s.tags.at_start = 1;
	r->s.tags.framed = r->s.tags.cdata = r->s.tags.depth = 0;
	r->s.tags.state = value_state(r, name, m->id_n, which);
	if (r->s.tags.state == TAG_TEXT)
		buf_putc(reply_args(r), '"');
	r->base = r->at = m->end;
}

static int param_step(struct infer_reply *r)
{
	struct reply_mark m = { 0 };
	int rc, which = 0;

	while (r->at < r->in.len && reply_space(r->in.at[r->at]))
		r->at++;
	r->base = r->at;
	if (r->at == r->in.len)
		return 0;
	/* tested before parameters, because a name may begin with "/" */
	int over = reply_literal(r, r->at, r->f->tags_end);

	if (over == P_NEED)
		return 0;
	for (rc = P_NO; over == P_NO && which < 2 && r->f->param[which]; which++)
		if ((rc = reply_pattern(r, r->at, r->f->param[which], &m)) != P_NO)
			break;
	if (rc == P_NEED)
		return 0;
	if (rc == P_OK) {
		begin_value(r, &m, which);
		return 1;
	}
	/* otherwise it is malformed, and the rest is content */
	r->at += over == P_OK ? strlen(r->f->tags_end) : 0;
	end_call(r);
	return 1;
}

/* Skip the bytes before a value that are not part of it.  Returns 0 if more bytes are needed to
 * decide. */
static int skip_start(struct infer_reply *r)
{
	int rc = P_NO;

	if (r->at == r->in.len)
		return r->over;
	if (r->f->cdata[0])
		rc = reply_literal(r, r->at, r->f->cdata[0]);
	if (rc == P_NEED)
		return 0;
	if (rc == P_OK) {
		r->s.tags.cdata = 1;
		r->base = r->at += strlen(r->f->cdata[0]);
	} else if (r->f->flags & DIALECT_NEWLINES && r->in.at[r->at] == '\n') {
		r->s.tags.framed = 1;
		r->base = ++r->at;
	}
	r->s.tags.at_start = 0;
	return 1;
}

/* Move `at` to the tag that ends the value (P_OK), or to its possible beginning (P_NEED). */
static int find_value_end(struct infer_reply *r)
{
	const char *close = value_close(r);

	for (;;) {
		const char *q = memchr(r->in.at + r->at, *close, r->in.len - r->at);
		r->at = q ? (size_t)(q - r->in.at) : r->in.len;
		int rc = q ? reply_literal(r, r->at, close) : P_NEED;
		if (rc != P_NO)
			return rc;
		r->at++;
	}
}

/* Move `at` likewise for a value of nested tags, which ends at the closing tag outside all
 * others. */
static int find_nested_end(struct infer_reply *r)
{
	const char *nest = r->f->nest;
	const size_t k = strlen(nest);

	for (;;) {
		const char *q = memchr(r->in.at + r->at, *nest, r->in.len - r->at);

		r->at = q ? (size_t)(q - r->in.at) : r->in.len;
		int rc = q ? reply_literal(r, r->at, nest) : P_NEED;
		if (rc == P_OK && r->in.len - r->at < k + 2)
			rc = reply_missing(r);
		if (rc == P_NEED)
			return rc;
		if (rc == P_NO || r->in.at[r->at + k] != '<') {
			r->at++;
			continue;
		}
		const int closes = r->in.at[r->at + k + 1] == '/';
		if (closes && !r->s.tags.depth &&
		    (rc = reply_literal(r, r->at, value_close(r))) != P_NO)
			return rc;
		r->s.tags.depth += !closes ? 1 : r->s.tags.depth ? -1 : 0;
		r->at += k + 1;
	}
}

static void end_value(struct infer_reply *r)
{
	r->base = r->at = r->at + strlen(value_close(r));
	r->s.tags.state = TAG_PARAM;
}

static int text_value_step(struct infer_reply *r)
{
	if (r->s.tags.at_start && !skip_start(r))
		return 0;
	int rc = r->at < r->in.len ? find_value_end(r) : P_NEED;
	size_t to = r->at;

	/* the newline may enclose the value */
	if (r->f->flags & DIALECT_NEWLINES && (rc != P_OK || r->s.tags.framed) && to > r->base &&
	    r->in.at[to - 1] == '\n')
		to--;
	if (to > r->base) {
		reply_escape(reply_args(r), r->in.at + r->base, to - r->base);
		r->base = to;
	}
	if (rc != P_OK)
		return 0;
	buf_putc(reply_args(r), '"');
	end_value(r);
	return 1;
}

static int is_literal(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(s, word, n);
}

void reply_scalar(struct infer_reply *r, struct buf *to, int kinds, const char *given,
                  size_t given_n)
{
	static const char *const words[][2] = { { "True", "true" },
		                                { "False", "false" },
		                                { "None", "null" } };
	const char *s = given;
	const struct json *j;
	struct arena a;
	size_t n = given_n;

	while (n && reply_space(*s))
		s++, n--;
	while (n && reply_space(s[n - 1]))
		n--;
	for (size_t i = 0; kinds & VALUE_JSON && i < sizeof words / sizeof *words; i++)
		if (is_literal(s, n, words[i][0])) {
			buf_puts(to, words[i][1]);
			return;
		}
	/* a string that may be null */
	int text = kinds & VALUE_TEXT && !(kinds & VALUE_NULL && is_literal(s, n, "null"));
	arena_init(&a, MEM_REPLY);
	int rc = text || n > VALUE_MOST ? INFER_EFORMAT : jread_huge(&j, &a, s, n, "a value", NULL);
	arena_fini(&a);
	if (rc == INFER_ENOMEM)
		r->rc = rc;
	if (rc == INFER_OK) {
		buf_put(to, s, n);
	} else if (text || n > VALUE_MOST ||
	           !reply_loose_value(to, s, n)) { /* some templates write Python lists */
		buf_putc(to, '"');
		reply_escape(to, given, given_n);
		buf_putc(to, '"');
	}
}

static int json_value_step(struct infer_reply *r)
{
	if (r->s.tags.at_start && !skip_start(r))
		return 0;
	int rc = r->at == r->in.len               ? P_NEED
	         : r->f->nest && !r->s.tags.cdata ? find_nested_end(r)
	                                          : find_value_end(r);
	size_t from = r->base, to = r->at;

	if (rc != P_OK)
		return 0;
	to -= r->s.tags.framed && to > from && r->in.at[to - 1] == '\n';
	if (!r->f->nest || to - from > VALUE_MOST ||
	    !reply_nested(r, reply_args(r), r->in.at + from, to - from))
		reply_scalar(r, reply_args(r), r->s.tags.kinds, r->in.at + from, to - from);
	end_value(r);
	return 1;
}

static int tags_step(struct infer_reply *r)
{
	switch (r->s.tags.state) {
	case TAG_PARAM:
		return param_step(r);
	case TAG_TEXT:
		return text_value_step(r);
	case TAG_JSON:
		break;
	}
	return json_value_step(r);
}

static void end_tags(struct infer_reply *r)
{
	if (r->s.tags.state == TAG_TEXT)
		reply_escape(reply_args(r), r->in.at + r->base, r->in.len - r->base);
	else if (r->s.tags.state == TAG_JSON)
		buf_put(reply_args(r), r->in.at + r->base, r->in.len - r->base);
}

const struct reply_reader reply_tags = { begin_tags, tags_step, end_tags };
