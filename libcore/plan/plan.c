/* plan/plan.c - what an ask comes to on a machine: memory, times of steps, requests, users, cost */
#include <infer/plan.h>
#include "base/err.h"

#include <string.h>

/* What a program takes beside weights, cache and workspace, as its peak was measured with models of
 * some KB and with vocabularies of 500 and of 102400 tokens: its code; for each token of the
 * vocabulary tables, and candidates for each user. */
enum { CHUNK = 512, CODE = 4500 << 10, TOKEN = 60, CANDIDATE = 12, MOST_USERS = 4096 };
/* what Linux maps of a file where one byte is touched, if its pages are in memory */
enum { AROUND = 64 << 10 };

static int64_t ctx_of(const struct infer_plan_ask *a)
{
	int64_t n = (int64_t)a->prompt + a->output;

	return a->ctx > n ? a->ctx : n;
}

/* ---- memory ---- */

/* Activations of a step, where the engine's own plan is not asked: some rows of each width in f32. */
static double workspace(const struct infer_shape *s, const struct infer_plan_ask *a)
{
	double rows = (a->chunk ? a->chunk : CHUNK) + a->users, widest = 0;

	for (int i = 0; i < s->n_work; i++)
		if (!s->work[i].out && (double)s->work[i].n > widest)
			widest = (double)s->work[i].n;
	return rows * 4 * (4 * (double)s->embd + 2 * widest) + 4.0 * s->vocab * (a->users + 1);
}

static int whole(const struct infer_setup *how) { return how->gpu_part >= 1; }

/* Who pays for what: accelerators hold their part of weights and cache, shared among them; the table
 * that tokens are looked up in stays with the host. */
static void share(struct infer_plan_need *n, const struct infer_shape *s,
                  const struct infer_machine *m, const struct infer_plan_ask *a)
{
	const struct infer_setup *how = &a->how;
	double gpus = how->gpus > 0 ? how->gpus : 1,
	       there = (n->weights - s->table_bytes + n->kv) * how->gpu_part / gpus;

	n->gpu = how->gpu_part > 0 ? there + n->workspace / (whole(how) ? 1 : 2) : 0;
	n->host = n->weights + n->kv + n->workspace + n->process;
	if (how->gpu_part > 0) /* weights of the accelerators are read once, and not kept */
		n->host = s->table_bytes + n->process +
		          (n->weights - s->table_bytes + n->kv) * (1 - how->gpu_part) +
		          n->workspace;
	if (m->gpu.unified) {
		n->host = 0;
		n->gpu = n->weights + n->kv + n->workspace + n->process;
	}
	n->host_there = a->budget_bytes ? (double)a->budget_bytes : (double)m->memory_bytes;
	n->gpu_there = (double)m->gpu.memory_bytes;
	if (a->budget_bytes && m->gpu.count && n->gpu_there > (double)a->budget_bytes)
		n->gpu_there = (double)a->budget_bytes;
	/* of accelerators alone the host is not described */
	n->fits = (n->host <= n->host_there || !m->memory_bytes) &&
	          (!(how->gpu_part > 0) || n->gpu <= n->gpu_there);
}

/* Of the table that tokens are looked up in, the pages of as many tokens, drawn evenly. */
static double looked_up(const struct infer_shape *s, const struct infer_plan_ask *a)
{
	double tokens = (double)a->users * (a->prompt + a->output),
	       windows = s->table_bytes / AROUND;

	if (windows < 1)
		return s->table_bytes;
	/* the chance of a window to be missed by all, as of an expert */
	return AROUND * (windows < (double)INT32_MAX
	                         ? infer_experts_touched((int)windows, 1, tokens)
	                         : tokens);
}

/* The cache of prompts and outputs, in whole pages. */
static double used_pages(const struct infer_shape *s, const struct infer_plan_ask *a)
{
	int64_t page = 32, n = ((int64_t)a->prompt + a->output + page - 1) / page * page;

	return a->users * infer_shape_kv(s, n, a->how.k_type, a->how.v_type);
}

