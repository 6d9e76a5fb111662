/* backend/cuda/run.c - run a step: upload its arrays, launch the kernels, fetch the results.
 *
 * If every sequence has one row and that is an output row, the step replays a CUDA graph, captured
 * for its struct cuda_counts (numbers of rows and splits rounded up to powers of two).  Other steps
 * launch their kernels one by one.  Both give the same bits. */
#include "backend/cuda/plan.h"
#include "base/err.h"
#include "base/num.h"

#include <math.h>
#include <string.h>

static int32_t count_pages(const struct backend_run *r)
{
	return (r->pos + r->n - 1) / GPU_PAGE + 1;
}

/* ---- upload ---- */
static void fill_rows(const struct backend_plan *p, const struct backend_step *s)
{
	const struct cuda_block *b = &p->block;
	int32_t *pos = (void *)(b->host + b->pos), *run = (void *)(b->host + b->run);

	*(struct gpu_step *)(void *)(b->host + b->step) =
		(struct gpu_step){ s->n, s->n_out, s->n_runs, 0 };
	memcpy(b->host + b->id, s->ids, (size_t)s->n * sizeof *s->ids);
	if (s->n_out)
		memcpy(b->host + b->out, s->out, (size_t)s->n_out * sizeof *s->out);
	for (int32_t i = 0; i < s->n_runs; i++)
		for (int32_t k = 0; k < s->runs[i].n; k++) {
			pos[s->runs[i].row + k] = s->runs[i].pos + k;
			run[s->runs[i].row + k] = i;
		}
}

static void fill_layers(const struct backend_plan *p, const struct backend_kv *kv)
{
	struct gpu_layer *to = (void *)(p->block.host + p->block.layers);

	for (int i = 0; i < p->n_layers; i++) {
		const struct backend_kv_layer *l = &kv->layers[i];
		const struct backend_cache *c;

		to[i] = (struct gpu_layer){ 0 };
		if (i >= kv->n_layers || l->group < 0 || l->group >= kv->n_groups)
			continue;
		c = kv->caches[l->group];
		to[i] = (struct gpu_layer){ .base = c->base + (size_t)l->index * c->layer_bytes,
			                    .page_bytes = c->page_bytes,
			                    .k_head = (uint32_t)c->k_head,
			                    .v_head = (uint32_t)c->v_head,
			                    .v_at = (uint32_t)c->v_at,
			                    .k_type = (int16_t)c->k_type,
			                    .v_type = (int16_t)c->v_type,
			                    .group = l->group };
	}
}

/* Fill the runs and their page tables.  Returns the number of page table entries. */
static size_t fill_tables(const struct backend_plan *p, const struct backend_step *s)
{
	uint32_t *tables = (void *)(p->block.host + p->block.tables);
	struct gpu_run *runs = (void *)(p->block.host + p->block.runs);
	int groups = s->kv ? s->kv->n_groups : 0;
	size_t used = 0;

	for (int32_t i = 0; i < s->n_runs; i++) {
		const struct backend_run *r = &s->runs[i];
		size_t n = (size_t)count_pages(r);

		runs[i] = (struct gpu_run){ r->row, r->n, r->pos, r->second, { 0 } };
		for (int g = 0; g < groups; g++) {
			must(used + n <= p->block.max_tables);
			runs[i].tables[g] = (uint32_t)used;
			memcpy(tables + used, r->pages[g], n * sizeof *tables);
			used += n;
		}
	}
	return used;
}

static int upload_step(const struct backend_plan *p, const struct backend_step *s, infer_error *err)
{
	const struct cuda_block *b = &p->block;
	size_t entries;

	fill_rows(p, s);
	if (s->kv)
		fill_layers(p, s->kv);
	entries = fill_tables(p, s);
	return rt_check(cudaMemcpyAsync(b->device, b->host, b->tables + entries * sizeof(uint32_t),
	                                cudaMemcpyHostToDevice, p->b->stream),
	                "upload a step", err);
}

