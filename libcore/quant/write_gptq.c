/* quant/write_gptq.c - write tensors rounded by GPTQ; each thread rounds some rows at a time. */
#include "base/err.h"
#include "base/num.h"
#include "file/file.h"
#include "quant/gptq.h"
#include "quant/write.h"
#include "type/type.h"

/* All rows of a matrix, restricted to the columns of one Hessian. */
struct gptq_job {
	uint64_t tensor;
	int64_t matrix;
	int hessian;
};
struct gptq_scratch {
	float *w, *lost;
	unsigned char *out;
};

void write_gptq_end(struct work *k)
{
	struct write_gptq *g = &k->gptq;

	for (int i = 0; g->scratch && i < pool_threads(k->pool); i++) {
		mem_free(g->scratch[i].w);
		mem_free(g->scratch[i].lost);
		mem_free(g->scratch[i].out);
	}
	if (k->q->gptq)
		hessian_drop(k->q->gptq);
	mem_free(g->scratch);
	mem_free(g->jobs);
	mem_free(g->order);
	*g = (struct write_gptq){ 0 };
}

static int count_jobs(const struct quant_tensor *t)
{
	return t->gptq ? (int)(t->gptq->matrices * hessian_parts(t->gptq->k)) : 0;
}

static int allocate_scratch(struct work *k, int64_t widest, infer_error *err)
{
	size_t n = (size_t)widest * GPTQ_ROWS;
	struct gptq_scratch *s = mem_zalloc(MEM_QUANT, (size_t)pool_threads(k->pool), sizeof *s);

	k->gptq.scratch = s;
	for (int i = 0; s && i < pool_threads(k->pool); i++) {
		s[i].w = mem_alloc(MEM_QUANT, n, sizeof *s->w);
		s[i].lost = mem_alloc(MEM_QUANT, GPTQ_ROWS * GPTQ_SPAN, sizeof *s->lost);
		s[i].out = mem_alloc(MEM_QUANT, n, 1); /* enough for types of up to 8 bits */
		if (!s[i].w || !s[i].lost || !s[i].out)
			return err_nomem(err);
	}
	return s ? INFER_OK : err_nomem(err);
}

int write_gptq_begin(struct work *k, uint64_t first, infer_error *err)
{
	struct write_gptq *g = &k->gptq;
	int64_t widest = 0;
	size_t n = 0;

	write_gptq_end(k);
	for (uint64_t i = first; i < k->q->n; i++)
		n += (size_t)count_jobs(&k->q->tensors[i]);
	if (!n)
		return INFER_OK;
	g->jobs = mem_alloc(MEM_QUANT, n, sizeof *g->jobs);
	g->order = mem_alloc(MEM_QUANT, n, sizeof *g->order);
	if (!g->jobs || !g->order)
		return err_nomem(err);
	for (uint64_t i = first; i < k->q->n; i++) {
		const struct quant_tensor *t = &k->q->tensors[i];

		for (int j = 0; j < count_jobs(t); j++) {
			int h = t->gptq->first + j;

			widest = num_max(widest, k->q->gptq->at[h].k);
			g->order[g->n] = h;
			g->jobs[g->n++] = (struct gptq_job){ i, j / hessian_parts(t->gptq->k), h };
		}
	}
	return allocate_scratch(k, widest, err);
}

