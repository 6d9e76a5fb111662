/* infer-run/run.h - what the files of infer-run share. */
#ifndef INFER_RUN_RUN_H
#define INFER_RUN_RUN_H
#include <infer/record.h>
#include <infer/runner.h>
#include "common/chat.h"
#include "common/input.h"
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

/* What infer-run does, as opt_check() takes it: without an option that selects a mode it answers one
 * prompt. --embed with --batch or --lines is two modes at once. */
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
	RUN_COMPUTES = RUN_ANSWERS | RUN_REPLAY | RUN_SCORE | RUN_EMBED, /* --stats has numbers */
};

struct run_opts {
	/* when main began, and what the process had been on a processor then */
	int64_t main_ns, exec_ns; /* no option */
	struct start start;
	const char *model, *server;
	struct engine_args engine;
	struct sampling_args sampling;
	struct chat_args chat;
	struct constrain_args constrain;
	int no_jump;
	struct opt_list files, stop, stop_tokens;
	int64_t max_tokens; /* -1: no limit */
	int64_t logprobs;   /* -1: not asked for */
	int64_t repeat;
	int no_stdin, raw, special, bos, echo;
	int ignore_eos, fail_on_length;
	int output, stats; /* output: enum run_output */
	int with_request, no_stream;
	const char *out, *fields;
	int score, tokenize, detokenize, render, interactive, sandbox;
	int embed, no_normalize; /* enum run_embed */
	const char *batch, *resume, *replay;
	int lines, null; /* null: with lines */
	int ordered;
	int mix, retry_errors; /* with resume */
};

/* --stats: the line so far.  It is written once everything is closed. */
struct stats {
	struct buf text;
	struct jwrite w;
	int taken;
	int64_t ready_ns;             /* the first request is about to be submitted; 0: never */
	struct os_usage ready, first; /* then, and when it had ended */
};

/* The model and engine of a run, and what it took to open them. */
struct run {
	const struct run_opts *o;
	const struct opt_rest *rest;
	infer_model *model;
	infer_engine *engine;
	infer_runner *runner;
	struct sampling sampling;
	struct constrain constrain;
	int32_t *stop_tokens; /* of --stop-token */
	double load_ms;
	/* started: the process, for --stats, from a file; 0: unknown */
	int64_t opened_ns, started_ns;
	struct stats stats;
};

/* The modes of infer-run.  Each prints its own errors and returns the exit code. */
int complete(const struct run_opts *o, const struct opt_rest *rest);
int score(const struct run_opts *o, const struct opt_rest *rest);
int embed(const struct run_opts *o, const struct opt_rest *rest);
int tokenize(const struct run_opts *o, const struct opt_rest *rest);
int detokenize(const struct run_opts *o, const struct opt_rest *rest);
int render(const struct run_opts *o, const struct opt_rest *rest);
int batch(const struct run_opts *o, const struct opt_rest *rest);
int replay(const struct run_opts *o, const struct opt_rest *rest);
int repl(const struct run_opts *o, const struct opt_rest *rest);

/* Model, sampling and engine; on failure everything is closed. */
int run_open(struct run *r, const struct run_opts *o, const struct opt_rest *rest,
             infer_error *err);
void run_close(struct run *r);
/* With --sandbox: nothing more can be opened from here on.  flags: those of sandbox_enter. */
int run_confine(const struct run_opts *o, unsigned flags, infer_error *err);
void run_info(struct infer_run_info *info, const struct run *r);

/* infer_runner_step; with -vv it is told of. */
int run_step(const struct run *r, infer_error *err);

/* INFER_EIO where somebody wrote to the model's file: that explains any other error; else rc. */
int run_unchanged(const struct run *r, int rc, infer_error *err);

/* Did the context cut this answer?  One of exactly -n tokens was asked for so. */
int run_cut(const struct run *r, const struct infer_choice *c);
/* What gives more room in the context, as the end of a sentence. */
const char *run_more_room(const struct run *r);
/* What a prompt may take, for input_read; borrowed from r. */
struct input_bound run_bound(const struct run *r);

/* Log-probabilities of tokens ids[0 .. n), n >= 2, each under those before it: *logprobs [n], NAN
 * for the first, the caller's to mem_free, on failure too. */
int score_ids(float **logprobs, struct run *r, const int32_t *ids, size_t n, infer_error *err);

/* The pooling of --embed; and a vector as a line of text. */
int embed_pooling(int *embed, const struct run_opts *o, const infer_model *m, infer_error *err);
void embed_line(struct buf *to, const struct infer_choice *c);

/* A writer of records, with --fields. */
int run_writer(infer_records **w, const struct run *r, infer_error *err);
/* --stop as a request has it: the caller's to mem_free, its texts the options'. */
int run_stop(struct infer_str **stop, const struct run *r, infer_error *err);

/* --stats: the first request is about to be submitted; it has ended; all have.  usage: [n], one per
 * repetition. */
void stats_ready(struct run *r);
void stats_first(struct run *r);
void stats_take(struct run *r, const struct infer_usage *usage, size_t n);
/* Of a batch: how far it is, as progress; and what it came to, in a line for people. */
void stats_tell(const struct run *r, uint64_t done, uint64_t all, uint64_t failed);
void stats_sum_up(const struct run *r, int64_t began_ns, uint64_t requests, uint64_t failed);
/* One JSON line on stderr, if anything was taken; exit_ms: what closing took. */
void stats_print(struct stats *s, double exit_ms);
#endif
