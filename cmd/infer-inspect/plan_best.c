/* infer-inspect/plan_best.c - search for the best ways to run a model: types of weights and KV
 * cache, placement on host and accelerators. */
#include "plan.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Types that a model can be quantised to, and the perplexity increase in per cent: Llama 3 70B,
 * wiki.test, in the README of github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference (from
 * github.com/ggerganov/llama.cpp/pull/6745).  name: value of --type. */
static const struct {
	int type;
	const char *name;
	double loss;
} types[] = {
	{ -1, "", 0 },
	{ INFER_Q8_0, "Q8_0", 0.03 },
	{ INFER_Q6_K, "Q6_K", 0.47 },
	{ INFER_Q5_K, "Q5_K_M", 1.23 },
	{ INFER_Q4_K, "Q4_K_M", 4.83 },
	{ INFER_IQ4_XS, "IQ4_XS", 7.07 },
	{ INFER_Q3_K, "Q3_K_M", 18.75 },
	{ INFER_IQ3_XXS, "IQ3_XXS", 40.14 },
	{ INFER_Q2_K, "Q2_K", 68.73 },
	{ INFER_IQ2_XXS, "IQ2_XXS", 135.64 },
	{ INFER_IQ1_S, "IQ1_S", 248.51 },
};
enum { N_TYPES = sizeof types / sizeof *types, N_KV = 3, PLACES = 6 };
static const int kv_types[N_KV] = { INFER_F16, INFER_Q8_0, INFER_Q4_0 };

const char *plan_type_name(int type)
{
	for (int i = 1; i < N_TYPES; i++)
		if (types[i].type == type)
			return types[i].name;
	return infer_type_info(type)->name;
}

int plan_find_type(const char *name)
{
	static const int others[] = { INFER_MXFP4, INFER_BF16, INFER_F16, INFER_F32 };

	for (int i = 1; i < N_TYPES; i++)
		if (!strcasecmp(types[i].name, name))
			return types[i].type;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcasecmp(infer_type_info(others[i])->name, name))
			return others[i];
	return -1;
}

static double type_bits(int type)
{
	const struct infer_type_info *t = infer_type_info(type);

	return 8.0 * t->block_bytes / t->block;
}

struct candidate {
	struct strategy s;
	int kv, meets;
};

/* Fill `to` with the placements that the machine allows.  Returns their number. */
static int list_placements(struct infer_setup *to, const struct planned *p,
                           const struct infer_shape *s, const struct infer_plan_ask *a)
{
	const struct infer_machine *m = p->m;
	int linked = m->gpu.link_gb_s > 0 || m->gpu.host_gb_s > 0;
	struct infer_setup how = a->how;
	int n = 0;

	if (!m->gpu.count || m->memory_bytes) {
		how.gpus = 0;
		how.gpu_part = 0;
		how.split = INFER_SPLIT_NONE;
		to[n++] = how;
	}
	if (!m->gpu.count)
		return n;
	how.gpu_part = 1;
	how.gpus = 1;
	how.split = INFER_SPLIT_NONE;
	to[n++] = how;
	if (m->gpu.count > 1) {
		how.gpus = m->gpu.count;
		how.split = INFER_SPLIT_PIPELINE;
		to[n++] = how;
		how.split = INFER_SPLIT_TENSOR;
		if (linked)
			to[n++] = how;
		how.split = INFER_SPLIT_EXPERT;
		if (linked && s->experts)
			to[n++] = how;
	}
	if (m->memory_bytes) {
		struct infer_plan_ask part = *a;
		part.how = how;
		part.how.split = m->gpu.count > 1 ? INFER_SPLIT_PIPELINE : INFER_SPLIT_NONE;
		part.how.gpu_part = infer_plan_gpu_part(s, m, &part);
		if (part.how.gpu_part > 0 && part.how.gpu_part < 1)
			to[n++] = part.how;
	}
	return n;
}

static int meets_latency(const struct infer_plan_ask *a, const struct infer_plan *r)
{
	if (!r->need.fits)
		return 0;
	if (!(a->ttft_ms > 0) && !(a->tpot_ms > 0))
		return 1;
	return r->all_tok_s > 0 && (!(a->ttft_ms > 0) || r->ttft_ms <= a->ttft_ms) &&
	       (!(a->tpot_ms > 0) || r->tpot_ms <= a->tpot_ms);
}

static double plan_speed(const struct infer_plan *r)
{
	return r->all_tok_s > 0 ? r->all_tok_s : r->limit_all_tok_s;
}

static double plan_users(const struct infer_plan *r)
{
	return r->users_latency >= 0 ? r->users_latency : r->users_memory;
}

enum { CLOSEST, FASTEST, MOST };
static const char *const aims[] = { "closest to the file as it is", "most tokens a second",
	                            "most users" };
