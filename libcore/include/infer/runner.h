/* infer/runner.h - jobs on an engine: their samples, and what becomes of them.   floor: job
 *
 * Confined, to the thread that steps the engine.  A runner has its engine for itself.
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
#include <infer/form.h>
#include <infer/job.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_runner infer_runner;
typedef struct infer_task infer_task; /* a job that runs, or has ended */

/* e, m: borrowed, must outlive *out. */
int infer_runner_new(infer_runner **out, infer_engine *e, const infer_model *m, infer_error *err);
/* Cancels what runs, and frees every task. */
void infer_runner_free(infer_runner *r);

enum { INFER_TASK_OWNS_JOB = 1 << 0 }; /* the job was read, and is freed with the task */
/* Run a job: its first sample alone, so that the others find the prompt in the cache.
 * j, user: borrowed until the task is freed.  A job with a fault, and one that the engine refuses,
 * has ended at once (infer_task_fault).
 * INFER_ENOMEM  nothing was taken */
int infer_runner_start(infer_task **out, infer_runner *r, infer_job *j, void *user, uint32_t flags,
                       infer_error *err);
/* infer_engine_step.  INFER_EDEVICE, too: the engine has nothing to do, and a task has not ended */
int infer_runner_step(infer_runner *r, infer_error *err);

/* The next event, taken into its task; task NULL: there is none now. */
struct infer_got {
	infer_task *task;
	void *user;
	int32_t index;                   /* of the sample */
	const struct infer_event *event; /* borrowed until the next call */
};
/* INFER_ENOMEM */
int infer_runner_next(infer_runner *r, struct infer_got *got, infer_error *err);
int infer_runner_busy(const infer_runner *r); /* a task has not ended */
/* Samples that wait or run in the engine. */
int32_t infer_runner_samples(const infer_runner *r);

int infer_task_ended(const infer_task *t); /* all of its samples have */
/* Of the first sample that failed; kind NONE: all is well.  Borrowed from t. */
const struct infer_fault *infer_task_fault(const infer_task *t);
/* What the samples have come to: job, choices and tokenizer of *a; the rest is left as it is.
 * Borrowed from t until its next event. */
void infer_task_answer(const infer_task *t, struct infer_answer *a);
const infer_job *infer_task_job(const infer_task *t);
/* 1: *d is what is new of sample i, behind what the calls before gave; 0: nothing is.
 * Borrowed from t until its next event. */
int infer_task_delta(infer_task *t, int32_t i, struct infer_delta *d);
/* Every sample ends soon, as INFER_FINISH_CANCELLED. */
void infer_task_cancel(infer_task *t);
/* At any time: what still runs of it is cancelled, and nothing more is heard of it. */
void infer_task_free(infer_task *t);

/* A prompt that goes on where the last answer ended: the front of `fresh` replaced by ids of `past`
 * that spell the same bytes, as many as there are.  Tokenising an answer's text again may cut it
 * otherwise than the model did when it wrote it.  Tokens that are no text (control tokens) are the
 * same only where their ids are.
 * past   i32 [n_past]: the last prompt and what was answered
 * fresh  i32 [n_fresh]: the whole prompt, tokenised anew
 * ids    out, [*n]; infer_ids_free
 * INFER_EINVAL  an id outside the vocabulary; INFER_ENOMEM */
int infer_splice(int32_t **ids, size_t *n, const infer_tokenizer *t, const int32_t *past,
                 size_t n_past, const int32_t *fresh, size_t n_fresh, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
