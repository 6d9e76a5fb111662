/* kern/tmpl/attn.h - attention over one split of a paged cache, and the merging of splits.  Layouts of
 * a page: kern/kv.h; the sums and their order: kern/kern.h, struct kern_attn.
 *
 *   s[p] = q . k[p]           positions in lanes, each dimension of K against all pairs
 *   o[d] = sum w[p] v[p][d]   dimensions in lanes, each position of V against all pairs
 *   bytes per flop: (dk + dv) bytes of an element per 2 (dk + dv) heads;  limits: none on dk, dv of
 *   floats, multiples of 32 of quantised ones
 *
 * Up to KERN_ATTN_Q pairs of row and head are taken together, page by page, so that a byte of the cache
 * is read once for them: their scores, then the weighted sums.  Pages lie far apart, but one KV head's
 * part behind the other's: few rows go through all KV heads of a page, and each line that is read asks
 * for its fellow of the next KV head.  What a pair does not see has no part in
 * its sums, whatever its neighbours see. */
#include <math.h>
#include "base/err.h"
#include "base/fmath.h"
#include "base/num.h"
#include "kern/kv.h"
#include "kern/tmpl/fmath.h"

/* What stays in registers: pairs by vectors.  MM_PANEL says how many of them there are. */
enum {
	WIDE = MM_PANEL == 32,
	SCORE_Q = WIDE ? 8 : 4, /* by SCORE_V vectors of positions */
	SCORE_V = WIDE ? 2 : 1,
	SUM_Q = WIDE ? 4 : 2, /* by SUM_V vectors of dimensions */
	SUM_V = WIDE ? 4 : 2,
};

/* a row and a head: what it reads, where its scores and results are, and [lo, hi): the positions it
 * sees, counted from a->from */
struct pair {
	const float *q;
	float *s, *o;
	int row, head, lo, hi;
	size_t k_ahead, v_ahead; /* bytes to what is asked for beside what is read: the next KV head's */
	struct round *rq, *rw; /* q, and the weights of one page times the scales of a block of V */
};

static inline int sees_all(const struct pair *pair, int p, int n)
{
	return pair->lo <= p && pair->hi >= p + n;
}

#include "kern/tmpl/attn_q.h"

INLINE vf load_kv(enum infer_type type, const void *row, int i, int n)
{
	if (type == INFER_F16) {
		const uint16_t *p = (const uint16_t *)row + i;
		return n == 16 ? v_load_h(p) : v_loadn_h(p, n);
	}
	const float *p = (const float *)row + i;
	return n == 16 ? v_load(p) : v_loadn(p, n);
}

/* scores of qn pairs against SCORE_V vectors of positions of one page of floats */
INLINE void scores_float(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                         const void *k, int p, int at, int qn)
{
	vf acc[SCORE_Q * SCORE_V];

	UNROLL
	for (int j = 0; j < qn * SCORE_V; j++)
		acc[j] = v_set(0);
	for (int i = 0; i < a->dk; i++) {
		vf kv[SCORE_V];
		UNROLL
		for (int j = 0; j < SCORE_V; j++)
			kv[j] = load_kv(type, k, i * KERN_PAGE + at + 16 * j, 16);
		v_prefetch((const char *)k + pair->k_ahead +
		           (size_t)(i * KERN_PAGE + at) * (type == INFER_F16 ? 2 : 4));
		UNROLL
		for (int q = 0; q < qn; q++) {
			vf qv = v_set(pair[q].q[i]);
			UNROLL
			for (int j = 0; j < SCORE_V; j++)
				acc[q * SCORE_V + j] = v_fma(qv, kv[j], acc[q * SCORE_V + j]);
		}
	}
	UNROLL
	for (int j = 0; j < qn * SCORE_V; j++)
		v_store(pair[j / SCORE_V].s + p + at + 16 * (j % SCORE_V), acc[j]);
}

/* of qn pairs against the page that begins at p */
INLINE void scores(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                   const void *page, int p, int qn)
{
	int seen = 0;

	for (int q = 0; q < qn; q++)
		seen |= pair[q].lo < p + KERN_PAGE && pair[q].hi > p;
	for (int at = 0; seen && at < KERN_PAGE; at += 16 * SCORE_V)
		if (type == INFER_F32 || type == INFER_F16)
			scores_float(a, type, pair, page, p, at, qn);
		else
			scores_q(a, type, pair, page, p, at, qn);
}

/* o[q][i ... i + 16 dn) += weighted rows of V over [lo, hi) of one page of floats; the last vector has
 * n lanes */
