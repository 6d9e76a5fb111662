/* infer-bench/main.c - options, then one call. */
#include "opts.h"
#include "suite.h"
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
	{ "convert", "records from and to llama-bench and vLLM" },
	{ "kernels", "every inner loop: GB/s, GOP/s, and its part of the ceiling" },
	{ NULL, NULL },
};
static const struct help_line examples[] = {
	{ "infer-bench run -m m.gguf -p 512 --seqs 1,8", "alone, and eight at once" },
	{ "infer-bench serve --url unix:s --rate 5", "a server" },
	{ "infer-bench compare base.jsonl new.jsonl", "exit code 8: slower" },
	{ NULL, NULL },
};
static const struct program program = {
	.name = "infer-bench",
	.usage = "infer-bench run|kernels|serve [OPTION]...\n"
		 "       infer-bench ab|compare|plot|report|convert [OPTION]... ARG...",
	.brief = "Measure, beside what the machine can in the same run.",
	.subjects = lines,
	.examples = examples,
	.rows = bench_rows,
};

static const struct {
	const char *name;
	int (*run)(const struct bench_opts *o, const struct opt_rest *rest);
	unsigned of;
} subjects[] = {
	{ "run", run, BENCH_RUN },
	{ "serve", serve, BENCH_SERVE },
	{ "ab", ab, BENCH_AB },
	{ "compare", compare, BENCH_COMPARE },
	{ "plot", plot, BENCH_PLOT },
	{ "report", report, BENCH_REPORT },
	{ "convert", convert, BENCH_CONVERT },
	{ "kernels", kernels, BENCH_KERNELS },
};
static int refuse(const struct opt_rest *rest)
{
	infer_error err;
	const char *word = rest->n_words ? rest->words[0] : NULL;

	if (!word)
		err_set(&err, INFER_EINVAL,
		        "nothing to measure is named: run, serve, ab, compare, plot, report, "
		        "convert or kernels");
	else
		err_set(&err, INFER_EINVAL, "nothing called '%.20s': infer-bench -h lists all",
		        word);
	return say_fail(&err);
}

static int subject(const struct bench_opts *o, struct opt_rest *rest)
{
	for (size_t i = 0; rest->n_words && i < sizeof subjects / sizeof *subjects; i++) {
		if (strcmp(subjects[i].name, rest->words[0]))
			continue;
		if (rest->n_words > 1 && !(subjects[i].of & BENCH_TAKE_WORDS)) {
			say_error("%s takes no argument: '%.60s'", subjects[i].name,
			          rest->words[1]);
			return EXIT_USAGE;
		}
		const char *why = bench_stray(o, subjects[i].of);

		if (why)
			say_error("%s", why);
		return why ? EXIT_USAGE : subjects[i].run(o, rest);
	}
	return refuse(rest);
}

/* Each run of a suite has the options of the line, and then its own. */
static int suite(const struct bench_opts *given, const struct opt_rest *outer)
{
	static struct opt rows[OPT_ROWS_MAX];
	struct suite s;
	infer_error err;
	int code = EXIT_DONE, rc = suite_read(&s, given->suite, outer->words[0], &err);

	opt_rows(rows, bench_rows);
	for (size_t i = 0; !rc && i < s.n; i++) {
		struct bench_opts o = *given;
		struct opt_rest rest;
		int one;

		o.suite = NULL;
		o.follows = i > 0;
		opt_rest_init(&rest);
		rc = opt_parse(rows, &o, s.runs[i].argc, s.runs[i].argv, &rest, &err);
		say_note(1, "%s", s.runs[i].name);
		one = !rc && !o.suite ? subject(&o, &rest) : EXIT_USAGE;
		if (!rc && o.suite)
			say_error("%s: a suite in a suite", given->suite);
		opt_rest_fini(&rest);
		if (!rc && one && one != EXIT_SOME)
			code = one, i = s.n;
		code = code ? code : one;
	}
	suite_fini(&s);
	return rc ? say_fail(&err) : code;
}

int main(int argc, char **argv)
{
	struct bench_opts o = { .repeat = 5,
		                .seed = 1,
		                .warmup = 2,
		                .timeout = 600,
		                .tolerance = 2,
		                .rounds = 20,
		                .max_rounds = 100 };
	struct opt_rest rest;
	int code = start(&program, &o, &o.start, argc, argv, &rest);

	if (code >= 0)
		return code;
	int listed = o.suite && rest.n_words == 1 &&
	             (!strcmp(rest.words[0], "run") || !strcmp(rest.words[0], "serve"));

	code = listed ? suite(&o, &rest) : subject(&o, &rest);
	opt_rest_fini(&rest);
	return say_end(code);
}
