#include "talk.h"
#include "common/file.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include <string.h>

static int no_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for the conversation");
}

void talk_init(struct talk *t)
{
	*t = (struct talk){ 0 };
	arena_init(&t->mem, MEM_BASE);
}

void talk_fini(struct talk *t)
{
	mem_free(t->at);
	arena_fini(&t->mem);
	*t = (struct talk){ 0 };
}

/* Room for `more` messages behind those there are. */
static int reserve(struct talk *t, size_t more, infer_error *err)
{
	size_t cap = t->cap ? t->cap : 8;
	struct json **at;

	while (cap < t->n + more)
		cap *= 2;
	if (cap == t->cap)
		return INFER_OK;
	at = mem_realloc(MEM_BASE, t->at, cap, sizeof *at);
	if (!at)
		return no_memory(err);
	t->at = at;
	t->cap = cap;
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

static int parse(struct talk *out, const char *text, size_t n, const char *what, infer_error *err)
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

int talk_parse(struct talk *out, const char *text, size_t n, const char *what, infer_error *err)
{
	talk_init(out);
	int rc = parse(out, text, n, what, err);

	if (rc)
		talk_fini(out);
	return rc;
}

/* By way of its text, so that nothing is shared. */
int talk_copy(struct talk *out, const struct talk *t, infer_error *err)
{
	struct buf text;

	*out = (struct talk){ 0 };
	buf_init(&text, MEM_BASE);
	int rc = talk_print(t, &text, err);

	if (!rc)
		rc = talk_parse(out, text.at, text.len, "a copy of the conversation", err);
	buf_fini(&text);
	return rc;
}

int talk_load(struct talk *out, const char *path, infer_error *err)
{
	struct buf text;

	*out = (struct talk){ 0 };
	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, TALK_LONGEST, err);

	if (!rc)
		rc = talk_parse(out, text.at ? text.at : "", text.len, path, err);
	buf_fini(&text);
	return rc;
}

int talk_print(const struct talk *t, struct buf *out, infer_error *err)
{
	buf_putc(out, '[');
	for (size_t i = 0; i < t->n; i++) {
		struct jwrite w;

		buf_puts(out, i ? ",\n" : "\n");
		jw_init(&w, out);
		jw_value(&w, NULL, t->at[i]);
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

int talk_is(const struct talk *t, size_t i, const char *role)
{
	return i < t->n && json_equals(json_get(t->at[i], "role"), role);
}

int talk_content(const struct talk *t, size_t i, struct buf *out, infer_error *err)
{
	const struct json *content = json_get(t->at[i], "content");

	buf_put(out, json_str(content), json_bytes(content));
	json_each(part, content) {
		const struct json *text = json_get(part, "text");

		buf_put(out, json_str(text), json_bytes(text));
	}
	return out->bad ? no_memory(err) : INFER_OK;
}

long talk_last(const struct talk *t, const char *role)
{
	for (size_t i = t->n; i--;)
		if (talk_is(t, i, role))
			return (long)i;
	return -1;
}

/* One message was built: that it could be, and that there is room for it.  A later one may fare
 * better. */
static int end_message(struct talk *t, infer_error *err)
{
	int bad = t->mem.bad;

	t->mem.bad = 0;
	return bad ? no_memory(err) : reserve(t, 1, err);
}

static struct json *string(struct talk *t, const struct buf *b)
{
	return json_new_strn(&t->mem, b->at, b->len);
}

int talk_add(struct talk *t, const char *role, const struct buf *text, const struct buf *reasoning,
             infer_error *err)
{
	struct json *m = json_new(&t->mem, JSON_OBJECT);

	json_set(m, "role", json_new_str(&t->mem, role));
	if (reasoning && reasoning->len)
		json_set(m, "reasoning_content", string(t, reasoning));
	json_set(m, "content", string(t, text));
	TRY(end_message(t, err));
	t->at[t->n++] = m;
	return INFER_OK;
}

void talk_cut(struct talk *t, size_t i)
{
	if (i < t->n)
		t->n = i;
}

int talk_system(struct talk *t, const char *text, infer_error *err)
{
	size_t has = (size_t)talk_is(t, 0, "system");
	struct json *m = NULL;

	if (text) {
		m = json_new(&t->mem, JSON_OBJECT);
		json_set(m, "role", json_new_str(&t->mem, "system"));
		json_set(m, "content", json_new_str(&t->mem, text));
		TRY(end_message(t, err));
	}
	if (has && !m)
		memmove(t->at, t->at + 1, --t->n * sizeof *t->at);
	else if (!has && m)
		memmove(t->at + 1, t->at, t->n++ * sizeof *t->at);
	if (m)
		t->at[0] = m;
	return INFER_OK;
}
