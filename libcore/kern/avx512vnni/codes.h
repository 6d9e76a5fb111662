/* kern/avx512vnni/codes.h - the operations of tmpl/codes.h with products of bytes: a 16-bit number
 * is 256 h + l, both signed bytes. */
#ifndef KERN_AVX512VNNI_CODES_H
#define KERN_AVX512VNNI_CODES_H

typedef vi vcode;
typedef struct {
	vi h, l;
} vnum, vsum;
struct fixed32 {
	/* [i][j]: h, then l, of numbers 16 j + 4 i ... 16 j + 4 i + 3, in the order of the codes in
	 * a lane */
	int8_t of[4][2][2][4];
};

INLINE vcode code_load(const void *p) { return _mm512_loadu_si512(p); }
INLINE void code_halves(vcode *low, vcode *high, const void *p)
{
	vi x = _mm512_loadu_si512(p);

	*low = vi_and(x, vi_set(0x0f0f0f0f));
	*high = vi_and(vi_shr4(x), vi_set(0x0f0f0f0f));
}

INLINE vi broadcast4(const int8_t *p)
{
	int32_t x;

	__builtin_memcpy(&x, p, sizeof x);
	return vi_set(x);
}
INLINE vnum fixed_get4(const struct fixed32 *r, int g)
{
	return (vnum){ broadcast4(r->of[g % 4][g / 4][0]), broadcast4(r->of[g % 4][g / 4][1]) };
}
INLINE void fixed_store(struct fixed32 *r, vi x0, vi x1)
{
	const vi half = vi_set(0x00800080);
	const vi order = _mm512_broadcast_i32x4(
		_mm_setr_epi8(1, 5, 3, 7, 0, 4, 2, 6, 9, 13, 11, 15, 8, 12, 10, 14));
	vi x = _mm512_packs_epi32(x0, x1);

	/* l is the low byte, read as signed, and h the high byte, plus one if l is negative */
	x = _mm512_xor_si512(_mm512_add_epi16(x, half), half);
	_mm512_storeu_si512(r, _mm512_shuffle_epi8(x, order));
}

/* In assembly: with the intrinsic, gcc 12 copies every sum twice in each iteration. */
INLINE vi dot(vi acc, vi codes, vi indices)
{
	__asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(codes), "v"(indices));
	return acc;
}
INLINE vsum sum_from(int32_t x) { return (vsum){ vi_set(0), vi_set(x) }; }
INLINE vsum sum_mac(vsum acc, vcode x, vnum y)
{
	return (vsum){ dot(acc.h, x, y.h), dot(acc.l, x, y.l) };
}
INLINE vi sum_of(vsum x) { return vi_add(_mm512_slli_epi32(x.h, 8), x.l); }
#endif
