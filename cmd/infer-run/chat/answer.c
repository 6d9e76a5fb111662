/* infer-run/chat/answer.c - compute and print the answer to a turn. */
#include "repl.h"
#include "common/progress.h"
#include <infer/reply.h>
#include "base/clock.h"
#include "base/err.h"

#include <string.h>

struct answer {
	struct buf ids;
	infer_job job;
	infer_task *task;
	struct infer_choice choice; /* the answer so far, borrowed from the task */
	struct infer_str thought;
	int stopped;
	int64_t computed, took_ns; /* prompt tokens computed; total time */
};

/* ---- the prompt ---- */

/* --raw: join the texts of all turns, in their order. */
static int raw_ids(struct repl *r, int32_t **ids, size_t *n, infer_error *err)
{
	const infer_tokenizer *t = infer_model_tokenizer(r->run.model);
	struct buf text;
	int rc = INFER_OK;

	buf_init(&text, MEM_BASE);
	for (size_t i = 0; !rc && i < conversation_count(&r->conversation); i++)
		rc = conversation_content(&r->conversation, i, &text, err);
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

	c.turns = r->conversation.turns;
	return infer_chat_encode(r->chat.template, t, &c, ids, n, err);
}

/* Make the token ids of the prompt, int32_t []. If the ids of the previous prompt and answer decode to the
 * start of the text, reuse them, so that the prefix cache applies. */
static int make_prompt_ids(struct repl *r, struct buf *prompt, infer_error *err)
{
	struct infer_model_info model;
	struct infer_engine_info info;
	int32_t *fresh = NULL, *ids = NULL;
	size_t n_fresh = 0, n = 0;
	int rc = r->chat.template ? chat_ids(r, &fresh, &n_fresh, err)
	                          : raw_ids(r, &fresh, &n_fresh, err);

	if (!rc)
		rc = infer_splice(&ids, &n, infer_model_tokenizer(r->run.model),
		                  (const int32_t *)(const void *)r->ids.at,
		                  r->ids.len / sizeof(int32_t), fresh, n_fresh, err);
	buf_put(prompt, ids, n * sizeof *ids);
	if (!rc && prompt->bad)
		rc = err_nomem(err);
	infer_ids_free(fresh);
	infer_ids_free(ids);
	if (rc)
		return rc;
	infer_model_info(r->run.model, &model);
	infer_engine_info(r->run.engine, &info);
	if (!n)
		return err_set(err, INFER_EINVAL,
		               "there is no turn to answer, and this model needs a first token");
	if (n + 1 > (size_t)info.ctx)
		return err_set(
			err, INFER_ENOMEM,
			"the context is full: the conversation has %zu tokens, the context %d; "
			"/clear begins a new one, "
			"/edit changes the last turn%s",
			n, (int)info.ctx,
			info.ctx < model.ctx_train ? ", and -c makes the context larger" : "");
	return INFER_OK;
}

/* ---- the answer ---- */

