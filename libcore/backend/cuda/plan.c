/* backend/cuda/plan.c - turn the nodes of a graph into stages: nodes that are launched together,
 * and the activations that a stage writes.  Rejects models that the backend does not support. */
#include "backend/cuda/layout.h"
#include "backend/cuda/plan.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

_Static_assert((int)GPU_CACHES == (int)BACKEND_GROUPS, "launch.h and step.h agree");
_Static_assert(sizeof(struct gpu_chain) <= 4096, "arguments of a kernel on every architecture");

enum { SPLITS_MOST = 1 << 16, DV_MOST = 512, ROWS_MOST = 65535 /* limit of grid.y */ };

static enum cuda_stage_kind stage_kind_of(enum graph_op op)
{
	switch (op) {
	case GRAPH_MM:
		return CUDA_MM;
	case GRAPH_ATTN:
		return CUDA_ATTN;
	case GRAPH_MOE:
		return CUDA_MOE;
	case GRAPH_HEAD_MM:
		return CUDA_HEADS;
	case GRAPH_CONV1D:
	case GRAPH_GATED_DELTA:
		return CUDA_STATE;
	case GRAPH_RECV:
	case GRAPH_SEND:
		return CUDA_COPY;
	case GRAPH_SLICE:
	case GRAPH_PERMUTE:
	case GRAPH_GAUSS_TOPK:
	case GRAPH_ALTUP_MIX:
	case GRAPH_ALTUP_RESCALE:
	case GRAPH_EMBED:
	case GRAPH_NORM:
	case GRAPH_ROPE:
	case GRAPH_KV_PUT:
	case GRAPH_ADD:
	case GRAPH_SILU_MUL:
	case GRAPH_GELU_MUL:
	case GRAPH_GELU:
	case GRAPH_GATE:
	case GRAPH_ATTN_TEMP:
	case GRAPH_SCALE:
	case GRAPH_GET_ROWS:
	case GRAPH_ROUTE:
	case GRAPH_OPS:
		break;
	}
	return CUDA_CHAIN;
}

/* Check that the weight in a slot of node i is stored in the form that the operation reads: as
 * tiles or raw. */
static int check_weight(const struct backend_plan *p, int32_t i, int slot, int tiles,
                        infer_error *err)
{
	const struct graph_node *n = cuda_node(p, i);
	struct cuda_weight c;
	size_t used = 0;

	if (n->w[slot] < 0)
		return INFER_OK;
	TRY(cuda_weight_place(&c, &p->m.weights[n->w[slot]], &used, err));
	if (n->op == GRAPH_EMBED && c.raw_bytes) /* the table has one row and is stored raw */
		return INFER_OK;
	if (tiles ? !c.type && !cuda_vector_bytes(p, i) : !c.raw_bytes)
		return err_set(err, INFER_EUNSUP,
		               "node %d (%s): a weight of this shape is not supported", i,
		               graph_op_name(n->op));
	return INFER_OK;
}

/* Check that the sizes of node i are within the limits of its kernel. */
static int check_limits(const struct backend_plan *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = cuda_node(p, i);
	const int32_t experts =
		n->op == GRAPH_MOE && !cpu_expert_is(&p->m, n) ? p->m.weights[n->w[0]].n : 0;
	const struct {
		const char *what;
		int64_t is, most;
	} limits[] = {
		{ "dimensions of a key", n->op == GRAPH_GATED_DELTA ? n->gated_delta.dk : 0,
		  GPU_DELTA_DK },
		{ "dimensions of a value", n->op == GRAPH_ATTN ? n->attn.dv : 0, DV_MOST },
		{ "rows of a step", n->op == GRAPH_ATTN ? p->size.rows : 0, ROWS_MOST },
		{ "experts", experts, GPU_EXPERTS },
		{ "experts of a row", n->op == GRAPH_ROUTE ? n->route.used : 0, GPU_USED },
	};

	for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
		if (limits[k].is > limits[k].most)
			return err_set(err, INFER_EUNSUP,
			               "node %d (%s): %lld %s are not supported, at most %lld are",
			               i, graph_op_name(n->op), (long long)limits[k].is,
			               limits[k].what, (long long)limits[k].most);
	return INFER_OK;
}

