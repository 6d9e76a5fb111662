/* kern/tmpl/attn.h - attention over one split of a paged cache, and the merging of splits.  Layouts
 * of a page: kern/kv.h; the sums and their order: kern/kern.h, struct kern_attn.
 *
 *   s[p] = q . k[p]           positions in lanes; each dimension of K is multiplied with all queries
 *   o[d] = sum w[p] v[p][d]   dimensions in lanes; each position of V is multiplied with all queries
 *   bytes per flop: (dk + dv) bytes of an element per 2 (dk + dv) heads;  limits: dk, dv of quantised
 *   caches are multiples of 32, of floats any number
 *
 * A query is one row of one query head.  Up to KERN_ATTN_GROUP queries that share a KV head are
 * processed together, so that each byte of the cache is read once for all of them: first all scores
 * of the split, then the weighted sums.  Pages are far apart in memory, so the kernel prefetches a
 * line of V for each line of K that it reads, and a line of K of the next KV head for each line of
 * V.  A query's sums contain only positions that it attends to. */
#include <math.h>
#include "base/err.h"
#include "base/fmath.h"
#include "base/num.h"
#include "kern/kv.h"
#include "kern/tmpl/fmath.h"

/* Register blocks: queries times vectors.  Sets with more registers have a larger MM_PANEL. */
enum {
	WIDE = MM_PANEL == 32,
	SCORE_Q = WIDE ? 8 : 4, /* queries, by SCORE_V vectors of positions */
	SCORE_V = WIDE ? 2 : 1,
	SUM_Q = WIDE ? 4 : 2, /* queries, by SUM_V vectors of dimensions */
	SUM_V = WIDE ? 4 : 2,
};

/* A query: its input, scores and results.  [lo, hi): the positions that it attends to, from a->from
 * on */
struct query {
	const float *q;
	float *s, *o;
	int row, head, lo, hi;
	float scale, l; /* factor of integer scores; sum of weights */
	/* quantised caches, in fixed point.  rq: q.  rw: weights times scales of V, by block of V
	 * and page.  Then the start values of their sums, and the unit of each block of V */
	struct fixed32 *rq, *rw;
	int32_t *q_start, *w_start;
	float *c;
};

static inline int sees_all(const struct query *query, int p, int n)
{
	return query->lo <= p && query->hi >= p + n;
}

/* For the 16 positions from p on: x where the query attends, else y. */
INLINE vf mask_unseen(const struct query *query, int p, vf x, vf y)
{
	return v_keep(query->lo - p, y, v_keep(query->hi - p, x, y));
}

static const void *page_of(const void *const *pages, int p, size_t bytes)
{
	const char *page = pages[p / KERN_PAGE];

	return page ? page + bytes : NULL;
}

/* Layout of the scratch: scores, fixed-point numbers, floats of the blocks of these. */
static struct fixed32 *fixed_of(const struct kern_attn *a, int j)
{
	struct fixed32 *r =
		(struct fixed32 *)(void *)((float *)a->scratch + KERN_ATTN_GROUP * KERN_SPLIT);

	return r + (size_t)j * KERN_ATTN_FIXED(a->dk, a->dv);
}
static float *c_of(const struct kern_attn *a, int j)
{
	return (float *)(void *)fixed_of(a, KERN_ATTN_GROUP) +
	       (size_t)j * KERN_ATTN_FLOATS(a->dk, a->dv);
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

/* Compute scores of qn queries for SCORE_V vectors of positions of one page of floats. */
INLINE void scores_float(const struct kern_attn *a, enum infer_type type, const struct query *query,
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
			vf qv = v_set(query[q].q[i]);
			UNROLL
			for (int j = 0; j < SCORE_V; j++)
				acc[q * SCORE_V + j] = v_fma(qv, kv[j], acc[q * SCORE_V + j]);
		}
	}
	UNROLL
	for (int j = 0; j < qn * SCORE_V; j++)
		v_store(query[j / SCORE_V].s + p + at + 16 * (j % SCORE_V), acc[j]);
}

/* Compute scores of qn queries for the page that starts at p. */
INLINE void scores(const struct kern_attn *a, enum infer_type type, const struct query *query,
                   const void *page, ptrdiff_t ahead, int p, int qn)
{
	int seen = 0;

	for (int q = 0; q < qn; q++)
		seen |= query[q].lo < p + KERN_PAGE && query[q].hi > p;
	if (!seen)
		return;
	if (type == INFER_F32 || type == INFER_F16)
		for (int at = 0; at < KERN_PAGE; at += 16 * SCORE_V)
			scores_float(a, type, query, page, ahead, p, at, qn);
	else
		for (int at = 0; at < KERN_PAGE; at += 16 * CODE_V)
			scores_q(a, type, query, page, ahead, p, at, qn);
}

