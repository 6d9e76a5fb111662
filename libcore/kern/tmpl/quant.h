/* kern/tmpl/quant.h - activations into 8 bits, on 256 bits (x86); the rule stands over enum
 * kern_form. */

/* quantise n (a multiple of 32) numbers; quad: sums of 4 neighbours */
INLINE float quantise(int8_t *q, int32_t *quad, const float *x, int n)
{
	const __m256i abs = _mm256_set1_epi32(0x7fffffff),
	              order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	__m256i most = _mm256_setzero_si256();
	float inverse, d;

	for (int i = 0; i < n; i += 8)
		most = _mm256_max_epu32(most, _mm256_and_si256(load32(x + i), abs));
	__m128i m = _mm_max_epu32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
	m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
	m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
	d = act_scale((uint32_t)_mm_cvtsi128_si32(m), &inverse);
	/* of a block without a scale every number is to give 0, and NaN or infinity times 0 would
	 * not */
	const __m256i keep = _mm256_set1_epi32(inverse == 0 ? 0 : -1);
	for (int i = 0; i < n; i += 32) {
		__m256i v[4];
		UNROLL
		for (int j = 0; j < 4; j++)
			v[j] = _mm256_and_si256(
			    keep, _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i + 8 * j),
			                                           _mm256_set1_ps(inverse))));
		__m256i b = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]),
		                               _mm256_packs_epi32(v[2], v[3]));
		b = _mm256_permutevar8x32_epi32(b, order);
		_mm256_storeu_si256((__m256i *)(void *)(q + i), b);
		_mm256_storeu_si256((__m256i *)(void *)(quad + i / 4),
		                    dot_us(_mm256_set1_epi8(1), b));
	}
	return d;
}

void KERN_FN(quant_q8)(struct kern_act *x, int row, const float *src, int k)
{
	struct kern_q8 *b = (struct kern_q8 *)(void *)((char *)x->q + (size_t)row * x->q_row);

	for (int i = 0; i < k / 32; i++) {
		int32_t quad[8];
		b[i].d = quantise(b[i].q, quad, src + 32 * i, 32);
		b[i].minus = -(quad[0] + quad[1] + quad[2] + quad[3] + quad[4] + quad[5] + quad[6] +
		               quad[7]);
	}
}

void KERN_FN(quant_q8k)(struct kern_act *x, int row, const float *src, int k)
{
	struct kern_q8k *b = (struct kern_q8k *)(void *)((char *)x->q + (size_t)row * x->q_row);

	for (int i = 0; i < k / 256; i++) {
		int32_t quad[64];
		b[i].d = quantise(b[i].q, quad, src + 256 * i, 256);
		act_sums_fill(&b[i], quad);
	}
}
