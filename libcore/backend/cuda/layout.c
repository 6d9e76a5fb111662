/* backend/cuda/layout.c - the workspace of a plan on the device, and its pinned host memory.
 *
 * device:
 *   values     f32 [rows][cols] of every node; values share memory unless their lifetimes overlap
 *   acts       activations (struct gpu_act); they share memory in the same way
 *   cos sin    [rows][half][2] and the frequencies f64 [half] of each RoPE table
 *   attention  partial results of splits
 *   experts    pairs; results of gate, up, down; activations for down
 *   heads      pairs of products by heads, and their activations
 *   vectors    tiles of weights that are vectors: cuda_vector_tiles
 *   top        the largest logits of each row, their ids, lse, partial results
 *   block      the upload of a step (struct cuda_block)
 * pinned host memory:
 *   block, top, logits [out][vocabulary], hidden states [out][cols]
 *   rows of experts on the host: x [rows][cols], choice [rows][2 * used], y [rows][cols] */
#include "backend/cuda/layout.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

enum { ALIGN = 256 };

/* A bump allocator over one allocation. base NULL: only count bytes. */
struct space {
	unsigned char *base;
	size_t used;
	int overflow; /* 1: a size did not fit size_t */
};

/* Return the address of n elements of `size` bytes; NULL if base is NULL or after an overflow. */
static void *reserve_part(struct space *s, size_t n, size_t size)
{
	size_t bytes, at = s->used;

	if (num_mul(&bytes, n, size) || bytes > SIZE_MAX / 4 ||
	    num_add(&s->used, s->used, num_round_up(bytes, ALIGN))) {
		s->overflow = 1;
		s->used = at;
		return NULL;
	}
	return s->base ? s->base + at : NULL;
}

/* Bytes of the three arrays of struct gpu_act (q, d, sum), each aligned. */
struct act_bytes {
	size_t row, q, d, sum;
};
static struct act_bytes act_bytes_of(int form, int terms, int64_t rows, int64_t k)
{
	size_t blocks = (size_t)gpu_blocks(k), padded = blocks * GPU_BLOCK, n = (size_t)rows;
	size_t row = form == GPU_I8 ? padded : (size_t)terms * padded * sizeof(uint16_t);

	return (struct act_bytes){
		.row = row,
		.q = num_round_up(n * row, ALIGN),
		.d = form == GPU_BF16 ? 0 : num_round_up(n * blocks * sizeof(float), ALIGN),
		.sum = form == GPU_I8 ? num_round_up(n * padded / 32 * sizeof(int16_t), ALIGN) : 0,
	};
}

size_t cuda_act_bytes(int form, int terms, int64_t rows, int64_t k)
{
	struct act_bytes b = act_bytes_of(form, terms, rows, k);

	return form == GPU_F32 ? 0 : b.q + b.d + b.sum;
}

struct gpu_act cuda_act_at(int form, int terms, unsigned char *at, int64_t rows, int64_t k)
{
	struct act_bytes b = act_bytes_of(form, terms, rows, k);
	struct gpu_act a = { .q = at, .row_bytes = b.row, .form = form, .terms = terms };

	if (form == GPU_F32) {
		a.row_bytes = (size_t)k * sizeof(float);
		return a;
	}
	if (b.d)
		a.d = (float *)(void *)(at + b.q);
	if (b.sum)
		a.sum = (int16_t *)(void *)(at + b.q + b.d);
	return a;
}

static int64_t count_rows(const struct backend_plan *p, const struct graph_node *n)
{
	return n->rows == GRAPH_OUT ? p->size.out : p->size.rows;
}

int cuda_place_values(struct backend_plan *p, infer_error *err)
{
	struct graph_span *span;
	int rc;

	TRY(graph_place(p->m.graph, p->stage, p->size.rows, p->size.out, ALIGN, p->offset,
	                &p->value_bytes, err));
	span = mem_alloc(MEM_BACKEND, (size_t)p->n_acts + 1, sizeof *span);
	if (!span)
		return err_nomem(err);
	for (int i = 0; i < p->n_acts; i++) {
		const struct cuda_act *a = &p->acts[i];
		const struct graph_node *n = cuda_node(p, a->node);

		span[i] = (struct graph_span){
			.from = a->from,
			.to = a->to,
			.bytes = num_round_up(cuda_act_bytes(a->form, p->b->terms[a->form],
			                                     count_rows(p, n), n->cols),
			                      ALIGN),
		};
	}
	rc = graph_place_spans(span, p->n_acts, &p->act_bytes, err);
	for (int i = 0; i < p->n_acts && !rc; i++)
		p->acts[i].offset = span[i].offset;
	mem_free(span);
	return rc;
}

