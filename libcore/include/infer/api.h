/* infer/api.h - wire forms of requests, and of answers, whole or streamed.   floor: api
 *
 *	own   our own requests and completion records (man 5 infer-jsonl)
 *	text  OpenAI's /v1/completions
 *	chat  OpenAI's /v1/chat/completions
 *	responses  OpenAI's /v1/responses
 *	messages, count  Anthropic's /v1/messages, /v1/messages/count_tokens
 *	embed OpenAI's /v1/embeddings
 *	rerank, score  how well texts answer a query: /v1/rerank, /v1/score
 *
 * Output goes to the memory of a writer; the program sends it. */
#ifndef INFER_API_H
#define INFER_API_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/job.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The form with this HTTP path, or with this name.  NULL: there is none.  Static. */
const infer_api *infer_api_at(const char *path);
const infer_api *infer_api_named(const char *name);
const char *infer_api_name(const infer_api *f);

/* Read a request in this form.
 * body: JSON text [bytes], borrowed for the call.  id: copied; also the source of a seed that the
 * body lacks.  tenant: only jobs of the same one share compiled constraints.
 * INFER_ENOMEM  is the only failure; errors of the request are in the job */
int infer_job_read(infer_job **out, const infer_job_reader *r, const infer_api *api,
                   uint64_t tenant, const char *id, const char *body, size_t bytes,
                   infer_error *err);

/* JSON in memory.  Confined. */
typedef struct infer_writer infer_writer;
int infer_writer_new(infer_writer **out, infer_error *err);
void infer_writer_free(infer_writer *w);
/* Everything written since the last infer_writer_clear; borrowed until the next write to w. */
struct infer_str infer_writer_text(const infer_writer *w);
void infer_writer_clear(infer_writer *w);

/* What a job was made of; everything borrowed. */
struct infer_asked {
	const infer_job *job;
	const struct infer_conversation *conversation; /* that is its prompt; NULL: it is none */
	struct infer_str
		text; /* the prompt as text, where it is no conversation; at NULL: its ids */
};
/* Append the request as a JSON object, without a newline: a line of a batch in our own form that
 * gets the same answer, with every sampling option as it acts.  Text that is not UTF-8 becomes ids.
 * INFER_EINVAL   a logit bias that a request cannot have
 * INFER_EFORMAT  the conversation's JSON; INFER_ENOMEM */
int infer_api_put_request(infer_writer *w, const struct infer_asked *a, infer_error *err);

/* The name of a model: its own, or else that of its file.  Borrowed from m. */
struct infer_str infer_model_called(const infer_model *m);

/* The result of one sample; everything is borrowed. */
struct infer_choice {
	struct infer_str text;    /* the whole text; if there is a reply, its content */
	const infer_reply *reply; /* the parsed answer, complete; or NULL */
	int finish, code;         /* from its DONE event, with the message */
	const char *message;
	int32_t stop; /* index of the stop string that ended it; -1: none */
	struct infer_usage usage;
	int64_t reasoning_tokens; /* tokens of the reasoning */
	/* TOKEN events, if log-probabilities or ids were requested */
	const struct infer_event *tokens;
	size_t n_tokens;
	/* SCORE events of the prompt from its second token on, if they were requested, and the place
	 * of each token among all, from 1; 0: not known */
	const struct infer_event *prompt_tokens;
	const int32_t *ranks;
	size_t n_prompt_tokens;
	int64_t n_read;         /* of its prompt, plus 1; 0: nothing is said of it */
	const float *embedding; /* f32 [n_embedding]; NULL: none */
	int32_t n_embedding;
};
struct infer_answer {
	const infer_job *job;
	const struct infer_choice *choices; /* [job->n] */
	const infer_tokenizer *tokenizer;
	struct infer_str model; /* what it is called */
	int64_t created;        /* seconds since 1970 */
	double load_ms;
	/* system_fingerprint of a server, which says more of the usage, too; NULL: neither */
	const char *fingerprint;
};

/* A new part of an answer (infer_task_delta), which becomes one chunk of a stream.  For each
 * sample BEGIN comes first and END last; joined, the chunks of an answer have the contents of
 * the whole answer. */
enum infer_delta_kind {
	INFER_DELTA_BEGIN,
	INFER_DELTA_READ,      /* more of the prompt was read, in the choice's n_read */
	INFER_DELTA_REASONING, /* a new part, in `text` */
	INFER_DELTA_TEXT,
	INFER_DELTA_CALL,      /* the name and id of a call */
	INFER_DELTA_ARGUMENTS, /* a new part of its arguments, in `text` */
	INFER_DELTA_END,
	INFER_DELTA_USAGE, /* of all samples: after the last END, if include_usage was requested */
};
struct infer_delta {
	int kind;
	int32_t index; /* of the sample */
	struct infer_str text;
	size_t call; /* CALL, ARGUMENTS: index of the call */
	/* tokens since the last delta of this sample, if log-probabilities were requested;
	 * `offset`: characters of the tokens before them */
	const struct infer_event *tokens;
	size_t n_tokens, offset;
};

/* Each appends one JSON object, without a newline, in the form of the job (of f).
 * INFER_ENOMEM  the contents of the writer are unusable */
int infer_api_put(infer_writer *w, const struct infer_answer *a, infer_error *err);
int infer_api_put_delta(infer_writer *w, const struct infer_answer *a, const struct infer_delta *d,
                        infer_error *err);
int infer_api_put_fault(infer_writer *w, const infer_api *f, const struct infer_fault *fault,
                        infer_error *err);
/* What a stream said so far, for forms whose events count it; all zero before its first event. */
struct infer_stream {
	int64_t sequence;  /* of the next event */
	int32_t items;     /* begun: blocks, or items of the output */
	int open;          /* enum infer_delta_kind of the one that is not ended; 0: none */
	int32_t at_text;   /* index of the item of a text; of the one that is open */
	size_t from, call; /* where its text begins in all of the content; its call */
	int64_t n_tokens;
};
/* Append the server-sent events of d, whole: `data: {...}` and an empty line for a chunk, with
 * `event: NAME` in front of it where the form has named events.  d NULL: what ends a stream, or
 * nothing.
 * INFER_ENOMEM  as above */
int infer_api_put_events(infer_writer *w, const struct infer_answer *a, const struct infer_delta *d,
                         struct infer_stream *s, infer_error *err);
/* What a stream that began ends with where a fault cuts it. */
int infer_api_put_fault_events(infer_writer *w, const infer_api *f, const struct infer_fault *fault,
                               const char *request_id, struct infer_stream *s, infer_error *err);
/* The errors of Anthropic's interface. */
int infer_fault_put_anthropic(infer_writer *w, const struct infer_fault *fault,
                              const char *request_id, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
