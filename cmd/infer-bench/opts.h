/* infer-bench/opts.h - the options of infer-bench.  Included by main.c alone. */
#ifndef INFER_BENCH_OPTS_H
#define INFER_BENCH_OPTS_H
#include "bench.h"

#define AT(field) offsetof(struct bench_opts, field)
static const struct opt bench_rows[] = {
	{ OPT_GROUP, .help = "What is measured" },
	{ OPT_LIST, 0, "filter", "WORD[,WORD]", "kernels: only cases of such a kernel, type or shape; may be given more than once", AT(filters) },
	{ OPT_STR, 0, "isa", "NAME", "kernel set; kernels: this one alone (INFER_ISA)", AT(engine.isa) },
	{ OPT_INT, 't', "threads", "N", "threads (the cores this process may use; INFER_THREADS)", AT(engine.threads), 1, 1024 },
	{ OPT_INT, 0, "repeat", "N", "measure N times; medians are shown (5)", AT(repeat), 1, 1000 },
	{ OPT_FLAG, 0, "quick", NULL, "kernels: fewer shapes and shorter turns, rough figures", AT(quick), .value = 1 },

	{ OPT_GROUP, .help = "Output" },
	{ OPT_FLAG, 0, "json", NULL, "JSON lines instead of a table", AT(json), .value = 1 },
	{ OPT_STR, 0, "record", "FILE", "append the JSON lines to FILE too", AT(record) },

	START_ROWS(struct bench_opts, start),
};
#undef AT
#endif
