/* api/api.h - the row of an API format, and the parts of answers that formats share. */
#ifndef API_API_H
#define API_API_H
#include <infer/api.h>
#include <infer/param.h>
#include "base/buf.h"
#include "base/jwrite.h"

struct job;

struct infer_writer {
	struct buf text;
	struct jwrite w;
};

/* A whole answer to write.  more: writes additional members; NULL: none. */
struct api_answer {
	const struct infer_answer *a;
	void (*more)(struct jwrite *w, const void *user);
	const void *user;
};

enum api_flag {
	API_BEGINS = 1 << 0, /* a stream begins each sample with a chunk of its own */
	API_TALKS = 1 << 1,  /* requests are always conversations */
	API_COUNTS = 1 << 2, /* nothing is generated: the tokens of the prompt are counted */
	API_WHOLE = 1 << 3,  /* answers cannot be streamed */
	API_LISTS = 1 << 4,  /* several samples are written as a JSON array */
	API_LINES = 1 << 5,  /* a stream is JSON lines, not server-sent events */
};

struct job_fields;
/* The row of an API format.  Each put... writes members into the open JSON object. */
struct infer_api {
	const char *name, *path; /* path: of the HTTP endpoint; NULL: none */
	uint32_t flags;
	/* Read the fields of a body into a job.  Returns nonzero on a fault, kept in the job. */
	int (*read)(struct job *j, const struct json *body);
	void (*put)(struct jwrite *w, const struct api_answer *f);
	void (*put_delta)(struct jwrite *w, const struct infer_answer *a,
	                  const struct infer_delta *d);
	void (*put_error)(struct jwrite *w, const struct infer_fault *f);
	/* Append the server-sent events of a delta.  NULL: each delta is one chunk, written by
	 * put_delta; `end`, unless NULL, follows the last chunk */
	void (*put_events)(infer_writer *w, const struct infer_answer *a,
	                   const struct infer_delta *d, struct infer_stream *s);
	void (*put_fault_event)(infer_writer *w, const struct infer_fault *f,
	                        const char *request_id, struct infer_stream *s);
	const char *end;
	/* the fields that `read` accepts; NULL: it does not use job_read_fields */
	const struct job_fields *fields;
	/* Write the answer as a JSON array.  Called with API_LISTS if there are several samples,
	 * without it if the job has as_list.  NULL: `put` writes all samples */
	void (*put_list)(struct jwrite *w, const struct infer_answer *a);
};

/* events.c: begin a server-sent event whose data is an open object; end it.  name NULL: none */
struct jwrite *event_begin(infer_writer *w, const char *name);
void event_end(infer_writer *w);
#define API(x) extern const struct infer_api api_##x;
#include "api/api_list.h"
#undef API
/* ---- read.c ---- */

/* Set the format of a request before its fields are read. */
void job_set_api(struct job *j, const infer_api *api);
/* Read a body in the format j->j.api, under the id j->j.id. */
void job_read_body(struct job *j, const struct json *body);

/* Return the format of a job: our own if j->api is NULL. */
const struct infer_api *api_of(const infer_job *j);

/* ---- parts.c: write a part of an answer ---- */

const char *part_finish(const struct infer_choice *c); /* the value of finish_reason */
/* `id` of the request, as a number if the client gave a number */
void part_id(struct jwrite *w, const infer_job *j);
/* `text`, and `text_b64` if the text is not UTF-8 */
void part_text(struct jwrite *w, const char *text, size_t n);
/* [{id, logprob}] */
void part_top(struct jwrite *w, const char *key, const struct infer_top *top, int32_t n);
/* constraints.c: `constraint`, unless the job has none */
void part_constraint(struct jwrite *w, const infer_job *j);
/* a name: prefix and a hash of the request's id, 16 hexadecimal digits */
void part_name(struct jwrite *w, const char *key, const char *prefix, const infer_job *j);
/* Return the sum of the usage of all samples; a shared prompt counts once. */
struct infer_usage part_total(const struct infer_answer *a);
/* `tool_calls` of sample `index`, in OpenAI's format for messages */
void part_calls(struct jwrite *w, const infer_reply *r, const infer_job *j, int32_t index);
/* the id of call i of sample `index`: the model's, or prefix and a hash of the request's id */
void part_call_id(struct jwrite *w, const char *key, const char *prefix,
                  const struct infer_reply_call *call, const infer_job *j, int32_t index, size_t i);
