/* reply/args.c - calls, and arguments in JSON and as code; the row of each kind of arguments */
#include "reply/reply.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

enum { STRING_MOST = 1 << 20 };

/* ---- calls ---- */

static struct reply_call *last_call(const struct infer_reply *r)
{
	return &r->calls[r->n_calls - 1];
}

static struct reply_call *add_call(struct infer_reply *r)
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

/* Set the id of the last call, unless it has one or the new id is escaped or too long. */
static void set_call_id(struct infer_reply *r, size_t at, size_t n)
{
	struct buf *id = &last_call(r)->id;

	if (n && n <= HEAD_MOST && !id->len && !memchr(r->in.at + at, '\\', n))
		buf_put(id, r->in.at + at, n);
	r->rc = id->bad ? INFER_ENOMEM : r->rc;
}

void reply_call_end(struct infer_reply *r)
{
	struct reply_call *c = last_call(r);

	if (!c->args.len)
		buf_puts(&c->args, "{}");
	r->rc = c->args.bad ? INFER_ENOMEM : r->rc;
	c->whole = 1;
	r->reader = NULL;
	r->base = r->solid = r->at;
	r->after = r->trim = 1;
}

/* Append the unread bytes to the arguments. */
static void put_rest(struct infer_reply *r)
{
	buf_put(reply_args(r), r->in.at + r->base, r->in.len - r->base);
}

/* ---- JSON, copied as it is written ---- */

static void json_begin(struct infer_reply *r, const struct reply_mark *m)
{
	r->s.json = (struct json_args){
		.state = m->object == OBJECT_MEMBERS ? ARG_MEMBERS : ARG_VALUE,
	};
}

/* Leave a complete value: read the rest of the object around it, or end the call. */
static void end_json_value(struct infer_reply *r)
{
	r->base = r->at;
	r->s.json.skips = r->s.json.begun = 0;
	if (r->enveloped)
		r->s.json.state = ARG_MEMBERS;
	else
		reply_call_end(r);
}

enum json_byte { BYTE_INSIDE, BYTE_LAST, BYTE_AFTER };

/* Read one byte of a value. */
static enum json_byte read_json_byte(struct json_args *s, char c)
{
	switch (s->lexer) {
	case LEX_ESCAPE:
		s->lexer = LEX_STRING;
		return BYTE_INSIDE;
	case LEX_STRING:
		s->lexer = c == '\\' ? LEX_ESCAPE : c == '"' ? LEX_OUTSIDE : LEX_STRING;
		return s->lexer == LEX_OUTSIDE && !s->depth ? BYTE_LAST : BYTE_INSIDE;
	case LEX_OUTSIDE:
		break;
	}
	if (c == '"') {
		s->lexer = LEX_STRING;
	} else if (c == '{' || c == '[') {
		s->depth++;
	} else if (c == '}' || c == ']') {
		if (!s->depth)
			return BYTE_AFTER;
		return --s->depth == 0 ? BYTE_LAST : BYTE_INSIDE;
	} else if (!s->depth && (c == ',' || c == '<' || reply_space(c))) {
		return BYTE_AFTER;
	}
	return BYTE_INSIDE;
}

static int json_value_step(struct infer_reply *r)
{
	struct json_args *s = &r->s.json;
	size_t from = r->at;
	enum json_byte byte = BYTE_INSIDE;

	if (!s->begun && r->enveloped && !s->skips && from < r->in.len && r->in.at[from] == '"') {
		s->state = ARG_STRING;
		r->at++;
		return 1;
	}
	while (r->at < r->in.len && byte == BYTE_INSIDE) {
		byte = read_json_byte(s, r->in.at[r->at]);
		r->at += byte != BYTE_AFTER;
		s->begun = 1;
	}
	if (!s->skips)
		buf_put(reply_args(r), r->in.at + from, r->at - from);
	r->base = r->at;
	if (byte != BYTE_INSIDE)
		end_json_value(r);
	return byte != BYTE_INSIDE;
}

