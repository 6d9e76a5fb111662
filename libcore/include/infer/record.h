/* infer/record.h - records: the JSON lines that all programs write.   floor: record
 *
 * One function per kind of record; man 5 infer-jsonl defines every field.  Records are written to
 * memory (infer_records); the program sends them to a file or a pipe.  If a function that writes a
 * line fails (INFER_ENOMEM), no line was added, and those before it are lost. */
#ifndef INFER_RECORD_H
#define INFER_RECORD_H
#include <stddef.h>
#include <stdint.h>
#include <infer/eval.h>
#include <infer/api.h>
#include <infer/job.h>
#include <infer/kind.h>
#include <infer/imatrix.h>
#include <infer/probe.h>
#include <infer/quant.h>
#include <infer/statistic.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The contents of the `run` object of a record: how it was computed.  An empty list may be NULL;
 * model, engine and sample may not. */
struct infer_run_info {
	const infer_model *model;
	const infer_engine *engine;
	const struct infer_sample_opts *sample;
	const char *const *flags;
	int n_flags;                /* the given options that affect numbers or scheduling */
	int seed_random;            /* 1: the seed was not given, but drawn at random */
	const char *options_sha256; /* infer_job_opts_sha256; NULL: not part of a batch */
	const struct infer_str *breakers, *bad_words; /* breakers: written if DRY is on */
	size_t n_breakers, n_bad_words;
	const struct infer_lora_use *loras; /* [n_loras]; of an answer: those of its job */
	const char *const *lora_names;
	int32_t n_loras;
};

/* ---- records in memory ---- */
typedef struct infer_records infer_records; /* lines of a stream of records; Confined */
int infer_records_new(infer_records **out, infer_error *err);
void infer_records_free(infer_records *r);
/* All lines since the last infer_records_clear; borrowed until the next call that writes to r. */
struct infer_str infer_records_text(const infer_records *r);
void infer_records_clear(infer_records *r);
/* Continue an earlier stream of records: write no "v" in the first record. */
void infer_records_continue(infer_records *r);
/* Write only these top-level fields from now on, besides v and kind.  Lines in the formats of other
 * servers stay whole.  list: names separated by commas.
 * INFER_EINVAL  a name is not a field of the records of infer-run; the selection is unchanged */
int infer_records_select(infer_records *r, const char *list, infer_error *err);
/* Begin a record; the caller writes its fields with base/jwrite.h and ends it.  Never NULL. */
struct jwrite *infer_records_begin(infer_records *r, enum infer_kind kind);
int infer_records_end(infer_records *r, infer_error *err);

/* Append one line to out; its first record has "v":1.  Text that is not UTF-8 is written
 * with U+FFFD in `text`, and exactly in `text_b64`.  Log-probabilities are written as %.9g, or
 * null if they are not finite.  id, param: NULL is written as null.
 * tokens    i32 [n]
 * logprobs  f32 [n], nats; the first is ignored */
int infer_write_token(infer_records *out, const struct infer_event *ev, infer_error *err);
int infer_write_score(infer_records *out, const char *id, const int32_t *tokens,
                      const float *logprobs, size_t n, const struct infer_run_info *run,
                      infer_error *err);
int infer_write_error(infer_records *out, const char *id, const infer_error *e, const char *param,
                      infer_error *err);
/* Write an object into an open record: `model`, with the architecture, the parameters, the types
 * of the weights and, if n > 0, the sha256 of its files [n]; `machine`, with the processor and
 * kernel sets. */
void infer_put_model(struct jwrite *w, const infer_model *m, const char *const *sha256, int n);
void infer_put_machine(struct jwrite *w, int32_t threads);

/* ---- batches ---- */

enum {
	INFER_LINE_ID = 1 << 0,   /* read only the id */
	INFER_LINE_TEXT = 1 << 1, /* the line is a prompt, not JSON; its number is its id */
};
/* Read a request line, in our own or OpenAI's batch format.  line: JSON text [bytes]; number: of
 * the line, from 1.  *out: infer_job_free; r must outlive it.
 * INFER_ENOMEM  the only failure; errors of the line are in the job's fault */
int infer_line_read(infer_job **out, const char *line, size_t bytes, int64_t number, uint32_t flags,
                    const infer_job_reader *r, infer_error *err);
/* Make a job with the fault *why, for a line that could not be read completely. */
int infer_line_bad(infer_job **out, int64_t number, uint32_t flags, const infer_error *why,
                   infer_error *err);

/* Write the line of an answer, in the format and envelope of the request.  a->model NULL: the
 * name of run->model is written. */
int infer_write_answer(infer_records *out, const struct infer_answer *a,
                       const struct infer_run_info *run, infer_error *err);
/* Write the line of a request that failed.  A job without an id is named by its line. */
int infer_write_fault(infer_records *out, const infer_job *j, const struct infer_fault *fault,
                      infer_error *err);

/* Write the sha256, in hex, of all options that change answers: those of *o except the model and
 * the time, and the numeric ones of the engine.  A batch can only be resumed under the same digest.
 * source: of the template, or NULL. */
