/* kern/tmpl/attn_q.h - attention over pages of Q8_0 and Q4_0: products of codes and fixed-point
 * numbers up to KERN_FIXED_MAX, four in a lane (tmpl/codes.h).
 *
 *   s[p] = fma(d[p], (float)sum i[k] code[k][p], s)      over a block of dimensions;  i: q in fixed point
 *   o[d] = c (float)sum i[p] code[p][d]                  over a split;  i, c: w d in fixed point
 *   |sum| <= 256 KERN_FIXED_MAX 2^7, so that i32 holds it;  limits: dk, dv % 32 == 0
 *
 * Codes are stored plus 128 (Q8_0) or plus 8 (Q4_0), so sums start from -128 or -8 times the sum of
 * i.  Included by tmpl/attn.h. */

enum {
	CODE_Q = 4,
	CODE_V = WIDE ? 2 : 1,
	SUMS_Q = WIDE ? 4 : 2,
	SPLIT_PAGES = KERN_SPLIT / KERN_PAGE
};

static int is_codes(enum infer_type type) { return type == INFER_Q8_0 || type == INFER_Q4_0; }
INLINE int32_t code_zero(enum infer_type type) { return type == INFER_Q8_0 ? 128 : 8; }

/* Return the unit c for magnitudes up to amax, and set *by to 1 / c or 0. */
static float fixed_unit(float amax, float *by)
{
	float c = amax / (float)KERN_FIXED_MAX;

	*by = c >= 0x1p-126f && c < INFINITY ? 1.0f / c : 0;
	return c < 0x1p-126f ? 0.0f : c;
}

/* Return x y, rounded to the nearest integer. */
INLINE vi to_fixed(vf x, vf y)
{
	const vf magic = v_set(0x1.8p23f);

	return vi_sub(v_bits(v_fma(x, y, magic)), v_bits(magic));
}

static float q_amax(const float *q, int n)
{
	vi amax = vi_set(0);

	for (int i = 0; i < n; i += 16)
		amax = vi_max(amax, v_bits(v_abs(v_load(q + i))));
	return num_float((uint32_t)vi_hmax(amax));
}

static void q_to_fixed(const struct kern_attn *a, struct query *query)
{
	float by, c = fixed_unit(q_amax(query->q, a->dk), &by);

	for (int b = 0; b < a->dk / 32; b++) {
		vi x0 = vi_set(0), x1 = x0;
		if (by != 0) {
			x0 = to_fixed(v_load(query->q + 32 * b), v_set(by));
			x1 = to_fixed(v_load(query->q + 32 * b + 16), v_set(by));
		}
		fixed_store(&query->rq[b], x0, x1);
		query->q_start[b] = -code_zero((enum infer_type)a->k_type) *
		                    (int32_t)v_sum(v_int(vi_add(x0, x1)));
	}
	query->scale = c * a->scale;
}

INLINE const uint16_t *scales(enum infer_type type, const void *page, int dim)
{
	size_t codes = (size_t)KERN_PAGE * (size_t)dim / (type == INFER_Q8_0 ? 1 : 2);

	return (const uint16_t *)(const void *)((const char *)page + codes);
}

/* acc[q][v] += numbers 4 g ... 4 g + 3 of block b of qn queries, times vn vectors of codes. */
INLINE void mac(vsum *acc, struct fixed32 *const *r, int b, int g, const vcode *codes, int qn,
                int vn)
{
	UNROLL
	for (int q = 0; q < qn; q++) {
		vnum x = fixed_get4(&r[q][b], g);
		UNROLL
		for (int j = 0; j < vn; j++)
			acc[q * vn + j] = sum_mac(acc[q * vn + j], codes[j], x);
	}
}

