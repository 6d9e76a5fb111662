/* reply/mark.c - find the mark at a position of an answer: a tag, or the head of a call */
#include "reply/reply.h"

#include <string.h>

enum { ANY_MOST = 128 };

int reply_missing(const struct infer_reply *r) { return r->over ? P_NO : P_NEED; }

int reply_literal(const struct infer_reply *r, size_t p, const char *s)
{
	size_t n = strlen(s), have = r->in.len - p;

	if (memcmp(r->in.at + p, s, have < n ? have : n) != 0)
		return P_NO;
	return have < n ? reply_missing(r) : P_OK;
}

/* ---- patterns ---- */

static size_t bounded_space(const struct infer_reply *r, size_t start, size_t p)
{
	while (p < r->in.len && reply_space(r->in.at[p]) && p - start <= HEAD_MOST)
		p++;
	return p;
}

static int match_pattern(const struct infer_reply *r, size_t start, size_t p, const char *pattern,
                         struct reply_mark *m);

/* Match the name of a tool and the rest of the pattern. */
static int match_name(const struct infer_reply *r, size_t start, size_t p, const char *rest,
                      struct reply_mark *m)
{
	int found = P_NO;

	for (size_t i = 0; i < r->tools->n; i++) {
		struct reply_mark this = *m;
		int rc = reply_literal(r, p, r->tools->at[i].name);
		if (rc == P_OK)
			rc = match_pattern(r, start, p + r->tools->at[i].len, rest, &this);
		if (rc == P_OK) {
			*m = this;
			m->tool = (int)i;
			return P_OK;
		}
		if (rc == P_NEED)
			found = P_NEED;
	}
	return found;
}

/* Match any text up to the first byte of `rest`. */
static int match_any(const struct infer_reply *r, size_t *p, const char *rest)
{
	size_t from = *p;
	char stop = *rest == *DIALECT_IDE ? rest[1] : *rest;

	while (*p < r->in.len && r->in.at[*p] != stop && r->in.at[*p] != '\n' &&
	       *p - from < ANY_MOST)
		++*p;
	if (*p == r->in.len)
		return reply_missing(r);
	return r->in.at[*p] == stop ? P_OK : P_NO;
}

static int match_pattern(const struct infer_reply *r, size_t start, size_t p, const char *pattern,
                         struct reply_mark *m)
{
	int rc;

	for (; *pattern; pattern++) {
		if (p - start > HEAD_MOST)
			return P_NO;
		if (*pattern == *DIALECT_NAME)
			return match_name(r, start, p, pattern + 1, m);
		if (*pattern == *DIALECT_PEEK) {
			m->end = p;
			return reply_literal(r, p, pattern + 1);
		}
		if (*pattern == *DIALECT_WS) {
			p = bounded_space(r, start, p);
		} else if (*pattern == *DIALECT_IDB) {
			m->id = p;
		} else if (*pattern == *DIALECT_IDE) {
			m->id_n = p - m->id;
		} else if (*pattern == *DIALECT_ANY) {
			rc = match_any(r, &p, pattern + 1);
			if (rc != P_OK)
				return rc;
		} else if (p == r->in.len) {
			return reply_missing(r);
		} else if (r->in.at[p++] != *pattern) {
			return P_NO;
		}
	}
	m->end = p;
	return P_OK;
}

int reply_pattern(const struct infer_reply *r, size_t p, const char *pattern, struct reply_mark *m)
{
	return match_pattern(r, p, p, pattern, m);
}

/* ---- the JSON around a call ---- */

int reply_string_end(const struct infer_reply *r, size_t p, size_t most, size_t *end)
{
	for (size_t i = p + 1; i < r->in.len; i++) {
		if (i - p > most)
			return P_NO;
		if (r->in.at[i] == '"') {
			*end = i + 1;
			return P_OK;
		}
		i += r->in.at[i] == '\\';
	}
	return reply_missing(r);
}

