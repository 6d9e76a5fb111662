/* engine/engine.c - open, close, and one step */
#include "engine/engine.h"
#include "engine/device.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/pool.h"

#include <stdio.h>
#include <time.h>

enum {
	CHUNK = 512, /* default prefill_chunk */
	STEP_MS = 50,
	QUEUE = 1024,
	MOST_SEQS = 4096,
	MOST_CHUNK = 65536,
	SCORE_ROWS = 64,
	SCORE_BYTES = 32 << 20,
	LATER_BYTES = 8 << 20,
	KNOWN_FLAGS = INFER_ENGINE_NO_PREFIX_CACHE | INFER_ENGINE_NO_JUMP | INFER_ENGINE_EVEN |
	              INFER_ENGINE_CPU_EXPERTS
};

static int check_engine_opts(const struct infer_engine_opts *o, infer_error *err)
{
	const struct {
		int64_t v, hi;
		const char *name;
	} rows[] = {
		{ o->threads, 1024, "threads" },
		{ o->ctx, INT32_MAX - 1, "ctx" },
		{ o->prefill_chunk, MOST_CHUNK, "prefill_chunk" },
		{ o->step_ms, 1 << 20, "step_ms" },
		{ o->max_seqs, MOST_SEQS, "max_seqs" },
		{ o->max_queue, 1 << 24, "max_queue" },
		{ o->lora_rank, INFER_LORA_USES * INFER_LORA_MAX_RANK, "lora_rank" },
	};

	if (o->swap_bytes > INT64_MAX / 4)
		return err_set(err, INFER_EINVAL, "swap_bytes is %llu: must be from 0 to %lld",
		               (unsigned long long)o->swap_bytes, (long long)(INT64_MAX / 4));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].v < 0 || rows[i].v > rows[i].hi)
			return err_set(err, INFER_EINVAL, "%s is %lld: must be from 0 to %lld",
			               rows[i].name, (long long)rows[i].v, (long long)rows[i].hi);
	if (o->act_type != INFER_F32 && o->act_type != INFER_BF16)
		return err_set(err, INFER_EINVAL, "act_type is %d: must be INFER_F32 or INFER_BF16",
		               o->act_type);
	if (o->flags & ~(uint32_t)KNOWN_FLAGS)
		return err_set(err, INFER_EINVAL, "engine flags 0x%x are not known",
		               (unsigned)(o->flags & ~(uint32_t)KNOWN_FLAGS));
	return INFER_OK;
}

static void take_opts(infer_engine *e, const infer_model *m, const struct infer_engine_opts *o,
                      const struct os_limits *l)
{
	e->model = m;
	e->tok = infer_model_tokenizer(m);
	e->n_vocab = m->h.n_vocab;
	e->n_outputs = arch_outputs(m);
	e->threads = e->threads_wanted = o->threads ? o->threads : l->threads;
	e->k_type = o->kv_set ? o->k_type : INFER_F16;
	e->v_type = o->kv_set ? o->v_type : INFER_F16;
	e->act_type = o->act_type;
	e->chunk = o->prefill_chunk ? o->prefill_chunk : CHUNK;
	e->step_ns = (int64_t)(o->step_ms ? o->step_ms : STEP_MS) * 1000000;
	e->max_seqs = o->max_seqs ? o->max_seqs : 1;
	e->max_queue = o->max_queue ? o->max_queue : QUEUE;
	e->lora_rank = o->lora_rank;
	e->flags = o->flags;
	e->watch = o->watch;
	/* as many rows of logits as fit SCORE_BYTES */
	e->score_rows = SCORE_BYTES / 4 / e->n_vocab;
	if (e->score_rows > SCORE_ROWS)
		e->score_rows = SCORE_ROWS;
	if (m->h.bidirectional) { /* attention is bidirectional: one step has all rows of a text */
		int32_t most = o->ctx ? o->ctx : m->h.ctx_train;

		e->chunk = most < MOST_CHUNK ? most : MOST_CHUNK;
		e->score_rows = e->chunk;
	}
	if (e->score_rows < 1)
		e->score_rows = 1;
	if (e->score_rows > e->chunk)
		e->score_rows = e->chunk;
}

static int is_half(const struct weight *w) { return w->type == INFER_F16 || w->type == INFER_BF16; }

