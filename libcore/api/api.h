/* api/api.h - one row a wire form, and the parts that forms share. */
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

/* The whole of an answer.  more: what an envelope adds where it belongs in the object, or NULL. */
struct api_answer {
	const struct infer_answer *a;
	void (*more)(struct jwrite *w, const void *user);
	const void *user;
};

enum api_flag {
	API_BEGINS = 1 << 0, /* a stream says where each sample begins */
	API_TALKS = 1 << 1,  /* its requests are conversations, and nothing else */
	API_COUNTS = 1 << 2, /* nothing is generated: the prompt is counted */
	API_WHOLE = 1 << 3,  /* there are no streams */
	API_LISTS = 1 << 4,  /* several answers are a list */
};

struct job_fields;
/* Every put writes members of an object that is open. */
struct infer_api {
	const char *name, *path; /* path NULL: not one of HTTP's */
	uint32_t flags;
	/* Read the fields of a body into a job; returns whether it has a fault. */
	int (*read)(struct job *j, const struct json *body);
	void (*put)(struct jwrite *w, const struct api_answer *f);
	void (*put_delta)(struct jwrite *w, const struct infer_answer *a,
	                  const struct infer_delta *d);
	void (*put_error)(struct jwrite *w, const struct infer_fault *f);
	/* Append the events of a delta, where a stream is not one of chunks, of put_delta; NULL:
	 * `end` is what follows the last chunk, or NULL */
	void (*put_events)(infer_writer *w, const struct infer_answer *a,
	                   const struct infer_delta *d, struct infer_stream *s);
	void (*put_fault_event)(infer_writer *w, const struct infer_fault *f,
	                        const char *request_id, struct infer_stream *s);
	const char *end;
	/* what read knows; NULL: it has a way of its own */
	const struct job_fields *fields;
	/* a whole value where the answer is a list: with API_LISTS of several samples, else as the job
	 * says; NULL: put has all of them */
	void (*put_list)(struct jwrite *w, const struct infer_answer *a);
};

/* events.c: an event between these two is an object that is open.  name: NULL: it has none */
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

/* the form of a job; our own form if it has none */
const struct infer_api *api_of(const infer_job *j);

/* parts.c */
const char *part_finish(const struct infer_choice *c);
/* `id`, a whole number where it was one */
void part_id(struct jwrite *w, const infer_job *j);
/* `text`, and `text_b64` where it is not UTF-8 */
void part_text(struct jwrite *w, const char *text, size_t n);
/* [{id, logprob}] */
void part_top(struct jwrite *w, const char *key, const struct infer_top *top, int32_t n);
/* constraints.c: `constraint`, what constrained the answer, or nothing */
void part_constraint(struct jwrite *w, const infer_job *j);
/* `prefix` and 16 digits made of the request's id, so that the same request gets the same name */
void part_name(struct jwrite *w, const char *key, const char *prefix, const infer_job *j);
/* What all samples took together. */
struct infer_usage part_total(const struct infer_answer *a);
/* Write the calls in OpenAI's form; a client can put them into the messages of its next request. */
void part_calls(struct jwrite *w, const infer_reply *r, const infer_job *j, int32_t index);
/* The id of a call: the model's, or else the prefix and what is made of the request. */
void part_call_id(struct jwrite *w, const char *key, const char *prefix,
                  const struct infer_reply_call *call, const infer_job *j, int32_t index, size_t i);
/* the code of a fault in OpenAI's terms */
const char *part_code(const struct infer_fault *f);
/* `prompt_progress`: how much of the prompt of c is read, and the timings of that, if they are told */
void part_progress(struct jwrite *w, const struct infer_answer *a, const struct infer_choice *c);
/* `timings`, as llama.cpp's server has them */
void part_timings(struct jwrite *w, const struct infer_usage *u);
/* `error`: {type, message} */
void part_anthropic_error(struct jwrite *w, const struct infer_fault *f);
/* One call's members in a chunk: its id, type and name, or more of its arguments. */
void part_call_delta(struct jwrite *w, const struct infer_answer *a, const struct infer_delta *d);
/* 0: the bytes of a token, control tokens too */
int part_token_text(const infer_tokenizer *t, int32_t id, const char **bytes, size_t *n);

/* Sampling options: a number, under its own name; the names of the stages; [token, bias] pairs, or
 * nothing where there are none, with null or false for a token that never comes; texts. */
enum { PART_NEVER_FALSE = 1 << 0 };
void part_number(struct jwrite *w, const struct infer_sample_param *p,
                 const struct infer_sample_opts *o);
void part_stages(struct jwrite *w, const char *key, const struct infer_sample_opts *o);
void part_bias(struct jwrite *w, const char *key, const struct infer_sample_opts *o,
               uint32_t flags);
void part_texts(struct jwrite *w, const char *key, const struct infer_str *texts, size_t n);

/* The form of a token when its text is not wanted: "token_id:7". */
enum { PART_TOKEN_NAME = 24 };
const char *part_token_name(char to[PART_TOKEN_NAME], int32_t id);
/* the value that servers write for an impossible token */
enum { PART_NEVER = -9999 };
/* its characters */
size_t part_token_chars(const infer_tokenizer *t, int32_t id);

/* openai.c: what the two forms of OpenAI share, and what sets them apart */
struct openai_form {
	const char *prefix, *object, *chunk; /* of ids; what an answer and a chunk are called */
	int is_chat; /* chunks have the fingerprint, too; one prompt, of which the answer speaks */
	/* members of a choice: the whole of sample i, or its new part */
	void (*put_choice)(struct jwrite *w, const struct infer_answer *a, int32_t i);
	void (*put_part)(struct jwrite *w, const struct infer_answer *a,
	                 const struct infer_delta *d);
	/* Do these tokens have log-probabilities to show? */
	int (*has_logprobs)(const infer_tokenizer *t, const struct infer_event *tokens, size_t n);
	/* offset: characters of the tokens before */
	void (*put_logprobs)(struct jwrite *w, const struct infer_answer *a,
	                     const struct infer_event *tokens, size_t n, size_t offset);
};
void openai_put(struct jwrite *w, const struct api_answer *f, const struct openai_form *o);
void openai_put_delta(struct jwrite *w, const struct infer_answer *a, const struct infer_delta *d,
                      const struct openai_form *o);
/* embed.c: embeddings in our own form */
int embed_read_own(struct job *j, const struct json *body);
void embed_put_own(struct jwrite *w, const struct api_answer *f);
/* the tokens of all prompts, and what the server adds behind them */
void embed_put_usage(struct jwrite *w, const struct api_answer *f);
/* errors.c */
void openai_put_error(struct jwrite *w, const struct infer_fault *f);
#endif
