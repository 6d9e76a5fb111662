/* job/job.h - requests inside: the job that the fields of a body fill. */
#ifndef JOB_JOB_H
#define JOB_JOB_H
#include <infer/job.h>
#include "base/arena.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include "chat/chat.h"
#include "chat/tools.h"
#include "job/extras.h"

struct infer_job_reader {
	struct infer_job_opts o;
	infer_breakers *breakers;   /* of o's texts */
	infer_grammars *grammars;   /* of requests */
	int special, special_tools; /* infer_reply_special of the two templates */
};

struct job {
	struct infer_job j;
	const infer_job_reader *reader;
	const struct infer_job_opts *o; /* the reader's */
	struct arena mem;
	const struct json *json;  /* in mem, as the text that it borrows strings from */
	int32_t *prompt;          /* infer_ids_free */
	infer_breakers *breakers; /* of its own texts */
	const struct json *prompt_value;
	const struct json *messages, *args; /* of a conversation; borrowed from json */
	const char *template_sha256;        /* that it is for; NULL: not given */
	int64_t now;
	int now_given;
	struct infer_conversation conversation; /* that became the prompt, without the two above */
	struct buf asked;                       /* j.asked */
	int tools_given, choice_given;          /* of tools, j.calls */
	struct infer_tools tools;               /* its own; n 0: none */
	int raw, raw_given, think;
	int32_t wants_logprobs, top_logprobs; /* of chat's form; top -1: not given */
	int seeded, stream_options, no_cache, has_gap;
	int prefill, opens; /* continue_final_message, add_generation_prompt; -1: not given */
	int32_t best_of;    /* 0: not given */
	int limit_rank;     /* of the name that max_tokens came by, from 1; 0: none */
	int single; /* at most one call; -1: not given, which is one where calls are required */
	int inline_reasoning, no_thinking, wants_thinking;
	int32_t thinking_budget;
	int counts; /* the prompt is counted, and nothing generated */
	int truncates; /* a conversation that does not fit loses its oldest turns, a text to embed its end */
	int min_logprobs; /* tokens are kept in any case */
	struct extras extras;
	struct fim {
		/* texts around a gap, what fills it so far, and files beside: [{text, filename}] */
		const struct json *before, *behind, *begun, *extra;
	} fim;
	struct {
		const struct json *query, *documents;
	} rank;
	const struct json *instructions; /* that come first, in a field of their own, or NULL */
	const struct json *input;        /* of a form that calls its messages so */
	const struct json *effort;       /* reasoning_effort, or NULL */
	const struct json *allowed;      /* tools of allowed_tools, or NULL */
	struct infer_grammar_source constraint; /* its texts are in mem */
	const char *constraint_key;             /* the field that says it; NULL: none */
	int is_free;                            /* a field says that there is no constraint */
	uint64_t tenant;                        /* whose compiled constraints it may use */
	infer_grammar *grammar;                 /* its own; NULL: none, or the options' */
	/* INFER_ENOMEM is the conversation's: it is longer than a template may write */
	int too_long;
};

/* read.c.  A job without a request in it. */
int job_new(struct job **out, const infer_job_reader *r, infer_error *err);
/* jread, but positions in a text of one line are without it: "what: column 6: ...". */
int job_read_json(const struct json **out, struct arena *a, const char *text, size_t bytes,
                  const char *what, infer_error *err);
/* Parse a copy of text; returns whether there was a fault, which is kept in j. */
int job_parse(struct job *j, const char *text, size_t bytes);
/* Make j->j.fault.error the fault of field `param`, or of none; returns its code. */
int job_fault(struct job *j, const char *param);
/* Report a field with an unknown key of key_n bytes. */
int job_unknown(struct job *j, const char *key, size_t key_n);
/* The body in the form j->j.form, under j->j.id. */
void job_read_body(struct job *j, const struct json *body);
/* When a job is whole: *out, or INFER_ENOMEM where it has no better answer.  Takes j. */
int job_end(infer_job **out, struct job *j, infer_error *err);

/* A field that was found: its value is neither absent nor null.
 * INFER_EINVAL  another type, or out of range
 * INFER_EUNSUP  well formed, not supported */
typedef int job_take(struct job *j, const char *key, const struct json *v, infer_error *err);
/* A job to be written down as a line that asks it again. */
struct job_asked {
	const infer_job *j;
	struct infer_sample_opts sample;               /* of j, resolved */
	const struct infer_conversation *conversation; /* that the prompt was made of, or NULL */
	struct chat_values values;                     /* its texts, read */
	struct infer_str text;                         /* the prompt as text; at NULL: its ids */
};
/* Write the field, or nothing where its absence means the same. */
typedef void job_put(struct jwrite *w, const char *key, const struct job_asked *a);
/* put: NULL in the forms of others, which are read only */
struct job_field {
	const char *key;
	job_take *take;
	job_put *put;
};
/* A field that is known but not supported: accepted only with its neutral value.  NAN: none. */
struct job_refused {
	const char *key;
	double nothing;
};
/* The fields of a form beside those that all have; each list ends with a key that is NULL. */
struct job_fields {
	const struct job_field *known;
	const struct job_refused *refused;
	int32_t max_tokens; /* where neither request nor options say it; -1: no limit */
	/* when the fields are read, and before the prompt is: what they say together.  NULL: nothing.
	 * *param: the field at fault */
	int (*ready)(struct job *j, const char **param, infer_error *err);
	int has_extras; /* the fields of extras.c are known, too */
};
/* For a form's read: defaults, fields, prompt, and what goes together. */
int job_read_fields(struct job *j, const struct json *body, const struct job_fields *f);