/* Fill the job. stop: the texts of --stop. tail: must outlive the job */
static void fill_job(struct repl *r, infer_job *j, const struct buf *prompt,
                     const struct infer_str *stop, char tail[INFER_REPLY_TAIL])
{
	*j = (infer_job){ .n = 1, .logprobs = -1, .chat = r->chat.template };
	j->request = (struct infer_request){
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
	adapters_use(j, &r->run.adapters);
	/* another seed each time, so that /regen gives another answer */
	j->request.sample.seed += (uint64_t)r->drawn;
	j->reply.prompt = tail;
	j->reply.prompt_n = infer_reply_tail(infer_model_tokenizer(r->run.model), j->request.prompt,
	                                     j->request.n_prompt, tail);
	if (!r->chat.reason_limit)
		return;
	j->request.reason_limit = r->chat.reason_limit;
	j->request.reason_close =
		infer_reply_reasoning(j->chat, tail, j->reply.prompt_n, &j->request.reason_open);
}

/* Copy the current state of the task. */
static void read_task(struct answer *a)
{
	struct infer_reply_parts p = { .n_calls = 0 };
	struct infer_answer all;

	infer_task_answer(a->task, &all);
	a->choice = *all.choices;
	if (a->choice.reply)
		infer_reply_get(a->choice.reply, &p);
	a->thought = p.reasoning;
}

static int handle_event(struct repl *r, struct answer *a, const struct infer_got *got,
                        infer_error *err)
{
	const struct infer_event *ev = got->event;
	struct infer_delta d;
	int rc = INFER_OK;

	if (ev->kind == INFER_EVENT_TOKEN)
		buf_put(&a->ids, &ev->token, sizeof ev->token);
	if (a->ids.bad)
		return err_nomem(err);
	if (ev->text_bytes || ev->kind == INFER_EVENT_DONE)
		progress_end();
	while (!rc && infer_task_delta(a->task, 0, &d))
		if (d.kind == INFER_DELTA_REASONING || d.kind == INFER_DELTA_TEXT)
			rc = screen_text(&r->screen,
			                 d.kind == INFER_DELTA_TEXT ? SCREEN_ANSWER
			                                            : SCREEN_THOUGHT,
			                 d.text.at, d.text.len, err);
	r->end |= rc == INFER_EIO; /* standard output is closed */
	return rc;
}

static int run_task(struct repl *r, struct answer *a, size_t n_prompt, infer_error *err)
{
	const struct infer_fault *f = infer_task_fault(a->task);
	struct infer_got got;

	progress_begin("prompt", PROGRESS_TOKENS, n_prompt);
	while (!infer_task_ended(a->task)) {
		if (!a->stopped && chat_input_stopped(&r->input)) {
			a->stopped = 1;
			infer_task_cancel(a->task);
		}
		TRY(run_step(&r->run, err));
		for (;;) {
			TRY(infer_runner_next(r->run.runner, &got, err));
			if (!got.task)
				break;
			TRY(handle_event(r, a, &got, err));
		}
	}
	return f->kind ? err_set(err, f->error.code, "%s", f->error.message) : INFER_OK;
}

static int generate(struct repl *r, struct answer *a, size_t n_prompt, infer_error *err)
{
	struct infer_engine_stats before, now;

	TRY(infer_runner_start(&a->task, r->run.runner, &a->job, NULL, 0, err));
	chat_input_busy(&r->input);
	screen_begin(&r->screen);
	infer_engine_stats(r->run.engine, &before);
	int64_t began = clock_now_ns();
	int rc = run_task(r, a, n_prompt, err);

	infer_engine_stats(r->run.engine, &now);
	a->computed = (int64_t)(now.prefill_rows - before.prefill_rows);
	a->took_ns = clock_now_ns() - began;
	read_task(a);
	chat_input_idle(&r->input);
	progress_end();
	if (!r->end && (a->choice.text.len || (!rc && !a->stopped))) {
		infer_error why = { 0 };

		if (screen_end(&r->screen, &why)) {
			r->end = 1;
			return rc ? rc : err_set(err, why.code, "%s", why.message);
		}
	}
	return rc;
}

/* Add the answer to the tallies. If it was stopped during the prompt, there is no usage: use a->computed and
 * a->took_ns. */
static void count_answer(struct repl *r, const struct answer *a, int kept)
{
	const struct infer_usage *u = &a->choice.usage;
	struct tally *last = &r->last, *all = &r->all;

	*last = (struct tally){ .answers = kept,
		                .prompt = u->prompt_tokens,
		                .cached = u->cached_tokens,
		                .computed = u->prompt_tokens - u->cached_tokens,
		                .answered = u->completion_tokens,
		                .prefill_ns = u->prefill_ns,
		                .decode_ns = u->decode_ns };
	if (!kept && !u->completion_tokens) {
		last->computed = a->computed;
		last->prefill_ns = a->took_ns;
	}
	r->drawn += kept || u->completion_tokens;
	if (!kept)
		return;
	all->answers++;
	all->prompt += last->prompt;
	all->cached += last->cached;
	all->computed += last->computed;
	all->answered += last->answered;
	all->prefill_ns += last->prefill_ns;
	all->decode_ns += last->decode_ns;
}

/* Add the answer to the conversation, without bytes that are not UTF-8. */
static int add_answer(struct repl *r, const struct answer *a, const struct buf *prompt,
                      infer_error *err)
{
	struct buf text, thought;

	buf_init(&text, MEM_BASE);
	buf_init(&thought, MEM_BASE);
	screen_clean(&text, a->choice.text.at, a->choice.text.len);
	screen_clean(&thought, a->thought.at, a->thought.len);
	int rc = text.bad || thought.bad
	                 ? err_nomem(err)
	                 : conversation_add(&r->conversation, "assistant", &text, &thought, err);

	buf_fini(&text);
	buf_fini(&thought);
	TRY(rc);
	buf_clear(&r->ids);
	buf_put(&r->ids, prompt->at, prompt->len);
	buf_put(&r->ids, a->ids.at, a->ids.len);
	if (r->ids.bad) /* the next prompt is tokenised from the start */
		buf_clear(&r->ids);
	return INFER_OK;
}

/* Print a notice if the answer was stopped or cut. */
static void print_notice(struct repl *r, const struct answer *a)
{
	struct infer_engine_info info;
	int64_t used = a->choice.usage.prompt_tokens + a->choice.usage.completion_tokens;

	infer_engine_info(r->run.engine, &info);
	if (a->stopped && a->choice.text.len)
		screen_note(&r->screen, "(stopped; the text so far stays in the conversation)");
	else if (a->stopped)
		screen_note(&r->screen, "(stopped before the first word; the turn is removed)");
	else if (a->choice.finish == INFER_FINISH_LENGTH && used >= info.ctx)
		screen_note(&r->screen,
		            "(the context of %d tokens is full, and the answer is cut; /clear "
		            "begins a new conversation)",
		            (int)info.ctx);
	else if (a->choice.finish == INFER_FINISH_LENGTH)
		screen_note(&r->screen, "(cut after %lld token%s, by -n)",
		            (long long)a->choice.usage.completion_tokens,
		            a->choice.usage.completion_tokens == 1 ? "" : "s");
}

int repl_waits(const struct repl *r)
{
	size_t n = conversation_count(&r->conversation);

	return n && conversation_is(&r->conversation, n - 1, "user");
}

/* Generate an answer and add it to the conversation. */
static int generate_answer(struct repl *r, struct answer *a, const struct buf *prompt, int *kept,
                           infer_error *err)
{
	int rc = generate(r, a, a->job.request.n_prompt, err);

	rc = run_unchanged(&r->run, rc, err);
	r->end |= rc == INFER_EIO;
	TRY(rc);
	*kept = !a->stopped || a->choice.text.len;
	count_answer(r, a, *kept);
	if (*kept)
		rc = add_answer(r, a, prompt, err);
	print_notice(r, a);
	return rc;
}

int repl_answer(struct repl *r, int *kept, infer_error *err)
{
	struct answer a = { 0 };
	struct infer_str *stop = NULL;
	char tail[INFER_REPLY_TAIL];
	struct buf prompt;

	*kept = 0;
	buf_init(&prompt, MEM_BASE);
	buf_init(&a.ids, MEM_BASE);
	int rc = make_prompt_ids(r, &prompt, err);

	if (!rc)
		rc = run_stop(&stop, &r->run, err);
	if (!rc) {
		fill_job(r, &a.job, &prompt, stop, tail);
		rc = generate_answer(r, &a, &prompt, kept, err);
	} else {
		rc = run_unchanged(&r->run, rc, err);
		r->end |= rc == INFER_EIO;
	}
	/* cancels the request if it still runs */
	infer_task_free(a.task);
	mem_free(stop);
	buf_fini(&prompt);
	buf_fini(&a.ids);
	return rc;
}

int repl_say(struct repl *r, size_t at, const struct buf *text, infer_error *err)
{
	int kept = 0;

	TRY(conversation_keep(&r->conversation, err));
	conversation_cut(&r->conversation, at);
	int rc = conversation_add(&r->conversation, "user", text, NULL, err);

	if (!rc)
		rc = repl_answer(r, &kept, err);
	if (rc || !kept)
		conversation_undo(&r->conversation);
	return rc;
}
