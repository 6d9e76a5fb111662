/* api/fields.h (private) - fields of requests: one row per field. */
#ifndef API_FIELDS_H
#define API_FIELDS_H
#include "job/job.h"

/* Read a field that is present and not null.
 * INFER_EINVAL  wrong type, or out of range
 * INFER_EUNSUP  well formed, not supported */
typedef int job_take(struct job *j, const char *key, const struct json *v, infer_error *err);
/* A job that is written as a request. */
struct job_asked {
	const infer_job *j;
	struct infer_sample_opts sample;               /* sampling options of j, resolved */
	const struct infer_conversation *conversation; /* the prompt, or NULL */
	struct chat_values values;                     /* parsed JSON texts of the conversation */
	struct infer_str text;                         /* the prompt; text.at NULL: write its ids */
};
/* Write the field, or nothing if its absence means the same. */
typedef void job_put(struct jwrite *w, const char *key, const struct job_asked *a);
/* A field of a request.  put: NULL in formats that are only read */
struct job_field {
	const char *key;
	job_take *take;
	job_put *put;
};
/* An unsupported field: only null, an empty list or `nothing` (NAN: no value) is accepted. */
struct job_refused {
	const char *key;
	double nothing;
};
/* The fields of a format besides the common ones; each list ends with key NULL. */
struct job_fields {
	const struct job_field *known;
	const struct job_refused *refused;
	int32_t max_tokens; /* used if neither request nor options set it; -1: no limit */
	/* called after the fields are read and before the prompt is; NULL: nothing to do.
	 * *param: the field at fault */
	int (*ready)(struct job *j, const char **param, infer_error *err);
	int has_extras; /* also accept the fields of extras.c */
};

/* ---- read.c ---- */

/* Set defaults, read the fields and the prompt, and check them together: the `read` of most
 * formats.  Returns INFER_OK, or the code of the fault. */
int job_read_fields(struct job *j, const struct json *body, const struct job_fields *f);

/* ---- fields.c ---- */

/* job_pass...: check the type, ignore the value */
job_take job_take_stop, job_take_prompt, job_take_max_tokens, job_take_logprobs, job_take_raw,
	job_take_echo, job_take_timeout, job_pass, job_pass_text, job_pass_bool, job_pass_object;
extern const struct job_field job_common[];
extern const struct job_field job_streamed[]; /* accepted with INFER_JOB_STREAM */
extern const struct job_refused job_refused_common[];
extern const struct job_field job_own[]; /* own.c: fields of our own format */

/* lora.c: write the adapters of a job as the field lora; nothing if it had none to choose from */
job_put job_put_lora;
job_take job_take_lora; /* store the field lora */
/* Set the adapters of the request: those of `lora`, or that `model` names, or that are applied to all
 * requests.  In our own format, `model` must name an adapter or the model.  *param: the field at fault.
 * INFER_EINVAL  one does not exist, or is given twice, or has no valid scale; too many */
int job_choose_adapters(struct job *j, const struct json *body, const char **param,
                        infer_error *err);

/* constraints.c */
job_take job_take_schema, job_take_format;
extern const struct job_field job_constraints[];

/* sampling.c: read a sampling option.  Sets *known to 0 if key is not the name of one. */
int job_sampling(struct job *j, const char *key, const struct json *v, int *known,
                 infer_error *err);
/* The sampling options that are not numbers. */
extern const struct job_field job_sampling_others[];
void job_put_sampling(struct jwrite *w, const struct job_asked *a);

/* conversation.c */
job_take job_take_messages, job_take_tools, job_take_tool_choice, job_take_args, job_take_think,
	job_take_chat_logprobs, job_take_now, job_take_template, job_take_prefill, job_take_effort,
	job_take_reasoning, job_take_thinking_budget;
/* Combine logprobs and top_logprobs of chat completions.  INFER_EINVAL */
int job_chat_end(struct job *j, infer_error *err);

/* extras.c: fields that vLLM's server adds to text and chat completions; the lists end as in struct
 * job_fields */
const struct job_field *job_extras(void);
const struct job_refused *job_refused_extras(void);
/* extras.c: truncate_prompt_tokens, truncation_side; embed.c: truncate, normalize.  Embeddings and
 * ranks have these too. */
job_take job_take_most, job_take_side, job_take_truncate, job_take_normalize;
/* embed.c: read the fields of a request for embeddings or ranks.  other: fields without effect, or
 * NULL.  Returns INFER_OK, or the code of the fault. */
int embed_fields(struct job *j, const struct json *o, const struct job_field *known,
                 const struct job_field *other);
/* embed.c: read a prompt, or a list of prompts; the length of an embedding */
job_take embed_take_inputs, embed_take_dimensions;
/* Check that the job has prompts that the model embeds, and truncate them if requested.  key: the
 * field with the prompts.  Returns INFER_OK, or the code of the fault. */
int embed_end(struct job *j, const char *key);

/* ---- own_write.c ---- */

job_put job_put_kind, job_put_id, job_put_nothing, job_put_prompt, job_put_raw, job_put_messages,
	job_put_tools, job_put_tool_choice, job_put_args, job_put_think, job_put_think_budget,
	job_put_now, job_put_template, job_put_logprobs, job_put_max_tokens, job_put_n,
	job_put_stop, job_put_stop_ids, job_put_ignore_eos, job_put_samplers, job_put_bias,
	job_put_breakers, job_put_bad_words, job_put_seed;
void job_put_fields(struct jwrite *w, const struct job_field *f, const struct job_asked *a);
/* Append the request in our own format.  Sets a->sample, and a->values if a->conversation is set;
 * the caller sets the other members.
 * INFER_EINVAL  a logit bias that a request cannot express; INFER_ENOMEM */
int job_put_request(struct buf *to, struct job_asked *a, infer_error *err);
#endif
