/* plan/rehearse.c - measure decode steps of a model with random weights, in an engine.
 *
 * The matrices of each type share a file in memory, several times as large as the caches, that is
 * mapped again and again: every matrix has addresses of its own, as in the file of the model, and is
 * read from memory if the model's are.  A smaller model has all of its bytes. */
#include "plan/rehearse.h"
#include "arch/arch.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/os.h"
#include "kern/data.h"
#include "kern/kern.h"
#include "plan/shape.h"
#include "probe/probe.h"
#include "type/type.h"

#include <string.h>

/* CACHES: times the last-level cache; DRAWN: random bytes, which are repeated */
enum { CACHES = 4, LEAST_BYTES = 64 << 20, MOST_BYTES = 256 << 20, DRAWN = 1 << 18 };
/* ENOUGH: turns that other threads did not interrupt.  TURN_NS: least time of a turn */
enum { TURNS = 15, ENOUGH = 4, TURN_NS = 4000000, MOST_STEPS = 16 };
#define ALL_NS 350000000 /* no turn begins later */
/* seconds; longer steps are cut, or not measured if that is not possible */
#define LONGEST_STEP 0.06
#define LONGEST_WHOLE 0.15

/* The memory of all matrices of a type. */
struct area {
	unsigned char *at;
	size_t bytes, period, used;
};
struct stage {
	infer_model model; /* a copy with these weights */
	const void **at;   /* [n_at] matrices of all weights */
	size_t n_at;
	struct area of[INFER_TYPE_COUNT];
};

/* Mark the weights that products read. */
static void mark_matrices(const infer_model *m, unsigned char *is)
{
	for (int32_t i = 0; i < m->graph.n; i++) {
		const struct graph_node *n = &m->graph.nodes[i];
		int last = n->op == GRAPH_MOE                            ? 3
		           : n->op == GRAPH_MM || n->op == GRAPH_HEAD_MM ? 1
		                                                         : 0;

		for (int k = 0; k < last; k++)
			is[n->w[k]] = 1;
	}
}

/* Matrices begin at multiples of this, so that blocks begin where blocks were drawn. */
static size_t unit_of(int type) { return 64 * (size_t)infer_type_info(type)->block_bytes; }

static size_t matrix_bytes(const struct weight *w)
{
	return num_round_up(type_row_bytes(w->type, w->ne[0]) * (size_t)w->ne[1], unit_of(w->type));
}

static int make_area(struct area *a, int type, double part, infer_error *err)
{
	/* whole pages and whole units */
	size_t unit = unit_of(type) * os_page() / 64,
	       period = num_round_up((size_t)((double)a->bytes * part), unit),
	       drawn = num_min((int64_t)period, (int64_t)num_round_up(DRAWN, unit));
	int block = infer_type_info(type)->block;
	void *at;

	a->bytes = num_round_up(a->bytes, unit);
	a->period = period;
	TRY(os_repeated(&at, period, a->bytes, err));
	a->at = at;
	kern_data_weights(at, type, drawn / (size_t)infer_type_info(type)->block_bytes, block,
	                  KERN_DATA_PLAIN, 1);
	for (size_t i = drawn; i < period; i += drawn)
		memcpy(a->at + i, at, (size_t)num_min((int64_t)drawn, (int64_t)(period - i)));
	return INFER_OK;
}

/* Count the bytes of the matrices by type, and make their areas. */
static int make_areas(struct stage *s, const unsigned char *is, const struct infer_machine *on,
                      infer_error *err)
{
	const infer_model *m = &s->model;
	struct kern k = kern_select(cpu_permit(cpu_features()));
	double all = 0, most;
	int rc = INFER_OK;

	for (int i = 0; i < m->n_weights; i++) {
		const struct weight *w = &m->weights[i];
		s->n_at += (size_t)w->n;
		if (!is[i])
			continue;
		if (!k.mm[w->type].rows)
			return err_set(err, INFER_EUNSUP, "%s has no kernels",
			               infer_type_info(w->type)->name);
		s->of[w->type].bytes += (size_t)w->n * matrix_bytes(w);
		all += (double)w->n * (double)matrix_bytes(w);
	}
	most = (double)num_max(LEAST_BYTES, num_min(CACHES * (int64_t)on->l3_bytes, MOST_BYTES));
	if (4 * most > (double)on->memory_bytes)
		return err_set(err, INFER_ENOMEM, "the machine has too little memory for it");
	for (int t = 0; !rc && t < INFER_TYPE_COUNT; t++)
		if (s->of[t].bytes)
			rc = make_area(&s->of[t], t, most < all ? most / all : 1, err);
	return rc;
}