INLINE void weigh(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                  const void *page, int i, int lo, int hi, int qn, int dn, int n)
{
	size_t row = (size_t)a->dv * (type == INFER_F16 ? 2 : 4);
	const char *v = (const char *)page + (size_t)(lo % KERN_PAGE) * row;
	vf acc[SUM_Q * SUM_V];

	UNROLL
	for (int j = 0; j < qn * dn; j++)
		acc[j] = n == 16 ? v_load(pair[j / dn].o + i + 16 * (j % dn))
		                 : v_loadn(pair[j / dn].o + i, n);
	for (int p = lo; p < hi; p++, v += row) {
		vf vv[SUM_V];
		UNROLL
		for (int j = 0; j < dn; j++)
			vv[j] = load_kv(type, v, i + 16 * j, n);
		UNROLL
		for (int j = 0; j < dn; j += type == INFER_F16 ? 2 : 1)
			v_prefetch(v + pair->v_ahead + (size_t)(i + 16 * j) * (type == INFER_F16 ? 2 : 4));
		UNROLL
		for (int j = 0; j < qn * dn; j++)
			acc[j] = v_fma(v_set(pair[j / dn].s[p]), vv[j % dn], acc[j]);
	}
	UNROLL
	for (int j = 0; j < qn * dn; j++)
		if (n == 16)
			v_store(pair[j / dn].o + i + 16 * (j % dn), acc[j]);
		else
			v_storen(pair[j / dn].o + i, acc[j], n);
}

INLINE void weigh_over(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                       const void *page, int lo, int hi, int qn)
{
	int i = 0;

	if (lo >= hi)
		return;
	for (; i + 16 * SUM_V <= a->dv; i += 16 * SUM_V)
		weigh(a, type, pair, page, i, lo, hi, qn, SUM_V, 16);
	for (; i + 16 <= a->dv; i += 16)
		weigh(a, type, pair, page, i, lo, hi, qn, 1, 16);
	if (i < a->dv)
		weigh(a, type, pair, page, i, lo, hi, qn, 1, a->dv - i);
}

/* Sums over the page that begins at p: what all qn pairs see together, and before and behind it what
 * each sees alone. */
INLINE void sums_float(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                       const void *page, int p, int qn)
{
	int lo = p, hi = p + KERN_PAGE;

	for (int q = 0; q < qn; q++) {
		lo = pair[q].lo > lo ? pair[q].lo : lo;
		hi = pair[q].hi < hi ? pair[q].hi : hi;
	}
	if (hi <= lo)
		lo = hi = p;
	for (int q = 0; qn > 1 && q < qn; q++)
		weigh_over(a, type, pair + q, page, pair[q].lo > p ? pair[q].lo : p,
		           pair[q].hi < lo ? pair[q].hi : lo, 1);
	weigh_over(a, type, pair, page, lo, hi, qn);
	for (int q = 0; qn > 1 && q < qn; q++)
		weigh_over(a, type, pair + q, page, pair[q].lo > hi ? pair[q].lo : hi,
		           pair[q].hi < p + KERN_PAGE ? pair[q].hi : p + KERN_PAGE, 1);
}

INLINE void sums(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                 const void *page, int p, int qn)
{
	if (type == INFER_F32 || type == INFER_F16)
		sums_float(a, type, pair, page, p, qn);
	else
		sums_q(a, type, pair, page, p, qn);
}

/* scores -> weights in place, the maximum and their sum; 0 where a page goes on but the pair does not see */
static void soften(const struct kern_attn *a, struct pair *pair, const float *sink, float *m,
                   float *l)
{
	int from = pair->lo & -KERN_PAGE, to = (pair->hi + KERN_PAGE - 1) & -KERN_PAGE;
	vf most = v_set(-INFINITY), sum = v_set(0);

	for (int p = from; p < to; p += 16) {
		vf s = v_mul(v_load(pair->s + p), v_set(a->scale));
		if (a->cap != 0)
			s = v_mul(v_set(a->cap), v_tanh(v_div(s, v_set(a->cap))));
		if (!sees_all(pair, p, 16)) {
			s = v_keep(pair->hi - p, s, v_set(-INFINITY));
			s = v_keep(pair->lo - p, v_set(-INFINITY), s);
		}
		v_store(pair->s + p, s);
		most = v_max(s, most);
	}
	float max = v_hmax(most);
	if (sink && *sink > max)
		max = *sink;
	max += 0.0f; /* -0 becomes +0, whichever was found */
	*m = max;
	*l = 0;
	if (max == -INFINITY && !(pair->lo < pair->hi))
		return;
	for (int p = from; p < to; p += 16) {
		vf w = v_exp(v_sub(v_load(pair->s + p), v_set(max)));
		if (!sees_all(pair, p, 16)) {
			w = v_keep(pair->hi - p, w, v_set(0));
			w = v_keep(pair->lo - p, v_set(0), w);
		}
		v_store(pair->s + p, w);
		sum = v_add(sum, w);
	}
	*l = v_sum(sum);
	if (sink)
		*l += fm_expf(*sink - max);
}

