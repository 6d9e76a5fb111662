#include "prompt.h"
#include "common/say.h"
#include "base/err.h"
#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

/* Prompts of more tokens than this show on a terminal how far they are. */
enum { PROGRESS_TOKENS = 512 };

/* Where the events of one request go. */
struct sink {
	const struct run *run;
	infer_writer *writer;           /* records; NULL: text */
	infer_reply *reply;             /* of a conversation */
	struct infer_reply_parts given; /* lengths of what was shown of it */
	char id[24];
	struct buf text;   /* of a record, whole; else scratch of what is written next */
	struct buf events; /* struct infer_event [], with their lists in `tops` */
	struct arena tops;
	int text_written, done, code;
	int cut_off; /* standard output took no more */
	struct infer_usage usage;
};

static void sink_init(struct sink *s, const struct run *r, infer_writer *w, int64_t index)
{
	*s = (struct sink){ .run = r, .writer = w };
	snprintf(s->id, sizeof s->id, "%lld", (long long)index + 1);
	buf_init(&s->text, MEM_BASE);
	buf_init(&s->events, MEM_BASE);
	arena_init(&s->tops, MEM_BASE);
}

static void sink_fini(struct sink *s)
{
	buf_fini(&s->text);
	buf_fini(&s->events);
	arena_fini(&s->tops);
	infer_reply_free(s->reply);
}

static int no_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for the output");
}

/* Text to standard output, with U+FFFD for each part that is not UTF-8. */
static int text_write(struct sink *s, const char *at, size_t n, infer_error *err)
{
	buf_clear(&s->text);
	while (n) {
		size_t good = utf8_check(at, n);

		buf_put(&s->text, at, good);
		if (good < n) {
			buf_puts(&s->text, "\xef\xbf\xbd");
			good += utf8_bad(at + good, n - good);
		}
		at += good;
		n -= good;
	}
	if (s->text.bad)
		return no_memory(err);
	s->text_written |= s->text.len > 0;
	int rc = s->text.len ? say_out(s->text.at, s->text.len, err) : INFER_OK;

	s->cut_off = rc != INFER_OK;
	return rc;
}

/* Take a piece of text: out at once, or into the record. */
static int text_take(struct sink *s, const char *at, size_t n, infer_error *err)
{
	int output = s->run->o->output;

	if (output == OUTPUT_TEXT)
		return text_write(s, at, n, err);
	if (output == OUTPUT_JSONL)
		buf_put(&s->text, at, n);
	return s->text.bad ? no_memory(err) : INFER_OK;
}

/* Reasoning is no answer: people see it, where they look. */
static void show_reasoning(struct sink *s, const struct infer_reply_parts *p)
{
	size_t had = s->given.reasoning.len;

	if (s->run->o->output != OUTPUT_TEXT)
		return;
	if (p->reasoning.len > had)
		say_aside(p->reasoning.at + had, p->reasoning.len - had);
	else if (had && (p->content.len > s->given.content.len || p->n_calls > s->given.n_calls))
		say_aside(NULL, 0);
}

/* An answer that is read back: what is new of its content. */
static int reply_take(struct sink *s, const char *at, size_t n, infer_error *err)
{
	struct infer_reply_parts p;
	size_t had = s->given.content.len;

	TRY(at ? infer_reply_put(s->reply, at, n, err) : infer_reply_end(s->reply, err));
	infer_reply_get(s->reply, &p);
	show_reasoning(s, &p);
	s->given = p;
	return p.content.len > had ? text_take(s, p.content.at + had, p.content.len - had, err)
	                           : INFER_OK;
}

/* Where the answer is text, a call is a line behind it: its name and its arguments. */
static int write_calls(struct sink *s, infer_error *err)
{
	for (size_t i = 0; i < s->given.n_calls; i++) {
		struct infer_reply_call c;

		infer_reply_call(s->reply, i, &c);
		if (s->text_written)
			TRY(text_write(s, "\n", 1, err));
		TRY(text_write(s, c.name.at, c.name.len, err));
		TRY(text_write(s, " ", 1, err));
		TRY(text_write(s, c.arguments.at, c.arguments.len, err));
	}
	return INFER_OK;
}

