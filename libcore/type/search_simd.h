/* type/search_simd.h - (private) macros for registers of SETS (2 or 4) sets of four lanes.  No
 * guard: included once for each value of SETS. */
#undef WIDE
#undef OF
#undef V
#undef SPREAD
#undef LOAD
#undef EACH
#undef AT_LEAST
#undef AT_MOST
#if SETS == 2
#define WIDE __attribute__((target("avx2")))
#define OF(name) name##_avx2
#define V __m256
#define SPREAD(p) _mm256_broadcast_ps((const __m128 *)(p))
#define LOAD(p) _mm256_loadu_ps((const float *)(p))
#define EACH(v, from) \
	_mm256_permutevar8x32_ps( \
		_mm256_castps128_ps256(v), \
		_mm256_setr_epi32(from, from, from, from, from + 1, from + 1, from + 1, from + 1))
#define AT_LEAST _mm256_max_ps
#define AT_MOST _mm256_min_ps
#else
#define WIDE __attribute__((target("avx512f")))
#define OF(name) name##_avx512
#define V __m512
#define SPREAD(p) _mm512_broadcast_f32x4(*(const __m128 *)(p))
#define LOAD(p) _mm512_loadu_ps((const float *)(p))
#define EACH(v, from) \
	_mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3), \
	                      _mm512_castps128_ps512(v))
#define AT_LEAST _mm512_max_ps
#define AT_MOST _mm512_min_ps
#endif
