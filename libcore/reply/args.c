/* reply/args.c - parsing the arguments of a call incrementally. */
#include "reply/reply.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

/* Steps in addition to the values of enum dialect_args, which denote the arguments themselves. */
enum {
	STEP_MEMBERS = 100 /* the rest of the object around the arguments */,
	STEP_STRING /* arguments within a string */
};
enum { STRING_MOST = 1 << 20 };

static struct reply_call *last(const struct infer_reply *r) { return &r->calls[r->n_calls - 1]; }

static struct reply_call *add(struct infer_reply *r)
{
	if (r->n_calls == r->cap_calls) {
		size_t cap = r->cap_calls ? 2 * r->cap_calls : 4;
		struct reply_call *more = mem_realloc(MEM_REPLY, r->calls, cap, sizeof *more);
		if (!more) {
			r->rc = INFER_ENOMEM;
			return NULL;
		}
		r->calls = more;
		r->cap_calls = cap;
	}
	r->calls[r->n_calls] = (struct reply_call){ 0 };
	buf_init(&r->calls[r->n_calls].id, MEM_REPLY);
	buf_init(&r->calls[r->n_calls].args, MEM_REPLY);
	return &r->calls[r->n_calls++];
}

static void set_id(struct infer_reply *r, size_t at, size_t n)
{
	struct buf *id = &last(r)->id;

	if (n && n <= HEAD_MOST && !id->len && !memchr(r->in.at + at, '\\', n))
		buf_put(id, r->in.at + at, n);
	r->rc = id->bad ? INFER_ENOMEM : r->rc;
}

void reply_args_begin(struct infer_reply *r, const struct reply_mark *m)
{
	struct reply_call *c = add(r);

	r->base = r->solid = r->at = m->end;
	r->part = PART_CONTENT;
	r->thought = 1;
	r->fresh = r->after = 0;
	r->list = m->list;
	if (!c)
		return;
	c->tool = m->tool;
	set_id(r, m->id, m->id_n);
	buf_put(&c->args, r->in.at + m->given, m->given_n);
	r->s = (struct reply_state){ .what = m->args, .args = m->args };
	if (m->in_object) {
		r->s.envelope = 1;
		r->s.what = m->in_object == 2 ? ARGS_JSON : STEP_MEMBERS;
	} else if (m->args == ARGS_PYTHON || m->args == ARGS_GEMMA) {
		reply_loose_begin(r);
	} else if (m->args == ARGS_CODE) {
		buf_puts(&c->args, "{\"code\": \"");
	}
}

void reply_call_end(struct infer_reply *r)
{
	struct reply_call *c = last(r);

	if (!c->args.len)
		buf_puts(&c->args, "{}");
	r->rc = c->args.bad ? INFER_ENOMEM : r->rc;
	c->whole = 1;
	r->s.what = 0;
	r->base = r->solid = r->at;
	r->after = r->trim = 1;
}

/* ---- JSON, as it is written ---- */

static void json_over(struct infer_reply *r)
{
	r->base = r->at;
	r->s.silent = r->s.any = 0;
	if (r->s.envelope)
		r->s.what = STEP_MEMBERS;
	else
		reply_call_end(r);
}

/* Take one byte; 1: the value ends with it, 2: it ends before it. */
static int json_byte(struct reply_state *s, char c)
{
	if (s->string) {
		if (s->escape)
			s->escape = 0;
		else if (c == '\\')
			s->escape = 1;
		else if (c == '"')
			s->string = 0;
		return !s->string && !s->depth;
	}
	if (c == '"') {
		s->string = 1;
	} else if (c == '{' || c == '[') {
		s->depth++;
	} else if (c == '}' || c == ']') {
		if (!s->depth)
			return 2;
		return --s->depth == 0;
	} else if (!s->depth && (c == ',' || c == '<' || reply_space(c))) {
		return 2;
	}
	return 0;
}

static int json_step(struct infer_reply *r)
{
	size_t from = r->at;
	int end = 0;

	if (!r->s.any && r->s.envelope && !r->s.silent && from < r->in.len &&
	    r->in.at[from] == '"') {
		r->s.what = STEP_STRING;
		r->at++;
		return 1;
	}
	while (r->at < r->in.len && !end) {
		end = json_byte(&r->s, r->in.at[r->at]);
		r->at += end != 2;
		r->s.any = 1;
	}
	if (!r->s.silent)
		buf_put(&last(r)->args, r->in.at + from, r->at - from);
	r->base = r->at;
	if (end)
		json_over(r);
	return end != 0;
}

