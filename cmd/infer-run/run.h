/* infer-run/run.h - options, modes, and the model and engine of infer-run. */
#ifndef INFER_RUN_RUN_H
#define INFER_RUN_RUN_H
#include <infer/record.h>
#include <infer/runner.h>
#include "common/chat.h"
#include "common/input.h"
#include "common/lora.h"
#include "common/model.h"
#include "common/sampling.h"
#include "common/opt.h"
#include "common/start.h"
#include "constrain.h"
#include "base/jwrite.h"
#include "base/os.h"

enum {
	BATCH_SEQS = 32, /* sequences of a batch that are computed at once */
	BATCH_QUEUE = 1 << 20,
};
enum run_embed {
	EMBED_NONE = -1, /* no --embed */
	EMBED_MEAN,
	EMBED_LAST,
	EMBED_CLS,
	EMBED_RANK,
	EMBED_MODEL, /* the pooling that the model file names */
};
enum run_output {
	OUTPUT_DEFAULT = -1, /* no -o */
	OUTPUT_TEXT,
	OUTPUT_JSONL,
	OUTPUT_TOKENS,
};

/* The modes of infer-run, for opt_check(). Without an option that selects a mode it is RUN_ANSWER. --embed
 * with --batch or --lines is two modes at once. */
enum run_mode {
	RUN_ANSWER = 1 << 0,
	RUN_TALK = 1 << 1, /* -i */
	RUN_BATCH = 1 << 2,
	RUN_LINES = 1 << 3,
	RUN_REPLAY = 1 << 4,
	RUN_RENDER = 1 << 5,
	RUN_SCORE = 1 << 6,
	RUN_EMBED = 1 << 7,
	RUN_TOKENIZE = 1 << 8,
	RUN_DETOKENIZE = 1 << 9,
	RUN_ALL = (1 << 10) - 1,
	RUN_ANSWERS = RUN_ANSWER | RUN_BATCH | RUN_LINES, /* whole answers, without a dialogue */
	RUN_SAMPLES = RUN_ANSWERS | RUN_TALK | RUN_RENDER,
	RUN_COMPUTES =
		RUN_ANSWERS | RUN_REPLAY | RUN_SCORE | RUN_EMBED, /* --stats measures these */
};

struct run_opts {
	/* time at the start of main, and processor time used until then */
	int64_t main_ns, exec_ns; /* not options */
	struct start start;
	const char *model, *server;
	struct opt_list loras;
	struct engine_args engine;
	struct sampling_args sampling;
	struct chat_args chat;
	struct constrain_args constrain;
	int no_jump;
	struct opt_list files, stop, stop_tokens;
	int64_t max_tokens; /* -1: no limit */
	int64_t logprobs;   /* -1: not given */
	int64_t repeat;
	int no_stdin, raw, special, bos, echo;
	int ignore_eos, fail_on_length;
	int output, stats; /* output: enum run_output */
	int with_request, no_stream;
	const char *out, *fields;
	int score, tokenize, detokenize, render, interactive, sandbox;
	int embed, no_normalize; /* enum run_embed */
	const char *batch, *resume, *replay;
	int lines, null; /* null: prompts end with NUL; sets lines too */
	int ordered;
	int mix, retry_errors; /* only with --resume */
};

/* --stats: the JSON line so far. stats_print() writes it after everything is closed. */
struct stats {
	struct buf text;
	struct jwrite w;
	int taken;        /* stats_take() was called */
	int64_t ready_ns; /* time at which the first request was submitted; 0: none was */
	struct os_usage ready, first; /* usage at ready_ns, and at the end of that request */
};

/* The model and engine of a run. Confined to one thread. */
struct run {
	const struct run_opts *o;
	const struct opt_rest *rest;
	infer_model *model;
	struct adapters adapters;
	infer_engine *engine;
	infer_runner *runner;
	struct sampling sampling;
	struct constrain constrain;
	int32_t *stop_tokens; /* token ids of --stop-token */
	double load_ms;       /* time to open the model and the engine */
	int64_t opened_ns;    /* time at which both were open */
	int64_t started_ns;   /* start of the process, for --stats; 0: unknown */
	struct stats stats;
};

