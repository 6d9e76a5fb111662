/* backend/cuda/attn.cuh (private) - attention over pages by mma: fragments, products and sums that
 * the kernels of attn*.cu share, so that they give the same bits.
 *
 * A row attends to positions lo <= p < end.  Positions are divided into splits of GPU_SPLIT from
 * position 0, a split into pages.  The pages of a split are added in ascending order, starting from
 * M = -inf, L = 0, O = 0:
 *   s[p] = (q . k[p]) scale, capped;  -inf outside lo <= p < end
 *   M' = max(M, max s)               with sinks the first split starts from M = sink, L = 1
 *   w[p] = exp(s[p] - M')            a = exp(M - M')
 *   L' = fma(L, a, sum of w)
 *   O' = O a + sum of w[p] v[p]
 * The result of the split is (m, l, o) = (M, L, O).  Splits are merged in ascending order, from
 * M = -inf, L = 0, O = 0:
 *   M' = max(M, m)  a = exp(M - M')  b = exp(m - M')  L' = fma(l, b, L a)  O' = fma(o, b, O a)
 * and y = O (1 / L).  exp is v_exp_weight of kern/tmpl/fmath.h.
 *
 * By mma.m16n8k16: 16 rows as A, f32 sums.  q of each row is scaled by a power of two, w as shown
 * below.  Both are split into two f16 terms, hi + lo; each mma step adds the product with hi, then
 * with lo.  The sum of w of a page adds the 8 of a lane in ascending order, then lanes t and t + 1,
 * then t and t + 2.
 *   F16         w times 2^15
 *   Q8_0, Q4_0  K: each unit from +0, then s = fma(d[p], unit, s).  V: w[p] d[p] times a power of
 *               two for each row, page and unit; then o = fma(unit, its inverse, o)
 *
 *   A of q      [unit][term][step][32 lanes][4 registers], in shared memory
 *   registers   lane 4 g + t has rows g and g + 8, positions 8 t ... 8 t + 7 of the page */
#ifndef BACKEND_CUDA_ATTN_CUH
#define BACKEND_CUDA_ATTN_CUH
#include "backend/cuda/attn_row.cuh"

/* ---- fragments of a unit of K or V ---- */

struct attn_global {         /* reads pages in global memory; attn_local: in shared */
	enum { UNROLL = 4 }; /* units of K loaded at once */
	GPU_FN uint4 get(const void *p) { return load16_written(p); }
};
struct attn_local {
	enum { UNROLL = 2 };
	GPU_FN uint4 get(const void *p) { return *(const uint4 *)p; }
};