static void lay_acts(struct backend_plan *p, struct space *s)
{
	unsigned char *at = p->act_mem = reserve_part(s, p->act_bytes, 1);

	for (int i = 0; i < p->n_acts && at; i++) {
		struct cuda_act *a = &p->acts[i];
		const struct graph_node *n = cuda_node(p, a->node);

		a->x = cuda_act_at(a->form, p->b->terms[a->form], at + a->offset, count_rows(p, n),
		                   n->cols);
	}
}

static void lay_ropes(struct backend_plan *p, struct space *s)
{
	p->angles = (struct gpu_angles){ .n_ropes = p->m.n_ropes };
	for (int i = 0; i < p->m.n_ropes; i++) {
		const struct backend_rope *r = &p->m.ropes[i];

		p->rows.cs[i] =
			reserve_part(s, (size_t)p->size.rows * 2 * (size_t)r->half, sizeof(float));
		p->angles.freq[i] = reserve_part(s, (size_t)r->half, sizeof(double));
		p->angles.half[i] = r->half;
		p->angles.mscale[i] = r->mscale;
	}
}

static void lay_attention(struct backend_plan *p, struct space *s)
{
	int64_t splits = (p->size.ctx - 1) / GPU_SPLIT + 1;
	size_t most = 0;

	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cuda_node(p, i);
		size_t bytes = n->op != GRAPH_ATTN ? 0
		                                   : gpu_attn_bytes(n->attn.heads, n->attn.dv,
		                                                    p->size.rows, splits);

		most = bytes > most ? bytes : most;
	}
	p->part_bytes = most;
	p->part = reserve_part(s, most, 1);
}

static void lay_moe(struct backend_plan *p, struct space *s)
{
	size_t pairs = 0, experts = 0, cols = 0, ff = 0, mid = 0;
	struct cuda_moe *m = &p->moe;

	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cuda_node(p, i);
		size_t here, bytes;
		int form;

		if (n->op != GRAPH_MOE || cpu_expert_is(&p->m, n))
			continue;
		here = (size_t)count_rows(p, n) * (size_t)n->moe.used;
		form = gpu_type_stored(p->m.weights[n->w[2]].type)->form;
		bytes = cuda_act_bytes(form, p->b->terms[form], (int64_t)here, n->moe.ff);
		pairs = here > pairs ? here : pairs;
		experts = (size_t)num_max((int64_t)experts, p->m.weights[n->w[0]].n);
		cols = (size_t)num_max((int64_t)cols, n->cols);
		ff = (size_t)num_max((int64_t)ff, n->moe.ff);
		mid = bytes > mid ? bytes : mid;
	}
	*m = (struct cuda_moe){ 0 };
	if (!pairs)
		return;
	m->first = reserve_part(s, experts + 1, sizeof *m->first);
	m->pair = reserve_part(s, pairs, sizeof *m->pair);
	m->active = reserve_part(s, experts, sizeof *m->active);
	m->n_active = reserve_part(s, 1, sizeof *m->n_active);
	m->gate = reserve_part(s, pairs * ff, sizeof(float));
	m->up = reserve_part(s, pairs * ff, sizeof(float));
	m->down = reserve_part(s, pairs * cols, sizeof(float));
	m->mid = reserve_part(s, mid, 1);
}

/* Reserve pinned memory for the rows of experts on the host, sized for the largest node. */
static void lay_host(struct backend_plan *p, struct space *s)
{
	int64_t values = 0, choices = 0;

	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cuda_node(p, i);

		if (!cpu_expert_is(&p->m, n))
			continue;
		values = num_max(values, count_rows(p, n) * n->cols);
		choices = num_max(choices, count_rows(p, n) * 2 * n->moe.used);
	}
	p->host_experts.rows.x = reserve_part(s, (size_t)values, sizeof(float));
	p->host_experts.rows.choice = reserve_part(s, (size_t)choices, sizeof(float));
	p->host_experts.rows.y = reserve_part(s, (size_t)values, sizeof(float));
}

static void lay_heads(struct backend_plan *p, struct space *s)
{
	size_t pairs = 0, heads = 0, act = 0;
	struct cuda_heads *h = &p->heads;

	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cuda_node(p, i);
		const struct weight *w = &p->m.weights[n->w[0] < 0 ? 0 : n->w[0]];
		size_t here, bytes;
		int form;

		if (n->op != GRAPH_HEAD_MM)
			continue;
		here = (size_t)count_rows(p, n) * (size_t)n->head_mm.heads;
		form = gpu_type_stored(w->type)->form;
		bytes = cuda_act_bytes(form, p->b->terms[form], (int64_t)here, w->ne[0]);
		pairs = here > pairs ? here : pairs;
		heads = (size_t)num_max((int64_t)heads, n->head_mm.heads);
		act = bytes > act ? bytes : act;
	}
	*h = (struct cuda_heads){ 0 };
	if (!pairs)
		return;
	h->first = reserve_part(s, heads + 1, sizeof *h->first);
	h->pair = reserve_part(s, pairs, sizeof *h->pair);
	h->active = reserve_part(s, heads, sizeof *h->active);
	h->n_active = reserve_part(s, 1, sizeof *h->n_active);
	h->act = reserve_part(s, act, 1);
}