/* o[q][i ... i + 16 dn) += w V over positions [lo, hi) of one page of floats; the last vector has n
 * lanes. */
INLINE void weighted_sum(const struct kern_attn *a, enum infer_type type, const struct query *query,
                         const void *page, ptrdiff_t ahead, int i, int lo, int hi, int qn, int dn,
                         int n)
{
	size_t row = (size_t)a->dv * (type == INFER_F16 ? 2 : 4);
	const char *v = (const char *)page + (size_t)(lo % KERN_PAGE) * row;
	vf acc[SUM_Q * SUM_V];

	UNROLL
	for (int j = 0; j < qn * dn; j++)
		acc[j] = n == 16 ? v_load(query[j / dn].o + i + 16 * (j % dn))
		                 : v_loadn(query[j / dn].o + i, n);
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
			acc[j] = v_fma(v_set(query[j / dn].s[p]), vv[j % dn], acc[j]);
	}
	UNROLL
	for (int j = 0; j < qn * dn; j++)
		if (n == 16)
			v_store(query[j / dn].o + i + 16 * (j % dn), acc[j]);
		else
			v_storen(query[j / dn].o + i, acc[j], n);
}

INLINE void weighted_sum_range(const struct kern_attn *a, enum infer_type type,
                               const struct query *query, const void *page, ptrdiff_t ahead, int lo,
                               int hi, int qn)
{
	int i = 0;

	if (lo >= hi)
		return;
	for (; i + 16 * SUM_V <= a->dv; i += 16 * SUM_V)
		weighted_sum(a, type, query, page, ahead, i, lo, hi, qn, SUM_V, 16);
	for (; i + 16 <= a->dv; i += 16)
		weighted_sum(a, type, query, page, ahead, i, lo, hi, qn, 1, 16);
	if (i < a->dv)
		weighted_sum(a, type, query, page, ahead, i, lo, hi, qn, 1, a->dv - i);
}

/* Add w V over the page that starts at p.  Positions that all qn queries attend to are added for
 * all queries at once, the others query by query. */
INLINE void sums_float(const struct kern_attn *a, enum infer_type type, const struct query *query,
                       const void *page, ptrdiff_t ahead, int p, int qn)
{
	int lo = p, hi = p + KERN_PAGE;

	for (int q = 0; q < qn; q++) {
		lo = query[q].lo > lo ? query[q].lo : lo;
		hi = query[q].hi < hi ? query[q].hi : hi;
	}
	if (hi <= lo)
		lo = hi = p;
	for (int q = 0; qn > 1 && q < qn; q++)
		weighted_sum_range(a, type, query + q, page, ahead,
		                   query[q].lo > p ? query[q].lo : p,
		                   query[q].hi < lo ? query[q].hi : lo, 1);
	weighted_sum_range(a, type, query, page, ahead, lo, hi, qn);
	for (int q = 0; qn > 1 && q < qn; q++)
		weighted_sum_range(a, type, query + q, page, ahead,
		                   query[q].lo > hi ? query[q].lo : hi,
		                   query[q].hi < p + KERN_PAGE ? query[q].hi : p + KERN_PAGE, 1);
}

/* Scale and cap the scores of the page that starts at p; -inf at positions that the query does not
 * attend to. */
INLINE void scale_page(const struct kern_attn *a, const struct query *query, int p, vf vmax[2])
{
	const vf scale = v_set(query->scale), cap = v_set(a->cap);
	int all = sees_all(query, p, KERN_PAGE);

	UNROLL
	for (int j = 0; j < 2; j++) {
		vf s = v_mul(v_load(query->s + p + 16 * j), scale);
		if (a->cap != 0)
			s = v_mul(cap, v_tanh(v_div(s, cap)));
		if (!all)
			s = mask_unseen(query, p + 16 * j, s, v_set(-INFINITY));
		v_store(query->s + p + 16 * j, s);
		vmax[j] = v_max(s, vmax[j]);
	}
}

/* Replace scores by weights, and return the maximum score and the sum of weights.  In the query's
 * last page, positions that it does not attend to get weight 0. */