/* fields.c */
job_take job_take_stop, job_take_schema, job_take_format, job_take_prompt, job_take_max_tokens,
	job_take_logprobs, job_take_raw, job_take_echo, job_take_timeout, job_pass, job_pass_text,
	job_pass_bool, job_pass_object;
extern const struct job_field job_common[];
extern const struct job_field job_own[];      /* of our own form: own.c */
extern const struct job_field job_streamed[]; /* with INFER_JOB_STREAM */
extern const struct job_refused job_refused_common[];
extern const struct job_field job_constraints[]; /* constrain.c */
/* When all fields and the prompt are read: INFER_EEMPTY and errors of infer_grammars_get.  *param:
 * the field at fault */
int job_constrain_end(struct job *j, const char **param, infer_error *err);
/* prompts.c: one prompt, which is text, ids, both in turn, or an object; whether a value is a list of
 * them: it has no token ids; what a request that is no conversation has */
int job_read_prompt(struct infer_prompt *p, struct job *j, const char *key, const struct json *v,
                    infer_error *err);
int job_is_prompts(const struct json *v);
int job_read_prompts(struct job *j, const char *key, const struct json *v, infer_error *err);
int job_take_bool(int *to, const char *key, const struct json *v, infer_error *err);
/* A token id of the vocabulary, which has `job_vocabulary` of them. */
int job_take_id(int32_t *to, const struct job *j, const char *key, const struct json *v,
                infer_error *err);
int32_t job_vocabulary(const struct job *j);
int job_whole(int32_t *to, const char *key, const struct json *v, int64_t lo, int64_t hi,
              infer_error *err);
/* sampling.c: 0 and *known 0 where key is no name of a sampling option. */
int job_sampling(struct job *j, const char *key, const struct json *v, int *known,
                 infer_error *err);
/* The rows that are no numbers; the last has no key. */
extern const struct job_field job_sampling_others[];
void job_put_sampling(struct jwrite *w, const struct job_asked *a);
int job_sampling_end(struct job *j, infer_error *err); /* when all fields are read */
int job_no_memory(infer_error *err);

/* conversation.c: requests that are conversations */
job_take job_take_messages, job_take_tools, job_take_tool_choice, job_take_args, job_take_think,
	job_take_chat_logprobs;
int job_chat_end(struct job *j, infer_error *err);
/* 1: the prompt is a conversation. */
int job_is_conversation(const struct job *j);
/* Its ids, by a template.  *param: the field at fault, or the one that is the prompt */
int job_conversation(struct job *j, const char **param, infer_error *err);
job_take job_take_now, job_take_template;
/* The ids of j->messages into j->prompt, by the template that was chosen. */
int job_encode(struct job *j, const struct infer_conversation *c, infer_error *err);
/* truncate.c: when they do not fit the context, those of the conversation without its oldest turns. */
int job_truncate(struct job *j, const struct infer_conversation *c, infer_error *err);
/* Another prompt: INFER_EINVAL where a field wants a conversation. */
int job_no_conversation(const struct job *j, const char **param, infer_error *err);

/* fim.c: the prompt of text with a gap.  INFER_EUNSUP: the model has no tokens for it */
int job_read_gap(struct job *j, const struct fim *f, infer_error *err);
/* A salt that no other request has. */
uint64_t job_salt(const struct job *j);

/* talk.c: conversations in the forms of servers */
job_take job_take_prefill, job_take_effort, job_take_reasoning, job_take_thinking_budget,
	job_take_allowed;
int job_check_messages(struct job *j, infer_error *err);
int job_check_tools(const struct json *tools, infer_error *err);
int job_is_name(const struct json *v); /* 1 to 64 letters, digits, _ and - */
int job_allow_tools(struct job *j, infer_error *err);
/* Whether the last turn is continued.  *param: the field at fault */
int job_begin_answer(struct job *j, struct infer_conversation *c, const char **param,
                     infer_error *err);
int job_apply_effort(struct job *j, const struct infer_chat_caps *caps, infer_error *err);

/* ask.c */
job_put job_put_kind, job_put_id, job_put_nothing, job_put_prompt, job_put_raw, job_put_messages,
	job_put_tools, job_put_tool_choice, job_put_args, job_put_think, job_put_now,
	job_put_template, job_put_logprobs, job_put_max_tokens, job_put_n, job_put_stop,
	job_put_stop_ids, job_put_ignore_eos, job_put_samplers, job_put_bias, job_put_breakers,
	job_put_seed;
void job_put_fields(struct jwrite *w, const struct job_field *f, const struct job_asked *a);
/* a: all but `sample`; texts of the conversation are read into `values`.
 * INFER_EINVAL  what no request can say; INFER_ENOMEM */
int job_put_request(struct buf *to, struct job_asked *a, infer_error *err);
#endif