size_t cuda_vector_bytes(const struct backend_plan *p, int32_t i)
{
	const struct graph_node *n = cuda_node(p, i);
	const struct weight *w = &p->m.weights[n->w[0] < 0 ? 0 : n->w[0]];

	if (n->op != GRAPH_MM || w->type != INFER_F32 || w->ne[1] != 1 || w->n != 1)
		return 0;
	return (size_t)gpu_blocks(w->ne[0]) * gpu_type_find(INFER_F32)->tile_bytes;
}

unsigned char *cuda_vector_tiles(const struct backend_plan *p, int32_t i)
{
	unsigned char *at = p->vectors;

	for (int32_t k = 0; k < i; k++)
		at += cuda_vector_bytes(p, k);
	return at;
}

static void lay_vectors(struct backend_plan *p, struct space *s)
{
	size_t bytes = 0;

	for (int32_t i = 0; i < p->m.graph->n; i++)
		bytes += cuda_vector_bytes(p, i);
	p->vectors = reserve_part(s, bytes, 1);
}

/* Set the offsets of the arrays in the upload block. */
static void lay_block(struct backend_plan *p)
{
	size_t rows = (size_t)p->size.rows, pages = (size_t)p->size.ctx / GPU_PAGE + 1;
	struct space s = { 0 };
	struct cuda_block *b = &p->block;

#define PLACE(field, n, size) \
	b->field = s.used; \
	reserve_part(&s, n, size)
	PLACE(step, 1, sizeof(struct gpu_step));
	PLACE(runs, rows, sizeof(struct gpu_run));
	PLACE(layers, (size_t)p->n_layers, sizeof(struct gpu_layer));
	PLACE(id, rows, sizeof(int32_t));
	PLACE(pos, rows, sizeof(int32_t));
	PLACE(run, rows, sizeof(int32_t));
	PLACE(out, (size_t)p->size.out, sizeof(int32_t));
	b->max_tables = rows * pages * GPU_CACHES;
	PLACE(tables, b->max_tables, sizeof(uint32_t));
#undef PLACE
	b->bytes = s.used;
}

static void lay_rows(struct backend_plan *p)
{
	const struct cuda_block *b = &p->block;
	unsigned char *at = b->device;

	if (!at)
		return;
	p->rows.step = (const void *)(at + b->step);
	p->rows.runs = (const void *)(at + b->runs);
	p->rows.layers = (const void *)(at + b->layers);
	p->rows.id = (const void *)(at + b->id);
	p->rows.pos = (const void *)(at + b->pos);
	p->rows.run = (const void *)(at + b->run);
	p->rows.out = (const void *)(at + b->out);
	p->rows.tables = (const void *)(at + b->tables);
	p->angles.rows = p->rows;
}

static size_t count_cols(const struct backend_plan *p, int32_t node)
{
	return node < 0 ? 0 : (size_t)cuda_node(p, node)->cols;
}

static struct cuda_top lay_top(struct space *s, size_t out)
{
	struct cuda_top t;

	t.ids = reserve_part(s, out * GPU_TOP, sizeof *t.ids);
	t.values = reserve_part(s, out * GPU_TOP, sizeof *t.values);
	t.lse = reserve_part(s, out, sizeof *t.lse);
	return t;
}

int cuda_layout(struct backend_plan *p, unsigned char *device, unsigned char *pinned,
                infer_error *err)
{
	struct space d = { .base = device }, h = { .base = pinned };
	size_t out = (size_t)p->size.out;

	p->values = reserve_part(&d, p->value_bytes, 1);
	lay_acts(p, &d);
	lay_ropes(p, &d);
	lay_attention(p, &d);
	lay_moe(p, &d);
	lay_heads(p, &d);
	lay_vectors(p, &d);
	lay_block(p);
	p->block.device = reserve_part(&d, p->block.bytes, 1);
	p->block.host = reserve_part(&h, p->block.bytes, 1);
	p->logits = reserve_part(&h, out * count_cols(p, p->m.graph->output), sizeof(float));
	p->hidden = reserve_part(&h, out * count_cols(p, p->m.graph->hidden), sizeof(float));
	if (p->m.graph->output >= 0) {
		p->top = lay_top(&d, out);
		p->top_host = lay_top(&h, out);
		p->top_bytes =
			gpu_top_bytes((int)count_cols(p, p->m.graph->output), GPU_TOP, p->size.out);
		p->top_part = reserve_part(&d, p->top_bytes, 1);
	}
	lay_host(p, &h);
	lay_rows(p);
	p->bytes = d.used;
	p->pinned_bytes = h.used;
	return d.overflow || h.overflow
	               ? err_set(err, INFER_ENOMEM, "the workspace does not fit the address space")
	               : INFER_OK;
}
