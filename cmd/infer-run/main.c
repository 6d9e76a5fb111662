/* infer-run/main.c - options, then one call. */
#include "opts.h"
#include "handoff.h"
#include "common/env.h"
#include "common/out.h"
#include "common/say.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static const struct help_line examples[] = {
	{ "infer-run \"Why is the sky blue?\"", "ask the built-in model" },
	{ "infer-run -m m.gguf -i", "talk" },
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
		 "not a terminal: what a user says, where the model has a chat template; with "
		 "--raw, a text to go on with.",
	.examples = examples,
	.rows = run_rows,
};

static int is_stdin(const char *path) { return path && !strcmp(path, "-"); }

/* -i reads standard input, and answers with text. */
static const char *conflict_talking(const struct run_opts *o, const struct opt_rest *rest)
{
	const struct {
		int is;
		const char *why;
	} rules[] = {
		{ o->output > OUTPUT_TEXT, "-i answers with text: not with -o" },
		{ o->sandbox, "-i opens files as it goes: --sandbox does not go with it" },
		{ o->stats, "-i has /stats: --stats does not go with it" },
		{ o->no_stdin, "-i reads standard input: not with --no-stdin" },
		{ input_names_stdin(rest, &o->files) || is_stdin(o->chat.messages),
		  "-i reads standard input: -f and --messages cannot, too" },
		{ constrain_given(&o->constrain) != NULL,
		  "-i answers freely: constraints do not go with it" },
		{ o->chat.tools != NULL, "-i cannot carry out calls: --tools does not go with it" },
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].is)
			return rules[i].why;
	return NULL;
}

static const char *conflict_lines(const struct run_opts *o, const struct opt_rest *rest)
{
	int words = 0, from_stdin = input_names_stdin(rest, &o->files) || !o->files.n;

	for (int i = 0; i < rest->n_words; i++)
		words += !is_stdin(rest->words[i]);
	const struct {
		int is;
		const char *why;
	} rules[] = {
		{ words > 0, "--lines takes its prompts from standard input and -f: no other goes "
		             "with it" },
		{ o->chat.messages != NULL,
		  "--lines has a conversation for each line: --messages does not go with it" },
		{ o->output == OUTPUT_TOKENS, "--lines answers with text or -o jsonl" },
		{ from_stdin && is_stdin(o->chat.tools),
		  "--lines and --tools cannot both be standard input" },
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].is)
			return rules[i].why;
	return NULL;
}

/* Is an option given of drawing tokens, or of where that ends? */
static int draws(const struct run_opts *o)
{
	return sampling_given(&o->sampling) || o->max_tokens >= 0 || o->stop.n ||
	       o->stop_tokens.n || o->ignore_eos || constrain_given(&o->constrain);
}

/* Everything but the engine and the template is in the records. */
static const char *conflict_replay(const struct run_opts *o, int n_words)
{
	const struct chat_args *c = &o->chat;

	if (n_words || o->files.n || c->system || c->messages || c->tools || c->args ||
	    c->think >= 0 || o->raw || o->special)
		return "--replay takes its prompts from the records: no other goes with it";
	if (draws(o))
		return "--replay takes its options from the records: none of sampling and of "
		       "stopping goes with it";
	if (o->output == OUTPUT_TOKENS)
		return "--replay writes a line or records: not with -o tokens";
	return NULL;
}

/* Two things to do instead of continuing a prompt, as a message; NULL: at most one is given. */
static const char *conflict_instead(const struct run_opts *o, char *text, size_t room)
{
	const struct {
		int is;
		const char *name;
	} all[] = {
		{ o->score, "--score" },
		{ o->tokenize, "--tokenize" },
		{ o->detokenize, "--detokenize" },
		{ o->render, "--render" },
		{ o->embed != EMBED_NONE && !o->batch && !o->lines, "--embed" },
		{ o->batch != NULL, "--batch" },
		{ o->lines, "--lines" },
		{ o->interactive, "-i" },
		{ o->replay != NULL, "--replay" },
	};
	const char *first = NULL;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (all[i].is && first) {
			snprintf(text, room, "%s and %s exclude each other", first, all[i].name);
			return text;
		}
		first = all[i].is ? all[i].name : first;
	}
	return NULL;
}

/* What does not go with how the output is written. */
static const char *conflict_output(const struct run_opts *o)
{
	int records = o->output == OUTPUT_JSONL || o->output == OUTPUT_TOKENS || o->batch;
	const struct {
		int is;
		const char *why;
	} rules[] = {
		{ o->fields && !records,
		  "--fields goes with records: -o jsonl, -o tokens or --batch" },
		{ o->fields && o->resume,
		  "--resume reads its records again: --fields does not go with it" },
		{ o->out && o->interactive, "-i talks: --out does not go with it" },
		{ o->out && o->resume,
		  "--resume writes to its own file: --out does not go with it" },
		{ o->out && o->sandbox,
		  "--out gives the file its name in the end, which --sandbox forbids" },
		{ o->no_stream && o->interactive,
		  "-i shows answers as they come: --no-stream does not go with it" },
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].is)
			return rules[i].why;
	return NULL;
}

/* Open --out, which must not be a file that is read; says why not, and returns the exit code. */
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

