/* kern/tmpl/attn.h - attention over one split of a paged cache, and the merging of splits.  Layouts
 * of a page: kern/kv.h; the sums and their order: kern/kern.h, struct kern_attn.
 *
 *   s[p] = q . k[p]           positions in lanes, each dimension of K against all pairs
 *   o[d] = sum w[p] v[p][d]   dimensions in lanes, each position of V against all pairs
 *   bytes per flop: (dk + dv) bytes of an element per 2 (dk + dv) heads;  limits: none on dk, dv of
 *   floats, multiples of 32 of quantised ones
 *
 * Up to KERN_ATTN_FEW pairs of row and head that share a KV head are taken together, so that a byte
 * of the cache is read once for them: their scores over the split, then the weighted sums.  Pages
 * are far apart in memory, so reading a line of K prefetches the matching line of V, and reading a
 * line of V prefetches one of K of the next KV head.  Positions that a pair does not see have no
 * part in its sums, whatever its neighbours see. */
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
	float scale, l; /* of scores as they are summed; the sum of weights */
	/* of codes: q, and per block of V the weights of each page times its scales, as whole
	 * numbers; what their sums begin at, and for V are multiplied by */
	struct round *rq, *rw;
	int32_t *q_low, *w_low;
	float *c;
};

static inline int sees_all(const struct pair *pair, int p, int n)
{
	return pair->lo <= p && pair->hi >= p + n;
}

/* x where the pair sees of the 16 positions from p on, y elsewhere */
INLINE vf seen_of(const struct pair *pair, int p, vf x, vf y)
{
	return v_keep(pair->lo - p, y, v_keep(pair->hi - p, x, y));
}

static const void *page_of(const void *const *pages, int p, size_t bytes)
{
	const char *page = pages[p / KERN_PAGE];

	return page ? page + bytes : NULL;
}

/* scratch: scores, then numbers, then what belongs to blocks of them */
static struct round *rounds_of(const struct kern_attn *a, int j)
{
	struct round *r =
		(struct round *)(void *)((float *)a->scratch + KERN_ATTN_FEW * KERN_SPLIT);

	return r + (size_t)j * KERN_ATTN_ROUNDS(a->dk, a->dv);
}
static float *c_of(const struct kern_attn *a, int j)
{
	return (float *)(void *)rounds_of(a, KERN_ATTN_FEW) +
	       (size_t)j * KERN_ATTN_PARTS(a->dk, a->dv);
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
                         const void *k, ptrdiff_t ahead, int p, int at, int qn)
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
		v_prefetch_far((const char *)k + ahead +
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
                   const void *page, ptrdiff_t ahead, int p, int qn)
{
	int seen = 0;

	for (int q = 0; q < qn; q++)
		seen |= pair[q].lo < p + KERN_PAGE && pair[q].hi > p;
	if (!seen)
		return;
	if (type == INFER_F32 || type == INFER_F16)
		for (int at = 0; at < KERN_PAGE; at += 16 * SCORE_V)
			scores_float(a, type, pair, page, ahead, p, at, qn);
	else
		for (int at = 0; at < KERN_PAGE; at += 16 * CODE_V)
			scores_q(a, type, pair, page, ahead, p, at, qn);
}

/* o[q][i ... i + 16 dn) += weighted rows of V over [lo, hi) of one page of floats; the last vector
 * has n lanes */
INLINE void weigh(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                  const void *page, ptrdiff_t ahead, int i, int lo, int hi, int qn, int dn, int n)
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
			v_prefetch_far(v + ahead +
			               (size_t)(i + 16 * j) * (type == INFER_F16 ? 2 : 4));
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
                       const void *page, ptrdiff_t ahead, int lo, int hi, int qn)
{
	int i = 0;

	if (lo >= hi)
		return;
	for (; i + 16 * SUM_V <= a->dv; i += 16 * SUM_V)
		weigh(a, type, pair, page, ahead, i, lo, hi, qn, SUM_V, 16);
	for (; i + 16 <= a->dv; i += 16)
		weigh(a, type, pair, page, ahead, i, lo, hi, qn, 1, 16);
	if (i < a->dv)
		weigh(a, type, pair, page, ahead, i, lo, hi, qn, 1, a->dv - i);
}

/* Sums over the page that begins at p: what all qn pairs see together, and before and behind it
 * what each sees alone. */
