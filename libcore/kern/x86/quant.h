/* kern/x86/quant.h - quantise activations to 8 bits in 256-bit registers (x86); rounding: enum
 * kern_form. */

/* Quantise n numbers, a multiple of 32.  Returns the scale. */
INLINE float quantise(int8_t *q, const float *x, int n)
{
	const __m256i abs = _mm256_set1_epi32(0x7fffffff),
		      order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	__m256i amax = _mm256_setzero_si256();
	float inverse, d;

	for (int i = 0; i < n; i += 8)
		amax = _mm256_max_epu32(amax, _mm256_and_si256(load32(x + i), abs));
	__m128i m = _mm_max_epu32(_mm256_castsi256_si128(amax), _mm256_extracti128_si256(amax, 1));
	m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
	m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
	d = act_scale((uint32_t)_mm_cvtsi128_si32(m), &inverse);
	/* if inverse is 0, every number becomes 0, also NaN and infinity */
	const __m256i keep = _mm256_set1_epi32(inverse == 0 ? 0 : -1);
	for (int i = 0; i < n; i += 32) {
		__m256i v[4];
		UNROLL
		for (int j = 0; j < 4; j++)
			v[j] = _mm256_and_si256(keep, _mm256_cvtps_epi32(_mm256_mul_ps(
							      _mm256_loadu_ps(x + i + 8 * j),
							      _mm256_set1_ps(inverse))));
		__m256i b = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]),
		                               _mm256_packs_epi32(v[2], v[3]));
		b = _mm256_permutevar8x32_epi32(b, order);
		_mm256_storeu_si256((__m256i *)(void *)(q + i), b);
	}
	return d;
}

/* sums8: four sums of 8 neighbours, each plus 8 * 128; then: likewise for magnitudes */
INLINE __m256i sums8(__m256i q)
{
	return _mm256_sad_epu8(_mm256_xor_si256(q, _mm256_set1_epi8(-128)), _mm256_setzero_si256());
}
INLINE __m256i sizes8(__m256i q)
{
	return _mm256_sad_epu8(_mm256_abs_epi8(q), _mm256_setzero_si256());
}

void KERN_FN(quant_q8)(struct kern_act *x, int row, const float *src, int k)
{
	struct kern_q8 *b = (struct kern_q8 *)(void *)((char *)x->q + (size_t)row * x->q_row);

	for (int i = 0; i < k / 32; i++) {
		b[i].d = quantise(b[i].q, src + 32 * i, 32);
		__m256i s = sums8(load32(b[i].q));
		__m128i a =
			_mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
		b[i].neg_sum =
			32 * 128 - _mm_cvtsi128_si32(_mm_add_epi32(a, _mm_shuffle_epi32(a, 0x4e)));
	}
}

/* Return sums of 16 as dwords.  x[i]: qwords with sums of 8, of 32 values each.  Low dwords: sums
 * of the first 16 of each 32, in the order 0 2 1 3; high dwords: of the second 16. */
INLINE __m256i sums16(const __m256i x[4])
{
	__m256i a = _mm256_add_epi64(_mm256_unpacklo_epi64(x[0], x[1]),
	                             _mm256_unpackhi_epi64(x[0], x[1]));
	__m256i b = _mm256_add_epi64(_mm256_unpacklo_epi64(x[2], x[3]),
	                             _mm256_unpackhi_epi64(x[2], x[3]));

	return _mm256_or_si256(a, _mm256_slli_epi64(b, 32));
}
INLINE __m128i sum_halves(__m256i x)
{
	return _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}
INLINE int32_t hmax4(__m128i x)
{
	x = _mm_max_epi32(x, _mm_shuffle_epi32(x, 0x4e));
	return _mm_cvtsi128_si32(_mm_max_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
}

/* Set all sums of a block, as act_sums_fill does. */
INLINE void sums_fill(struct kern_q8k *b)
{
	const __m256i zero = _mm256_setzero_si256(), above = _mm256_set1_epi32(16 * 128),
		      odd = _mm256_setr_epi32(0, KERN_BIT15, 0, KERN_BIT15, 0, KERN_BIT15, 0,
	                                      KERN_BIT15);
	__m256i sum[2], size[2];
	__m128i of32[2], max32[2];

	UNROLL
	for (int h = 0; h < 2; h++) {
		__m256i s[4], a[4];
		UNROLL
		for (int i = 0; i < 4; i++) {
			__m256i q = load32(b->q + 128 * h + 32 * i);
			s[i] = sums8(q);
			a[i] = sizes8(q);
		}
		sum[h] = _mm256_sub_epi32(sums16(s), above);
		size[h] = sums16(a);
		of32[h] = sum_halves(sum[h]);
		max32[h] = _mm_add_epi32(sum_halves(size[h]), _mm_abs_epi32(of32[h]));
		sum[h] = _mm256_shuffle_epi32(sum[h], 0xd8); /* 0 1 2 3 */
		__m256i minus = _mm256_slli_epi32(_mm256_sub_epi32(zero, sum[h]), 5);
		__m128i even = _mm256_castsi256_si128(minus),
			uneven = _mm256_extracti128_si256(minus, 1);
		minus = _mm256_set_m128i(_mm_unpackhi_epi32(even, uneven),
		                         _mm_unpacklo_epi32(even, uneven));
		_mm256_storeu_si256((__m256i *)(void *)(b->pairs.start + 8 * h),
		                    _mm256_add_epi32(minus, odd));
	}
	_mm256_storeu_si256((__m256i *)(void *)b->s16, _mm256_packs_epi32(sum[0], sum[1]));
	_mm_storeu_si128((__m128i *)(void *)b->s32, _mm_packs_epi32(of32[0], of32[1]));
	__m128i all = _mm_add_epi32(of32[0], of32[1]);
	all = _mm_add_epi32(all, _mm_shuffle_epi32(all, 0x4e));
	b->s256 = _mm_cvtsi128_si32(_mm_add_epi32(all, _mm_shuffle_epi32(all, 0xb1)));
	b->pairs.max32 = hmax4(_mm_max_epi32(max32[0], max32[1]));
	__m256i max16 = _mm256_max_epi32(size[0], size[1]);
	b->pairs.max16 = hmax4(
		_mm_max_epi32(_mm256_castsi256_si128(max16), _mm256_extracti128_si256(max16, 1)));
}

void KERN_FN(quant_q8k)(struct kern_act *x, int row, const float *src, int k)
{
	struct kern_q8k *b = (struct kern_q8k *)(void *)((char *)x->q + (size_t)row * x->q_row);

	for (int i = 0; i < k / 256; i++) {
		b[i].d = quantise(b[i].q, src + 256 * i, 256);
		sums_fill(&b[i]);
	}
}