/* ---- launch ---- */
static int launch_attn(const struct backend_plan *p, struct gpu_attn a, const struct cuda_counts *n)
{
	const struct backend_kv *kv = p->s->kv;
	const struct backend_cache *c = kv->caches[kv->layers[a.layer].group];

	a.k_type = c->k_type;
	a.v_type = c->v_type;
	a.max_rows = n->rows;
	a.max_runs = n->runs;
	a.max_run_rows = n->run_rows;
	a.max_splits = n->splits;
	return gpu_attn(&a, p->b->stream);
}

static int launch_mm(const struct backend_plan *p, const struct cuda_launch *l, int32_t rows)
{
	struct gpu_mm m = l->mm;

	m.max_rows = rows;
	return (rows <= GPU_MV_ROWS ? l->type->mv : l->type->mm)(&m, p->b->stream);
}

static int launch_moe(const struct backend_plan *p, const struct cuda_launch *l, int32_t rows)
{
	struct gpu_moe m = l->moe;

	m.max_rows = rows;
	return l->kind == CUDA_DO_GROUP ? gpu_moe_group(&m, p->b->stream)
	       : l->kind == CUDA_DO_MID ? gpu_moe_mid(&m, p->b->stream)
	                                : gpu_moe_sum(&m, p->b->stream);
}

static int launch_chain(const struct backend_plan *p, const struct cuda_launch *l, int32_t rows)
{
	struct gpu_chain c = l->chain;

	c.max_rows = rows;
	return gpu_chain(&c, p->b->stream);
}

static int launch_heads(const struct backend_plan *p, struct gpu_heads h, int32_t rows)
{
	h.max_rows = rows;
	return gpu_heads(&h, p->b->stream);
}

static int launch_conv(const struct backend_plan *p, struct gpu_conv c, const struct cuda_counts *n)
{
	c.max_runs = n->runs;
	c.max_run_rows = n->run_rows;
	return gpu_conv(&c, p->b->stream);
}

static int launch_delta(const struct backend_plan *p, struct gpu_delta d,
                        const struct cuda_counts *n)
{
	d.max_runs = n->runs;
	d.max_run_rows = n->run_rows;
	return gpu_delta(&d, p->b->stream);
}

static int launch_top(const struct backend_plan *p, struct gpu_top t, const struct cuda_counts *n)
{
	t.max_rows = n->out;
	t.k = n->top;
	return gpu_top(&t, p->b->stream);
}

static int launch_copy(const struct backend_plan *p, const struct cuda_launch *l, int32_t rows)
{
	float *edge = p->s->edges[l->copy.edge];
	size_t bytes = (size_t)rows * (size_t)l->copy.cols * sizeof(float);

	if (l->kind == CUDA_DO_RECV)
		return cudaMemcpyAsync(l->copy.value, edge, bytes, cudaMemcpyHostToDevice,
		                       p->b->stream);
	return cudaMemcpyAsync(edge, l->copy.value, bytes, cudaMemcpyDeviceToHost, p->b->stream);
}

/* Return the rows of a launch; 0: the step skips the launch. */
static int32_t count_rows(const struct backend_plan *p, const struct cuda_launch *l)
{
	if (p->hidden_only && l->after_hidden)
		return 0;
	return l->rows == GRAPH_OUT ? p->counts.out : p->counts.rows;
}

static int launch_one(const struct backend_plan *p, const struct cuda_launch *l)
{
	const struct cuda_counts *n = &p->counts;
	int32_t rows = count_rows(p, l);

	if (!rows)
		return cudaSuccess;
	switch ((enum cuda_launch_kind)l->kind) {
	case CUDA_DO_CHAIN:
		return launch_chain(p, l, rows);
	case CUDA_DO_MM:
		return launch_mm(p, l, rows);
	case CUDA_DO_ATTN:
		return launch_attn(p, l->attn, n);
	case CUDA_DO_GROUP:
	case CUDA_DO_MID:
	case CUDA_DO_SUM:
		return launch_moe(p, l, rows);
	case CUDA_DO_HEADS:
		return launch_heads(p, l->heads, rows);
	case CUDA_DO_CONV:
		return launch_conv(p, l->conv, n);
	case CUDA_DO_DELTA:
		return launch_delta(p, l->delta, n);
	case CUDA_DO_TOP:
		return launch_top(p, l->top, n);
	case CUDA_DO_HOST_SEND:
		return cuda_host_send_rows(p, &l->host, rows);
	case CUDA_DO_RECV:
	case CUDA_DO_SEND:
	case CUDA_DO_HOST_COMPUTE:
		break;
	}
	return launch_copy(p, l, rows);
}