INLINE void sums_float(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                       const void *page, ptrdiff_t ahead, int p, int qn)
{
	int lo = p, hi = p + KERN_PAGE;

	for (int q = 0; q < qn; q++) {
		lo = pair[q].lo > lo ? pair[q].lo : lo;
		hi = pair[q].hi < hi ? pair[q].hi : hi;
	}
	if (hi <= lo)
		lo = hi = p;
	for (int q = 0; qn > 1 && q < qn; q++)
		weigh_over(a, type, pair + q, page, ahead, pair[q].lo > p ? pair[q].lo : p,
		           pair[q].hi < lo ? pair[q].hi : lo, 1);
	weigh_over(a, type, pair, page, ahead, lo, hi, qn);
	for (int q = 0; qn > 1 && q < qn; q++)
		weigh_over(a, type, pair + q, page, ahead, pair[q].lo > hi ? pair[q].lo : hi,
		           pair[q].hi < p + KERN_PAGE ? pair[q].hi : p + KERN_PAGE, 1);
}

/* the scores of the page that begins at p, scaled and capped; -inf where the pair does not see */
INLINE void scale_page(const struct kern_attn *a, const struct pair *pair, int p, vf most[2])
{
	const vf scale = v_set(pair->scale), cap = v_set(a->cap);
	int all = sees_all(pair, p, KERN_PAGE);

	UNROLL
	for (int j = 0; j < 2; j++) {
		vf s = v_mul(v_load(pair->s + p + 16 * j), scale);
		if (a->cap != 0)
			s = v_mul(cap, v_tanh(v_div(s, cap)));
		if (!all)
			s = seen_of(pair, p + 16 * j, s, v_set(-INFINITY));
		v_store(pair->s + p + 16 * j, s);
		most[j] = v_max(s, most[j]);
	}
}

/* scores -> weights in place, the maximum and their sum; 0 where a page goes on but the pair does
 * not see */
static void soften(const struct kern_attn *a, struct pair *pair, const float *sink, float *m,
                   float *l)
{
	int from = pair->lo & -KERN_PAGE, to = (pair->hi + KERN_PAGE - 1) & -KERN_PAGE;
	vf most[2] = { v_set(-INFINITY), v_set(-INFINITY) }, sum = v_set(0);

	for (int p = from; p < to; p += KERN_PAGE)
		scale_page(a, pair, p, most);
	float max = v_hmax(v_max(most[0], most[1]));
	if (sink && *sink > max)
		max = *sink;
	max += 0.0f; /* -0 becomes +0, whichever was found */
	*m = max;
	*l = pair->l = 0;
	if (max == -INFINITY && !(pair->lo < pair->hi))
		return;
	for (int p = from; p < to; p += KERN_PAGE) {
		int all = sees_all(pair, p, KERN_PAGE);
		UNROLL
		for (int j = 0; j < 2; j++) {
			vf w = v_exp_weight(v_sub(v_load(pair->s + p + 16 * j), v_set(max)));
			if (!all)
				w = seen_of(pair, p + 16 * j, w, v_set(0));
			v_store(pair->s + p + 16 * j, w);
			sum = v_add(sum, w);
		}
	}
	*l = v_sum(sum);
	if (sink)
		*l += fm_expf(*sink - max);
	pair->l = *l;
}

/* n pairs against the page that begins at p, as many at a time as registers hold */
INLINE void all_scores(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                       const void *page, ptrdiff_t ahead, int p, int n)
{
	const int most = type == INFER_F32 || type == INFER_F16 ? SCORE_Q : CODE_Q;
	int i = 0;

	for (; i + most <= n; i += most)
		scores(a, type, pair + i, page, ahead, p, most);
	for (; most > 4 && i + most / 2 <= n; i += most / 2)
		scores(a, type, pair + i, page, ahead, p, most / 2);
	for (; i + 2 <= n; i += 2)
		scores(a, type, pair + i, page, ahead, p, 2);
	for (; i < n; i++)
		scores(a, type, pair + i, page, ahead, p, 1);
}