static void softmax(const struct kern_attn *a, struct query *query, const float *sink, float *m,
                    float *l)
{
	int from = query->lo & -KERN_PAGE, to = (query->hi + KERN_PAGE - 1) & -KERN_PAGE;
	vf vmax[2] = { v_set(-INFINITY), v_set(-INFINITY) }, sum = v_set(0);

	for (int p = from; p < to; p += KERN_PAGE)
		scale_page(a, query, p, vmax);
	float max = v_hmax(v_max(vmax[0], vmax[1]));
	if (sink && *sink > max)
		max = *sink;
	max += 0.0f; /* -0 becomes +0: the order of comparisons does not matter */
	*m = max;
	*l = query->l = 0;
	if (max == -INFINITY && !(query->lo < query->hi))
		return;
	for (int p = from; p < to; p += KERN_PAGE) {
		int all = sees_all(query, p, KERN_PAGE);
		UNROLL
		for (int j = 0; j < 2; j++) {
			vf w = v_exp_weight(v_sub(v_load(query->s + p + 16 * j), v_set(max)));
			if (!all)
				w = mask_unseen(query, p + 16 * j, w, v_set(0));
			v_store(query->s + p + 16 * j, w);
			sum = v_add(sum, w);
		}
	}
	*l = v_sum(sum);
	if (sink)
		*l += fm_expf(*sink - max);
	query->l = *l;
}

/* Compute scores of n queries for the page that begins at p, in batches that fit the registers. */
INLINE void all_scores(const struct kern_attn *a, enum infer_type type, const struct query *query,
                       const void *page, ptrdiff_t ahead, int p, int n)
{
	const int step = type == INFER_F32 || type == INFER_F16 ? SCORE_Q : CODE_Q;
	int i = 0;

	for (; i + step <= n; i += step)
		scores(a, type, query + i, page, ahead, p, step);
	for (; step > 4 && i + step / 2 <= n; i += step / 2)
		scores(a, type, query + i, page, ahead, p, step / 2);
	for (; i + 2 <= n; i += 2)
		scores(a, type, query + i, page, ahead, p, 2);
	for (; i < n; i++)
		scores(a, type, query + i, page, ahead, p, 1);
}

/* Add w V over the pages of positions lo ... hi.  at: offset of the KV head in a page. */
INLINE void all_sums(const struct kern_attn *a, enum infer_type type, const struct query *query,
                     size_t at, const ptrdiff_t *ahead, int n, int lo, int hi)
{
	if (type != INFER_F32 && type != INFER_F16) {
		sums_q(a, type, query, at, ahead, n, lo, hi);
		return;
	}
	for (int p = lo; p < hi; p += KERN_PAGE) {
		const void *page = page_of(a->v, p, at);
		ptrdiff_t next = ahead[p / KERN_PAGE];
		int i = 0;
		for (; i + SUM_Q <= n; i += SUM_Q)
			sums_float(a, type, query + i, page, next, p, SUM_Q);
		for (; WIDE && i + SUM_Q / 2 <= n; i += SUM_Q / 2)
			sums_float(a, type, query + i, page, next, p, SUM_Q / 2);
		for (; i < n; i++)
			sums_float(a, type, query + i, page, next, p, 1);
	}
}

/* an instance of the kernels for each type of K and V */
typedef void scores_fn(const struct kern_attn *a, const struct query *query, const void *page,
                       ptrdiff_t ahead, int p, int n);
typedef void sums_fn(const struct kern_attn *a, const struct query *query, size_t at,
                     const ptrdiff_t *ahead, int n, int lo, int hi);
