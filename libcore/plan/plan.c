/* plan/plan.c - make a plan: memory, times of steps and requests, users, cost */
#include <infer/plan.h>
#include "base/err.h"
#include "plan/shape.h"

#include <string.h>

/* Bytes of a process besides weights, cache and workspace.  CODE: code and constants, QUANTISED: more of
 * them for quantised weights; TOKEN: tables, per token of the vocabulary; CANDIDATE: sampling candidates,
 * per token and user.  Fitted to the peaks of tiny models with vocabularies of 500 and 102400
 * tokens: medians of 21 runs, as the addresses of a run change its peak by some 100 KiB. */
enum {
	CHUNK = 512,
	CODE = 5080 << 10,
	QUANTISED = 500 << 10,
	TOKEN = 60,
	CANDIDATE = 12,
	MOST_USERS = 4096
};
/* Bytes that an engine takes on each accelerator with its own memory, before weights: the context of CUDA. */
enum { GPU_PROCESS = 400 << 20 };
/* The part of a unified memory that the system gives to the GPU: 70 % with 32 GB, 78 % with more, by the
 * README of github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference. */
static const double UNIFIED_PART = 0.75;

/* bytes of a cached file that Linux maps on a page fault */
enum { AROUND = 64 << 10 };

static int64_t ctx_of(const struct infer_plan_ask *a)
{
	int64_t n = (int64_t)a->prompt + a->output;

	return a->ctx > n ? a->ctx : n;
}

/* ---- memory ---- */

/* Estimate the bytes of a step's activations without an engine: some f32 rows of each width. */
static double estimate_workspace(const struct infer_shape *s, const struct infer_plan_ask *a)
{
	double rows = (a->chunk ? a->chunk : CHUNK) + a->users, widest = 0;

	for (int i = 0; i < s->n_work; i++)
		if (!s->work[i].out && (double)s->work[i].n > widest)
			widest = (double)s->work[i].n;
	return rows * 4 * (4 * (double)s->embd + 2 * widest) + 4.0 * s->vocab * (a->users + 1);
}

static int all_on_gpu(const struct infer_setup *how) { return how->gpu_part >= 1; }

/* Divide the memory between host and accelerators.  The accelerators have equal shares of the
 * fraction gpu_part of weights and cache; the embedding table stays on the host. */
static void divide_memory(struct infer_plan_need *n, const struct infer_shape *s,
                          const struct infer_machine *m, const struct infer_plan_ask *a)
{
	const struct infer_setup *how = &a->how;
	double gpus = how->gpus > 0 ? how->gpus : 1,
	       there = (n->weights - s->table_bytes + n->kv) * how->gpu_part / gpus;

	n->gpu = how->gpu_part > 0 ? there + n->workspace / (all_on_gpu(how) ? 1 : 2) + GPU_PROCESS
	                           : 0;
	n->host = n->weights + n->kv + n->workspace + n->process;
	if (how->gpu_part > 0) /* weights on accelerators are not also kept on the host */
		n->host = s->table_bytes + n->process +
		          (n->weights - s->table_bytes + n->kv) * (1 - how->gpu_part) +
		          n->workspace;
	if (m->gpu.unified) {
		n->host = 0;
		n->gpu = n->weights + n->kv + n->workspace + n->process;
	}
	n->host_there = a->budget_bytes ? (double)a->budget_bytes : (double)m->memory_bytes;
	n->gpu_there = (double)m->gpu.memory_bytes;
	if (m->gpu.unified)
		n->gpu_there *= UNIFIED_PART;
	if (a->budget_bytes && m->gpu.count && n->gpu_there > (double)a->budget_bytes)
		n->gpu_there = (double)a->budget_bytes;
	/* a machine without memory_bytes describes accelerators only: skip the check of the host */
	n->fits = (n->host <= n->host_there || !m->memory_bytes) &&
	          (!(how->gpu_part > 0) || n->gpu <= n->gpu_there);
}

