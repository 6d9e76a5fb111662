/* backend/cuda/emit.c - write the launches of a plan's stages, with all addresses.  For each step
 * run.c sets the max_ members of the arguments. */
#include "backend/cuda/layout.h"
#include "backend/cuda/plan.h"
#include "base/err.h"
#include "base/num.h"

static struct cuda_launch *push_launch(struct backend_plan *p, enum cuda_launch_kind kind,
                                       const struct cuda_stage *s)
{
	struct cuda_launch *l = &p->launches[p->n_launches++];

	must(p->n_launches <= p->max_launches);
	*l = (struct cuda_launch){ .kind = kind, .rows = s->rows };
	l->after_hidden = p->m.graph->hidden >= 0 && s->first > p->m.graph->hidden;
	return l;
}

static const struct cuda_weight *weight_at(const struct backend_plan *p, int32_t w)
{
	return w < 0 ? NULL : &p->w->at[w];
}

static const struct gpu_type *stored_type_of(const struct backend_plan *p, int32_t w)
{
	return gpu_type_stored(p->m.weights[w].type);
}

static const float *raw_at(const struct backend_plan *p, int32_t w)
{
	return w < 0 ? NULL : (const float *)(const void *)p->w->at[w].raw;
}

static const int32_t *rows_at(const struct backend_plan *p, int rows)
{
	const struct gpu_step *s = p->rows.step;

	return rows == GRAPH_OUT ? &s->n_out : &s->n;
}

/* ---- chains ---- */
static void set_source(const struct backend_plan *p, int32_t node, const float **at, int32_t *cols)
{
	*at = node < 0 ? NULL : cuda_value(p, node);
	*cols = node < 0 ? 0 : cuda_node(p, node)->cols;
}

static struct gpu_op op_of(const struct backend_plan *p, int32_t i)
{
	const struct graph_node *n = cuda_node(p, i);
	struct gpu_op o = { .node = *n };

	if (n->cols)
		o.y = cuda_value(p, i);
	set_source(p, n->op == GRAPH_EMBED ? -1 : n->src[0], &o.a, &o.a_cols);
	set_source(p, n->src[1], &o.b, &o.b_cols);
	set_source(p, n->src[2], &o.c, &o.c_cols);
	if (n->op == GRAPH_EMBED) {
		const struct weight *w = &p->m.weights[n->w[0]];

		o.w0 = weight_at(p, n->w[0])->tiles;
		o.w_rows = (int32_t)w->ne[1];
		o.w_scale = w->scale;
		if (o.w0) {
			o.w_type = weight_at(p, n->w[0])->type->type;
		} else { /* EMBED: the table has one row and is stored raw */
			o.w0 = raw_at(p, n->w[0]);
			o.w_type = -1;
		}
		return o;
	}
	o.w0 = raw_at(p, n->w[0]);
	o.w1 = raw_at(p, n->w[1]);
	if (n->w[0] >= 0)
		o.w_rows = (int32_t)(n->op == GRAPH_SCALE ? p->m.weights[n->w[0]].ne[0]
		                                          : p->m.weights[n->w[0]].ne[1]);
	return o;
}

static struct gpu_op op_of_act(const struct backend_plan *p, const struct cuda_act *a)
{
	const struct graph_node *n = cuda_node(p, a->node);
	struct gpu_op o = { .node = { .op = GPU_OP_ACT, .rows = n->rows, .cols = n->cols },
		            .act = a->x };

	set_source(p, a->node, &o.a, &o.a_cols);
	return o;
}

static void emit_chain(struct backend_plan *p, const struct cuda_stage *s)
{
	struct gpu_chain *c = NULL;

	for (int32_t i = 0; i < s->n + s->n_acts; i++) {
		if (i % GPU_CHAIN == 0) {
			c = &push_launch(p, CUDA_DO_CHAIN, s)->chain;
			*c = (struct gpu_chain){ .out = s->rows == GRAPH_OUT, .rows = p->rows };
		}
		c->ops[c->n++] = i < s->n ? op_of(p, s->first + i)
		                          : op_of_act(p, &p->acts[s->act + i - s->n]);
	}
}