static int on_token(struct sink *s, const struct infer_event *ev, infer_error *err)
{
	say_progress_end();
	if (s->run->o->output == OUTPUT_TOKENS)
		return infer_write_token(s->writer, ev, err);
	if (s->run->o->logprobs >= 0)
		TRY(event_keep(&s->events, &s->tops, ev, err));
	return s->reply ? reply_take(s, ev->text ? ev->text : "", ev->text_bytes, err)
	                : text_take(s, ev->text, ev->text_bytes, err);
}

static int write_completion(struct sink *s, const struct infer_event *ev, infer_error *err)
{
	struct infer_run_info info;
	struct infer_completion c = {
		.id = s->id,
		.text = s->text.at ? s->text.at : "",
		.text_bytes = s->text.len,
		.finish = ev->finish,
		.code = ev->code,
		.message = ev->message,
		.usage = ev->usage,
		.load_ms = s->run->load_ms,
		.reply = s->reply,
	};

	if (s->run->o->logprobs >= 0) {
		c.tokens = (const struct infer_event *)(const void *)s->events.at;
		c.n_tokens = s->events.len / sizeof *c.tokens;
		c.flags = INFER_RECORD_TOKENS | INFER_RECORD_LOGPROBS;
	}
	run_info(&info, s->run);
	return infer_write_completion(s->writer, &c, &info, err);
}

static int on_done(struct sink *s, const struct infer_event *ev, infer_error *err)
{
	s->done = 1;
	s->usage = ev->usage;
	TRY(run_unchanged(s->run, INFER_OK, err));
	if (ev->finish == INFER_FINISH_LENGTH && s->run->o->fail_on_length)
		s->code = EXIT_LENGTH;
	if (s->reply) {
		TRY(reply_take(s, ev->text ? ev->text : "", ev->text_bytes, err));
		TRY(reply_take(s, NULL, 0, err));
	} else {
		TRY(text_take(s, ev->text, ev->text_bytes, err));
	}
	if (s->run->o->output == OUTPUT_TEXT) {
		TRY(write_calls(s, err));
		if ((ev->finish != INFER_FINISH_ERROR || s->text_written))
			TRY(text_write(s, "\n", 1, err));
	} else if (s->run->o->output == OUTPUT_JSONL && ev->finish != INFER_FINISH_ERROR) {
		TRY(write_completion(s, ev, err));
	}
	if (ev->finish == INFER_FINISH_ERROR)
		return err_set(err, ev->code, "%s", ev->message);
	return INFER_OK;
}

static void show_progress(const struct run *r, uint64_t rows_before, size_t n_prompt)
{
	struct infer_engine_stats st;

	infer_engine_stats(r->engine, &st);
	if (st.decode_rows || st.prefill_rows - rows_before >= n_prompt)
		say_progress_end();
	else
		say_progress("prompt: %llu of %zu tokens",
		             (unsigned long long)(st.prefill_rows - rows_before), n_prompt);
}

/* Step until the request has ended, handing its events to the sink. */
static int drive(struct sink *s, size_t n_prompt, infer_error *err)
{
	infer_engine *e = s->run->engine;
	struct infer_engine_stats before;
	struct infer_event ev;

	infer_engine_stats(e, &before);
	while (!s->done) {
		TRY(infer_engine_step(e, err));
		if (n_prompt > PROGRESS_TOKENS)
			show_progress(s->run, before.prefill_rows, n_prompt);
		while (!s->done && infer_engine_next(e, &ev))
			TRY(ev.kind == INFER_EVENT_TOKEN ? on_token(s, &ev, err)
			                                 : on_done(s, &ev, err));
		if (!s->done && !infer_engine_busy(e))
			return err_set(err, INFER_EDEVICE, "the engine lost the request");
	}
	return INFER_OK;
}

/* Run the request once; *usage is what it took.  An error that belongs to the request becomes a
 * record too. */
