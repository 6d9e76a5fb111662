/* infer/job.h - requests as data: what is asked, whoever asks and in whatever form.   floor: job
 *
 * A reader holds what requests may leave open.  It makes a job of a JSON body in one of the wire
 * forms (infer/form.h); programs that ask for themselves fill a job by hand.  infer/runner.h runs
 * jobs on an engine. */
#ifndef INFER_JOB_H
#define INFER_JOB_H
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

/* ---- what went wrong with a request ---- */

/* How an interface over HTTP classes it: a status, a type and a code (job/fault_list.h). */
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
	INFER_FAULT_MEDIA_TYPE,  /* 415 */
	INFER_FAULT_BUSY,        /* 429: the queue is full */
	INFER_FAULT_SERVER,      /* 500: not the request's */
	INFER_FAULT_OFF,         /* 501: switched off in this process */
	INFER_FAULT_UNAVAILABLE, /* 503: loading, or about to end */
};
struct infer_fault {
	infer_error error; /* code 0: nothing is wrong */
	const char *param; /* the field at fault, or NULL */
	int kind;          /* enum infer_fault_kind */
	/* of TOO_LONG: tokens of the prompt, and of the context; n_ctx 0: they are not said */
	int64_t n_prompt, n_ctx;
};
/* The kind that follows from a code of the library alone. */
int infer_fault_kind(int code);
/* The status of HTTP. */
int infer_fault_status(int kind);

/* ---- readers ---- */

/* What a request that leaves it open gets.  Everything is borrowed for as long as the reader and
 * its jobs live. */
struct infer_job_opts {
	const infer_model *model;
	/* without a seed of its own a request takes the upper 53 bits of hash64(sample.seed, id) */
	struct infer_sample_opts sample;
	const struct infer_str *breaker_texts;
	size_t n_breaker_texts;
	const struct infer_str *stop;
	int32_t n_stop;
	const int32_t *stop_tokens;
	int32_t n_stop_tokens;
	int32_t max_tokens;   /* -1: no limit, 0: the prompt only */
	int max_tokens_given; /* else text completions have 16, as OpenAI defines them */
	int32_t logprobs;     /* -1: none; K: the K likeliest too */
	uint32_t flags;       /* INFER_REQ_IGNORE_EOS */
	/* INFER_ENCODE_SPECIAL: parsed in prompts that are text, and no conversation */
	uint32_t encode;
	/* the model's template, or NULL: a prompt that is text is given as it is */
	const infer_chat *chat;
	const infer_chat *chat_tools; /* the one for requests with tools, or NULL: the same */
	/* system, tools, args, think, flags and now; the rest is a request's own */
	struct infer_conversation talk;
	int raw; /* 1: a prompt that is text is no conversation */
	/* put behind "... is not supported": " in a batch"; NULL: nothing */
	const char *where;
	uint32_t reads; /* INFER_JOB_STREAM | INFER_JOB_LENIENT | INFER_JOB_KEEP */
};
enum {
	INFER_JOB_STREAM = 1 << 0,  /* stream and stream_options are known */
	INFER_JOB_LENIENT = 1 << 1, /* a field that nobody knows is passed over, as servers do */
	INFER_JOB_KEEP = 1 << 2,    /* jobs keep their request: infer_job.asked */
};

typedef struct infer_job_reader infer_job_reader; /* immutable: share freely */
/* O(vocabulary).
 * INFER_EINVAL  a breaker that is empty; INFER_ENOMEM */
int infer_job_reader_new(infer_job_reader **out, const struct infer_job_opts *o, infer_error *err);
void infer_job_reader_free(infer_job_reader *r);

/* ---- jobs ---- */

enum { INFER_JOB_MOST = 128 };        /* samples of one prompt */
typedef struct infer_form infer_form; /* infer/form.h */

/* A request.  One that could not be read is a job too, whose fault says why.  Immutable once it is
 * read. */
typedef struct infer_job {
	/* what names of the answer are made from; NULL: a bad line of a batch, whose id is not
	 * known */
	const char *id;
	const infer_form *form; /* how it is answered; NULL: our own */
	struct infer_fault fault;
	struct infer_request request; /* sample 0; its `user` is the runner's */
	int32_t n;                    /* samples, 1 ... INFER_JOB_MOST */
	int32_t logprobs;             /* as in infer_job_opts */
	const struct infer_str *breaker_texts;
	size_t n_breaker_texts;
	const infer_chat *chat; /* the template that made the prompt; NULL: it is no conversation */
	struct infer_reply_options reply; /* how its answer is read back, where it is one */
	int stream, include_usage;        /* asked for; infer_form_put_delta */
	struct infer_str asked; /* the request (infer_form_put_request); len 0: not kept */
	/* of a line of a batch (infer/record.h) */
	int id_whole; /* the id was a whole number, and comes back as one */
	int64_t line;
	int is_other; /* a record of another kind: nothing is asked */
	/* of the line, without what ends it; empty where it could not be read whole */
	char request_sha256[65];
} infer_job;

/* body: JSON text [bytes], borrowed for the call.  id: copied; what has no seed takes one from it.
 * INFER_ENOMEM  alone; every fault of the request is in the job */
int infer_job_read(infer_job **out, const infer_job_reader *r, const infer_form *form,
                   const char *id, const char *body, size_t bytes, infer_error *err);
void infer_job_free(infer_job *j); /* one that was read */
/* The seed of sample i: the request's own for 0, the upper 53 bits of hash64(that, i) of the
 * others. */
uint64_t infer_job_seed(const infer_job *j, int32_t i);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