/* ---- products ---- */
static struct gpu_act act_of(const struct backend_plan *p, int32_t node, int form)
{
	const struct cuda_act *a = cuda_act_find(p, node, form);
	const struct graph_node *n = cuda_node(p, node);

	if (form != GPU_F32)
		return a->x;
	return cuda_act_at(form, 1, (unsigned char *)cuda_value(p, node), 1, n->cols);
}

static struct gpu_job job_of(const struct backend_plan *p, int32_t w, int32_t bias, float *y,
                             float mul, float cap)
{
	const struct cuda_weight *c = weight_at(p, w);
	const struct weight *m = &p->m.weights[w];

	return (struct gpu_job){
		.w = c->tiles,
		.matrix_bytes = c->matrix_bytes,
		.bias = raw_at(p, bias),
		.y = y,
		.ldy = m->ne[1],
		.n = (int32_t)m->ne[1],
		.mul = (mul == 0 ? 1 : mul) * m->scale,
		.cap = cap,
	};
}

/* Append a launch of products with x, without jobs; its type and k are those of weight w. */
static struct gpu_mm *push_mm(struct backend_plan *p, const struct cuda_stage *s, int32_t w,
                              struct gpu_act x)
{
	struct cuda_launch *l = push_launch(p, CUDA_DO_MM, s);

	l->type = stored_type_of(p, w);
	l->mm = (struct gpu_mm){ .k = (int32_t)p->m.weights[w].ne[0],
		                 .x = x,
		                 .rows = rows_at(p, s->rows) };
	return &l->mm;
}

static void emit_mm(struct backend_plan *p, const struct cuda_stage *s)
{
	int32_t src = cuda_node(p, s->first)->src[0];
	struct gpu_mm *mm = NULL;
	int type = -1;

	for (int32_t i = s->first; i < s->first + s->n; i++) {
		const struct graph_node *n = cuda_node(p, i);
		int own = stored_type_of(p, n->w[0])->type;

		if (!mm || own != type || mm->n_jobs == GPU_JOBS) {
			type = own;
			mm = push_mm(p, s, n->w[0],
			             act_of(p, src, stored_type_of(p, n->w[0])->form));
		}
		mm->jobs[mm->n_jobs++] =
			job_of(p, n->w[0], n->w[1], cuda_value(p, i), n->mm.mul, n->mm.cap);
		if (cuda_vector_bytes(p, i))
			mm->jobs[mm->n_jobs - 1].w = cuda_vector_tiles(p, i);
	}
}

/* ---- attention ---- */
static void emit_attn(struct backend_plan *p, const struct cuda_stage *s)
{
	const struct graph_node *n = cuda_node(p, s->first);

	push_launch(p, CUDA_DO_ATTN, s)->attn = (struct gpu_attn){
		.rows = p->rows,
		.q = cuda_value(p, n->src[0]),
		.y = cuda_value(p, s->first),
		.sinks = raw_at(p, n->w[0]),
		.layer = n->attn.layer,
		.heads = n->attn.heads,
		.kv_heads = n->attn.kv_heads,
		.dk = n->attn.dk,
		.dv = n->attn.dv,
		.window = n->attn.window,
		.chunked = n->attn.chunked,
		.later = n->attn.later,
		.scale = n->attn.scale,
		.cap = n->attn.cap,
		.part = p->part,
		.part_bytes = p->part_bytes,
	};
}

/* ---- experts ---- */
static struct gpu_moe moe_of(const struct backend_plan *p, const struct cuda_stage *s)
{
	const struct graph_node *n = cuda_node(p, s->first);
	const struct cuda_moe *m = &p->moe;
	int form = weight_at(p, n->w[2])->type->form;
	int64_t pairs = (int64_t)(s->rows == GRAPH_OUT ? p->size.out : p->size.rows) * n->moe.used;

