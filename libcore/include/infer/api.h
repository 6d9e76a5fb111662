/* infer/api.h - API formats: reading requests, writing answers, whole or streamed.   floor: api
 *
 *	own   our own requests and completion records (man 5 infer-jsonl)
 *	text  OpenAI's /v1/completions
 *	chat  OpenAI's /v1/chat/completions
 *	responses  OpenAI's /v1/responses
 *	messages, count  Anthropic's /v1/messages, /v1/messages/count_tokens
 *	embed OpenAI's /v1/embeddings
 *	rerank, score  how well texts answer a query: /v1/rerank, /v1/score
 *	native, infill  llama.cpp's /completion, /infill
 *	ollama_chat, ollama_generate, ollama_embed, ollama_embeddings  Ollama's /api/...
 *
 * Output is written to memory (infer_writer); the program sends it. */
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

/* Return the format with this HTTP path, or with this name; NULL if there is none.  Static. */
const infer_api *infer_api_at(const char *path);
const infer_api *infer_api_named(const char *name);
const char *infer_api_name(const infer_api *f); /* "chat"; static */
/* Return the media type of a stream: text/event-stream or application/x-ndjson; static. */
const char *infer_api_stream_type(const infer_api *f);

/* Read a request.  body: JSON text [bytes], borrowed for the call.  id: copied; a request without a
 * seed gets one from it.  tenant: only jobs of the same tenant share compiled constraints.
 * *out: infer_job_free; r must outlive it.
 * INFER_ENOMEM  the only failure; errors of the request are in the job's fault */
int infer_job_read(infer_job **out, const infer_job_reader *r, const infer_api *api,
                   uint64_t tenant, const char *id, const char *body, size_t bytes,
                   infer_error *err);

/* Answers in memory.  Confined. */
typedef struct infer_writer infer_writer;
int infer_writer_new(infer_writer **out, infer_error *err);
void infer_writer_free(infer_writer *w);
/* Everything written since the last infer_writer_clear; borrowed until the next write to w. */
struct infer_str infer_writer_text(const infer_writer *w);
void infer_writer_clear(infer_writer *w);

/* A request to write; everything borrowed. */
struct infer_asked {
	const infer_job *job;
	const struct infer_conversation *conversation; /* the prompt; NULL: it is a text or ids */
	/* text of a prompt that is not a conversation; at NULL: write its ids */
	struct infer_str text;
};
/* Append the request as a JSON object in our own format, without a newline; as a line of a batch,
 * it gets the same answer.  It contains the effective value of every sampling option.  Text that is
 * not UTF-8 is written as ids.
 * INFER_EINVAL  a logit bias that a request cannot express; w is unchanged.  Also fails as
 *               infer_chat_render does for a bad conversation
 * INFER_ENOMEM  the contents of w are unusable until infer_writer_clear */
int infer_api_put_request(infer_writer *w, const struct infer_asked *a, infer_error *err);

/* Return the model's name from its metadata, or else the name of its file.  Borrowed from m. */
struct infer_str infer_model_called(const infer_model *m);

/* The result of one sample; everything is borrowed. */
struct infer_choice {
	struct infer_str text;    /* all text so far; if there is a reply, its content */
	const infer_reply *reply; /* the parsed answer; NULL: the prompt is not a conversation */
	int finish, code;         /* of the DONE event: enum infer_finish, error code, message */
	const char *message;
	int32_t stop; /* index of the stop string that ended the text; -1: none */
	struct infer_usage usage;
	int64_t reasoning_tokens;
	/* TOKEN events [n_tokens], if log-probabilities or ids were requested */
	const struct infer_event *tokens;
	size_t n_tokens;
	/* if prompt_logprobs were requested, [n_prompt_tokens], from the second prompt token on:
	 * SCORE events, and the rank of each token (1: most likely; 0: unknown) */
	const struct infer_event *prompt_tokens;
	const int32_t *ranks;
	size_t n_prompt_tokens;
	int64_t n_read;         /* prompt tokens computed so far, plus 1; 0: not reported */
	const float *embedding; /* f32 [n_embedding]; NULL: none */
	int32_t n_embedding;
};
struct infer_answer {
	const infer_job *job;
	const struct infer_choice *choices; /* [job->n] */
	const infer_tokenizer *tokenizer;
	struct infer_str model; /* name of the model */
	int64_t created;        /* seconds since 1970 */
	double load_ms;
	/* system_fingerprint of a server; NULL: none, and no usage details, no timings */
	const char *fingerprint;
};

/* A new part of an answer (infer_task_delta), written as one chunk of a stream.  The first of each
 * sample is BEGIN, the last END.  The chunks of an answer together have the contents of the whole
 * answer. */
enum infer_delta_kind {
	INFER_DELTA_BEGIN,
	INFER_DELTA_READ,      /* progress of the prefill: the choice's n_read */
	INFER_DELTA_REASONING, /* a new part, in `text` */
	INFER_DELTA_TEXT,
	INFER_DELTA_CALL,      /* the name and id of a call */
	INFER_DELTA_ARGUMENTS, /* a new part of its arguments, in `text` */
	INFER_DELTA_END,
	INFER_DELTA_USAGE, /* of all samples, after the last END, if include_usage was requested */
};
struct infer_delta {
	enum infer_delta_kind kind;
	int32_t index; /* of the sample */
	struct infer_str text;
	size_t call; /* CALL, ARGUMENTS: index of the call */
	/* tokens since the last delta of this sample, if log-probabilities were requested;
	 * `offset`: characters of the tokens before them */
	const struct infer_event *tokens;
	size_t n_tokens, offset;
};

/* Append one JSON object, without a newline: the whole answer (or a list, if the job asks for
 * one), a chunk, an error.  The format is the job's, or f.
 * INFER_ENOMEM  as infer_api_put_request; also for all functions below */
int infer_api_put(infer_writer *w, const struct infer_answer *a, infer_error *err);
int infer_api_put_delta(infer_writer *w, const struct infer_answer *a, const struct infer_delta *d,
                        infer_error *err);
int infer_api_put_fault(infer_writer *w, const infer_api *f, const struct infer_fault *fault,
                        infer_error *err);
/* The state of a stream of named events; all zero before its first event. */
struct infer_stream {
	int64_t sequence; /* number of the next event */
	int32_t items;    /* content blocks or output items begun so far */
	int open;         /* enum infer_delta_kind of the open item; 0: none is open */
	size_t from;      /* offset of the open item's text in the content */
	size_t call;      /* index of the open item's call */
};
/* Append the server-sent events of d, whole: `data: {...}` and an empty line for a chunk, after
 * `event: NAME` if the format has named events; or JSON lines (infer_api_stream_type).  d NULL: the end of the stream, if the format
 * marks it. */
int infer_api_put_events(infer_writer *w, const struct infer_answer *a, const struct infer_delta *d,
                         struct infer_stream *s, infer_error *err);
/* Append the events that end a begun stream with an error. request_id may be NULL. */
int infer_api_put_fault_events(infer_writer *w, const infer_api *f, const struct infer_fault *fault,
                               const char *request_id, struct infer_stream *s, infer_error *err);
/* Append an error in Anthropic's format.  request_id: NULL is written as null. */
int infer_fault_put_anthropic(infer_writer *w, const struct infer_fault *fault,
                              const char *request_id, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