/* Pool item: decode, round and write up to GPTQ_ROWS rows. */
static void write_rows(void *user, int64_t i, int worker)
{
	struct work *k = user;
	const struct gptq_scratch *s = &k->gptq.scratch[worker];
	const struct gptq_job *job = k->gptq.job;
	const struct hessian *h = &k->q->gptq->at[job->hessian];
	const struct infer_tensor *in = k->t->in;
	const struct type *type = type_get(in->type);
	uint64_t at = k->from + (uint64_t)i * GPTQ_ROWS * (uint64_t)in->ne[0] + (uint64_t)h->from;
	struct gptq_rows r = { .type = k->t->type,
		               .how = k->q->how,
		               .k = h->k,
		               .u = h->u,
		               .importance = h->importance,
		               .w = s->w,
		               .lost = s->lost,
		               .out = s->out,
		               .stride = write_bytes(k->t->type, (uint64_t)h->k) };

	for (; r.rows < GPTQ_ROWS; r.rows++) {
		uint64_t from = at + (uint64_t)(r.rows * in->ne[0]);
		float *w = r.w + r.rows * h->k;

		if (from >= k->to)
			break;
		/* a row is contiguous */
		type->decode(w,
		             file_span(k->q->in, in, write_bytes(in->type, from),
		                       write_bytes(in->type, (uint64_t)h->k), NULL),
		             (size_t)(h->k / type->info.block));
		if (atomic_load(&k->bad) < from || atomic_load(&k->errnum) ||
		    !write_finite(k, w, from, (size_t)h->k))
			return;
	}
	gptq_round(&r);
	for (int64_t row = 0; row < r.rows; row++)
		write_put(k, worker, i, at + (uint64_t)(row * in->ne[0]), (size_t)h->k,
		          r.out + (size_t)row * r.stride);
}

/* Encode without GPTQ: the matrix of an expert that no token of the text is routed to. */
static int write_unread(struct work *k, struct error_sum *sum, infer_error *err)
{
	const struct infer_gptq_text *t = &k->q->gptq->text;
	uint64_t end = k->to, step = (uint64_t)pool_threads(k->pool) * WRITE_STEP * WRITE_PIECE;

	if (t->log && !k->verify && !k->gptq.unread++)
		t->log(t->log_user, INFER_LOG_WARN,
		       "experts that no token of the text chooses are rounded without GPTQ");
	for (; k->from < end; k->from = k->to) {
		k->to = (uint64_t)num_min((int64_t)end, (int64_t)(k->from + step));
		TRY(write_step(k, sum, err));
	}
	return INFER_OK;
}

static int write_job(struct work *k, uint64_t start, struct error_sum *sum, infer_error *err)
{
	const struct infer_tensor *in = k->t->in;
	const struct gptq_job *j = k->gptq.job;
	struct hessian *h = &k->q->gptq->at[j->hessian];
	uint64_t matrix = (uint64_t)(in->ne[0] * in->ne[1]), begin = (uint64_t)j->matrix * matrix,
		 group = (uint64_t)in->ne[0] * GPTQ_ROWS,
		 step = group * (uint64_t)pool_threads(k->pool) * WRITE_STEP;

	k->from = begin;
	k->to = begin + matrix;
	if (!h->rows)
		return h->from ? INFER_OK : write_unread(k, sum, err);
	if (!h->u)
		TRY(hessian_factor(k->q->gptq, h, err));
	for (uint64_t from = begin; from < begin + matrix; from = k->to) {
		k->from = from;
		k->to = (uint64_t)num_min((int64_t)(begin + matrix), (int64_t)(from + step));
		TRY(write_run(k, (int64_t)((k->to - from + group - 1) / group), write_rows, sum,
		              err));
		write_tell(k, start + write_bytes(in->type, k->to));
	}
	return INFER_OK;
}

int write_gptq(struct work *k, uint64_t i, uint64_t start, struct error_sum *sum, infer_error *err)
{
	struct write_gptq *g = &k->gptq;

	while (g->next < g->n && g->jobs[g->next].tensor < i)
		g->next++; /* an earlier run wrote these */
	for (; g->next < g->n && g->jobs[g->next].tensor == i; g->next++) {
		if (g->next >= g->measured) {
			int got;

			TRY(hessian_measure(k->q->gptq, k->pool, k->q->how, g->order + g->next,
			                    g->n - g->next, &got, err));
			g->measured = g->next + got;
		}
		g->job = &g->jobs[g->next];
		TRY(write_job(k, start, sum, err));
	}
	write_tell(k, start + k->t->in->bytes);
	return INFER_OK;
}
