/* infer-bench/opts.h - the options of infer-bench.  Included by main.c alone. */
#ifndef INFER_BENCH_OPTS_H
#define INFER_BENCH_OPTS_H
#include "bench.h"

#define AT(field) offsetof(struct bench_opts, field)
static const struct opt bench_rows[] = {
	{ OPT_GROUP, .name = "run", .help = "run: model and lists of what is measured" },
	MODEL_ROW(struct bench_opts, model),
	{ OPT_STR, 'p', "prompt", "N[,N]", "read prompts of N tokens; 0: none (512)", AT(prompts),
	  .marks = OPT_COMMON },
	{ OPT_STR, 'n', "max-tokens", "N[,N]", "produce N tokens; 0: none (128)", AT(tokens),
	  .marks = OPT_COMMON },
	{ OPT_STR, 0, "depth", "N[,N]", "with N tokens in the cache before (0)", AT(depth) },
	{ OPT_PICK, 0, "clock", "wall|cpu",
	  "time that passes, or that threads are on a processor (wall)", AT(clock) },
	{ OPT_STR, 0, "seqs", "N[,N]", "by N sequences at once (1)", AT(seqs),
	  .marks = OPT_COMMON },

	{ OPT_GROUP, .name = "kernels", .help = "kernels: what is measured" },
	{ OPT_LIST, 0, "filter", "WORD[,WORD]", "only such kernels, types, shapes or sets",
	  AT(filters), .marks = OPT_COMMON },

	{ OPT_GROUP, .name = "engine",
	  .help = "Machine and engine (kernels: -t, --isa, --repeat, --quick only)" },
	ENGINE_ROWS(struct bench_opts, engine),
	{ OPT_INT, 0, "repeat", "N", "measure N times; medians are shown (5)", AT(repeat), 1,
	  1000 },
	{ OPT_FLAG, 0, "quick", NULL, "rough ceilings, and fewer shapes of kernels", AT(quick),
	  .value = 1, .marks = OPT_COMMON | OPT_RECORDED },

	{ OPT_GROUP, .name = "output", .help = "Output" },
	{ OPT_FLAG, 0, "json", NULL, "JSON lines instead of a table", AT(json), .value = 1,
	  .marks = OPT_COMMON },
	{ OPT_STR, 0, "record", "FILE", "append the JSON lines to FILE too", AT(record),
	  .marks = OPT_COMMON, .values = "@file" },

	START_ROWS(struct bench_opts, start),
};
#undef AT
#endif