/* over pages from lo to hi of the KV head that lies at `at` of a page */
INLINE void all_sums(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                     size_t at, const ptrdiff_t *ahead, int n, int lo, int hi)
{
	if (type != INFER_F32 && type != INFER_F16) {
		sums_q(a, type, pair, at, ahead, n, lo, hi);
		return;
	}
	for (int p = lo; p < hi; p += KERN_PAGE) {
		const void *page = page_of(a->v, p, at);
		ptrdiff_t next = ahead[p / KERN_PAGE];
		int i = 0;
		for (; i + SUM_Q <= n; i += SUM_Q)
			sums_float(a, type, pair + i, page, next, p, SUM_Q);
		for (; WIDE && i + SUM_Q / 2 <= n; i += SUM_Q / 2)
			sums_float(a, type, pair + i, page, next, p, SUM_Q / 2);
		for (; i < n; i++)
			sums_float(a, type, pair + i, page, next, p, 1);
	}
}

/* one copy of the loops per type */
typedef void scores_fn(const struct kern_attn *a, const struct pair *pair, const void *page,
                       ptrdiff_t ahead, int p, int n);
typedef void sums_fn(const struct kern_attn *a, const struct pair *pair, size_t at,
                     const ptrdiff_t *ahead, int n, int lo, int hi);
#define LOOPS(TYPE, name) \
	static void scores_##name(const struct kern_attn *a, const struct pair *pair, \
	                          const void *page, ptrdiff_t ahead, int p, int n) \
	{ \
		all_scores(a, INFER_##TYPE, pair, page, ahead, p, n); \
	} \
	static void sums_##name(const struct kern_attn *a, const struct pair *pair, size_t at, \
	                        const ptrdiff_t *ahead, int n, int lo, int hi) \
	{ \
		all_sums(a, INFER_##TYPE, pair, at, ahead, n, lo, hi); \
	}
LOOPS(F32, f32)
LOOPS(F16, f16)
LOOPS(Q8_0, q8_0)
LOOPS(Q4_0, q4_0)
#undef LOOPS

static scores_fn *scores_of(int type)
{
	return type == INFER_F32    ? scores_f32
	       : type == INFER_F16  ? scores_f16
	       : type == INFER_Q8_0 ? scores_q8_0
	                            : scores_q4_0;
}
static sums_fn *sums_of(int type)
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

	pair->q = a->q + (size_t)r * a->q_row + (size_t)h * (size_t)a->dk;
	pair->o = a->o + (size_t)r * a->o_row + (size_t)h * (size_t)a->dv;
	pair->s = (float *)a->scratch + (size_t)j * KERN_SPLIT;
	pair->rq = rounds_of(a, j);
	pair->rw = pair->rq + a->dk / 32;
	pair->c = c_of(a, j);
	pair->q_low = (int32_t *)(void *)(pair->c + a->dv / 32);
	pair->w_low = pair->q_low + a->dk / 32;
	pair->scale = a->scale;
	pair->row = r;
	pair->head = h;
	pair->lo = lo < hi ? lo - a->from : 0;
	pair->hi = lo < hi ? hi - a->from : 0;
	for (int d = 0; d < a->dv && !is_codes((enum infer_type)a->v_type); d++)
		pair->o[d] = 0; /* codes are summed before they come to o */
	if (is_codes((enum infer_type)a->k_type))
		round_q(a, pair);
}

static void check(const struct kern_attn *a)
{
	const int types[] = { a->k_type, a->v_type }, dims[] = { a->dk, a->dv };

	must(a->kv_heads >= 1 && a->kv_heads <= KERN_ATTN_Q);
	must(a->from % KERN_SPLIT == 0 && a->to - a->from <= KERN_SPLIT);
	for (int i = 0; i < 2; i++)
		must(types[i] == INFER_F32 || types[i] == INFER_F16 ||
		     ((types[i] == INFER_Q8_0 || types[i] == INFER_Q4_0) && dims[i] % 32 == 0));
}

/* from a page of some bytes at `from` to that at `to`; nowhere else where either is missing */
static ptrdiff_t way(const void *const *from, size_t from_at, const void *const *to, size_t to_at,
                     int i)
{
	return to && from[i] && to[i]
	               ? ((const char *)to[i] + to_at) - ((const char *)from[i] + from_at)
	               : 0;
}

