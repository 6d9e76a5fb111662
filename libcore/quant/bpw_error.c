/* quant/bpw_error.c - measure the squared error of each type that a tensor may have. */
#include "base/err.h"
#include "base/num.h"
#include "file/file.h"
#include "quant/bpw.h"
#include "type/type.h"

#include <math.h>
#include <string.h>

/* At most PIECES pieces of a tensor are measured, evenly spaced. */
enum { PIECE = 1 << 14, PIECES = 24 };

/* Types to try; mix_fit replaces those whose blocks do not divide a row. */
static const uint8_t tried[] = {
	INFER_IQ2_XXS, INFER_IQ2_XS, INFER_IQ2_S,  INFER_Q2_K, INFER_IQ3_XXS,
	INFER_IQ3_S,   INFER_Q3_K,   INFER_IQ4_XS, INFER_Q4_K, INFER_Q5_K,
	INFER_Q6_K,    INFER_Q8_0,   INFER_F16,
};

struct scratch {
	float x[PIECE], w[PIECE], cost[PIECE];
	unsigned char out[PIECE * sizeof(float)], in[PIECE * sizeof(float)];
};
struct work {
	const infer_file *in;
	const struct bpw_tensor *t;
	int type, how;
	uint64_t pieces, taken; /* number of pieces of the tensor, number measured */
	struct scratch *scratch;
	double sums[PIECES];
	int bad[PIECES];
};

void bpw_columns(float *w, const struct bpw_tensor *t, uint64_t from, size_t n)
{
	uint64_t ne0 = (uint64_t)t->in->ne[0], matrix = ne0 * (uint64_t)t->in->ne[1];

	for (size_t i = 0; i < n; i++) {
		const float *of = t->importance;

		if (of && t->n_importance > ne0)
			of += (from + i) / matrix * ne0;
		w[i] = of ? of[(from + i) % ne0] : 1;
	}
}

static size_t bytes_of(int type, uint64_t elements)
{
	return type_row_bytes(type, (int64_t)elements);
}

static void on_piece(void *user, int64_t i, int worker)
{
	struct work *k = user;
	struct scratch *s = &k->scratch[worker];
	const struct infer_tensor *in = k->t->in;
	const struct type *from = type_get(in->type), *to = type_get(k->type);
	uint64_t at = (uint64_t)i * k->pieces / k->taken * PIECE, all = quant_elements(in);
	size_t n = (size_t)num_min(PIECE, (int64_t)(all - at));
	double sum = 0;

	from->decode(s->x,
	             file_span(k->in, in, bytes_of(in->type, at), bytes_of(in->type, n), s->in),
	             n / (size_t)from->info.block);
	bpw_columns(s->cost, k->t, at, n);
	for (size_t j = 0; j < n; j++)
		if (!isfinite(s->x[j])) {
			k->bad[i] = 1;
			return;
		}
	int weighs = k->t->importance != NULL;

	if (weighs) {
		memcpy(s->w, s->cost, n * sizeof *s->w);
		importance_weigh(s->w, k->type, s->x, s->w, n);
	} else {
		weighs = importance_alone(s->w, k->type, s->x, n);
	}
	type_encode(k->type, s->out, s->x, weighs ? s->w : NULL, n / (size_t)to->info.block,
	            k->how);
	to->decode(s->w, s->out, n / (size_t)to->info.block);
	for (size_t j = 0; j < n; j++) {
		double e = (double)s->w[j] - (double)s->x[j];

		sum += (double)s->cost[j] * e * e;
	}
	k->sums[i] = sum * (double)PIECE / (double)n;
}

static int measure_error(struct bpw_search *a, struct work *k, struct bpw_choice *c,
                         infer_error *err)
{
	const struct infer_tensor *in = k->t->in;
	uint64_t all = quant_elements(in);
	double sum = 0;

	c->error = 0;
	if (c->type == in->type)
		return INFER_OK;
	k->type = c->type;
	k->how = a->how;
	k->pieces = (all + PIECE - 1) / PIECE;
	k->taken = (uint64_t)num_min((int64_t)k->pieces, PIECES);
	memset(k->bad, 0, sizeof k->bad);
	pool_run(a->pool, (int64_t)k->taken, on_piece, k);
	for (uint64_t i = 0; i < k->taken; i++) {
		if (k->bad[i])
			return err_set(err, INFER_ENAN, "tensor %.*s: a weight is not finite",
			               (int)in->name.len, in->name.at);
		sum += k->sums[i];
	}
	c->error = sum / (double)k->taken / PIECE * (double)all;
	return INFER_OK;
}

/* Insert a choice in order of bytes.  Drop those no smaller and no more accurate than another. */
static void insert_choice(struct bpw_tensor *t, const struct bpw_choice *c)
{
	int i = t->n;

	for (int j = 0; j < t->n; j++)
		if (t->at[j].bytes <= c->bytes && t->at[j].error <= c->error)
			return;
	for (int j = i = 0; j < t->n; j++)
		if (t->at[j].bytes < c->bytes || t->at[j].error < c->error)
			t->at[i++] = t->at[j];
	t->n = i;
	for (; i > 0 && t->at[i - 1].bytes > c->bytes; i--)
		t->at[i] = t->at[i - 1];
	t->at[i] = *c;
	t->n++;
}

static int measure_tensor(struct bpw_search *a, struct work *k, struct bpw_tensor *t,
                          const struct mix *m, infer_error *err)
{
	uint8_t seen[INFER_TYPE_COUNT] = { 0 };
	struct bpw_choice c = { 0 };

	k->t = t;
	if (t->n) /* an override sets the type */
		return INFER_OK;
	for (size_t i = 0; i <= sizeof tried; i++) {
		c.type = i < sizeof tried ? mix_fit(tried[i], t->in->ne[0]) : t->in->type;
		c.bytes = bytes_of(c.type, quant_elements(t->in));
		if (seen[c.type]++ || c.bytes > t->in->bytes)
			continue;
		if (c.type != t->in->type && !t->importance &&
		    mix_needs_importance(m, t->in, c.type))
			continue;
		TRY(measure_error(a, k, &c, err));
		insert_choice(t, &c);
	}
	return INFER_OK;
}

int bpw_errors(struct bpw_search *a, infer_error *err)
{
	struct work k = { .in = a->in };
	struct mix m;
	int rc;

	TRY(mix_init(&m, mix_find("F16"), a->importance != NULL, a->in, err));
	k.scratch = mem_alloc(MEM_QUANT, (size_t)pool_threads(a->pool), sizeof *k.scratch);
	rc = k.scratch ? INFER_OK : err_nomem(err);
	for (size_t i = 0; !rc && i < a->n; i++)
		rc = measure_tensor(a, &k, &a->t[i], &m, err);
	mem_free(k.scratch);
	return rc;
}