static void need_of(struct infer_plan_need *n, const struct infer_shape *s,
                    const struct infer_machine *m, const struct infer_plan_ask *a,
                    const struct infer_engine_need *engine)
{
	const struct infer_setup *how = &a->how;

	*n = (struct infer_plan_need){ .weights = s->weight_bytes,
		                       .process =
		                               CODE + s->header_bytes +
		                               (double)s->vocab * (TOKEN + CANDIDATE * a->users) };
	n->kv = a->users * infer_shape_kv(s, ctx_of(a), how->k_type, how->v_type);
	if (a->shared > 0 && a->users > 1)
		n->kv -= (a->users - 1) *
		         infer_shape_kv(s, a->shared < a->prompt ? a->shared : a->prompt,
		                        how->k_type, how->v_type);
	n->workspace = workspace(s, a);
	if (engine) {
		n->weights = (double)engine->weight_bytes;
		n->workspace = (double)engine->workspace_bytes;
		if (!a->shared)
			n->kv = (double)engine->kv_bytes;
		n->peak = n->weights - s->table_bytes + looked_up(s, a) + used_pages(s, a) +
		          (double)engine->touched_bytes + n->process;
	}
	share(n, s, m, a);
}

int infer_plan_engine(struct infer_engine_need *need, const infer_model *model,
                      const struct infer_plan_ask *a, int32_t threads, infer_error *err)
{
	const struct infer_engine_opts o = { .ctx = (int32_t)ctx_of(a),
		                             .kv_set = 1,
		                             .k_type = a->how.k_type,
		                             .v_type = a->how.v_type,
		                             .prefill_chunk = a->chunk,
		                             .max_seqs = a->users };

	struct infer_engine_opts used = o;
	struct infer_engine_need touched;
	int32_t chunk = a->chunk ? a->chunk : CHUNK;

	TRY(infer_engine_need(model, &o, need, err));
	used.prefill_chunk = a->prompt < chunk ? a->prompt : chunk;
	TRY(infer_engine_need(model, &used, &touched, err));
	uint64_t more = (uint64_t)(threads > 1 ? threads - 1 : 0) * need->thread_bytes;
	need->workspace_bytes += more;
	need->touched_bytes = touched.touched_bytes + more;
	return INFER_OK;
}

/* ---- time ---- */

struct at {
	const struct infer_shape *s;
	const struct infer_machine *m;
	const struct infer_plan_ask *a;
};

/* Reading n tokens behind `from`, in chunks: seconds, predicted or the limit; the first chunk's step
 * into *step.  0: not predicted. */
static double read_prompt(const struct at *at, int64_t from, int64_t n, int limit,
                          struct infer_step_time *step)
{
	int64_t chunk = at->a->chunk ? at->a->chunk : CHUNK;
	double sum = 0;

	for (int64_t done = 0; done < n; done += chunk) {
		int64_t rows = n - done < chunk ? n - done : chunk;
		struct infer_step_time t;
		const struct infer_load l = { rows, done + rows == n, 1,
			                      from + done + (rows + 1) / 2 };
		infer_step_time(&t, at->s, at->m, &at->a->how, &l);
		if (step && !done)
			*step = t;
		if (!limit && !(t.total > 0))
			return 0;
		sum += limit ? t.limit : t.total;
	}
	return sum;
}

/* One token of each of `users`, in the middle of the output. */
static void decode_step(const struct at *at, int64_t users, struct infer_step_time *t)
{
	const struct infer_load l = { users, users, users,
		                      (int64_t)at->a->prompt + at->a->output / 2 + 1 };

	infer_step_time(t, at->s, at->m, &at->a->how, &l);
}

/* Stages of a pipeline work on different users at once. */
static double overlap(const struct infer_plan_ask *a, int64_t users)
{
	double n = a->how.split == INFER_SPLIT_PIPELINE ? a->how.gpus : 1;

	return users < n ? (double)users : n;
}

static double time_of(const struct infer_step_time *t, int limit)
{
	return limit ? t->limit : t->total;
}

/* Times of a request among `users` that come one after the other, as long as each is served: the
 * engine reads the prompts of the others between its tokens.  0: not predicted. */
struct request {
	double ttft, tpot, all; /* seconds; all: output tokens a second of all users */
	double prompts;         /* of tpot: reading prompts of others */
};
static int request_of(struct request *r, const struct at *at, int64_t users, int limit)
{
	const struct infer_plan_ask *a = at->a;
	int64_t shared = a->shared < a->prompt ? a->shared : a->prompt;
	struct infer_step_time step;
	double prefill, decode, together = overlap(a, users);

	prefill = read_prompt(at, shared, a->prompt - shared > 0 ? a->prompt - shared : 1, limit,
	                      NULL);
	decode_step(at, users, &step);
	decode = time_of(&step, limit) / together;
	if (!(prefill > 0) || !(decode > 0))
		return 0;
	/* while a request produces its tokens, every other one is read once */
	r->prompts = a->output > 0 ? (double)(users - 1) * prefill / a->output : 0;
	r->tpot = decode + r->prompts;
	/* a prompt waits for half of one other, on average, where others come */
	r->ttft = prefill + (users > 1 ? prefill / 2 + decode : 0);
	r->all = (double)users / r->tpot;
	return 1;
}