/* One function per mode. Each prints its own errors and returns the exit code. */
int complete(const struct run_opts *o, const struct opt_rest *rest);
int score(const struct run_opts *o, const struct opt_rest *rest);
int embed(const struct run_opts *o, const struct opt_rest *rest);
int tokenize(const struct run_opts *o, const struct opt_rest *rest);
int detokenize(const struct run_opts *o, const struct opt_rest *rest);
int render(const struct run_opts *o, const struct opt_rest *rest);
int batch(const struct run_opts *o, const struct opt_rest *rest);
int replay(const struct run_opts *o, const struct opt_rest *rest);
int repl(const struct run_opts *o, const struct opt_rest *rest);

/* Open the model, the sampler and the engine. On failure everything is closed. Errors: those of model_path,
 * infer_model_open, sampling_take, constrain_take, engine_args_take and infer_engine_open. */
int run_open(struct run *r, const struct run_opts *o, const struct opt_rest *rest,
             infer_error *err);
void run_close(struct run *r);
/* Enter the sandbox; afterwards no file can be opened. flags: those of sandbox_enter. Errors: those of
 * confine. */
int run_confine(const struct run_opts *o, unsigned flags, infer_error *err);
/* Fill the description of the run for records. */
void run_info(struct infer_run_info *info, const struct run *r);

/* Call infer_runner_step, and with -vv print what the step computed. */
int run_step(const struct run *r, infer_error *err);

/* Check that the model file is unchanged. Returns INFER_EIO if it was written to, because that may be the
 * cause of rc; otherwise rc. */
int run_unchanged(const struct run *r, int rc, infer_error *err);

/* True if the context was full before the answer ended or had -n tokens. */
int run_cut(const struct run *r, const struct infer_choice *c);
/* Return the option that the answer does not satisfy because -n cut it; NULL: none. */
const char *run_unsatisfied(const struct run *r, const struct infer_choice *c);
/* Return how to enlarge the context, as the end of a sentence. */
const char *run_more_room(const struct run *r);
/* Return the limit of a prompt for input_read: the bytes that the context can hold. Borrows from r. */
struct input_bound run_bound(const struct run *r);

/* Compute ln p(ids[i] | ids[0 .. i)) for n >= 2 tokens.
 * logprobs  out, f32 [n], NAN for the first; freed by the caller with mem_free, on failure too */
int score_ids(float **logprobs, struct run *r, const int32_t *ids, size_t n, infer_error *err);

/* Set *embed to the pooling of --embed, or of the model if --embed names none.
 * INFER_EUNSUP  the model does not support it */
int embed_pooling(int *embed, const struct run_opts *o, const infer_model *m, infer_error *err);
/* Append the embedding as a line of numbers. */
void embed_line(struct buf *to, const struct infer_choice *c);

/* Create a writer of records that has the fields of --fields. */
int run_writer(infer_records **w, const struct run *r, infer_error *err);
/* Set *stop to the texts of --stop, borrowed from the options; the caller frees the array with mem_free. */
int run_stop(struct infer_str **stop, const struct run *r, infer_error *err);

/* --stats. Call stats_ready before the first request is submitted, stats_first when it has ended, and
 * stats_take when all requests have ended. usage: [n], one per repetition. */
void stats_ready(struct run *r);
void stats_first(struct run *r);
void stats_take(struct run *r, const struct infer_usage *usage, size_t n);
/* stats_tell: show the progress of a batch; stats_sum_up: print its totals at the end. */
void stats_tell(const struct run *r, uint64_t done, uint64_t all, uint64_t failed);
void stats_sum_up(const struct run *r, int64_t began_ns, uint64_t requests, uint64_t failed);
/* Print the JSON line on stderr if stats_take was called. exit_ms: time to close everything */
void stats_print(struct stats *s, double exit_ms);
#endif
