/* infer-run/prompt.c - make the prompt from options, files and standard input. */
#include "prompt.h"
#include "common/input.h"
#include "base/err.h"

int prompt_read(struct buf *text, const struct run_opts *o, const struct opt_rest *rest,
                const struct input_bound *bound, infer_error *err)
{
	buf_init(text, MEM_BASE);
	return input_read(text, rest, &o->files,
	                  (o->no_stdin ? INPUT_NO_STDIN : 0u) | (o->raw ? INPUT_RAW : 0u), bound,
	                  err);
}

int prompt_ids(int32_t **ids, size_t *n, const struct run_opts *o, const infer_tokenizer *t,
               const struct buf *text, infer_error *err)
{
	return infer_encode(t, text->at ? text->at : "", text->len,
	                    INFER_ENCODE_ADD | (o->special ? INFER_ENCODE_SPECIAL : 0u), ids, n,
	                    err);
}

/* Read the user's turn. It may be empty if there are messages. */
static int read_words(struct prompt *p, const struct run_opts *o, const struct opt_rest *rest,
                      const struct input_bound *bound, infer_error *err)
{
	if (p->chat.from_stdin && input_names_stdin(rest, &o->files))
		return err_set(err, INFER_EINVAL,
		               "-f - and the conversation cannot both be standard input");
	TRY(input_read(&p->words, rest, &o->files,
	               (o->no_stdin || p->chat.from_stdin ? INPUT_NO_STDIN : 0u) |
	                       (p->chat.c.messages ? INPUT_MAYBE : 0u) |
	                       (o->render ? 0u : INPUT_TALK),
	               bound, err));
	if (!p->words.len && !p->chat.c.messages)
		return err_set(err, INFER_EINVAL, "the prompt is empty");
	if (p->words.len) {
		p->chat.c.user = p->words.at;
		p->chat.c.user_n = p->words.len;
	}
	return INFER_OK;
}

int prompt_take(struct prompt *p, const struct run_opts *o, const struct opt_rest *rest,
                const infer_file *file, const infer_tokenizer *t, const struct input_bound *bound,
                infer_error *err)
{
	const char *name;

	*p = (struct prompt){ 0 };
	buf_init(&p->words, MEM_BASE);
	if (!o->raw)
		TRY(chat_take(&p->chat, &o->chat, file, chat_given(&o->chat) ? t : NULL, err));
	if (constrain_calls(&o->constrain, &name) == INFER_CALLS_NONE)
		p->chat.c.tools = NULL;
	chat_apply_budget(&p->chat);
	if (p->chat.c.tools)
		TRY(chat_warn_calls(&p->chat, NULL, err));
	p->is_chat = p->chat.template != NULL;
	p->template_of = o->chat.template ? o->chat.template : infer_file_path(file);
	if (!p->is_chat)
		return prompt_read(&p->words, o, rest, bound, err);
	if (o->special)
		return err_set(err, INFER_EINVAL, PROMPT_NO_SPECIAL);
	return read_words(p, o, rest, bound, err);
}

void prompt_fini(struct prompt *p)
{
	if (p->is_chat)
		infer_chat_free(p->text);
	chat_fini(&p->chat);
	buf_fini(&p->words);
}

int prompt_render(struct prompt *p, const infer_tokenizer *t, infer_error *err)
{
	if (p->is_chat)
		return infer_chat_render(chat_for(&p->chat, p->chat.c.tools != NULL), t, &p->chat.c,
		                         &p->text, NULL, &p->n, err);
	p->text = p->words.at;
	p->n = p->words.len;
	return INFER_OK;
}

int prompt_encode(const struct prompt *p, const struct run_opts *o, const infer_tokenizer *t,
                  int32_t **ids, size_t *n, infer_error *err)
{
	if (p->is_chat) {
		int rc = infer_chat_encode(chat_for(&p->chat, p->chat.c.tools != NULL), t,
		                           &p->chat.c, ids, n, err);

		TRY(chat_named(o->chat.messages, rc, err));
		return *n ? INFER_OK
		          : err_set(err, INFER_EFORMAT, "%s: the chat template writes nothing",
		                    p->template_of);
	}
	TRY(prompt_ids(ids, n, o, t, &p->words, err));
	return *n ? INFER_OK
	          : err_set(err, INFER_EINVAL,
	                    "the prompt is empty, and this model needs a first token");
}