/* Replace the marked weights.  The others keep those of the file. */
static void place_matrices(struct stage *s, const unsigned char *is)
{
	size_t n = 0;

	for (int i = 0; i < s->model.n_weights; i++) {
		struct weight *w = &s->model.weights[i];
		const void **at = s->at + n;

		n += (size_t)w->n;
		for (int k = 0; k < w->n; k++) {
			struct area *a = &s->of[w->type];

			at[k] = w->at[k];
			if (!is[i])
				continue;
			at[k] = a->at + a->used;
			a->used += matrix_bytes(w);
		}
		w->at = at;
		if (is[i])
			w->row_bytes = type_row_bytes(w->type, w->ne[0]);
	}
}

/* Free what rehearse_steps made.  Call it even if that failed. */
static void stage_fini(struct stage *s, const infer_model *m)
{
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (s->of[t].at)
			os_release(s->of[t].at, s->of[t].bytes);
	mem_free(s->at);
	if (s->model.weights != m->weights)
		mem_free(s->model.weights);
	if (s->model.graph.nodes != m->graph.nodes)
		graph_fini(&s->model.graph);
	if (s->model.arena.first != m->arena.first)
		arena_fini(&s->model.arena);
}

/* True unless there are matrices for all layers together, or layers that share a cache with earlier ones. */
static int can_be_cut(const infer_model *m)
{
	return !m->h.shared_kv && !m->h.layer_embd && m->inputs < 0;
}

/* Build the graph of the first layers. */
static int cut_layers(infer_model *m, int32_t layers, infer_error *err)
{
	if (layers >= m->h.n_layers)
		return INFER_OK;
	m->h.n_layers = layers;
	arena_init(&m->arena, MEM_PLAN);
	graph_init(&m->graph);
	return arch_graph_build(m, err);
}

static int stage_init(struct stage *s, const infer_model *m, const struct infer_machine *on,
                      int32_t layers, infer_error *err)
{
	unsigned char *is = mem_zalloc(MEM_PLAN, (size_t)m->n_weights, 1);
	int rc;

	*s = (struct stage){ .model = *m };
	if (!is)
		return err_nomem(err);
	s->model.weights = mem_alloc(MEM_PLAN, (size_t)m->n_weights, sizeof *s->model.weights);
	rc = s->model.weights ? INFER_OK : err_nomem(err);
	if (!rc) {
		memcpy(s->model.weights, m->weights,
		       (size_t)m->n_weights * sizeof *s->model.weights);
		rc = cut_layers(&s->model, layers, err);
	}
	if (!rc) {
		mark_matrices(&s->model, is);
		rc = make_areas(s, is, on, err);
	}
	if (!rc) {
		s->at = mem_alloc(MEM_PLAN, s->n_at, sizeof *s->at);
		rc = s->at ? INFER_OK : err_nomem(err);
	}
	if (!rc)
		place_matrices(s, is);
	mem_free(is);
	return rc;
}

/* Run up to `steps` steps, until the request ends.  Sets *n to their number.  Errors: as infer_engine_step, and
 * that of the request. */
static int run_steps(int *n, infer_engine *e, int steps, infer_error *err)
{
	struct infer_event ev;

	for (*n = 0; *n < steps && infer_engine_busy(e); ++*n) {
		TRY(infer_engine_step(e, err));
		while (infer_engine_next(e, &ev))
			if (ev.kind == INFER_EVENT_DONE && ev.code)
				return err_set(err, ev.code, "%s", ev.message);
	}
	return INFER_OK;
}

/* Measure turns that other threads do not interrupt, and set r->seconds to their median. */
static int run_turns(struct rehearsal *r, infer_engine *e, infer_error *err)
{
	double of[TURNS];
	int64_t begin = clock_now_ns(), from, to;
	struct os_usage before, after;
	int n = 0, ran;

	TRY(run_steps(&ran, e, 2, err)); /* touches the memory */
	for (int i = 0; i < TURNS && (i < ENOUGH || clock_now_ns() - begin < ALL_NS); i++) {
		os_usage(&before);
		from = clock_now_ns();
		TRY(run_steps(&ran, e, r->steps, err));
		to = clock_now_ns();
		os_usage(&after);
		if (ran < r->steps)
			break;
		if (after.preempted == before.preempted)
			of[n++] = (double)(to - from) * 1e-9 / ran;
	}
	if (n < ENOUGH)
		return err_set(err, INFER_EAGAIN, "other programs had the processors");
	r->seconds = probe_rate(of, n, 1).median;
	return INFER_OK;
}

