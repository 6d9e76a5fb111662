/* infer-bench/main.c - options, then one call. */
#include "opts.h"
#include "common/say.h"
#include "base/err.h"

#include <string.h>

static const struct help_line lines[] = {
	{ "run", "a model: tokens a second, reading and producing, beside the limit" },
	{ "kernels", "every inner loop: GB/s, GOP/s, and its part of the ceiling" },
	{ NULL, NULL },
};
static const struct help_line examples[] = {
	{ "infer-bench run -m m.gguf", "a model" },
	{ "infer-bench run -m m.gguf -p 512 --seqs 1,8", "alone, and eight at once" },
	{ "infer-bench kernels --quick --filter q4_k", "the loops of one type" },
	{ "infer-bench run -m m.gguf --record b.jsonl", "kept for later" },
	{ NULL, NULL },
};
static const struct program program = {
	.name = "infer-bench",
	.usage = "infer-bench run -m MODEL [OPTION]...\n       infer-bench kernels [OPTION]...",
	.brief = "Measure, beside what the machine can in the same run.",
	.subjects = lines,
	.examples = examples,
	.rows = bench_rows,
};

static const struct {
	const char *name;
	int (*run)(const struct bench_opts *o, const struct opt_rest *rest);
} subjects[] = {
	{ "run", run },
	{ "kernels", kernels },
};
/* what there will be */
static const char *const later[] = { "serve", "compare", "plot" };

static int refuse(const struct opt_rest *rest)
{
	infer_error err;
	const char *word = rest->n_words ? rest->words[0] : NULL;

	if (!word)
		err_set(&err, INFER_EINVAL, "nothing to measure is named: run or kernels");
	else
		err_set(&err, INFER_EINVAL, "'%.60s' is none of run, kernels", word);
	for (size_t i = 0; word && i < sizeof later / sizeof *later; i++)
		if (!strcmp(later[i], word))
			err_set(&err, INFER_EINVAL, "%s is not supported yet", word);
	return say_fail(&err);
}

/* An option of another subject, by what to say; NULL: none. */
static const char *stray(const struct bench_opts *o, const char *subject)
{
	const struct engine_args *e = &o->engine;

	if (!strcmp(subject, "run"))
		return o->filters.n ? "--filter goes with kernels only" : NULL;
	if (o->prompts || o->tokens || o->depth || o->seqs || o->clock)
		return "-p, -n, --depth, --seqs and --clock go with run only";
	if (e->ctx || e->kv_type || e->act_type || e->kv_bytes || e->prefill_chunk || e->step_ms ||
	    e->no_prefix_cache)
		return "options of the engine, but -t and --isa, go with run only";
	return NULL;
}

static int subject(const struct bench_opts *o, struct opt_rest *rest)
{
	for (size_t i = 0; rest->n_words && i < sizeof subjects / sizeof *subjects; i++) {
		if (strcmp(subjects[i].name, rest->words[0]))
			continue;
		if (rest->n_words > 1) {
			say_error("%s takes no argument: '%.60s'", subjects[i].name,
			          rest->words[1]);
			return EXIT_USAGE;
		}
		const char *why = stray(o, subjects[i].name);

		if (why)
			say_error("%s", why);
		return why ? EXIT_USAGE : subjects[i].run(o, rest);
	}
	return refuse(rest);
}

int main(int argc, char **argv)
{
	struct bench_opts o = { .repeat = 5 };
	struct opt_rest rest;
	int code = start(&program, &o, &o.start, argc, argv, &rest);

	if (code >= 0)
		return code;
	code = subject(&o, &rest);
	opt_rest_fini(&rest);
	return say_end(code);
}
