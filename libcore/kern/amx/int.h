/* kern/amx/int.h - products of panels of 32 rows of weights with 16 rows of x at a time, by tiles.
 *
 * Each lane holds a row of x, turned as in kern/act.h; a register of sums belongs to one row of
 * weights.  A call of the tiles takes a part of k (256, or the rest) of up to TOKENS rows of x, so
 * their sums stay in the L1 cache together with that part of the panel. */
#ifndef KERN_AMX_INT_H
#define KERN_AMX_INT_H
#include "kern/avx512vnni/int.h"
#include "kern/amx/tiles.h"

void KERN_FN(peak_tile)(double *ops, int bf16, int turns);
/* x is turned as for the loops over a few rows of it */
void KERN_NAME(avx512vnni, turn_q8)(struct kern_act *x, int row, int m, int k, int from, int to);
void KERN_NAME(avx512vnni, turn_q8k)(struct kern_act *x, int row, int m, int k, int from, int to);

enum { N = 16, GROUPS = NR / N, TOKENS = 64, TURNS = TOKENS / N };
#define EACH_ROW UNROLL for (int r = 0; r < N; r++)

/* the next n lines of x */
#define ASK(at, n) \
	do { \
		for (int i_ = 0; i_ < (n); i_++, (at) += 64) \
			__builtin_prefetch(at); \
	} while (0)

/* One part of k of a panel and of some rows of x. */
struct part {
	float *sum, *min;      /* [turn][group][N][N]: row of weights, row of x */
	const char *w, *x;     /* of the first group of rows of weights; of the first 16 of x */
	size_t w_step, x_step; /* to the next */
	int turns, groups;     /* how many 16 rows of x; of weights */
};

/* The turned copy of 16 rows of x and its like, or room for one of a part of k. */
union turned_room {
	struct kern_turned q8[256 / 32];
	struct kern_turned_k q8k;
};
INLINE size_t turned_part(const struct kern_act *x, int k)
{
	return x->form == KERN_FORM_Q8 ? (size_t)k / 32 * sizeof(struct kern_turned)
	                               : (size_t)k / 256 * sizeof(struct kern_turned_k);
}

/* Rows [row, row + m) of x, m <= TOKENS, of k the part from `at` on. */
static inline void x_part(struct part *p, union turned_room *room, const struct kern_act *x,
                          int row, int m, int k, int at, int n)
{
	p->turns = (m + N - 1) / N;
	if (x->turned && row % N == 0) {
		p->x_step = turned_part(x, k);
		p->x = (const char *)act_turned(x, row, k) + turned_part(x, at);
		return;
	}
	p->x = (const char *)room;
	p->x_step = sizeof *room;
	for (int t = 0; t < m; t += N) {
		size_t block = x->form == KERN_FORM_Q8 ? (size_t)at / 32 * sizeof(struct kern_q8)
		                                       : (size_t)at / 256 * sizeof(struct kern_q8k);
		struct kern_act some = { .form = x->form,
			                 .q_row = x->q_row,
			                 .turned = room + t / N };
		some.q = (char *)x->q + (size_t)(row + t) * x->q_row + block;
		(x->form == KERN_FORM_Q8 ? KERN_NAME(avx512vnni, turn_q8)
		                         : KERN_NAME(avx512vnni, turn_q8k))(
			&some, 0, m - t < N ? m - t : N, n, 0, n);
	}
}

/* sums of all units of m rows of x to 0 */
static inline void sums_clear(const struct part *p, int m, int minima)
{
	size_t bytes = (size_t)(m + N - 1) / N * (size_t)p->groups * N * N * sizeof(float);

	memset(p->sum, 0, bytes);
	if (minima)
		memset(p->min, 0, bytes);
}
/* to y, m rows of x, n of weights: what becomes of the second chain */
enum sums_how { SUMS_ALONE, SUMS_ADD, SUMS_SUB };
INLINE void sums_out(const struct part *p, float *y, size_t ldy, enum sums_how how, int m, int n)
{
	for (int u = 0; u < p->turns * p->groups; u++) {
		int at = u / p->groups * N, first = u % p->groups * N;
		wf v[N];
		EACH_ROW
		{
			v[r] = _mm512_load_ps(p->sum + (u * N + r) * N);
			if (how == SUMS_ADD)
				v[r] = wf_add(v[r], _mm512_load_ps(p->min + (u * N + r) * N));
			else if (how == SUMS_SUB)
				v[r] = wf_sub(v[r], _mm512_load_ps(p->min + (u * N + r) * N));
		}
		turn_lanes(v);
		UNROLL
		for (int i = 0; i < N; i++)
			if (at + i < m)
				wf_put(y + (size_t)(at + i) * ldy + first, v[i], n - first);
	}
}
#endif