	return (struct gpu_moe){
		.rows = p->rows,
		.out = s->rows == GRAPH_OUT,
		.used = n->moe.used,
		.experts = p->m.weights[n->w[0]].n,
		.cols = n->cols,
		.ff = n->moe.ff,
		.act = n->moe.act,
		.weight_before_ffn = n->moe.weight_before_ffn,
		.limit = n->moe.limit,
		.route = cuda_value(p, n->src[1]),
		.first = m->first,
		.pair = m->pair,
		.active = m->active,
		.n_active = m->n_active,
		.gate = m->gate,
		.up = m->up,
		.mid = m->gate,
		.mid_act = cuda_act_at(form, p->b->terms[form],
		                       form == GPU_F32 ? (unsigned char *)m->gate : m->mid, pairs,
		                       n->moe.ff),
		.down = m->down,
		.y = cuda_value(p, s->first),
	};
}

static struct gpu_pairs pairs_of(const struct gpu_moe *m, int by_pair)
{
	return (struct gpu_pairs){ m->first, m->pair,    m->active, m->n_active,
		                   m->used,  m->experts, by_pair };
}

static void emit_moe(struct backend_plan *p, const struct cuda_stage *s)
{
	const struct graph_node *n = cuda_node(p, s->first);
	struct gpu_moe m = moe_of(p, s);
	struct gpu_mm *mm = NULL;
	int type = -1;

	push_launch(p, CUDA_DO_GROUP, s)->moe = m;
	for (int i = 0; i < 2; i++) {
		const struct gpu_type *t = weight_at(p, n->w[i])->type;

		if (!mm || t->type != type) {
			type = t->type;
			mm = push_mm(p, s, n->w[i], act_of(p, n->src[0], t->form));
			mm->e = pairs_of(&m, 0);
		}
		mm->jobs[mm->n_jobs++] =
			job_of(p, n->w[i], n->w[3 + i], i ? p->moe.up : p->moe.gate, 0, 0);
	}
	push_launch(p, CUDA_DO_MID, s)->moe = m;
	mm = push_mm(p, s, n->w[2], m.mid_act);
	mm->e = pairs_of(&m, 1);
	mm->jobs[mm->n_jobs++] = job_of(p, n->w[2], n->w[5], p->moe.down, 0, 0);
	push_launch(p, CUDA_DO_SUM, s)->moe = m;
}

/* ---- experts on the host ---- */
static struct cuda_host_moe host_of(const struct backend_plan *p, const struct cuda_stage *s,
                                    int32_t number)
{
	const struct graph_node *n = cuda_node(p, s->first);

	return (struct cuda_host_moe){
		.x = cuda_value(p, n->src[0]),
		.choice = cuda_value(p, n->src[1]),
		.y = cuda_value(p, s->first),
		.cols = n->cols,
		.used = n->moe.used,
		.experts = p->m.weights[n->w[0]].n,
		.number = number,
	};
}

/* True if a stage reads the value of `node`. */
static int stage_reads(const struct backend_plan *p, const struct cuda_stage *s, int32_t node)
{
	for (int32_t i = s->first; i < s->first + s->n; i++)
		for (int k = 0; k < GRAPH_SRC; k++)
			if (cuda_node(p, i)->src[k] == node)
				return 1;
	for (int32_t i = s->act; i < s->act + s->n_acts; i++)
		if (p->acts[i].node == node)
			return 1;
	return 0;
}

/* ---- products by heads ---- */
static struct gpu_heads heads_of(const struct backend_plan *p, const struct cuda_stage *s)
{
	const struct graph_node *n = cuda_node(p, s->first);
	const struct cuda_heads *h = &p->heads;
	const struct weight *w = &p->m.weights[n->w[0]];
	int form = weight_at(p, n->w[0])->type->form, heads = n->head_mm.heads;
	int64_t pairs = (int64_t)(s->rows == GRAPH_OUT ? p->size.out : p->size.rows) * heads;
	struct gpu_heads g = {
		.x = cuda_value(p, n->src[0]),
		.y = cuda_value(p, s->first),
		.rows = rows_at(p, s->rows),
		.heads = heads,
		.in = cuda_node(p, n->src[0])->cols / heads,
		.out = n->cols / heads,
		.k = (int32_t)w->ne[0],
		.first = h->first,
		.pair = h->pair,
		.active = h->active,
		.n_active = h->n_active,
	};

