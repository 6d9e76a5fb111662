/* kern/tmpl/codes.h - products of codes of a quantised cache and 16-bit fixed-point numbers, four
 * in a lane, for attn_q.h.  These use products of pairs of 16-bit halves; a kernel set with
 * products of bytes has its own codes.h.
 *
 *   vcode  64 unsigned codes, four neighbours in a lane, in the byte order 0, 2, 1, 3
 *   vnum   four numbers, |x| <= KERN_FIXED_MAX, the same in every lane
 *   vsum   sums of products, exact modulo 2^32
 * struct fixed32: 32 numbers in 64 bytes. */
#ifndef KERN_TMPL_CODES_H
#define KERN_TMPL_CODES_H

typedef struct {
	vi a, b;
} vcode, vnum;
typedef vi vsum;
struct fixed32 {
	int16_t of[32];
};

INLINE vcode code_load(const void *p)
{
	vi x = vi_load(p);

	return (vcode){ vi_and(x, vi_set(0x00ff00ff)), vi_and(vi_shr8(x), vi_set(0x00ff00ff)) };
}
/* Load 64 bytes; set *low, *high to the low and the high halves of each byte. */
INLINE void code_halves(vcode *low, vcode *high, const void *p)
{
	const vi mask = vi_set(0x000f000f);
	vi x = vi_load(p), y = vi_shr8(x);

	*low = (vcode){ vi_and(x, mask), vi_and(y, mask) };
	*high = (vcode){ vi_and(vi_shr4(x), mask), vi_and(vi_shr4(y), mask) };
}

INLINE vi broadcast2(const int16_t *p)
{
	int32_t x;

	__builtin_memcpy(&x, p, sizeof x);
	return vi_set(x);
}
/* Return numbers 4 g ... 4 g + 3 of r. */
INLINE vnum fixed_get4(const struct fixed32 *r, int g)
{
	return (vnum){ broadcast2(r->of + 4 * g), broadcast2(r->of + 4 * g + 2) };
}
/* Store the numbers of x0, then those of x1. */
INLINE void fixed_store(struct fixed32 *r, vi x0, vi x1)
{
	vi_store_s16(r->of, x0);
	vi_store_s16(r->of + 16, x1);
}

INLINE vsum sum_from(int32_t x) { return vi_set(x); }
INLINE vsum sum_mac(vsum acc, vcode x, vnum y)
{
	return vi_mac16(vi_mac16(acc, x.a, y.a), x.b, y.b);
}
INLINE vi sum_of(vsum x) { return x; }
#endif