/* True if the model multiplies with any F16 or BF16 matrix. */
static int has_half(const infer_model *m)
{
	const struct backend_model parts = arch_parts(m);

	for (int32_t i = 0; i < parts.graph->n; i++) {
		const struct graph_node *n = &parts.graph->nodes[i];
		int matrices = n->op == GRAPH_MM || n->op == GRAPH_HEAD_MM ? 1
		               : n->op == GRAPH_MOE                        ? 3
		                                                           : 0;
		for (int w = 0; w < matrices; w++)
			if (is_half(&parts.weights[n->w[w]]))
				return 1;
	}
	return 0;
}

static int open_host(infer_engine *e, const struct infer_engine_opts *o, int threads,
                     infer_error *err)
{
	TRY(host_open(&e->host, threads, o->isa, err));
	if (e->act_type != INFER_BF16)
		return INFER_OK;
	if (!has_half(e->model))
		return err_set(err, INFER_EUNSUP,
		               "bf16 activations: the model has no F16 or BF16 matrix");
	kern_act_bf16(&e->host.kern);
	return INFER_OK;
}

/* Return the address space for cache and workspace, leaving some for requests, their texts and the
 * allocator. */
static uint64_t address_room(const struct os_limits *l)
{
	if (l->address_bytes == UINT64_MAX)
		return UINT64_MAX;
	return l->address_bytes > LATER_BYTES ? l->address_bytes - LATER_BYTES : 0;
}

static struct place_ask ask_for(const infer_engine *e, const struct infer_engine_opts *o,
                                const struct stages_device *devices)
{
	struct place_ask ask = {
		.ctx = o->ctx,
		.k_type = e->k_type,
		.v_type = e->v_type,
		.kv_bytes = o->kv_bytes,
		.max_seqs = e->max_seqs,
		.rows = e->chunk + e->max_seqs,
		.out = e->score_rows + e->max_seqs,
		.rank = e->lora_rank,
		.address_bytes = UINT64_MAX,
		.n_devices = e->stages.n,
	};
	for (int i = 0; i < ask.n_devices; i++)
		ask.devices[i] =
			(struct place_device){ .on = e->stages.at[i].on,
			                       .memory_bytes = UINT64_MAX,
			                       .layers = devices[i].layers,
			                       .host_experts =
			                               (o->flags & INFER_ENGINE_CPU_EXPERTS) != 0 &&
			                               !device_is_host(&e->stages.at[i].on) };
	return ask;
}

static uint64_t subtract_to_zero(uint64_t bytes, uint64_t by)
{
	return bytes > by ? bytes - by : 0;
}

/* Set the free memory of each device. */
static void ask_memory(struct place_ask *ask, const struct infer_engine_opts *o)
{
	uint64_t all;

	for (int i = 0; i < ask->n_devices; i++) {
		struct place_device *d = &ask->devices[i];

		d->on.kind->memory(d->on.b, &d->memory_bytes, &all);
		if (device_is_host(&d->on))
			d->memory_bytes = subtract_to_zero(d->memory_bytes, o->swap_bytes);
	}
}

/* Return the least acceptable context for these devices and this model. */
static int32_t least_ctx(const infer_engine *e, const struct device_list *list)
{
	return list->ctx_least < e->model->h.ctx_train ? list->ctx_least : e->model->h.ctx_train;
}

/* Place the model on its devices, after choosing how many layers fit if the options ask for it. */
static int place_model(infer_engine *e, struct place_ask *ask, const struct device_list *list,
                       infer_error *err)
{
	const int32_t least = ask->ctx ? 0 : least_ctx(e, list);

	if (list->at[0].layers == STAGES_FIT)
		TRY(place_fit(ask, e->model, least, err));
	TRY(place_solve(&e->place, e->model, ask, err));
	if (e->place.ctx < least)
		return err_set(err, INFER_ENOMEM,
		               "%s: only a context of %d fits next to the weights, less than %d",
		               backend_name(&ask->devices[ask->n_devices - 1].on), e->place.ctx,
		               least);
	return INFER_OK;
}

