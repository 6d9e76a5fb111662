/* kern/tmpl/attn_q.h - the loops of attention over pages of Q8_0 and Q4_0: codes against 16-bit
 * integers, two products a lane.
 *
 *   s[p] = fma(c d[p], (float)sum i[k] code[k][p], s)    a block of dimensions; c, i: of q
 *   o[d] = fma(c, (float)sum i[p] code[p][d], o)         a page of positions;   c, i: of w d
 *   |sum| < 32 * 2^15 * 2^7, so that i32 holds it;  limits: dk, dv % 32 == 0
 *
 * Codes of Q4_0 stand 8 too high: sums begin at -8 sum i.  Included by tmpl/attn.h. */

/* 32 numbers in 16 bits */
struct round {
	int16_t i[32];
	float c;
	int32_t minus; /* -8 sum i */
};

/* the numbers of x0, then those of x1 */
INLINE void round_16(struct round *r, enum infer_type type, vf x0, vf x1)
{
	const vf magic = v_set(0x1.8p23f);
	vi most = vi_max(v_bits(v_abs(x0)), v_bits(v_abs(x1)));
	float c = num_float((uint32_t)vi_hmax(most)) / 32767.0f, by = 0;

	if (c >= 0x1p-126f && c < INFINITY)
		by = 1.0f / c;
	vi i0 = vi_sub(v_bits(v_fma(x0, v_set(by), magic)), v_bits(magic));
	vi i1 = vi_sub(v_bits(v_fma(x1, v_set(by), magic)), v_bits(magic));
	if (by == 0)
		i0 = i1 = vi_set(0);
	vi_store_s16(r->i, i0);
	vi_store_s16(r->i + 16, i1);
	r->c = c < 0x1p-126f ? 0.0f : c;
	r->minus = 0;
	if (type == INFER_Q4_0)
		r->minus = -8 * (int32_t)v_sum(v_int(vi_add(i0, i1)));
}

static void round_q(const struct kern_attn *a, const struct pair *pair)
{
	for (int b = 0; b < a->dk / 32; b++)
		round_16(&pair->rq[b], INFER_Q4_0, v_load(pair->q + 32 * b),
		         v_load(pair->q + 32 * b + 16));
}

INLINE const uint16_t *scales(enum infer_type type, const void *page, int dim)
{
	size_t codes = (size_t)KERN_PAGE * (size_t)dim / (type == INFER_Q8_0 ? 1 : 2);

	return (const uint16_t *)(const void *)((const char *)page + codes);
}

/* The weights of the page that begins at p, times the scales of each block of V. */
INLINE void round_weights(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                          const void *page, int p)
{
	const uint16_t *d = scales(type, page, a->dv);
	int whole = sees_all(pair, p, KERN_PAGE);

	if (pair->lo >= p + KERN_PAGE || pair->hi <= p) {
		for (int b = 0; b < a->dv / 32; b++)
			pair->rw[b] = (struct round){{0}, 0, 0};
		return;
	}
	for (int b = 0; b < a->dv / 32; b++) {
		vf x[2];
		UNROLL
		for (int j = 0; j < 2; j++) {
			int at = p + 16 * j;
			x[j] = v_mul(v_load(pair->s + at), v_load_h(d + b * KERN_PAGE + 16 * j));
			if (!whole) {
				x[j] = v_keep(pair->hi - at, x[j], v_set(0));
				x[j] = v_keep(pair->lo - at, v_set(0), x[j]);
			}
		}
		round_16(&pair->rw[b], type, x[0], x[1]);
	}
}

/* two neighbours of r->i in every lane */
INLINE vi two(const struct round *r, int at)
{
	int32_t x;

	__builtin_memcpy(&x, r->i + at, sizeof x);
	return vi_set(x);
}

/* acc[q][v] += integers of qn pairs, from number `at` of block b on, by vn vectors of codes */
INLINE void mac(vi *acc, struct round *const *r, int b, int at, const vi *codes, int qn, int vn)
{
	UNROLL
	for (int q = 0; q < qn; q++) {
		vi x = two(&r[q][b], at);
		UNROLL
		for (int j = 0; j < vn; j++)
			acc[q * vn + j] = vi_mac16(acc[q * vn + j], codes[j], x);
	}
}