	g.act = form == GPU_F32
	                ? cuda_act_at(form, 1, (unsigned char *)cuda_value(p, n->src[0]), 1, g.in)
	                : cuda_act_at(form, p->b->terms[form], h->act, pairs, g.k);
	return g;
}

static void emit_heads(struct backend_plan *p, const struct cuda_stage *s)
{
	const struct graph_node *n = cuda_node(p, s->first);
	struct gpu_heads h = heads_of(p, s);
	struct gpu_mm *mm;

	push_launch(p, CUDA_DO_HEADS, s)->heads = h;
	mm = push_mm(p, s, n->w[0], h.act);
	mm->e = (struct gpu_pairs){ h.first, h.pair, h.active, h.n_active, h.heads, h.heads, 1 };
	mm->jobs[mm->n_jobs] = job_of(p, n->w[0], -1, h.y, 0, 0);
	mm->jobs[mm->n_jobs++].ldy = h.out;
}

/* ---- recurrent layers ---- */
static void emit_conv(struct backend_plan *p, const struct cuda_stage *s)
{
	const struct graph_node *n = cuda_node(p, s->first);

	push_launch(p, CUDA_DO_CONV, s)->conv = (struct gpu_conv){
		.rows = p->rows,
		.x = cuda_value(p, n->src[0]),
		.w = raw_at(p, n->w[0]),
		.bias = raw_at(p, n->w[1]),
		.y = cuda_value(p, s->first),
		.layer = n->conv1d.layer,
		.at = n->conv1d.at,
		.cols = n->cols,
		.taps = n->conv1d.taps,
		.no_silu = n->conv1d.no_silu,
	};
}

static void emit_delta(struct backend_plan *p, const struct cuda_stage *s)
{
	const struct graph_node *n = cuda_node(p, s->first);

	push_launch(p, CUDA_DO_DELTA, s)->delta = (struct gpu_delta){
		.rows = p->rows,
		.q = cuda_value(p, n->src[0]),
		.k = cuda_value(p, n->src[1]),
		.v = cuda_value(p, n->src[2]),
		.beta = cuda_value(p, n->src[3]),
		.decay = cuda_value(p, n->src[4]),
		.rate = raw_at(p, n->w[0]),
		.shift = raw_at(p, n->w[1]),
		.skip = raw_at(p, n->w[2]),
		.y = cuda_value(p, s->first),
		.layer = n->gated_delta.layer,
		.at = n->gated_delta.at,
		.heads = n->gated_delta.heads,
		.k_heads = n->gated_delta.k_heads,
		.dk = n->gated_delta.dk,
		.dv = n->gated_delta.dv,
		.tiled = n->gated_delta.tiled,
		.ssm = n->gated_delta.ssm,
		.scale = n->gated_delta.scale,
	};
}

static void emit_state(struct backend_plan *p, const struct cuda_stage *s)
{
	if (cuda_node(p, s->first)->op == GRAPH_CONV1D)
		emit_conv(p, s);
	else
		emit_delta(p, s);
}

static void emit_copy(struct backend_plan *p, const struct cuda_stage *s)
{
	const struct graph_node *n = cuda_node(p, s->first);
	int recv = n->op == GRAPH_RECV;
	int32_t value = recv ? s->first : n->src[0];

	push_launch(p, recv ? CUDA_DO_RECV : CUDA_DO_SEND, s)->copy =
		(struct cuda_copy){ cuda_value(p, value), recv ? n->recv.edge : n->send.edge,
		                    cuda_node(p, value)->cols };
}

