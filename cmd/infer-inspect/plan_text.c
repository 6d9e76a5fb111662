/* infer-inspect/plan_text.c - a plan as text: memory, speed, users and cost of the strategy that the
 * verdict names, and all strategies. */
#include "plan.h"

#include <string.h>

enum { HEAD = 14 };

static void put_label(struct buf *out, const char *name) { buf_printf(out, "%-*s ", HEAD, name); }

static void put_gib(struct buf *out, double bytes) { put_size(out, (uint64_t)bytes); }

static void put_rate(struct buf *out, double predicted, double limit, int partial)
{
	if (partial)
		buf_puts(out, "unknown, as the machine's arithmetic is not described");
	else if (predicted > 0)
		buf_printf(out, "%.*f tokens/s predicted, limit %.*f", predicted < 10 ? 2 : 1,
		           predicted, limit < 10 ? 2 : 1, limit);
	else
		buf_printf(out, "limit %.*f tokens/s; no efficiency is known, so none is predicted",
		           limit < 10 ? 2 : 1, limit);
}

static void put_hardware(struct buf *out, const struct planned *p)
{
	const struct infer_machine *m = p->m;

	put_label(out, "hardware");
	buf_printf(out, "%s%s", m->name, m->measured ? ", measured" : ", described");
	if (m->memory_bytes) {
		buf_puts(out, ": ");
		put_gib(out, (double)m->memory_bytes);
		buf_printf(out, " at %.1f GB/s", m->memory_gb_s);
	}
	if (m->gpu.count) {
		buf_printf(out, "; %d x ", (int)m->gpu.count);
		put_gib(out, (double)m->gpu.memory_bytes);
		buf_printf(out, " at %.0f GB/s", m->gpu.memory_gb_s);
	}
	buf_putc(out, '\n');
}

/* Return the shape of the model with the weights of a strategy. */
static struct infer_shape strategy_shape(const struct planned *p, const struct strategy *s)
{
	struct infer_shape shape = p->shape;

	if (s->type >= 0)
		infer_shape_retype(&shape, s->type);
	return shape;
}

static const char *weights_name(const struct planned *p, const struct strategy *s)
{
	return s->type < 0 ? infer_type_info(p->type)->name : plan_type_name(s->type);
}

/* True if the strategy is the model as it is, placed as asked. */
static int is_asked(const struct planned *p, const struct strategy *s)
{
	return s->type < 0 && !memcmp(&s->ask.how, &p->asked.ask.how, sizeof s->ask.how);
}

/* Append the memory of a strategy in the fastest place that it uses, as parts that add up. */
static void put_need(struct buf *out, const struct planned *p, const struct strategy *s)
{
	const struct infer_plan_need *n = &s->plan.need;
	const struct infer_setup *how = &s->ask.how;
	int unified = p->m->gpu.unified, gpu = how->gpu_part > 0 || unified;
	double weights = n->weights, cache = n->kv, all = gpu ? n->gpu : n->host;

	if (gpu && !unified) {
		double share = how->gpu_part / (how->gpus > 0 ? how->gpus : 1);

		weights = (weights - strategy_shape(p, s).table_bytes) * share;
		cache *= share;
	}
	buf_puts(out, n->fits ? "fits: " : "does not fit: ");
	put_gib(out, all);
	buf_puts(out, gpu ? " of each accelerator's " : " of ");
	put_gib(out, gpu ? n->gpu_there : n->host_there);
	buf_printf(out, " (weights %s ", weights_name(p, s));
	put_gib(out, weights);
	buf_printf(out, ", cache %s", infer_type_info(how->k_type)->name);
	if (how->v_type != how->k_type)
		buf_printf(out, ",%s", infer_type_info(how->v_type)->name);
	buf_putc(out, ' ');
	put_gib(out, cache);
	buf_puts(out, ", work ");
	put_gib(out, all - weights - cache);
	buf_putc(out, ')');
	if (gpu && !unified) {
		buf_puts(out, "; of the host ");
		put_gib(out, n->host);
	}
}