static int check_node(const struct backend_plan *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = cuda_node(p, i);
	int slots = n->op == GRAPH_MOE                                                    ? 3
	            : n->op == GRAPH_MM || n->op == GRAPH_EMBED || n->op == GRAPH_HEAD_MM ? 1
	                                                                                  : 0;

	TRY(check_limits(p, i, err));
	if (n->op == GRAPH_MM && n->w[0] >= 0 && p->m.weights[n->w[0]].n != 1)
		return err_set(err, INFER_EUNSUP, "node %d (MM): %d matrices are not supported", i,
		               p->m.weights[n->w[0]].n);
	if (cpu_expert_is(&p->m, n))
		return INFER_OK;
	for (int s = 0; s < GRAPH_W; s++)
		TRY(check_weight(p, i, s, s < slots, err));
	return INFER_OK;
}

/* ---- stages ---- */
static struct cuda_stage *push_stage(struct backend_plan *p, enum cuda_stage_kind kind, int rows,
                                     int32_t first)
{
	struct cuda_stage *s = &p->stages[p->n_stages++];

	*s = (struct cuda_stage){
		.kind = kind, .rows = (uint8_t)rows, .first = first, .act = p->n_acts
	};
	return s;
}

static struct cuda_act *find_act(const struct backend_plan *p, int32_t node, int form)
{
	for (int i = p->n_acts - 1; i >= 0; i--)
		if (p->acts[i].node == node && p->acts[i].form == form)
			return &p->acts[i];
	return NULL;
}

const struct cuda_act *cuda_act_find(const struct backend_plan *p, int32_t node, int form)
{
	return find_act(p, node, form);
}

static int act_form_of(const struct backend_plan *p, int32_t weight)
{
	return gpu_type_stored(p->m.weights[weight].type)->form;
}

/* Make the chain right before stage `at` write the activations of `node` in a form, unless an
 * earlier stage writes them.  Returns 0 if there is no such chain. */
static int try_add_act(struct backend_plan *p, int32_t node, int form, int32_t at)
{
	struct cuda_act *a = find_act(p, node, form);
	struct cuda_stage *before = at ? &p->stages[at - 1] : NULL;

	if (form == GPU_F32)
		return 1;
	if (!a) {
		if (!before || before->kind != CUDA_CHAIN ||
		    before->rows != cuda_node(p, node)->rows ||
		    before->act + before->n_acts != p->n_acts)
			return 0;
		a = &p->acts[p->n_acts++];
		*a = (struct cuda_act){ .node = node, .form = form, .from = at - 1 };
		before->n_acts++;
	}
	a->to = at;
	return 1;
}

/* Make a chain write the activations of `node` in a form: the last stage if that is suitable,
 * otherwise a new chain. */
static void add_act(struct backend_plan *p, int32_t node, int form, int32_t first)
{
	if (try_add_act(p, node, form, p->n_stages))
		return;
	push_stage(p, CUDA_CHAIN, cuda_node(p, node)->rows, first);
	must(try_add_act(p, node, form, p->n_stages));
}

static void add_mm(struct backend_plan *p, int32_t i)
{
	const struct graph_node *n = cuda_node(p, i);
	struct cuda_stage *last = p->n_stages ? &p->stages[p->n_stages - 1] : NULL;
	int form = act_form_of(p, n->w[0]);

	if (last && last->kind == CUDA_MM && cuda_node(p, last->first)->src[0] == n->src[0] &&
	    try_add_act(p, n->src[0], form, p->n_stages - 1)) {
		last->n++;
		return;
	}
	add_act(p, n->src[0], form, i);
	push_stage(p, CUDA_MM, n->rows, i)->n = 1;
}