/* Launch from p->next_launch on, up to the next CUDA_DO_HOST_COMPUTE or to the end. */
static int launch_up_to_host(struct backend_plan *p)
{
	int rc = cudaSuccess;

	for (; p->next_launch < p->n_launches && !rc; p->next_launch++) {
		const struct cuda_launch *l = &p->launches[p->next_launch];

		if (l->kind != CUDA_DO_HOST_COMPUTE)
			rc = launch_one(p, l);
		else if (count_rows(p, l))
			break;
	}
	return rc;
}

static int launch_all(struct backend_plan *p)
{
	int rc = cudaSuccess;

	p->next_launch = 0;
	if (p->angles.n_ropes) {
		p->angles.max_rows = p->counts.rows;
		rc = gpu_angles(&p->angles, p->b->stream);
	}
	return rc ? rc : launch_up_to_host(p);
}

/* ---- graphs ---- */
static int32_t power_of_two(int32_t n)
{
	int32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static int same_counts(const struct cuda_counts *a, const struct cuda_counts *b)
{
	return a->rows == b->rows && a->out == b->out && a->runs == b->runs &&
	       a->run_rows == b->run_rows && a->splits == b->splits && a->types == b->types &&
	       a->top == b->top;
}

static struct cuda_counts count_step(const struct backend_step *s)
{
	struct cuda_counts n = { .rows = s->n, .out = s->n_out, .runs = s->n_runs };
	int32_t last = 0;

	for (int32_t i = 0; i < s->n_out && !n.top; i++)
		if (s->want && s->want[i] == BACKEND_TOP)
			n.top = power_of_two(s->top);
	for (int32_t i = 0; i < s->n_runs; i++) {
		n.run_rows = (int32_t)num_max(n.run_rows, s->runs[i].n);
		last = (int32_t)num_max(last, s->runs[i].pos + s->runs[i].n - 1);
	}
	n.splits = last / GPU_SPLIT + 1;
	for (int g = 0; s->kv && g < s->kv->n_groups; g++)
		n.types = n.types << 16 | (uint64_t)s->kv->caches[g]->k_type << 8 |
		          (uint64_t)s->kv->caches[g]->v_type;
	return n;
}

/* True if the step can replay a CUDA graph: every sequence decodes one token, rows are few, and the
 * plan has neither host experts nor RECV or SEND. */
static int can_replay(const struct backend_plan *p, const struct cuda_counts *n)
{
	return n->run_rows == 1 && n->out == n->rows && n->rows <= GPU_MV_ROWS && !p->hidden_only &&
	       !p->checked.has_edges && !p->host_experts.n;
}

static void round_counts_up(const struct backend_plan *p, struct cuda_counts *n)
{
	int32_t rows = power_of_two(n->rows);

	rows = (int32_t)num_min(rows, num_min(p->size.rows, p->size.out));
	n->rows = n->out = n->runs = rows;
	n->splits = (int32_t)num_min(power_of_two(n->splits), (p->size.ctx - 1) / GPU_SPLIT + 1);
}

static int capture_graph(struct backend_plan *p, cudaGraphExec_t *exec)
{
	cudaGraph_t graph = NULL;
	int rc = cudaStreamBeginCapture(p->b->stream, cudaStreamCaptureModeThreadLocal), end;

	if (rc)
		return rc;
	rc = launch_all(p);
	end = cudaStreamEndCapture(p->b->stream, &graph);
	rc = rc ? rc : end;
	if (!rc)
		rc = cudaGraphInstantiate(exec, graph, 0);
	if (graph)
		(void)cudaGraphDestroy(graph);
	return rc;
}

/* Launch the CUDA graph for p->counts.  If there is none, capture it, replacing the oldest if
 * needed. */
static int replay_graph(struct backend_plan *p)
{
	const struct cuda_counts *n = &p->counts;
	cudaGraphExec_t exec;
	int rc;

	for (int i = 0; i < p->n_graphs; i++)
		if (same_counts(&p->graphs[i].at, n))
			return cudaGraphLaunch(p->graphs[i].exec, p->b->stream);
	rc = capture_graph(p, &exec);
	if (rc) { /* out of memory, for example: launch the kernels one by one */
		(void)cudaGetLastError();
		return launch_all(p);
	}
	if (p->n_graphs == CUDA_GRAPHS) {
		(void)cudaGraphExecDestroy(p->graphs[0].exec);
		memmove(p->graphs, p->graphs + 1, (CUDA_GRAPHS - 1) * sizeof *p->graphs);
		p->n_graphs--;
	}
	p->graphs[p->n_graphs++] = (struct cuda_graph){ *n, exec };
	return cudaGraphLaunch(exec, p->b->stream);
}

/* ---- results ---- */
static int fetch_bytes(const struct backend_plan *p, void *to, const void *from, size_t bytes)
{
	return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, p->b->stream);
}

