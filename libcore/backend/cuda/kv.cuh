/* backend/cuda/kv.cuh (private) - K and V of one KV head in a page of GPU_PAGE positions.
 *
 * Both are cut into units of 32 dimensions by 32 positions; the last unit is padded.  A unit is
 * stored as the B fragments of mma.m16n8k16 that read it, four tiles i of 8 columns and 32 of k, so
 * that lane 4 g + t takes column g, k = 8 t + e of a tile, e = 0 ... 7; k16 step s of the two has
 * e = 4 s + 2 u + h in half h of register u.
 *   K  column of tile i: position 8 (g / 2) + 2 i + g % 2;  k: dimension 8 t + e
 *   V  column of tile i: dimension 8 i + g;                 k: position 8 t + e
 * In the product q K, a lane holds positions 8 t ... 8 t + 7 in columns 2 t and 2 t + 1 of the
 * tiles.  These are the positions that it needs as A of the product with V.
 *   F32     f32 [4 i][32 lanes][8 e]
 *   F16     f16 [4 i][32 lanes][8 e]
 *   Q8_0    u8  [2][32 lanes][2][8 e]: i = 2 x + y of [x] and [y]; plus 128
 *   Q4_0    u8  [32 lanes][16]; K: [4 i][4], low halves e = 0 ... 3, high halves 4 ... 7;
 *                               V: [2][8 e], low halves of tile i, high halves of tile i + 2
 * Q8_0, Q4_0: the units of all dimensions are followed by their scales, f16 d [units][32].
 * Values and rounding: kern/kv.h.
 *
 * Limits: Q8_0 and Q4_0 store whole units only.  F16: elements of V that are not finite as f16 are
 * stored as 0, and K of that position as NaN.  So rows that attend to the position become NaN, and
 * other rows of the same product add 0. */
#ifndef BACKEND_CUDA_KV_CUH
#define BACKEND_CUDA_KV_CUH
#include "backend/cuda/gpu.h"
#include "backend/cuda/launch.h"

enum {
	KV_DIMS = 32,                 /* dimensions of a unit */
	KV_UNIT = KV_DIMS * GPU_PAGE, /* elements of a unit */
	KV_D_BYTES = GPU_PAGE * 2,    /* scales of a unit */
	KV_RELEASED = -1,             /* page number, as uint32_t, of a released page */
	KV_WARP = 32,
	KV_LOADS = 4,          /* units that a lane reads before it stores the first */
	KV_NAN32 = 0x7fc00000, /* bits of a f32 NaN */
	KV_BIAS8 = 128,
	KV_BIAS4 = 8,
};

/* Bytes of the elements of a unit, without scales; 0 if the type is not a cache type. */
static constexpr __host__ __device__ uint32_t kv_unit_bytes(int type)
{
	return type == INFER_F32    ? KV_UNIT * 4
	       : type == INFER_F16  ? KV_UNIT * 2
	       : type == INFER_Q8_0 ? KV_UNIT
	       : type == INFER_Q4_0 ? KV_UNIT / 2
	                            : 0;
}
static constexpr __host__ __device__ int kv_has_d(int type)
{
	return type == INFER_Q8_0 || type == INFER_Q4_0;
}

/* Location of an element in a unit: tile i, lane, element e of the lane. */
struct kv_at {
	int i, lane, e;
};
GPU_FN kv_at kv_k_at(int pos, int d)
{
	return kv_at{ pos % 8 / 2, (pos / 8 * 2 + pos % 2) * 4 + d / 8, d % 8 };
}
GPU_FN kv_at kv_v_at(int pos, int d) { return kv_at{ d / 8, d % 8 * 4 + pos / 8, pos % 8 }; }

/* Return the index in the unit: of the element (F32, F16), of the byte (Q8_0, Q4_0). */
GPU_FN int kv_index(kv_at a) { return (a.i * KV_WARP + a.lane) * 8 + a.e; }
GPU_FN int kv_index8(kv_at a) { return ((a.i / 2 * KV_WARP + a.lane) * 2 + a.i % 2) * 8 + a.e; }
GPU_FN int kv_k_index4(kv_at a) { return (a.lane * 4 + a.i) * 4 + a.e % 4; }
GPU_FN int kv_v_index4(kv_at a) { return (a.lane * 2 + a.i % 2) * 8 + a.e; }