/* Return the expected bytes of the embedding table that are touched by uniformly drawn tokens. */
static double touched_table_bytes(const struct infer_shape *s, const struct infer_plan_ask *a)
{
	double tokens = (double)a->users * (a->prompt + a->output),
	       windows = s->table_bytes / AROUND;

	if (windows < 1)
		return s->table_bytes;
	/* windows are touched like experts, if each token uses one */
	return AROUND * (windows < (double)INT32_MAX
	                         ? infer_experts_touched((int)windows, 1, tokens)
	                         : tokens);
}

/* Return the KV cache bytes of all prompts and outputs, in whole pages. */
static double touched_cache_bytes(const struct infer_shape *s, const struct infer_plan_ask *a)
{
	int64_t page = 32, n = ((int64_t)a->prompt + a->output + page - 1) / page * page;

	return a->users * infer_shape_kv(s, n, a->how.k_type, a->how.v_type);
}

static int has_quantised(const struct infer_shape *s)
{
	for (int i = 0; i < s->n_work; i++)
		if ((s->work[i].kind == INFER_WORK_MATRIX ||
		     s->work[i].kind == INFER_WORK_EXPERTS) &&
		    infer_type_info(s->work[i].type)->block > 1)
			return 1;
	return 0;
}

/* Return the expected bytes of experts that no token of the requests chooses. */
static double untouched_expert_bytes(const struct infer_shape *s, const struct infer_plan_ask *a)
{
	double tokens = (double)a->users * (a->prompt + a->output), sum = 0;

	for (int i = 0; i < s->n_work; i++) {
		const struct infer_work *w = &s->work[i];
		if (w->kind != INFER_WORK_EXPERTS)
			continue;
		double missed = w->experts - infer_experts_touched(w->experts, w->used, tokens);
		sum += missed * (double)w->n * (double)w->k * element_bytes(w->type) * w->times;
	}
	return sum;
}

static void need_of(struct infer_plan_need *n, const struct infer_shape *s,
                    const struct infer_machine *m, const struct infer_plan_ask *a,
                    const struct infer_engine_need *engine)
{
	const struct infer_setup *how = &a->how;

	*n = (struct infer_plan_need){ .weights = s->weight_bytes,
		                       .process =
		                               CODE + (has_quantised(s) ? QUANTISED : 0) +
		                               s->header_bytes +
		                               (double)s->vocab * (TOKEN + CANDIDATE * a->users) };
	n->kv = a->users * infer_shape_kv(s, ctx_of(a), how->k_type, how->v_type);
	if (a->shared > 0 && a->users > 1)
		n->kv -= (a->users - 1) *
		         infer_shape_kv(s, a->shared < a->prompt ? a->shared : a->prompt,
		                        how->k_type, how->v_type);
	n->workspace = estimate_workspace(s, a);
	if (engine) {
		n->weights = (double)engine->weight_bytes;
		n->workspace = (double)engine->workspace_bytes;
		if (!a->shared)
			n->kv = (double)engine->kv_bytes;
		n->peak = n->weights - s->table_bytes + touched_table_bytes(s, a) +
		          touched_cache_bytes(s, a) - untouched_expert_bytes(s, a) +
		          (double)engine->touched_bytes + n->process;
	}
	divide_memory(n, s, m, a);
}

void infer_plan_fits(struct infer_plan_need *need, const struct infer_shape *s,
                     const struct infer_machine *m, const struct infer_plan_ask *ask)
{
	need_of(need, s, m, ask, NULL);
}

