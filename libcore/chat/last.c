/* chat/last.c - prompts that end within the assistant's last turn, which the answer continues */
#include "chat/chat.h"
#include "base/err.h"

#include <string.h>

/* The mark is appended to the text of the last turn and searched for in the rendering, as
 * transformers does (continue_final_message).  Its space shows whether the template trims text. */
static const char mark[] = "CONTINUE_FINAL_MESSAGE_TAG ";
enum { MARK = sizeof mark - 1, MARK_TRIMMED = MARK - 1 };

int chat_space(char c) { return c && strchr(" \t\r\n\v\f", c) != NULL; }

/* Return the object with the last text of an assistant's message: the message or its last part;
 * *key: the member with the text.  NULL: the message has tool calls. */
static struct json *words(struct json *m, const char **key)
{
	struct json *content = json_get(m, "content");

	if (!json_equals(json_get(m, "role"), "assistant") || json_count(json_get(m, "tool_calls")))
		return NULL;
	*key = json_is_array(content) ? "text" : "content";
	return json_is_array(content) ? content->last : m;
}

int chat_mark(struct arena *a, const struct json **last, struct json *messages, infer_error *err)
{
	const char *key = "";
	struct json *at = words(messages->last, &key), *text = json_get(at, key);
	struct buf b;

	*last = NULL;
	if (!json_bytes(text))
		return INFER_OK;
	buf_init(&b, MEM_CHAT);
	buf_put(&b, json_str(text), json_bytes(text));
	buf_puts(&b, mark);
	a->bad |= b.bad;
	json_set(at, key, json_new_strn(a, b.at, b.len));
	buf_fini(&b);
	if (a->bad)
		return err_nomem(err);
	*last = text;
	return INFER_OK;
}

int chat_cut(struct buf *text, struct buf *from, const struct json *last, infer_error *err)
{
	const char *s = json_str(last);
	size_t n = json_bytes(last), at = text->len;

	while (n && chat_space(*s))
		s++, n--;
	while (n && chat_space(s[n - 1]))
		n--;
	while (at && (text->len - at < MARK_TRIMMED || memcmp(text->at + at, mark, MARK_TRIMMED)))
		at--;
	if (text->len - at < MARK_TRIMMED || memcmp(text->at + at, mark, MARK_TRIMMED) ||
	    !memmem(text->at, at, s, n))
		return err_set(err, INFER_EUNSUP,
		               "the chat template does not write the assistant's last turn "
		               "unchanged, so it cannot be continued");
	if (text->len - at < MARK || text->at[at + MARK_TRIMMED] != mark[MARK_TRIMMED])
		while (at && chat_space(text->at[at - 1]))
			at--;
	text->len = at;
	if (from->len > at)
		from->len = at;
	return INFER_OK;
}
