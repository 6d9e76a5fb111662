/* infer-run/complete.c - answer or continue one prompt. */
#include "plain.h"
#include "prompt.h"
#include "common/progress.h"
#include "common/records.h"
#include "common/say.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The output of an answer. */
struct sink {
	const struct run *run;
	const struct prompt *prompt;
	infer_records *writer; /* records; NULL: text */
	infer_task *task;
	struct buf text;  /* scratch for the next write */
	struct buf whole; /* --no-stream: output so far */
	int text_written; /* text has been printed */
	int aside;        /* 1: the text printed last is reasoning */
	int64_t tokens;   /* tokens of the answer so far */
	int cut_off;      /* a write to standard output failed */
};

/* Print s->text, or add it to the output of --no-stream. */
static int text_send(struct sink *s, infer_error *err)
{
	if (s->text.bad)
		return err_nomem(err);
	s->text_written |= s->text.len > 0;
	if (s->run->o->no_stream) {
		buf_put(&s->whole, s->text.at, s->text.len);
		return s->whole.bad ? err_nomem(err) : INFER_OK;
	}
	int rc = s->text.len ? say_out(s->text.at, s->text.len, err) : INFER_OK;

	s->cut_off = rc != INFER_OK;
	return rc;
}

/* Print text, with U+FFFD for each part that is not UTF-8. */
static int text_write(struct sink *s, const char *at, size_t n, infer_error *err)
{
	buf_clear(&s->text);
	plain_put(&s->text, at, n);
	return text_send(s, err);
}

/* Print the new text of the answer. Reasoning is printed to stderr if that is a terminal. */
static int print_delta(struct sink *s, const struct infer_delta *d, infer_error *err)
{
	if (d->kind == INFER_DELTA_REASONING) {
		s->aside = 1;
		say_aside(d->text.at, d->text.len);
	} else if (s->aside && (d->kind == INFER_DELTA_TEXT || d->kind == INFER_DELTA_CALL)) {
		say_aside(NULL, 0);
	}
	return d->kind == INFER_DELTA_TEXT ? text_write(s, d->text.at, d->text.len, err) : INFER_OK;
}

/* If rc is an error, return it; otherwise write the records of the writer. */
static int send_records(struct sink *s, int rc, infer_error *err)
{
	return records_put(rc, s->writer, STDOUT_FILENO, err);
}

/* Print the tool calls after a text answer, one per line. */
static int write_calls(struct sink *s, const infer_reply *r, infer_error *err)
{
	buf_clear(&s->text);
	plain_calls(&s->text, r, s->text_written);
	return text_send(s, err);
}

static int write_completion(struct sink *s, const struct infer_answer *a, infer_error *err)
{
	struct infer_answer said = *a;
	struct infer_choice c = *a->choices;
	struct infer_run_info info;

	said.choices = &c;
	if (s->run->o->echo) {
		buf_clear(&s->text);
		buf_put(&s->text, s->prompt->text ? s->prompt->text : "", s->prompt->n);
		buf_put(&s->text, c.text.at, c.text.len);
		if (s->text.bad)
			return err_nomem(err);
		c.text = (struct infer_str){ s->text.at, s->text.len };
	}
	run_info(&info, s->run);
	return send_records(s, infer_write_answer(s->writer, &said, &info, err), err);
}

/* Update the progress after a token. The first one ends the progress of the prompt. With -o jsonl, show the
 * progress of the answer, since nothing is printed before its end. */
static void show_progress(struct sink *s)
{
	uint64_t all = s->run->o->max_tokens > 0 ? (uint64_t)s->run->o->max_tokens : 0;

	if (s->run->o->output != OUTPUT_JSONL)
		progress_end();
	else if (!s->tokens)
		progress_begin("answer", PROGRESS_TOKENS, all);
	progress_at(NULL, (uint64_t)++s->tokens, all);
}

/* Print the output of an event. Before the last event, check that the model file is unchanged. */
static int on_event(struct sink *s, const struct infer_got *got, infer_error *err)
{
	int output = s->run->o->output;
	struct infer_delta d;

	if (got->event->kind == INFER_EVENT_DONE)
		TRY(run_unchanged(s->run, INFER_OK, err));
	else
		show_progress(s);
	if (output == OUTPUT_TOKENS && got->event->kind == INFER_EVENT_TOKEN) {
		TRY(infer_write_token(s->writer, got->event, err));
		TRY(s->run->o->no_stream ? INFER_OK : send_records(s, INFER_OK, err));
	}
	while (output == OUTPUT_TEXT && infer_task_delta(s->task, 0, &d))
		TRY(print_delta(s, &d, err));
	return INFER_OK;
}