static int match_value(const struct infer_reply *r, size_t start, size_t p, size_t *end)
{
	int depth = 0;

	for (size_t i = p; i < r->in.len; i++) {
		char c = r->in.at[i];
		if (i - start > HEAD_MOST)
			return P_NO;
		if (c == '"') {
			int rc = reply_string_end(r, i, HEAD_MOST, end);
			if (rc != P_OK)
				return rc;
			i = *end - 1;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']' || c == ',' || reply_space(c)) {
			if (!depth) {
				*end = i;
				return i > p ? P_OK : P_NO;
			}
			depth -= c == '}' || c == ']';
		}
		*end = i + 1;
		if (!depth && (c == '"' || c == '}' || c == ']'))
			return P_OK;
	}
	return reply_missing(r);
}

int reply_is(const struct infer_reply *r, size_t p, size_t n, const char *s)
{
	return strlen(s) == n && !memcmp(r->in.at + p, s, n);
}

int reply_tool(const struct infer_reply *r, size_t p, size_t n)
{
	for (size_t i = 0; i < r->tools->n; i++)
		if (r->tools->at[i].len == n && !memcmp(r->tools->at[i].name, r->in.at + p, n))
			return (int)i;
	return -1;
}

int reply_expect(const struct infer_reply *r, size_t start, size_t *p, const char *want)
{
	*p = bounded_space(r, start, *p);
	if (*p - start > HEAD_MOST)
		return P_NO;
	if (*p == r->in.len)
		return reply_missing(r);
	return strchr(want, r->in.at[(*p)++]) && r->in.at[*p - 1] ? P_OK : P_NO;
}

int reply_member(const struct infer_reply *r, size_t start, size_t *p, size_t *key, size_t *n)
{
	size_t end = 0;

	NEXT(reply_expect(r, start, p, "\""));
	*key = *p;
	NEXT(reply_string_end(r, *p - 1, HEAD_MOST, &end));
	*n = end - 1 - *key;
	*p = end;
	NEXT(reply_expect(r, start, p, ":"));
	*p = bounded_space(r, start, *p);
	return *p == r->in.len ? reply_missing(r) : P_OK;
}

enum reply_key reply_key(const struct infer_reply *r, size_t p, size_t n)
{
	if (reply_is(r, p, n, "name") || reply_is(r, p, n, "tool_name"))
		return KEY_NAME;
	if (reply_is(r, p, n, "arguments") || reply_is(r, p, n, "parameters"))
		return KEY_ARGUMENTS;
	return reply_is(r, p, n, "id") || reply_is(r, p, n, "tool_call_id") ? KEY_ID : KEY_OTHER;
}

/* Match the members of an object up to the name of the tool; p is after the brace.
 * keyed: the name is the key of the arguments. */
static int match_members(const struct infer_reply *r, size_t start, size_t p, int keyed,
                         struct reply_mark *m)
{
	size_t key, n, end = 0;

	for (;;) {
		NEXT(reply_member(r, start, &p, &key, &n));
		if (keyed) {
			m->tool = reply_tool(r, key, n);
			m->end = p;
			m->object = OBJECT_ARGUMENTS;
			return m->tool < 0 ? P_NO : P_OK;
		}
		NEXT(match_value(r, start, p, &end));
		enum reply_key what = reply_key(r, key, n);
		int string = r->in.at[p] == '"';
		if (what == KEY_NAME) {
			m->tool = string ? reply_tool(r, p + 1, end - p - 2) : -1;
			m->end = end;
			m->object = OBJECT_MEMBERS;
			return m->tool < 0 ? P_NO : P_OK;
		}
		if (what == KEY_ARGUMENTS) {
			m->given = p;
			m->given_n = end - p;
		} else if (what == KEY_ID && string) {
			m->id = p + 1;
			m->id_n = end - p - 2;
		}
		p = end;
		NEXT(reply_expect(r, start, &p, ","));
	}
}

/* Match the object around a call, or the first one of a list. */
static int match_envelope(const struct infer_reply *r, size_t start, size_t p, int keyed,
                          struct reply_mark *m)
{
	NEXT(reply_expect(r, start, &p, m->list ? "{" : "{["));
	if (r->in.at[p - 1] == '[') {
		m->list = 1;
		NEXT(reply_expect(r, start, &p, "{"));
	}
	return match_members(r, start, p, keyed, m);
}

