/* kern/tmpl/mm_f.h - products with float weights, by the vector operations of simd.h and fcode.h.
 *
 *   W  F32 | F16 | BF16 | F8_E4M3 | NF4 [n][k], row major, as the type's decoder gives it      x  f32 [m][k]
 *   y[t][r] = kern_sum16 of 16 lanes: lane i, fma chain over j: W[r][16 j + i] x[t][16 j + i]
 *   bytes per flop: 4, 2, 2, 1.0625, 0.5625 per 2 m;  limits: none (lanes with index >= k are skipped)
 *
 * simd.h defines MM_R x MM_T, the weight rows and rows of x of the register tile, and MM_W (a multiple
 * of MM_R), the weight rows for a single row of x.  A folder that has operations for codes only
 * defines MM_F_CODED_ONLY. */
#include <string.h>
#include "kern/act.h"
#include "kern/dispatch.h"
#include "kern/tmpl/lines.h"
#include "type/block.h"

enum { MM_KC = 1024 };

INLINE size_t width(enum infer_type type) { return type == INFER_F32 ? 4 : 2; }

INLINE vf load_w(enum infer_type type, const unsigned char *w, int i)
{
	if (type == INFER_F16)
		return v_load_h((const uint16_t *)(const void *)(w + (size_t)i * 2));
	if (type == INFER_BF16)
		return v_load_b((const uint16_t *)(const void *)(w + (size_t)i * 2));
	return v_load((const float *)(const void *)(w + (size_t)i * 4));
}

INLINE vf loadn_w(enum infer_type type, const unsigned char *w, int i, int n)
{
	if (type == INFER_F16)
		return v_loadn_h((const uint16_t *)(const void *)(w + (size_t)i * 2), n);
	if (type == INFER_BF16)
		return v_loadn_b((const uint16_t *)(const void *)(w + (size_t)i * 2), n);
	return v_loadn((const float *)(const void *)(w + (size_t)i * 4), n);
}

INLINE int is_coded(enum infer_type type) { return type == INFER_F8_E4M3 || type == INFER_NF4; }

/* A block of 64 codes.  load_codes returns elements 16 j ... 16 j + 15; the compiler computes
 * subexpressions common to several j once. */
struct codes {
	const unsigned char *block;
	struct v_e4m3 e4m3;
};
INLINE struct codes codes_of(enum infer_type type, const unsigned char *block)
{
	struct codes c = { .block = block };

	if (type == INFER_F8_E4M3)
		c.e4m3 = v_e4m3_load(block + 4);
	return c;
}
INLINE vf load_codes(enum infer_type type, const struct codes *c, int j)
{
	float d;

	memcpy(&d, c->block, sizeof d);
	return type == INFER_F8_E4M3 ? v_e4m3(v_set(d), c->e4m3, j)
	                             : v_nf4(v_set(d), c->block + 4, j);
}

/* Like dot, for weights in blocks of 64. */
INLINE void dot_coded(vf *acc, enum infer_type type, const unsigned char *w, size_t wrow,
                      const float *x, size_t xrow, int k, int rn, int tn, int prefetch)
{
	for (int i = 0; i < k; i += 64, w += block_bytes(type)) {
		UNROLL
		for (int r = 0; r < rn; r++) {
			const unsigned char *p = w + (size_t)r * wrow;
			const struct codes c = codes_of(type, p);
			if (prefetch)
				v_prefetch(p + KERN_AHEAD * MM_W / rn);
			UNROLL
			for (int j = 0; j < 4; j++) {
				vf wv = load_codes(type, &c, j);
				UNROLL
				for (int t = 0; t < tn; t++)
					acc[r * tn + t] =
						v_fma(wv, v_load(x + (size_t)t * xrow + i + 16 * j),
					              acc[r * tn + t]);
			}
		}
	}
}

/* acc[r * tn + t] += the products of k elements, by lanes.  k % 16 may be nonzero only in the last
 * call for a sum.  prefetch: prefetch the weights, farther ahead if there are fewer streams. */
