/* kern/tmpl/mm_bf16.h - products with bf16 activations, by the vector operations of a folder's
 * simd.h and bf16.h.  kern/tmpl/bf16.h defines the sums.  A lane is a row of weights, so each sum
 * stays in its lane.
 *
 *   bytes per flop: 2 per 2 m;  limits: none
 *   panel: f32 [k rounded up to 32, even and odd alternating][BF_PANEL]
 *
 * The folder's bf16.h defines BF_T and BF_ROWS_T, the rows of x of a tile and of a kernel in place,
 * and BF_G, the vectors of a panel row.  If the processor has a mode that treats subnormal numbers
 * as zeros (V_FLUSHES), kernels run between v_flush_begin and v_flush_end.  Otherwise v_low
 * collects results that may have to be zero, and a block with such a result is computed again by
 * scalar operations. */
#include <string.h>
#include "kern/tmpl/bf16.h"
#include "kern/tmpl/bf16_pairs.h"
#include "kern/tmpl/lines.h"

enum { BF_PANEL = 16 * BF_G };

/* A transposed block of 16 rows of weights: w[i] is weight i of each row. */
struct block {
	vf w[32];
};
#define BLOCK(TYPE, name) \
	static __attribute__((noinline)) void name##_block( \
		struct block *b, const unsigned char *at, size_t stride, int rows, int n) \
	{ \
		vi w[16]; \
		load_block(w, INFER_##TYPE, at, stride, rows, n, 1); \
		UNROLL \
		for (int i = 0; i < 16; i++) { \
			b->w[2 * i] = v_from(vi_shl16(w[i])); \
			b->w[2 * i + 1] = v_from(vi_and(w[i], vi_set((int32_t)0xffff0000))); \
		} \
	}
KERN_ROWS_HALF(BLOCK)
#undef BLOCK
typedef void block_load(struct block *b, const unsigned char *at, size_t stride, int rows, int n);

/* y[t] += the products of a block with tn rows of x, by scalar operations. */
static __attribute__((noinline)) void block_again(vf *y, const struct block *b, const float *x,
                                                  size_t x_row, int tn)
{
	float w[32][16];

	for (int i = 0; i < 32; i++)
		v_store(w[i], b->w[i]);
	for (int t = 0; t < tn; t++) {
		float sums[16], v[32];
		v_store(sums, y[t]);
		for (int r = 0; r < 16; r++) {
			for (int i = 0; i < 32; i++)
				v[i] = bf16_flush(w[i][r]);
			sums[r] = bf16_block(sums[r], v, x + (size_t)t * x_row);
		}
		y[t] = v_load(sums);
	}
}

INLINE void block_add(vf *y, const struct block *b, const float *x, size_t x_row, int tn)
{
	vf even[BF_T], odd[BF_T], sum[BF_T];
	v_low_t low = v_low_none();

	UNROLL
	for (int t = 0; t < tn; t++)
		even[t] = odd[t] = v_set(0);
	for (int i = 0; i < 32; i += 2) {
		vf e = b->w[i], o = b->w[i + 1];
		low = v_low(v_low(low, e), o);
		UNROLL
		for (int t = 0; t < tn; t++) {
			const float *xt = x + (size_t)t * x_row + i;
			even[t] = v_fma(e, v_set(xt[0]), even[t]);
			odd[t] = v_fma(o, v_set(xt[1]), odd[t]);
			low = v_low(v_low(low, even[t]), odd[t]);
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++) {
		vf both = v_add(even[t], odd[t]);
		sum[t] = v_add(y[t], both);
		low = v_low(v_low(low, both), sum[t]);
	}
	if (!V_FLUSHES && v_is_low(low)) {
		block_again(y, b, x, x_row, tn);
		return;
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		y[t] = sum[t];
}

/* Multiply 16 rows of weights, `stride` bytes apart, with tn rows of x.  Results are `apart` floats
 * apart. */
INLINE void rows_16(block_load *load, float *y, size_t ldy, size_t apart, const unsigned char *w,
                    size_t stride, int rows, const float *x, size_t x_row, int k, int tn)
{
	vf sums[BF_T];
	float out[16];

	UNROLL
	for (int t = 0; t < tn; t++)
		sums[t] = v_set(0);
	for (int i = 0; i < k; i += 32) {
		struct block b;
		load(&b, w + (size_t)i * 2, stride, rows, k - i < 32 ? k - i : 32);
		block_add(sums, &b, x + i, x_row, tn);
	}
	UNROLL
	for (int t = 0; t < tn; t++) {
		v_store(out, sums[t]);
		for (int r = 0; r < rows; r++)
			y[(size_t)t * ldy + (size_t)r * apart] = out[r];
	}
}

static void rows_all(block_load *load, float *y, size_t ldy, size_t apart, const unsigned char *w,
                     size_t stride, int rows, const float *x, size_t x_row, int m, int k)
{
	for (int t = 0, by; t < m; t += by, y += (size_t)by * ldy, x += (size_t)by * x_row) {
		by = m - t < 3 ? m - t : BF_ROWS_T;
		by = by > m - t ? 2 : by;
		if (by == 1)
			rows_16(load, y, ldy, apart, w, stride, rows, x, x_row, k, 1);
		else if (by == 2)
			rows_16(load, y, ldy, apart, w, stride, rows, x, x_row, k, 2);
		else
			rows_16(load, y, ldy, apart, w, stride, rows, x, x_row, k, BF_ROWS_T);
	}
}

/* Multiply groups of 16 rows that are far apart, so that each row of a group begins a long stream;
 * then the remaining rows. */
static __attribute__((noinline)) void rows_bf16(block_load *load, float *y, size_t ldy,
                                                const void *wv, size_t row_bytes,
                                                const struct kern_act *a, int x_row, int m, int n,
                                                int k)
{
	const unsigned char *w = wv;
	const float *x = act_f(a, x_row);
	size_t step = a->q_row / 4, apart = (size_t)(n / 16);
	int rest = n % 16, done = n - rest;

	for (size_t r = 0; r < apart; r++)
		rows_all(load, y + r, ldy, apart, w + r * row_bytes, apart * row_bytes, 16, x, step,
		         m, k);
	if (rest)
		rows_all(load, y + done, ldy, 1, w + (size_t)done * row_bytes, row_bytes, rest, x,
		         step, m, k);
}

static size_t pack_bytes_bf16(int k) { return (size_t)act_bf16_k(k) * BF_PANEL * 4; }

static void pack_bf16(block_load *load, float *dst, const void *wv, size_t row_bytes, int n, int k)
{
	for (int i = 0; i < k; i += 32, dst += (size_t)32 * BF_PANEL)
		for (int g = 0; g < BF_G; g++) {
			int first = 16 * g < n ? 16 * g : 0;
			struct block b;
			load(&b,
			     (const unsigned char *)wv + (size_t)first * row_bytes + (size_t)i * 2,
			     row_bytes, n - first < 16 ? n - first : 16, k - i < 32 ? k - i : 32);
			for (int j = 0; j < 32; j++)
				v_store(dst + j * BF_PANEL + 16 * g, b.w[j]);
		}
}

/* Compute the even or the odd sums of a block: c [BF_G][tn]. */
INLINE void tile_chain(vf *c, const float *w, const float *x, size_t x_row, int tn, v_low_t *low)
{
	UNROLL
	for (int i = 0; i < BF_G * tn; i++)
		c[i] = v_set(0);
	for (int p = 0; p < 16; p++, w += 2 * BF_PANEL, x += 2) {
		UNROLL
		for (int g = 0; g < BF_G; g++) {
			vf wv = v_load(w + 16 * g);
			*low = v_low(*low, wv);
			UNROLL
			for (int t = 0; t < tn; t++) {
				vf *to = &c[g * tn + t];
				*to = v_fma(wv, v_set(x[(size_t)t * x_row]), *to);
				*low = v_low(*low, *to);
			}
		}
	}
}

INLINE void tile_block(vf *y, const float *w, const float *x, size_t x_row, int tn)
{
	vf even[BF_G * BF_T], odd[BF_G * BF_T], sum[BF_G * BF_T];
	v_low_t low = v_low_none();

	tile_chain(even, w, x, x_row, tn, &low);
	tile_chain(odd, w + BF_PANEL, x + 1, x_row, tn, &low);
	UNROLL
	for (int i = 0; i < BF_G * tn; i++) {
		vf both = v_add(even[i], odd[i]);
		sum[i] = v_add(y[i], both);
		low = v_low(v_low(low, both), sum[i]);
	}
	for (int g = 0; !V_FLUSHES && g < BF_G && v_is_low(low); g++) {
		struct block b;
		for (int i = 0; i < 32; i++)
			b.w[i] = v_load(w + i * BF_PANEL + 16 * g);
		memcpy(sum + g * tn, y + g * tn, (size_t)tn * sizeof *y);
		block_again(sum + g * tn, &b, x, x_row, tn);
	}
	UNROLL
	for (int i = 0; i < BF_G * tn; i++)
		y[i] = sum[i];
}

INLINE void tile_rows(float *y, size_t ldy, const float *w, const struct kern_act *a, int x_first,
                      int n, int k, int tn)
{
	const float *x = act_f(a, x_first);
	vf sums[BF_G * BF_T];

	UNROLL
	for (int i = 0; i < BF_G * tn; i++)
		sums[i] = v_set(0);
	for (int i = 0; i < k; i += 32, w += (size_t)32 * BF_PANEL) {
		if (i % 256 == 0)
			prefetch_next(a, 1);
		tile_block(sums, w, x + i, a->q_row / 4, tn);
	}
	UNROLL
	for (int t = 0; t < tn; t++) {
		UNROLL
		for (int g = 0; g < BF_G; g++)
			if (n > 16 * g)
				v_storen(y + (size_t)t * ldy + 16 * g, sums[g * tn + t],
				         n - 16 * g < 16 ? n - 16 * g : 16);
	}
}

static __attribute__((noinline)) void tile_bf16(float *y, size_t ldy, const void *packed,
                                                const struct kern_act *a, int x_row, int m, int n,
                                                int k)
{
	for (int t = 0, by; t < m; t += by, y += (size_t)by * ldy) {
		by = tokens_next(m - t, BF_T);
		if (by == BF_T)
			tile_rows(y, ldy, packed, a, x_row + t, n, k, BF_T);
		else if (by == 4)
			tile_rows(y, ldy, packed, a, x_row + t, n, k, BF_T > 4 ? 4 : 1);
		else if (by == 2)
			tile_rows(y, ldy, packed, a, x_row + t, n, k, 2);
		else
			tile_rows(y, ldy, packed, a, x_row + t, n, k, 1);
	}
}

void KERN_FN(quant_bf16)(struct kern_act *x, int row, const float *src, int k)
{
	float *to = (float *)(void *)((char *)x->q + (size_t)row * x->q_row);
	char *half = (char *)(to + act_bf16_k(k));
	float last[32] = { 0 };

	memcpy(last, src + k / 32 * 32, (size_t)(k % 32) * sizeof *src);
	for (int i = 0; i < k; i += 32) {
		const float *from = k - i < 32 ? last : src + i;
		vi a = v_round_b(v_load(from)), b = v_round_b(v_load(from + 16));
		v_store(to + i, v_from(a));
		v_store(to + i + 16, v_from(b));
		vi_store(half + (size_t)i * 2, vi_pack_b(a, b));
	}
}

/* The kernels are not inlined: no part of them may be moved out of the mode for subnormal
 * numbers. */
#define ROW(TYPE, name) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		unsigned mode = v_flush_begin(); \
		rows_bf16(name##_block, y, ldy, w, row_bytes, x, x_row, m, n, k); \
		v_flush_end(mode); \
	} \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack_bf16(name##_block, dst, w, row_bytes, n, k); \
	} \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		unsigned mode = v_flush_begin(); \
		tile_bf16(y, ldy, packed, x, x_row, m, n, k); \
		v_flush_end(mode); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) { return pack_bytes_bf16(k); }
KERN_ROWS_HALF(ROW)
#undef ROW