static void add_moe(struct backend_plan *p, int32_t i)
{
	const struct graph_node *n = cuda_node(p, i);

	if (cpu_expert_is(&p->m, n)) {
		push_stage(p, CUDA_HOST, n->rows, i)->n = 1;
		p->host_experts.n++;
		return;
	}
	for (int s = 0; s < 2; s++)
		add_act(p, n->src[0], act_form_of(p, n->w[s]), i);
	push_stage(p, CUDA_MOE, n->rows, i)->n = 1;
}

static void add_row_op(struct backend_plan *p, int32_t i)
{
	const struct graph_node *n = cuda_node(p, i);
	struct cuda_stage *last = p->n_stages ? &p->stages[p->n_stages - 1] : NULL;

	if (!last || last->kind != CUDA_CHAIN || last->rows != n->rows || last->n_acts ||
	    n->op == GRAPH_GET_ROWS)
		last = push_stage(p, CUDA_CHAIN, n->rows, i);
	if (!last->n)
		last->first = i;
	last->n++;
}

static void make_stages(struct backend_plan *p)
{
	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cuda_node(p, i);

		switch (stage_kind_of(n->op)) {
		case CUDA_CHAIN:
			add_row_op(p, i);
			break;
		case CUDA_MM:
			add_mm(p, i);
			break;
		case CUDA_MOE:
			add_moe(p, i);
			break;
		case CUDA_ATTN:
		case CUDA_HEADS:
		case CUDA_STATE:
		case CUDA_COPY:
		case CUDA_HOST: /* pushed by add_moe */
			push_stage(p, stage_kind_of(n->op), n->rows, i)->n = 1;
			break;
		}
		p->stage[i] = p->n_stages - 1;
	}
}

/* Return one more than the largest layer number in the graph. */
static int count_layers(const struct graph *g)
{
	int n = 0;

	for (int32_t i = 0; i < g->n; i++) {
		const struct graph_node *node = &g->nodes[i];

		if (node->op == GRAPH_KV_PUT)
			n = (int)num_max(n, node->kv_put.layer + 1);
		if (node->op == GRAPH_ATTN)
			n = (int)num_max(n, node->attn.layer + 1);
		if (node->op == GRAPH_CONV1D)
			n = (int)num_max(n, node->conv1d.layer + 1);
		if (node->op == GRAPH_GATED_DELTA)
			n = (int)num_max(n, node->gated_delta.layer + 1);
	}
	return n;
}

/* Return an upper bound of the launches of a stage. */
static int count_launches(const struct cuda_stage *s)
{
	switch ((enum cuda_stage_kind)s->kind) {
	case CUDA_CHAIN:
		return (s->n + s->n_acts + GPU_CHAIN - 1) / GPU_CHAIN;
	case CUDA_MM:
		return s->n;
	case CUDA_MOE:
		return 6; /* group, gate, up, mid, down, sum */
	case CUDA_HEADS:
	case CUDA_HOST:
		return 2;
	case CUDA_ATTN:
	case CUDA_STATE:
	case CUDA_COPY:
		break;
	}
	return 1;
}

/* Check the graph, and allocate and fill the stages. */
static int prepare_plan(struct backend_plan *p, infer_error *err)
{
	size_t n = (size_t)p->m.graph->n;

	TRY(backend_check_rank(&p->size, "cuda", err));
	TRY(backend_check(&p->checked, &p->m, &p->size, err));
	for (int32_t i = 0; i < p->m.graph->n; i++)
		TRY(check_node(p, i, err));
	if (p->size.ctx / GPU_SPLIT >= SPLITS_MOST)
		return err_set(err, INFER_EUNSUP, "a context of %d tokens is not supported",
		               p->size.ctx);
	p->n_layers = count_layers(p->m.graph);
	p->stages = mem_alloc(MEM_BACKEND, n, 3 * sizeof *p->stages);
	p->acts = mem_alloc(MEM_BACKEND, n, 2 * sizeof *p->acts);
	p->stage = mem_alloc(MEM_BACKEND, n, sizeof *p->stage);
	p->offset = mem_alloc(MEM_BACKEND, n, sizeof *p->offset);
	if (!p->stages || !p->acts || !p->stage || !p->offset)
		return err_nomem(err);
	make_stages(p);
	for (int i = 0; i < p->n_stages; i++)
		p->max_launches += count_launches(&p->stages[i]);
	p->max_launches += p->m.graph->output >= 0;
	return INFER_OK;
}

