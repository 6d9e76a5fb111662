/* infer/job.h - requests as data, independent of the API format and of the program.   floor: job
 *
 * A reader holds the defaults of requests.  infer/api.h reads a JSON body in one of the API
 * formats as a job; a program with a request of its own fills a job by hand.  infer/runner.h runs
 * jobs on an engine. */
#ifndef INFER_JOB_H
#define INFER_JOB_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/adapters.h>
#include <infer/chat.h>
#include <infer/engine.h>
#include <infer/grammar.h>
#include <infer/model.h>
#include <infer/reply.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Sequence breakers of the DRY sampler: for each text, the tokens that contain it, and the
 * sequence of tokens that encodes it.  Immutable. */
typedef struct infer_breakers infer_breakers;
/* Create breakers. texts [n]; n 0: nothing ends a match.  *out borrows nothing.  O(vocabulary).
 * INFER_EINVAL  a text is empty; INFER_ENOMEM */
int infer_breakers_new(infer_breakers **out, const infer_tokenizer *t,
                       const struct infer_str *texts, size_t n, infer_error *err);
/* Set the fields dry_breakers of *o; borrowed from b. */
void infer_breakers_use(const infer_breakers *b, struct infer_sample_opts *o);
void infer_breakers_free(infer_breakers *b);

/* ---- errors of a request ---- */

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
	const char *param; /* the field at fault, or NULL; borrowed from its job, or static */
	int kind;          /* enum infer_fault_kind */
	/* TOO_LONG: tokens of the prompt, size of the context; n_ctx 0: not reported */
	int64_t n_prompt, n_ctx;
};
/* INVALID for EINVAL, EFORMAT, EUNSUP and EEMPTY; BUSY for EAGAIN; else SERVER. */
int infer_fault_kind(int code);
int infer_fault_status(int kind); /* the HTTP status; 200 for NONE */

/* ---- readers ---- */

/* The values of fields that a request leaves out; borrowed while the reader and its jobs live. */
struct infer_job_opts {
	const infer_model *model;
	int32_t ctx; /* size of the engine's context; 0: unknown, so prompts cannot be truncated */
	/* seed: a request without one gets the upper 53 bits of hash64(sample.seed, id), or, with
	 * SEEDED, sample.seed */
	struct infer_sample_opts sample;
	const struct infer_str *breaker_texts;
	size_t n_breaker_texts;
	const struct infer_str *stop;
	int32_t n_stop;
	const int32_t *stop_tokens;
	int32_t n_stop_tokens;
	int32_t max_tokens;   /* -1: no limit, 0: the prompt only */
	int max_tokens_given; /* 0: text completions have OpenAI's default, 16 */
	int32_t logprobs;     /* -1: none; K: of each token, and of the K most likely ones */
	uint32_t flags;       /* INFER_REQ_IGNORE_EOS */
	uint32_t encode;      /* INFER_ENCODE_SPECIAL: of text prompts that are not conversations */
	const infer_chat *chat;       /* of the model, or NULL: a text prompt is used as it is */
	const infer_chat *chat_tools; /* for requests with tools; NULL: chat */
	/* system, tools, args, think, flags and now; the request has the rest */
	struct infer_conversation conversation;
	int32_t reason_limit; /* default; 1 also switches thinking off, if it may be on or off */
	/* returns conversation.now for a request when it is read; called by any thread.  NULL:
	 * conversation.now for all */
	int64_t (*now)(void);
	int raw, messages_only; /* 1: a prompt alone is a text; raw: of any bytes */
	/* of requests without a constraint; NULL: none.  Its flags and budget are defaults of all */
	infer_grammar *grammar;
	struct infer_grammar_source constraint;
	int calls; /* tool_choice of requests without one: enum infer_calls, and the tool's name */
	const char *calls_name;
	const char *where; /* appended to "... is not supported": " in a batch"; NULL: nothing */
	int embed;         /* enum infer_embed of embeddings; NONE: that of infer_embed_of */
	int no_normalize;  /* 1: embeddings are not normalised unless the request says so */
	uint32_t reads;    /* INFER_JOB_STREAM | _LENIENT | _KEEP | _EMBED | _SEEDED */
	const infer_adapters *adapters; /* that requests can choose; NULL: none */
};
enum {
	INFER_JOB_STREAM = 1 << 0,  /* stream and stream_options are accepted */
	INFER_JOB_LENIENT = 1 << 1, /* unknown fields are ignored, as servers do */
	INFER_JOB_KEEP = 1 << 2,    /* jobs keep their request: infer_job.asked */
	INFER_JOB_EMBED = 1 << 3,   /* requests in our own format ask for embeddings */
	INFER_JOB_SEEDED = 1 << 4,  /* requests without a seed have sample.seed */
};

