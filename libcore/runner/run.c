/* runner/run.c - run jobs on an engine: submit samples, collect their events, report the new
 * parts */
#include <infer/runner.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "runner/delta.h"
#include "runner/embedding.h"

#include <math.h>
#include <string.h>

/* maximum inputs of one embeddings request in the engine at a time */
enum { AT_ONCE = 64 };

struct sample {
	infer_task *task;
	uint64_t id;              /* id of the sample in the engine */
	int live;                 /* submitted, and not yet DONE */
	int echoed;               /* bits: 1: the prompt's first token, 2: its text */
	infer_reply *reply;       /* parses the answer of a conversation; otherwise NULL */
	struct buf text, events;  /* events: struct infer_event [], their lists in `tops` */
	struct buf prompt, ranks; /* events of the prompt's tokens; int32_t [] */
	struct arena tops;
	size_t reasoning; /* bytes of reasoning up to the last event */
	struct delta_given given;
};
struct infer_task {
	infer_runner *runner;
	infer_task *prev, *next;
	infer_job *job;
	void *user;
	uint32_t flags;
	int32_t n; /* number of samples */
	int32_t submitted, ended, live;
	int dropped; /* cancelled by the caller: freed with its last event */
	int usage_given;
	struct infer_fault fault;
	struct infer_choice *choices; /* [n] */
	float *vectors;               /* [n][n_embd] embeddings */
	int32_t n_embd;
	struct sample samples[];
};
struct infer_runner {
	infer_engine *engine;
	const infer_model *model;
	infer_task *tasks;
	int32_t live; /* number of live samples */
	struct infer_event event;
};

int infer_runner_new(infer_runner **out, infer_engine *e, const infer_model *m, infer_error *err)
{
	infer_runner *r = mem_zalloc(MEM_JOB, 1, sizeof *r);

	*out = r;
	if (!r)
		return err_nomem(err);
	r->engine = e;
	r->model = m;
	return INFER_OK;
}

static void task_free(infer_task *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		t->runner->tasks = t->next;
	if (t->next)
		t->next->prev = t->prev;
	for (int32_t i = 0; i < t->n; i++) {
		struct sample *s = &t->samples[i];

		buf_fini(&s->text);
		buf_fini(&s->events);
		buf_fini(&s->prompt);
		buf_fini(&s->ranks);
		arena_fini(&s->tops);
		infer_reply_free(s->reply);
	}
	if (t->flags & INFER_TASK_OWNS_JOB)
		infer_job_free(t->job);
	mem_free(t->choices);
	mem_free(t->vectors);
	mem_free(t);
}

void infer_task_cancel(infer_task *t)
{
	for (int32_t i = 0; i < t->submitted; i++)
		if (t->samples[i].live)
			(void)infer_engine_cancel(t->runner->engine, t->samples[i].id);
	t->ended += t->n - t->submitted;
	t->submitted = t->n;
}

void infer_task_free(infer_task *t)
{
	if (!t)
		return;
	infer_task_cancel(t);
	t->dropped = 1;
	if (!t->live)
		task_free(t);
}

void infer_runner_free(infer_runner *r)
{
	struct infer_got got;
	infer_task *next;

	if (!r)
		return;
	for (infer_task *t = r->tasks; t; t = next) {
		next = t->next;
		infer_task_free(t);
	}
	/* deliver all events before the tasks are freed, even on failure */
	while (r->tasks && !infer_engine_step(r->engine, NULL) && infer_engine_busy(r->engine))
		(void)infer_runner_next(r, &got, NULL);
	while (r->tasks)
		task_free(r->tasks);
	mem_free(r);
}

/* ---- beginning ---- */

/* Set the pointers of the choice to the results of its sample, which may have moved. */
static void update_choice(struct sample *s)
{
	struct infer_choice *c = &s->task->choices[s - s->task->samples];
	struct infer_reply_parts p;

	c->reply = s->reply;
	c->text = (struct infer_str){ s->text.at ? s->text.at : "", s->text.len };
	c->tokens = (const struct infer_event *)(const void *)s->events.at;
	c->n_tokens = s->events.len / sizeof *c->tokens;
	c->prompt_tokens = (const struct infer_event *)(const void *)s->prompt.at;
	c->n_prompt_tokens = s->prompt.len / sizeof *c->prompt_tokens;
	c->ranks = (const int32_t *)(const void *)s->ranks.at;
	if (!s->reply)
		return;
	infer_reply_get(s->reply, &p);
	c->text = p.content;
}

