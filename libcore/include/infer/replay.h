/* infer/replay.h - records of answers run again, and compared with what comes.   floor: record
 *
 *	infer_replay_read(&p, line, n, number, &err);
 *	infer_replay_made(p, &made);            // is it this model's?
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

/* A record that can be run again: a completion with its request, an answer in OpenAI's form with
 * one, a score.  Confined. */
typedef struct infer_replay infer_replay;
/* line: JSON text [bytes], borrowed for the call; number: of the line, from 1.
 * *out NULL with INFER_OK: a record of another kind, or of a failed request
 * INFER_EFORMAT  no record; INFER_EINVAL an answer without its request, or without `run`
 * INFER_ENOMEM */
int infer_replay_read(infer_replay **out, const char *line, size_t bytes, int64_t number,
                      infer_error *err);
void infer_replay_free(infer_replay *p);

/* How the record was made; borrowed from p.  What it does not say is "" or 0, but "f32" for the type
 * of activations. */
struct infer_replay_made {
	const char *id; /* of the record, as text */
	int64_t line;
	const char *model_id, *kv_type, *act_type, *placement, *version;
	int32_t ctx;
	/* the least context that gives the same answer, where the model does not ask how large it
	 * is; 0: `ctx` alone */
	int64_t ctx_least;
	/* a score: its tokens i32 [n_tokens]; else NULL */
	const int32_t *tokens;
	size_t n_tokens;
};
void infer_replay_made(const infer_replay *p, struct infer_replay_made *made);

/* The request as a job, which is answered in the form of the record.  r: what requests leave open.
 * INFER_ENOMEM  alone; every fault of the request is in the job */
int infer_replay_job(infer_job **out, const infer_replay *p, const infer_job_reader *r,
                     infer_error *err);

/* What a record has of these is compared. */
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
	/* the first difference; sample, position: -1: of none.  The position is an index of tokens,
	 * or in a text of bytes */
	int32_t sample;
	int64_t position;
	const char *field;          /* "logprobs"; NULL: nothing differs */
	char recorded[96], got[96]; /* JSON, cut where it is long; "": there is none */
	char sentence[320];
};
/* a: of the job, which has ended well.
 * INFER_ENOMEM */
int infer_replay_compare(const infer_replay *p, const struct infer_answer *a,
                         struct infer_replay_verdict *v, infer_error *err);
/* logprobs  f32 [n], of the tokens of a score; the first is ignored */
void infer_replay_compare_scores(const infer_replay *p, const float *logprobs, size_t n,
                                 struct infer_replay_verdict *v);
/* The record of kind replay, with how it was computed now. */
int infer_write_replay(infer_records *out, const infer_replay *p,
                       const struct infer_replay_verdict *v, const struct infer_run_info *run,
                       infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
