#include "repl.h"
#include "splice.h"
#include "common/say.h"
#include <infer/reply.h>
#include "base/err.h"
#include <string.h>

/* Prompts of which more tokens than this have to be computed show on a terminal how far they
 * are. */
enum { PROGRESS_TOKENS = 512 };

struct answer {
	struct buf ids;
	struct buf text, thought; /* so far, and shown */
	infer_reply *reply;       /* tells one from the other; NULL: --raw, all is text */
	struct infer_usage usage;
	int finish, done, stopped;
};

static int no_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for the conversation");
}

/* ---- the prompt ---- */

/* --raw: what was said and answered, one behind the other. */
static int raw_ids(struct repl *r, int32_t **ids, size_t *n, infer_error *err)
{
	const infer_tokenizer *t = infer_model_tokenizer(r->run.model);
	struct buf text;
	int rc = INFER_OK;

	buf_init(&text, MEM_BASE);
	for (size_t i = 0; !rc && i < r->talk.n; i++)
		rc = talk_content(&r->talk, i, &text, err);
	if (!rc)
		rc = infer_encode(t, text.at ? text.at : "", text.len,
		                  INFER_ENCODE_ADD | (r->o.special ? INFER_ENCODE_SPECIAL : 0u),
		                  ids, n, err);
	buf_fini(&text);
	return rc;
}

static int chat_ids(struct repl *r, int32_t **ids, size_t *n, infer_error *err)
{
	const infer_tokenizer *t = infer_model_tokenizer(r->run.model);
	struct infer_conversation c = r->chat.c;
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = talk_print(&r->talk, &text, err);

	c.messages = text.at;
	c.messages_n = text.len;
	if (!rc)
		rc = infer_chat_encode(r->chat.template, t, &c, ids, n, err);
	buf_fini(&text);
	return rc;
}

/* *prompt: int32_t [].  What was computed for the turns before is its front, wherever it spells the
 * same. */
static int prompt_ids_take(struct repl *r, struct buf *prompt, infer_error *err)
{
	struct infer_model_info model;
	struct infer_engine_info info;
	int32_t *fresh = NULL;
	size_t n_fresh = 0;
	int rc = r->chat.template ? chat_ids(r, &fresh, &n_fresh, err)
	                          : raw_ids(r, &fresh, &n_fresh, err);

	if (!rc)
		rc = splice(prompt, infer_model_tokenizer(r->run.model), &r->ids, fresh, n_fresh,
		            err);
	infer_ids_free(fresh);
	if (rc)
		return rc;
	size_t n = prompt->len / sizeof(int32_t);

	infer_model_info(r->run.model, &model);
	infer_engine_info(r->run.engine, &info);
	if (!n)
		return err_set(err, INFER_EINVAL,
		               "there is nothing to answer, and this model needs a first token");
	if (n + 1 > (size_t)info.ctx)
		return err_set(err, INFER_ENOMEM,
		               "the context is full: the conversation takes %zu tokens of %d; "
		               "/clear begins a new one, "
		               "/edit changes the last turn%s",
		               n, (int)info.ctx,
		               info.ctx < model.ctx_train ? ", and -c gives more room" : "");
	return INFER_OK;
}

/* ---- the answer ---- */

static int submit(struct repl *r, const struct buf *prompt, uint64_t *id, infer_error *err)
{
	size_t n_stop = (size_t)r->o.stop.n;
	struct infer_str *stop = mem_alloc(MEM_BASE, n_stop, sizeof *stop);
	struct infer_request req = {
		.prompt = (const int32_t *)(const void *)prompt->at,
		.n_prompt = prompt->len / sizeof(int32_t),
		.max_tokens = (int32_t)r->o.max_tokens,
		.sample = r->run.sampling.o,
		.stop = stop,
		.n_stop = r->o.stop.n,
		.stop_tokens = r->run.stop_tokens,
		.n_stop_tokens = r->o.stop_tokens.n,
		.flags = (r->o.ignore_eos ? INFER_REQ_IGNORE_EOS : 0u) |
		         (r->special ? INFER_REQ_SPECIAL_TEXT : 0u),
	};

	if (!stop)
		return no_memory(err);
	for (size_t i = 0; i < n_stop; i++)
		stop[i] = (struct infer_str){ r->o.stop.at[i], strlen(r->o.stop.at[i]) };
	/* or an answer that is written again would be the same again */
	req.sample.seed += (uint64_t)r->answers;
	int rc = infer_engine_submit(r->run.engine, &req, id, err);

	mem_free(stop);
	return rc;
}

