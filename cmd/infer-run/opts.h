/* infer-run/opts.h - the options of infer-run.  Included by main.c alone. */
#ifndef INFER_RUN_OPTS_H
#define INFER_RUN_OPTS_H
#include "run.h"

#undef START_VERBOSE
#define START_VERBOSE "model, speed and context used; -vv: prompt and steps"
#define AT(field) offsetof(struct run_opts, field)
static const struct opt run_rows[] = {
	{ OPT_GROUP, .name = "prompt", .help = "Prompt" },
	{ OPT_LIST, 'f', "file", "FILE", "add a file to the prompt; - is standard input", AT(files),
	  .marks = OPT_COMMON, .values = "@file" },
	{ OPT_FLAG, 0, "no-stdin", NULL, "leave standard input alone", AT(no_stdin), .value = 1 },
	{ OPT_FLAG, 0, "raw", NULL, "no conversation: any bytes, given as they are", AT(raw),
	  .value = 1, .marks = OPT_COMMON },
	CHAT_ROWS(struct run_opts, chat),
	{ OPT_FLAG, 0, "special", NULL,
	  "parse the text of special tokens in a prompt that is no conversation", AT(special),
	  .value = 1 },
	{ OPT_FLAG, 0, "echo", NULL, "print the prompt before its continuation", AT(echo),
	  .value = 1 },

	{ OPT_GROUP, .name = "model", .help = "Model and engine" },
	MODEL_ROW(struct run_opts, model),
	ENGINE_ROWS(struct run_opts, engine),

	{ OPT_GROUP, .name = "sampling",
	  .help = "Sampling (defaults: the model's, else those shown)" },
	SAMPLING_ROWS(struct run_opts, sampling),

	{ OPT_GROUP, .name = "end", .help = "Where it ends" },
	{ OPT_INT, 'n', "max-tokens", "N", "stop after N tokens (end of turn or context)",
	  AT(max_tokens), 0, INT32_MAX, .marks = OPT_COMMON },
	{ OPT_LIST, 0, "stop", "STR", "stop before STR; may be given more than once", AT(stop) },
	{ OPT_LIST, 0, "stop-token", "ID", "stop at token ID; may be given more than once",
	  AT(stop_tokens) },
	{ OPT_FLAG, 0, "ignore-eos", NULL, "go on past the end of a turn", AT(ignore_eos),
	  .value = 1, .marks = OPT_RECORDED },
	{ OPT_FLAG, 0, "fail-on-length", NULL, "exit with code 6 where the limit cut the output",
	  AT(fail_on_length), .value = 1 },

	{ OPT_GROUP, .name = "output", .help = "Output" },
	{ OPT_PICK, 'o', "output", "text|jsonl|tokens",
	  "the text, one record, or one record per token (text)", AT(output), .marks = OPT_COMMON },
	{ OPT_FLAG, 0, "json", NULL, "the same as -o jsonl", AT(output), .value = OUTPUT_JSONL },
	{ OPT_INT, 0, "logprobs", "K",
	  "with records: log-probabilities, and the K likeliest tokens", AT(logprobs), 0,
	  INFER_MAX_TOP },
	{ OPT_FLAG, 0, "with-request", NULL,
	  "put the request into its record, so that --replay can run it again", AT(with_request),
	  .value = 1 },
	{ OPT_FLAG, 0, "stats", NULL, "timings, counters and a digest, as a JSON line on stderr",
	  AT(stats), .value = 1 },
	{ OPT_INT, 0, "repeat", "N", "run the request N times in one process (1)", AT(repeat), 1,
	  1000000 },

	{ OPT_GROUP, .name = "instead", .help = "Instead of continuing the prompt" },
	{ OPT_FLAG, 'i', NULL, NULL, "talk: lines are turns; /help lists commands", AT(interactive),
	  .value = 1, .marks = OPT_COMMON },
	{ OPT_STR, 0, "batch", "FILE", "answer JSON lines of requests; - is standard input",
	  AT(batch), .marks = OPT_COMMON, .values = "@file" },
	{ OPT_STR, 0, "resume", "OUT", "with --batch: append to OUT what it does not have yet",
	  AT(resume), .values = "@file" },
	{ OPT_FLAG, 0, "retry-errors", NULL, "with --resume: run requests that failed again",
	  AT(retry_errors), .value = 1 },
	{ OPT_FLAG, 0, "mix", NULL, "with --resume: go on though the model or options differ",
	  AT(mix), .value = 1 },
	{ OPT_FLAG, 0, "ordered", NULL, "with --batch: answers in the order of the requests",
	  AT(ordered), .value = 1 },
	{ OPT_FLAG, 0, "lines", NULL, "each line is a prompt; answers are lines, in order",
	  AT(lines), .value = 1 },
	{ OPT_FLAG, '0', "null", NULL, "the same, and a prompt ends with NUL", AT(null),
	  .value = 1 },
	{ OPT_STR, 0, "replay", "FILE",
	  "run records made with --with-request again, and compare; - is standard input",
	  AT(replay), .values = "@file" },
	{ OPT_FLAG, 0, "render", NULL, "print the prompt as the model reads it", AT(render),
	  .value = 1 },
	{ OPT_FLAG, 0, "score", NULL, "log-probability of each of its tokens, and perplexity",
	  AT(score), .value = 1 },
	{ OPT_FLAG, 0, "tokenize", NULL, "its token ids, on one line", AT(tokenize), .value = 1 },
	{ OPT_FLAG, 0, "bos", NULL, "with --tokenize: add what the model's flags say", AT(bos),
	  .value = 1 },
	{ OPT_FLAG, 0, "detokenize", NULL, "ids or token records to bytes", AT(detokenize),
	  .value = 1 },

	{ OPT_GROUP, .name = "safety", .help = "Safety" },
	{ OPT_FLAG, 0, "sandbox", NULL, "once all is open, keep no right but to compute and write",
	  AT(sandbox), .value = 1 },

	START_ROWS(struct run_opts, start),
};
#undef AT
#endif