static int meets(const struct at *at, int64_t users)
{
	const struct infer_plan_ask *a = at->a;
	struct request r;

	if (!request_of(&r, at, users, 0))
		return 0;
	return (!(a->ttft_ms > 0) || r.ttft * 1e3 <= a->ttft_ms) &&
	       (!(a->tpot_ms > 0) || r.tpot * 1e3 <= a->tpot_ms);
}

/* The largest number from 0 to `to` for which it holds, where it holds up to some number. */
static int32_t largest(const struct at *at, int32_t to, int (*holds)(const struct at *, int64_t))
{
	int32_t lo = 0, hi = to;

	while (lo < hi) {
		int32_t mid = lo + (hi - lo + 1) / 2;
		if (holds(at, mid))
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

static int has_room(const struct at *at, int64_t users)
{
	struct infer_plan_ask a = *at->a;
	struct infer_plan_need n;

	a.users = (int32_t)users;
	need_of(&n, at->s, at->m, &a, NULL);
	return n.fits;
}

static void rates(struct infer_plan *p, const struct at *at)
{
	const struct infer_plan_ask *a = at->a;
	double prompt = a->prompt > 0 ? a->prompt : 1, x;
	struct request one, all;

	decode_step(at, 1, &p->alone);
	decode_step(at, a->users, &p->decode);
	x = read_prompt(at, 0, (int64_t)prompt, 1, &p->prefill);
	p->limit_prefill_tok_s = prompt / x;
	x = read_prompt(at, 0, (int64_t)prompt, 0, NULL);
	p->prefill_tok_s = x > 0 ? prompt / x : 0;
	p->ttft_alone_ms = x * 1e3;
	p->limit_decode_tok_s = 1 / p->alone.limit;
	p->limit_all_tok_s = a->users * overlap(a, a->users) / p->decode.limit;
	p->decode_tok_s = p->alone.total > 0 ? 1 / p->alone.total : 0;
	if (request_of(&all, at, a->users, 0)) {
		p->ttft_ms = all.ttft * 1e3;
		p->tpot_ms = all.tpot * 1e3;
		p->all_tok_s = all.all;
		p->tpot_prompts_ms = all.prompts * 1e3;
		p->tpot_by =
			2 * all.prompts > all.tpot ? INFER_BOUND_SCHEDULER : p->decode.total_by;
		p->request_ms = p->ttft_ms + a->output * p->tpot_ms;
	}
	if (request_of(&one, at, 1, !(x > 0)))
		p->slower = one.tpot * a->output > one.ttft;
}

/* What a common beginning of all prompts saves. */
static void sharing(struct infer_plan *p, const struct at *at)
{
	const struct infer_plan_ask *a = at->a;
	int64_t shared = a->shared < a->prompt ? a->shared : a->prompt;

	if (shared < 1)
		return;
	p->prefix_ms = 1e3 * (read_prompt(at, 0, a->prompt, 0, NULL) -
	                      read_prompt(at, shared, a->prompt - shared, 0, NULL));
	p->prefix_bytes =
		(a->users - 1) * infer_shape_kv(at->s, shared, a->how.k_type, a->how.v_type);
}

void infer_plan_make(struct infer_plan *p, const struct infer_shape *s,
                     const struct infer_machine *m, const struct infer_plan_ask *ask,
                     const struct infer_engine_need *need)
{
	const struct at at = { s, m, ask };

	memset(p, 0, sizeof *p);
	need_of(&p->need, s, m, ask, need);
	rates(p, &at);
	sharing(p, &at);
	p->users_memory = largest(&at, MOST_USERS, has_room);
	p->users_latency = p->all_tok_s > 0 ? largest(&at, p->users_memory, meets) : -1;
	if (ask->price > 0 && p->all_tok_s > 0)
		p->cost = ask->price / 3600 / p->all_tok_s * 1e6;
}
