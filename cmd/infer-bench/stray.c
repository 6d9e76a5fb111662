/* infer-bench/stray.c - which options go with which subject. */
#include "bench.h"

const char *bench_stray(const struct bench_opts *o, unsigned of)
{
	const struct engine_args *e = &o->engine;
	int engine = e->ctx || e->kv_type || e->act_type || e->kv_bytes || e->swap_bytes ||
	             e->prefill_chunk || e->step_ms || e->no_prefix_cache || e->device ||
	             e->gpu_layers || e->split || e->cpu_experts;
	int server = o->alias || o->key_file || o->output || o->trace || o->rate > 0 ||
	             o->price > 0 || o->clients || o->requests || o->shared_prefix || o->pid ||
	             o->api || o->may_stop;
	const struct {
		int given;
		unsigned of;
		const char *say;
	} rows[] = {
		{ o->filters.n > 0, BENCH_KERNELS, "--filter goes with kernels only" },
		{ o->tokens || o->depth || o->seqs || o->clock, BENCH_RUN,
		  "-n, --depth, --seqs and --clock go with run only" },
		{ o->first, BENCH_RUN, "--first-token goes with run only" },
		{ o->plan != NULL, BENCH_RUN | BENCH_SERVE, "--plan goes with run and serve only" },
		{ o->prompts != NULL, BENCH_RUN | BENCH_SERVE | BENCH_AB,
		  "-p goes with run, serve and ab only" },
		{ engine, BENCH_RUN, "options of the engine, but -t and --isa, go with run only" },
		{ o->url != NULL, BENCH_SERVE, "--url goes with serve only" },
		{ server, BENCH_SERVE | BENCH_AB, "options for servers go with serve and ab only" },
		{ o->tolerance < 2 || o->tolerance > 2, BENCH_AB | BENCH_COMPARE,
		  "--tolerance goes with compare and ab only" },
		{ o->out != NULL, BENCH_PLOT | BENCH_REPORT | BENCH_CONVERT,
		  "--out goes with plot, report and convert only" },
		{ o->to, BENCH_CONVERT, "--to goes with convert only" },
		{ o->suite != NULL, BENCH_RUN | BENCH_SERVE,
		  "--suite goes with run and serve only" },
		{ o->kind, BENCH_PLOT, "--kind goes with plot only" },
		{ o->rounds != 20, BENCH_AB, "--rounds goes with ab only" },
	};

	if (o->plan && (o->prompts || o->tokens || o->depth || o->seqs))
		return "--plan says what is measured: -p, -n, --depth and --seqs do not go with "
		       "it";
	if (o->plan && (o->output || o->clients || o->trace || o->rate > 0))
		return "--plan says what is asked: --output, --clients, --rate and --trace do not "
		       "go with it";
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].given && !(rows[i].of & of))
			return rows[i].say;
	return NULL;
}