static const char *conflict_constrain(const struct run_opts *o, char *text, size_t room)
{
	const struct constrain_args *c = &o->constrain;

	if (constrain_given(c) && o->chat.tools)
		return "a constraint beside --tools is not supported";
	if (c->tool_choice && !o->chat.tools && !o->batch)
		return "--tool-choice goes with --tools or --batch only";
	if ((c->lax_schema || c->format_annotation) && !c->json_schema && !o->batch)
		return "--lax-schema and --format-annotation go with --json-schema or --batch only";
	return constrain_conflict(c, text, room);
}

/* A vector, instead of an answer. */
static const char *conflict_embed(const struct run_opts *o)
{
	int embeds = o->embed != EMBED_NONE;

	if (o->no_normalize && !embeds)
		return "--no-normalize goes with --embed only";
	if (!embeds)
		return NULL;
	return o->output == OUTPUT_TOKENS ? "--embed writes text or records: not with -o tokens"
	       : o->with_request   ? "--with-request is for answers: --embed does not go with it"
	       : o->fail_on_length ? "--fail-on-length: an embedding has no length"
	       : o->logprobs >= 0  ? "--logprobs: an embedding has no tokens"
	                           : NULL;
}

/* What does not go together, by name; NULL: all is well. */
static const char *conflict(const struct run_opts *o, const struct opt_rest *rest)
{
	int no_model = o->tokenize || o->detokenize || o->render, many = o->batch || o->lines,
	    embeds = o->embed != EMBED_NONE,
	    instead = o->score || embeds || no_model || many || o->interactive || o->replay;
	int as_it_is = o->score || embeds || o->tokenize || o->detokenize,
	    talk = chat_given(&o->chat);
	const struct {
		int is;
		const char *why;
	} rules[] = {
		{ o->raw && talk, "--raw gives the model the bytes as they are: no conversation" },
		{ as_it_is && talk, "--score, --embed and --tokenize take a text as it is" },
		{ o->batch && o->chat.messages,
		  "--batch has conversations: --messages does not go with it" },
		{ o->resume && !o->batch, "--resume goes with --batch only" },
		{ o->ordered && !many, "--ordered goes with --batch only" },
		{ (o->mix || o->retry_errors) && !o->resume,
		  "--mix and --retry-errors go with --resume only" },
		{ o->batch && (rest->n_words || o->files.n),
		  "--batch takes its prompts from the file: no other goes with it" },
		{ o->batch && o->output != OUTPUT_DEFAULT && o->output != OUTPUT_JSONL,
		  "--batch writes JSON lines: only -o jsonl goes with it" },
		{ is_stdin(o->batch) && is_stdin(o->chat.tools),
		  "--batch and --tools cannot both be standard input" },
		{ o->bos && !o->tokenize, "--bos goes with --tokenize only" },
		{ instead && o->echo, "--echo goes with continuing a prompt only" },
		{ instead && !many && o->fail_on_length,
		  "--fail-on-length goes with continuing a prompt only" },
		{ instead && !many && o->logprobs >= 0,
		  "--logprobs goes with continuing a prompt only" },
		{ no_model && o->output > OUTPUT_TEXT,
		  "--tokenize, --detokenize, --render have one form of output" },
		{ no_model && o->stats, "--stats needs a model that computes" },
		{ instead && o->repeat > 1, "--repeat goes with continuing a prompt only" },
		{ o->score && o->output == OUTPUT_TOKENS,
		  "--score writes text or one record: not with -o tokens" },
		{ o->echo && o->output == OUTPUT_TOKENS,
		  "--echo goes with -o text and jsonl only" },
		{ o->with_request && o->score,
		  "--with-request: the record of --score has the tokens, which are its request" },
		{ o->with_request &&
		          ((instead && !many) || (o->output != OUTPUT_JSONL && !o->batch)),
		  "--with-request needs records of answers: -o jsonl or --batch" },
		{ o->with_request && o->echo,
		  "--echo changes the text of the record: --with-request does not go with it" },
		{ o->logprobs >= 0 && o->output <= OUTPUT_TEXT && !o->batch,
		  "--logprobs needs records: -o jsonl or -o tokens" },
		{ as_it_is && draws(o),
		  "without drawn tokens -n, --stop and sampling have no effect" },
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].is)
			return rules[i].why;
	return o->interactive ? conflict_talking(o, rest)
	       : o->lines     ? conflict_lines(o, rest)
	       : o->replay    ? conflict_replay(o, rest->n_words)
	                      : NULL;
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
	char text[96];
	const char *instead;
	o.lines |= o.null;
	const char *why = conflict_instead(&o, text, sizeof text);

	if (!why)
		why = conflict_constrain(&o, text, sizeof text);
	if (!why)
		why = conflict(&o, &rest);
	if (!why)
		why = conflict_embed(&o);
	if (!why)
		why = conflict_output(&o);
	if (!why && o.server && (instead = handoff_conflict(&o, &rest))) {
		snprintf(text, sizeof text, "%.40s cannot be handed to a server (%s)", instead,
		         env_name(o.server) ? "INFER_SERVER" : "--server");
		why = text;
	}
	if (o.output == OUTPUT_DEFAULT)
		o.output = OUTPUT_TEXT;
	if (why) {
		say_error("%s", why);
		code = EXIT_USAGE;
	} else if ((code = open_out(&o))) {
		/* it was said why */
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