/* Set the fault of the task to the error of sample i, unless it has one. */
static void set_fault(infer_task *t, int32_t i, const infer_error *e)
{
	const struct infer_request *q = &t->job->request;
	size_t n = infer_job_prompt(t->job, i).n;
	struct infer_engine_info info;

	if (t->fault.kind)
		return;
	infer_engine_info(t->runner->engine, &info);
	t->fault = (struct infer_fault){ .error = *e, .kind = infer_fault_kind(e->code) };
	if (e->code != INFER_ENOMEM || n + (q->max_tokens != 0) <= (size_t)info.ctx)
		return;
	t->fault.kind = INFER_FAULT_TOO_LONG;
	t->fault.n_prompt = (int64_t)n;
	t->fault.n_ctx = info.ctx;
	if (q->embed) {
		t->fault.param = "input";
		err_set(&t->fault.error, e->code,
		        "input %d is too large: it has %zu tokens, and the context %d", (int)i, n,
		        (int)info.ctx);
	} else {
		err_set(&t->fault.error, e->code,
		        "the request exceeds the available context size: %s", e->message);
	}
}

/* Submit the samples before `to`.  A sample that the engine refuses ends with a fault. */
static void submit_samples(infer_task *t, int32_t to)
{
	while (t->submitted < to) {
		struct sample *s = &t->samples[t->submitted];
		struct infer_request q = t->job->request;
		struct infer_prompt p = infer_job_prompt(t->job, t->submitted);
		infer_error e = { 0 };

		q.prompt = p.ids;
		q.n_prompt = p.n;
		q.second = (int32_t)p.second;
		if (t->job->echo && t->job->logprobs >= 0 && !t->job->chat)
			q.flags |= INFER_REQ_SCORE;
		if (t->job->prompt_logprobs)
			q.flags |= INFER_REQ_SCORE | INFER_REQ_LOGITS;
		/* of the samples that share a prompt, one reports its progress */
		if (t->job->progress && !(t->submitted % infer_job_each(t->job)))
			q.flags |= INFER_REQ_PROGRESS;
		q.sample.seed = infer_job_seed(t->job, t->submitted);
		q.user = s;
		if (q.embed)
			q.embedding = t->vectors + (size_t)t->submitted * (size_t)t->n_embd;
		t->submitted++;
		s->live = !infer_engine_submit(t->runner->engine, &q, &s->id, &e);
		t->live += s->live;
		t->runner->live += s->live;
		if (s->live)
			continue;
		t->ended++;
		set_fault(t, (int32_t)(s - t->samples), &e);
	}
}

static int new_vectors(infer_task *t, int32_t n)
{
	struct infer_model_info info;

	infer_model_info(t->runner->model, &info);
	t->n_embd = info.n_embedding;
	t->vectors = mem_alloc(MEM_JOB, (size_t)n, (size_t)t->n_embd * sizeof *t->vectors);
	return t->vectors ? INFER_OK : INFER_ENOMEM;
}

static int task_new(infer_task **out, infer_runner *r, infer_job *j)
{
	int32_t n = j->fault.error.code ? 0 : j->n;
	infer_task *t = mem_zalloc(MEM_JOB, 1, sizeof *t + (size_t)n * sizeof *t->samples);

	*out = NULL;
	if (!t)
		return INFER_ENOMEM;
	t->runner = r;
	t->job = j;
	t->next = r->tasks;
	if (t->next)
		t->next->prev = t;
	r->tasks = t;
	t->n = n;
	for (int32_t i = 0; i < n; i++) {
		t->samples[i].task = t;
		buf_init(&t->samples[i].text, MEM_JOB);
		buf_init(&t->samples[i].events, MEM_JOB);
		buf_init(&t->samples[i].prompt, MEM_JOB);
		buf_init(&t->samples[i].ranks, MEM_JOB);
		arena_init(&t->samples[i].tops, MEM_JOB);
	}
	t->choices = mem_zalloc(MEM_JOB, (size_t)n, sizeof *t->choices);
	if (n && j->request.embed && new_vectors(t, n))
		goto fail;
	for (int32_t i = 0; t->choices && i < n; i++) {
		if (j->chat && infer_reply_new(&t->samples[i].reply, j->chat, &j->reply, NULL))
			goto fail;
		update_choice(&t->samples[i]);
		t->choices[i].finish = INFER_FINISH_CANCELLED;
		t->choices[i].message = "";
		t->choices[i].stop = -1;
	}
	*out = t;
	if (t->choices)
		return INFER_OK;
fail:
	*out = NULL;
	task_free(t);
	return INFER_ENOMEM;
}

