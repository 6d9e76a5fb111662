/* reply/messages.c - headers of messages: they name a recipient, and perhaps a channel */
#include "reply/reply.h"

#include <string.h>

enum { HEADER_MOST = 256 };
static const char message[] = "<|message|>";

/* Find <|message|>, which ends a header: at most HEADER_MOST bytes on one line. */
static int header_end(const struct infer_reply *r, size_t q, size_t *end)
{
	int rc = P_NO;

	for (*end = q; *end - q < HEADER_MOST && (rc = reply_literal(r, *end, message)) == P_NO;
	     ++*end)
		if (*end == r->in.len || r->in.at[*end] == '\n')
			return *end == r->in.len ? reply_missing(r) : P_NO;
	return rc;
}

/* ---- harmony ---- */

/* Find the last word in a header that `what` precedes.  Returns the word's length, or 0. */
static size_t word_after(const struct infer_reply *r, size_t p, size_t end, const char *what,
                         size_t *at)
{
	size_t n = 0, len = strlen(what);

	for (size_t i = p; i + len <= end; i++) {
		if (memcmp(r->in.at + i, what, len) != 0)
			continue;
		*at = i + len;
		for (n = 0;
		     *at + n < end && !reply_space(r->in.at[*at + n]) && r->in.at[*at + n] != '<';
		     n++)
			;
	}
	return n;
}

/* Match a message to a tool: a call, or the use of a built-in tool, whose text is dropped. */
static int harmony_to(const struct infer_reply *r, size_t p, size_t to, size_t n,
                      struct reply_mark *m)
{
	static const char functions[] = "functions.";
	const size_t len = sizeof functions - 1;

	if (n <= len || memcmp(r->in.at + to, functions, len) != 0) {
		m->kind = MARK_PART;
		m->part = PART_NOBODY;
		return P_OK;
	}
	m->kind = MARK_CALL;
	m->args = ARGS_JSON;
	m->tool = r->n_calls < INFER_REPLY_MAX_CALLS ? reply_tool(r, to + len, n - len) : -1;
	if (m->tool < 0)
		return P_NO;
	NEXT(reply_expect(r, p, &m->end, "{"));
	m->end--;
	return P_OK;
}

/* Match [<|start|>assistant] [to=RECIPIENT] <|channel|>NAME [to=RECIPIENT] [<|constrain|>TYPE]
 * <|message|>, in any order */
static int harmony_at(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	size_t q = p, end, to = 0, channel = 0, n;
	int rc = reply_literal(r, p, r->f->messages->start);

	if (rc == P_OK)
		q += strlen(r->f->messages->start);
	else
		NEXT(rc == P_NEED ? rc : reply_literal(r, p, "<|channel|>"));
	if (q == r->in.len)
		return reply_missing(r);
	if (r->in.at[q] != ' ' && r->in.at[q] != '<')
		return P_NO;
	NEXT(header_end(r, q, &end));
	*m = (struct reply_mark){ .kind = MARK_PART, .end = end + sizeof message - 1 };
	n = word_after(r, q, end, "to=", &to);
	if (n && !reply_is(r, to, n, "assistant") && !reply_is(r, to, n, "user"))
		return harmony_to(r, p, to, n, m);
	n = word_after(r, q, end, "<|channel|>", &channel);
	m->part = reply_is(r, channel, n, "analysis") ? PART_REASONING : PART_CONTENT;
	return P_OK;
}

/* ---- atem: headers name only a recipient ---- */

/* Match START [to=RECIPIENT]<|message|>.  A message to a tool must begin with a call. */
static int recipient_at(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	static const char call[] =
		"<atem:function_calls>" DIALECT_WS "<atem:invoke name=\"" DIALECT_NAME "\">";
	size_t q = p + strlen(r->f->messages->start), end, to = 0, n;

	NEXT(reply_literal(r, p, r->f->messages->start));
	NEXT(header_end(r, q, &end));
	*m = (struct reply_mark){ .kind = MARK_PART,
		                  .end = end + sizeof message - 1,
		                  .part = PART_CONTENT };
	n = word_after(r, q, end, "to=", &to);
	if (n && reply_is(r, to, n, "self"))
		m->part = PART_REASONING;
	if (!n || reply_is(r, to, n, "self") || reply_is(r, to, n, "user"))
		return P_OK;
	if (!r->tools->n || r->n_calls == INFER_REPLY_MAX_CALLS)
		return P_NO;
	m->kind = MARK_CALL;
	m->args = ARGS_TAGS;
	return reply_pattern(r, m->end, call, m);
}

int reply_header_at(const struct infer_reply *r, size_t p, struct reply_mark *m)
{
	return r->f->messages->channels ? harmony_at(r, p, m) : recipient_at(r, p, m);
}