/* Largest allowed perplexity increase for each aim, per cent. */
static const double most_loss[] = { 300, 5, 20 };

/* True if a is better than b for an aim.  If all else is equal, the f16 cache wins. */
static int better_for(int aim, const struct candidate *a, const struct candidate *b)
{
	const struct infer_plan *x = &a->s.plan, *y = &b->s.plan;

	if (aim == MOST && plan_users(x) != plan_users(y))
		return plan_users(x) > plan_users(y);
	if (aim == FASTEST && plan_speed(x) > 1.01 * plan_speed(y))
		return 1;
	if (aim == FASTEST && plan_speed(y) > 1.01 * plan_speed(x))
		return 0;
	if (a->s.loss != b->s.loss)
		return a->s.loss < b->s.loss;
	if (a->kv != b->kv)
		return a->kv < b->kv;
	return plan_speed(x) > plan_speed(y);
}

static int same_setup(const struct strategy *a, const struct strategy *b)
{
	return a->type == b->type && !memcmp(&a->ask.how, &b->ask.how, sizeof a->ask.how);
}

static void say_why(struct strategy *s, const struct planned *p, int aim)
{
	const struct infer_plan *r = &s->plan, *was = &p->asked.plan;
	char loss[64] = "";
	double times = plan_speed(r) / plan_speed(was);
	const char *what = r->all_tok_s > 0 && was->all_tok_s > 0 ? "" : "a limit ";

	if (s->type >= 0)
		snprintf(loss, sizeof loss, "; perplexity about %.2g %% up (Llama 3 70B)", s->loss);
	if (aim == MOST && plan_users(r) <= plan_users(was))
		snprintf(s->why, sizeof s->why, "no fewer users than with the file as it is%s",
		         loss);
	else if (aim == MOST)
		snprintf(s->why, sizeof s->why, "%.0f users instead of %.0f%s", plan_users(r),
		         plan_users(was), loss);
	else if (!was->need.fits)
		snprintf(s->why, sizeof s->why, "%s%s", "it fits", loss);
	else if (times > 0.98 && times < 1.02)
		snprintf(s->why, sizeof s->why, "as fast as the file as it is%s", loss);
	else
		snprintf(s->why, sizeof s->why, "%s%.2f times as fast as the file as it is%s", what,
		         times, loss);
}

/* State of the search: the best candidate so far for each aim. */
struct search {
	struct planned *p;
	struct candidate best[AIMS];
	int found[AIMS], any_fits;
	int others_too;         /* 1: accept candidates that only another engine runs */
	struct candidate other; /* the fastest of those */
	int found_other;
	/* the candidate that fits and misses the targets least, and by which factor */
	struct candidate near;
	double missed;
};

/* Return the largest factor by which a plan misses a target; 1e9 if nothing is predicted. */
static double missed_by(const struct infer_plan_ask *a, const struct infer_plan *r)
{
	double ttft = a->ttft_ms > 0 ? r->ttft_ms / a->ttft_ms : 1,
	       tpot = a->tpot_ms > 0 ? r->tpot_ms / a->tpot_ms : 1;

	return !(r->all_tok_s > 0) ? 1e9 : ttft > tpot ? ttft : tpot;
}

static void offer_for_aims(struct search *q, const struct candidate *c)
{
	for (int aim = 0; aim < AIMS; aim++) {
		int taken = 0;
		if (c->s.loss > most_loss[aim])
			continue;
		for (int k = 0; k < aim; k++)
			taken |= q->found[k] && same_setup(&q->best[k].s, &c->s);
		if (taken || (q->found[aim] && !better_for(aim, c, &q->best[aim])))
			continue;
		q->best[aim] = *c;
		q->found[aim] = 1;
	}
}

static void offer_candidate(struct search *q, const struct candidate *c)
{
	int other = c->s.runs == RUNS_OTHER;

	q->any_fits |= c->s.plan.need.fits;
	if (c->s.plan.need.fits && !c->meets) {
		/* one that this program runs without a large loss, if there is any */
		double by = missed_by(&c->s.ask, &c->s.plan) *
		            (other || c->s.loss > most_loss[MOST] ? 1e3 : 1);

		if (!(q->missed > 0) || by < q->missed) {
			q->missed = by;
			q->near = *c;
		}
	}
	if (!c->meets)
		return;
	if (other && c->s.loss <= most_loss[FASTEST] &&
	    (!q->found_other || better_for(FASTEST, c, &q->other))) {
		q->other = *c;
		q->found_other = 1;
	}
	if (!other || q->others_too)
		offer_for_aims(q, c);
}

static int kv_type_fits(const struct infer_shape *s, int kv)
{
	for (int i = 0; i < s->n_work; i++)
		if (s->work[i].kind == INFER_WORK_ATTN &&
		    (s->work[i].dk % infer_type_info(kv)->block ||
		     s->work[i].dv % infer_type_info(kv)->block))
			return 0;
	return 1;
}

