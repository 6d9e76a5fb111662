/* infer/runner.h - running jobs on an engine: their samples and answers.   floor: runner
 *
 * A runner and its tasks are Confined together, and nothing else may use the runner's engine.
 *
 *	infer_runner_start(&task, r, job, user, 0, &err);
 *	while (!infer_task_ended(task)) {
 *		infer_runner_step(r, &err);
 *		while (!infer_runner_next(r, &got, &err) && got.task)
 *			while (infer_task_delta(got.task, got.index, &d))
 *				...
 *	}
 *	infer_task_answer(task, &answer), infer_task_free(task); */
#ifndef INFER_RUNNER_H
#define INFER_RUNNER_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/engine.h>
#include <infer/api.h>
#include <infer/job.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_runner infer_runner;
typedef struct infer_task infer_task; /* a job that is running or has ended */

/* Create a runner.  e, m: borrowed, must outlive *out.  INFER_ENOMEM */
int infer_runner_new(infer_runner **out, infer_engine *e, const infer_model *m, infer_error *err);
/* Cancel the running tasks, and free all tasks. */
void infer_runner_free(infer_runner *r);

enum { INFER_TASK_OWNS_JOB = 1 << 0 }; /* infer_job_free the job with the task */
/* Start a job.  Its first sample runs alone until its first token, so that the others find the
 * prompt in the cache.  j, user: borrowed until the task is freed.  A job with a fault, or that
 * the engine refuses, ends at once (infer_task_fault).
 * INFER_ENOMEM  nothing was started, and j stays the caller's */
int infer_runner_start(infer_task **out, infer_runner *r, infer_job *j, void *user, uint32_t flags,
                       infer_error *err);
/* Step the engine.  Fails as infer_engine_step.
 * INFER_EDEVICE  also: the engine has no work, but a task has not ended */
int infer_runner_step(infer_runner *r, infer_error *err);

/* An event of a task. */
struct infer_got {
	infer_task *task; /* NULL: there is no event now */
	void *user;
	int32_t index;                   /* of the sample */
	const struct infer_event *event; /* borrowed until the next call */
};
/* Take the next event of the engine and add it to its task.
 * INFER_ENOMEM  the event is lost, and the answer of got->task incomplete: free the task */
int infer_runner_next(infer_runner *r, struct infer_got *got, infer_error *err);
int infer_runner_busy(const infer_runner *r); /* 1: a task has not ended */
/* Return the number of samples that are queued or running in the engine. */
int32_t infer_runner_samples(const infer_runner *r);

int infer_task_ended(const infer_task *t); /* 1: all of its samples have ended */
/* Return the fault of the first sample that failed; kind NONE: none failed.  Borrowed from t. */
const struct infer_fault *infer_task_fault(const infer_task *t);
/* Fill job, choices and tokenizer of *a with the results of the samples; other fields are
 * unchanged.  Borrowed from t until its next event. */
void infer_task_answer(const infer_task *t, struct infer_answer *a);
const infer_job *infer_task_job(const infer_task *t);
/* Set *d to a part of sample i that earlier calls have not returned.  Returns 0 if there is none.
 * Borrowed from t until its next event. */
int infer_task_delta(infer_task *t, int32_t i, struct infer_delta *d);
/* Cancel all samples.  Each still ends with an event, INFER_FINISH_CANCELLED. */
void infer_task_cancel(infer_task *t);
/* Free a task at any time.  Running samples are cancelled, without further events. */
void infer_task_free(infer_task *t);

/* Reuse the tokens of a conversation, so that the cache matches more of the prompt: replace the
 * start of `prompt` by the longest start of `previous` that spells the same bytes.  (The
 * tokenizer may split the text of an answer differently from the model that generated it.)
 * Tokens without text (control tokens) match only the same ids.  Any thread.
 * previous  i32 [n_previous]: the last prompt and its answer
 * prompt    i32 [n_prompt]: the whole prompt, tokenised anew
 * ids       out, [*n]; infer_ids_free
 * INFER_EINVAL  an id outside the vocabulary; INFER_ENOMEM */
int infer_splice(int32_t **ids, size_t *n, const infer_tokenizer *t, const int32_t *previous,
                 size_t n_previous, const int32_t *prompt, size_t n_prompt, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