/* n pairs against the page that begins at p, as many at a time as registers hold */
INLINE void all_scores(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                       const void *page, int p, int n)
{
	int i = 0;

	for (; i + SCORE_Q <= n; i += SCORE_Q)
		scores(a, type, pair + i, page, p, SCORE_Q);
	for (; WIDE && i + SCORE_Q / 2 <= n; i += SCORE_Q / 2)
		scores(a, type, pair + i, page, p, SCORE_Q / 2);
	for (; i + 2 <= n; i += 2)
		scores(a, type, pair + i, page, p, 2);
	for (; i < n; i++)
		scores(a, type, pair + i, page, p, 1);
}

INLINE void all_sums(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                     const void *page, int p, int n)
{
	int i = 0;

	if (type != INFER_F32 && type != INFER_F16)
		for (int j = 0; j < n; j++)
			round_weights(a, type, pair + j, page, p);
	for (; i + SUM_Q <= n; i += SUM_Q)
		sums(a, type, pair + i, page, p, SUM_Q);
	for (; WIDE && i + SUM_Q / 2 <= n; i += SUM_Q / 2)
		sums(a, type, pair + i, page, p, SUM_Q / 2);
	for (; i < n; i++)
		sums(a, type, pair + i, page, p, 1);
}

/* one copy of the loops per type */
#define LOOPS(TYPE, name)                                                                          \
	static void scores_##name(const struct kern_attn *a, const struct pair *pair, const void *page, int p, int n)        \
	{                                                                                          \
		all_scores(a, INFER_##TYPE, pair, page, p, n);                                               \
	}                                                                                          \
	static void sums_##name(const struct kern_attn *a, const struct pair *pair, const void *page, int p, int n)          \
	{                                                                                          \
		all_sums(a, INFER_##TYPE, pair, page, p, n);                                                 \
	}
LOOPS(F32, f32)
LOOPS(F16, f16)
LOOPS(Q8_0, q8_0)
LOOPS(Q4_0, q4_0)
#undef LOOPS
typedef void loop_fn(const struct kern_attn *a, const struct pair *pair, const void *page, int p, int n);

static loop_fn *scores_of(int type)
{
	return type == INFER_F32    ? scores_f32
	       : type == INFER_F16  ? scores_f16
	       : type == INFER_Q8_0 ? scores_q8_0
	                            : scores_q4_0;
}
static loop_fn *sums_of(int type)
{
	return type == INFER_F32    ? sums_f32
	       : type == INFER_F16  ? sums_f16
	       : type == INFER_Q8_0 ? sums_q8_0
	                            : sums_q4_0;
}

/* row r and query head h as number j of those taken together */
static void pair_fill(const struct kern_attn *a, struct pair *pair, int r, int h, int j)
{
	int at = a->pos + r;
	int lo = a->window && at - a->window + 1 > a->from ? at - a->window + 1 : a->from,
	    hi = at + 1 < a->to ? at + 1 : a->to;
	struct round *blocks =
	    (struct round *)(void *)((float *)a->scratch + KERN_ATTN_Q * KERN_SPLIT);

	pair->q = a->q + (size_t)r * a->q_row + (size_t)h * (size_t)a->dk;
	pair->o = a->o + (size_t)r * a->o_row + (size_t)h * (size_t)a->dv;
	pair->s = (float *)a->scratch + (size_t)j * KERN_SPLIT;
	pair->rq = blocks + (size_t)j * (size_t)((a->dk + a->dv) / 32);
	pair->rw = pair->rq + a->dk / 32;
	pair->k_ahead = kern_kv_bytes(a->k_type, a->dk);
	pair->v_ahead = h / a->heads + 1 < a->kv_heads ? kern_kv_bytes(a->v_type, a->dv) : 0;
	pair->row = r;
	pair->head = h;
	pair->lo = lo < hi ? lo - a->from : 0;
	pair->hi = lo < hi ? hi - a->from : 0;
	for (int d = 0; d < a->dv; d++)
		pair->o[d] = 0;
	if (a->k_type == INFER_Q8_0 || a->k_type == INFER_Q4_0)
		round_q(a, pair);
}

static const void *page_of(const void *const *pages, int p, size_t bytes)
{
	const char *page = pages[p / KERN_PAGE];

	return page ? page + bytes : NULL;
}

static void check(const struct kern_attn *a)
{
	const int types[] = {a->k_type, a->v_type}, dims[] = {a->dk, a->dv};

	must(a->kv_heads >= 1 && a->kv_heads <= KERN_ATTN_Q);
	must(a->from % KERN_SPLIT == 0 && a->to - a->from <= KERN_SPLIT);
	for (int i = 0; i < 2; i++)
		must(types[i] == INFER_F32 || types[i] == INFER_F16 ||
		     ((types[i] == INFER_Q8_0 || types[i] == INFER_Q4_0) && dims[i] % 32 == 0));
}

/* n pairs of each KV head, one KV head's after the other's: page by page the keys of all, then the values */
static void together(const struct kern_attn *a, struct pair *pair, int n)
{
	int lo = KERN_SPLIT, hi = 0;
	size_t k_bytes = kern_kv_bytes(a->k_type, a->dk), v_bytes = kern_kv_bytes(a->v_type, a->dv);

	for (int j = 0; j < n; j++) {
		lo = pair[j].lo < lo ? pair[j].lo : lo;
		hi = pair[j].hi > hi ? pair[j].hi : hi;
	}
	lo &= -KERN_PAGE;
	for (int p = lo; p < hi; p += KERN_PAGE)
		for (int g = 0; g < a->kv_heads; g++)
			scores_of(a->k_type)(a, pair + g * n, page_of(a->k, p, (size_t)g * k_bytes), p, n);
	for (int j = 0; j < n * a->kv_heads; j++) {
		size_t at = (size_t)pair[j].row * a->ml_row + (size_t)pair[j].head;
		soften(a, &pair[j], a->sink ? a->sink + pair[j].head : NULL, a->m + at, a->l + at);
	}
	for (int p = lo; p < hi; p += KERN_PAGE)
		for (int g = 0; g < a->kv_heads; g++)
			sums_of(a->v_type)(a, pair + g * n, page_of(a->v, p, (size_t)g * v_bytes), p, n);
}

void KERN_FN(attn)(const struct kern_attn *a)
{
	int all = a->rows * a->heads, most;
	struct pair pair[KERN_ATTN_Q];

	check(a);
	most = KERN_ATTN_Q / a->kv_heads;
	most = all > KERN_ATTN_FEW && most > KERN_ATTN_FEW ? KERN_ATTN_FEW : most;
	for (int i = 0; i < all; i += most) {
		int n = all - i < most ? all - i : most;
		for (int j = 0; j < n * a->kv_heads; j++) {
			int at = i + j % n, r = at / a->heads, h = j / n * a->heads + at % a->heads;
			pair_fill(a, &pair[j], r, h, j);
		}
		together(a, pair, n);
	}
}

/* one head; what a split that saw nothing holds is not read */
static void merge(float *o, const float *m, const float *l, const float *parts, int splits,
                  int heads, int dv)
{
	float max = -INFINITY, sum = 0;

	for (int s = 0; s < splits; s++)
		max = m[s * heads] > max ? m[s * heads] : max;
	for (int d = 0; d < dv; d++)
		o[d] = 0;
	for (int s = 0; s < splits; s++) {
		const float *p = parts + (size_t)s * (size_t)heads * (size_t)dv;
		int d = 0;

		if (m[s * heads] == -INFINITY && l[s * heads] == 0)
			continue;
		float e = fm_expf(m[s * heads] - max);
		sum = fmaf(e, l[s * heads], sum);
		for (; d + 16 <= dv; d += 16)
			v_store(o + d, v_fma(v_set(e), v_load(p + d), v_load(o + d)));
		for (; d < dv; d++)
			o[d] = fmaf(e, p[d], o[d]);
	}
	for (int d = 0; sum != 0 && d < dv; d++)
		o[d] = o[d] / sum;
}

void KERN_FN(attn_merge)(float *o, const float *m, const float *l, const float *parts, int splits,
                         int heads, int dv)
{
	for (int h = 0; h < heads; h++)
		merge(o + (size_t)h * (size_t)dv, m + h, l + h, parts + (size_t)h * (size_t)dv,
		      splits, heads, dv);
}
