/* infer-bench/opts.h - the options of infer-bench.  Included by main.c alone. */
#ifndef INFER_BENCH_OPTS_H
#define INFER_BENCH_OPTS_H
#include "bench.h"

#define AT(field) offsetof(struct bench_opts, field)
static const struct opt bench_rows[] = {
	{ OPT_GROUP, .help = "run: model and lists of what is measured" },
	MODEL_ROW(struct bench_opts, model),
	{ OPT_STR, 'p', "prompt", "N[,N]", "read prompts of N tokens; 0: none (512)", AT(prompts) },
	{ OPT_STR, 'n', "max-tokens", "N[,N]", "produce N tokens; 0: none (128)", AT(tokens) },
	{ OPT_STR, 0, "depth", "N[,N]", "with N tokens in the cache before (0)", AT(depth) },
	{ OPT_PICK, 0, "clock", "wall|cpu",
	  "time that passes, or that threads are on a processor (wall)", AT(clock) },
	{ OPT_STR, 'b', "batch", "N[,N]", "by N sequences at once (1)", AT(batch) },

	{ OPT_GROUP, .help = "kernels: what is measured" },
	{ OPT_LIST, 0, "filter", "WORD[,WORD]",
	  "only cases of such a kernel, type, shape or set; may be given more than once",
	  AT(filters) },
	{ OPT_FLAG, 0, "quick", NULL, "fewer shapes and shorter turns, rough figures", AT(quick),
	  .value = 1 },

	{ OPT_GROUP, .help = "Machine and engine (kernels: -t, --isa and --repeat only)" },
	ENGINE_ROWS(struct bench_opts, engine),
	{ OPT_INT, 0, "repeat", "N", "measure N times; medians are shown (5)", AT(repeat), 1,
	  1000 },

	{ OPT_GROUP, .help = "Output" },
	{ OPT_FLAG, 0, "json", NULL, "JSON lines instead of a table", AT(json), .value = 1 },
	{ OPT_STR, 0, "record", "FILE", "append the JSON lines to FILE too", AT(record) },

	START_ROWS(struct bench_opts, start),
};
#undef AT
#endif