INLINE void scores_q(const struct kern_attn *a, enum infer_type type, const struct query *query,
                     const void *k, ptrdiff_t ahead, int p, int at, int qn)
{
	const char *code = (const char *)k + 4 * at;
	const uint16_t *d = scales(type, k, a->dk) + at;
	struct fixed32 *r[CODE_Q];
	int lines = type == INFER_Q8_0 ? 8 : 4;

	for (int q = 0; q < qn; q++)
		r[q] = query[q].rq;
	for (int b = 0; b < a->dk / 32; b++) {
		vsum acc[CODE_Q * CODE_V];
		vcode x[CODE_V], y[CODE_V];
		UNROLL
		for (int j = 0; j < qn * CODE_V; j++)
			acc[j] = sum_from(query[j / CODE_V].q_start[b]);
		UNROLL
		for (int g = 0; g < lines; g++, code += 4 * KERN_PAGE) {
			UNROLL
			for (int j = 0; j < CODE_V; j++) {
				if (type == INFER_Q8_0)
					x[j] = code_load(code + 64 * j);
				else
					code_halves(&x[j], &y[j], code + 64 * j);
				v_prefetch_far(code + ahead + 64 * j);
			}
			mac(acc, r, b, g, x, qn, CODE_V);
			if (type == INFER_Q4_0)
				mac(acc, r, b, 4 + g, y, qn, CODE_V);
		}
		v_prefetch_far((const char *)(d + b * KERN_PAGE) + ahead);
		UNROLL
		for (int j = 0; j < qn * CODE_V; j++) {
			float *s = query[j / CODE_V].s + p + at + 16 * (j % CODE_V);
			vf dv = v_load_h(d + b * KERN_PAGE + 16 * (j % CODE_V));
			v_store(s, v_fma(dv, v_int(sum_of(acc[j])), b ? v_load(s) : v_set(0)));
		}
	}
}

/* Return 16 scales of V from position p of the split on; 0 at positions that the query does not
 * attend to. */
INLINE vf seen_scales(const struct query *query, const uint16_t *d, int p)
{
	vf x = v_load_h(d + p % KERN_PAGE);

	return sees_all(query, p, 16) ? x : mask_unseen(query, p, x, v_set(0));
}

/* Return the unit c of block b of V, and set *by to 1 / c.  Queries that attend to the same
 * positions have the same c. */
INLINE float v_unit(const struct kern_attn *a, enum infer_type type, const struct query *query,
                    size_t at, int b, float *by)
{
	vi amax0 = vi_set(0), amax1 = vi_set(0);

	for (int p = query->lo & -KERN_PAGE; p < query->hi; p += KERN_PAGE) {
		const uint16_t *d = scales(type, page_of(a->v, p, at), a->dv) + b * KERN_PAGE;
		amax0 = vi_max(amax0, v_bits(v_abs(seen_scales(query, d, p))));
		amax1 = vi_max(amax1, v_bits(v_abs(seen_scales(query, d, p + 16))));
	}
	return fixed_unit(num_float((uint32_t)vi_hmax(vi_max(amax0, amax1))), by);
}

/* Convert the weights of qn queries, times the scales of block b of V, to fixed point, in the pages
 * from lo to hi.  All the queries attend to the same positions; others become 0. */
INLINE void block_to_fixed(const struct kern_attn *a, enum infer_type type,
                           const struct query *query, size_t at, int b, int lo, int hi, int qn)
{
	vi sum[4];
	float by, c = v_unit(a, type, query, at, b, &by);

	UNROLL
	for (int q = 0; q < qn; q++)
		sum[q] = vi_set(0);
	for (int p = lo; p < hi; p += KERN_PAGE) {
		int seen = by != 0 && p + KERN_PAGE > query->lo && p < query->hi;
		vf e[2] = { v_set(0), v_set(0) };
		if (seen) {
			const uint16_t *d =
				scales(type, page_of(a->v, p, at), a->dv) + b * KERN_PAGE;
			e[0] = v_mul(seen_scales(query, d, p), v_set(by));
			e[1] = v_mul(seen_scales(query, d, p + 16), v_set(by));
		}
		UNROLL
		for (int q = 0; q < qn; q++) {
			vi x0 = vi_set(0), x1 = x0;
			if (seen) {
				x0 = to_fixed(v_load(query[q].s + p), e[0]);
				x1 = to_fixed(v_load(query[q].s + p + 16), e[1]);
			}
			sum[q] = vi_add(sum[q], vi_add(x0, x1));
			fixed_store(query[q].rw + (size_t)b * SPLIT_PAGES + p / KERN_PAGE, x0, x1);
		}
	}
	float sums[4];
	v_sum4(sums, v_int(sum[0]), v_int(sum[qn > 1 ? 1 : 0]), v_int(sum[qn > 2 ? 2 : 0]),
	       v_int(sum[qn > 3 ? 3 : 0]));
	UNROLL
	for (int q = 0; q < qn; q++) {
		query[q].w_start[b] = -code_zero(type) * (int32_t)sums[q];
		query[q].c[b] = query[q].l == query[q].l ? c : query[q].l;
	}
}