static void free_arrays(struct backend_plan *p)
{
	mem_free(p->launches);
	mem_free(p->offset);
	mem_free(p->stage);
	mem_free(p->acts);
	mem_free(p->stages);
}

static int compute_sizes(struct backend_plan *p, infer_error *err)
{
	TRY(prepare_plan(p, err));
	TRY(cuda_place_values(p, err));
	return cuda_layout(p, NULL, NULL, err);
}

static int count_weight_bytes(const struct backend_model *m, uint64_t *bytes, infer_error *err)
{
	struct cuda_weight c;
	size_t used = 0;

	for (int i = 0; i < m->n_weights; i++)
		TRY(cuda_weight_place(&c, &m->weights[i], &used, err));
	*bytes = used;
	return INFER_OK;
}

int cuda_need(struct backend_need *need, struct backend *b, const struct backend_model *m,
              const struct backend_size *size, infer_error *err)
{
	struct backend_plan p = { .b = b, .m = *m, .size = *size };
	struct backend_cache c;
	int rc;

	*need = (struct backend_need){ 0 };
	must(m->n_groups <= BACKEND_GROUPS);
	for (int g = 0; g < m->n_groups; g++) {
		TRY(cuda_kv_place(&c, &m->groups[g], err));
		need->kv_page[g] = c.page_bytes;
	}
	TRY(count_weight_bytes(m, &need->weights, err));
	rc = compute_sizes(&p, err);
	need->workspace = rc ? 0 : p.bytes;
	need->host = rc ? 0 : p.pinned_bytes + (size_t)p.max_launches * sizeof *p.launches;
	if (!rc)
		rc = cuda_host_need(need, &p, err);
	free_arrays(&p);
	return rc;
}

static int build_plan(struct backend_plan *p, infer_error *err)
{
	TRY(compute_sizes(p, err));
	TRY(rt_alloc(&p->mem, p->bytes, "make the workspace", err));
	TRY(rt_pinned(&p->pinned, p->pinned_bytes, "make the workspace", err));
	TRY(cuda_layout(p, p->mem, p->pinned, err));
	p->launches = mem_zalloc(MEM_BACKEND, (size_t)p->max_launches + 1, sizeof *p->launches);
	if (!p->launches)
		return err_nomem(err);
	TRY(cuda_host_make(p, err));
	return cuda_emit(p, err);
}

int cuda_plan(struct backend_plan **out, struct backend *b, const struct backend_weights *w,
              const struct backend_model *m, const struct backend_size *size, infer_error *err)
{
	struct backend_plan *p;
	int rc;

	*out = NULL;
	TRY(rt_check(cudaSetDevice(b->device), "choose the device", err));
	p = mem_zalloc(MEM_BACKEND, 1, sizeof *p);
	if (!p)
		return err_nomem(err);
	p->b = b;
	p->w = w;
	p->m = *m;
	p->m.weights = w->w;
	p->m.n_weights = w->n;
	p->size = *size;
	rc = build_plan(p, err);
	if (rc) {
		cuda_plan_free(p);
		return rc;
	}
	*out = p;
	return INFER_OK;
}

void cuda_plan_free(struct backend_plan *p)
{
	if (!p)
		return;
	(void)cudaSetDevice(p->b->device);
	(void)cudaStreamSynchronize(p->b->stream);
	for (int i = 0; i < p->n_graphs; i++)
		(void)cudaGraphExecDestroy(p->graphs[i].exec);
	cuda_host_free(p);
	rt_pinned_free(p->pinned);
	rt_free(p->mem);
	free_arrays(p);
	mem_free(p);
}
