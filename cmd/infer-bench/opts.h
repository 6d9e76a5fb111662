/* infer-bench/opts.h - the options of infer-bench.  Included by main.c alone. */
#ifndef INFER_BENCH_OPTS_H
#define INFER_BENCH_OPTS_H
#include "bench.h"
#include "figure.h"

#define AT(field) offsetof(struct bench_opts, field)
static const struct opt bench_rows[] = {
	{ OPT_GROUP, .name = "run", .help = "run: model and lists of what is measured" },
	MODEL_ROW(struct bench_opts, model),
	{ OPT_STR, 'p', "prompt", "N[,N]", "read N tokens; 0: none; serve: lengths (512)",
	  AT(prompts), .marks = OPT_COMMON },
	{ OPT_STR, 'n', "max-tokens", "N[,N]", "produce N tokens; 0: none (128)", AT(tokens),
	  .marks = OPT_COMMON },
	{ OPT_STR, 0, "depth", "N[,N]", "with N tokens in the cache before (0)", AT(depth) },
	{ OPT_PICK, 0, "clock", "wall|cpu",
	  "time that passes, or that threads are on a processor (wall)", AT(clock) },
	{ OPT_STR, 0, "seqs", "N[,N]", "by N sequences at once (1)", AT(seqs) },
	{ OPT_PICK, 0, "first-token", "no|warm|cold|both",
	  "also from opening the model to its first token (no)", AT(first) },
	{ OPT_STR, 0, "plan", "FILE", "what infer-inspect plan --json was asked (-: stdin)",
	  AT(plan), .values = "@file" },

	{ OPT_GROUP, .name = "serve", .help = "serve: the server and what is asked of it" },
	{ OPT_STR, 0, "url", "URL", "http://HOST:PORT, https://... or unix:PATH", AT(url),
	  .marks = OPT_COMMON },
	{ OPT_PICK, 0, "api", "completions|chat", "by which endpoint (completions)", AT(api),
	  .marks = OPT_RECORDED },
	{ OPT_STR, 0, "alias", "NAME", "the model asked for (the server's first)", AT(alias) },
	{ OPT_STR, 0, "api-key-file", "FILE", "line 1 of FILE is the key", AT(key_file),
	  .values = "@file" },
	{ OPT_INT, 0, "clients", "N", "N at once, each waiting for its answer (1)", AT(clients), 1,
	  10000, .marks = OPT_RECORDED },
	{ OPT_NUM, 0, "rate", "R", "R requests a second instead, at random times", AT(rate), 0, 1e6,
	  .marks = OPT_RECORDED | OPT_ABOVE_LO },
	{ OPT_STR, 0, "trace", "FILE", "times and lengths are those of FILE", AT(trace),
	  .marks = OPT_RECORDED, .values = "@file" },
	{ OPT_INT, 0, "requests", "N", "so many requests (100)", AT(requests), 1, 10000000,
	  .marks = OPT_RECORDED },
	{ OPT_STR, 0, "output", "DIST", "tokens of answers: 128, 64-512, lognormal:M,S (128)",
	  AT(output), .marks = OPT_RECORDED },
	{ OPT_INT, 0, "shared-prefix", "N", "prompts begin with the same N tokens (0)",
	  AT(shared_prefix), 0, 1 << 24, .marks = OPT_RECORDED },
	{ OPT_INT, 0, "seed", "N", "of times, lengths and words (1)", AT(seed), 0, 1e15,
	  .marks = OPT_RECORDED },
	{ OPT_INT, 0, "warmup", "N", "requests before that are not counted (2)", AT(warmup), 0,
	  10000, .marks = OPT_RECORDED },
	{ OPT_FLAG, 0, "may-stop", NULL, "answers may end before their length", AT(may_stop),
	  .value = 1, .marks = OPT_RECORDED },
	{ OPT_NUM, 0, "timeout", "S", "a request fails after S seconds (600)", AT(timeout), 0.001,
	  1e6 },
	{ OPT_INT, 0, "pid", "N", "the server's process, for its memory", AT(pid), 1, 1 << 30 },
	{ OPT_NUM, 0, "price", "X", "of the machine per hour, for the cost of tokens", AT(price), 0,
	  1e9 },

	{ OPT_GROUP, .name = "kernels", .help = "kernels: what is measured" },
	{ OPT_LIST, 0, "filter", "WORD[,WORD]", "only such kernels, types, shapes or sets",
	  AT(filters) },

	{ OPT_GROUP, .name = "compare", .help = "compare, ab: what counts as different" },
	{ OPT_NUM, 0, "tolerance", "P", "changes up to P percent are none (2)", AT(tolerance), 0,
	  1000 },
	{ OPT_INT, 0, "rounds", "N", "ab: N rounds, each of both in turns (20)", AT(rounds), 1,
	  100000 },
	{ OPT_INT, 0, "max-rounds", "N", "ab: more, up to N, while the interval is wide (100)",
	  AT(max_rounds), 1, 100000 },

	{ OPT_STR, 0, "suite", "FILE", "run, serve: each of the runs that FILE (YAML) lists",
	  AT(suite), .values = "@file" },
	{ OPT_PICK, 0, "to", "jsonl|llama-bench|vllm", "convert: into this form (jsonl)", AT(to) },

	{ OPT_GROUP, .name = "plot", .help = "plot, report: pictures" },
	{ OPT_STR, 0, "out", "FILE", "into FILE.svg or FILE.png by gnuplot; report: FILE.html",
	  AT(out), .values = "@file" },
	{ OPT_PICK, 0, "kind", FIGURE_KINDS, "what is drawn", AT(kind) },

	{ OPT_GROUP, .name = "engine",
	  .help = "Machine and engine (kernels: -t, --isa, --repeat, --quick only)" },
	ENGINE_ROWS(struct bench_opts, engine),
	{ OPT_INT, 0, "repeat", "N", "measure N times; medians are shown (5)", AT(repeat), 1,
	  1000 },
	{ OPT_FLAG, 0, "quick", NULL, "rough ceilings, and fewer shapes of kernels", AT(quick),
	  .value = 1, .marks = OPT_RECORDED },

	{ OPT_GROUP, .name = "output", .help = "Output" },
	{ OPT_FLAG, 0, "json", NULL, "JSON lines instead of a table", AT(json), .value = 1 },
	{ OPT_STR, 0, "record", "FILE", "append the JSON lines to FILE too", AT(record),
	  .values = "@file" },

	START_ROWS(struct bench_opts, start),
};
#undef AT
#endif
