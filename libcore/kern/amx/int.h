/* kern/amx/int.h - products of panels of 32 rows of weights with 16 rows of x at a time, in tiles.
 *
 * Each lane holds a row of x, transposed as in kern/act.h; a register of sums belongs to one row of
 * weights.  A call multiplies a part of k (256, or the rest) of up to TOKENS rows of x, so that
 * their sums and that part of the panel stay in L1. */
#ifndef KERN_AMX_INT_H
#define KERN_AMX_INT_H
#include "kern/avx512vnni/int.h"
#include "kern/amx/tiles.h"

void KERN_FN(peak_tile)(double *ops, int bf16, int x_groups);
/* x is transposed as for the skinny kernels */
void KERN_NAME(avx512vnni, transpose_q8)(struct kern_act *x, int row, int m, int k, int from,
                                         int to);
void KERN_NAME(avx512vnni, transpose_q8k)(struct kern_act *x, int row, int m, int k, int from,
                                          int to);

enum { N = 16, W_GROUPS = NR / N, TOKENS = 64, X_GROUPS = TOKENS / N };
#define EACH_ROW UNROLL for (int r = 0; r < N; r++)

/* prefetch the next n lines of x */
#define PREFETCH(at, n) \
	do { \
		for (int i_ = 0; i_ < (n); i_++, (at) += 64) \
			__builtin_prefetch(at); \
	} while (0)

/* A part of k of a panel and of some rows of x. */
struct part {
	float *sum, *min;       /* [x_group][w_group][N][N]: row of weights, row of x */
	const char *w, *x;      /* the first group of weight rows; the first 16 rows of x */
	size_t w_step, x_step;  /* bytes from one group of w (of x) to the next */
	int x_groups, w_groups; /* numbers of groups of 16 rows */
};

/* Space for the transposed copy of a part of k of 16 rows of x. */
union x_buffer {
	struct kern_q8x16 q8[256 / 32];
	struct kern_q8kx16 q8k;
};
INLINE size_t x_bytes(const struct kern_act *x, int k)
{
	return x->form == KERN_FORM_Q8 ? (size_t)k / 32 * sizeof(struct kern_q8x16)
	                               : (size_t)k / 256 * sizeof(struct kern_q8kx16);
}

/* Set p to rows [row, row + m) of x, m <= TOKENS, and n elements of k from `at` on; transpose them
 * to buf unless there is a transposed copy. */
static inline void x_part(struct part *p, union x_buffer *buf, const struct kern_act *x, int row,
                          int m, int k, int at, int n)
{
	p->x_groups = (m + N - 1) / N;
	if (x->transposed && row % N == 0) {
		p->x_step = x_bytes(x, k);
		p->x = (const char *)act_transposed(x, row, k) + x_bytes(x, at);
		return;
	}
	p->x = (const char *)buf;
	p->x_step = sizeof *buf;
	for (int t = 0; t < m; t += N) {
		size_t block = x->form == KERN_FORM_Q8 ? (size_t)at / 32 * sizeof(struct kern_q8)
		                                       : (size_t)at / 256 * sizeof(struct kern_q8k);
		struct kern_act some = { .form = x->form,
			                 .q_row = x->q_row,
			                 .transposed = buf + t / N };
		some.q = (char *)x->q + (size_t)(row + t) * x->q_row + block;
		(x->form == KERN_FORM_Q8 ? KERN_NAME(avx512vnni, transpose_q8)
		                         : KERN_NAME(avx512vnni, transpose_q8k))(
			&some, 0, m - t < N ? m - t : N, n, 0, n);
	}
}

/* Clear the sums for m rows of x. */
static inline void sums_clear(const struct part *p, int m, int minima)
{
	size_t bytes = (size_t)(m + N - 1) / N * (size_t)p->w_groups * N * N * sizeof(float);

	memset(p->sum, 0, bytes);
	if (minima)
		memset(p->min, 0, bytes);
}
/* how the sums of minima (p->min) are combined with the sums */
enum min_op { MIN_NONE, MIN_ADD, MIN_SUB };
INLINE void sums_out(const struct part *p, float *y, size_t ldy, enum min_op op, int m, int n)
{
	for (int u = 0; u < p->x_groups * p->w_groups; u++) {
		int at = u / p->w_groups * N, first = u % p->w_groups * N;
		wf v[N];
		EACH_ROW
		{
			v[r] = _mm512_load_ps(p->sum + (u * N + r) * N);
			if (op == MIN_ADD)
				v[r] = wf_add(v[r], _mm512_load_ps(p->min + (u * N + r) * N));
			else if (op == MIN_SUB)
				v[r] = wf_sub(v[r], _mm512_load_ps(p->min + (u * N + r) * N));
		}
		transpose_lanes(v);
		UNROLL
		for (int i = 0; i < N; i++)
			if (at + i < m)
				wf_put(y + (size_t)(at + i) * ldy + first, v[i], n - first);
	}
}
#endif