INLINE void dot(vf *acc, enum infer_type type, const unsigned char *w, size_t wrow, const float *x,
                size_t xrow, int k, int rn, int tn, int prefetch)
{
	int i = 0;

	if (is_coded(type)) {
		dot_coded(acc, type, w, wrow, x, xrow, k, rn, tn, prefetch);
		return;
	}
	for (; i + 16 <= k; i += 16) {
		vf xv[MM_T];
		UNROLL
		for (int t = 0; t < tn; t++)
			xv[t] = v_load(x + (size_t)t * xrow + i);
		UNROLL
		for (int r = 0; r < rn; r++) {
			const unsigned char *p = w + (size_t)r * wrow;
			if (prefetch && (size_t)i * width(type) % 64 == 0)
				v_prefetch(p + (size_t)i * width(type) + KERN_AHEAD * MM_W / rn);
			vf wv = load_w(type, p, i);
			UNROLL
			for (int t = 0; t < tn; t++)
				acc[r * tn + t] = v_fma(wv, xv[t], acc[r * tn + t]);
		}
	}
	if (i == k)
		return;
	UNROLL
	for (int r = 0; r < rn; r++) {
		vf wv = loadn_w(type, w + (size_t)r * wrow, i, k - i);
		UNROLL
		for (int t = 0; t < tn; t++) {
			vf *a = &acc[r * tn + t];
			*a = v_keep(k - i, v_fma(wv, v_loadn(x + (size_t)t * xrow + i, k - i), *a),
			            *a);
		}
	}
}

/* Multiply rows wrow bytes apart; results are row_step floats apart. */
INLINE void rows_part(float *y, size_t ldy, size_t row_step, enum infer_type type,
                      const unsigned char *w, size_t wrow, const float *x, size_t xrow, int k,
                      int rn, int tn, int prefetch)
{
	vf acc[MM_R * MM_T > MM_W ? MM_R * MM_T : MM_W];

	UNROLL
	for (int i = 0; i < rn * tn; i++)
		acc[i] = v_set(0);
	dot(acc, type, w, wrow, x, xrow, k, rn, tn, prefetch);
	UNROLL
	for (int r = 0; r < rn; r++) {
		UNROLL
		for (int t = 0; t < tn; t++)
			y[(size_t)t * ldy + (size_t)r * row_step] = v_sum(acc[r * tn + t]);
	}
}

/* Return the number of weight rows whose sums with tn rows of x fit the registers. */
INLINE int w_rows_of(int tn)
{
	int rn = MM_W;

	while (rn * tn > MM_R * MM_T && rn > MM_R)
		rn /= 2;
	return rn;
}

/* Multiply MM_W rows, wrow bytes apart, with tn rows of x. */
INLINE void rows_parts(float *y, size_t ldy, size_t row_step, enum infer_type type,
                       const unsigned char *w, size_t wrow, const float *x, size_t xrow, int k,
                       int tn, int prefetch)
{
	const int rn = tn == 1 ? MM_W : w_rows_of(tn);

	for (int q = 0; q < MM_W; q += rn)
		rows_part(y + (size_t)q * row_step, ldy, row_step, type, w + (size_t)q * wrow, wrow,
		          x, xrow, k, rn, tn, prefetch);
}

/* Multiply MM_W rows that are far apart, so that each begins a long stream (tmpl/q.h).  Up to MM_T
 * rows of x are multiplied in one pass over the weights. */
