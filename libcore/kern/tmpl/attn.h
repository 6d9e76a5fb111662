/* kern/tmpl/attn.h - attention over one split of a paged cache, and the merging of splits.
 *
 *   page   K [KERN_PAGE][dk], V [KERN_PAGE][dv], k_row and v_row bytes apart
 *   s[p] = scale (q . k[p]), capped      q f32 [rows][heads][dk]; q . k: 16 lanes, kern_sum16
 *   m = max s;  w[p] = e^(s[p] - m);  l = kern_sum16 of 16 lanes over p - from of w
 *   o[d] = fma chain over p of w[p] v[p][d]
 *   bytes per flop: 2 (dk + dv) (f16) per 2 (dk + dv) heads;  limits: none on dk, dv
 *
 * KERN_ATTN_Q pairs of row and head are taken together: their scores, then the weighted sums.  Each
 * pair goes through exactly its own positions in ascending order, whatever its neighbours see. */
#include <math.h>
#include "base/err.h"
#include "base/fmath.h"
#include "kern/tmpl/fmath.h"

enum { TILE_Q = 4, TILE_P = 4, TILE_D = 4 };

struct pair {
	const float *q;
	float *s, *o;
	int lo, hi;
}; /* lo, hi: positions it sees, counted from a->from */

INLINE vf load_kv(enum infer_type type, const void *row, int i, int n)
{
	if (type == INFER_F16) {
		const uint16_t *p = (const uint16_t *)row + i;
		return n == 16 ? v_load_h(p) : v_loadn_h(p, n);
	}
	const float *p = (const float *)row + i;
	return n == 16 ? v_load(p) : v_loadn(p, n);
}

static inline const void *kv_at(const void *const *pages, size_t row, int p)
{
	return (const char *)pages[p / KERN_PAGE] + (size_t)(p % KERN_PAGE) * row;
}

/* scores of qn pairs against pn positions from p on, all in one page */
INLINE void scores(const struct kern_attn *a, enum infer_type type, const struct pair *pair, int p,
                   int qn, int pn)
{
	const char *k = kv_at(a->k, a->k_row, p);
	vf acc[TILE_Q * TILE_P];
	int i = 0;

	UNROLL
	for (int j = 0; j < qn * pn; j++)
		acc[j] = v_set(0);
	for (; i + 16 <= a->dk; i += 16) {
		vf kv[TILE_P];
		UNROLL
		for (int j = 0; j < pn; j++)
			kv[j] = load_kv(type, k + (size_t)j * a->k_row, i, 16);
		UNROLL
		for (int q = 0; q < qn; q++) {
			vf qv = v_load(pair[q].q + i);
			UNROLL
			for (int j = 0; j < pn; j++)
				acc[q * pn + j] = v_fma(qv, kv[j], acc[q * pn + j]);
		}
	}
	if (i < a->dk) {
		int n = a->dk - i;
		UNROLL
		for (int j = 0; j < qn * pn; j++) {
			vf kv = load_kv(type, k + (size_t)(j % pn) * a->k_row, i, n);
			acc[j] =
			    v_keep(n, v_fma(v_loadn(pair[j / pn].q + i, n), kv, acc[j]), acc[j]);
		}
	}
	UNROLL
	for (int q = 0; q < qn; q++)
		if (pn == 4)
			v_sum4(pair[q].s + p, acc[q * pn], acc[q * pn + 1], acc[q * pn + 2],
			       acc[q * pn + 3]);
		else
			pair[q].s[p] = v_sum(acc[q]);
}

INLINE void scores_over(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                        int qn, int lo, int hi)
{
	int p = lo;

	for (; p < hi && p % TILE_P; p++)
		scores(a, type, pair, p, qn, 1);
	for (; p + TILE_P <= hi; p += TILE_P)
		scores(a, type, pair, p, qn, TILE_P);
	for (; p < hi; p++)
		scores(a, type, pair, p, qn, 1);
}