/* Fetch rows [first, last) of a node. */
static int fetch_rows(const struct backend_plan *p, int32_t node, float *to, int32_t first,
                      int32_t last)
{
	size_t cols = (size_t)cuda_node(p, node)->cols, at = (size_t)first * cols;

	return first == last ? cudaSuccess
	                     : fetch_bytes(p, to + at, cuda_value(p, node) + at,
	                                   (size_t)(last - first) * cols * sizeof(float));
}

/* Fetch the logits of all rows that are not TOP, one copy for consecutive rows. */
static int fetch_logits(const struct backend_plan *p)
{
	const struct backend_step *s = p->s;
	int rc = cudaSuccess;

	for (int32_t i = 0, from; i < s->n_out && !rc; i++) {
		from = i;
		while (i < s->n_out && (!s->want || s->want[i] != BACKEND_TOP))
			i++;
		rc = fetch_rows(p, p->m.graph->output, p->logits, from, i);
	}
	return rc;
}

static int fetch_top(const struct backend_plan *p)
{
	const struct cuda_top *h = &p->top_host, *d = &p->top;
	size_t rows = (size_t)p->s->n_out, n = rows * (size_t)p->n_top;
	int rc = fetch_bytes(p, h->lse, d->lse, rows * sizeof *h->lse);

	if (n && !rc)
		rc = fetch_bytes(p, h->ids, d->ids, n * sizeof *h->ids);
	if (n && !rc)
		rc = fetch_bytes(p, h->values, d->values, n * sizeof *h->values);
	return rc;
}

/* Fetch the logits of TOP rows whose lse is not finite: backend_want promises them. */
static int fetch_not_finite(const struct backend_plan *p)
{
	const struct backend_step *s = p->s;
	int rc = cudaSuccess, odd = 0;

	for (int32_t i = 0; i < s->n_out && p->n_top && !rc; i++)
		if (s->want[i] == BACKEND_TOP && !isfinite(p->top_host.lse[i])) {
			rc = fetch_rows(p, p->m.graph->output, p->logits, i, i + 1);
			odd = 1;
		}
	if (odd && !rc)
		rc = cudaStreamSynchronize(p->b->stream);
	return rc;
}

/* True if all output rows are HIDDEN: the step can skip the product that computes logits. */
static int wants_hidden_only(const struct backend_plan *p, const struct backend_step *s)
{
	int32_t i = 0;

	if (!s->want || !s->n_out || p->m.graph->hidden < 0 || p->m.graph->output < 0)
		return 0;
	while (i < s->n_out && s->want[i] == BACKEND_HIDDEN)
		i++;
	return i == s->n_out;
}

static int wants_hidden(const struct backend_step *s)
{
	int32_t i = 0;

	if (!s->want)
		return 1;
	while (i < s->n_out && s->want[i] != BACKEND_HIDDEN)
		i++;
	return i < s->n_out;
}

static int fetch_results(const struct backend_plan *p)
{
	const struct graph *g = p->m.graph;
	int rc = cudaSuccess;

	if (!p->s->n_out)
		return rc;
	if (g->output >= 0 && !p->hidden_only) {
		rc = fetch_top(p);
		if (!rc)
			rc = fetch_logits(p);
	}
	if (!rc && g->hidden >= 0 && (wants_hidden(p->s) || g->output < 0))
		rc = fetch_rows(p, g->hidden, p->hidden, 0, p->s->n_out);
	return rc;
}