int infer_plan_engine(struct infer_engine_need *need, const infer_model *model,
                      const struct infer_plan_ask *a, int32_t threads, infer_error *err)
{
	const struct infer_engine_opts o = { .ctx = (int32_t)ctx_of(a),
		                             .kv_set = 1,
		                             .k_type = a->how.k_type,
		                             .v_type = a->how.v_type,
		                             .prefill_chunk = a->chunk,
		                             .max_seqs = a->users,
		                             .lora_rank = a->lora_rank };

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

/* Return the seconds to prefill n tokens from position `from` in chunks: predicted, or if `limit`
 * is 1, the least possible.  Sets *step to the step of the first chunk.  Returns 0 if there is no
 * prediction. */
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

/* Compute the step that decodes one token of each user, in the middle of the output. */
static void decode_step(const struct at *at, int64_t users, struct infer_step_time *t)
{
	const struct infer_load l = { users, users, users,
		                      (int64_t)at->a->prompt + at->a->output / 2 + 1 };

	infer_step_time(t, at->s, at->m, &at->a->how, &l);
}

/* Return the speedup by a pipeline, whose stages compute different users at the same time. */
static double pipeline_speedup(const struct infer_plan_ask *a, int64_t users)
{
	double n = a->how.split == INFER_SPLIT_PIPELINE ? a->how.gpus : 1;

	return users < n ? (double)users : n;
}

static double time_of(const struct infer_step_time *t, int limit)
{
	return limit ? t->limit : t->total;
}

/* Times of a request while `users` send one request after another: between its tokens the engine
 * prefills prompts of other users. */
struct request {
	double ttft, tpot, all; /* seconds; all: output tokens per second of all users */
	double prompts;         /* seconds of tpot spent on prefill for other users */
};
/* Compute *r.  Returns 0 if there is no prediction. */
static int request_of(struct request *r, const struct at *at, int64_t users, int limit)
{
	const struct infer_plan_ask *a = at->a;
	int64_t shared = a->shared < a->prompt ? a->shared : a->prompt;
	struct infer_step_time step;
	double prefill, decode, together = pipeline_speedup(a, users);

	prefill = read_prompt(at, shared, a->prompt - shared > 0 ? a->prompt - shared : 1, limit,
	                      NULL);
	decode_step(at, users, &step);
	decode = time_of(&step, limit) / together;
	if (!(prefill > 0) || !(decode > 0))
		return 0;
	/* while a request is decoded, every other user's prompt is prefilled once */
	r->prompts = a->output > 0 ? (double)(users - 1) * prefill / a->output : 0;
	r->tpot = decode + r->prompts;
	/* with other users, a prompt waits on average for half the prefill of another */
	r->ttft = prefill + (users > 1 ? prefill / 2 + decode : 0);
	r->all = (double)users / r->tpot;
	return 1;
}

static int meets_targets(const struct at *at, int64_t users)
{
	const struct infer_plan_ask *a = at->a;
	struct request r;

	if (!request_of(&r, at, users, 0))
		return 0;
	return (!(a->ttft_ms > 0) || r.ttft * 1e3 <= a->ttft_ms) &&
	       (!(a->tpot_ms > 0) || r.tpot * 1e3 <= a->tpot_ms);
}

/* Find by bisection the largest number of users, 0 to `to`, for which `holds` (monotonic). */
static int32_t most_users(const struct at *at, int32_t to, int (*holds)(const struct at *, int64_t))
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

static int fits_users(const struct at *at, int64_t users)
{
	struct infer_plan_ask a = *at->a;
	struct infer_plan_need n;

	a.users = (int32_t)users;
	need_of(&n, at->s, at->m, &a, NULL);
	return n.fits;
}

/* Set the rates and times of *p. */
static void set_plan_rates(struct infer_plan *p, const struct at *at)
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
	p->limit_all_tok_s = a->users * pipeline_speedup(a, a->users) / p->decode.limit;
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

/* Set the time and memory that the shared prefix of all prompts saves. */
static void set_prefix_savings(struct infer_plan *p, const struct at *at)
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
	set_plan_rates(p, &at);
	set_prefix_savings(p, &at);
	p->users_memory = most_users(&at, MOST_USERS, fits_users);
	p->users_latency = p->all_tok_s > 0 ? most_users(&at, p->users_memory, meets_targets) : -1;
	if (ask->price > 0 && p->all_tok_s > 0)
		p->cost = ask->price / 3600 / p->all_tok_s * 1e6;
}
