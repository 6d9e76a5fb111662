/* kern/tmpl/q.h - what the quantised products of all folders share: types by number, eight rows
 * that are taken together, and the instances of a loop.  KERN_FN is defined before it. */
#ifndef KERN_TMPL_Q_H
#define KERN_TMPL_Q_H
#include <string.h>
#include "base/num.h"
#include "kern/act.h"
#include "kern/tmpl/lines.h"
#include "type/block.h"

/* zero point of what unpack gives; whether that is signed; whether minima follow; all by type */
INLINE int q_zero(enum infer_type t)
{
	return t == INFER_Q4_0   ? 8
	       : t == INFER_Q5_0 ? 16
	       : t == INFER_Q6_K ? 32
	       : t == INFER_Q3_K ? 4
	                         : 0;
}
INLINE int q_signed(enum infer_type t)
{
	return t == INFER_Q8_0 || t == INFER_IQ4_NL || t == INFER_MXFP4 || t == INFER_IQ4_XS;
}
/* signed, and -128 may be among them */
INLINE int q_full(enum infer_type t) { return t == INFER_Q8_0; }
INLINE int q_minima(enum infer_type t)
{
	return t == INFER_Q4_1 || t == INFER_Q5_1 || t == INFER_Q4_K || t == INFER_Q5_K ||
	       t == INFER_Q2_K;
}

/* of blocks of 256: the offset of d */
INLINE int q_scale_at(enum infer_type t)
{
	return (int)(t == INFER_Q6_K   ? offsetof(struct q6_k, d)
	             : t == INFER_Q3_K ? offsetof(struct q3_k, d)
	             : t == INFER_Q2_K ? offsetof(struct q2_k, d)
	                               : 0);
}
/* whether scales are of 16 weights, else of 32 */
INLINE int q_by16(enum infer_type t)
{
	return t == INFER_Q6_K || t == INFER_Q3_K || t == INFER_Q2_K;
}

/* Of 8 streams, the lines that hold bytes [from, to) a way ahead. */
INLINE void ask8(const uint8_t *p, size_t stride, int from, int to)
{
	for (int i = (from + 63) & ~63; i < to; i += 64) {
		UNROLL
		for (int r = 0; r < 8; r++)
			__builtin_prefetch(p + (size_t)r * stride + i + KERN_AHEAD, 0, 3);
	}
}

/* the same block, t rows further */
#define row_of(block, stride, t) ((const void *)((const char *)(block) + (size_t)(t) * (stride)))

/* Eight rows that are taken together: the one at w and those stride bytes further; their results
 * apart floats apart. keep 1: one row, eight times over. */
struct step {
	const uint8_t *w;
	size_t stride, apart;
	int row, keep;
};

/* Steps through n rows.  Eight streams of rows that follow each other, so that each is long and the
 * memory sees eight pages at work; what n / 8 leaves is a step of the last 8 rows.  Fewer than 8
 * rows go one by one. */
INLINE int steps(int n) { return n < 8 ? n : n / 8 + (n % 8 != 0); }
INLINE struct step step_at(int i, int n, const void *w, size_t row_bytes)
{
	struct step s = {
		.stride = row_bytes * (size_t)(n / 8), .apart = (size_t)(n / 8), .row = i, .keep = 8
	};

	if (n < 8)
		s.stride = 0, s.keep = 1;
	else if (i == n / 8)
		s.stride = row_bytes, s.apart = 1, s.row = n - 8;
	s.w = (const uint8_t *)w + (size_t)s.row * row_bytes;
	return s;
}

/* An instance of rows or tile is a function for each number of tokens, so that the compiler meets
 * them one at a time.  ROWS_OF and TILE_OF make them and the slot that goes through them. */
#define NOINLINE static __attribute__((noinline))
typedef void rows_part(float *y, size_t ldy, const struct step *s, const struct kern_act *x,
                       int x_row, int k);
typedef void tile_part(float *y, size_t ldy, const uint8_t *p, const struct kern_act *x, int x_row,
                       int n, int k);

/* by 4, 2, 1 tokens */
static inline void rows_run(rows_part *const part[3], float *y, size_t ldy, const void *w,
                            size_t row_bytes, const struct kern_act *x, int x_row, int m, int n,
                            int k)
{
	for (int i = 0; i < steps(n); i++) {
		const struct step s = step_at(i, n, w, row_bytes);
		for (int t = 0, by; t < m; t += by) {
			by = m - t >= 4 ? 4 : m - t >= 2 ? 2 : 1;
			part[by == 4 ? 0 : 2 - by / 2](y + s.row + (size_t)t * ldy, ldy, &s, x,
			                               x_row + t, k);
		}
	}
}

/* by `most`, 4, 2, 1 tokens */
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
	NOINLINE void name##_rows##by(float *y, size_t ldy, const struct step *s, \
	                              const struct kern_act *x, int x_row, int k) \
	{ \
		loop(INFER_##TYPE, by, y, ldy, s, x, x_row, k); \
	}
#define ROWS_OF(loop, TYPE, name) \
	ROWS_BY(loop, TYPE, name, 4) \
	ROWS_BY(loop, TYPE, name, 2) \
	ROWS_BY(loop, TYPE, name, 1) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		static rows_part *const part[3] = { name##_rows4, name##_rows2, name##_rows1 }; \
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