static int once(const struct run *r, const struct infer_request *req, const struct prompt *prompt,
                infer_writer *w, int64_t index, struct infer_usage *usage)
{
	infer_error err = { 0 };
	char tail[INFER_REPLY_TAIL];
	const struct infer_reply_options reply = {
		.tools = prompt->chat.c.tools,
		.tools_n = prompt->chat.c.tools_n,
		.prompt = tail,
		.prompt_n = infer_reply_tail(infer_model_tokenizer(r->model), req->prompt,
		                             req->n_prompt, tail),
	};
	struct sink s;
	uint64_t id;

	sink_init(&s, r, w, index);
	int rc = infer_engine_submit(r->engine, req, &id, &err);

	if (!rc && prompt->is_chat && r->o->output != OUTPUT_TOKENS)
		rc = infer_reply_new(&s.reply,
		                     chat_for(&prompt->chat, prompt->chat.c.tools != NULL), &reply,
		                     &err);
	if (!rc && r->o->echo)
		rc = text_take(&s, prompt->text ? prompt->text : "", prompt->n, &err);
	if (!rc)
		rc = drive(&s, req->n_prompt, &err);
	if (rc)
		rc = run_unchanged(r, rc, &err);
	if (rc == INFER_EIO && s.text_written && !s.cut_off)
		(void)say_out("\n", 1, NULL);
	if (rc && rc != INFER_EIO && w)
		(void)infer_write_error(w, s.id, &err, NULL, NULL);
	int code = rc ? say_fail(&err) : s.code;

	*usage = s.usage;
	sink_fini(&s);
	return code;
}

static int repeat(struct run *r, const struct infer_request *req, const struct prompt *prompt,
                  infer_writer *w)
{
	size_t n = (size_t)r->o->repeat, done = 0;
	struct infer_usage *usage = mem_zalloc(MEM_BASE, n, sizeof *usage);
	int code = EXIT_DONE;

	if (!usage) {
		say_error("out of memory for --repeat");
		return EXIT_NO_ROOM;
	}
	while (done < n && (code == EXIT_DONE || code == EXIT_LENGTH)) {
		if (!done && r->o->stats)
			stats_ready(r);
		code = once(r, req, prompt, w, (int64_t)done, &usage[done]);
		if (!done++ && r->o->stats)
			stats_first(r);
	}
	if (r->o->stats)
		stats_take(r, usage, done);
	mem_free(usage);
	return code;
}

/* Stop strings and the rest of the request, then run it. */
static int request(struct run *r, const struct prompt *prompt, const int32_t *ids, size_t n_ids)
{
	infer_error err = { 0 };
	infer_writer *w = NULL;
	size_t n_stop = (size_t)r->o->stop.n;
	struct infer_str *stop = mem_alloc(MEM_BASE, n_stop, sizeof *stop);
	struct infer_request req = {
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
	};
	int rc = stop ? INFER_OK : no_memory(&err);

	if (prompt->is_chat && r->o->output != OUTPUT_TOKENS &&
	    infer_reply_special(chat_for(&prompt->chat, prompt->chat.c.tools != NULL),
	                        infer_model_tokenizer(r->model)))
		req.flags |= INFER_REQ_SPECIAL_TEXT;
	for (size_t i = 0; stop && i < n_stop; i++)
		stop[i] = (struct infer_str){ r->o->stop.at[i], strlen(r->o->stop.at[i]) };
	if (!rc && r->o->output != OUTPUT_TEXT)
		rc = infer_writer_open(&w, 1, &err);
	int code = rc ? say_fail(&err) : repeat(r, &req, prompt, w);

	infer_writer_free(w);
	mem_free(stop);
	return code;
}

static void report_seed(const struct run *r)
{
	char sentence[48];

	snprintf(sentence, sizeof sentence, "seed %llu", (unsigned long long)r->sampling.o.seed);
	say_log(NULL, INFER_LOG_INFO, sentence);
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

	rc = prompt_take(&prompt, o, rest, infer_model_file(r.model), &err);
	if (!rc)
		rc = run_confine(o, 0, &err);
	if (!rc)
		rc = prompt_encode(&prompt, o, t, &ids, &n_ids, &err);
	if (!rc && o->echo)
		rc = prompt_render(&prompt, t, &err);
	if (rc)
		rc = run_unchanged(&r, rc, &err);
	int code = rc ? say_fail(&err) : request(&r, &prompt, ids, n_ids);

	infer_ids_free(ids);
	prompt_fini(&prompt);
	run_close(&r);
	return code;
}