static void try_type(struct search *q, int i)
{
	struct planned *p = q->p;
	struct infer_shape s = p->shape;
	struct infer_setup where[PLACES];

	if (i && type_bits(types[i].type) >= type_bits(p->type))
		return;
	if (i)
		infer_shape_retype(&s, types[i].type);
	for (int kv = 0; kv < N_KV; kv++) {
		struct candidate c = { .kv = kv };
		if ((kv && type_bits(kv_types[kv]) >= type_bits(p->asked.ask.how.k_type)) ||
		    !kv_type_fits(&s, kv_types[kv]))
			continue;
		c.s.type = types[i].type;
		c.s.loss = types[i].loss;
		c.s.ask = p->asked.ask;
		if (kv)
			c.s.ask.how.k_type = c.s.ask.how.v_type = kv_types[kv];
		int n = list_placements(where, p, &s, &c.s.ask);
		for (int k = 0; k < n; k++) {
			c.s.ask.how = where[k];
			if (!i && !kv && same_setup(&c.s, &p->asked))
				c.s.plan = p->asked.plan;
			else
				infer_plan_make(&c.s.plan, &s, p->m, &c.s.ask, NULL);
			c.s.runs = plan_runs(p->m, &c.s.ask.how);
			c.meets = meets_latency(&c.s.ask, &c.s.plan);
			offer_candidate(q, &c);
		}
	}
}

/* Set the longest context of n that fits one user. */
static void longest_context(struct planned *p, struct strategy *n, const struct infer_shape *s)
{
	int32_t lo = 0, hi = n->ask.ctx;

	while (lo < hi) {
		int32_t mid = lo + (hi - lo + 1) / 2;
		n->ask.ctx = mid;
		n->ask.prompt = mid > 1 ? mid - 1 : 1;
		infer_plan_make(&n->plan, s, p->m, &n->ask, NULL);
		if (n->plan.need.fits)
			lo = mid;
		else
			hi = mid - 1;
	}
	n->ask.ctx = lo;
}

/* Nothing fits: find the type that loses least with which one user has the context asked for; or else
 * the longest context with the smallest type. */
static void plan_nearest(struct planned *p)
{
	const int32_t ctx = p->asked.ask.ctx;
	struct strategy *n = &p->near;

	for (int i = 0; i < N_TYPES; i++) {
		struct infer_shape s = p->shape;

		if (i && type_bits(types[i].type) >= type_bits(p->type))
			continue;
		if (i)
			infer_shape_retype(&s, types[i].type);
		n->type = types[i].type;
		n->ask = p->asked.ask;
		n->ask.users = 1;
		n->ask.output = 1;
		n->ask.shared = 0;
		if (kv_type_fits(&s, INFER_Q4_0))
			n->ask.how.k_type = n->ask.how.v_type = INFER_Q4_0;
		longest_context(p, n, &s);
		if (n->ask.ctx == ctx)
			return;
	}
	if (n->ask.ctx < 2)
		n->type = TYPE_NONE;
}

/* Search all candidates for each aim. */
static void search_aims(struct search *q)
{
	/* no two aims share a strategy: pass k fixes that of aim k, then later aims are searched again */
	for (int pass = 0; pass < AIMS; pass++) {
		for (int aim = pass; aim < AIMS; aim++)
			q->found[aim] = 0;
		for (int i = 0; i < N_TYPES; i++)
			try_type(q, i);
	}
}

static void add_strategy(struct planned *p, const struct candidate *c, const char *name, int aim)
{
	struct strategy *s = &p->best[p->n_best++];

	*s = c->s;
	s->aim = name;
	say_why(s, p, aim);
}

void plan_best(struct planned *p)
{
	struct search q = { .p = p };
	double fastest = 0;

	p->near.type = TYPE_NONE;
	search_aims(&q);
	if (!q.found[0] && !q.found[1] && !q.found[2] && q.found_other) {
		q.others_too = 1;
		search_aims(&q);
	}
	for (int aim = 0; aim < AIMS; aim++) {
		if (!q.found[aim])
			continue;
		add_strategy(p, &q.best[aim], aims[aim], aim);
		if (plan_speed(&q.best[aim].s.plan) > fastest)
			fastest = plan_speed(&q.best[aim].s.plan);
	}
	if (q.found_other && !q.others_too && plan_speed(&q.other.s.plan) > 1.2 * fastest)
		add_strategy(p, &q.other, "faster with another engine", FASTEST);
	p->fits = q.any_fits;
	if (!q.any_fits)
		plan_nearest(p);
	else if (!p->n_best)
		p->near = q.near.s;
	plan_judge(p);
}