INLINE void rows_group_f(float *y, size_t ldy, size_t row_step, enum infer_type type,
                         const unsigned char *w, size_t row_bytes, const float *x, size_t xrow,
                         int m, int k, int prefetch)
{
	size_t wrow = row_step * row_bytes;

#define PARTS(tn) \
	rows_parts(y + (size_t)t * ldy, ldy, row_step, type, w, wrow, x + (size_t)t * xrow, xrow, \
	           k, tn, prefetch && !t)
	for (int t = 0, by; t < m; t += by) {
		by = m - t < MM_T ? m - t : MM_T;
		if (by == MM_T)
			PARTS(MM_T);
		else if (by == 5)
			PARTS(MM_T > 5 ? 5 : 1);
		else if (by == 4)
			PARTS(MM_T > 4 ? 4 : 1);
		else if (by == 3)
			PARTS(MM_T > 3 ? 3 : 1);
		else if (by == 2)
			PARTS(MM_T > 2 ? 2 : 1);
		else
			PARTS(1);
	}
#undef PARTS
}

/* Return the number of rows of x, a multiple of MM_T, that stay in L2 while all weights of a call
 * are read. */
INLINE int x_rows_of_call(size_t q_row)
{
	int rows = (int)(KERN_X_BYTES / (q_row + 1)) / MM_T * MM_T;

	return rows > MM_T ? rows : MM_T;
}

INLINE void rows_f(enum infer_type type, float *y, size_t ldy, const void *wv, size_t row_bytes,
                   const struct kern_act *a, int x_row, int m, int n, int k)
{
	const float *x = act_f(a, x_row);
	const unsigned char *w = wv;
	size_t xrow = a->q_row / 4, row_step = (size_t)(n / MM_W);
	const int part = x_rows_of_call(a->q_row);

	for (int t = 0, by; t < m; t += by) {
		by = m - t < part ? m - t : part;
		for (size_t r = 0; r < row_step; r++)
			rows_group_f(y + (size_t)t * ldy + r, ldy, row_step, type,
			             w + r * row_bytes, row_bytes, x + (size_t)t * xrow, xrow, by,
			             k, !t);
	}
	for (int r = n / MM_W * MM_W; r < n; r++)
		for (int t = 0; t < m; t++)
			rows_part(y + (size_t)t * ldy + r, ldy, 1, type, w + (size_t)r * row_bytes,
			          row_bytes, x + (size_t)t * xrow, xrow, k, 1, 1, 0);
}

/* Panel: f32 [MM_PANEL / MM_R][k / 16 rounded up][MM_R][16]. */
INLINE size_t vectors(int k) { return (size_t)(k + 15) / 16; }
static size_t pack_bytes_f(int k) { return vectors(k) * 16 * MM_PANEL * 4; }

INLINE void pack_f(enum infer_type type, float *dst, const void *wv, size_t row_bytes, int n, int k)
{
	for (int r = 0; r < MM_PANEL; r++) {
		/* missing rows repeat the last one */
		const unsigned char *w =
			(const unsigned char *)wv + (size_t)(r < n ? r : n - 1) * row_bytes;
		float *d =
			dst + (size_t)(r / MM_R) * vectors(k) * MM_R * 16 + (size_t)(r % MM_R) * 16;
		int i = 0;

		for (; is_coded(type) && i < k; i += 64, w += block_bytes(type)) {
			const struct codes c = codes_of(type, w);
			UNROLL
			for (int j = 0; j < 4; j++, d += MM_R * 16)
				v_store(d, load_codes(type, &c, j));
		}
		for (; i + 16 <= k; i += 16, d += MM_R * 16)
			v_store(d, load_w(type, w, i));
		if (i < k)
			v_store(d, loadn_w(type, w, i, k - i));
	}
}

/* Like dot, for MM_R rows of a panel. */
INLINE void dot_panel(vf *acc, const float *w, const float *x, size_t x_row, int k, int tn)
{
	int i = 0;

	for (; i + 16 <= k; i += 16, w += MM_R * 16) {
		const struct x_rows at = x_rows_at(x + i, x_row);
		vf wv[MM_R];
		UNROLL
		for (int r = 0; r < MM_R; r++)
			wv[r] = v_load(w + 16 * r);
		UNROLL
		for (int t = 0; t < tn; t++) {
			vf xv = v_load(x_row_at(&at, t));
			UNROLL
			for (int r = 0; r < MM_R; r++)
				acc[r * tn + t] = v_fma(wv[r], xv, acc[r * tn + t]);
		}
	}
	if (i == k)
		return;
	UNROLL
	for (int t = 0; t < tn; t++) {
		vf xv = v_loadn(x + (size_t)t * (x_row / 4) + i, k - i);
		UNROLL
		for (int r = 0; r < MM_R; r++) {
			vf *a = &acc[r * tn + t];
			*a = v_keep(k - i, v_fma(v_load(w + 16 * r), xv, *a), *a);
		}
	}
}