/* Append the memory of the strategy, and what became of the model as it is if that is another. */
static void put_memory(struct buf *out, const struct planned *p, const struct strategy *s)
{
	const struct infer_plan *r = &p->asked.plan;

	if (!is_asked(p, s)) {
		put_label(out, "as it is");
		put_need(out, p, &p->asked);
		if (r->need.fits) {
			buf_puts(out, "; ");
			put_rate(out, r->decode_tok_s, r->limit_decode_tok_s, 0);
		}
		buf_printf(out, "\n%-*s %s, cache %s: the memory and speed below\n", HEAD, "chosen",
		           s->type < 0 ? "the file as it is" : plan_type_name(s->type),
		           infer_type_info(s->ask.how.k_type)->name);
	}
	put_label(out, "fast memory");
	put_need(out, p, s);
	buf_putc(out, '\n');
}

static void put_adapters(struct buf *out, const struct planned *p)
{
	if (!p->o->plan.loras.n)
		return;
	put_label(out, "adapters");
	buf_printf(out, "%d: ", p->o->plan.loras.n);
	put_size(out, (uint64_t)p->lora_bytes);
	buf_printf(out, ", counted with the weights; ranks of %d in all\n",
	           (int)p->asked.ask.lora_rank);
}

static void put_device(struct buf *out, const struct planned *p, const struct strategy *s)
{
	const struct infer_engine_need *n = &p->on_gpu;

	if (!n->ctx)
		return;
	put_label(out, p->o->plan.device);
	if (!is_asked(p, s))
		buf_puts(out, "as it is: ");
	put_size(out, n->device_weight_bytes + n->device_kv_bytes + n->device_workspace_bytes);
	buf_puts(out, " (weights ");
	put_size(out, n->device_weight_bytes);
	buf_puts(out, ", cache ");
	put_size(out, n->device_kv_bytes);
	buf_puts(out, ", work ");
	put_size(out, n->device_workspace_bytes);
	buf_puts(out, "); of the host ");
	put_size(out, n->weight_bytes + n->kv_bytes + n->workspace_bytes);
	buf_putc(out, '\n');
}

static const char *binding_limit(const struct infer_step_time *t)
{
	return infer_bound_name(t->total > 0 ? t->total_by : t->limit_by);
}

static void put_speed(struct buf *out, const struct strategy *s)
{
	const struct infer_plan *r = &s->plan;
	const struct infer_plan_ask *a = &s->ask;

	put_label(out, "bottleneck");
	buf_printf(out, "%s takes longer for %d tokens in, %d out\n",
	           r->slower ? "decode" : "prefill", (int)a->prompt, (int)a->output);
	put_label(out, "  prefill");
	put_rate(out, r->prefill_tok_s, r->limit_prefill_tok_s, r->prefill.partial);
	buf_printf(out, "; %s binds\n", binding_limit(&r->prefill));
	put_label(out, "  decode");
	put_rate(out, r->decode_tok_s, r->limit_decode_tok_s, 0);
	buf_printf(out, "; %s binds\n", binding_limit(&r->alone));
	if (a->users > 1) {
		put_label(out, "  all users");
		put_rate(out, r->all_tok_s, r->limit_all_tok_s, 0);
		buf_printf(out, "; %s binds\n",
		           r->tpot_ms > 0 ? infer_bound_name(r->tpot_by)
		                          : binding_limit(&r->decode));
	}
	if (r->ttft_ms > 0) {
		put_label(out, "  a request");
		buf_puts(out, "first token after ");
		plan_put_time(out, r->ttft_ms, 0);
		buf_puts(out, ", then one each ");
		plan_put_time(out, r->tpot_ms, 1);
		if (r->tpot_by == INFER_BOUND_SCHEDULER) {
			buf_puts(out, " (");
			plan_put_time(out, r->tpot_prompts_ms, 1);
			buf_puts(out, " for others' prompts)");
		}
		buf_puts(out, ", all ");
		plan_put_time(out, r->request_ms, 0);
		buf_putc(out, '\n');
	}
}

