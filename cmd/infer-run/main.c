#include "opts.h"
#include "common/say.h"
#include "base/clock.h"
#include <string.h>

static const struct program program = {
	.name = "infer-run",
	.usage = "infer-run [-m MODEL] [OPTION]... [PROMPT]...",
	.about = "Answer with a language model, or continue a text.  The prompt is the arguments, "
		 "then each\n"
		 "-f FILE, then standard input if it is not a terminal: what a user says, where "
		 "the model\n"
		 "has a chat template; with --raw, a text to go on with.",
	.rows = run_rows,
};

static int has(const struct opt_list *l, const char *word)
{
	for (int i = 0; i < l->n; i++)
		if (!strcmp(l->at[i], word))
			return 1;
	return 0;
}

/* -i reads standard input, and answers with text. */
static const char *conflict_talking(const struct run_opts *o)
{
	const struct {
		int is;
		const char *why;
	} rules[] = {
		{ o->output > OUTPUT_TEXT, "-i answers with text: not with -o" },
		{ o->sandbox, "-i opens files as it goes (its history, /load, /save): --sandbox "
		              "does not go with it" },
		{ o->stats, "-i has /stats: --stats does not go with it" },
		{ o->no_stdin, "-i reads standard input: not with --no-stdin" },
		{ has(&o->files, "-") || (o->chat.messages && !strcmp(o->chat.messages, "-")),
		  "-i reads standard input: no file of -f or --messages can be that, too" },
		{ o->chat.tools != NULL, "-i cannot carry out calls: --tools does not go with it" },
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].is)
			return rules[i].why;
	return NULL;
}

/* What does not go together, by name; NULL: all is well. */
static const char *conflict(const struct run_opts *o, int n_words)
{
	int no_model = o->tokenize || o->detokenize || o->render,
	    instead = o->score || no_model || o->batch || o->interactive;
	int as_it_is = o->score || o->tokenize || o->detokenize, talk = chat_given(&o->chat);
	const struct {
		int is;
		const char *why;
	} rules[] = {
		{ o->score + o->tokenize + o->detokenize + o->render + o->interactive + !!o->batch >
		          1,
		  "--score, --tokenize, --detokenize, --render, --batch and -i exclude each "
		  "other" },
		{ o->raw && talk, "--raw gives the model the bytes as they are: nothing of a "
		                  "conversation goes with it" },
		{ as_it_is && talk, "--score, --tokenize and --detokenize take a text as it is: "
		                    "nothing of a conversation goes with them" },
		{ o->batch && o->chat.messages,
		  "--batch takes its conversations from the file: --messages does not go with it" },
		{ o->resume && !o->batch, "--resume goes with --batch only" },
		{ (o->mix || o->retry_errors) && !o->resume,
		  "--mix and --retry-errors go with --resume only" },
		{ o->batch && (n_words || o->files.n),
		  "--batch takes its prompts from the file: no other prompt goes with it" },
		{ o->batch && o->output != OUTPUT_DEFAULT && o->output != OUTPUT_JSONL,
		  "--batch writes JSON lines: only -o jsonl goes with it" },
		{ o->batch && !strcmp(o->batch, "-") && o->chat.tools &&
		          !strcmp(o->chat.tools, "-"),
		  "--batch and --tools cannot both be standard input" },
		{ o->bos && !o->tokenize, "--bos goes with --tokenize only" },
		{ instead && o->echo, "--echo goes with continuing a prompt only" },
		{ instead && !o->batch && o->fail_on_length,
		  "--fail-on-length goes with continuing a prompt only" },
		{ instead && !o->batch && o->logprobs >= 0,
		  "--logprobs goes with continuing a prompt only" },
		{ no_model && o->output > OUTPUT_TEXT,
		  "--tokenize, --detokenize and --render have one form of output: not with -o" },
		{ no_model && o->stats, "--stats needs a model that computes: not with --tokenize, "
		                        "--detokenize or --render" },
		{ instead && o->repeat > 1, "--repeat goes with continuing a prompt only" },
		{ o->score && o->output == OUTPUT_TOKENS,
		  "--score writes text or one record: not with -o tokens" },
		{ o->echo && o->output == OUTPUT_TOKENS,
		  "--echo goes with -o text and jsonl only" },
		{ o->logprobs >= 0 && o->output <= OUTPUT_TEXT && !o->batch,
		  "--logprobs needs records: -o jsonl or -o tokens" },
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].is)
			return rules[i].why;
	return o->interactive ? conflict_talking(o) : NULL;
}

int main(int argc, char **argv)
{
	struct run_opts o = { .main_ns = clock_now_ns(),
		              .exec_ns = clock_process_ns(),
		              .chat = CHAT_ARGS,
		              .max_tokens = -1,
		              .output = OUTPUT_DEFAULT,
		              .logprobs = -1,
		              .repeat = 1 };
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
	} else if (o.detokenize || o.render) {
		code = o.render ? render(&o, &rest) : detokenize(&o, &rest);
	} else {
		code = o.interactive ? repl(&o, &rest)
		       : o.batch     ? batch(&o, &rest)
		       : o.score     ? score(&o, &rest)
		                     : complete(&o, &rest);
	}
	opt_rest_fini(&rest);
	return say_end(code);
}
