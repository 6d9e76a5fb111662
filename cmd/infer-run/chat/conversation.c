/* infer-run/chat/conversation.c - a list of messages and its file. */
#include "conversation.h"
#include "common/file.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include <string.h>

static int no_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for the conversation");
}

void conversation_init(struct conversation *c)
{
	*c = (struct conversation){ 0 };
	arena_init(&c->mem, MEM_BASE);
}

void conversation_fini(struct conversation *c)
{
	mem_free(c->at);
	arena_fini(&c->mem);
	*c = (struct conversation){ 0 };
}

/* Room for `more` messages behind those there are. */
static int reserve(struct conversation *c, size_t more, infer_error *err)
{
	size_t cap = c->cap ? c->cap : 8;
	struct json **at;

	while (cap < c->n + more)
		cap *= 2;
	if (cap == c->cap)
		return INFER_OK;
	at = mem_realloc(MEM_BASE, c->at, cap, sizeof *at);
	if (!at)
		return no_memory(err);
	c->at = at;
	c->cap = cap;
	return INFER_OK;
}

static int check(const struct json *messages, const char *what, infer_error *err)
{
	size_t i = 0;

	if (!json_is_array(messages))
		return err_set(err, INFER_EFORMAT, "%s: not an array of messages", what);
	json_each(m, messages) {
		if (!json_is_string(json_get(m, "role")))
			return err_set(err, INFER_EFORMAT,
			               "%s: message %zu is not an object with a role", what, i);
		i++;
	}
	return INFER_OK;
}

static int parse(struct conversation *out, const char *text, size_t n, const char *what,
                 infer_error *err)
{
	const char *own = arena_strndup(&out->mem, text, n);
	const struct json *messages;

	if (!own)
		return no_memory(err);
	TRY(jread(&messages, &out->mem, own, n, what, err));
	TRY(check(messages, what, err));
	TRY(reserve(out, messages->n, err));
	for (struct json *m = messages->first; m; m = m->next)
		out->at[out->n++] = m;
	return INFER_OK;
}

int conversation_parse(struct conversation *out, const char *text, size_t n, const char *what,
                       infer_error *err)
{
	conversation_init(out);
	int rc = parse(out, text, n, what, err);

	if (rc)
		conversation_fini(out);
	return rc;
}

/* By way of its text, so that nothing is shared. */
int conversation_copy(struct conversation *out, const struct conversation *c, infer_error *err)
{
	struct buf text;

	*out = (struct conversation){ 0 };
	buf_init(&text, MEM_BASE);
	int rc = conversation_print(c, &text, err);

	if (!rc)
		rc = conversation_parse(out, text.at, text.len, "a copy of the conversation", err);
	buf_fini(&text);
	return rc;
}

int conversation_load(struct conversation *out, const char *path, infer_error *err)
{
	struct buf text;

	*out = (struct conversation){ 0 };
	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, CONVERSATION_LONGEST, err);

	if (!rc)
		rc = conversation_parse(out, text.at ? text.at : "", text.len, path, err);
	buf_fini(&text);
	return rc;
}

int conversation_print(const struct conversation *c, struct buf *out, infer_error *err)
{
	buf_putc(out, '[');
	for (size_t i = 0; i < c->n; i++) {
		struct jwrite w;

		buf_puts(out, i ? ",\n" : "\n");
		jw_init(&w, out);
		jw_value(&w, NULL, c->at[i]);
	}
	buf_puts(out, "\n]\n");
	return out->bad ? no_memory(err) : INFER_OK;
}

int conversation_save(const struct conversation *c, const char *path, infer_error *err)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = conversation_print(c, &text, err);

	if (!rc)
		rc = file_write(path, text.at, text.len, 0666, err);
	buf_fini(&text);
	return rc;
}

int conversation_is(const struct conversation *c, size_t i, const char *role)
{
	return i < c->n && json_equals(json_get(c->at[i], "role"), role);
}

int conversation_content(const struct conversation *c, size_t i, struct buf *out, infer_error *err)
{
	const struct json *content = json_get(c->at[i], "content");

	buf_put(out, json_str(content), json_bytes(content));
	json_each(part, content) {
		const struct json *text = json_get(part, "text");

		buf_put(out, json_str(text), json_bytes(text));
	}
	return out->bad ? no_memory(err) : INFER_OK;
}

long conversation_last(const struct conversation *c, const char *role)
{
	for (size_t i = c->n; i--;)
		if (conversation_is(c, i, role))
			return (long)i;
	return -1;
}

/* One message was built: that it could be, and that there is room for it.  A later one may fare
 * better. */
static int end_message(struct conversation *c, infer_error *err)
{
	int bad = c->mem.bad;

	c->mem.bad = 0;
	return bad ? no_memory(err) : reserve(c, 1, err);
}

static struct json *string(struct conversation *c, const struct buf *b)
{
	return json_new_strn(&c->mem, b->at, b->len);
}

int conversation_add(struct conversation *c, const char *role, const struct buf *text,
                     const struct buf *reasoning, infer_error *err)
{
	struct json *m = json_new(&c->mem, JSON_OBJECT);

	json_set(m, "role", json_new_str(&c->mem, role));
	if (reasoning && reasoning->len)
		json_set(m, "reasoning_content", string(c, reasoning));
	json_set(m, "content", string(c, text));
	TRY(end_message(c, err));
	c->at[c->n++] = m;
	return INFER_OK;
}

void conversation_cut(struct conversation *c, size_t i)
{
	if (i < c->n)
		c->n = i;
}

int conversation_system(struct conversation *c, const char *text, infer_error *err)
{
	size_t has = (size_t)conversation_is(c, 0, "system");
	struct json *m = NULL;

	if (text) {
		m = json_new(&c->mem, JSON_OBJECT);
		json_set(m, "role", json_new_str(&c->mem, "system"));
		json_set(m, "content", json_new_str(&c->mem, text));
		TRY(end_message(c, err));
	}
	if (has && !m)
		memmove(c->at, c->at + 1, --c->n * sizeof *c->at);
	else if (!has && m)
		memmove(c->at + 1, c->at, c->n++ * sizeof *c->at);
	if (m)
		c->at[0] = m;
	return INFER_OK;
}
