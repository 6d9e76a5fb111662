/* quant/gptq.c - GPTQ: Frantar, Ashkboos, Hoefler, Alistarh, 2022, "GPTQ: Accurate Post-Training
 * Quantization for Generative Pre-trained Transformers".
 *
 * With U' U the inverse of the Hessian, U upper triangular, an error e of column j is best made up for by
 * taking e / U[j][j] U[j][l] off each column l > j.  The scales of a block are searched when its
 * first column comes, in the weights as they are by then, and stay while its columns are rounded one
 * after the other.  Columns beyond a span of GPTQ_SPAN get what the span has lost at its end. */
#include "quant/gptq.h"
#include "base/num.h"
#include "quant/importance.h"
#include "type/type.h"

enum { UNIT = 8, BLOCK = 256, TILE = 256 };

int gptq_takes(int type) { return type_get(type)->round != NULL; }

/* One block of a row at column `from`; columns up to `to` make up for it. */
static void block(const struct gptq_rows *r, const struct type *t, float *w, float *lost,
                  unsigned char *out, int64_t from, int64_t to)
{
	float weights[BLOCK];

	importance_weigh(weights, r->type, w + from, r->importance + from, (size_t)t->info.block);
	t->encode(out, w + from, weights, 1, r->how);
	for (int i = 0; i < t->info.block; i += t->unit) {
		float x[UNIT], cost[UNIT];

		for (int j = 0; j < t->unit; j++) {
			float d = r->u[(from + i + j) * (r->k + 1)];

			x[j] = w[from + i + j];
			cost[j] = 1 / (d * d);
		}
		t->round(out, i, x, cost);
		for (int j = 0; j < t->unit; j++) {
			int64_t c = from + i + j;
			const float *u = r->u + c * r->k;
			float e = (w[c] - x[j]) / u[c];

			for (int64_t l = c + 1; l < to; l++)
				w[l] -= e * u[l];
			lost[i + j] = e;
		}
	}
}

/* Columns from `to` on make up for those of the span. */
static void rest(const struct gptq_rows *r, int64_t from, int64_t to)
{
	for (int64_t at = to; at < r->k; at += TILE) {
		int64_t end = num_min(at + TILE, r->k);

		for (int64_t c = from; c < to; c++) {
			const float *u = r->u + c * r->k;

			for (int i = 0; i < r->rows; i++) {
				float *w = r->w + i * r->k, e = r->lost[i * GPTQ_SPAN + c - from];

				for (int64_t l = at; l < end; l++)
					w[l] -= e * u[l];
			}
		}
	}
}

void gptq_round(const struct gptq_rows *r)
{
	const struct type *t = type_get(r->type);
	const int64_t n = t->info.block;

	for (int64_t from = 0; from < r->k; from += GPTQ_SPAN) {
		int64_t to = num_min(from + GPTQ_SPAN, r->k);

		for (int i = 0; i < r->rows; i++)
			for (int64_t c = from; c < to; c += n)
				block(r, t, r->w + i * r->k, r->lost + i * GPTQ_SPAN + (c - from),
				      r->out + (size_t)i * r->stride +
				              (size_t)(c / n * t->info.block_bytes),
				      c, to);
		rest(r, from, to);
	}
}