static void put_users(struct buf *out, const struct strategy *s)
{
	const struct infer_plan *r = &s->plan;
	const struct infer_plan_ask *a = &s->ask;

	put_label(out, "concurrency");
	buf_printf(out, "%d user%s of %d tokens; memory holds %d", (int)a->users,
	           a->users == 1 ? "" : "s", (int)a->ctx, (int)r->users_memory);
	if (r->users_latency >= 0 && (a->ttft_ms > 0 || a->tpot_ms > 0))
		buf_printf(out, ", %d at the latency asked", (int)r->users_latency);
	buf_putc(out, '\n');
	put_label(out, "prefixes");
	if (a->shared > 0 && r->prefix_ms > 0) {
		buf_printf(out, "%d shared tokens save each request ", (int)a->shared);
		plan_put_time(out, r->prefix_ms, 0);
		buf_puts(out, " and all of them ");
		put_gib(out, r->prefix_bytes);
		buf_putc(out, '\n');
	} else if (r->prefill_tok_s > 0) {
		buf_puts(out, "none shared; 100 shared tokens would save each request ");
		plan_put_time(out, 1e5 / r->prefill_tok_s, 0);
		buf_putc(out, '\n');
	} else {
		buf_puts(out, "none shared\n");
	}
	if (!(r->cost > 0))
		return;
	put_label(out, "cost");
	buf_printf(out, "%.3g for a million tokens of output with their prompts\n", r->cost);
}

static void put_model(struct buf *out, const struct planned *p)
{
	const struct infer_shape *s = &p->shape;
	int32_t users = p->asked.ask.users;

	put_label(out, "model");
	buf_printf(out, "%s%s, %.2f billion parameters", s->experts ? "experts" : "dense",
	           s->window ? ", with windows" : "", s->params * 1e-9);
	if (s->experts)
		buf_printf(out, ", %.2f active; %d of %d experts a token, %.1f read by %d at once",
		           s->active_params * 1e-9, (int)s->used, (int)s->experts,
		           infer_experts_touched(s->experts, s->used, users), (int)users);
	buf_printf(out, "; mostly %s\n", infer_type_info(p->type)->name);
}

static void put_judgement(struct buf *out, const struct planned *p)
{
	put_label(out, "verdict");
	plan_verdict(out, p);
	buf_putc(out, '\n');
	put_label(out, "do this");
	plan_command(out, p);
	buf_putc(out, '\n');
	if (p->best[p->pick].runs == RUNS_CUDA) {
		put_label(out, "");
		buf_puts(out, "with a build for NVIDIA GPUs: make CUDA=1\n");
	}
	if (p->shape.ctx_train > 0 && p->asked.ask.ctx > p->shape.ctx_train) {
		put_label(out, "warning");
		buf_printf(out,
		           "the context of %d tokens is beyond the %d that it was trained for\n",
		           (int)p->asked.ask.ctx, (int)p->shape.ctx_train);
	}
	buf_putc(out, '\n');
}

/* Append what was assumed of a model without weights. */
static void put_assumed(struct buf *out, const struct planned *p)
{
	const struct infer_dims *d = &p->dims;

	if (p->model)
		return;
	put_label(out, "assumed");
	buf_printf(out, "%s: %d layers of %d, %d heads over %d of %d, ", d->name, (int)d->layers,
	           (int)d->embd, (int)d->heads, (int)(d->kv_rank ? 1 : d->kv_heads),
	           (int)(d->kv_rank ? d->kv_rank + d->rope : d->head));
	if (d->experts)
		buf_printf(out, "%d of %d experts of %d", (int)d->used, (int)d->experts,
		           (int)d->expert_ff);
	else
		buf_printf(out, "feed-forward %d", (int)d->ff);
	buf_printf(out, ", vocabulary %d%s, weights %s", (int)d->vocab, d->tied ? " (tied)" : "",
	           plan_type_name(p->type));
	if (d->expert_type)
		buf_printf(out, " (experts) and %s", infer_type_info(d->type)->name);
	buf_putc(out, '\n');
}