/* n pairs of KV head g; the first to come by ask for what is read next */
static void together(const struct kern_attn *a, struct pair *pair, int n, int g, int first)
{
	int lo = KERN_SPLIT, hi = 0;
	size_t k_bytes = kern_kv_bytes(a->k_type, a->dk), v_bytes = kern_kv_bytes(a->v_type, a->dv);
	size_t k = (size_t)g * k_bytes, v = (size_t)g * v_bytes;
	ptrdiff_t ahead[KERN_SPLIT / KERN_PAGE] = { 0 };

	for (int j = 0; j < n; j++) {
		lo = pair[j].lo < lo ? pair[j].lo : lo;
		hi = pair[j].hi > hi ? pair[j].hi : hi;
	}
	lo &= -KERN_PAGE;
	for (int p = lo; p < hi; p += KERN_PAGE)
		scores_of(a->k_type)(a, pair, page_of(a->k, p, k),
		                     first ? way(a->k, k, a->v, v, p / KERN_PAGE) : 0, p, n);
	for (int j = 0; j < n; j++) {
		size_t at = (size_t)pair[j].row * a->ml_row + (size_t)pair[j].head;
		soften(a, &pair[j], a->sink ? a->sink + pair[j].head : NULL, a->m + at, a->l + at);
	}
	for (int p = lo; first && p < hi; p += KERN_PAGE)
		ahead[p / KERN_PAGE] = g + 1 < a->kv_heads
		                               ? way(a->v, v, a->k, k + k_bytes, p / KERN_PAGE)
		                               : way(a->v, v, a->next, 0, p / KERN_PAGE);
	sums_of(a->v_type)(a, pair, v, ahead, n, lo, hi);
}

void KERN_FN(attn)(const struct kern_attn *a)
{
	int all = a->rows * a->heads;
	struct pair pair[KERN_ATTN_FEW];

	check(a);
	for (int g = 0; g < a->kv_heads; g++)
		for (int i = 0, r = 0, h = 0; i < all; i += KERN_ATTN_FEW) {
			int n = all - i < KERN_ATTN_FEW ? all - i : KERN_ATTN_FEW;
			for (int j = 0; j < n; j++) {
				pair_fill(a, &pair[j], r, g * a->heads + h, j);
				if (++h == a->heads)
					h = 0, r++;
			}
			together(a, pair, n, g, !i);
		}
}

enum { MERGE = 16, MERGE_V = 4 };

/* 16 dn dimensions of o += e[i] of n splits' */
INLINE void merge_some(float *o, const float *e, const float *const *parts, int n, int d, int dn)
{
	vf acc[MERGE_V];

	UNROLL
	for (int j = 0; j < dn; j++)
		acc[j] = v_load(o + d + 16 * j);
	for (int i = 0; i < n; i++) {
		UNROLL
		for (int j = 0; j < dn; j++)
			acc[j] = v_fma(v_set(e[i]), v_load(parts[i] + d + 16 * j), acc[j]);
	}
	UNROLL
	for (int j = 0; j < dn; j++)
		v_store(o + d + 16 * j, acc[j]);
}

/* one head, some splits at a time; what a split that saw nothing holds is not read */
static void merge(float *o, const float *m, const float *l, const float *parts, int splits,
                  int heads, int dv)
{
	float max = -INFINITY, sum = 0;

	for (int s = 0; s < splits; s++)
		max = m[s * heads] > max ? m[s * heads] : max;
	for (int d = 0; d < dv; d++)
		o[d] = 0;
	for (int s = 0; s < splits;) {
		const float *p[MERGE];
		float e[MERGE] = { 0 }, sums[MERGE];
		int n = 0, d = 0;

		for (; s < splits && n < MERGE; s++) {
			if (m[s * heads] == -INFINITY && l[s * heads] == 0)
				continue;
			p[n] = parts + (size_t)s * (size_t)heads * (size_t)dv;
			e[n] = m[s * heads] - max;
			sums[n++] = l[s * heads];
		}
		v_store(e, v_exp(v_load(e)));
		for (int i = 0; i < n; i++)
			sum = fmaf(e[i], sums[i], sum);
		for (; d + 16 * MERGE_V <= dv; d += 16 * MERGE_V)
			merge_some(o, e, p, n, d, MERGE_V);
		for (; d + 16 <= dv; d += 16)
			merge_some(o, e, p, n, d, 1);
		for (; d < dv; d++)
			for (int i = 0; i < n; i++)
				o[d] = fmaf(e[i], p[i][d], o[d]);
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