static int open_cache(infer_engine *e, const struct infer_engine_opts *o,
                      const struct device_list *list, const struct os_limits *l, infer_error *err)
{
	struct place_ask ask = ask_for(e, o, list->at);
	const struct kv_group *g = e->place.groups;
	struct kv_opts k;

	ask.address_bytes = address_room(l);
	if (ask.address_bytes != UINT64_MAX) /* swap slots of each group take some, too */
		ask.address_bytes = subtract_to_zero(ask.address_bytes, 3 * o->swap_bytes);
	ask_memory(&ask, o);
	TRY(place_model(e, &ask, list, err));
	e->ctx = e->place.ctx;
	k = (struct kv_opts){ .groups = e->place.groups,
		              .n_groups = e->place.n_groups,
		              .n_layers = e->model->h.n_layers,
		              .ctx = e->ctx,
		              .max_seqs = e->max_seqs,
		              .swap_bytes = o->swap_bytes,
		              .flags = o->flags & INFER_ENGINE_NO_PREFIX_CACHE ? KV_NO_TREE : 0 };
	for (int i = 0; i < e->place.n_parts; g += e->place.parts[i++].n_groups) {
		const struct place_part *part = &e->place.parts[i];
		must(kv_seq_bytes(g, part->n_groups, e->ctx, ask.rows) <= part->kv);
		k.bytes[i] = part->kv;
		e->workspace_bytes += part->workspace;
	}
	e->workspace_bytes += e->place.edge_bytes;
	return kv_open(&e->kv, &k, err);
}

static int open_step(infer_engine *e, infer_error *err)
{
	struct step *s = &e->step;
	size_t seqs = (size_t)e->max_seqs, rows = (size_t)e->chunk + seqs,
	       out = (size_t)e->score_rows + seqs;

	s->ids = mem_alloc(MEM_ENGINE, rows, sizeof *s->ids);
	s->runs = mem_alloc(MEM_ENGINE, seqs, sizeof *s->runs);
	s->requests = mem_alloc(MEM_ENGINE, seqs, sizeof *s->requests);
	s->out = mem_alloc(MEM_ENGINE, out, sizeof *s->out);
	s->want = mem_alloc(MEM_ENGINE, out, sizeof *s->want);
	s->jobs = mem_alloc(MEM_ENGINE, out, sizeof *s->jobs);
	s->groups = mem_alloc(MEM_ENGINE, out, sizeof *s->groups);
	e->active = mem_alloc(MEM_ENGINE, seqs, sizeof *e->active);
	if (!s->ids || !s->runs || !s->requests || !s->out || !s->want || !s->jobs || !s->groups ||
	    !e->active)
		return err_set(err, INFER_ENOMEM, "no memory for steps of %zu rows", rows);
	return events_init(&e->events, out + 5 * seqs, seqs * INFER_MAX_TOP, err);
}

static int open_lock(infer_engine *e, infer_error *err)
{
	pthread_condattr_t a;
	int rc = pthread_condattr_init(&a);

	if (!rc) {
		pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
		rc = pthread_cond_init(&e->wake, &a);
		pthread_condattr_destroy(&a);
	}
	if (!rc) {
		rc = pthread_mutex_init(&e->lock, NULL);
		if (rc)
			pthread_cond_destroy(&e->wake);
	}
	if (rc)
		return err_errno(err, rc, "cannot make the engine's lock");
	e->lock_made = 1;
	return INFER_OK;
}

static void on_inputs(void *user, int32_t weight, int32_t matrix, const float *x, size_t ld,
                      const int32_t *at, int32_t n, int32_t k)
{
	const infer_engine *e = user;
	const struct infer_tensor *t = e->model->tensors[weight];
	struct infer_inputs in = { t, matrix, n, k, x, ld, at };

	/* skip matrices derived from one in the file, as for old files with MLA */
	if (e->model->weights[weight].n != (t->n_dims > 2 ? t->ne[2] : 1))
		return;
	e->observer.fn(e->observer.user, &in);
}

/* Weights of a part of a model are numbered per part, so only one device can be observed. */
static int open_observer(infer_engine *e, const struct infer_engine_opts *o, int n,
                         infer_error *err)
{
	e->observer = o->observer;
	if (!o->observer.fn)
		return INFER_OK;
	if (n > 1)
		return err_set(err, INFER_EUNSUP, "observing products on %d devices", n);
	e->stages.observer = (struct backend_observer){ on_inputs, e };
	return INFER_OK;
}