/* Match the beginning of a Python call, "()" or "(name=": other text in parentheses is not a
 * call. */
static int match_python(const struct infer_reply *r, size_t start, size_t p)
{
	size_t from;

	NEXT(reply_expect(r, start, &p, "("));
	from = p = bounded_space(r, start, p);
	while (p < r->in.len && p - start <= HEAD_MOST && !reply_space(r->in.at[p]) &&
	       !strchr("()[]{},'\"=", r->in.at[p]))
		p++;
	if (p == from)
		return reply_expect(r, start, &p, ")");
	return reply_expect(r, start, &p, "=");
}

/* ---- heads ---- */

static int call_at(const struct infer_reply *r, size_t p, const struct dialect_head *h,
                   struct reply_mark *m)
{
	*m = (struct reply_mark){ .kind = MARK_CALL, .args = h->args };
	NEXT(reply_pattern(r, p, h->as, m));
	switch (h->args) {
	case ARGS_ENVELOPE:
	case ARGS_KEYED:
		return match_envelope(r, p, m->end, h->args == ARGS_KEYED, m);
	case ARGS_PYTHON:
		m->list = 1;
		return match_python(r, p, m->end);
	case ARGS_CODE:
		m->tool = chat_tools_python(r->tools);
		return m->tool < 0 ? P_NO : P_OK;
	case ARGS_JSON:
	case ARGS_TAGS:
	case ARGS_GEMMA:
		break;
	}
	return P_OK;
}

/* Match the next call of a list, or the end of the list. */
static int next_call_at(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	if (r->in.at[p] == ']') {
		*m = (struct reply_mark){ .kind = MARK_AFTER, .end = p + 1 };
		return P_OK;
	}
	if (r->in.at[p] != ',' || r->n_calls == INFER_REPLY_MAX_CALLS)
		return P_NO;
	*m = (struct reply_mark){ .kind = MARK_CALL, .args = r->args, .list = 1 };
	if (r->args != ARGS_PYTHON)
		return match_envelope(r, p, p + 1, r->args == ARGS_KEYED, m);
	NEXT(reply_pattern(r, p, "," DIALECT_WS DIALECT_NAME DIALECT_PEEK "(", m));
	return match_python(r, p, m->end);
}

/* Match the head of a call. */
static int call_head(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	const size_t most = sizeof r->f->head / sizeof *r->f->head;

	if (!r->tools->n || r->n_calls == INFER_REPLY_MAX_CALLS)
		return P_NO;
	for (size_t i = 0; i < most && r->f->head[i].as; i++) {
		if (r->f->head[i].only_first && !r->fresh && !r->after)
			continue;
		int rc = call_at(r, p, &r->f->head[i], m);
		if (rc != P_NO)
			return rc;
	}
	return P_NO;
}

/* Match any of n texts (NULL ends the list), as a mark of this kind. */
static int match_one_of(const struct infer_reply *r, size_t p, const char *const *of, size_t n,
                        enum reply_mark_kind kind, struct reply_mark *m)
{
	for (size_t i = 0; i < n && of[i]; i++) {
		int rc = reply_literal(r, p, of[i]);
		*m = (struct reply_mark){ .kind = kind, .end = p + strlen(of[i]) };
		if (rc != P_NO)
			return rc;
	}
	return P_NO;
}

/* ---- all of it ---- */

static int mark_in_reasoning(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	const char *const closes[] = { r->t->close, r->t->also };
	int rc;

	if (r->f->messages) {
		rc = match_one_of(r, p, r->f->messages->ends, MESSAGE_ENDS, MARK_CLOSE, m);
		return rc == P_NO ? reply_header_at(r, p, m) : rc;
	}
	rc = match_one_of(r, p, closes, 2, MARK_CLOSE, m);
	return rc == P_NO && r->f->flags & DIALECT_ENDS ? call_head(r, p, m) : rc;
}