/* 16 bytes of a lane in a unit */
template <int TYPE> struct attn_raw {
	enum { N = (int)(kv_unit_bytes(TYPE) / (KV_WARP * sizeof(uint4))) };
	uint4 v[N];
};
template <int TYPE, class MEM> GPU_FN attn_raw<TYPE> attn_load(const unsigned char *unit, int lane)
{
	attn_raw<TYPE> r;

#pragma unroll
	for (int i = 0; i < attn_raw<TYPE>::N; i++)
		r.v[i] = MEM::get(unit + (size_t)(i * KV_WARP + lane) * sizeof(uint4));
	return r;
}
GPU_FN uint32_t attn_word(uint4 v, int i)
{
	return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
/* Convert the four codes in the bytes of `codes` to f16, less the bias of the cache `less`
 * (KV_BIAS8, KV_BIAS4).  Byte 2 u + h becomes half h of b[u]. */
GPU_FN void attn_codes(uint32_t b[2], uint32_t codes, int less)
{
	uint32_t size = 0x6400, off = (size + (uint32_t)less) * 0x10001; /* 1024 + code as f16 */

	b[0] = attn_sub(__byte_perm(codes, size >> 8, 0x4140), off);
	b[1] = attn_sub(__byte_perm(codes, size >> 8, 0x4342), off);
}
/* Set the B registers of tile i, step s.  V 0: of K, 1: of V. */
template <int TYPE, int V>
GPU_FN void attn_fragment(uint32_t b[2], const attn_raw<TYPE> &r, int i, int s)
{
	if (TYPE == INFER_F16) {
		b[0] = attn_word(r.v[i % attn_raw<TYPE>::N], 2 * s);
		b[1] = attn_word(r.v[i % attn_raw<TYPE>::N], 2 * s + 1);
	} else if (TYPE == INFER_Q8_0) {
		attn_codes(b, attn_word(r.v[i / 2 % attn_raw<TYPE>::N], i % 2 * 2 + s), KV_BIAS8);
	} else {
		uint32_t w = attn_word(r.v[0], V ? i % 2 * 2 + s : i);

		attn_codes(b, w >> 4 * (V ? i / 2 : s) & 0x0f0f0f0f, KV_BIAS4);
	}
}
/* Read the scales of a lane's eight positions. */
template <class MEM> GPU_FN void attn_scales(float d[ATTN_OWN], const unsigned char *scales, int t)
{
	uint4 v = MEM::get(scales + t * ATTN_OWN * 2);

#pragma unroll
	for (int i = 0; i < ATTN_OWN; i++)
		d[i] = half_float((uint16_t)(attn_word(v, i / 2) >> 16 * (i % 2)));
}

/* ---- q ---- */

/* Store the two terms of x, element d of a unit of q in row m, in the fragments. */
GPU_FN void attn_put_q(uint16_t *q, int m, int unit, int d, float x)
{
	int t = d / 8, s = d % 8 / 4, u = d % 4 / 2, i = d % 2;
	int at = ((unit * ATTN_TERMS * ATTN_STEPS + s) * KV_WARP + m % 8 * 4 + t) * 8 +
	         (2 * u + m / 8) * 2 + i;
	uint16_t hi = float_half(x);

	q[at] = hi;
	q[at + ATTN_STEPS * KV_WARP * 8] = float_half(x - half_float(hi));
}
/* Find the largest magnitude of each of four rows [dk], among elements lane, lane + 32, ... */
GPU_FN void attn_largest(uint32_t most[ATTN_STAGED], const float *const x[ATTN_STAGED], int dk)
{
#pragma unroll
	for (int i = 0; i < ATTN_STAGED; i++)
		most[i] = 0;
#pragma unroll 4
	for (int d = (int)(threadIdx.x % KV_WARP); d < dk; d += KV_WARP)
#pragma unroll
		for (int i = 0; i < ATTN_STAGED; i++) {
			uint32_t size = x[i] ? gpu_bits(x[i][d]) & 0x7fffffff : 0;
			most[i] = size > most[i] ? size : most[i];
		}
}
/* Store rows m ... m + 3 of q as fragments, by one warp.  x: the rows, [dk] each; NULL: zeros.
 * Sets factor to scale / (power of two of the row). */
GPU_FN void attn_stage_q(uint16_t *q, int m, const float *const x[ATTN_STAGED],
                         float factor[ATTN_STAGED], int dk, float scale)
{
	int lane = (int)(threadIdx.x % KV_WARP), units = (dk + KV_DIMS - 1) / KV_DIMS;
	uint32_t most[ATTN_STAGED];
	attn_power p[ATTN_STAGED];

	attn_largest(most, x, dk);
#pragma unroll
	for (int i = 0; i < ATTN_STAGED; i++) {
		for (int j = KV_WARP / 2; j; j /= 2) {
			uint32_t other = __shfl_xor_sync(~0u, most[i], j);
			most[i] = other > most[i] ? other : most[i];
		}
		p[i] = attn_power_of(gpu_float(most[i]));
		factor[i] = scale * p[i].back;
	}
	for (int b = 0; b < units; b++) {
		int d = b * KV_DIMS + lane;
#pragma unroll
		for (int i = 0; i < ATTN_STAGED; i++)
			attn_put_q(q, m + i, b, lane, x[i] && d < dk ? x[i][d] * p[i].by : 0.0f);
	}
}

/* ---- products ---- */

/* c += q K over one unit of dimensions */
template <int TYPE>
GPU_FN void attn_multiply_k(float c[4][4], const uint4 *q, const attn_raw<TYPE> &k, int lane)
{
#pragma unroll
	for (int s = 0; s < ATTN_STEPS; s++)
#pragma unroll
		for (int term = 0; term < ATTN_TERMS; term++) {
			uint4 v = q[(term * ATTN_STEPS + s) * KV_WARP + lane];
			uint32_t a[4] = { v.x, v.y, v.z, v.w };

#pragma unroll
			for (int i = 0; i < 4; i++) {
				uint32_t b[2];

				attn_fragment<TYPE, 0>(b, k, i, s);
				mma_f16(c[i], a, b);
			}
		}
}
/* s = fma(d, c, s) for a lane's positions */
GPU_FN void attn_scale_k(float s[2][ATTN_OWN], float c[4][4], const float d[ATTN_OWN])
{
#pragma unroll
	for (int e = 0; e < ATTN_OWN; e++)
#pragma unroll
		for (int r = 0; r < 2; r++)
			s[r][e] = fmaf(d[e], c[e / 2][2 * r + e % 2], s[r][e]);
}
/* Set s to the unscaled q . k for rows g and g + 8 and the lane's positions of a page. */
template <int TYPE, class MEM>
GPU_FN void attn_dot(float s[2][ATTN_OWN], const uint4 *q, const unsigned char *k, int units,
                     int lane)
{
	float c[4][4] = {}, d[ATTN_OWN];
	const unsigned char *scales = k + (size_t)units * kv_unit_bytes(TYPE);

#pragma unroll
	for (int e = 0; e < ATTN_OWN; e++)
		s[0][e] = s[1][e] = 0;
#pragma unroll(MEM::UNROLL)
	for (int b = 0; b < units; b++) {
		attn_raw<TYPE> raw =
			attn_load<TYPE, MEM>(k + (size_t)b * kv_unit_bytes(TYPE), lane);

		if (kv_has_d(TYPE)) {
			attn_scales<MEM>(d, scales + b * KV_D_BYTES, lane % 4);
#pragma unroll
			for (int i = 0; i < 16; i++)
				c[i / 4][i % 4] = 0;
		}
		attn_multiply_k<TYPE>(c, q + b * ATTN_Q_UNIT, raw, lane);
		if (kv_has_d(TYPE))
			attn_scale_k(s, c, d);
	}
#pragma unroll
	for (int e = 0; e < ATTN_OWN && !kv_has_d(TYPE); e++) {
		s[0][e] = c[e / 2][e % 2];
		s[1][e] = c[e / 2][2 + e % 2];
	}
}
/* Apply attn_cap to eight numbers.  The array is rotated instead of indexed, so the loop need not
 * be unrolled: the code of tanh is long. */
GPU_FN void attn_cap_all(float s[ATTN_OWN], float cap)
{
#pragma unroll 1
	for (int i = 0; i < ATTN_OWN; i++) {
		float x = attn_cap(s[0], cap);

#pragma unroll
		for (int e = 0; e + 1 < ATTN_OWN; e++)
			s[e] = s[e + 1];
		s[ATTN_OWN - 1] = x;
	}
}
/* Turn the dot products of one row into scores: -inf at positions outside `see`.  Returns the
 * maximum score of the page.  pos: the lane's first position. */
GPU_FN float attn_score(float s[ATTN_OWN], int pos, attn_span see, float factor, float cap)
{
	float most = ATTN_NONE;

#pragma unroll
	for (int e = 0; e < ATTN_OWN; e++)
		s[e] = s[e] * factor;
	if (cap != 0)
		attn_cap_all(s, cap);
	if (pos < see.lo || pos + ATTN_OWN > see.end)
#pragma unroll
		for (int e = 0; e < ATTN_OWN; e++)
			s[e] = pos + e >= see.lo && pos + e < see.end ? s[e] : ATTN_NONE;
#pragma unroll
	for (int e = 0; e < ATTN_OWN; e++)
		most = fmaxf(most, s[e]);
	return attn_max4(most);
}
/* Replace the scores s by weights exp(s - m).  Returns the sum of the weights over the page. */
GPU_FN float attn_weigh(float s[ATTN_OWN], float m)
{
	float sum = 0;

#pragma unroll
	for (int e = 0; e < ATTN_OWN; e++) {
		s[e] = attn_weight(s[e], m);
		sum = sum + s[e];
	}
	return attn_sum4(sum);
}

/* Store the weights of row g + 8 r times `by`, split into two terms, as A: a[term][step]. */
GPU_FN void attn_cut_row(uint32_t a[ATTN_TERMS][ATTN_STEPS][4], const float w[ATTN_OWN], float by,
                         int r)
{
#pragma unroll
	for (int i = 0; i < ATTN_OWN / 2; i++) {
		int s = i / 2, j = i % 2 * 2 + r;

		attn_terms(&a[0][s][j], &a[1][s][j], w[2 * i] * by, w[2 * i + 1] * by);
	}
}
/* Store the weights of rows g and g + 8 as A, for an F16 cache. */
GPU_FN void attn_cut_weights(uint32_t a[ATTN_TERMS][ATTN_STEPS][4], const float w[2][ATTN_OWN])
{
	attn_cut_row(a, w[0], (float)ATTN_ONE, 0);
	attn_cut_row(a, w[1], (float)ATTN_ONE, 1);
}
/* o += w V over one unit of 32 dimensions */
template <int TYPE>
GPU_FN void attn_multiply_v(float o[4][4], const uint32_t a[ATTN_TERMS][ATTN_STEPS][4],
                            const attn_raw<TYPE> &v)
{
#pragma unroll
	for (int s = 0; s < ATTN_STEPS; s++)
#pragma unroll
		for (int term = 0; term < ATTN_TERMS; term++)
#pragma unroll
			for (int i = 0; i < 4; i++) {
				uint32_t b[2];

				attn_fragment<TYPE, 1>(b, v, i, s);
				mma_f16(o[i], a[term][s], b);
			}
}
/* Set V to 0 at positions outside `see`: it may be NaN there, and 0 * NaN is NaN.  Not needed for
 * codes of Q8_0 and Q4_0. from: first position of the page. */
template <int TYPE>
GPU_FN void attn_clear_edge(attn_raw<TYPE> *v, int from, int lane, attn_span see)
{
	if constexpr (!kv_has_d(TYPE)) {
		int pos = from + lane % 4 * ATTN_OWN;
		uint32_t keep[4];

		if (from >= see.lo && from + GPU_PAGE <= see.end)
			return;
#pragma unroll
		for (int j = 0; j < 4; j++) {
			int p = pos + 2 * j;
			keep[j] = (p >= see.lo && p < see.end ? 0xffffu : 0) |
			          (p + 1 >= see.lo && p + 1 < see.end ? 0xffff0000u : 0);
		}
#pragma unroll
		for (int i = 0; i < attn_raw<TYPE>::N; i++) {
			v->v[i].x &= keep[0];
			v->v[i].y &= keep[1];
			v->v[i].z &= keep[2];
			v->v[i].w &= keep[3];
		}
	}
}
/* Store w d as A, scaled by a power of two for each row.  back: the inverse power for rows
 * g and g + 8. */
GPU_FN void attn_cut_scaled(uint32_t a[ATTN_TERMS][ATTN_STEPS][4], float back[2],
                            const float w[2][ATTN_OWN], const float d[ATTN_OWN])
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		float x[ATTN_OWN], most = 0;
		attn_power p;

#pragma unroll
		for (int e = 0; e < ATTN_OWN; e++) {
			x[e] = w[r][e] == 0 ? 0.0f : w[r][e] * d[e];
			most = fmaxf(most, fabsf(x[e]));
		}
		p = attn_power_of(attn_max4(most));
		attn_cut_row(a, x, p.by, r);
		back[r] = p.back;
	}
}
/* o += w V over one unit of Q8_0 or Q4_0; d: scales of the unit */
template <int TYPE, class MEM>
GPU_FN void attn_add_scaled(float o[4][4], const float w[2][ATTN_OWN], const attn_raw<TYPE> &v,
                            const unsigned char *d, int lane)
{
	float c[4][4] = {}, scales[ATTN_OWN], back[2];
	uint32_t a[ATTN_TERMS][ATTN_STEPS][4];

	attn_scales<MEM>(scales, d, lane % 4);
	attn_cut_scaled(a, back, w, scales);
	attn_multiply_v<TYPE>(c, a, v);
#pragma unroll
	for (int i = 0; i < 16; i++)
		o[i / 4][i % 4] = fmaf(c[i / 4][i % 4], back[i % 4 / 2], o[i / 4][i % 4]);
}
/* Multiply the sums of rows g and g + 8 by a. */
template <int NB> GPU_FN void attn_shrink_sums(float o[NB][4][4], const float a[2])
{
	if (a[0] == 1 && a[1] == 1)
		return;
#pragma unroll
	for (int i = 0; i < NB * 16; i++)
		o[i / 16][i / 4 % 4][i % 4] = o[i / 16][i / 4 % 4][i % 4] * a[i % 4 / 2];
}
#endif
