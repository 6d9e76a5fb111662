/* infer/request.h - requests as JSON lines, and what their texts become.   floor: record
 *
 * man 5 infer-jsonl defines every field of a request. */
#ifndef INFER_REQUEST_H
#define INFER_REQUEST_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/chat.h>
#include <infer/engine.h>
#include <infer/model.h>
#include <infer/reply.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Texts that end a match of DRY, as token sequences: every token that holds one of them, and the
 * encoding of each that takes several.  Immutable. */
typedef struct infer_breakers infer_breakers;
/* texts: borrowed; n 0: none ends a match.  O(vocabulary).
 * INFER_EINVAL  an empty text
 * INFER_ENOMEM */
int infer_breakers_new(infer_breakers **out, const infer_tokenizer *t,
                       const struct infer_str *texts, size_t n, infer_error *err);
/* The fields of *o that list them; borrowed from b. */
void infer_breakers_use(const infer_breakers *b, struct infer_sample_opts *o);
void infer_breakers_free(infer_breakers *b);

/* What a line that leaves it open gets; everything borrowed while a job is read and lives. */
struct infer_job_opts {
	const infer_model *model;
	struct infer_sample_opts sample; /* without a seed of its own a request takes
	                                      * the upper 53 bits of hash64(sample.seed, id) */
	const struct infer_str *breaker_texts;
	size_t n_breaker_texts;
	const infer_breakers *breakers; /* of these texts */
	const struct infer_str *stop;
	int32_t n_stop;
	const int32_t *stop_tokens;
	int32_t n_stop_tokens;
	int32_t max_tokens;   /* -1: no limit, 0: the prompt only */
	int max_tokens_given; /* else OpenAI's form has 16, as its definition says */
	int32_t logprobs;     /* -1: none; K: the K likeliest too */
	uint32_t flags;       /* INFER_REQ_IGNORE_EOS */
	/* INFER_ENCODE_SPECIAL: parsed in prompts that are text, and no conversation */
	uint32_t encode;
	/* the model's template, or NULL: a prompt that is text is given as it is */
	const infer_chat *chat;
	const infer_chat *chat_tools; /* the one for requests with tools, or NULL: the same */
	int special, special_tools;   /* infer_reply_special of the two */
	/* system, tools, args, think, flags and now; the rest is a request's own */
	struct infer_conversation talk;
	int raw; /* 1: a prompt that is text is no conversation */
};

/* A name for what stands in *o, but the model and the time, and for the numbers of the engine:
 * sha256 in hex.  Where it differs, the same lines get other answers.
 * source: of the template, or NULL.  INFER_ENOMEM */
int infer_job_opts_sha256(char hex[65], const struct infer_job_opts *o, const infer_engine *e,
                          const struct infer_str *source, infer_error *err);

/* OPENAI: {custom_id, method, url, body} for /v1/completions; OPENAI_CHAT: for
 * /v1/chat/completions */
enum infer_job_form { INFER_JOB_OWN, INFER_JOB_OPENAI, INFER_JOB_OPENAI_CHAT };
/* samples of one prompt */
enum { INFER_JOB_MOST = 128 };

/* A line that was read.  A bad one is a job too, whose error says why.  Immutable. */
typedef struct infer_job {
	/* `id`, `custom_id`, else the line's number; NULL: a bad line whose id is not known */
	const char *id;
	int id_whole; /* it was a whole number, and comes back as one */
	int64_t line;
	/* of the line, without what ends it; empty where it could not be read whole */
	char request_sha256[65];
	int form;                     /* enum infer_job_form */
	int is_other;                 /* a record of another kind: nothing is asked */
	infer_error error;            /* code 0: none */
	const char *param;            /* the field at fault, or NULL */
	struct infer_request request; /* sample 0; without prompt where INFER_JOB_ID */
	int32_t n;                    /* samples, 1 ... INFER_JOB_MOST */
	int32_t logprobs;             /* as in infer_job_opts */
	const struct infer_str *breaker_texts;
	size_t n_breaker_texts;
	const infer_chat *chat; /* the template that made the prompt; NULL: it is no conversation */
	struct infer_reply_options reply; /* how its answer is read back, where it is one */
} infer_job;

/* read no more than the id */
enum { INFER_JOB_ID = 1 << 0 };
/* line: JSON text [bytes], borrowed for the call; number: of the line, from 1.
 * INFER_ENOMEM  alone; every fault of the line is in the job */
int infer_job_read(infer_job **out, const char *line, size_t bytes, int64_t number, uint32_t flags,
                   const struct infer_job_opts *o, infer_error *err);
/* A job whose line could not be read whole: it has the error. */
int infer_job_bad(infer_job **out, int64_t number, const infer_error *why, infer_error *err);
void infer_job_free(infer_job *j);
/* The seed of sample i: the request's own for 0, the upper 53 bits of hash64(that, i) of the
 * others. */
uint64_t infer_job_seed(const infer_job *j, int32_t i);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