/* Append the link between accelerators, and what it means for one user. */
static void put_link(struct buf *out, const struct planned *p, const struct strategy *s)
{
	const struct infer_machine *m = p->m;
	const struct infer_shape shape = strategy_shape(p, s);
	struct infer_plan_ask a = s->ask;
	struct infer_plan cut, whole;

	if (m->gpu.count < 2)
		return;
	put_label(out, "interconnect");
	if (m->gpu.link_gb_s > 0)
		buf_printf(out, "%.0f GB/s to each other", m->gpu.link_gb_s);
	else if (m->gpu.host_gb_s > 0)
		buf_printf(out, "no direct link is described; %.0f GB/s through the host",
		           m->gpu.host_gb_s);
	else {
		buf_puts(out, "unknown: not described, so only whole layers on each are planned\n");
		return;
	}
	a.users = 1;
	a.how.gpus = m->gpu.count;
	a.how.gpu_part = 1;
	a.how.split = INFER_SPLIT_TENSOR;
	infer_plan_make(&cut, &shape, m, &a, NULL);
	a.how.split = INFER_SPLIT_PIPELINE;
	infer_plan_make(&whole, &shape, m, &a, NULL);
	if (cut.decode_tok_s > 0 && whole.decode_tok_s > 0)
		buf_printf(out,
		           ": one user on all %d: %.1f tokens/s with cut layers (%.2f ms for the "
		           "link), %.1f with whole layers on each",
		           (int)m->gpu.count, cut.decode_tok_s,
		           cut.alone.part[INFER_BOUND_LINK] * 1e3, whole.decode_tok_s);
	buf_putc(out, '\n');
}

static void put_choices(struct buf *out, const struct planned *p, const struct strategy *s)
{
	const struct infer_machine *m = p->m;
	const char *other = plan_other_engine(p);

	put_label(out, "kernels");
	if (m->measured)
		buf_printf(out, "%s: %s\n", weights_name(p, s),
		           m->loops[s->type < 0 ? p->type : s->type].rows[0] > 0
		                   ? "of its own"
		                   : "none of its own: weights are decoded to floats first");
	else
		buf_puts(out, "not measured: the machine is described\n");
	put_link(out, p, s);
	if (other) {
		put_label(out, "other engines");
		buf_printf(out, "%s\n", other);
	}
}

static void put_strategy(struct buf *out, const struct planned *p, const struct strategy *s, int i)
{
	const struct infer_plan *r = &s->plan;
	const struct infer_setup *how = &s->ask.how;
	static const char *const splits[] = { "", ", tensor parallel", ", pipeline",
		                              ", expert parallel" };
	static const char *const runs[] = { "", " (needs a build with CUDA)",
		                            " (not with this program)" };

	buf_printf(out, "\n%d. %s: %s, cache %s", i, s->aim,
	           s->type < 0 ? "the file as it is" : plan_type_name(s->type),
	           infer_type_info(how->k_type)->name);
	if (how->gpu_part > 0)
		buf_printf(out, ", %.0f of %d layers on %d accelerator%s%s",
		           how->gpu_part * p->shape.layers, (int)p->shape.layers, (int)how->gpus,
		           how->gpus == 1 ? "" : "s", splits[how->split]);
	buf_puts(out, runs[s->runs]);
	buf_puts(out, "\n   ");
	put_rate(out, r->all_tok_s, r->limit_all_tok_s, 0);
	buf_puts(out, "; ");
	put_gib(out, how->gpu_part > 0 ? r->need.gpu : r->need.host);
	buf_printf(out, "; %s\n", s->why);
	plan_quant_line(out, p, s);
	plan_run_line(out, p, s);
	plan_serve_line(out, p, s);
}

void plan_text(struct buf *out, const struct planned *p)
{
	const struct strategy *s = &p->best[p->pick];

	put_judgement(out, p);
	put_hardware(out, p);
	put_memory(out, p, s);
	put_adapters(out, p);
	put_device(out, p, s);
	put_speed(out, s);
	put_users(out, s);
	put_model(out, p);
	put_assumed(out, p);
	put_choices(out, p, s);
	for (int i = 0; i < p->n_best; i++)
		put_strategy(out, p, &p->best[i], i + 1);
}