static int stray_tag(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	const char *const tags[] = { r->t->close, r->t->stray };

	return r->t->flags & DIALECT_AGAIN ? match_one_of(r, p, tags, 2, MARK_DROP, m) : P_NO;
}

/* Match a surplus bracket after a call in JSON, as small models write it. */
static int surplus_bracket(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	*m = (struct reply_mark){ .kind = MARK_AFTER, .end = p + 1 };
	return r->after && r->enveloped && (r->in.at[p] == '}' || r->in.at[p] == ']') ? P_OK : P_NO;
}

/* Match ``` around a JSON value. */
static int fence_at(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	static const char *const opens[] = { "```json", "```" };

	if (!(r->flags & INFER_REPLY_JSON) || r->in.at[p] != '`')
		return P_NO;
	if (r->fresh)
		return match_one_of(r, p, opens, 2, MARK_FENCE, m);
	return r->fence && p && r->in.at[p - 1] == '\n'
	               ? match_one_of(r, p, opens + 1, 1, MARK_DROP, m)
	               : P_NO;
}

/* Match a mark between messages, or in a message with content. */
static int mark_in_messages(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	const struct dialect *f = r->f;
	int rc = match_one_of(r, p, f->messages->ends, MESSAGE_ENDS, MARK_DROP, m);

	if (rc == P_NO)
		rc = reply_header_at(r, p, m);
	if (rc == P_NO && r->after)
		rc = match_one_of(r, p, f->close, sizeof f->close / sizeof *f->close, MARK_AFTER,
		                  m);
	if (rc == P_NO && r->after)
		rc = call_head(r, p, m);
	return rc == P_NO ? fence_at(r, p, m) : rc;
}

int reply_mark_at(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	const struct dialect *f = r->f;
	int rc = P_NO;

	if (r->part != PART_CONTENT)
		return mark_in_reasoning(r, p, m);
	if (r->flags & INFER_REPLY_EITHER && !r->fresh && !r->after && !r->list)
		return P_NO;
	if (f->messages)
		return mark_in_messages(r, p, m);
	if ((r->fresh && !r->thought) || r->t->flags & DIALECT_AGAIN)
		rc = match_one_of(r, p, &r->t->open, 1, MARK_OPEN, m);
	if (rc == P_NO && r->fresh && !r->thought)
		rc = match_one_of(r, p, &r->t->close, 1, MARK_CLOSE, m); /* of empty reasoning */
	if (rc == P_NO && r->cut_short) /* a call ended the reasoning before its tag */
		rc = match_one_of(r, p, &r->t->close, 1, MARK_CLOSE, m);
	if (rc == P_NO)
		rc = call_head(r, p, m);
	if (rc == P_NO && r->after)
		rc = match_one_of(r, p, f->close, sizeof f->close / sizeof *f->close, MARK_AFTER,
		                  m);
	if (rc == P_NO && r->list)
		rc = next_call_at(r, p, m);
	if (rc == P_NO)
		rc = surplus_bracket(r, p, m);
	if (rc == P_NO)
		rc = match_one_of(r, p, f->drop, sizeof f->drop / sizeof *f->drop, MARK_DROP, m);
	if (rc == P_NO)
		rc = stray_tag(r, p, m);
	return rc == P_NO ? fence_at(r, p, m) : rc;
}

int reply_tag_begun(const struct infer_reply *r, size_t p)
{
	static const char special[] =
		DIALECT_WS DIALECT_NAME DIALECT_ANY DIALECT_IDB DIALECT_IDE DIALECT_PEEK;
	const struct dialect *f = r->f;
	struct reply_mark m;

	if (p == r->in.len)
		return 0;
	if (match_one_of(r, p, f->close, sizeof f->close / sizeof *f->close, MARK_AFTER, &m) ==
	    P_NEED)
		return 1;
	for (size_t i = 0; i < sizeof f->head / sizeof *f->head && f->head[i].as; i++)
		if (strcspn(f->head[i].as, special) && call_at(r, p, &f->head[i], &m) == P_NEED)
			return 1;
	return 0;
}
