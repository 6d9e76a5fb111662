/* backend/cuda/chain_elem.cuh (private) - element-wise operations: y[i] of a[i] and b[i].
 *
 *   ADD       fma(mul, b, a)
 *   SILU_MUL, GELU_MUL, GELU   math.cuh
 *   GATE      a sigmoid(b); with no_sigmoid a b; if b has one column, it is used for all columns
 *   SCALE     a (mul w0[0]), or (a mul) w0[i]
 *   ATTN_TEMP a (float)(1 + beta ln(1 + (pos + from) / length))
 *   GET_ROWS  row `token` of a */
#ifndef BACKEND_CUDA_CHAIN_ELEM_CUH
#define BACKEND_CUDA_CHAIN_ELEM_CUH
#include "backend/cuda/chain_row.cuh"
#include "backend/cuda/math.cuh"

GPU_FN void chain_add(const struct gpu_op *o, struct chain_span s, float *y, const float *a,
                      const float *b)
{
	int pieces = o->node.add.pieces > 1 ? o->node.add.pieces : 1, cols = o->node.cols / pieces;
	float mul = o->node.add.mul == 0 ? 1 : o->node.add.mul;

	if (pieces == 1) {
		chain_map(s, y, a, b, [=](float u, float v) { return fmaf(mul, v, u); });
		return;
	}
	for (int i = s.first; i < s.end; i += s.step)
		y[i] = i / cols < o->node.add.from ? a[i] : fmaf(mul, b[i % cols], a[i]);
}

GPU_FN void chain_gate(const struct gpu_op *o, struct chain_span s, float *y, const float *a,
                       const float *b)
{
	if (o->b_cols == 1) {
		float by = o->node.gate.no_sigmoid ? b[0] : gpu_sigmoid(b[0]);

		chain_map(s, y, a, NULL, [=](float u, float) { return u * by; });
	} else if (o->node.gate.no_sigmoid) {
		chain_map(s, y, a, b, [](float u, float v) { return u * v; });
	} else {
		chain_map(s, y, a, b, [](float u, float v) { return u * gpu_sigmoid(v); });
	}
}

GPU_FN void chain_scale(const struct gpu_op *o, struct chain_span s, float *y, const float *a)
{
	const float *w = (const float *)o->w0;
	float mul = o->node.scale.mul;

	if (w && o->w_rows > 1) {
		chain_map(s, y, a, w, [=](float u, float v) { return u * mul * v; });
		return;
	}
	mul = w ? mul * w[0] : mul;
	chain_map(s, y, a, NULL, [=](float u, float) { return u * mul; });
}

/* One thread computes the factor, because double is slow on many devices; the others contribute 0
 * to a sum, which is exact. */
GPU_FN void chain_attn_temp(const struct gpu_op *o, struct chain_row *r, struct chain_span s,
                            const int32_t *pos, float *y, const float *a)
{
	float mul = 0;

	if (threadIdx.x == 0) {
		int steps = (pos[r->token] + o->node.attn_temp.from) / o->node.attn_temp.length;

		mul = (float)(1 + (double)o->node.attn_temp.beta * gpu_log((double)(1 + steps)));
	}
	mul = chain_total(r, r->sums, mul);
	chain_map(s, y, a, NULL, [=](float u, float) { return u * mul; });
}

GPU_FN void chain_gelu(const struct gpu_op *o, struct chain_span s, float *y, const float *a,
                       const float *b)
{
	if (o->node.op == GRAPH_GELU)
		chain_map(s, y, a, NULL, [](float g, float) { return gpu_gelu_erf(g, 1.0f); });
	else if (o->node.gelu_mul.erf)
		chain_map(s, y, a, b, [](float g, float u) { return gpu_gelu_erf(g, u); });
	else
		chain_map(s, y, a, b, [](float g, float u) { return gpu_gelu(g, u); });
}

GPU_FN void chain_silu(struct chain_span s, float *y, const float *a, const float *b)
{
	chain_map(s, y, a, b, [](float g, float u) { return gpu_silu(g, u); });
}
#endif
