/* record/job.h (private) - inside a request line: the job that its fields fill */
#ifndef RECORD_JOB_H
#define RECORD_JOB_H
#include <infer/request.h>
#include "base/arena.h"
#include "base/jread.h"

struct job {
	struct infer_job j;
	const struct infer_job_opts *o;
	struct arena mem;
	const struct json *json;  /* in mem, as the line that it borrows strings from */
	int32_t *prompt;          /* infer_ids_free */
	infer_breakers *breakers; /* of its own texts */
	const struct json *prompt_value;
	const struct json *messages, *tools, *args; /* of a conversation; borrowed from json */
	int raw, raw_given, think, no_tools;
	int32_t wants_logprobs, top_logprobs; /* of chat's form; top -1: not given */
	int seeded, dry_nowhere;
	/* INFER_ENOMEM is the conversation's: it is longer than a template may write */
	int too_long;
};

/* A field that was found: its value is neither absent nor null.
 * INFER_EINVAL  another type, or out of range
 * INFER_EUNSUP  well formed, not supported */
typedef int job_take(struct job *j, const char *key, const struct json *v, infer_error *err);

/* sampling.c: 0 and *known 0 where key is no name of a sampling option. */
int job_sampling(struct job *j, const char *key, const struct json *v, int *known,
                 infer_error *err);
/* request_chat.c */
job_take job_take_messages, job_take_tools, job_take_tool_choice, job_take_args, job_take_think,
	job_take_chat_logprobs;
int job_chat_end(struct job *j, infer_error *err);
/* 1: the prompt is a conversation. */
int job_is_talk(const struct job *j);
/* Its ids, by a template.  *param: the field at fault, or the one that is the prompt */
int job_talk(struct job *j, const char **param, infer_error *err);
/* Another prompt: INFER_EINVAL where a field wants a conversation. */
int job_no_talk(const struct job *j, const char **param, infer_error *err);
/* When all fields are read. */
int job_sampling_end(struct job *j, infer_error *err);
int job_whole(int32_t *to, const char *key, const struct json *v, int64_t lo, int64_t hi,
              infer_error *err);
int job_no_memory(infer_error *err);
#endif
