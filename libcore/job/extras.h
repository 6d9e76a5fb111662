/* job/extras.h - fields of text and chat completions that vLLM's server has beside OpenAI's. */
#ifndef JOB_EXTRAS_H
#define JOB_EXTRAS_H
#include <infer/job.h>

struct job;
struct job_field;
struct job_refused;
struct json;

struct extras {
	int32_t most; /* tokens of a prompt that stay, the last or the first; 0: all, -1: what fits */
	int keeps_first, keeps_last; /* what truncation_side says */
	int bare;                    /* nothing is added to a text, as BOS is */
	unsigned char *allowed;      /* of the vocabulary: 1: it may come; NULL: all */
	struct infer_str
		begun; /* of a conversation with echo: the text that its answer continues */
};

/* lists as those of struct job_fields */
const struct job_field *job_extras(void);
const struct job_refused *job_refused_extras(void);
/* Fields that embeddings and ranks have too: truncate_prompt_tokens, truncation_side (extras.c), truncate
 * and normalize (embed.c). */
typedef int extras_take(struct job *j, const char *key, const struct json *v, infer_error *err);
extras_take job_take_most, job_take_side, job_take_truncate, job_take_normalize;
/* Cut a prompt to the length that a field asks for. */
int job_cut_prompt(const struct job *j, struct infer_prompt *p, infer_error *err);
/* When all fields are read.  *param: the field at fault */
int job_extras_end(struct job *j, const char **param, infer_error *err);
#endif
