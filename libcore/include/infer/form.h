/* infer/form.h - wire forms: requests asked, and answered whole or streamed.   floor: job
 *
 *	own   our own requests and completion records (man 5 infer-jsonl)
 *	text  OpenAI's /v1/completions
 *	chat  OpenAI's /v1/chat/completions
 *
 * What is written goes into a writer's memory; sending it is the program's affair. */
#ifndef INFER_FORM_H
#define INFER_FORM_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/job.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* By the path of a request over HTTP, or by name.  NULL: none.  Static. */
const infer_form *infer_form_at(const char *path);
const infer_form *infer_form_named(const char *name);
const char *infer_form_name(const infer_form *f);

/* JSON in memory.  Confined. */
typedef struct infer_writer infer_writer;
int infer_writer_new(infer_writer **out, infer_error *err);
void infer_writer_free(infer_writer *w);
/* All that was written since the last infer_writer_clear; borrowed until w is written to. */
struct infer_str infer_writer_text(const infer_writer *w);
void infer_writer_clear(infer_writer *w);

/* What a job was made of; everything borrowed. */
struct infer_asked {
	const infer_job *job;
	const struct infer_conversation *talk; /* that is its prompt; NULL: it is none */
	struct infer_str
		text; /* the prompt as text, where it is no conversation; at NULL: its ids */
};
/* Append the request as a JSON object, without a newline: a line of a batch in our own form that
 * gets the same answer, with every sampling option as it acts.  Text that is not UTF-8 becomes ids.
 * INFER_EINVAL   a logit bias that a request cannot have
 * INFER_EFORMAT  the conversation's JSON; INFER_ENOMEM */
int infer_form_put_request(infer_writer *w, const struct infer_asked *a, infer_error *err);

/* What a model is called: its name, else that of its file.  Borrowed from m. */
struct infer_str infer_model_called(const infer_model *m);

/* What became of one sample; everything borrowed. */
struct infer_choice {
	struct infer_str text;    /* all of it; where `reply` is, its content */
	const infer_reply *reply; /* the answer read back, ended; or NULL */
	int finish, code;         /* of its DONE event, with the message */
	const char *message;
	struct infer_usage usage;
	int64_t reasoning_tokens;         /* those that became reasoning */
	const struct infer_event *tokens; /* TOKEN events, where log-probabilities were asked */
	size_t n_tokens;
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

/* What is new of an answer (infer_task_delta); one becomes one chunk of a stream.  Of each sample
 * comes BEGIN first and END last; put together, the chunks of an answer say what the whole says. */
enum infer_delta_kind {
	INFER_DELTA_BEGIN,
	INFER_DELTA_REASONING, /* more of it, in `text` */
	INFER_DELTA_TEXT,
	INFER_DELTA_CALL,      /* a call: its name and id */
	INFER_DELTA_ARGUMENTS, /* more of its arguments, in `text` */
	INFER_DELTA_END,
	INFER_DELTA_USAGE, /* of all samples: behind the last END, where include_usage asks */
};
struct infer_delta {
	int kind;
	int32_t index; /* of the sample */
	struct infer_str text;
	size_t call; /* CALL, ARGUMENTS: which */
	/* those that came since the last delta of this sample, where log-probabilities were
	 * asked; `offset`: characters of the tokens before them */
	const struct infer_event *tokens;
	size_t n_tokens, offset;
};

/* Each appends one JSON object, without a newline, in the form of the job (of f).
 * INFER_ENOMEM  what the writer holds is of no use */
int infer_form_put(infer_writer *w, const struct infer_answer *a, infer_error *err);
int infer_form_put_delta(infer_writer *w, const struct infer_answer *a, const struct infer_delta *d,
                         infer_error *err);
int infer_form_put_fault(infer_writer *w, const infer_form *f, const struct infer_fault *fault,
                         infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
