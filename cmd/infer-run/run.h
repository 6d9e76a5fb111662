/* infer-run/run.h - what the files of infer-run share. */
#ifndef INFER_RUN_RUN_H
#define INFER_RUN_RUN_H
#include <infer/record.h>
#include "common/chat.h"
#include "common/model.h"
#include "common/sampling.h"
#include "common/opt.h"
#include "common/start.h"

/* Sequences of a batch that are computed at once. */
enum { BATCH_SEQS = 32, BATCH_QUEUE = 1 << 20 };
/* DEFAULT: not given. */
enum run_output { OUTPUT_DEFAULT = -1, OUTPUT_TEXT, OUTPUT_JSONL, OUTPUT_TOKENS };

struct run_opts {
	struct start start;
	const char *model;
	struct engine_args engine;
	struct sampling_args sampling;
	struct chat_args chat;
	struct opt_list files, stop, stop_tokens;
	int64_t max_tokens;          /* -1: no limit */
	int64_t logprobs;            /* -1: not asked for */
	int64_t repeat;
	int no_stdin, raw, special, bos, echo;
	int ignore_eos, fail_on_length;
	int output, stats;           /* output: enum run_output */
	int score, tokenize, detokenize, render, interactive;
	const char *batch, *resume;
};

/* The model and engine of a run, and what it took to open them. */
struct run {
	const struct run_opts *o;
	const struct opt_rest *rest;
	infer_model *model;
	infer_engine *engine;
	struct sampling sampling;
	int32_t *stop_tokens;            /* of --stop-token */
	double load_ms;
};

/* Each is one thing that infer-run does; returns the exit code, what is to be said being said. */
int complete(const struct run_opts *o, const struct opt_rest *rest);
int score(const struct run_opts *o, const struct opt_rest *rest);
int tokenize(const struct run_opts *o, const struct opt_rest *rest);
int detokenize(const struct run_opts *o, const struct opt_rest *rest);
int render(const struct run_opts *o, const struct opt_rest *rest);
int batch(const struct run_opts *o, const struct opt_rest *rest);
int repl(const struct run_opts *o, const struct opt_rest *rest);

/* Model, sampling and engine; on failure everything is closed. */
int  run_open(struct run *r, const struct run_opts *o, const struct opt_rest *rest, infer_error *err);
void run_close(struct run *r);
void run_info(struct infer_run_info *info, const struct run *r);

/* A copy of ev without its text into *events, its list in *tops. */
int  event_keep(struct buf *events, struct arena *tops, const struct infer_event *ev, infer_error *err);

/* --stats: one JSON line on stderr.  usage: [n], one per repetition. */
void stats_print(const struct run *r, const struct infer_usage *usage, size_t n);
#endif
