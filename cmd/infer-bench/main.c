/* infer-bench/main.c - options, then one call. */
#include "opts.h"
#include "common/say.h"
#include "base/err.h"

#include <string.h>

static const struct help_line lines[] = {
	{ "run", "a model: tokens a second, reading and producing, beside the limit" },
	{ "serve", "a server: latencies and throughput under a load" },
	{ "ab", "two commands, binaries or servers in turns: which is faster" },
	{ "compare", "two files of records: what became better, what worse" },
	{ "plot", "a picture of records, in the terminal or in a file" },
	{ "report", "records as one page of HTML" },
	{ "kernels", "every inner loop: GB/s, GOP/s, and its part of the ceiling" },
	{ NULL, NULL },
};
static const struct help_line examples[] = {
	{ "infer-bench run -m m.gguf", "a model" },
	{ "infer-bench run -m m.gguf -p 512 --seqs 1,8", "alone, and eight at once" },
	{ "infer-bench serve --url unix:s --rate 5", "a server" },
	{ "infer-bench ab old/infer-run infer-run -- -m m.gguf Hi", "two binaries" },
	{ "infer-bench compare base.jsonl new.jsonl", "exit code 8: slower" },
	{ "infer-bench kernels --quick --filter q4_k", "the loops of one type" },
	{ "infer-bench run -m m.gguf --record b.jsonl", "kept for later" },
	{ NULL, NULL },
};
static const struct program program = {
	.name = "infer-bench",
	.usage = "infer-bench run -m MODEL [OPTION]...\n"
		 "       infer-bench serve --url URL [OPTION]...\n"
		 "       infer-bench ab [OPTION]... A B [-- ARG...]\n"
		 "       infer-bench compare [OPTION]... BASE NEW\n"
		 "       infer-bench plot|report [OPTION]... [FILE]...\n"
		 "       infer-bench kernels [OPTION]...",
	.brief = "Measure, beside what the machine can in the same run.",
	.subjects = lines,
	.examples = examples,
	.rows = bench_rows,
};

enum {
	RUN = 1 << 0,
	SERVE = 1 << 1,
	KERNELS = 1 << 2,
	AB = 1 << 3,
	COMPARE = 1 << 4,
	PLOT = 1 << 5,
	REPORT = 1 << 6,
	TAKE_WORDS = AB | COMPARE | PLOT | REPORT
};
static const struct {
	const char *name;
	int (*run)(const struct bench_opts *o, const struct opt_rest *rest);
	unsigned of;
} subjects[] = {
	{ "run", run, RUN },
	{ "serve", serve, SERVE },
	{ "ab", ab, AB },
	{ "compare", compare, COMPARE },
	{ "plot", plot, PLOT },
	{ "report", report, REPORT },
	{ "kernels", kernels, KERNELS },
};
static int refuse(const struct opt_rest *rest)
{
	infer_error err;
	const char *word = rest->n_words ? rest->words[0] : NULL;

	if (!word)
		err_set(&err, INFER_EINVAL,
		        "nothing to measure is named: run, serve, ab, compare, plot, report or "
		        "kernels");
	else
		err_set(&err, INFER_EINVAL,
		        "'%.60s' is none of run, serve, ab, compare, plot, report, kernels", word);
	return say_fail(&err);
}

/* An option that the subject does not have, and those that do, by what to say; NULL: none. */
static const char *stray(const struct bench_opts *o, unsigned of)
{
	const struct engine_args *e = &o->engine;
	int engine = e->ctx || e->kv_type || e->act_type || e->kv_bytes || e->prefill_chunk ||
	             e->step_ms || e->no_prefix_cache;
	int server = o->alias || o->key_file || o->output || o->trace || o->rate > 0 ||
	             o->price > 0 || o->clients || o->requests || o->shared_prefix || o->pid ||
	             o->api || o->may_stop;
	const struct {
		int given;
		unsigned of;
		const char *say;
	} rows[] = {
		{ o->filters.n > 0, KERNELS, "--filter goes with kernels only" },
		{ o->tokens || o->depth || o->seqs || o->clock, RUN,
		  "-n, --depth, --seqs and --clock go with run only" },
		{ o->prompts != NULL, RUN | SERVE | AB, "-p goes with run, serve and ab only" },
		{ engine, RUN, "options of the engine, but -t and --isa, go with run only" },
		{ o->url != NULL, SERVE, "--url goes with serve only" },
		{ server, SERVE | AB, "options for servers go with serve and ab only" },
		{ o->tolerance < 2 || o->tolerance > 2, AB | COMPARE,
		  "--tolerance goes with compare and ab only" },
		{ o->out != NULL, PLOT | REPORT, "--out goes with plot and report only" },
		{ o->kind, PLOT, "--kind goes with plot only" },
		{ o->rounds != 20, AB, "--rounds goes with ab only" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].given && !(rows[i].of & of))
			return rows[i].say;
	return NULL;
}

static int subject(const struct bench_opts *o, struct opt_rest *rest)
{
	for (size_t i = 0; rest->n_words && i < sizeof subjects / sizeof *subjects; i++) {
		if (strcmp(subjects[i].name, rest->words[0]))
			continue;
		if (rest->n_words > 1 && !(subjects[i].of & TAKE_WORDS)) {
			say_error("%s takes no argument: '%.60s'", subjects[i].name,
			          rest->words[1]);
			return EXIT_USAGE;
		}
		const char *why = stray(o, subjects[i].of);

		if (why)
			say_error("%s", why);
		return why ? EXIT_USAGE : subjects[i].run(o, rest);
	}
	return refuse(rest);
}

int main(int argc, char **argv)
{
	struct bench_opts o = {
		.repeat = 5, .seed = 1, .warmup = 2, .timeout = 600, .tolerance = 2, .rounds = 20
	};
	struct opt_rest rest;
	int code = start(&program, &o, &o.start, argc, argv, &rest);

	if (code >= 0)
		return code;
	code = subject(&o, &rest);
	opt_rest_fini(&rest);
	return say_end(code);
}