int infer_runner_start(infer_task **out, infer_runner *r, infer_job *j, void *user, uint32_t flags,
                       infer_error *err)
{
	if (task_new(out, r, j))
		return err_nomem(err);
	(*out)->user = user;
	(*out)->flags = flags;
	(*out)->fault = j->fault;
	if ((*out)->n)
		submit_samples(*out, j->request.embed ? (int32_t)num_min((*out)->n, AT_ONCE) : 1);
	if ((*out)->fault.kind) /* the other samples would fail too */
		infer_task_cancel(*out);
	return INFER_OK;
}

/* ---- running ---- */

int infer_runner_busy(const infer_runner *r)
{
	for (const infer_task *t = r->tasks; t; t = t->next)
		if (!t->dropped && !infer_task_ended(t))
			return 1;
	return 0;
}

int32_t infer_runner_samples(const infer_runner *r) { return r->live; }

int infer_runner_step(infer_runner *r, infer_error *err)
{
	TRY(infer_engine_step(r->engine, err));
	return infer_engine_busy(r->engine) || !infer_runner_busy(r)
	               ? INFER_OK
	               : err_set(err, INFER_EDEVICE, "the engine lost the request");
}

/* Append a copy of ev, without its text, to `to`. */
static int keep_event(struct sample *s, struct buf *to, const struct infer_event *ev,
                      infer_error *err)
{
	struct infer_event kept = *ev;

	if (ev->n_top) {
		struct infer_top *top = arena_alloc(&s->tops, (size_t)ev->n_top, sizeof *top);

		if (!top)
			return err_nomem(err);
		memcpy(top, ev->top, (size_t)ev->n_top * sizeof *top);
		kept.top = top;
	}
	kept.text = NULL;
	kept.text_bytes = 0;
	kept.logits = NULL;
	buf_put(to, &kept, sizeof kept);
	return to->bad ? err_nomem(err) : INFER_OK;
}

/* Keep a token of the prompt, and its rank: the number of tokens at least as likely. */
static int keep_prompt(struct sample *s, const struct infer_event *ev, infer_error *err)
{
	struct infer_model_info info;
	int32_t rank = 0;

	infer_model_info(s->task->runner->model, &info);
	for (int32_t i = 0; ev->logits && i < info.n_vocab; i++)
		rank += ev->logits[i] >= ev->logits[ev->token];
	buf_put(&s->ranks, &rank, sizeof rank);
	return s->ranks.bad ? err_nomem(err) : keep_event(s, &s->prompt, ev, err);
}

/* Keep the event of a token if the answer needs it. */
static int keep_token(struct sample *s, const struct infer_event *ev, infer_error *err)
{
	const infer_job *j = s->task->job;
	const int scored = ev->kind == INFER_EVENT_SCORE;

	if (scored && j->prompt_logprobs)
		TRY(keep_prompt(s, ev, err));
	if (scored ? j->logprobs < 0 || !j->echo : j->logprobs < 0 && !j->token_ids)
		return INFER_OK;
	return keep_event(s, &s->events, ev, err);
}

static void end_sample(struct sample *s, const struct infer_event *ev)
{
	infer_task *t = s->task;
	struct infer_choice *c = &t->choices[s - t->samples];
	infer_error e;

	c->finish = ev->finish;
	c->stop = ev->stop;
	c->code = ev->code;
	c->usage = ev->usage;
	t->ended++;
	if (t->vectors && !ev->code)
		runner_end_embedding(t->job,
		                     t->vectors + (size_t)(s - t->samples) * (size_t)t->n_embd,
		                     t->n_embd, c);
	if (ev->code != INFER_OK && ev->code != INFER_ECANCEL) {
		err_set(&e, ev->code, "%s", ev->message);
		set_fault(t, (int32_t)(s - t->samples), &e);
		c->message = t->fault.error.message;
	}
}

/* Count the tokens of reasoning.  Text that the parser holds back counts once it is released. */
static void count_reasoning(struct sample *s, int token)
{
	struct infer_reply_parts p = { .n_calls = 0 };

	if (!s->reply)
		return;
	infer_reply_get(s->reply, &p);
	s->task->choices[s - s->task->samples].reasoning_tokens +=
		token && p.reasoning.len > s->reasoning;
	s->reasoning = p.reasoning.len;
}

/* Echo the prompt before the answer: the prompt's first token (without a probability) before its
 * other tokens, its text after all of them. */