/* Arguments that are JSON within a JSON string; base is at the opening quote. */
static int string_step(struct infer_reply *r)
{
	const struct json *j = NULL;
	struct arena a;

	for (; r->at < r->in.len && r->in.at[r->at] != '"'; r->at++)
		if (r->in.at[r->at] == '\\' && ++r->at >= r->in.len) {
			r->at--;
			return 0;
		}
	if (r->at == r->in.len)
		return 0;
	size_t n = ++r->at - r->base;
	arena_init(&a, MEM_REPLY);
	int rc = n > STRING_MOST ? INFER_EFORMAT
	                         : jread(&j, &a, r->in.at + r->base, n, "arguments", NULL);
	if (rc == INFER_ENOMEM)
		r->rc = rc;
	if (json_is_string(j))
		buf_put(&last(r)->args, json_str(j), json_bytes(j));
	else
		buf_put(&last(r)->args, r->in.at + r->base, n);
	arena_fini(&a);
	json_over(r);
	return 1;
}

/* ---- the other members of the object around them ---- */

static int member(struct infer_reply *r)
{
	size_t p = r->at + 1, key = 0, n = 0, end = 0;
	int rc = reply_member(r, r->at, &p, &key, &n);

	if (rc != P_OK)
		return rc;
	int what = reply_key(r, key, n);
	if (what == KEY_ID && r->in.at[p] == '"') {
		rc = reply_string_end(r, p, HEAD_MOST, &end);
		if (rc == P_OK) {
			set_id(r, p + 1, end - p - 2);
			r->base = r->at = end;
			return P_OK;
		}
		if (rc == P_NEED)
			return rc;
	}
	r->s.silent = what != KEY_ARGUMENTS || last(r)->args.len;
	r->s.what = ARGS_JSON;
	r->base = r->at = p;
	return P_OK;
}

static size_t behind_space(const struct infer_reply *r, size_t p)
{
	while (p < r->in.len && reply_space(r->in.at[p]))
		p++;
	return p;
}

static int members_step(struct infer_reply *r)
{
	r->base = r->at = behind_space(r, r->at);
	if (r->at == r->in.len)
		return 0;
	if (r->in.at[r->at] == ',') {
		int rc = member(r);
		size_t p = behind_space(r, r->at + 1);
		if (rc != P_NO)
			return rc == P_OK;
		/* a trailing comma */
		r->at = p < r->in.len && p - r->at <= HEAD_MOST && r->in.at[p] == '}' ? p : r->at;
	}
	/* otherwise the object is malformed, and the rest is content */
	r->at += r->in.at[r->at] == '}';
	reply_call_end(r);
	return 1;
}

/* ---- code ---- */

static int code_step(struct infer_reply *r)
{
	reply_escape(&last(r)->args, r->in.at + r->at, r->in.len - r->at);
	r->base = r->at = r->in.len;
	return 0;
}

void reply_escape(struct buf *to, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\')
			buf_putc(to, '\\'), buf_putc(to, c);
		else if (c == '\n')
			buf_puts(to, "\\n");
		else if (c < 0x20)
			buf_printf(to, "\\u%04x", c);
		else
			buf_putc(to, c);
	}
}

int reply_args_step(struct infer_reply *r)
{
	switch (r->s.what) {
	case ARGS_JSON:
		return json_step(r);
	case ARGS_TAGS:
		return reply_tags_step(r);
	case ARGS_CODE:
		return code_step(r);
	case STEP_MEMBERS:
		return members_step(r);
	case STEP_STRING:
		return string_step(r);
	default:
		return reply_loose_step(r);
	}
}

void reply_args_end(struct infer_reply *r)
{
	if (r->s.what == ARGS_CODE) { /* only the end of the answer ends it */
		buf_puts(&last(r)->args, "\"}");
		last(r)->whole = 1;
	} else if (r->s.what == ARGS_TAGS) {
		reply_tags_end(r);
	} else if (r->s.what == STEP_STRING) {
		buf_put(&last(r)->args, r->in.at + r->base, r->in.len - r->base);
	} else if (r->s.what != STEP_MEMBERS && !r->s.silent) {
		buf_put(&last(r)->args, r->in.at + r->base, r->in.len - r->base);
	}
}
