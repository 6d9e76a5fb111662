/* kern/tmpl/mm_q32.h - products of weights in blocks of 32, over the words of int.h (x86).
 *
 *   rows   8 rows in place: unpack a block of each, dot with x, a transposing tree of adds makes 8 sums, one fma
 *   panel  per block: d f32 [NR] | m f32 [NR] where there are minima | q u8 [8][NR][4] (4 neighbours of each row)
 *   tile   NR rows x T tokens: x 4 bytes broadcast; the zero point is in the accumulator's start, -z sum(x)
 *   y = fma(d dx, sum q x, y), blocks ascending; with m a second chain fma(m dx, sum x, .) is added at the end
 *   bytes per flop and limits: ref/mm_q32.c */

INLINE void rows32(enum infer_type type, int tn, float *y, size_t ldy, const uint8_t *w, const struct step *s,
                   const struct kern_act *x, int x_row, int k)
{
	const int bytes = q_bytes(type);
	const int8_t *xq = act_q(x, x_row);
	const float *xd = act_d(x, x_row);
	const int32_t *xs = act_s(x, x_row);
	const uint8_t *next = w + 8 * s->stride;
	__m256 sum[4], min[4];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = min[t] = _mm256_setzero_ps();
	for (int b = 0; b < k / 32; b++, w += bytes, xq += 32, next += 8 * bytes) {
		__m256i q[8], a[8];
		__m256 d = scales32(type, w, s->stride), mn = sum[0];
		ask(next, 8 * bytes);
		if (q_minima(type))
			mn = halves8(w + 2, s->stride);
		UNROLL
		for (int r = 0; r < 8; r++)
			q[r] = unpack32(type, w + (size_t)r * s->stride);
		UNROLL
		for (int t = 0; t < tn; t++) {
			__m256i xv = load32(xq + (size_t)t * x->q_row);
			__m256 dx = _mm256_set1_ps(xd[(size_t)t * x->d_row + (size_t)b]);
			int32_t sx = xs[(size_t)t * x->s_row + (size_t)b];
			UNROLL
			for (int r = 0; r < 8; r++)
				a[r] = q_signed(type) ? dot_ss(q[r], xv) : dot_us(q[r], xv);
			__m256i is = red8(a);
			if (q_zero(type))
				is = _mm256_sub_epi32(is, _mm256_set1_epi32(q_zero(type) * sx));
			sum[t] = _mm256_fmadd_ps(_mm256_mul_ps(d, dx), _mm256_cvtepi32_ps(is), sum[t]);
			if (q_minima(type))
				min[t] = _mm256_fmadd_ps(_mm256_mul_ps(mn, dx), _mm256_cvtepi32_ps(_mm256_set1_epi32(sx)), min[t]);
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put8(y + (size_t)t * ldy, q_minima(type) ? _mm256_add_ps(sum[t], min[t]) : sum[t], s->keep);
}

INLINE int panel32(enum infer_type type) { return NR * 4 * (q_minima(type) ? 10 : 9); }

INLINE void pack32(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n, int k)
{
	const __m256i flip = _mm256_set1_epi8((char)(q_signed(type) ? FLIP : 0));

	for (int b = 0; b < k / 32; b++, w += q_bytes(type)) {
		float *d = (float *)(void *)dst, *mn = d + NR;
		uint8_t *q = dst + NR * 4 * (q_minima(type) ? 2 : 1);
		for (int h = 0; h < NR; h += 8) {
			__m256i v[8];
			for (int r = 0; r < 8; r++) {
				/* rows past the end repeat the last */
				const uint8_t *p = w + (size_t)(h + r < n ? h + r : n - 1) * row_bytes;
				v[r] = _mm256_xor_si256(unpack32(type, p), flip);
				d[h + r] = type == INFER_MXFP4 ? num_e8m0(*p) * 0.5f : num_f16(num_u16(p));
				if (q_minima(type))
					mn[h + r] = num_f16(num_u16(p + 2));
			}
			turn8(v);
			for (int i = 0; i < 8; i++)
				_mm256_storeu_si256((__m256i *)(void *)(q + i * NR * 4 + h * 4), v[i]);
		}
		dst += panel32(type);
	}
}

INLINE void tile32(enum infer_type type, int tn, float *y, size_t ldy, const uint8_t *p, const struct kern_act *x, int x_row,
                   int n, int k)
{
	const int8_t *xq = act_q(x, x_row);
	const float *xd = act_d(x, x_row);
	const int32_t *xs = act_s(x, x_row);
	const int zero = q_signed(type) ? FLIP : q_zero(type);
	wf sum[TILE_T], min[TILE_T];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = min[t] = wf_set(0);
	for (int b = 0; b < k / 32; b++, p += panel32(type), xq += 32) {
		const uint8_t *q = p + NR * 4 * (q_minima(type) ? 2 : 1);
		wi is[TILE_T];
		UNROLL
		for (int t = 0; t < tn; t++)
			is[t] = wi_set(zero ? -zero * xs[(size_t)t * x->s_row + (size_t)b] : 0);
		UNROLL
		for (int i = 0; i < 8; i++) {
			wi wv = wi_load(q + i * NR * 4);
			UNROLL
			for (int t = 0; t < tn; t++) {
				wi xv = wi_set((int32_t)num_u32(xq + (size_t)t * x->q_row + 4 * i));
				is[t] = q_signed(type) ? wi_dot_ws(is[t], wv, xv) : wi_dot(is[t], wv, xv);
			}
		}
		wf d = wf_load(p);
		UNROLL
		for (int t = 0; t < tn; t++) {
			wf dx = wf_set(xd[(size_t)t * x->d_row + (size_t)b]);
			sum[t] = wf_fma(wf_mul(d, dx), wf_from(is[t]), sum[t]);
			if (q_minima(type))
				min[t] = wf_fma(wf_mul(wf_load(p + NR * 4), dx),
				                wf_from(wi_set(xs[(size_t)t * x->s_row + (size_t)b])), min[t]);
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		wf_put(y + (size_t)t * ldy, q_minima(type) ? wf_add(sum[t], min[t]) : sum[t], n);
}

#define ROW(TYPE, name) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, const struct kern_act *x, int x_row, \
	                          int m, int n, int k) \
	{ Q_ROWS(rows32, INFER_##TYPE, y, ldy, w, row_bytes, x, x_row, m, n, k); } \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ pack32(INFER_##TYPE, dst, w, row_bytes, n, k); } \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, const struct kern_act *x, int x_row, int m, int n, \
	                          int k) \
	{ Q_TILE(tile32, INFER_##TYPE, y, ldy, packed, x, x_row, m, n, k); } \
	size_t KERN_FN(name##_pack_bytes)(int k) { return (size_t)(k / 32) * (size_t)panel32(INFER_##TYPE); }
KERN_ROWS_32(ROW)
#undef ROW
