#include "talk.h"
#include "common/file.h"
#include "base/err.h"
#include "base/jread.h"
#include <string.h>

static int no_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for the conversation");
}

int talk_init(struct talk *t, infer_error *err)
{
	t->messages = json_array();
	return t->messages ? INFER_OK : no_memory(err);
}

void talk_fini(struct talk *t)
{
	json_decref(t->messages);
	t->messages = NULL;
}

int talk_copy(struct talk *out, const struct talk *t, infer_error *err)
{
	out->messages = json_deep_copy(t->messages);
	return out->messages ? INFER_OK : no_memory(err);
}

static int check(const json_t *messages, const char *what, infer_error *err)
{
	if (!json_is_array(messages))
		return err_set(err, INFER_EFORMAT, "%s: not an array of messages", what);
	for (size_t i = 0; i < json_array_size(messages); i++)
		if (!json_is_string(json_object_get(json_array_get(messages, i), "role")))
			return err_set(err, INFER_EFORMAT, "%s: message %zu is not an object with a role", what, i);
	return INFER_OK;
}

int talk_parse(struct talk *out, const char *text, size_t n, const char *what, infer_error *err)
{
	out->messages = NULL;
	TRY(jread(&out->messages, text, n, what, err));
	int rc = check(out->messages, what, err);

	if (rc)
		talk_fini(out);
	return rc;
}

int talk_load(struct talk *out, const char *path, infer_error *err)
{
	struct buf text;

	out->messages = NULL;
	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, TALK_LONGEST, err);

	if (!rc)
		rc = talk_parse(out, text.at ? text.at : "", text.len, path, err);
	buf_fini(&text);
	return rc;
}

static int put(const char *text, size_t n, void *out)
{
	buf_put(out, text, n);
	return ((struct buf *)out)->bad;
}

int talk_print(const struct talk *t, struct buf *out, infer_error *err)
{
	buf_putc(out, '[');
	for (size_t i = 0; i < talk_count(t); i++) {
		buf_puts(out, i ? ",\n" : "\n");
		if (json_dump_callback(json_array_get(t->messages, i), put, out, JSON_COMPACT))
			return no_memory(err);
	}
	buf_puts(out, "\n]\n");
	return out->bad ? no_memory(err) : INFER_OK;
}

int talk_save(const struct talk *t, const char *path, infer_error *err)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = talk_print(t, &text, err);

	if (!rc)
		rc = file_write(path, text.at, text.len, 0666, err);
	buf_fini(&text);
	return rc;
}

size_t talk_count(const struct talk *t) { return json_array_size(t->messages); }

const char *talk_role(const struct talk *t, size_t i)
{
	return json_string_value(json_object_get(json_array_get(t->messages, i), "role"));
}

int talk_content(const struct talk *t, size_t i, struct buf *out, infer_error *err)
{
	const json_t *content = json_object_get(json_array_get(t->messages, i), "content");

	buf_put(out, json_string_value(content), json_string_length(content));
	for (size_t k = 0; k < json_array_size(content); k++) {
		const json_t *text = json_object_get(json_array_get(content, k), "text");

		buf_put(out, json_string_value(text), json_string_length(text));
	}
	return out->bad ? no_memory(err) : INFER_OK;
}

long talk_last(const struct talk *t, const char *role)
{
	for (size_t i = talk_count(t); i--;)
		if (!strcmp(talk_role(t, i), role))
			return (long)i;
	return -1;
}

static json_t *string(const struct buf *b)
{
	return json_stringn(b->at ? b->at : "", b->len);
}

int talk_add(struct talk *t, const char *role, const struct buf *text, const struct buf *reasoning, infer_error *err)
{
	json_t *m = json_object();
	int bad = !m || json_object_set_new(m, "role", json_string(role));

	if (!bad && reasoning && reasoning->len)
		bad = json_object_set_new(m, "reasoning_content", string(reasoning));
	bad = bad || json_object_set_new(m, "content", string(text)) || json_array_append(t->messages, m);
	json_decref(m);
	return bad ? no_memory(err) : INFER_OK;
}

void talk_cut(struct talk *t, size_t i)
{
	for (size_t n = talk_count(t); n > i; n--)
		json_array_remove(t->messages, n - 1);
}

int talk_system(struct talk *t, const char *text, infer_error *err)
{
	int has = talk_count(t) && !strcmp(talk_role(t, 0), "system");
	json_t *m;

	if (!text) {
		if (has)
			json_array_remove(t->messages, 0);
		return INFER_OK;
	}
	m = json_pack("{s:s, s:s}", "role", "system", "content", text);
	if (!m || (has ? json_array_set_new(t->messages, 0, m) : json_array_insert_new(t->messages, 0, m)))
		return no_memory(err);
	return INFER_OK;
}
