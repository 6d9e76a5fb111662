/* text/chat_last.c - a conversation whose last turn is the assistant's, to be gone on with. */
#include "text/chat.h"
#include "base/err.h"

#include <string.h>

/* Written behind its words, and looked for in what the template made of them, as transformers does (continue_final_message).
 * The space tells whether the template trims. */
static const char mark[] = "CONTINUE_FINAL_MESSAGE_TAG ";
enum { MARK = sizeof mark - 1, MARK_TRIMMED = MARK - 1 };

static int is_space(char c)
{
	return c && strchr(" \t\r\n\v\f", c) != NULL;
}

/* Where the last words of a message stand: the message, or its last part; *key under which.  NULL: there are none. */
static json_t *words(json_t *m, const char **key)
{
	json_t *content = json_object_get(m, "content");
	const char *role = json_string_value(json_object_get(m, "role"));

	if (!role || strcmp(role, "assistant") || json_array_size(json_object_get(m, "tool_calls")))
		return NULL;
	*key = json_is_array(content) ? "text" : "content";
	return json_is_array(content) ? json_array_get(content, json_array_size(content) - 1) : m;
}

int chat_mark(json_t **last, json_t *messages, infer_error *err)
{
	const char *key = NULL;
	json_t *at = words(json_array_get(messages, json_array_size(messages) - 1), &key), *text = json_object_get(at, key ? key : "");
	struct buf b;

	*last = NULL;
	if (!json_string_length(text))
		return INFER_OK;
	buf_init(&b, MEM_TEXT);
	buf_put(&b, json_string_value(text), json_string_length(text));
	buf_puts(&b, mark);
	json_incref(text);
	if (b.bad || json_object_set_new(at, key, json_stringn(b.at, b.len))) {
		buf_fini(&b);
		json_decref(text);
		return err_set(err, INFER_ENOMEM, "out of memory for a conversation");
	}
	buf_fini(&b);
	*last = text;
	return INFER_OK;
}

int chat_cut(struct buf *text, struct buf *from, const json_t *last, infer_error *err)
{
	const char *s = json_string_value(last);
	size_t n = json_string_length(last), at = text->len;

	while (n && is_space(*s))
		s++, n--;
	while (n && is_space(s[n - 1]))
		n--;
	while (at && (text->len - at < MARK_TRIMMED || memcmp(text->at + at, mark, MARK_TRIMMED)))
		at--;
	if (text->len - at < MARK_TRIMMED || memcmp(text->at + at, mark, MARK_TRIMMED) || !memmem(text->at, at, s, n))
		return err_set(err, INFER_EUNSUP, "the chat template does not write the assistant's last turn as it is, so nothing goes on there");
	if (text->len - at < MARK || text->at[at + MARK_TRIMMED] != mark[MARK_TRIMMED])
		while (at && is_space(text->at[at - 1]))
			at--;
	text->len = at;
	if (from->len > at)
		from->len = at;
	return INFER_OK;
}
