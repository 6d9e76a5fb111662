/* kern/tmpl/q.h - code that the quantised products of all folders share: properties of types,
 * groups of eight rows, instances of a kernel.  Define KERN_FN first. */
#ifndef KERN_TMPL_Q_H
#define KERN_TMPL_Q_H
#include <string.h>
#include "base/num.h"
#include "kern/act.h"
#include "kern/tmpl/lines.h"
#include "type/block.h"
#include "type/grids.h"

/* For `default:` of a switch over the types of a kernel.  Each instance of a kernel has one
 * constant type, so the compiler removes the default.  With the address sanitizer it is a call, and
 * the compiler names the function that lacks a case. */
#ifdef __SANITIZE_ADDRESS__
__attribute__((error("a type of this loop has no case"), noreturn)) void kern_no_case(void);
#else
#define kern_no_case() __builtin_unreachable()
#endif

/* By type: q_zero: zero point of unpacked weights; then: 1 if these are signed; 1 if there are
 * minima. */
INLINE int q_zero(enum infer_type t)
{
	return t == INFER_Q4_0 || t == INFER_Q4_F      ? 8
	       : t == INFER_Q5_0 || t == INFER_NVFP4_F ? 16
	       : t == INFER_Q6_K                       ? 32
	       : t == INFER_Q3_K                       ? 4
	                                               : 0;
}
INLINE int q_signed(enum infer_type t)
{
	return t == INFER_Q8_0 || t == INFER_Q8_F || t == INFER_IQ4_NL || t == INFER_MXFP4 ||
	       t == INFER_IQ4_XS;
}
/* 1 if unpacked weights are signed and may be -128 */
INLINE int q_full_range(enum infer_type t) { return t == INFER_Q8_0 || t == INFER_Q8_F; }
INLINE int q_minima(enum infer_type t)
{
	return t == INFER_Q4_1 || t == INFER_Q5_1 || t == INFER_Q4_K || t == INFER_Q5_K ||
	       t == INFER_Q2_K || t == INFER_Q4_F || t == INFER_Q8_F;
}
/* 1 if the header is two f32: d and m, or the scales of 16; such blocks have 64 weights */
INLINE int q_wide(enum infer_type t)
{
	return t == INFER_Q4_F || t == INFER_Q8_F || t == INFER_NVFP4_F;
}
/* number of groups of 32 weights in a block of 32 or 64 */
INLINE int q_groups(enum infer_type t) { return q_wide(t) ? 2 : 1; }
/* 1 if each half of a group of 32 has its own scale */
INLINE int q_halves(enum infer_type t) { return t == INFER_NVFP4_F; }

/* byte offset of d in a block of 256 */
INLINE int q_scale_at(enum infer_type t)
{
	return (int)(t == INFER_Q6_K   ? offsetof(struct q6_k, d)
	             : t == INFER_Q3_K ? offsetof(struct q3_k, d)
	             : t == INFER_Q2_K ? offsetof(struct q2_k, d)
	                               : 0);
}
/* blocks of 256: 1 if there is a scale for each 16 weights, 0: for each 32 */
INLINE int q_by16(enum infer_type t)
{
	return t == INFER_Q6_K || t == INFER_Q3_K || t == INFER_Q2_K;
}

/* Prefetch bytes [from, to) + KERN_AHEAD of each of 8 streams. */
INLINE void prefetch8(const uint8_t *p, size_t stride, int from, int to)
{
	for (int i = (from + 63) & ~63; i < to; i += 64) {
		UNROLL
		for (int r = 0; r < 8; r++)
			__builtin_prefetch(p + (size_t)r * stride + i + KERN_AHEAD, 0, 3);
	}
}

/* the block t rows after `block` */
#define row_of(block, stride, t) ((const void *)((const char *)(block) + (size_t)(t) * (stride)))

/* Eight rows that are processed together, stride bytes apart, from w on; their results are y_step
 * floats apart.  n_out 1: one row, repeated eight times. */
struct row_group {
	const uint8_t *w;
	size_t stride, y_step;
	int row, n_out;
};

/* Return the number of groups of n rows.  Row j of each group is the next row of stream j, which
 * has n / 8 consecutive rows, so eight long streams are read.  The last n % 8 rows are in a group
 * of the last 8 rows.  Fewer than 8 rows are processed one by one. */