int infer_job_opts_sha256(char hex[65], const struct infer_job_opts *o, const infer_engine *e,
                          const struct infer_str *source, infer_error *err);

/* The record of a finished request, read from a file; absent fields are NULL.  Borrowed for the
 * call. */
struct infer_done {
	const char *id; /* also NULL in an error about a line or about a duplicate id */
	int64_t line;   /* of an error that names its line; 0: none */
	int failed;     /* 1: it is an error */
	const char *request_sha256;
	const char *model_id, *options_sha256; /* of its `run` */
	int drop;                              /* out: 1 to remove it from the file */
};
/* Called for each record of a request.  A return value other than INFER_OK ends the reading. */
typedef int infer_done_fn(void *user, struct infer_done *d, infer_error *err);

/* Reads the records of a batch, in order to resume it.  Confined. */
typedef struct infer_resume infer_resume;
/* Create a reader.  name: of the file, for messages; borrowed */
int infer_resume_new(infer_resume **out, const char *name, infer_done_fn *done, void *user,
                     infer_error *err);
void infer_resume_free(infer_resume *r);
/* Read more of the file, in pieces of any size.
 * INFER_EFORMAT  a line is not a record; INFER_ENOMEM; and what done returns */
int infer_resume_put(infer_resume *r, const char *bytes, size_t n, infer_error *err);
/* The changes to make to the file: remove the bytes after offset `whole`, which are an
 * incomplete last line, and the holes [from, to), which are damaged or dropped lines.  Holes are
 * in ascending order, borrowed from r. */
struct infer_hole {
	int64_t from, to;
};
struct infer_resumed {
	int64_t whole, records;
	int torn; /* there are bytes after `whole` */
	const struct infer_hole *holes;
	size_t n_holes;
};
/* End the reading, and set *got.  INFER_EFORMAT  the last line is not a record */
int infer_resume_end(infer_resume *r, struct infer_resumed *got, infer_error *err);

/* Write a record of kind bench: the ceilings of the machine. */
int infer_write_ceilings(infer_records *out, const infer_probe *p, const struct infer_ceilings *c,
                         infer_error *err);
/* The prediction of a plan, recomputed from the rates of the machine during a run. */
struct infer_adjusted {
	struct infer_rate tok_s;       /* the prediction */
	struct infer_rate ratio;       /* measured / predicted, of each turn */
	struct infer_rate memory_gb_s; /* 0: memory bandwidth was not measured */
	struct infer_rate i8_gop_s;
};
/* A measurement of a model: `batch` sequences, each with `depth` tokens in the cache, prefill or
 * decode `tokens` tokens each. */
struct infer_bench {
	int decode;   /* 0: prefill */
	int cpu_time; /* 1: rates are based on processor time */
	int32_t tokens, depth, batch, threads, repeat;
	int64_t created_ms; /* since 1970 */
	/* rate of all sequences together; the same / limit_tok_s, of each turn */
	struct infer_rate tok_s, fraction;
	double weight_bytes, kv_bytes, ops; /* per token */
	double limit_tok_s;     /* 0: unknown; the record then has no fraction and no ceilings */
	double predicted_tok_s; /* predicted by a plan; 0: none */
	const struct infer_adjusted *adjusted; /* NULL: no plan */
	int limit;                             /* INFER_LIMIT_MEMORY, _KV or _COMPUTE */
	struct infer_ceilings ceilings;        /* medians, minima and maxima over the turns */
	struct infer_rate core_clock, waited;  /* unknown: median 0; least < 0 */
	const char *const *sha256;
	int n_sha256; /* of the model's files */
	/* f64 [repeat], for each turn, in order; NULL: not written.  cpu: microseconds a token */
	const double *turns_tok_s, *turns_fraction, *turns_cpu_us;
	double *scratch;    /* f64 [repeat], for sorting */
	const char *commit; /* of the source; NULL: unknown */
};
int infer_write_bench(infer_records *out, const struct infer_bench *b,
                      const struct infer_run_info *run, infer_error *err);
/* Write records of kind quant, or of kind imatrix: one for each tensor, and one for the file.
 * path: of the file; NULL: none is written.  result: of infer_quant_write; NULL: not called */
int infer_write_quant(infer_records *out, const infer_quant *q, const char *path,
                      const struct infer_quant_result *result, infer_error *err);
int infer_write_imatrix(infer_records *out, const infer_imatrix *m, infer_error *err);
/* Write a record of kind bench: a case and its result. */
int infer_write_probe(infer_records *out, const infer_probe *p, const struct infer_probe_case *c,
                      const struct infer_probe_result *r, infer_error *err);

/* An evaluation of the model of *run: either text or choices is set, the other is NULL.  sha256: of
 * the text's files or of the file with the questions, in hex.  ref: the reference model, or NULL;
 * "beside": another model that was evaluated in the same run, or NULL. */
struct infer_eval {
	const struct infer_eval_text *text;
	const struct infer_eval_choices *choices;
	const char *sha256;
	const infer_model *ref, *beside;
};
int infer_write_eval(infer_records *out, const struct infer_eval *e,
                     const struct infer_run_info *run, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