static int rehearse(struct rehearsal *r, const infer_model *m, const struct infer_setup *how,
                    infer_error *err)
{
	static const int32_t id = 0;
	int32_t most = m->h.ctx_train > 0 ? m->h.ctx_train : INT32_MAX;
	int32_t tokens = (int32_t)num_min(2 + r->steps * TURNS, most - 2);
	const struct infer_engine_opts o = { .device = "cpu",
		                             .threads = how->threads,
		                             .ctx = tokens + 2,
		                             .kv_set = 1,
		                             .k_type = how->k_type,
		                             .v_type = how->v_type,
		                             .prefill_chunk = 1 };
	const struct infer_request ask = { .prompt = &id,
		                           .n_prompt = 1,
		                           .max_tokens = tokens,
		                           .sample = { .temp = 0.8f, .top_k = 40, .top_p = 0.95f },
		                           .flags = INFER_REQ_IGNORE_EOS | INFER_REQ_NO_TEXT };
	infer_engine *e;

	r->ctx = tokens / 2;
	TRY(infer_engine_open(&e, m, &o, err));
	int rc = infer_engine_submit(e, &ask, NULL, err);

	if (!rc)
		rc = run_turns(r, e, err);
	infer_engine_close(&e);
	return rc;
}

static int rehearse_layers(struct rehearsal *r, const infer_model *m,
                           const struct infer_machine *on, const struct infer_setup *how,
                           infer_error *err)
{
	struct stage *s = mem_alloc(MEM_PLAN, 1, sizeof *s);
	int rc;

	if (!s)
		return err_nomem(err);
	rc = stage_init(s, m, on, r->layers, err);
	if (!rc)
		rc = infer_shape_of(&r->shape, &s->model, err);
	if (!rc)
		rc = rehearse(r, &s->model, how, err);
	stage_fini(s, m);
	mem_free(s);
	return rc;
}

int rehearse_steps(struct rehearsal *r, const infer_model *m, const struct infer_machine *on,
                   const struct infer_setup *how, infer_error *err)
{
	if (!can_be_cut(m))
		r->layers = m->h.n_layers;
	return rehearse_layers(r, m, on, how, err);
}

/* Return the predicted seconds of a decode step without a rehearsal. */
static double predict_step(const struct infer_shape *s, const struct infer_machine *m,
                           struct infer_setup how, int64_t ctx)
{
	struct infer_step_time t;

	how.decode_times = 0;
	infer_step_time(&t, s, m, &how, &(struct infer_load){ 1, 1, 1, ctx });
	return t.total;
}

/* Choose the layers and the steps of a turn by the predicted time of a step of all layers. */
static int choose_steps(struct rehearsal *r, const infer_model *m, double step, infer_error *err)
{
	r->layers = m->h.n_layers;
	if (step > LONGEST_WHOLE && !can_be_cut(m))
		return err_set(err, INFER_EUNSUP,
		               "a step takes long, and the layers depend on each other");
	if (step > LONGEST_STEP)
		r->layers = (int32_t)num_max(1, (int64_t)(r->layers * LONGEST_STEP / step));
	r->steps = 1;
	if (step > 0)
		r->steps =
			(int32_t)num_max(1, num_min(MOST_STEPS, (int64_t)(TURN_NS * 1e-9 / step)));
	return INFER_OK;
}

int infer_plan_rehearse(double *times, const infer_model *model, const struct infer_machine *m,
                        const struct infer_setup *how, infer_error *err)
{
	struct rehearsal *r = mem_zalloc(MEM_PLAN, 1, sizeof *r);
	double step = 0;
	int rc;

	*times = 0;
	if (!r)
		return err_nomem(err);
	rc = infer_shape_of(&r->shape, model, err);
	if (!rc)
		rc = choose_steps(r, model, predict_step(&r->shape, m, *how, 1), err);
	if (!rc)
		rc = rehearse_steps(r, model, m, how, err);
	if (!rc)
		step = predict_step(&r->shape, m, *how, r->ctx);
	if (step > 0)
		*times = r->seconds / step;
	mem_free(r);
	return rc;
}