/* Add up the lanes of acc[MM_R][tn] and store the sums of n of the rows in y. */
INLINE void put_sums(float *y, size_t ldy, const vf *acc, int n, int tn)
{
	for (int t = 0; t < tn; t++, y += ldy) {
		if (MM_R == 4 && n >= 4)
			v_sum4(y, acc[t], acc[tn + t], acc[(2 % MM_R) * tn + t],
			       acc[(3 % MM_R) * tn + t]);
		else
			for (int r = 0; r < n && r < MM_R; r++)
				y[r] = v_sum(acc[r * tn + t]);
	}
}

/* Multiply tn rows of x with the panel, in parts of k that stay in L1.  Between parts the lanes of
 * the sums are on the stack. */
INLINE void tile_part(float *y, size_t ldy, const float *w, const struct kern_act *a, int x_first,
                      int n, int k, int tn)
{
	const float *x = act_f(a, x_first);
	size_t x_row = a->q_row;
	vf lanes[MM_PANEL * MM_T];

	for (int at = 0; at < k; at += MM_KC) {
		int kc = k - at < MM_KC ? k - at : MM_KC;
		for (int r = 0; r < n; r += MM_R) {
			vf acc[MM_R * MM_T];
			prefetch_next(a, MM_PANEL / MM_R * 256 / MM_KC);
			UNROLL
			for (int i = 0; i < MM_R * tn; i++)
				acc[i] = at ? lanes[r * tn + i] : v_set(0);
			dot_panel(acc, w + (size_t)r * vectors(k) * 16 + (size_t)at * MM_R, x + at,
			          x_row, kc, tn);
			if (at + MM_KC >= k) {
				put_sums(y + r, ldy, acc, n - r, tn);
				continue;
			}
			UNROLL
			for (int i = 0; i < MM_R * tn; i++)
				lanes[r * tn + i] = acc[i];
		}
	}
}

static void tile_f(float *y, size_t ldy, const void *packed, const struct kern_act *a, int x_row,
                   int m, int n, int k)
{
	for (int t = 0, by; t < m; t += by, y += (size_t)by * ldy) {
		by = tokens_next(m - t, MM_T);
		if (by == MM_T)
			tile_part(y, ldy, packed, a, x_row + t, n, k, MM_T);
		else if (by == 4)
			tile_part(y, ldy, packed, a, x_row + t, n, k, MM_T > 4 ? 4 : 1);
		else if (by == 2)
			tile_part(y, ldy, packed, a, x_row + t, n, k, MM_T > 2 ? 2 : 1);
		else
			tile_part(y, ldy, packed, a, x_row + t, n, k, 1);
	}
}

#ifndef MM_F_CODED_ONLY
void KERN_FN(quant_f32)(struct kern_act *x, int row, const float *src, int k)
{
	memcpy((char *)x->q + (size_t)row * x->q_row, src, (size_t)k * 4);
}
#endif

#define ROW(TYPE, name) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		rows_f(INFER_##TYPE, y, ldy, w, row_bytes, x, x_row, m, n, k); \
	} \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack_f(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		tile_f(y, ldy, packed, x, x_row, m, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) { return pack_bytes_f(k); }
#ifndef MM_F_CODED_ONLY
KERN_ROWS_F(ROW)
#endif
KERN_ROWS_CODED(ROW)
#undef ROW