/* o[q][i ... i + 16 dn) += weighted rows of V over [lo, hi); the last vector has n lanes */
INLINE void weigh(const struct kern_attn *a, enum infer_type type, const struct pair *pair, int i,
                  int lo, int hi, int qn, int dn, int n)
{
	vf acc[TILE_Q * TILE_D];

	UNROLL
	for (int j = 0; j < qn * dn; j++)
		acc[j] = n == 16 ? v_load(pair[j / dn].o + i + 16 * (j % dn))
		                 : v_loadn(pair[j / dn].o + i, n);
	for (int p = lo; p < hi; p++) {
		const void *v = kv_at(a->v, a->v_row, p);
		vf vv[TILE_D];
		UNROLL
		for (int j = 0; j < dn; j++)
			vv[j] = load_kv(type, v, i + 16 * j, n);
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
                       int lo, int hi, int qn)
{
	int i = 0;

	if (lo >= hi)
		return;
	for (; i + 16 * TILE_D <= a->dv; i += 16 * TILE_D)
		weigh(a, type, pair, i, lo, hi, qn, TILE_D, 16);
	for (; i + 16 <= a->dv; i += 16)
		weigh(a, type, pair, i, lo, hi, qn, 1, 16);
	if (i < a->dv)
		weigh(a, type, pair, i, lo, hi, qn, 1, a->dv - i);
}

/* what one pair alone sees of [lo, hi) */
INLINE void weigh_own(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                      int lo, int hi)
{
	weigh_over(a, type, pair, lo > pair->lo ? lo : pair->lo, hi < pair->hi ? hi : pair->hi, 1);
}

/* scores -> weights in place, the maximum and their sum */
static void soften(const struct kern_attn *a, struct pair *pair, const float *sink, float *m,
                   float *l)
{
	int from = pair->lo & ~15;
	vf most = v_set(-INFINITY), sum = v_set(0);

	for (int p = from; p < pair->hi; p += 16) {
		vf s = v_mul(v_load(pair->s + p), v_set(a->scale));
		if (a->cap != 0)
			s = v_mul(v_set(a->cap), v_tanh(v_div(s, v_set(a->cap))));
		s = v_keep(pair->hi - p, s, v_set(-INFINITY));
		s = v_keep(pair->lo - p, v_set(-INFINITY), s);
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
	for (int p = from; p < pair->hi; p += 16) {
		vf w = v_exp(v_sub(v_load(pair->s + p), v_set(max)));
		w = v_keep(pair->hi - p, w, v_set(0));
		w = v_keep(pair->lo - p, v_set(0), w);
		v_store(pair->s + p, w);
		sum = v_add(sum, w);
	}
	*l = v_sum(sum);
	if (sink)
		*l += fm_expf(*sink - max);
}

INLINE void all_scores(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                       int n)
{
	int i = 0;

	for (; i + TILE_Q <= n; i += TILE_Q) {
		int lo = pair[i].lo, hi = pair[i].hi;
		for (int j = 1; j < TILE_Q; j++) {
			lo = pair[i + j].lo < lo ? pair[i + j].lo : lo;
			hi = pair[i + j].hi > hi ? pair[i + j].hi : hi;
		}
		scores_over(a, type, pair + i, TILE_Q, lo, hi);
	}
	for (; i < n; i++)
		scores_over(a, type, pair + i, 1, pair[i].lo, pair[i].hi);
}

INLINE void all_weights(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                        int n)
{
	int i = 0;

	for (; i + TILE_Q <= n; i += TILE_Q) {
		int lo = pair[i].lo, hi = pair[i].hi;
		for (int j = 1; j < TILE_Q; j++) {
			lo = pair[i + j].lo > lo ? pair[i + j].lo : lo;
			hi = pair[i + j].hi < hi ? pair[i + j].hi : hi;
		}
		hi = hi > lo ? hi : lo;
		for (int j = 0; j < TILE_Q; j++)
			weigh_own(a, type, pair + i + j, 0, lo);
		weigh_over(a, type, pair + i, lo, hi, TILE_Q);
		for (int j = 0; j < TILE_Q; j++)
			weigh_own(a, type, pair + i + j, hi, KERN_SPLIT);
	}
	for (; i < n; i++)
		weigh_own(a, type, pair + i, 0, KERN_SPLIT);
}

/* one copy of the loops per type; types of packed caches join here */
static void scores_f32(const struct kern_attn *a, const struct pair *p, int n)
{
	all_scores(a, INFER_F32, p, n);
}
static void scores_f16(const struct kern_attn *a, const struct pair *p, int n)
{
	all_scores(a, INFER_F16, p, n);
}
static void weights_f32(const struct kern_attn *a, const struct pair *p, int n)
{
	all_weights(a, INFER_F32, p, n);
}
static void weights_f16(const struct kern_attn *a, const struct pair *p, int n)
{
	all_weights(a, INFER_F16, p, n);
}

static void pair_fill(const struct kern_attn *a, struct pair *pair, float *scratch, int i)
{
	int r = i / a->heads, h = i % a->heads, at = a->pos + r;
	int lo = a->window && at - a->window + 1 > a->from ? at - a->window + 1 : a->from,
	    hi = at + 1 < a->to ? at + 1 : a->to;

	pair->q = a->q + (size_t)r * a->q_row + (size_t)h * (size_t)a->dk;
	pair->o = a->o + (size_t)r * a->o_row + (size_t)h * (size_t)a->dv;
	pair->s = scratch;
	pair->lo = lo < hi ? lo - a->from : 0;
	pair->hi = lo < hi ? hi - a->from : 0;
	for (int d = 0; d < a->dv; d++)
		pair->o[d] = 0;
}

void KERN_FN(attn)(const struct kern_attn *a)
{
	int all = a->rows * a->heads;

	must(a->from % KERN_SPLIT == 0 && a->to - a->from <= KERN_SPLIT);
	must((a->k_type == INFER_F32 || a->k_type == INFER_F16) &&
	     (a->v_type == INFER_F32 || a->v_type == INFER_F16));
	for (int i = 0; i < all; i += KERN_ATTN_Q) {
		struct pair pair[KERN_ATTN_Q];
		int n = all - i < KERN_ATTN_Q ? all - i : KERN_ATTN_Q;
		for (int j = 0; j < n; j++)
			pair_fill(a, &pair[j], a->scratch + (size_t)j * KERN_SPLIT, i + j);
		(a->k_type == INFER_F16 ? scores_f16 : scores_f32)(a, pair, n);
		for (int j = 0; j < n; j++) {
			int r = (i + j) / a->heads, h = (i + j) % a->heads;
			size_t at = (size_t)r * a->ml_row + (size_t)h;
			soften(a, &pair[j], a->sink ? a->sink + h : NULL, a->m + at, a->l + at);
		}
		(a->v_type == INFER_F16 ? weights_f16 : weights_f32)(a, pair, n);
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
