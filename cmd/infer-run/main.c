#include "opts.h"
#include "common/say.h"

static const struct program program = {
	.name = "infer-run",
	.usage = "infer-run [-m MODEL] [OPTION]... [PROMPT]...",
	.about = "Continue a text with a language model.  The prompt is the arguments, then each -f FILE,\n"
	         "then standard input if it is not a terminal.",
	.rows = run_rows,
};

/* What does not go together, by name; NULL: all is well. */
static const char *conflict(const struct run_opts *o, int n_words)
{
	int tokens_only = o->tokenize || o->detokenize, instead = o->score || tokens_only || o->batch;
	const struct { int is; const char *why; } rules[] = {
		{ o->score + o->tokenize + o->detokenize + !!o->batch > 1,
		  "--score, --tokenize, --detokenize and --batch exclude each other" },
		{ o->resume && !o->batch, "--resume goes with --batch only" },
		{ o->batch && (n_words || o->files.n), "--batch takes its prompts from the file: no other prompt goes with it" },
		{ o->batch && o->output != OUTPUT_DEFAULT && o->output != OUTPUT_JSONL, "--batch writes JSON lines: only -o jsonl goes with it" },
		{ o->bos && !o->tokenize, "--bos goes with --tokenize only" },
		{ instead && o->echo, "--echo goes with continuing a prompt only" },
		{ instead && !o->batch && o->fail_on_length, "--fail-on-length goes with continuing a prompt only" },
		{ instead && !o->batch && o->logprobs >= 0, "--logprobs goes with continuing a prompt only" },
		{ tokens_only && o->output > OUTPUT_TEXT, "--tokenize and --detokenize have one form of output: not with -o" },
		{ tokens_only && o->stats, "--stats needs a model that computes: not with --tokenize or --detokenize" },
		{ instead && o->repeat > 1, "--repeat goes with continuing a prompt only" },
		{ o->score && o->output == OUTPUT_TOKENS, "--score writes text or one record: not with -o tokens" },
		{ o->echo && o->output == OUTPUT_TOKENS, "--echo goes with -o text and jsonl only" },
		{ o->logprobs >= 0 && o->output <= OUTPUT_TEXT && !o->batch, "--logprobs needs records: -o jsonl or -o tokens" },
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].is)
			return rules[i].why;
	return NULL;
}

int main(int argc, char **argv)
{
	struct run_opts o = { .sampling = SAMPLING_ARGS, .max_tokens = -1, .output = OUTPUT_DEFAULT, .logprobs = -1, .repeat = 1 };
	struct opt_rest rest;
	int code = start(&program, &o, &o.start, argc, argv, &rest);

	if (code >= 0)
		return code;
	const char *why = conflict(&o, rest.n_words);

	if (o.output == OUTPUT_DEFAULT)
		o.output = OUTPUT_TEXT;
	if (why) {
		say_error("%s", why);
		code = EXIT_USAGE;
	} else if (o.tokenize) {
		code = tokenize(&o, &rest);
	} else if (o.detokenize) {
		code = detokenize(&o, &rest);
	} else {
		code = o.batch ? batch(&o, &rest) : o.score ? score(&o, &rest) : complete(&o, &rest);
	}
	opt_rest_fini(&rest);
	return say_end(code);
}