static int check_supported(const struct backend_step *s, infer_error *err)
{
	if (s->observer)
		return err_set(err, INFER_EUNSUP, "observing products is not supported");
	if (s->stop && atomic_load_explicit(s->stop, memory_order_relaxed))
		return err_set(err, INFER_ECANCEL, "the step was stopped");
	return INFER_OK;
}

/* If rc is an error, wait until no kernel of the step runs, and end the step.  Returns rc. */
static int abandon_step(struct backend_plan *p, int rc)
{
	if (rc) {
		(void)cudaStreamSynchronize(p->b->stream);
		(void)cudaGetLastError();
		p->s = NULL;
	}
	return rc;
}

static int start_step(struct backend_plan *p, const struct backend_step *s, infer_error *err)
{
	int rc;

	p->counts = count_step(s);
	p->n_top = p->counts.top;
	TRY(upload_step(p, s, err));
	if (can_replay(p, &p->counts)) {
		round_counts_up(p, &p->counts);
		rc = replay_graph(p);
		p->next_launch = p->n_launches;
	} else {
		rc = launch_all(p);
	}
	if (!rc && p->next_launch == p->n_launches)
		rc = fetch_results(p);
	return rt_check(rc, "run a step", err);
}

/* Run the rest of the step: alternately compute experts on the host and launch kernels. */
static int run_host_experts(struct backend_plan *p, infer_error *err)
{
	const struct infer_watch *w = p->s->watch;
	int rc = cudaSuccess;

	while (p->next_launch < p->n_launches) {
		const struct cuda_launch *l = &p->launches[p->next_launch++];

		TRY(cuda_host_compute(p, &l->host, count_rows(p, l), err));
		if (w)
			w->fn(w->user, (uint64_t)l->host.number + 1,
			      (uint64_t)p->host_experts.n + 1);
		rc = launch_up_to_host(p);
		if (!rc && p->next_launch == p->n_launches)
			rc = fetch_results(p);
		TRY(rt_check(rc, "run a step", err));
	}
	return INFER_OK;
}

int cuda_begin(struct backend_plan *p, const struct backend_step *s, infer_error *err)
{
	int failed = p->b->copy_error;

	TRY(backend_check_step(&p->checked, &p->size, s, err));
	TRY(backend_check_wants(s, "cuda", GPU_TOP, err));
	TRY(check_supported(s, err));
	TRY(rt_check(cudaSetDevice(p->b->device), "choose the device", err));
	p->b->copy_error = cudaSuccess;
	TRY(rt_check(failed, "copy pages of the cache", err));
	p->s = s;
	p->hidden_only = wants_hidden_only(p, s);
	return abandon_step(p, start_step(p, s, err));
}

int cuda_end(struct backend_plan *p, struct backend_result *r, infer_error *err)
{
	const struct backend_step *s = p->s;

	*r = (struct backend_result){ 0 };
	must(s);
	TRY(abandon_step(p, rt_check(cudaSetDevice(p->b->device), "choose the device", err)));
	TRY(abandon_step(p, run_host_experts(p, err)));
	TRY(abandon_step(p, rt_check(cudaStreamSynchronize(p->b->stream), "run a step", err)));
	if (s->watch)
		s->watch->fn(s->watch->user, 1, 1);
	if (s->n_out && p->m.graph->output >= 0 && !p->hidden_only) {
		TRY(abandon_step(p, rt_check(fetch_not_finite(p), "run a step", err)));
		r->logits = p->logits;
		r->lse = p->top_host.lse;
		r->top = p->n_top;
		r->top_ids = p->n_top ? p->top_host.ids : NULL;
		r->top_logits = p->n_top ? p->top_host.values : NULL;
	}
	if (s->n_out && p->m.graph->hidden >= 0 && (wants_hidden(s) || p->m.graph->output < 0))
		r->hidden = p->hidden;
	p->s = NULL;
	return INFER_OK;
}
