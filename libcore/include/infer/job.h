/* infer/job.h - requests as data, independent of the wire form and of the program.   floor: job
 *
 * A reader holds what requests may leave open.  It makes a job of a JSON body in one of the wire
 * forms (infer/api.h); programs that ask for themselves fill a job by hand.  infer/runner.h runs
 * jobs on an engine. */
#ifndef INFER_JOB_H
#define INFER_JOB_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/chat.h>
#include <infer/engine.h>
#include <infer/grammar.h>
#include <infer/model.h>
#include <infer/reply.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Texts that end a match of DRY: the tokens that contain one, and its own tokens.  Immutable. */
typedef struct infer_breakers infer_breakers;
/* texts: borrowed; n 0: nothing ends a match.  O(vocabulary).
 * INFER_EINVAL  an empty text INFER_ENOMEM */
int infer_breakers_new(infer_breakers **out, const infer_tokenizer *t,
                       const struct infer_str *texts, size_t n, infer_error *err);
/* Set the fields of *o that list them; borrowed from b. */
void infer_breakers_use(const infer_breakers *b, struct infer_sample_opts *o);
void infer_breakers_free(infer_breakers *b);

/* ---- what went wrong with a request ---- */

/* The class of an error for HTTP interfaces: a status, a type and a code (job/fault_list.h). */
enum infer_fault_kind {
	INFER_FAULT_NONE,
	INFER_FAULT_INVALID,     /* 400: the request itself */
	INFER_FAULT_TOO_LONG,    /* 400: its prompt does not fit the context */
	INFER_FAULT_SCHEMA,      /* 400: a schema that cannot be enforced */
	INFER_FAULT_KEY,         /* 401 */
	INFER_FAULT_FORBIDDEN,   /* 403 */
	INFER_FAULT_NOT_FOUND,   /* 404 */
	INFER_FAULT_MODEL,       /* 404: no such model */
	INFER_FAULT_METHOD,      /* 405 */
	INFER_FAULT_TIMEOUT,     /* 408 */
	INFER_FAULT_TOO_LARGE,   /* 413: its body */
	INFER_FAULT_TARGET,      /* 414: its target is too long */
	INFER_FAULT_MEDIA_TYPE,  /* 415 */
	INFER_FAULT_BUSY,        /* 429: the queue is full */
	INFER_FAULT_HEAD,        /* 431: its head is too long */
	INFER_FAULT_SERVER,      /* 500: not an error of the request */
	INFER_FAULT_OFF,         /* 501: switched off in this process */
	INFER_FAULT_UNAVAILABLE, /* 503: loading or shutting down */
};
struct infer_fault {
	infer_error error; /* code 0: no error */
	const char *param; /* the field at fault, or NULL */
	int kind;          /* enum infer_fault_kind */
	/* TOO_LONG: tokens of the prompt, and of the context; n_ctx 0: not reported */
	int64_t n_prompt, n_ctx;
};
int infer_fault_kind(int code);   /* of an error of the library that has only a code */
int infer_fault_status(int kind); /* the HTTP status */

/* ---- readers ---- */

/* The values for fields that a request leaves out; borrowed while the reader and its jobs live. */
struct infer_job_opts {
	const infer_model *model;
	int32_t ctx; /* of the engine, for requests that may be truncated; 0: none is */
	/* without a seed: the upper 53 bits of hash64(sample.seed, id); SEEDED: sample.seed */
	struct infer_sample_opts sample;
	const struct infer_str *breaker_texts;
	size_t n_breaker_texts;
	const struct infer_str *stop;
	int32_t n_stop;
	const int32_t *stop_tokens;
	int32_t n_stop_tokens;
	int32_t max_tokens;   /* -1: no limit, 0: the prompt only */
	int max_tokens_given; /* if 0, text completions get 16 tokens, as OpenAI defines them */
	int32_t logprobs;     /* -1: none; K: also of the K most likely tokens */
	uint32_t flags;       /* INFER_REQ_IGNORE_EOS */
	/* INFER_ENCODE_SPECIAL: parse control tokens in text prompts that are not conversations */
	uint32_t encode;
	const infer_chat *chat;       /* of the model, or NULL: a text prompt is used as it is */
	const infer_chat *chat_tools; /* for requests with tools; NULL: chat */
	/* system, tools, args, think, flags and now; the request has the rest */
	struct infer_conversation conversation;
	/* conversation.now for each request, asked when it is read; any thread may call it.  NULL:
	 * all have the same */
	int64_t (*now)(void);
	int raw; /* 1: a text prompt is not a conversation */
	/* of requests that have no constraint of their own: compiled, and what of; NULL: none.
	 * The flags and the budget in `constraint` are also those of requests that give none */
	infer_grammar *grammar;
	struct infer_grammar_source constraint;
	/* of requests with tools that say none: enum infer_calls, the name of a tool */
	int calls;
	const char *calls_name;
	/* appended to "... is not supported": " in a batch"; NULL: nothing */
	const char *where;
	int embed;        /* enum infer_embed, of embeddings; NONE: what infer_embed_of says */
	int no_normalize; /* 1: embeddings that say nothing have any length */
	uint32_t reads;   /* INFER_JOB_STREAM | _LENIENT | _KEEP | _EMBED | _SEEDED */
};
enum {
	INFER_JOB_STREAM = 1 << 0,  /* stream and stream_options are accepted */
	INFER_JOB_LENIENT = 1 << 1, /* an unknown field is ignored, as servers do */
	INFER_JOB_KEEP = 1 << 2,    /* jobs keep their request: infer_job.asked */
	INFER_JOB_EMBED = 1 << 3,   /* requests in our own form ask for embeddings */
	INFER_JOB_SEEDED = 1 << 4,
};