/* End the output: print the tool calls and the final newline, or the record. */
static int finish_output(struct sink *s, infer_error *err)
{
	const struct infer_fault *f = infer_task_fault(s->task);
	struct infer_answer a = { .created = (int64_t)time(NULL), .load_ms = s->run->load_ms };
	int output = s->run->o->output;

	infer_task_answer(s->task, &a);
	if (output == OUTPUT_TEXT) {
		TRY(write_calls(s, a.choices->reply, err));
		if (!f->kind || s->text_written)
			TRY(text_write(s, "\n", 1, err));
	} else if (output == OUTPUT_JSONL && !f->kind) {
		TRY(write_completion(s, &a, err));
	}
	if (s->run->o->no_stream && !f->kind)
		TRY(output == OUTPUT_TEXT ? say_out(s->whole.at, s->whole.len, err)
		                          : send_records(s, INFER_OK, err));
	return f->kind ? err_set(err, f->error.code, "%s", f->error.message) : INFER_OK;
}

/* Run the request to its end and print its output. */
static int run_request(struct sink *s, size_t n_prompt, infer_error *err)
{
	struct infer_got got;

	progress_begin("prompt", PROGRESS_TOKENS, n_prompt);
	while (!infer_task_ended(s->task)) {
		TRY(run_step(s->run, err));
		for (;;) {
			TRY(infer_runner_next(s->run->runner, &got, err));
			if (!got.task)
				break;
			TRY(on_event(s, &got, err));
		}
	}
	progress_end();
	return finish_output(s, err);
}

/* Start the request; with --echo, print the prompt first. */
static int start_request(struct sink *s, infer_job *j, infer_error *err)
{
	const struct infer_fault *f;

	TRY(infer_runner_start(&s->task, s->run->runner, j, NULL, 0, err));
	f = infer_task_fault(s->task);
	if (f->kind)
		return err_set(err, f->error.code, "%s", f->error.message);
	return s->run->o->echo && s->run->o->output == OUTPUT_TEXT
	               ? text_write(s, s->prompt->text ? s->prompt->text : "", s->prompt->n, err)
	               : INFER_OK;
}

/* Print that the context cut the answer, and how to enlarge the context. */
static void warn_cut(const struct run *r)
{
	struct infer_engine_info info;

	infer_engine_info(r->engine, &info);
	say_warning("the context of %d tokens is full, and the answer is cut; %s", (int)info.ctx,
	            run_more_room(r));
}

/* Print the token counts and rates, with -v. */
static void print_rates(const struct run *r, const struct infer_usage *u)
{
	struct infer_engine_info info;
	char cached[48] = "", read[32] = "", wrote[32] = "", first[32] = "";
	int64_t fresh = u->prompt_tokens - u->cached_tokens;

	infer_engine_info(r->engine, &info);
	if (u->cached_tokens)
		snprintf(cached, sizeof cached, " (%lld cached)", (long long)u->cached_tokens);
	if (u->prefill_ns > 0)
		snprintf(read, sizeof read, " at %.0f/s",
		         (double)fresh * 1e9 / (double)u->prefill_ns);
	if (u->decode_ns > 0)
		snprintf(wrote, sizeof wrote, " at %.0f/s",
		         (double)(u->completion_tokens - 1) * 1e9 / (double)u->decode_ns);
	if (u->first_token_ns)
		snprintf(first, sizeof first, ", first after %.*f s",
		         u->first_token_ns < 10000000 ? 4 : 2, (double)u->first_token_ns / 1e9);
	say_note(1, "%lld tokens read%s%s, %lld written%s%s, %lld of %d context",
	         (long long)u->prompt_tokens, cached, read, (long long)u->completion_tokens, wrote,
	         first, (long long)(u->prompt_tokens + u->completion_tokens), (int)info.ctx);
}

/* The cuts of all answers of --repeat. */
struct cut {
	int context;             /* 1: the context cut an answer */
	const char *unsatisfied; /* the option that an answer cut by -n does not satisfy, or NULL */
};

/* Warn about answers that were cut. A record shows its length itself. */
static void warn_of_cuts(const struct run *r, const struct cut *cut)
{
	if (cut->context)
		warn_cut(r);
	else if (cut->unsatisfied && r->o->output == OUTPUT_TEXT)
		say_warning("-n %lld cut the answer before it satisfied %s",
		            (long long)r->o->max_tokens, cut->unsatisfied);
}

/* Run the request once, and set *cut if the answer was cut. An error of the request is also written as a
 * record. */