/* errors.c: the code of a fault in OpenAI's format */
const char *part_code(const struct infer_fault *f);
/* `prompt_progress`: the progress of the prefill of c, and `timings` if the job requests them */
void part_progress(struct jwrite *w, const struct infer_answer *a, const struct infer_choice *c);
/* `timings`, in the format of llama.cpp's server */
void part_timings(struct jwrite *w, const struct infer_usage *u);
/* `arguments` of a call under this key, as an object: {} if they were truncated */
void part_arguments(struct jwrite *w, const char *key, const struct infer_reply_call *call);
/* errors.c: `error`: {type, message} */
void part_anthropic_error(struct jwrite *w, const struct infer_fault *f);
/* `tool_calls` of a chunk: the id, type and name of a call, or more of its arguments */
void part_call_delta(struct jwrite *w, const struct infer_answer *a, const struct infer_delta *d);
/* Set *bytes to the bytes [n] of a token, including control tokens.  Returns 0 on success. */
int part_token_text(const infer_tokenizer *t, int32_t id, const char **bytes, size_t *n);

/* Write sampling options: a number, under its own name; the names of the sampler stages; the logit
 * bias as [token, bias] pairs (nothing if empty); a list of texts.  The bias of a forbidden token
 * is null, or false with PART_NEVER_FALSE. */
enum { PART_NEVER_FALSE = 1 << 0 };
void part_number(struct jwrite *w, const struct infer_sample_param *p,
                 const struct infer_sample_opts *o);
void part_stages(struct jwrite *w, const char *key, const struct infer_sample_opts *o);
void part_bias(struct jwrite *w, const char *key, const struct infer_sample_opts *o,
               uint32_t flags);
void part_texts(struct jwrite *w, const char *key, const struct infer_str *texts, size_t n);

/* Write a name made of a token's id: "token_id:7".  Returns `to`. */
enum { PART_TOKEN_NAME = 24 };
const char *part_token_name(char to[PART_TOKEN_NAME], int32_t id);
/* the log-probability written for an impossible token, as by other servers */
enum { PART_NEVER = -9999 };
/* Return the number of characters of a token in the text: 0 for a control token.  before: the number
 * of characters before it */
size_t part_token_chars(const infer_tokenizer *t, const struct infer_event *ev, size_t before);

/* ---- openai.c: text and chat completions ---- */

/* The differences between text and chat completions. */
struct openai_form {
	const char *prefix, *object, *chunk; /* prefix of ids; `object` of an answer, of a chunk */
	int is_chat; /* chat: chunks have the fingerprint, the whole answer has the prompt's ids */
	/* Write members of a choice: all of sample i, or a delta. */
	void (*put_choice)(struct jwrite *w, const struct infer_answer *a, int32_t i);
	void (*put_part)(struct jwrite *w, const struct infer_answer *a,
	                 const struct infer_delta *d);
	/* True if log-probabilities of these tokens are written. */
	int (*has_logprobs)(const infer_tokenizer *t, const struct infer_event *tokens, size_t n);
	/* offset: number of characters before these tokens */
	void (*put_logprobs)(struct jwrite *w, const struct infer_answer *a,
	                     const struct infer_event *tokens, size_t n, size_t offset);
};
void openai_put(struct jwrite *w, const struct api_answer *f, const struct openai_form *o);
void openai_put_delta(struct jwrite *w, const struct infer_answer *a, const struct infer_delta *d,
                      const struct openai_form *o);
/* ---- embed.c: embeddings ---- */

/* [value, ...] of a sample */
void embed_put_values(struct jwrite *w, const char *key, const struct infer_choice *c);

int embed_read_own(struct job *j, const struct json *body);
void embed_put_own(struct jwrite *w, const struct api_answer *f);
/* `usage` of all prompts, then the members of f->more */
void embed_put_usage(struct jwrite *w, const struct api_answer *f);
/* errors.c */
void openai_put_error(struct jwrite *w, const struct infer_fault *f);
#endif
