/* infer/record.h - the JSON lines that all programs share.   floor: record
 *
 * One function per kind of record; man 5 infer-jsonl defines every field. */
#ifndef INFER_RECORD_H
#define INFER_RECORD_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/engine.h>
#include <infer/model.h>
#include <infer/probe.h>
#include <infer/request.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* JSON lines to a file descriptor, one write(2) each.  Confined. */
typedef struct infer_writer infer_writer;
/* fd: borrowed.  The first line carries "v":1. */
int infer_writer_open(infer_writer **out, int fd, infer_error *err);
void infer_writer_free(infer_writer *w);

/* A record of a request, as a file has it; what the record does not say is NULL.  Borrowed for the
 * call. */
struct infer_done {
	const char *id; /* NULL too in an error about a line, or an id that was there before */
	int64_t line;   /* of an error, else 0 */
	int failed;
	const char *request_sha256;
	const char *model_id, *options_sha256; /* of its `run` */
	int drop;                              /* out, 1: it is to be taken out of the file */
};
/* Open or create the records of a batch at `path` to go on where they end: nobody else may have
 * them open this way, a last line that is torn is cut off, one that is damaged is taken out, done
 * is called for every record of a request.  What it returns ends it, INFER_OK aside: then the file
 * is as it was.  The directory of a new file is synced.
 * INFER_EFORMAT  a line that is no record
 * INFER_EIO      cannot be opened, no regular file, in use */
typedef int infer_done_fn(void *user, struct infer_done *d, infer_error *err);
int infer_writer_resume(infer_writer **out, const char *path, infer_done_fn *done, void *user,
                        infer_error *err);
/* To the disk, if anything was written since the last time: fdatasync(2).
 * INFER_EIO  refused, or the file of infer_writer_resume was removed or cut by another */
int infer_writer_sync(infer_writer *w, infer_error *err);

/* What the `run` object needs (contract, promise 7); everything borrowed. */
struct infer_run_info {
	const infer_model *model;
	const infer_engine *engine;
	const struct infer_sample_opts *sample;
	const char *const *flags;
	int n_flags;                /* options given that change numbers or scheduling */
	int seed_random;            /* 1: the seed was not given */
	const char *options_sha256; /* infer_job_opts_sha256; NULL: not of a batch */
	/* texts of DRY, shown while it is on */
	const struct infer_str *breakers;
	size_t n_breakers;
};
struct infer_completion {
	const char *id;             /* request id */
	const char *request_sha256; /* of the line that asked; NULL: there was none */
	const char *text;
	size_t text_bytes;        /* all of it; where `reply` is, its content */
	const infer_reply *reply; /* the answer read back, ended; or NULL */
	int finish, code;
	const char *message;
	struct infer_usage usage;
	double load_ms;
	const struct infer_event *tokens;
	size_t n_tokens; /* TOKEN events; or NULL */
	uint32_t flags;  /* INFER_RECORD_* */
};
enum {
	INFER_RECORD_TOKENS = 1 << 0,
	INFER_RECORD_LOGPROBS = 1 << 1,
	INFER_RECORD_NO_ID = 1 << 2,
	/* the id is a whole number, and is written as one */
	INFER_RECORD_TOO_LONG = 1 << 3,
	INFER_RECORD_ID_WHOLE = 1 << 4
};

/* Each writes one line, whole: what the descriptor did not take at once is written on.  Text that
 * is not UTF-8 stands with U+FFFD in `text` and exactly in `text_b64`.  Log-probabilities: %.9g,
 * null where they are not finite.  id, param: NULL writes null.
 * tokens    i32 [n]
 * logprobs  f32 [n], nats; the first is not looked at
 * INFER_EIO     the descriptor refused it
 * INFER_ENOMEM  nothing was written */
int infer_write_completion(infer_writer *w, const struct infer_completion *c,
                           const struct infer_run_info *run, infer_error *err);
int infer_write_token(infer_writer *w, const struct infer_event *ev, infer_error *err);
int infer_write_score(infer_writer *w, const char *id, const int32_t *tokens, const float *logprobs,
                      size_t n, const struct infer_run_info *run, infer_error *err);
int infer_write_error(infer_writer *w, const char *id, const infer_error *e, const char *param,
                      infer_error *err);

/* What a request of a batch gets, in the form in which it was asked.
 * c      [j->n], one per sample, ids and all
 * flags  INFER_RECORD_NO_ID: the id is another's, who gets the answer
 *        INFER_RECORD_TOO_LONG: the error is that the prompt is longer than the context */
int infer_write_job(infer_writer *w, const infer_job *j, const struct infer_completion *c,
                    const struct infer_run_info *run, infer_error *err);
int infer_write_job_error(infer_writer *w, const infer_job *j, uint32_t flags, const infer_error *e,
                          const char *param, infer_error *err);

/* Records of kind bench: the ceilings, and one case beside the ceiling that binds it. */
int infer_write_ceilings(infer_writer *w, const infer_probe *p, const struct infer_ceilings *c,
                         infer_error *err);
/* A model measured: prompts of `tokens` read, or `tokens` produced, by each of `batch` sequences
 * that have `depth` tokens behind them. */
struct infer_bench {
	int decode;   /* 0: prompts */
	int cpu_time; /* rates count the time that threads were on a processor */
	int32_t tokens, depth, batch, threads, repeat;
	struct infer_rate tok_s, fraction;  /* of all sequences; of the limit, turn by turn */
	double weight_bytes, kv_bytes, ops; /* of a token */
	double limit_tok_s;
	int limit;                      /* MEMORY KV COMPUTE */
	struct infer_ceilings ceilings; /* medians, least and most over the turns */
	const char *const *sha256;
	int n_sha256; /* of the model's files */
};
int infer_write_bench(infer_writer *w, const struct infer_bench *b,
                      const struct infer_run_info *run, infer_error *err);
int infer_write_probe(infer_writer *w, const infer_probe *p, const struct infer_probe_case *c,
                      const struct infer_probe_result *r, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