INLINE void scores_q(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                     const void *k, int p, int at, int qn)
{
	const vi low = vi_set(0x000f000f);
	const char *code = (const char *)k + 2 * at;
	const uint16_t *d = scales(type, k, a->dk) + at;
	struct round *r[SCORE_Q];
	int lines = type == INFER_Q8_0 ? 16 : 8;

	for (int q = 0; q < qn; q++)
		r[q] = pair[q].rq;
	for (int b = 0; b < a->dk / 32; b++) {
		vi acc[SCORE_Q * SCORE_V], x[SCORE_V], y[SCORE_V];
		UNROLL
		for (int j = 0; j < qn * SCORE_V; j++)
			acc[j] = vi_set(type == INFER_Q8_0 ? 0 : r[j / SCORE_V][b].minus);
		for (int g = 0; g < lines; g++, code += 2 * KERN_PAGE) {
			UNROLL
			for (int j = 0; j < SCORE_V; j++)
				x[j] = type == INFER_Q8_0 ? vi_load_s8(code + 32 * j)
				                          : vi_load_u8(code + 32 * j);
			v_prefetch(code + pair->k_ahead);
			if (type == INFER_Q8_0) {
				mac(acc, r, b, 2 * g, x, qn, SCORE_V);
				continue;
			}
			UNROLL
			for (int j = 0; j < SCORE_V; j++) {
				y[j] = vi_and(vi_shr4(x[j]), low);
				x[j] = vi_and(x[j], low);
			}
			mac(acc, r, b, 2 * g, x, qn, SCORE_V);
			mac(acc, r, b, 16 + 2 * g, y, qn, SCORE_V);
		}
		UNROLL
		for (int j = 0; j < qn * SCORE_V; j++) {
			float *s = pair[j / SCORE_V].s + p + at + 16 * (j % SCORE_V);
			vf c = v_mul(v_set(r[j / SCORE_V][b].c),
			             v_load_h(d + b * KERN_PAGE + 16 * (j % SCORE_V)));
			v_store(s, v_fma(c, v_int(acc[j]), b ? v_load(s) : v_set(0)));
		}
	}
}

/* o[q][32 b ... 32 (b + bn)) of qn pairs over one page */
INLINE void sums_blocks(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                        const char *code, int b, int qn, int bn)
{
	const vi low = vi_set(0x000f000f);
	vi acc[SUM_Q][SUM_V];
	struct round *r[SUM_Q];

	for (int q = 0; q < qn; q++)
		r[q] = pair[q].rw + b;
	UNROLL
	for (int j = 0; j < qn * 2 * bn; j++)
		acc[j / (2 * bn)][j % (2 * bn)] =
		    vi_set(type == INFER_Q8_0 ? 0 : r[j / (2 * bn)][j / 2 % bn].minus);
	for (int p = 0; p < KERN_PAGE; p += 2) {
		UNROLL
		for (int i = 0; i < bn; i++) {
			vi x[2];
			if (type == INFER_Q8_0) {
				const char *at = code + ((size_t)p / 2 * (size_t)a->dv + (size_t)(b + i) * 32) * 2;
				x[0] = vi_load_s8(at);
				x[1] = vi_load_s8(at + 32);
				v_prefetch(at + pair->v_ahead);
			} else {
				vi both = vi_load_u8(
				    code + ((size_t)p / 2 * (size_t)(a->dv / 32) + (size_t)(b + i)) * 32);
				x[0] = vi_and(both, low);
				x[1] = vi_and(vi_shr4(both), low);
				if (i % 2 == 0)
					v_prefetch(code + pair->v_ahead +
					           ((size_t)p / 2 * (size_t)(a->dv / 32) + (size_t)(b + i)) * 32);
			}
			UNROLL
			for (int j = 0; j < qn * 2; j++)
				acc[j / 2][2 * i + j % 2] = vi_mac16(acc[j / 2][2 * i + j % 2], x[j % 2],
				                                     two(&r[j / 2][i], p));
		}
	}
	UNROLL
	for (int j = 0; j < qn * 2 * bn; j++) {
		float *o = pair[j / (2 * bn)].o + 32 * b + 16 * (j % (2 * bn));
		v_store(o, v_fma(v_set(r[j / (2 * bn)][j / 2 % bn].c),
		                 v_int(acc[j / (2 * bn)][j % (2 * bn)]), v_load(o)));
	}
}

INLINE void sums_q(const struct kern_attn *a, enum infer_type type, const struct pair *pair,
                   const void *page, int p, int qn)
{
	const char *code = page;
	int seen = 0, b = 0;

	for (int q = 0; q < qn; q++)
		seen |= pair[q].lo < p + KERN_PAGE && pair[q].hi > p;
	if (!seen)
		return;
	for (; b + SUM_V / 2 <= a->dv / 32; b += SUM_V / 2)
		sums_blocks(a, type, pair, code, b, qn, SUM_V / 2);
	for (; b < a->dv / 32; b++)
		sums_blocks(a, type, pair, code, b, qn, 1);
}