#define LOOPS(TYPE, name) \
	static void scores_##name(const struct kern_attn *a, const struct query *query, \
	                          const void *page, ptrdiff_t ahead, int p, int n) \
	{ \
		all_scores(a, INFER_##TYPE, query, page, ahead, p, n); \
	} \
	static void sums_##name(const struct kern_attn *a, const struct query *query, size_t at, \
	                        const ptrdiff_t *ahead, int n, int lo, int hi) \
	{ \
		all_sums(a, INFER_##TYPE, query, at, ahead, n, lo, hi); \
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

/* Set query j of a group to row r of query head h. */
static void query_init(const struct kern_attn *a, struct query *query, int r, int h, int j)
{
	int at = a->pos + r;
	int lo = a->window && at - a->window + 1 > a->from ? at - a->window + 1 : a->from,
	    hi = a->later < a->to - 1 - at ? at + 1 + a->later : a->to;

	query->q = a->q + (size_t)r * a->q_row + (size_t)h * (size_t)a->dk;
	query->o = a->o + (size_t)r * a->o_row + (size_t)h * (size_t)a->dv;
	query->s = (float *)a->scratch + (size_t)j * KERN_SPLIT;
	query->rq = fixed_of(a, j);
	query->rw = query->rq + a->dk / 32;
	query->c = c_of(a, j);
	query->q_start = (int32_t *)(void *)(query->c + a->dv / 32);
	query->w_start = query->q_start + a->dk / 32;
	query->scale = a->scale;
	query->row = r;
	query->head = h;
	query->lo = lo < hi ? lo - a->from : 0;
	query->hi = lo < hi ? hi - a->from : 0;
	for (int d = 0; d < a->dv && !is_codes((enum infer_type)a->v_type); d++)
		query->o[d] = 0; /* quantised V: o is written only once */
	if (is_codes((enum infer_type)a->k_type))
		q_to_fixed(a, query);
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

/* The distance from offset from_at of page i of `from` to offset to_at of page i of `to`; 0 if
 * either page is missing */
static ptrdiff_t prefetch_offset(const void *const *from, size_t from_at, const void *const *to,
                                 size_t to_at, int i)
{
	return to && from[i] && to[i]
	               ? ((const char *)to[i] + to_at) - ((const char *)from[i] + from_at)
	               : 0;
}

/* Compute attention of n queries over KV head g.  first: also prefetch the pages that are read next. */
static void attend(const struct kern_attn *a, struct query *query, int n, int g, int first)
{
	int lo = KERN_SPLIT, hi = 0;
	size_t k_bytes = kern_kv_bytes(a->k_type, a->dk), v_bytes = kern_kv_bytes(a->v_type, a->dv);
	size_t k = (size_t)g * k_bytes, v = (size_t)g * v_bytes;
	ptrdiff_t ahead[KERN_SPLIT / KERN_PAGE] = { 0 };

	for (int j = 0; j < n; j++) {
		lo = query[j].lo < lo ? query[j].lo : lo;
		hi = query[j].hi > hi ? query[j].hi : hi;
	}
	lo &= -KERN_PAGE;
	for (int p = lo; p < hi; p += KERN_PAGE)
		scores_of(a->k_type)(a, query, page_of(a->k, p, k),
		                     first ? prefetch_offset(a->k, k, a->v, v, p / KERN_PAGE) : 0,
		                     p, n);
	for (int j = 0; j < n; j++) {
		size_t at = (size_t)query[j].row * a->ml_row + (size_t)query[j].head;
		softmax(a, &query[j], a->sink ? a->sink + query[j].head : NULL, a->m + at,
		        a->l + at);
	}
	for (int p = lo; first && p < hi; p += KERN_PAGE)
		ahead[p / KERN_PAGE] =
			g + 1 < a->kv_heads
				? prefetch_offset(a->v, v, a->k, k + k_bytes, p / KERN_PAGE)
				: prefetch_offset(a->v, v, a->next, 0, p / KERN_PAGE);
	sums_of(a->v_type)(a, query, v, ahead, n, lo, hi);
}

void KERN_FN(attn)(const struct kern_attn *a)
{
	int all = a->rows * a->heads;
	struct query query[KERN_ATTN_GROUP];

	check(a);
	for (int g = 0; g < a->kv_heads; g++)
		for (int i = 0, r = 0, h = 0; i < all; i += KERN_ATTN_GROUP) {
			int n = all - i < KERN_ATTN_GROUP ? all - i : KERN_ATTN_GROUP;
			for (int j = 0; j < n; j++) {
				query_init(a, &query[j], r, g * a->heads + h, j);
				if (++h == a->heads)
					h = 0, r++;
			}
			attend(a, query, n, g, !i);
		}
}

enum { MERGE = 16, MERGE_V = 4 };

/* o += e[i] parts[i] over n splits, for the 16 dn dimensions from d on */
INLINE void merge_block(float *o, const float *e, const float *const *parts, int n, int d, int dn)
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

/* Merge the splits of one head, MERGE at a time.  Results of splits without positions that the
 * query attends to are not read. */
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
			merge_block(o, e, p, n, d, MERGE_V);
		for (; d + 16 <= dv; d += 16)
			merge_block(o, e, p, n, d, 1);
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
