/* chat/turns.c - a conversation to which turns are appended */
#include "chat/turns.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include "chat/chat.h"

#include <string.h>

int infer_turns_new(infer_turns **out, infer_error *err)
{
	infer_turns *t = mem_zalloc(MEM_CHAT, 1, sizeof *t);

	*out = t;
	if (!t)
		return err_nomem(err);
	arena_init(&t->mem, MEM_CHAT);
	return INFER_OK;
}

void infer_turns_free(infer_turns *t)
{
	if (!t)
		return;
	mem_free(t->at);
	mem_free(t->kept);
	arena_fini(&t->mem);
	mem_free(t);
}

/* Allocate space for n messages. */
static int reserve_turns(infer_turns *t, size_t n, infer_error *err)
{
	size_t cap = t->cap ? t->cap : 8;
	struct json **at;

	while (cap < n)
		cap *= 2;
	if (cap == t->cap)
		return INFER_OK;
	at = mem_realloc(MEM_CHAT, t->at, cap, sizeof *at);
	if (!at)
		return err_nomem(err);
	t->at = at;
	t->cap = cap;
	return INFER_OK;
}

int infer_turns_read(infer_turns *t, const char *json, size_t n, const char *what, infer_error *err)
{
	const char *own = arena_strndup(&t->mem, json, n);
	const struct json *messages;
	infer_error why;

	t->mem.bad = 0;
	if (!own)
		return err_nomem(err);
	TRY(jread(&messages, &t->mem, own, n, what, err));
	messages = chat_messages(messages);
	int rc = chat_check(messages, &why);

	if (rc)
		return err_set(err, rc, "%s: %s", what, why.message);
	TRY(reserve_turns(t, json_count(messages), err));
	t->n = 0;
	for (struct json *m = json_first(messages); m; m = m->next)
		t->at[t->n++] = m;
	return INFER_OK;
}

const struct json *turns_list(struct arena *a, const infer_turns *t)
{
	struct json *all = json_new(a, JSON_ARRAY);

	for (size_t i = 0; all && i < t->n; i++)
		json_append(all, json_share(a, t->at[i]));
	return a->bad ? NULL : all;
}

size_t infer_turns_count(const infer_turns *t) { return t->n; }

int infer_turns_is(const infer_turns *t, size_t i, const char *role)
{
	return i < t->n && json_equals(json_get(t->at[i], "role"), role);
}

long infer_turns_last(const infer_turns *t, const char *role)
{
	for (size_t i = t->n; i--;)
		if (infer_turns_is(t, i, role))
			return (long)i;
	return -1;
}

/* Move the bytes of b to *text, with a NUL. */
static int hand_over(struct buf *b, char **text, size_t *n, infer_error *err)
{
	buf_putc(b, 0);
	*text = b->bad ? NULL : buf_take(b, n);
	buf_fini(b);
	if (!*text)
		return err_nomem(err);
	--*n;
	return INFER_OK;
}

int infer_turns_text(const infer_turns *t, size_t i, char **text, size_t *n, infer_error *err)
{
	const struct json *content = i < t->n ? json_get(t->at[i], "content") : NULL;
	struct buf b;

	buf_init(&b, MEM_CHAT);
	buf_put(&b, json_str(content), json_bytes(content));
	json_each(part, content) {
		const struct json *words = json_get(part, "text");

		buf_put(&b, json_str(words), json_bytes(words));
	}
	return hand_over(&b, text, n, err);
}

int infer_turns_print(const infer_turns *t, char **text, size_t *n, infer_error *err)
{
	struct jwrite w;
	struct buf b;

	buf_init(&b, MEM_CHAT);
	buf_putc(&b, '[');
	for (size_t i = 0; i < t->n; i++) {
		buf_puts(&b, i ? ",\n" : "\n");
		jw_init(&w, &b);
		jw_value(&w, NULL, t->at[i]);
	}
	buf_puts(&b, "\n]\n");
	return hand_over(&b, text, n, err);
}

/* Check that a message could be built and that there is space for it.  A later message may still
 * succeed. */
static int end_message(infer_turns *t, infer_error *err)
{
	int bad = t->mem.bad;

	t->mem.bad = 0;
	return bad ? err_nomem(err) : reserve_turns(t, t->n + 1, err);
}

int infer_turns_add(infer_turns *t, const char *role, const struct infer_str *text,
                    const struct infer_str *reasoning, infer_error *err)
{
	struct json *m = json_new(&t->mem, JSON_OBJECT);

	json_set(m, "role", json_new_str(&t->mem, role));
	if (reasoning && reasoning->len)
		json_set(m, "reasoning_content",
		         json_new_strn(&t->mem, reasoning->at, reasoning->len));
	json_set(m, "content", json_new_strn(&t->mem, text->at, text->len));
	TRY(end_message(t, err));
	t->at[t->n++] = m;
	return INFER_OK;
}

void infer_turns_cut(infer_turns *t, size_t i)
{
	if (i < t->n)
		t->n = i;
}

int infer_turns_system(infer_turns *t, const char *text, infer_error *err)
{
	size_t has = (size_t)infer_turns_is(t, 0, "system");
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

int infer_turns_keep(infer_turns *t, infer_error *err)
{
	struct json **kept = mem_alloc(MEM_CHAT, t->n, sizeof *kept);

	if (!kept)
		return err_nomem(err);
	if (t->n)
		memcpy(kept, t->at, t->n * sizeof *kept);
	mem_free(t->kept);
	t->kept = kept;
	t->n_kept = t->n;
	return INFER_OK;
}

void infer_turns_undo(infer_turns *t)
{
	if (!t->kept)
		return;
	/* the list held as many before, so there is space */
	if (t->n_kept)
		memcpy(t->at, t->kept, t->n_kept * sizeof *t->at);
	t->n = t->n_kept;
	mem_free(t->kept);
	t->kept = NULL;
}