typedef struct infer_job_reader infer_job_reader; /* immutable: share freely */
/* O(vocabulary).
 * INFER_EINVAL  a breaker that is empty; INFER_ENOMEM */
int infer_job_reader_new(infer_job_reader **out, const struct infer_job_opts *o, infer_error *err);
void infer_job_reader_free(infer_job_reader *r);

/* ---- jobs ---- */

/* The embedding that the model's file names, the mean where it names none.
 * RANK: the model has a head that gives a score.  INFER_EUNSUP: another one; INFER_EFORMAT */
int infer_embed_of(int *embed, const infer_model *m, infer_error *err);

enum { INFER_JOB_MOST = 128 };      /* samples of one prompt */
typedef struct infer_api infer_api; /* infer/api.h */
struct json;                        /* a value of JSON, of the library's own */

/* One of several prompts of a request. */
struct infer_prompt {
	const int32_t *ids;
	size_t n, second;      /* second: of infer_request */
	struct infer_str text; /* what stands in front of the answer with `echo`; a document */
};

/* A request.  If it could not be read, the job has a fault that says why.  Immutable after
 * reading. */
typedef struct infer_job {
	/* the basis of names in the answer; NULL: a bad line of a batch, whose id is unknown */
	const char *id;
	const infer_api *api; /* the form of the answer; NULL: our own */
	struct infer_fault fault;
	struct infer_request request; /* of sample 0; `user` belongs to the runner */
	/* what request.grammar was compiled of; NULL: it was made otherwise, or there is none */
	const struct infer_grammar_source *constraint;
	int calls; /* enum infer_calls, of a conversation with tools */
	const char *calls_name;
	/* samples of all prompts, 1 ... INFER_JOB_MOST; of embeddings, one of each prompt */
	int32_t n;
	/* NULL: that of `request` is the only one; else all of them, with the same number of
	 * samples each: those of the first prompt come first */
	const struct infer_prompt *prompts;
	int32_t n_prompts;
	int32_t dimensions; /* of embeddings, the first so many; of scores, the best; 0: all */
	int no_normalize, base64, returns_documents, as_list; /* the last: the answer is one */
	int echo, progress; /* the answer begins with the prompt; a stream reports the prefill */
	int32_t logprobs, prompt_logprobs; /* as in infer_job_opts; those of the prompt, plus 1 */
	const struct infer_str *breaker_texts;
	size_t n_breaker_texts;
	const infer_chat *chat; /* the template of the prompt; NULL: it is no conversation */
	struct infer_reply_options reply; /* how its answer is parsed, if it is a conversation */
	int stream, include_usage;        /* requested; see infer_api_put_delta */
	int32_t slot;                     /* of a server, that it asks for, plus 1; 0: any */
	double timeout_s;                 /* a server gives it up after so many seconds; 0: never */
	int each_usage, each_timings;     /* every chunk says the usage so far, the timings */
	/* the ids of the answer are told, where a form has them; the prompt's, too; ids stand for texts */
	int tokens, token_ids, ids_for_texts;
	const struct json *body; /* the fields that were read; NULL: none were */
	struct infer_str asked;  /* the request (infer_api_put_request); len 0: not kept */
	/* of a line of a batch (infer/record.h) */
	int id_whole; /* the id was an integer, and is returned as one */
	int64_t line;
	int is_other; /* a record of another kind, which is not a request */
	/* of the line without its line end; empty if it could not be read whole */
	char request_sha256[65];
} infer_job;

void infer_job_free(infer_job *j); /* one that was read */
/* The text that the template made of its conversation, before it became ids; infer_chat_free.
 * INFER_EINVAL  the prompt is no conversation; and the errors of infer_chat_render */
int infer_job_render(char **text, size_t *n, const infer_job *j, infer_error *err);
/* The prompt of sample i, and how many samples each prompt has. */
struct infer_prompt infer_job_prompt(const infer_job *j, int32_t i);
int32_t infer_job_each(const infer_job *j);
/* The seed of sample i: that of the request for the first sample of a prompt, the upper 53 bits of
 * hash64(seed, k) for the k-th behind it. */
uint64_t infer_job_seed(const infer_job *j, int32_t i);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