/* Append the launch of gpu_top; run.c sets k and max_rows. */
static void emit_top(struct backend_plan *p)
{
	int32_t output = p->m.graph->output;
	const struct cuda_stage last = { .rows = GRAPH_OUT, .first = output };

	push_launch(p, CUDA_DO_TOP, &last)->top = (struct gpu_top){
		.logits = cuda_value(p, output),
		.rows = rows_at(p, GRAPH_OUT),
		.n = cuda_node(p, output)->cols,
		.ids = p->top.ids,
		.values = p->top.values,
		.lse = p->top.lse,
		.part = p->top_part,
		.part_bytes = p->top_bytes,
	};
}

/* Pack the weights that are vectors into tiles (cuda_vector_tiles). */
static int pack_vectors(const struct backend_plan *p)
{
	int rc = cudaSuccess;

	for (int32_t i = 0; i < p->m.graph->n && !rc; i++) {
		const struct graph_node *n = cuda_node(p, i);

		if (cuda_vector_bytes(p, i))
			rc = stored_type_of(p, n->w[0])
			             ->pack(cuda_vector_tiles(p, i), raw_at(p, n->w[0]),
			                    p->m.weights[n->w[0]].row_bytes, 1,
			                    p->m.weights[n->w[0]].ne[0], p->b->stream);
	}
	return rc;
}

/* Upload the constants of the plan: padding of activations, RoPE frequencies, vectors. */
static int upload_constants(const struct backend_plan *p, infer_error *err)
{
	cudaStream_t s = p->b->stream;
	int rc = cudaMemsetAsync(p->mem, 0, p->bytes, s);

	for (int i = 0; i < p->m.n_ropes && !rc; i++)
		rc = cudaMemcpyAsync((void *)(uintptr_t)p->angles.freq[i], p->m.ropes[i].freq,
		                     (size_t)p->m.ropes[i].half * sizeof(double),
		                     cudaMemcpyHostToDevice, s);
	if (!rc)
		rc = pack_vectors(p);
	if (!rc)
		rc = cudaStreamSynchronize(s);
	return rt_check(rc, "make the workspace", err);
}

static void emit_stage(struct backend_plan *p, const struct cuda_stage *s)
{
	switch ((enum cuda_stage_kind)s->kind) {
	case CUDA_CHAIN:
		emit_chain(p, s);
		break;
	case CUDA_MM:
		emit_mm(p, s);
		break;
	case CUDA_ATTN:
		emit_attn(p, s);
		break;
	case CUDA_MOE:
		emit_moe(p, s);
		break;
	case CUDA_HEADS:
		emit_heads(p, s);
		break;
	case CUDA_STATE:
		emit_state(p, s);
		break;
	case CUDA_COPY:
		emit_copy(p, s);
		break;
	case CUDA_HOST:
		break; /* cuda_emit emits it */
	}
}

/* The host computes experts right before the first stage that reads the results.  Earlier stages,
 * such as shared experts, are already enqueued and run on the device meanwhile. */
int cuda_emit(struct backend_plan *p, infer_error *err)
{
	const struct cuda_stage *pending = NULL;
	int32_t n_host = 0;

	for (int i = 0; i <= p->n_stages; i++) {
		const struct cuda_stage *s = i < p->n_stages ? &p->stages[i] : NULL;

		if (pending && (!s || s->kind == CUDA_HOST || stage_reads(p, s, pending->first))) {
			push_launch(p, CUDA_DO_HOST_COMPUTE, pending)->host =
				host_of(p, pending, n_host - 1);
			pending = NULL;
		}
		if (s && s->kind == CUDA_HOST) {
			push_launch(p, CUDA_DO_HOST_SEND, s)->host = host_of(p, s, n_host++);
			pending = s;
		} else if (s) {
			emit_stage(p, s);
		}
	}
	if (p->m.graph->output >= 0)
		emit_top(p);
	return upload_constants(p, err);
}
