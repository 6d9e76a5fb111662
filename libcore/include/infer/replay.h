/* infer/replay.h - run recorded requests again, and compare the answers.   floor: record
 *
 *	infer_replay_read(&p, line, n, number, &err);
 *	infer_replay_made(p, &made);            // was it made by this model?
 *	infer_replay_job(&job, p, reader, &err);
 *	... run it (infer/runner.h) ...
 *	infer_replay_compare(p, &answer, &verdict, &err); */
#ifndef INFER_REPLAY_H
#define INFER_REPLAY_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/api.h>
#include <infer/job.h>
#include <infer/record.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* A record that can be run again: a completion or an answer in OpenAI's batch format, with its
 * request, or a score.  Confined. */
typedef struct infer_replay infer_replay;
/* Read a record.  line: JSON text [bytes], borrowed for the call; number: of the line, from 1.
 * *out: infer_replay_free; NULL with INFER_OK: a record of another kind, or of a failed request.
 * INFER_EFORMAT  not a record
 * INFER_EINVAL   an answer without its request or `run`; a score of fewer than two tokens
 * INFER_ENOMEM */
int infer_replay_read(infer_replay **out, const char *line, size_t bytes, int64_t number,
                      infer_error *err);
void infer_replay_free(infer_replay *p);

/* How the record was made; borrowed from p.  Unknown values are "" or 0; act_type: "f32". */
struct infer_replay_made {
	const char *id; /* of the record, as text */
	int64_t line;
	const char *model_id, *kv_type, *act_type, *placement, *version;
	int32_t ctx;
	/* the smallest context that gives the same answer, unless the model's computation
	 * depends on its size; 0: only `ctx` does */
	int64_t ctx_least;
	/* tokens of a score: i32 [n_tokens]; otherwise NULL */
	const int32_t *tokens;
	size_t n_tokens;
	/* [n_adapters], in the order in which they were added to the model */
	const struct infer_replay_adapter *adapters;
	size_t n_adapters;
};
/* An adapter of a record; unknown values are "" or 0. */
struct infer_replay_adapter {
	const char *name, *sha256;
	float scale;
};
void infer_replay_made(const infer_replay *p, struct infer_replay_made *made);

/* Read the request as a job, answered in the format of the record.  r: its defaults; must outlive
 * *out.  *out: infer_job_free; p need not outlive it.  A score has no request: the job has a fault.
 * INFER_ENOMEM  the only failure; errors of the request are in the job's fault */
int infer_replay_job(infer_job **out, const infer_replay *p, const infer_job_reader *r,
                     infer_error *err);

/* Parts of an answer.  A part is compared if the record contains it. */
enum infer_replay_part {
	INFER_REPLAY_TOKENS = 1 << 0,
	INFER_REPLAY_LOGPROBS = 1 << 1,
	INFER_REPLAY_TOP = 1 << 2,
	INFER_REPLAY_TEXT = 1 << 3,
	INFER_REPLAY_REASONING = 1 << 4,
	INFER_REPLAY_CALLS = 1 << 5,
	INFER_REPLAY_FINISH = 1 << 6,
	INFER_REPLAY_USAGE = 1 << 7, /* the tokens of prompt and answer */
};
struct infer_replay_verdict {
	uint32_t compared; /* enum infer_replay_part */
	int differs;
	/* the first difference: its sample, and the index of its token or the offset of its
	 * byte; -1: none */
	int32_t sample;
	int64_t position;
	const char *field;          /* "logprobs"; NULL: nothing differs */
	char recorded[96], got[96]; /* JSON, truncated if it is long; "": absent */
	char sentence[320];         /* describes the difference */
};
/* Compare the record with the answer of its job, which ended without a fault.
 * INFER_ENOMEM */
int infer_replay_compare(const infer_replay *p, const struct infer_answer *a,
                         struct infer_replay_verdict *v, infer_error *err);
/* Compare a recorded score.  logprobs: f32 [n], nats, of the first n tokens of the score; the first
 * is ignored, and one past the last token is a difference. */
void infer_replay_compare_scores(const infer_replay *p, const float *logprobs, size_t n,
                                 struct infer_replay_verdict *v);
/* Write a record of kind replay: the verdict, and how the answer was computed now. */
int infer_write_replay(infer_records *out, const infer_replay *p,
                       const struct infer_replay_verdict *v, const struct infer_run_info *run,
                       infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