static int reply_new(struct repl *r, struct answer *a, const struct buf *prompt, infer_error *err)
{
	char tail[INFER_REPLY_TAIL];
	const struct infer_reply_options o = {
		.prompt = tail,
		.prompt_n = infer_reply_tail(infer_model_tokenizer(r->run.model),
		                             (const int32_t *)(const void *)prompt->at,
		                             prompt->len / sizeof(int32_t), tail),
	};

	return r->chat.template ? infer_reply_new(&a->reply, r->chat.template, &o, err) : INFER_OK;
}

/* What has come to stand behind what `had` holds already. */
static int grow(struct repl *r, struct buf *had, enum screen_style style, const char *at, size_t n,
                infer_error *err)
{
	size_t from = had->len;

	buf_put(had, at + from, n - from);
	if (had->bad)
		return no_memory(err);
	return screen_text(&r->screen, style, had->at + from, n - from, err);
}

static int show(struct repl *r, struct answer *a, const char *text, size_t n, infer_error *err)
{
	struct infer_reply_parts p;

	if (!a->reply) {
		buf_put(&a->text, text, n);
		return a->text.bad ? no_memory(err)
		                   : screen_text(&r->screen, SCREEN_ANSWER, text, n, err);
	}
	if (n)
		TRY(infer_reply_put(a->reply, text, n, err));
	if (a->done)
		TRY(infer_reply_end(a->reply, err));
	infer_reply_get(a->reply, &p);
	if (p.reasoning.len > a->thought.len)
		TRY(grow(r, &a->thought, SCREEN_THOUGHT, p.reasoning.at, p.reasoning.len, err));
	if (p.content.len > a->text.len)
		TRY(grow(r, &a->text, SCREEN_ANSWER, p.content.at, p.content.len, err));
	return INFER_OK;
}

static int take(struct repl *r, struct answer *a, const struct infer_event *ev, infer_error *err)
{
	if (ev->kind == INFER_EVENT_TOKEN)
		buf_put(&a->ids, &ev->token, sizeof ev->token);
	if (a->ids.bad)
		return no_memory(err);
	a->done = ev->kind == INFER_EVENT_DONE;
	if (ev->text_bytes || a->done)
		say_progress_end();
	int rc = show(r, a, ev->text, ev->text_bytes, err);

	r->end |= rc == INFER_EIO; /* nobody can be answered any more */
	TRY(rc);
	if (!a->done)
		return INFER_OK;
	a->finish = ev->finish;
	a->usage = ev->usage;
	return ev->finish == INFER_FINISH_ERROR ? err_set(err, ev->code, "%s", ev->message)
	                                        : INFER_OK;
}

static void show_progress(const struct repl *r, uint64_t before, size_t n)
{
	struct infer_engine_stats st;

	infer_engine_stats(r->run.engine, &st);
	if (st.prefill_rows - before < n)
		say_progress("prompt: %llu of at most %zu tokens",
		             (unsigned long long)(st.prefill_rows - before), n);
}

static int drive(struct repl *r, struct answer *a, uint64_t id, size_t n_prompt, infer_error *err)
{
	infer_engine *e = r->run.engine;
	struct infer_engine_stats before;
	struct infer_event ev;

	infer_engine_stats(e, &before);
	while (!a->done) {
		if (!a->stopped && front_stopped(&r->front)) {
			a->stopped = 1;
			(void)infer_engine_cancel(e, id); /* it may have ended */
		}
		TRY(infer_engine_step(e, err));
		if (n_prompt > PROGRESS_TOKENS && !a->ids.len)
			show_progress(r, before.prefill_rows, n_prompt);
		while (!a->done && infer_engine_next(e, &ev))
			TRY(take(r, a, &ev, err));
		if (!a->done && !infer_engine_busy(e))
			return err_set(err, INFER_EDEVICE, "the engine lost the request");
	}
	return INFER_OK;
}

/* Whatever ended it, nothing of it may run on. */
static void settle(struct repl *r, uint64_t id)
{
	struct infer_event ev;

	(void)infer_engine_cancel(r->run.engine, id);
	while (infer_engine_busy(r->run.engine)) {
		if (infer_engine_step(r->run.engine, NULL))
			break;
		while (infer_engine_next(r->run.engine, &ev))
			;
	}
}