static int open_engine_parts(infer_engine *e, const infer_model *m,
                             const struct infer_engine_opts *o, const struct device_list *list,
                             infer_error *err)
{
	struct backend_size size;
	struct os_limits l;

	if (o->lora_rank && list->n > 1) /* weights of a part are numbered per part */
		return err_set(err, INFER_EUNSUP, "LoRA adapters on %d devices", list->n);
	os_limits(&l);
	take_opts(e, m, o, &l);
	TRY(open_lock(e, err));
	TRY(open_host(e, o, e->threads, err));
	e->threads = pool_threads(e->host.pool);
	TRY(stages_open(&e->stages, list->at, list->n, &e->host, &o->loading, err));
	if (l.address_bytes != UINT64_MAX)
		os_limits(&l); /* again, because the threads have allocated their stacks */
	TRY(open_cache(e, o, list, &l, err));
	size = (struct backend_size){ e->chunk + e->max_seqs, e->score_rows + e->max_seqs, e->ctx,
		                      e->lora_rank };
	TRY(stages_make(&e->stages, &e->place, e->kv, &size, err));
	if (e->n_outputs == e->n_vocab)
		e->top = e->stages.at[e->stages.n - 1].on.kind->top;
	TRY(open_observer(e, o, list->n, err));
	return open_step(e, err);
}

static const struct infer_engine_opts defaults;

int infer_engine_open(infer_engine **out, const infer_model *model,
                      const struct infer_engine_opts *o, infer_error *err)
{
	const struct device_gpu gpu = device_gpu();

	return device_open(out, model, o ? o : &defaults, &gpu, err);
}

int engine_open(infer_engine **out, const infer_model *model, const struct infer_engine_opts *o,
                const struct stages_device *devices, int n, infer_error *err)
{
	struct device_list list = { .n = n };

	for (int i = 0; i < n && i < KV_DEVICES; i++)
		list.at[i] = devices[i];
	return engine_open_list(out, model, o, &list, err);
}

int engine_open_list(infer_engine **out, const infer_model *model,
                     const struct infer_engine_opts *o, const struct device_list *list,
                     infer_error *err)
{
	int64_t from = clock_now_ns();
	struct kv_stats kv;
	infer_engine *e;
	int rc;

	*out = NULL;
	o = o ? o : &defaults;
	TRY(check_engine_opts(o, err));
	e = mem_zalloc(MEM_ENGINE, 1, sizeof *e);
	if (!e)
		return err_set(err, INFER_ENOMEM, "no memory for an engine");
	rc = open_engine_parts(e, model, o, list, err);
	if (rc) {
		infer_engine_close(&e);
		return rc;
	}
	kv_stats(e->kv, &kv);
	e->now.kv_reserved_bytes = kv.reserved_bytes;
	e->now.kv_page_bytes = kv.page_bytes;
	e->now.workspace_bytes = e->workspace_bytes;
	engine_tell(e, o);
	e->now.open_ns = clock_now_ns() - from;
	stats_publish(e);
	*out = e;
	return INFER_OK;
}

/* Sum the parts: of the host, with the weights used in place in the file, and of other devices. */
static void sum_need(struct infer_engine_need *need, const struct place_plan *p,
                     const infer_model *m)
{
	*need = (struct infer_engine_need){ .ctx = p->ctx, .workspace_bytes = p->edge_bytes };
	for (int i = 0; i < p->n_parts; i++) {
		const struct place_part *part = &p->parts[i];

		need->workspace_bytes += part->host;
		need->thread_bytes += part->thread;
		if (device_is_host(&part->on)) {
			need->weight_bytes += part->weights;
			need->weight_bytes +=
				p->n_parts == 1
					? m->weight_bytes
					: weights_bytes(part->model.weights, part->model.n_weights);
			need->kv_bytes += part->kv;
			need->workspace_bytes += part->workspace;
		} else {
			need->weight_bytes +=
				weights_host_bytes(part->model.weights, part->model.n_weights);
			need->device_weight_bytes += part->weights;
			need->device_kv_bytes += part->kv;
			need->device_workspace_bytes += part->workspace;
		}
	}
}

static int find_need(infer_engine *e, const infer_model *m, const struct infer_engine_opts *o,
                     const struct device_list *list, struct infer_engine_need *need,
                     infer_error *err)
{
	struct place_ask ask;

	take_opts(e, m, o, &(struct os_limits){ .threads = 1 });
	TRY(open_host(e, o, 1, err));
	TRY(stages_open(&e->stages, list->at, list->n, &e->host, NULL, err));
	ask = ask_for(e, o, list->at);
	if (o->gpu_layers == INFER_GPU_LAYERS_FIT)
		ask_memory(&ask, o);
	TRY(place_model(e, &ask, list, err));
	sum_need(need, &e->place, m);
	place_fini(&e->place);
	ask.rows = e->chunk;
	ask.out = e->max_seqs < e->chunk ? e->max_seqs : e->chunk;
	ask.ctx = need->ctx;
	TRY(place_solve(&e->place, m, &ask, err));
	for (int i = 0; i < e->place.n_parts; i++)
		if (device_is_host(&e->place.parts[i].on))
			need->touched_bytes += e->place.parts[i].workspace;
	return INFER_OK;
}

