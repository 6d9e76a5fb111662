/* kern/kern.h - CPU kernels.  All functions: any thread; they start no thread, allocate nothing, use no
 * mutable global and cannot fail, except kern_limit.  Strings are static.
 * All kernel sets (one per ISA) do the same operations in the same order, so they give the same bits:
 *   - a product of block-quantised weights: one fma per block and row; dw, dx: scales of weights and x,
 *           y = 0;  y = fma(dw * dx, (float)isum, y)       blocks ascending; isum exact in i32
 *     blocks of 64 with a scale for each 16: y = fma(dx, fma(d1, isum1, d0 isum0), y) per 32;
 *     blocks of 256: isum includes the 6-bit scales;
 *     minima are a second sum, which is subtracted (blocks of 256) or added (blocks of 32);
 *     codebooks: isum includes points, signs, shifts and scales as integers (ref/mm_grid.c); dw is
 *     divided by the power of two that makes them integers, which is exact;
 *   - a product of float weights (F8_E4M3, NF4: decoded), a norm: lane i of 16 sums k = i mod 16,
 *     ascending, by fma from +0; then kern_sum16; lanes with index >= k are skipped;
 *   - attention: see struct kern_attn;
 *   - exp, tanh and sigmoid: the operations of base/fmath, in the same order. */
#ifndef KERN_KERN_H
#define KERN_KERN_H
#include <stddef.h>
#include <stdint.h>
#include <infer/type.h>
#include "base/cpu.h"
#include "kern/state.h"

/* Sum 16 lanes: add halves three times (16 -> 8 -> 4 -> 2), then the last two. */
static inline float kern_sum16(const float l[16])
{
	float a[8], b[4];

	for (int i = 0; i < 8; i++)
		a[i] = l[i] + l[i + 8];
	for (int i = 0; i < 4; i++)
		b[i] = a[i] + a[i + 4];
	return (b[0] + b[2]) + (b[1] + b[3]);
}

/* Attention of `rows` consecutive positions of one sequence over the cache positions [from, to) of
 * one split, for one or more neighbouring KV heads and the query heads that share them.
 * Splits begin at fixed absolute positions (KERN_SPLIT); attn_merge adds their partial results in
 * ascending order.  Row r is at position pos + r and attends to cache position p if p <= pos + r + later and
 * (window 0 or pos + r - p < window).  A row without such p in the split gives m = -inf, l = 0, o = 0.
 * The result of a row depends neither on other rows nor on positions that it does not attend to.
 *   s[p] = (q . k[p]) * scale, capped;  m = max s;  w[p] = exp(s[p] - m);
 *   l = sum of w: p is added in lane (p - from) mod 16, then kern_sum16;  o[d] = sum of w[p] v[p][d]
 * Float caches: q . k by fma from +0, dimensions ascending; o by fma from +0, positions ascending.
 * w: v_exp_weight of kern/tmpl/fmath.h; NaN where l is NaN.
 * Quantised caches: integer sums, exact in i32.  The other operand is rounded once, ties to even, to integers
 * i in units of c = max / KERN_FIXED_MAX.  c counts as 0 below the smallest normal; if it is not finite,
 * every i is 0 and the result NaN:
 *   q . k  max: largest |q| of the head;  i = q (1 / c)
 *          s = fma(d[p], (float)isum, s) over blocks of dimensions, ascending;  c * scale replaces scale
 *   o[d]   for each block of dimensions  max: largest |d[p]|;  i = w[p] (d[p] (1 / c));
 *          o = c (float)isum;  both over the positions that the row attends to */