static int generate(struct repl *r, struct answer *a, const struct buf *prompt, infer_error *err)
{
	uint64_t id;

	TRY(reply_new(r, a, prompt, err));
	TRY(submit(r, prompt, &id, err));
	front_busy(&r->front);
	int rc = drive(r, a, id, prompt->len / sizeof(int32_t), err);

	if (rc)
		settle(r, id);
	front_idle(&r->front);
	say_progress_end();
	if (!r->end && (a->text.len || (!rc && !a->stopped))) {
		infer_error why = { 0 };

		if (screen_text(&r->screen, SCREEN_ANSWER, "\n", 1, &why)) {
			r->end = 1;
			return rc ? rc : err_set(err, why.code, "%s", why.message);
		}
	}
	return rc;
}

static void count(struct repl *r, const struct answer *a)
{
	const struct infer_usage *u = &a->usage;

	r->last = *u;
	r->answers++;
	r->all.prompt_tokens += u->prompt_tokens;
	r->all.cached_tokens += u->cached_tokens;
	r->all.completion_tokens += u->completion_tokens;
	r->all.prefill_ns += u->prefill_ns;
	r->all.decode_ns += u->decode_ns;
}

/* Bytes that never became UTF-8 are no text of a conversation. */
static int keep(struct repl *r, const struct answer *a, const struct buf *prompt, infer_error *err)
{
	struct buf text, thought;

	buf_init(&text, MEM_BASE);
	buf_init(&thought, MEM_BASE);
	screen_clean(&text, a->text.at, a->text.len);
	screen_clean(&thought, a->thought.at, a->thought.len);
	int rc = text.bad || thought.bad ? no_memory(err)
	                                 : talk_add(&r->talk, "assistant", &text, &thought, err);

	buf_fini(&text);
	buf_fini(&thought);
	TRY(rc);
	buf_clear(&r->ids);
	buf_put(&r->ids, prompt->at, prompt->len);
	buf_put(&r->ids, a->ids.at, a->ids.len);
	if (r->ids.bad) /* the next prompt is tokenised anew */
		buf_clear(&r->ids);
	return INFER_OK;
}

static void remark(struct repl *r, const struct answer *a)
{
	struct infer_engine_info info;
	int64_t used = a->usage.prompt_tokens + a->usage.completion_tokens;

	infer_engine_info(r->run.engine, &info);
	if (a->stopped && a->text.len)
		screen_note(&r->screen, "(stopped; what there is stays in the conversation)");
	else if (a->stopped)
		screen_note(&r->screen, "(stopped before the first word; the turn is taken back)");
	else if (a->finish == INFER_FINISH_LENGTH && used >= info.ctx)
		screen_note(&r->screen,
		            "(the context of %d tokens is full, and the answer is cut; /clear "
		            "begins a new conversation)",
		            (int)info.ctx);
	else if (a->finish == INFER_FINISH_LENGTH)
		screen_note(&r->screen, "(cut after %lld tokens, by -n)",
		            (long long)a->usage.completion_tokens);
}

int repl_waits(const struct repl *r)
{
	size_t n = r->talk.n;

	return n && talk_is(&r->talk, n - 1, "user");
}

int repl_answer(struct repl *r, int *kept, infer_error *err)
{
	struct answer a = { 0 };
	struct buf prompt;

	*kept = 0;
	buf_init(&prompt, MEM_BASE);
	buf_init(&a.text, MEM_BASE);
	buf_init(&a.thought, MEM_BASE);
	buf_init(&a.ids, MEM_BASE);
	int rc = prompt_ids_take(r, &prompt, err);

	if (!rc)
		rc = generate(r, &a, &prompt, err);
	rc = run_unchanged(&r->run, rc, err);
	r->end |= rc == INFER_EIO;
	if (!rc) {
		count(r, &a);
		*kept = !a.stopped || a.text.len;
		if (*kept)
			rc = keep(r, &a, &prompt, err);
		remark(r, &a);
	}
	buf_fini(&prompt);
	buf_fini(&a.text);
	buf_fini(&a.thought);
	buf_fini(&a.ids);
	infer_reply_free(a.reply);
	return rc;
}

int repl_say(struct repl *r, size_t at, const struct buf *text, infer_error *err)
{
	struct talk before;
	int kept = 0;

	TRY(talk_copy(&before, &r->talk, err));
	talk_cut(&r->talk, at);
	int rc = talk_add(&r->talk, "user", text, NULL, err);

	if (!rc)
		rc = repl_answer(r, &kept, err);
	if (rc || !kept) {
		talk_fini(&r->talk);
		r->talk = before;
	} else {
		talk_fini(&before);
	}
	return rc;
}