/* Read arguments encoded in a JSON string; base is at the opening quote. */
static int json_string_step(struct infer_reply *r)
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
		buf_put(reply_args(r), json_str(j), json_bytes(j));
	else
		buf_put(reply_args(r), r->in.at + r->base, n);
	arena_fini(&a);
	end_json_value(r);
	return 1;
}

/* Read the comma at `at`, and the key after it. */
static int read_json_member(struct infer_reply *r)
{
	size_t p = r->at + 1, key = 0, n = 0, end = 0;

	NEXT(reply_member(r, r->at, &p, &key, &n));
	enum reply_key what = reply_key(r, key, n);
	if (what == KEY_ID && r->in.at[p] == '"') {
		int rc = reply_string_end(r, p, HEAD_MOST, &end);

		if (rc == P_OK) {
			set_call_id(r, p + 1, end - p - 2);
			r->base = r->at = end;
		}
		if (rc != P_NO)
			return rc;
	}
	r->s.json.skips = what != KEY_ARGUMENTS || reply_args(r)->len;
	r->s.json.state = ARG_VALUE;
	r->base = r->at = p;
	return P_OK;
}

static size_t after_space(const struct infer_reply *r, size_t p)
{
	while (p < r->in.len && reply_space(r->in.at[p]))
		p++;
	return p;
}

static int json_members_step(struct infer_reply *r)
{
	r->base = r->at = after_space(r, r->at);
	if (r->at == r->in.len)
		return 0;
	if (r->in.at[r->at] == ',') {
		int rc = read_json_member(r);
		size_t p = after_space(r, r->at + 1);

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

static int json_step(struct infer_reply *r)
{
	switch (r->s.json.state) {
	case ARG_VALUE:
		return json_value_step(r);
	case ARG_STRING:
		return json_string_step(r);
	case ARG_MEMBERS:
		break;
	}
	return json_members_step(r);
}

static void json_end(struct infer_reply *r)
{
	if (r->s.json.state != ARG_MEMBERS && !r->s.json.skips)
		put_rest(r);
}

static const struct reply_reader reads_json = { json_begin, json_step, json_end };

/* ---- code, up to the end of the answer ---- */

static void code_begin(struct infer_reply *r, const struct reply_mark *m)
{
	(void)m;
	buf_puts(reply_args(r), "{\"code\": \"");
}

static int code_step(struct infer_reply *r)
{
	reply_escape(reply_args(r), r->in.at + r->at, r->in.len - r->at);
	r->base = r->at = r->in.len;
	return 0;
}

static void code_end(struct infer_reply *r)
{
	buf_puts(reply_args(r), "\"}");
	last_call(r)->whole = 1;
}

static const struct reply_reader reads_code = { code_begin, code_step, code_end };

/* ---- all kinds ---- */

void reply_call_begin(struct infer_reply *r, const struct reply_mark *m)
{
	static const struct reply_reader *const readers[] = {
		[ARGS_ENVELOPE] = &reads_json, [ARGS_KEYED] = &reads_json,
		[ARGS_JSON] = &reads_json,     [ARGS_TAGS] = &reply_tags,
		[ARGS_PYTHON] = &reply_loose,  [ARGS_GEMMA] = &reply_loose,
		[ARGS_CODE] = &reads_code,
	};
	struct reply_call *c = add_call(r);

	r->base = r->solid = r->at = m->end;
	r->part = PART_CONTENT;
	r->thought = 1;
	r->fresh = r->after = 0;
	r->list = m->list;
	if (!c)
		return;
	c->tool = m->tool;
	set_call_id(r, m->id, m->id_n);
	buf_put(&c->args, r->in.at + m->given, m->given_n);
	r->args = m->args;
	r->enveloped = m->object != OBJECT_NONE;
	r->reader = r->enveloped ? &reads_json : readers[m->args];
	r->reader->begin(r, m);
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