struct kern_attn {
	const float *q; /* [rows][kv_heads * heads][dk], rows q_row floats apart */
	/* one pointer per page, from the page of `from` on: to its first KV head (layout:
	 * kern/kv.h), which the other heads follow; NULL if no row attends to the page */
	const void *const *k, *const *v;
	/* the KERN_SPLIT / KERN_PAGE pages of K that the thread reads next, to prefetch; or NULL */
	const void *const *next;
	size_t q_row;
	uint8_t k_type, v_type; /* INFER_F32 INFER_F16 INFER_Q8_0 INFER_Q4_0 */
	/* kv_heads <= KERN_ATTN_Q; heads: query heads that share a KV head */
	int rows, kv_heads, heads, dk, dv;
	int from, to, pos, window, later; /* KERN_SPLIT divides from; to - from <= KERN_SPLIT */
	float scale, cap;                 /* cap 0: none; else s = cap * tanh(s / cap) */
	/* [kv_heads * heads] attention sinks: a logit without a value; first split only; or NULL */
	const float *sink;
	float *m, *l, *o;     /* results: m, l [rows][kv_heads * heads], o [..][dv] */
	size_t ml_row, o_row; /* floats from one row to the next in m and l, and in o */
	void *scratch;        /* kern_attn_scratch bytes, aligned to 64 */
};
enum { KERN_PAGE = 32, KERN_SPLIT = 256, KERN_ATTN_Q = 64, KERN_ATTN_GROUP = 16 };
enum { KERN_FIXED_MAX = 32512 }; /* largest fixed-point number: 127 * 256, so both bytes fit int8 */
/* Number of blocks of 32 fixed-point numbers (q, weights) in the scratch of one query. */
#define KERN_ATTN_FIXED(dk, dv) ((size_t)((dk) / 32 + (dv) / 32 * (KERN_SPLIT / KERN_PAGE)))
#define KERN_ATTN_FLOATS(dk, dv) ((size_t)((dk) / 32 + (dv) / 32 * 2))
static inline size_t kern_attn_scratch(int dk, int dv)
{
	return KERN_ATTN_GROUP *
	       (KERN_SPLIT * sizeof(float) + KERN_ATTN_FIXED(dk, dv) * 32 * sizeof(int16_t) +
	        KERN_ATTN_FLOATS(dk, dv) * sizeof(float));
}

/* Formats of activations.  Q8, Q8K: a subnormal d counts as 0; if d is not finite, every q is 0. */
enum kern_form {
	KERN_FORM_F32, /* f32 [k] */
	/* struct kern_q8 [k / 32]: d = amax / 127, q = round-to-even(x (1 / d)), 1 / d rounded */
	KERN_FORM_Q8,
	KERN_FORM_Q8K, /* struct kern_q8k [k / 256]: the same per 256; kern/act.h */
	KERN_FORM_BF16, /* x rounded to bf16, stored as f32 and as bf16, each [k] padded with +0 to 32 */
	KERN_FORMS
};
struct kern_act {
	uint8_t form;
	void *q; /* [m] rows of q_row bytes; rows may be copied elsewhere */
	size_t q_row;
	void *transposed; /* kern_q8x16 or kern_q8kx16 blocks, KERN_LANES rows each; or NULL */
	struct kern_prefetch *prefetch; /* or NULL */
};
enum { KERN_LANES = 16 };
/* Bytes that the caller reads after a tile.  The tile kernel may prefetch some of them and advance `at`;
 * any address is harmless.  Owned by one thread. */
struct kern_prefetch {
	const char *at, *end;
	int lines; /* cache lines to prefetch for each mr rows and 256 of k */
};
/* Return the bytes of m rows of k activations; of their transposed copy (0: the form has none).  Multiples
 * of 64.  k: a multiple of 32 (Q8) or 256 (Q8K).  init: at is 64-aligned and borrowed; no transposed copy */
size_t kern_act_bytes(enum kern_form form, int m, int k);
size_t kern_transposed_bytes(enum kern_form form, int m, int k);
void kern_act_init(struct kern_act *x, enum kern_form form, void *at, int m, int k);

/* Kernels of one weight type for y[m][n] = x[m][k] W[n][k]^T; n, m >= 1.  rows, skinny and tile give the
 * same bits for every m (tests/kern: m = 1 ... 64).  One call covers all of k. */
struct kern_mm {
	void (*quant)(struct kern_act *x, int row, const float *src, int k);
	/* weights in place: y f32 [m][ldy]; w: n rows, row_bytes apart, as in the file; x: rows
	 * from x_row on.  Reads eight streams of n / 8 rows of w, best of 16 KB or more */
	void (*rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
	             const struct kern_act *x, int x_row, int m, int n, int k);
	/* pack n <= nr rows into a panel at dst (64-aligned, pack_bytes(k)); others are undefined */
	void (*pack)(void *dst, const void *w, size_t row_bytes, int n, int k);
	/* like rows, for n <= nr rows of a packed panel */
	void (*tile)(float *y, size_t ldy, const void *packed, const struct kern_act *x, int x_row,
	             int m, int n, int k);
	size_t (*pack_bytes)(int k);
	uint8_t form, mr, nr; /* enum kern_form; rows of x and of weights in a register tile */
	/* 1: tile reads the transposed copy of x if there is one and KERN_LANES divides x_row;
	 * otherwise it transposes x in every call */
	uint8_t tile_transposed;
	/* or NULL; like rows, for few rows of x: their transposed copy; KERN_LANES divides x_row */
	void (*skinny)(float *y, size_t ldy, const void *w, size_t row_bytes,
	               const struct kern_act *x, int x_row, int m, int n, int k);
	/* Transpose rows [row, row + m) of x, m <= KERN_LANES, row a multiple of it; columns [from,
	 * to), multiples of 256 or k */
	void (*transpose)(struct kern_act *x, int row, int m, int k, int from, int to);
	/* the fastest kernel (kern/dispatch.h): rows for m <= rows_max (at least 1), else skinny if
	 * bit m of skinny_mask is set, else tile.  skinny_band: weight rows per skinny call */
	uint8_t rows_max, skinny_band;
	uint64_t skinny_mask;
};