/* Return one element as float.  at: first byte of K (v 1: V) of the head in the page. */
GPU_FN float kv_read(const unsigned char *at, int type, int v, int pos, int d, int units)
{
	int unit = d / KV_DIMS;
	kv_at a = v ? kv_v_at(pos, d % KV_DIMS) : kv_k_at(pos, d % KV_DIMS);

	switch (type) {
	case INFER_F32:
		return ((const float *)at)[unit * KV_UNIT + kv_index(a)];
	case INFER_F16:
		return half_float(((const uint16_t *)at)[unit * KV_UNIT + kv_index(a)]);
	case INFER_Q8_0: {
		const uint16_t *s = (const uint16_t *)(at + (size_t)units * KV_UNIT);
		int q = at[unit * KV_UNIT + kv_index8(a)] - KV_BIAS8;

		return half_float(s[unit * GPU_PAGE + pos]) * (float)q;
	}
	default: {
		const uint16_t *s = (const uint16_t *)(at + (size_t)units * (KV_UNIT / 2));
		int b = at[unit * (KV_UNIT / 2) + (v ? kv_v_index4(a) : kv_k_index4(a))];
		int q = (b >> (v ? a.i / 2 * 4 : a.e / 4 * 4) & 15) - KV_BIAS4;

		return half_float(s[unit * GPU_PAGE + pos]) * (float)q;
	}
	}
}

/* ---- writing: a warp for each head of a position, a lane for each dimension of a unit ---- */

/* Return the element of largest magnitude among the lanes, the first if several are equal.  NaN
 * counts above infinity. */
GPU_FN float kv_largest(float x)
{
	uint32_t size = gpu_bits(x) & 0x7fffffff, most = size;
	unsigned equal;

	for (int i = KV_WARP / 2; i; i /= 2) {
		uint32_t other = __shfl_xor_sync(~0u, most, i);
		most = other > most ? other : most;
	}
	equal = __ballot_sync(~0u, size == most);
	return __shfl_sync(~0u, x, __ffs((int)equal) - 1);
}
GPU_FN float kv_inverse(float d)
{
	float size = fabsf(d);

	return size >= 0x1p-126f && size <= 0x1.fffffep127f ? 1.0f / d : 0.0f;
}
GPU_FN uint16_t kv_scale(float d) { return float_half(fabsf(d) < 0x1p-126f ? d * 0.0f : d); }
/* Round to the nearest, ties away from zero. */
GPU_FN int kv_nearest(float x)
{
	int t = (int)x;
	float rest = x - (float)t;

	return t + (rest >= 0.5f) - (rest <= -0.5f);
}
/* Return the code of the lane's element x, as stored.  Sets *d to the scale of the 32 elements. */
GPU_FN int kv_code(int type, float x, uint16_t *d)
{
	float most = kv_largest(x),
	      scale = type == INFER_Q8_0 ? fabsf(most) / 127.0f : most / -8.0f,
	      by = kv_inverse(scale);
	int q;

	*d = kv_scale(scale);
	if (type == INFER_Q8_0)
		return (by == 0 ? 0 : kv_nearest(x * by)) + KV_BIAS8;
	q = by == 0 ? KV_BIAS4 : (int)fmaf(x, by, 8.5f);
	return q > 15 ? 15 : q;
}
/* Store a code.  The halves of a byte of Q4_0 are two dimensions of the position, in two lanes
 * whose numbers differ in the bit `other`; the lower lane writes. */
GPU_FN void kv_put_code(unsigned char *unit, int type, int v, int pos, int lane, int code)
{
	int other = v ? KV_DIMS / 2 : 4, high = __shfl_xor_sync(~0u, code, other);
	kv_at a = v ? kv_v_at(pos, lane) : kv_k_at(pos, lane);

	if (type == INFER_Q8_0)
		unit[kv_index8(a)] = (unsigned char)code;
	else if (!(lane & other))
		unit[v ? kv_v_index4(a) : kv_k_index4(a)] = (unsigned char)(code | high << 4);
}