typedef struct infer_job_reader infer_job_reader; /* Immutable; must outlive its jobs */
/* Create a reader.  O(vocabulary).
 * INFER_EINVAL  a text of breaker_texts is empty; INFER_ENOMEM */
int infer_job_reader_new(infer_job_reader **out, const struct infer_job_opts *o, infer_error *err);
void infer_job_reader_free(infer_job_reader *r);

/* ---- jobs ---- */

/* Set *embed to the pooling type of the model's file (enum infer_embed), or to the default: RANK
 * if the model has a head for scores, MEAN otherwise.
 * INFER_EUNSUP  an unknown pooling type; INFER_EFORMAT  the key is not a number */
int infer_embed_of(int *embed, const infer_model *m, infer_error *err);

enum { INFER_JOB_MOST = 128, INFER_JOB_PRIORITY = 1000000 }; /* samples of a prompt; priority */
typedef struct infer_api infer_api;                          /* infer/api.h */
struct json;                                                 /* a parsed JSON value; internal */

/* One of several prompts of a request. */
struct infer_prompt {
	const int32_t *ids;
	size_t n, second;      /* second: as in infer_request */
	struct infer_str text; /* `echo`: the text before the answer; ranking: the document */
};

/* A request; if it could not be read, a fault.  Immutable after reading.  To fill one by hand: {0},
 * then set n, request.prompt, request.n_prompt and logprobs. */
typedef struct infer_job {
	/* of the request, and of the answer; NULL: a line of a batch whose id cannot be read */
	const char *id;
	const infer_api *api; /* the format of the answer; NULL: our own */
	struct infer_fault fault;
	struct infer_request request; /* of sample 0; `user` belongs to the runner */
	/* the source of request.grammar; NULL: a grammar of calls, or none */
	const struct infer_grammar_source *constraint;
	const char *const *lora_names, *adapter; /* of request.loras; that `model` names, or NULL */
	int calls; /* enum infer_calls, of a conversation with tools */
	const char *calls_name;
	/* samples of all prompts, 1 ... INFER_JOB_MOST; of embeddings, one for each prompt */
	int32_t n;
	/* NULL: only that of `request`; else all, with n / n_prompts samples each, in order */
	const struct infer_prompt *prompts;
	int32_t n_prompts;
	int32_t dimensions; /* most values of an embedding, or best scores, to return; 0: all */
	int no_normalize, base64, returns_documents, as_list; /* as_list: a JSON array */
	int echo, progress; /* the answer begins with the prompt; a stream reports the prefill */
	int32_t logprobs;   /* as in infer_job_opts */
	int32_t prompt_logprobs; /* the same for the prompt, plus 1; 0: none */
	const struct infer_str *breaker_texts, *bad_words; /* bad_words: never generated */
	size_t n_breaker_texts, n_bad_words;
	const infer_chat *chat; /* the template of the prompt; NULL: it is not a conversation */
	struct infer_reply_options reply; /* to parse the answer to a conversation */
	int stream, include_usage;        /* see infer_api_put_delta */
	int32_t slot;                     /* the requested slot of a server, plus 1; 0: any */
	int32_t priority;                 /* requests with lower values run first */
	double timeout_s;                 /* a server cancels the job after this time; 0: never */
	int each_usage, each_timings;     /* every chunk has the usage so far, the timings */
	int tokens;                       /* return_tokens: the answer has its ids */
	int token_ids;                    /* return_token_ids: also those of the prompt */
	int ids_for_texts;                /* tokens are written as "token_id:N" */
	const struct json *body;          /* the parsed body; NULL: none was read */
	int store;              /* /v1/responses: the answer is stored; set by the caller */
	const char *previous;   /* id of the response that it continues, or NULL; likewise */
	struct infer_str asked; /* the request (infer_api_put_request); len 0: not kept */
	/* of a line of a batch (infer/record.h) */
	int id_whole; /* the id was an integer, and is written as one */
	int64_t line; /* from 1; 0: not from a batch */
	int is_other; /* a record of another kind, not a request */
	/* hash of the line without its line end; "": it could not be read completely */
	char request_sha256[65];
} infer_job;

void infer_job_free(infer_job *j); /* a job that the library made */
/* Render the conversation of the job as text: *n bytes and a NUL; infer_chat_free.
 * INFER_EINVAL  the prompt is not a conversation; also fails as infer_chat_render */
int infer_job_render(char **text, size_t *n, const infer_job *j, infer_error *err);
struct infer_prompt infer_job_prompt(const infer_job *j, int32_t i); /* of sample i < n; borrowed */
int32_t infer_job_each(const infer_job *j); /* the number of samples of each prompt */
/* Return the seed of sample i: the request's for the first sample of a prompt, the upper 53 bits of
 * hash64(seed, k) for the k-th after it. */
uint64_t infer_job_seed(const infer_job *j, int32_t i);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