INLINE int row_groups(int n) { return n < 8 ? n : n / 8 + (n % 8 != 0); }
INLINE struct row_group row_group_at(int i, int n, const void *w, size_t row_bytes)
{
	struct row_group s = { .stride = row_bytes * (size_t)(n / 8),
		               .y_step = (size_t)(n / 8),
		               .row = i,
		               .n_out = 8 };

	if (n < 8)
		s.stride = 0, s.n_out = 1;
	else if (i == n / 8)
		s.stride = row_bytes, s.y_step = 1, s.row = n - 8;
	s.w = (const uint8_t *)w + (size_t)s.row * row_bytes;
	return s;
}

/* ROWS_OF and TILE_OF define an instance of a kernel for each number of rows of x, each a function,
 * so that the compiler optimises them separately; and the table's function, which calls the
 * instances. */
#define NOINLINE static __attribute__((noinline))
typedef void rows_part(float *y, size_t ldy, const struct row_group *s, const struct kern_act *x,
                       int x_row, int k);
typedef void tile_part(float *y, size_t ldy, const uint8_t *p, const struct kern_act *x, int x_row,
                       int n, int k);

/* Multiply 4, 3, 2 or 1 rows of x at a time. */
static inline void rows_run(rows_part *const part[4], float *y, size_t ldy, const void *w,
                            size_t row_bytes, const struct kern_act *x, int x_row, int m, int n,
                            int k)
{
	for (int i = 0; i < row_groups(n); i++) {
		const struct row_group s = row_group_at(i, n, w, row_bytes);
		if (i == 0) /* the kernels only prefetch from KERN_AHEAD on */
			prefetch8(s.w, s.stride, -KERN_AHEAD, 0);
		for (int t = 0, by; t < m; t += by) {
			by = m - t < 4 ? m - t : 4;
			part[4 - by](y + s.row + (size_t)t * ldy, ldy, &s, x, x_row + t, k);
		}
	}
}

/* Multiply `most`, 4, 2 or 1 rows of x at a time. */
static inline void tile_run(tile_part *const part[4], int most, float *y, size_t ldy, const void *p,
                            const struct kern_act *x, int x_row, int m, int n, int k)
{
	for (int t = 0, by; t < m; t += by) {
		by = tokens_next(m - t, most);
		part[by == most ? 0
		     : by == 4  ? 1
		     : by == 2  ? 2
		                : 3](y + (size_t)t * ldy, ldy, p, x, x_row + t, n, k);
	}
}

#define ROWS_BY(loop, TYPE, name, by) \
	NOINLINE void name##_rows##by(float *y, size_t ldy, const struct row_group *s, \
	                              const struct kern_act *x, int x_row, int k) \
	{ \
		loop(INFER_##TYPE, by, y, ldy, s, x, x_row, k); \
	}
#define ROWS_OF(loop, TYPE, name) \
	ROWS_BY(loop, TYPE, name, 4) \
	ROWS_BY(loop, TYPE, name, 3) \
	ROWS_BY(loop, TYPE, name, 2) \
	ROWS_BY(loop, TYPE, name, 1) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		static rows_part *const part[4] = { name##_rows4, name##_rows3, name##_rows2, \
			                            name##_rows1 }; \
		rows_run(part, y, ldy, w, row_bytes, x, x_row, m, n, k); \
	}

#define TILE_BY(loop, TYPE, name, id, by) \
	NOINLINE void name##_tile_##id(float *y, size_t ldy, const uint8_t *p, \
	                               const struct kern_act *x, int x_row, int n, int k) \
	{ \
		loop(INFER_##TYPE, by, y, ldy, p, x, x_row, n, k); \
	}
#define TILE_OF(loop, TYPE, name, most) \
	TILE_BY(loop, TYPE, name, most, most) \
	TILE_BY(loop, TYPE, name, 4, 4) \
	TILE_BY(loop, TYPE, name, 2, 2) \
	TILE_BY(loop, TYPE, name, 1, 1) \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		static tile_part *const part[4] = { name##_tile_##most, name##_tile_4, \
			                            name##_tile_2, name##_tile_1 }; \
		tile_run(part, most, y, ldy, packed, x, x_row, m, n, k); \
	}
#endif