GPU_FN int kv_finite(uint16_t h) { return (h & 0x7c00) != 0x7c00; }
/* Store f as element `lane` of unit b at position pos. */
GPU_FN void kv_put_unit(unsigned char *at, int type, int v, int pos, int b, int units, float f)
{
	int lane = (int)(threadIdx.x % KV_WARP);
	kv_at a = v ? kv_v_at(pos, lane) : kv_k_at(pos, lane);
	unsigned char *unit = at + (size_t)b * kv_unit_bytes(type);

	if (type == INFER_F32) {
		((float *)unit)[kv_index(a)] = f;
	} else if (type == INFER_F16) {
		uint16_t h = float_half(f);

		((uint16_t *)unit)[kv_index(a)] = v && !kv_finite(h) ? (uint16_t)0 : h;
	} else {
		uint16_t d, *scales = (uint16_t *)(at + (size_t)units * kv_unit_bytes(type));
		int code = kv_code(type, f, &d);

		kv_put_code(unit, type, v, pos, lane, code);
		if (lane == 0)
			scales[b * GPU_PAGE + pos] = d;
	}
}
/* Store x [dim] (poison: NaN) as position pos of K or V of a head.  A whole warp calls it. */
GPU_FN void kv_put(unsigned char *at, int type, int v, int pos, const float *x, int dim, int poison)
{
	int lane = (int)(threadIdx.x % KV_WARP), units = (dim + KV_DIMS - 1) / KV_DIMS;

	for (int from = 0; from < units; from += KV_LOADS) {
		float f[KV_LOADS];

#pragma unroll
		for (int j = 0; j < KV_LOADS; j++) {
			int d = (from + j) * KV_DIMS + lane;

			f[j] = d >= dim ? 0.0f : poison ? gpu_float(KV_NAN32) : x[d];
		}
#pragma unroll 1
		for (int b = from; b < units && b < from + KV_LOADS; b++) {
			kv_put_unit(at, type, v, pos, b, units, f[0]);
#pragma unroll
			for (int j = 0; j + 1 < KV_LOADS; j++)
				f[j] = f[j + 1];
		}
	}
}
/* True if an element of x is not finite as f16.  All lanes of a warp call it. */
GPU_FN int kv_overflows(const float *x, int dim)
{
	int bad = 0;

	for (int i = (int)(threadIdx.x % KV_WARP); i < dim; i += KV_WARP)
		bad |= !kv_finite(float_half(x[i]));
	return __any_sync(~0u, bad);
}

/* Store K [heads][dk] and V [heads][dv] of one position: position `at` of page `page` of layer l.
 * All threads of a block of GPU_ROW_THREADS call it with the same arguments, after a barrier if the
 * block wrote k and v.  A warp stores every eighth head, without barriers.  If page is UINT32_MAX,
 * nothing is stored. */
GPU_FN void gpu_kv_put(const struct gpu_layer *l, uint32_t page, int at, int heads, const float *k,
                       int dk, const float *v, int dv)
{
	unsigned char *to;

	if (page == (uint32_t)KV_RELEASED)
		return;
	to = l->base + (uint64_t)page * l->page_bytes;
	for (int h = (int)(threadIdx.x / KV_WARP); h < heads; h += GPU_ROW_THREADS / KV_WARP) {
		const float *vh = v + (size_t)h * dv;
		int poison = l->v_type == INFER_F16 && kv_overflows(vh, dv);

		kv_put(to + (size_t)h * l->k_head, l->k_type, 0, at, k + (size_t)h * dk, dk,
		       poison);
		kv_put(to + l->v_at + (size_t)h * l->v_head, l->v_type, 1, at, vh, dv, 0);
	}
}

/* Return the page of position pos of a run. */
GPU_FN uint32_t gpu_kv_page(const struct gpu_rows *r, const struct gpu_run *run, int group, int pos)
{
	return r->tables[run->tables[group] + (uint32_t)(pos / GPU_PAGE)];
}
/* gpu_kv_put for row `row` of the step, in the page of its position. */
GPU_FN void gpu_kv_put_row(const struct gpu_rows *r, int layer, int row, int heads, const float *k,
                           int dk, const float *v, int dv)
{
	const struct gpu_layer *l = &r->layers[layer];
	int pos = r->pos[row];

	gpu_kv_put(l, gpu_kv_page(r, &r->runs[r->run[row]], l->group, pos), pos % GPU_PAGE, heads,
	           k, dk, v, dv);
}
#endif
