/* backend/cuda/chain_pieces.cuh (private) - operations on pieces of equal length of a row, and on a
 * row as a whole, as in backend/cpu/pieces.c.  Sums in double.
 *
 *   SLICE     y[t][p][q] = x[p][from + q], t < times
 *   PERMUTE   y[i] = x[order[i]], order int32_t
 *   ALTUP_MIX y[i][q] = x[i][q] + sum over j of b[j][q] (c[i][j] + plus), j ascending by fma
 *   GAUSS_TOPK    y = max(0, x - (mean + mul deviation))
 *   ALTUP_RESCALE y = x, b[0] m[0], b[1] m[1] ..., m[i] = sqrt(ms(x) / max(ms(b[i]), least)),
 *                 ms = mean square; mean 1: y = (x + b[0] m[0] + ...) / (1 + pieces) */
#ifndef BACKEND_CUDA_CHAIN_PIECES_CUH
#define BACKEND_CUDA_CHAIN_PIECES_CUH
#include "backend/cuda/chain_row.cuh"

GPU_FN void chain_slice(const struct gpu_op *o, float *y, const float *x)
{
	int pieces = o->node.slice.pieces, times = o->node.slice.times ? o->node.slice.times : 1;
	int own = o->node.cols / times, cols = own / pieces, of = o->a_cols / pieces;

	for (int i = chain_thread(); i < own * times; i += GPU_ROW_THREADS) {
		int at = i % own;

		y[i] = x[at / cols * of + o->node.slice.from + at % cols];
	}
}

GPU_FN void chain_permute(const struct gpu_op *o, float *y, const float *x)
{
	const int32_t *order = (const int32_t *)(const void *)o->w0;

	for (int i = chain_thread(); i < o->node.cols; i += GPU_ROW_THREADS)
		y[i] = x[order[i]];
}

GPU_FN void chain_altup_mix(const struct gpu_op *o, float *y, const float *a, const float *b,
                            const float *c)
{
	int pieces = o->node.altup_mix.pieces, by = o->node.altup_mix.by,
	    cols = o->node.cols / pieces;

	for (int q = chain_thread(); q < cols; q += GPU_ROW_THREADS)
		for (int i = 0; i < pieces; i++) {
			float v = a[i * cols + q];

			for (int j = 0; j < by; j++)
				v = fmaf(c[i * by + j] + o->node.altup_mix.plus, b[j * cols + q],
				         v);
			y[i * cols + q] = v;
		}
}

GPU_FN void chain_gauss_topk(const struct gpu_op *o, struct chain_row *r, float *y, const float *x)
{
	int n = o->node.cols;
	double mean = chain_sum64(r, x, n, 0, 0) / n,
	       deviation = sqrt(chain_sum64(r, x, n, mean, 1) / n);
	float least = (float)(mean + (double)o->node.gauss_topk.mul * deviation);

	chain_map(chain_own(r, n), y, x, NULL,
	          [=](float v, float) { return v > least ? v - least : 0; });
}

GPU_FN void chain_altup_rescale(const struct gpu_op *o, struct chain_row *r, float *y,
                                const float *a, const float *b)
{
	int cols = o->a_cols, more = o->b_cols / cols;
	struct chain_span s = chain_own(r, cols);
	double want = chain_sum64(r, a, cols, 0, 1) / cols;
	float all = 1 / (float)(more + 1);

	chain_copy(s, y, a);
	for (int i = 0; i < more; i++, b += cols) {
		double has = chain_sum64(r, b, cols, 0, 1) / cols,
		       least = (double)o->node.altup_rescale.least;
		float mul = (float)sqrt(want / (has > least ? has : least));

		if (o->node.altup_rescale.mean)
			chain_map(s, y, y, b, [=](float u, float v) { return fmaf(mul, v, u); });
		else
			chain_map(s, y + (i + 1) * cols, b, NULL,
			          [=](float u, float) { return u * mul; });
	}
	if (o->node.altup_rescale.mean)
		chain_map(s, y, y, NULL, [=](float u, float) { return u * all; });
}
#endif