static int run_once(const struct run *r, infer_job *j, const struct prompt *prompt,
                    infer_records *w, struct infer_usage *usage, struct cut *cut)
{
	struct sink s = { .run = r, .prompt = prompt, .writer = w };
	struct infer_answer a;
	infer_error err = { 0 };
	int code = EXIT_DONE;

	buf_init(&s.text, MEM_BASE);
	buf_init(&s.whole, MEM_BASE);
	int rc = start_request(&s, j, &err);

	if (!rc)
		rc = run_request(&s, j->request.n_prompt, &err);
	if (rc)
		rc = run_unchanged(r, rc, &err);
	if (s.task) {
		infer_task_answer(s.task, &a);
		*usage = a.choices->usage;
		cut->context |= run_cut(r, a.choices);
		if (!cut->unsatisfied)
			cut->unsatisfied = run_unsatisfied(r, a.choices);
		if (!rc)
			print_rates(r, usage);
		if (a.choices->finish == INFER_FINISH_LENGTH && r->o->fail_on_length)
			code = EXIT_LENGTH;
	}
	if (rc == INFER_EIO && s.text_written && !s.cut_off && !r->o->no_stream)
		(void)say_out("\n", 1, NULL);
	if (rc && rc != INFER_EIO && w)
		(void)send_records(&s, infer_write_error(w, j->id, &err, NULL, NULL), NULL);
	if (rc)
		code = say_fail(&err);
	infer_task_free(s.task);
	buf_fini(&s.text);
	buf_fini(&s.whole);
	return code;
}

/* --with-request: write the request to `asked`, which becomes part of the record. */
static int write_request(infer_job *j, const struct run *r, const struct prompt *p,
                         infer_writer *asked, infer_error *err)
{
	struct infer_asked a = { .job = j };

	if (!asked)
		return INFER_OK;
	if (p->is_chat)
		a.conversation = &p->chat.c;
	else if (!r->o->special)
		a.text = (struct infer_str){ p->words.at, p->words.len };
	infer_writer_clear(asked);
	TRY(infer_api_put_request(asked, &a, err));
	j->asked = infer_writer_text(asked);
	return INFER_OK;
}

static int repeat(struct run *r, infer_job *j, const struct prompt *prompt, infer_records *w,
                  infer_writer *asked)
{
	infer_error err = { 0 };
	char id[24];
	size_t n = (size_t)r->o->repeat, done = 0;
	struct infer_usage *usage = mem_zalloc(MEM_BASE, n, sizeof *usage);
	struct cut cut = { .context = 0 };
	int code = EXIT_DONE;

	if (!usage) {
		say_error("out of memory for --repeat");
		return EXIT_NO_ROOM;
	}
	while (done < n && (code == EXIT_DONE || code == EXIT_LENGTH)) {
		if (!done && r->o->stats)
			stats_ready(r);
		snprintf(id, sizeof id, "%zu", done + 1);
		j->id = id;
		if (write_request(j, r, prompt, asked, &err)) {
			code = say_fail(&err);
			break;
		}
		code = run_once(r, j, prompt, w, &usage[done], &cut);
		if (!done++ && r->o->stats)
			stats_first(r);
	}
	warn_of_cuts(r, &cut);
	if (r->o->stats)
		stats_take(r, usage, done);
	mem_free(usage);
	return code;
}

/* Constrain the answer to calls of the tools, or to a text that satisfies the constraint of the options.
 * *calls: the constraint; NULL: none. */
static int constrain_to_calls(infer_job *j, const struct run *r, const infer_tools *tools,
                              infer_grammar **calls, infer_error *err)
{
	const struct infer_calls_options o = {
		.tools = tools,
		.tokenizer = infer_model_tokenizer(r->model),
		.choice = j->calls < INFER_CALLS_AUTO ? INFER_CALLS_AUTO : j->calls,
		.name = j->calls_name,
		.prompt = j->reply.prompt,
		.prompt_n = j->reply.prompt_n,
		.budget = (uint64_t)r->o->constrain.budget,
		.closed = j->request.reason_limit > 0,
		.answer = j->calls <= INFER_CALLS_AUTO ? j->request.grammar : NULL,
		.answer_source = j->constraint,
	};

	TRY(infer_reply_constrain(calls, j->chat, &o, err));
	if (!*calls)
		return INFER_OK;
	j->request.grammar = *calls;
	if (o.answer)
		j->reply.flags |= INFER_REPLY_EITHER;
	else
		j->constraint = NULL;
	if (o.answer || o.choice > INFER_CALLS_AUTO)
		j->request.reason_close = infer_reply_reasoning(j->chat, o.prompt, o.prompt_n,
		                                                &j->request.reason_open);
	return INFER_OK;
}

/* Set how the answer to a conversation is parsed, and *calls, the constraint on its tool calls (NULL: none).
 * With -o tokens the answer is not parsed. */