static int echo_prompt(struct sample *s, const struct infer_event *ev, infer_error *err)
{
	const infer_job *j = s->task->job;
	struct infer_prompt p = infer_job_prompt(j, (int32_t)(s - s->task->samples));
	const struct infer_event first = { .kind = INFER_EVENT_SCORE,
		                           .token = *p.ids,
		                           .logprob = NAN };

	if (!s->echoed && j->logprobs >= 0 && !s->reply)
		TRY(keep_event(s, &s->events, &first, err));
	s->echoed |= 1;
	if (s->echoed == 1 && ev->kind != INFER_EVENT_SCORE) {
		s->echoed = 3;
		if (s->reply)
			return infer_reply_put(s->reply, p.text.at, p.text.len, err);
		buf_put(&s->text, p.text.at, p.text.len);
	}
	return INFER_OK;
}

/* Update the usage of a sample that has not ended. */
static void count_usage(struct sample *s, const struct infer_event *ev)
{
	int32_t i = (int32_t)(s - s->task->samples);
	struct infer_usage *u = &s->task->choices[i].usage;
	const int64_t prefill_ns = u->prefill_ns;

	*u = ev->usage;
	if (!u->prefill_ns) /* the usage of a first token has the prefill time, that of later ones does not */
		u->prefill_ns = prefill_ns;
	u->completion_tokens = ev->index + 1;
}

static int take_event(struct sample *s, const struct infer_event *ev, infer_error *err)
{
	infer_task *t = s->task;
	int ends = ev->kind == INFER_EVENT_DONE;

	if (ev->kind == INFER_EVENT_READ) {
		t->choices[s - t->samples].n_read = ev->index + 1;
		t->choices[s - t->samples].usage = ev->usage;
		return INFER_OK;
	}
	if (t->job->echo)
		TRY(echo_prompt(s, ev, err));
	if (ev->kind == INFER_EVENT_TOKEN)
		count_usage(s, ev);
	if (s->reply)
		TRY(infer_reply_put(s->reply, ev->text, ev->text_bytes, err));
	else if (ev->text_bytes)
		buf_put(&s->text, ev->text, ev->text_bytes);
	if (s->text.bad)
		return err_nomem(err);
	if (s->reply && ends)
		TRY(infer_reply_end(s->reply, err));
	if (!ends)
		TRY(keep_token(s, ev, err));
	update_choice(s);
	count_reasoning(s, !ends);
	if (ends)
		end_sample(s, ev);
	if (t->submitted == t->n)
		return INFER_OK;
	if (t->fault.kind) { /* the other samples would fail too */
		t->ended += t->n - t->submitted;
		t->submitted = t->n;
	} else {
		submit_samples(t, t->job->request.embed ? (int32_t)num_min(t->n, t->ended + AT_ONCE)
		                                        : t->n);
		if (t->fault.kind)
			infer_task_cancel(t);
	}
	return INFER_OK;
}

int infer_runner_next(infer_runner *r, struct infer_got *got, infer_error *err)
{
	struct sample *s;

	*got = (struct infer_got){ 0 };
	while (infer_engine_next(r->engine, &r->event)) {
		s = r->event.user;
		if (r->event.kind == INFER_EVENT_DONE) {
			s->live = 0;
			s->task->live--;
			r->live--;
		}
		if (s->task->dropped) {
			if (!s->task->live)
				task_free(s->task);
			continue;
		}
		*got = (struct infer_got){ s->task, s->task->user, (int32_t)(s - s->task->samples),
			                   &r->event };
		return take_event(s, &r->event, err);
	}
	return INFER_OK;
}

/* ---- results ---- */

int infer_task_ended(const infer_task *t) { return t->ended >= t->n; }

const infer_job *infer_task_job(const infer_task *t) { return t->job; }

const struct infer_fault *infer_task_fault(const infer_task *t) { return &t->fault; }

void infer_task_answer(const infer_task *t, struct infer_answer *a)
{
	a->job = t->job;
	a->choices = t->choices;
	a->tokenizer = infer_model_tokenizer(t->runner->model);
}

int infer_task_delta(infer_task *t, int32_t i, struct infer_delta *d)
{
	*d = (struct infer_delta){ .index = i, .text = { "", 0 } };
	if (i < 0 || i >= t->n || i >= t->submitted)
		return 0;
	if (delta_next(&t->samples[i].given, t->job, &t->choices[i], !t->samples[i].live,
	               infer_model_tokenizer(t->runner->model), d))
		return 1;
	if (!t->job->include_usage || t->usage_given || !infer_task_ended(t))
		return 0;
	for (int32_t k = 0; k < t->n; k++)
		if (!t->samples[k].given.end)
			return 0;
	t->usage_given = 1;
	d->kind = INFER_DELTA_USAGE;
	return 1;
}