#define KERN_SLOTS(S) /* name, arguments */ \
	S(rms_norm, (float *y, const float *x, const float *g, int n, \
	             float eps)) /* y = x / sqrt(mean x^2 + eps) * g; y may be x; g NULL: 1 */ \
	S(rope_pairs, (float *x, const float *cs, int heads, int dim, \
	               int rot)) /* x [heads][dim]; cs [rot/2][2] cos, sin; pairs (2i, 2i+1) */ \
	S(rope_halves, \
	  (float *x, const float *cs, int heads, int dim, int rot)) /* pairs (i, i + rot/2) */ \
	S(silu_mul, (float *y, const float *gate, const float *up, \
	             int n)) /* gate * sigmoid(gate) * up; y may be gate */ \
	S(gelu_mul, \
	  (float *y, const float *gate, const float *up, int n)) /* tanh form; y may be gate */ \
	KERN_SLOTS_ENCODER(S) \
	S(swiglu_mul, (float *y, const float *g, const float *u, float limit, int n)) \
	S(sigmoid_mul, (float *y, const float *x, const float *g, int n)) /* x sigmoid(g) */ \
	S(add_scaled, (float *y, const float *a, const float *b, float s, \
	               int n))                               /* y = fma(s, b, a); y may be a */ \
	S(scale, (float *y, const float *x, float s, int n)) /* y may be x */ \
	S(softcap, \
	  (float *y, const float *x, float cap, int n))  /* cap tanh(x / cap); y may be x */ \
	S(to_f16, (uint16_t * y, const float *x, int n)) /* ties to even */ \
	S(lse, (float *out, const float *x, int n)) /* ln sum exp(x): max + ln(16-lane sum) */ \
	S(attn, (const struct kern_attn *a)) \
	S(conv, (float *y, const float *const *x, const float *w, int taps, int n)) \
	S(delta, (const struct kern_delta *d)) \
	S(attn_merge, (float *o, const float *m, const float *l, const float *parts, int splits, \
	               int heads, int dv)) \
	S(peak_read, (uint32_t * sink, const void *p, \
	              size_t bytes)) /* reads bytes, a multiple of 512, once; *sink: their sum */ \
	S(peak_fma, (double *ops, float *sink, int reps)) /* only fma; *ops: their number */
/* attn_merge: m, l [splits][heads], parts [splits][heads][dv] -> o [heads][dv], normalised; splits
 * ascending: M = max m; o = sum exp(m_i - M) parts_i / sum exp(m_i - M) l_i
 * swiglu_mul: y = g sigmoid(1.702 g) (u + 1), with g = min(g, limit), u in [-limit, limit]; y may be g or
 * u, as it may be x or g in sigmoid_mul.  conv, delta, KERN_SLOTS_ENCODER: kern/state.h */

struct kern {
	const char *name;
	uint64_t needs; /* CPU_* bits that the processor must have */
	uint64_t used;  /* set by kern_select: bit i is 1 if row i of isa_list.h is used */
#define S(slot, args) void(*slot) args;
	KERN_SLOTS(S)
#undef S
	void (*peak_dot)(double *ops, int32_t *sink, int reps); /* int8 products, summed in i32 */
	void (*peak_tile)(double *ops, int bf16, int reps);     /* in tile registers; or NULL */
	/* rows NULL: decode to f32, then use mm[INFER_F32].  A field that an overlay leaves out
	 * keeps the value of the narrower set (pack is set with tile, form with quant) */
	struct kern_mm mm[INFER_TYPE_COUNT];
	/* F16 and BF16 weights, activations rounded to bf16: kern/tmpl/bf16.h */
	struct kern_mm mm_bf16[INFER_TYPE_COUNT];
};
void kern_act_bf16(struct kern *k); /* use bf16 activations: swap the kernels of mm and mm_bf16 */
/* Return ref, overlaid by each row of isa_list.h whose needs are in `have` (CPU_* bits). */
struct kern kern_select(uint64_t have);
const char *kern_name(unsigned i); /* name of row i of isa_list.h; NULL if there is no such row */
uint64_t kern_needs(unsigned i);   /* CPU_* bits that row i needs; 0: no such row */
/* Limit *have to the named set and narrower ones.  INFER_EUNSUP: unknown or not in *have; *have is kept */
int kern_limit(uint64_t *have, const char *name, infer_error *err);
#endif
