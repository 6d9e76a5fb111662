/* infer-run/chat/conversation.c - a list of messages, and its file. */
#include "conversation.h"
#include "common/file.h"
#include "base/err.h"

int conversation_init(struct conversation *c, infer_error *err)
{
	return infer_turns_new(&c->turns, err);
}

void conversation_fini(struct conversation *c)
{
	infer_turns_free(c->turns);
	c->turns = NULL;
}

int conversation_parse(struct conversation *out, const char *text, size_t n, const char *what,
                       infer_error *err)
{
	TRY(conversation_init(out, err));
	int rc = infer_turns_read(out->turns, text, n, what, err);

	if (rc)
		conversation_fini(out);
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

/* Append a text from the library to *out and free it. */
static int append_freeing(struct buf *out, char *text, size_t n, infer_error *err)
{
	buf_put(out, text, n);
	infer_chat_free(text);
	return out->bad ? err_set(err, INFER_ENOMEM, "out of memory for the conversation")
	                : INFER_OK;
}

int conversation_print(const struct conversation *c, struct buf *out, infer_error *err)
{
	char *text;
	size_t n;

	TRY(infer_turns_print(c->turns, &text, &n, err));
	return append_freeing(out, text, n, err);
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

size_t conversation_count(const struct conversation *c) { return infer_turns_count(c->turns); }

int conversation_is(const struct conversation *c, size_t i, const char *role)
{
	return infer_turns_is(c->turns, i, role);
}

int conversation_content(const struct conversation *c, size_t i, struct buf *out, infer_error *err)
{
	char *text;
	size_t n;

	TRY(infer_turns_text(c->turns, i, &text, &n, err));
	return append_freeing(out, text, n, err);
}

long conversation_last(const struct conversation *c, const char *role)
{
	return infer_turns_last(c->turns, role);
}

int conversation_add(struct conversation *c, const char *role, const struct buf *text,
                     const struct buf *reasoning, infer_error *err)
{
	const struct infer_str words = { text->at, text->len };
	struct infer_str why = { NULL, 0 };

	if (reasoning)
		why = (struct infer_str){ reasoning->at, reasoning->len };
	return infer_turns_add(c->turns, role, &words, &why, err);
}

void conversation_cut(struct conversation *c, size_t i) { infer_turns_cut(c->turns, i); }

int conversation_system(struct conversation *c, const char *text, infer_error *err)
{
	return infer_turns_system(c->turns, text, err);
}

int conversation_keep(struct conversation *c, infer_error *err)
{
	return infer_turns_keep(c->turns, err);
}

void conversation_undo(struct conversation *c) { infer_turns_undo(c->turns); }
