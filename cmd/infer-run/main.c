/* infer-run/main.c - parse and check the options, then call the function of the mode. */
#include "opts.h"
#include "handoff.h"
#include "common/env.h"
#include "common/out.h"
#include "common/say.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct help_line examples[] = {
	{ "infer-run \"What is a token?\"", "ask the built-in model" },
	{ "infer-run -m m.gguf -i", "chat" },
	{ "infer-run -m m.gguf --raw Once upon a time", "continue a text" },
	{ "infer-run -m m.gguf -f report.txt \"In short:\"", "ask about a file" },
	{ "dmesg | infer-run -m m.gguf \"What broke?\"", "ask about a pipe's text" },
	{ "infer-run -m m.gguf --batch in --resume out", "many requests" },
	{ NULL, NULL },
};
static const struct program program = {
	.name = "infer-run",
	.usage = "infer-run [-m MODEL] [OPTION]... [PROMPT]...",
	.brief = "Answer with a language model, or continue a text.",
	.about = "The prompt is the arguments, then each -f FILE, then standard input if it is "
		 "not a terminal. It is the user's turn if the model has a chat template; with "
		 "--raw, or without one, a text to continue.",
	.examples = examples,
	.rows = run_rows,
};

static int is_stdin(const char *path) { return path && !strcmp(path, "-"); }

/* Return the error message if prompts are given that the mode does not read, or if two options read standard
 * input; otherwise NULL. */
static const char *find_input_conflict(const struct run_opts *o, const struct opt_rest *rest)
{
	const int f_stdin = input_names_stdin(rest, &o->files);
	int words = 0;

	for (int i = 0; i < rest->n_words; i++)
		words += !is_stdin(rest->words[i]);
	const struct {
		int is;
		const char *why;
	} rules[] = {
		{ o->batch && rest->n_words, "--batch reads its prompts from the file only" },
		{ o->replay && rest->n_words, "--replay reads its prompts from the records only" },
		{ o->lines && words, "--lines reads its prompts from standard input and -f only" },
		{ o->interactive && (f_stdin || is_stdin(o->chat.messages)),
		  "-i reads standard input: -f and --messages must not" },
		{ is_stdin(o->batch) && is_stdin(o->chat.tools),
		  "--batch and --tools cannot both be standard input" },
		{ o->lines && (f_stdin || !o->files.n) && is_stdin(o->chat.tools),
		  "--lines and --tools cannot both be standard input" },
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].is)
			return rules[i].why;
	return NULL;
}

/* Check that the options go together. Prints its own errors; returns the exit code. */
static int check_options(const struct run_opts *o, const struct opt_rest *rest)
{
	static struct opt rows[OPT_ROWS_MAX];
	const struct opt_modes modes = { .active = 0 };
	const struct opt *local;
	char name[OPT_NAME_MAX + 3];
	infer_error err = { 0 };

	opt_rows(rows, run_rows);
	if (opt_check(rows, o, rest, &modes, &err))
		return say_fail(&err);
	const char *why = find_input_conflict(o, rest);

	if (why) {
		say_error("%s", why);
		return EXIT_USAGE;
	}
	if (o->server && (local = opt_without_mark(rows, rest, OPT_SERVER))) {
		say_error("%s cannot be handed to a server (%s)", opt_name(local, name),
		          env_name(o->server) ? "INFER_SERVER" : "--server");
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

/* Return what the reference of a model needs before it: nothing if it is one already. */
static const char *find_store(const char *model)
{
	if (!access(model, F_OK) || !strcmp(model, "demo") || infer_hub_is_ref(model))
		return "";
	return strchr(model, '/') ? "hf:" : "ollama:";
}

/* Warn of "run MODEL", which is a command of other programs and a prompt here. */
static void warn_of_run(const struct run_opts *o, const struct opt_rest *rest)
{
	const char *model = rest->n_words == 2 ? rest->words[1] : "";

	if (o->model || o->server || !*model || strpbrk(model, " \t\n") ||
	    strcmp(rest->words[0], "run"))
		return;
	say_warning("'run %.60s' is the prompt here; a model is given with -m, as in -m %s%.60s",
	            model, find_store(model), model);
}

/* Open --out, which must not be a file that is read. Prints its own errors; returns the exit code. */
static int open_out(const struct run_opts *o)
{
	const char *const inputs[] = {
		o->model, o->chat.messages, o->chat.tools,           o->chat.template,
		o->batch, o->replay,        o->no_stdin ? NULL : "-"
	};
	infer_error err = { 0 };
	int rc = INFER_OK;

	if (!o->out)
		return EXIT_DONE;
	for (size_t i = 0; !rc && i < sizeof inputs / sizeof *inputs; i++)
		rc = out_is_not("--out ", o->out, inputs[i], &err);
	for (int i = 0; !rc && i < o->files.n; i++)
		rc = out_is_not("--out ", o->out, o->files.at[i], &err);
	if (!rc)
		rc = out_open(o->out, &err);
	return rc ? say_fail(&err) : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct run_opts o = { .main_ns = clock_now_ns(),
		              .exec_ns = clock_process_ns(),
		              .chat = CHAT_ARGS,
		              .max_tokens = -1,
		              .output = OUTPUT_DEFAULT,
		              .embed = EMBED_NONE,
		              .logprobs = -1,
		              .repeat = 1 };
	struct opt_rest rest;
	int code = start(&program, &o, &o.start, argc, argv, &rest);

	if (code >= 0)
		return code;
	o.lines |= o.null;
	code = check_options(&o, &rest);
	if (o.output == OUTPUT_DEFAULT)
		o.output = OUTPUT_TEXT;
	if (!code)
		warn_of_run(&o, &rest);
	if (!code)
		code = open_out(&o);
	if (code) {
		/* the error has been printed */
	} else if (o.server) {
		code = handoff(&o, &rest);
	} else if (o.tokenize) {
		code = tokenize(&o, &rest);
	} else if (o.detokenize || o.render) {
		code = o.render ? render(&o, &rest) : detokenize(&o, &rest);
	} else {
		code = o.interactive           ? repl(&o, &rest)
		       : o.batch               ? batch(&o, &rest)
		       : o.lines               ? batch(&o, &rest)
		       : o.score               ? score(&o, &rest)
		       : o.embed != EMBED_NONE ? embed(&o, &rest)
		       : o.replay              ? replay(&o, &rest)
		                               : complete(&o, &rest);
	}
	opt_rest_fini(&rest);
	return out_end(code);
}