int engine_need_list(struct infer_engine_need *need, const infer_model *model,
                     const struct infer_engine_opts *o, const struct device_list *list,
                     infer_error *err)
{
	infer_engine *e;

	TRY(check_engine_opts(o, err));
	e = mem_zalloc(MEM_ENGINE, 1, sizeof *e);
	if (!e)
		return err_set(err, INFER_ENOMEM, "no memory for an engine");
	int rc = find_need(e, model, o, list, need, err);
	infer_engine_close(&e);
	return rc;
}

int infer_engine_need(const infer_model *model, const struct infer_engine_opts *o,
                      struct infer_engine_need *need, infer_error *err)
{
	const struct device_gpu gpu = device_gpu();

	*need = (struct infer_engine_need){ 0 };
	return device_need(need, model, o ? o : &defaults, &gpu, err);
}

void infer_engine_close(infer_engine **at)
{
	infer_engine *e = *at;

	*at = NULL;
	if (!e)
		return;
	for (struct request *r = e->queue, *next; r; r = next) {
		next = r->next;
		request_free(r);
	}
	for (int32_t i = 0; i < e->n_active; i++)
		request_free(e->active[i]);
	constraints_free(e->constraints);
	events_fini(&e->events);
	kv_close(&e->kv);
	stages_close(&e->stages);
	host_close(&e->host);
	place_fini(&e->place);
	if (e->lock_made) {
		pthread_mutex_destroy(&e->lock);
		pthread_cond_destroy(&e->wake);
	}
	mem_free(e->step.ids);
	mem_free(e->step.runs);
	mem_free(e->step.requests);
	mem_free(e->step.out);
	mem_free(e->step.want);
	mem_free(e->step.jobs);
	mem_free(e->step.groups);
	mem_free(e->active);
	mem_free(e);
}

/* Choose the rows of the step, and reserve the pages and events that it needs. */
static int prepare_step(infer_engine *e, infer_error *err)
{
	size_t tops = 0;
	int rc;

	pthread_mutex_lock(&e->lock);
	rc = events_reserve(&e->events, sched_ending(e), 0, err);
	if (!rc) {
		sched_sweep(e);
		sched_admit(e);
		sched_compose(e);
	}
	pthread_mutex_unlock(&e->lock);
	if (rc)
		return rc;
	for (int32_t i = 0; i < e->step.s.n_out; i++)
		tops += (size_t)e->step.jobs[i].r->top;
	return events_reserve(&e->events, (size_t)e->step.s.n_out + 4 * (size_t)e->max_seqs, tops,
	                      err);
}

static void count_step(infer_engine *e, int64_t ns, uint64_t calls)
{
	struct infer_engine_stats *s = &e->now;
	const struct step *st = &e->step;

	s->steps++;
	s->rows += (uint64_t)st->s.n;
	s->decode_rows += (uint64_t)st->n_decode;
	s->prefill_rows += (uint64_t)st->n_prefill;
	if (s->rows_max < (uint64_t)st->s.n)
		s->rows_max = (uint64_t)st->s.n;
	s->compute_ns += ns;
	if (!st->n_prefill)
		s->decode_allocs += calls;
}

static void finish_step(infer_engine *e, int64_t from, uint64_t calls)
{
	int64_t ns;

	batch_absorb(e);
	ns = clock_now_ns() - from;
	sched_measure(e, ns);
	count_step(e, ns, mem_calls_all() - calls);
}

int infer_engine_step(infer_engine *e, infer_error *err)
{
	uint64_t calls = mem_calls_all();
	infer_error why = { 0 };
	int64_t from;
	int rc;

	TRY(prepare_step(e, err));
	if (e->step.s.n) {
		from = clock_now_ns();
		rc = batch_run(e, &why);
		e->stopped = rc == INFER_ECANCEL;
		if (!rc)
			finish_step(e, from, calls);
		else if (!e->stopped)
			for (int32_t i = 0; i < e->step.s.n_runs; i++)
				request_end(e, e->step.requests[i], INFER_FINISH_ERROR, why.code,
				            why.message);
		pthread_mutex_lock(&e->lock);
		sched_reap(e);
		pthread_mutex_unlock(&e->lock);
	}
	stats_publish(e);
	return INFER_OK;
}