static int read_back(infer_job *j, char tail[INFER_REPLY_TAIL], const struct run *r,
                     const struct prompt *prompt, infer_grammar **calls, infer_error *err)
{
	const infer_tokenizer *t = infer_model_tokenizer(r->model);
	const infer_tools *tools = prompt->chat.c.tools;
	const infer_grammar *text = j->request.grammar;
	struct infer_request *q = &j->request;

	if (!prompt->is_chat)
		return INFER_OK;
	const size_t n = infer_reply_tail(t, q->prompt, q->n_prompt, tail);

	j->chat = chat_for(&prompt->chat, tools != NULL);
	j->reply = (struct infer_reply_options){ .tools = tools, .prompt = tail, .prompt_n = n };
	if (infer_reply_special(j->chat, t) && r->o->output != OUTPUT_TOKENS)
		q->flags |= INFER_REQ_SPECIAL_TEXT;
	q->reason_limit = prompt->chat.reason_limit;
	j->calls = constrain_calls(&r->o->constrain, &j->calls_name);
	if (tools && (text || j->calls >= INFER_CALLS_AUTO))
		TRY(constrain_to_calls(j, r, tools, calls, err));
	if (text && text == q->grammar)
		q->free_until = infer_reply_until(j->chat, tail, n);
	if (q->free_until.len || (q->reason_limit && !q->reason_close.len))
		q->reason_close = infer_reply_reasoning(j->chat, tail, n, &q->reason_open);
	if (r->o->output == OUTPUT_TOKENS) {
		j->chat = NULL;
		j->reply = (struct infer_reply_options){ .tools = NULL };
	}
	return INFER_OK;
}

/* Fill the request and run it --repeat times. */
static int answer_prompt(struct run *r, const struct prompt *prompt, const int32_t *ids,
                         size_t n_ids)
{
	infer_error err = { 0 };
	infer_records *w = NULL;
	infer_writer *asked = NULL;
	char tail[INFER_REPLY_TAIL];
	infer_grammar *calls = NULL;
	struct infer_str *stop;
	infer_job j = { .n = 1, .logprobs = -1 };
	int rc = run_stop(&stop, r, &err);

	j.request = (struct infer_request){
		.prompt = ids,
		.n_prompt = n_ids,
		.max_tokens = (int32_t)r->o->max_tokens,
		.sample = r->sampling.o,
		.stop = stop,
		.n_stop = r->o->stop.n,
		.stop_tokens = r->stop_tokens,
		.n_stop_tokens = r->o->stop_tokens.n,
		.top = r->o->logprobs > 0 ? (int32_t)r->o->logprobs : 0,
		.flags = r->o->ignore_eos ? INFER_REQ_IGNORE_EOS : 0,
		.grammar = r->constrain.grammar,
	};
	adapters_use(&j, &r->adapters);
	j.constraint = r->constrain.grammar ? &r->constrain.source : NULL;
	if (r->o->output == OUTPUT_JSONL)
		j.logprobs = (int32_t)r->o->logprobs;
	if (!rc)
		rc = read_back(&j, tail, r, prompt, &calls, &err);
	if (!rc && r->o->output != OUTPUT_TEXT)
		rc = run_writer(&w, r, &err);
	if (!rc && r->o->with_request)
		rc = infer_writer_new(&asked, &err);
	int code = rc ? say_fail(&err) : repeat(r, &j, prompt, w, asked);

	infer_writer_free(asked);
	infer_records_free(w);
	infer_grammar_free(calls);
	mem_free(stop);
	return code;
}

static void report_seed(const struct run *r)
{
	char sentence[48];

	snprintf(sentence, sizeof sentence, "seed %llu", (unsigned long long)r->sampling.o.seed);
	say_log(NULL, INFER_LOG_INFO, sentence);
}

/* Print the prompt with its template applied, with -vv. */
static void show_prompt(const struct prompt *p, size_t n)
{
	say_note(2, "the prompt, %zu tokens:", n);
	say_text(p->text ? p->text : "", p->n);
}

int complete(const struct run_opts *o, const struct opt_rest *rest)
{
	infer_error err = { 0 };
	struct run r;
	struct prompt prompt;
	int32_t *ids = NULL;
	size_t n_ids = 0;
	int rc = run_open(&r, o, rest, &err);

	if (rc)
		return say_fail(&err);
	report_seed(&r);
	const infer_tokenizer *t = infer_model_tokenizer(r.model);

	const struct input_bound bound = run_bound(&r);

	rc = prompt_take(&prompt, o, rest, infer_model_file(r.model),
	                 infer_model_tokenizer(r.model), &bound, &err);
	if (!rc)
		rc = run_confine(o, 0, &err);
	if (!rc)
		rc = prompt_encode(&prompt, o, t, &ids, &n_ids, &err);
	if (!rc && (o->echo || say_verbosity() > 1))
		rc = prompt_render(&prompt, t, &err);
	if (!rc && say_verbosity() > 1)
		show_prompt(&prompt, n_ids);
	if (rc)
		rc = run_unchanged(&r, rc, &err);
	int code = rc ? say_fail(&err) : answer_prompt(&r, &prompt, ids, n_ids);

	infer_ids_free(ids);
	prompt_fini(&prompt);
	run_close(&r);
	return code;
}