/* Convert the weights of qn queries to fixed point, for all blocks of V.  at: offset of the KV head
 * in a page */
INLINE void weights_to_fixed(const struct kern_attn *a, enum infer_type type,
                             const struct query *query, size_t at, int n, int lo, int hi)
{
	for (int i = 0, m; i < n; i += m) {
		for (m = 1; i + m < n && m < 4 && query[i + m].lo == query[i].lo &&
		            query[i + m].hi == query[i].hi;)
			m++;
		for (int b = 0; b < a->dv / 32; b++)
			if (m == 4) {
				block_to_fixed(a, type, query + i, at, b, lo, hi, 4);
			} else {
				m = 1;
				block_to_fixed(a, type, query + i, at, b, lo, hi, 1);
			}
	}
}

/* Compute o[q][32 b ...] of qn queries over the pages from lo to hi. */
INLINE void sums_block(const struct kern_attn *a, enum infer_type type, const struct query *query,
                       size_t at, const ptrdiff_t *ahead, int b, int lo, int hi, int qn)
{
	vsum acc[SUMS_Q * 2];
	size_t row = (size_t)a->dv * (type == INFER_Q8_0 ? 4 : 2);

	UNROLL
	for (int j = 0; j < qn * 2; j++)
		acc[j] = sum_from(query[j / 2].w_start[b]);
	for (int p = lo; p < hi; p += KERN_PAGE) {
		const char *page = page_of(a->v, p, at),
			   *code = page + (size_t)b * (type == INFER_Q8_0 ? 128 : 64);
		struct fixed32 *r[SUMS_Q];
		UNROLL
		for (int q = 0; q < qn; q++)
			r[q] = query[q].rw + (size_t)b * SPLIT_PAGES + p / KERN_PAGE;
		UNROLL
		for (int g = 0; g < 8; g++, code += row) {
			vcode x[2];
			v_prefetch_far(code + ahead[p / KERN_PAGE]);
			if (type == INFER_Q8_0) {
				x[0] = code_load(code);
				x[1] = code_load(code + 64);
				v_prefetch_far(code + ahead[p / KERN_PAGE] + 64);
			} else {
				code_halves(&x[0], &x[1], code);
			}
			mac(acc, r, 0, g, x, qn, 2);
		}
		v_prefetch_far((const char *)(scales(type, page, a->dv) + b * KERN_PAGE) +
		               ahead[p / KERN_PAGE]);
	}
	UNROLL
	for (int j = 0; j < qn * 2; j++)
		v_store(query[j / 2].o + 32 * b + 16 * (j % 2),
		        v_mul(v_set(query[j / 2].c[b]), v_int(sum_of(acc[j]))));
}

INLINE void sums_q(const struct kern_attn *a, enum infer_type type, const struct query *query,
                   size_t at, const ptrdiff_t *ahead, int n, int lo, int hi)
{
	weights_to_fixed(a, type, query, at, n, lo, hi);
	for (int b = 0; b < a->dv / 32; b++) {
		int i = 0;
		for (; i + SUMS_Q <= n; i += SUMS_Q)
			sums_block(a, type, query + i, at, ahead, b, lo, hi, SUMS_Q);
		for (; WIDE && i + SUMS_Q / 2 <= n; i += SUMS_Q / 2)
			sums_block(a, type, query + i, at, ahead, b, lo, hi, SUMS_Q / 2);
		for (; i < n; i++)
			sums_block(a, type, query + i, at, ahead, b, lo, hi, 1);
	}
}
