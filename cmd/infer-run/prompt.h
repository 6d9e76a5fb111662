/* infer-run/prompt.h - what the options, files and standard input say becomes what the model
 * reads. */
#ifndef INFER_RUN_PROMPT_H
#define INFER_RUN_PROMPT_H
#include "run.h"

#define PROMPT_NO_SPECIAL \
	"--special goes with --raw: in a conversation no text becomes a special token"

/* The text to work on as it is, into *text (initialised here, the caller's to buf_fini, on failure
 * too).  bound: as input_read has it. */
int prompt_read(struct buf *text, const struct run_opts *o, const struct opt_rest *rest,
                const struct input_bound *bound, infer_error *err);
/* Its token ids as the model is to read it (infer_ids_free). */
int prompt_ids(int32_t **ids, size_t *n, const struct run_opts *o, const infer_tokenizer *t,
               const struct buf *text, infer_error *err);

struct prompt {
	struct chat chat; /* where it is a conversation; else without a template */
	struct buf words; /* of the user, or the whole prompt without a template */
	char *text;
	size_t n; /* what the model reads, as text; NULL until prompt_render */
	int is_chat;
	const char *template_of; /* the file that the template is of; borrowed */
};

/* Read it all.  A conversation where there is a template, unless --raw.  On failure too *p is the
 * caller's to prompt_fini.
 * INFER_EINVAL  no text; not UTF-8; an option that does not go with a conversation; and as
 * chat_take, input_read */
int prompt_take(struct prompt *p, const struct run_opts *o, const struct opt_rest *rest,
                const infer_file *file, const struct input_bound *bound, infer_error *err);
void prompt_fini(struct prompt *p);
/* p->text. */
int prompt_render(struct prompt *p, const infer_tokenizer *t, infer_error *err);
/* As token ids (infer_ids_free). */
int prompt_encode(const struct prompt *p, const struct run_opts *o, const infer_tokenizer *t,
                  int32_t **ids, size_t *n, infer_error *err);
#endif
