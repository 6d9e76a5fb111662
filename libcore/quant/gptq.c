/* quant/gptq.c - GPTQ: Frantar, Ashkboos, Hoefler, Alistarh, 2022, "GPTQ: Accurate Post-Training
 * Quantization for Generative Pre-trained Transformers".
 *
 * inverse(H) = U' U with U upper triangular, H the Hessian.  The error e of rounding column j is
 * compensated by subtracting e / U[j][j] * U[j][l] from each column l > j.  The scales of a block
 * are searched before its first column is rounded, in the updated weights, and fixed while its
 * columns are rounded in order.  Columns after a span of GPTQ_SPAN are updated at the end of the
 * span. */
#include "quant/gptq.h"
#include "base/num.h"
#include "quant/importance.h"
#include "type/type.h"

enum { UNIT = 8, BLOCK = 256, TILE = 256 };

int gptq_takes(int type) { return type_get(type)->round != NULL; }

/* Round the block at column `from` of a row, and update the later columns before `to`. */
static void round_block(const struct gptq_rows *r, const struct type *t, float *w, float *lost,
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

/* Update all columns from `to` on by the errors of columns [from, to). */
static void update_rest(const struct gptq_rows *r, int64_t from, int64_t to)
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
				round_block(r, t, r->w + i * r->k,
				            r->lost + i * GPTQ_SPAN + (c - from),
				            r->out + (size_t)i * r->stride +
				                    (size_t)(c / n * t->info.block_bytes),
				            c, to);
		update_rest(r, from, to);
	}
}
