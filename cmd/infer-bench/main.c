/* infer-bench/main.c - parse and check the options, then call the sub-command. */
#include "opts.h"
#include "suite.h"
#include "common/say.h"
#include "base/err.h"

#include <string.h>

static const struct help_line lines[] = {
	{ "run", "a model: tokens per second of prefill and decode, and the limit" },
	{ "serve", "a server: latencies and throughput under a load" },
	{ "ab", "two commands or servers in alternation: which is faster" },
	{ "compare", "two files of records: which metrics became better or worse" },
	{ "plot", "a figure of records, in the terminal or in a file" },
	{ "report", "records as one page of HTML" },
	{ "convert", "records from and to llama-bench and vLLM" },
	{ "kernels", "every inner loop: GB/s, GOP/s, and the fraction of the ceiling" },
	{ NULL, NULL },
};
static const struct help_line examples[] = {
	{ "infer-bench run -m m.gguf -p 512 --seqs 1,8", "one sequence, and eight" },
	{ "infer-bench serve --url unix:s --rate 5", "a server" },
	{ "infer-bench compare base.jsonl new.jsonl", "exit code 8: slower" },
	{ NULL, NULL },
};
static const struct program program = {
	.name = "infer-bench",
	.usage = "infer-bench run|kernels|serve [OPTION]...\n"
		 "       infer-bench ab|compare|plot|report|convert [OPTION]... ARG...",
	.brief = "Measure models and servers, and the limits of the machine in the same run.",
	.subjects = lines,
	.examples = examples,
	.rows = bench_rows,
};

#define NAME(name, NAME) #name,
#define RUN(name, NAME) name,
static const char *const subject_names[] = { BENCH_SUBJECTS(NAME) NULL };
static int (*const subject_runs[])(const struct bench_opts *o,
                                   const struct opt_rest *rest) = { BENCH_SUBJECTS(RUN) };
#undef NAME
#undef RUN

static int refuse_subject(const struct opt_rest *rest)
{
	infer_error err;
	const char *word = rest->n_words ? rest->words[0] : NULL;

	if (!word)
		err_set(&err, INFER_EINVAL,
		        "no sub-command: run, serve, ab, compare, plot, report, convert "
		        "or kernels");
	else
		err_set(&err, INFER_EINVAL,
		        "'%.20s' is not a sub-command: infer-bench -h lists them", word);
	return say_fail(&err);
}

/* Run the sub-command that the first word names; rows: result of opt_rows(). */
static int run_subject(const struct opt *rows, const struct bench_opts *o, struct opt_rest *rest)
{
	infer_error err = { 0 };

	for (int i = 0; rest->n_words && subject_names[i]; i++) {
		const struct opt_modes modes = { 1u << i, subject_names };

		if (strcmp(subject_names[i], rest->words[0]))
			continue;
		if (rest->n_words > 1 && !(modes.active & BENCH_TAKE_WORDS)) {
			say_error("%s takes no argument: '%.60s'", subject_names[i],
			          rest->words[1]);
			return EXIT_USAGE;
		}
		return opt_check(rows, o, rest, &modes, &err) ? say_fail(&err)
		                                              : subject_runs[i](o, rest);
	}
	return refuse_subject(rest);
}

/* Run each line of a suite, with the options of the command line and then its own. */
static int run_suite(const struct opt *rows, const struct bench_opts *given,
                     const struct opt_rest *outer)
{
	struct suite s;
	infer_error err;
	int code = EXIT_DONE, rc = suite_read(&s, given->suite, outer->words[0], &err);

	for (size_t i = 0; !rc && i < s.n; i++) {
		struct bench_opts o = *given;
		struct opt_rest rest;
		int one;

		o.suite = NULL;
		o.follows = i > 0;
		opt_rest_init(&rest);
		memcpy(rest.given, outer->given, sizeof rest.given);
		rc = opt_parse(rows, &o, s.runs[i].argc, s.runs[i].argv, &rest, &err);
		say_note(1, "%s", s.runs[i].name);
		one = !rc && !o.suite ? run_subject(rows, &o, &rest) : EXIT_USAGE;
		if (!rc && o.suite)
			say_error("%s: a suite must not name a suite", given->suite);
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
	struct bench_opts o = {
		.repeat = 5, .seed = 1, .warmup = 2, .timeout = 600, .tolerance = 2, .max_time = 90
	};
	static struct opt rows[OPT_ROWS_MAX];
	struct opt_rest rest;
	int code = start(&program, &o, &o.start, argc, argv, &rest);

	if (code >= 0)
		return code;
	int listed = o.suite && rest.n_words == 1 &&
	             (!strcmp(rest.words[0], "run") || !strcmp(rest.words[0], "serve"));

	opt_rows(rows, bench_rows);
	code = listed ? run_suite(rows, &o, &rest) : run_subject(rows, &o, &rest);
	opt_rest_fini(&rest);
	return say_end(code);
}
