/* infer-run/prompt.h - make the prompt from options, files and standard input. */
#ifndef INFER_RUN_PROMPT_H
#define INFER_RUN_PROMPT_H
#include "run.h"

#define PROMPT_NO_SPECIAL \
	"--special goes with --raw: in a conversation no text becomes a special token"

/* Read a text that no template is applied to. Initialises *text; the caller calls buf_fini, on failure too.
 * Errors: those of input_read. */
int prompt_read(struct buf *text, const struct run_opts *o, const struct opt_rest *rest,
                const struct input_bound *bound, infer_error *err);
/* Tokenise the text of prompt_read; the caller frees *ids with infer_ids_free. */
int prompt_ids(int32_t **ids, size_t *n, const struct run_opts *o, const infer_tokenizer *t,
               const struct buf *text, infer_error *err);

struct prompt {
	struct chat chat; /* the conversation; chat.template is NULL if there is none */
	struct buf words; /* the user's turn, or the whole prompt without a template */
	char *text;       /* the prompt that the model reads; NULL before prompt_render */
	size_t n;         /* bytes of text */
	int is_chat;
	const char *template_of; /* path of the template file; borrowed */
};

/* Read the prompt. It is a conversation if --raw is not given and there is a template, or an option of
 * conversations: without a template these are written as ChatML. The caller calls prompt_fini, on failure
 * too.
 * t: the model's tokenizer
 * INFER_EINVAL  no text, text that is not UTF-8, or --special in a conversation
 * and the errors of chat_take and input_read */
int prompt_take(struct prompt *p, const struct run_opts *o, const struct opt_rest *rest,
                const infer_file *file, const infer_tokenizer *t, const struct input_bound *bound,
                infer_error *err);
void prompt_fini(struct prompt *p);
/* Apply the template: set p->text and p->n. Errors: those of infer_chat_render. */
int prompt_render(struct prompt *p, const infer_tokenizer *t, infer_error *err);
/* Tokenise the prompt; the caller frees *ids with infer_ids_free.
 * INFER_EINVAL  the prompt has no tokens */
int prompt_encode(const struct prompt *p, const struct run_opts *o, const infer_tokenizer *t,
                  int32_t **ids, size_t *n, infer_error *err);
#endif
