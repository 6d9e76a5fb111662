/* kern/x86/words.h - the operations that the int.h of an x86 folder defines, and a check of them:
 * kernels of quantised products include this, so the compiler names a definition that is missing or
 * has the wrong type.
 *
 * Every folder multiplies rows in place in 256 bits, and panels in registers of its own width: wi
 * for integers and wf for floats.  int.h includes <immintrin.h>, then kern/x86/q.h, the common
 * part, and defines the following (for panels of 256 bits, x86/words8.h defines them).
 *
 *   LANES     weight rows in one wi or wf: i32 or f32 each
 *   H         registers per weight of a panel, 1 or more
 *   NR        LANES * H, the weight rows of a panel
 *   TILE_T    rows of x of a tile, 4 or 6.  Needs registers for TILE_T * H sums of floats, as
 *             many integers, H of weights, one of x
 *   FLIP      added to signed weights when they are packed; FLIP times the sum of x is subtracted
 *             later: 128 if wi_dot_ws takes unsigned bytes, 0 if it takes signed ones
 *
 * Rows in place, dwords of __m256i.  u: unsigned bytes, below 130 if FLIP is 0.  x: signed bytes
 * above -128, as quant stores them.  Sums wrap around.
 *   dot_us(u, x)           the sum of the 4 products of each dword
 *   dot_add(acc, u, x)     acc + dot_us(u, x)
 *   mac16(acc, a, b)       acc + the sum of 2 products of i16
 *
 * Panels.  p may have any alignment
 *   wi_set(i) wi_load(p)   i in every lane; LANES i32
 *   wi_add wi_sub wi_mul   of i32, wrapping around;  wi_shl(a, n), a macro, n constant
 *   wi_dot(acc, u, x)      acc + dot_us, by lanes
 *   wi_dot_ws(acc, w, x)   the same for signed weights, as they are packed with FLIP
 *   wi_mac16(acc, a, b)    acc + the sum of 2 products of i16
 *   wf_set wf_load         like those of wi
 *   wf_add wf_sub wf_mul   of f32;  wf_fma(a, b, c): a b + c;  wf_fnma: c - a b;  each rounded once
 *   wf_from(a)             i32 to f32, to the nearest even
 *   wf_put(y, v, n)        store the first n lanes only: none if n < 1, all if n >= LANES */
#ifndef KERN_X86_WORDS_H
#define KERN_X86_WORDS_H

#ifndef wi_shl
#error "kern/x86/words.h: int.h defines no wi_shl(a, n)"
#endif

#define WORD(name, type, ...) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), type(__VA_ARGS__)), \
	               "kern/x86/words.h: int.h has another " #name)
_Static_assert(sizeof(wi) == 4 * LANES && sizeof(wf) == 4 * LANES, "LANES: lanes of wi and wf");
_Static_assert(NR == LANES * H && H >= 1 && NR % 8 == 0, "NR: H registers of LANES, by eights");
_Static_assert(TILE_T == 4 || TILE_T == 6, "TILE_T: as tokens_next deals rows of x out");
_Static_assert(FLIP == 0 || FLIP == 128, "FLIP: none, or the top bit of a byte");
WORD(dot_us, __m256i, __m256i, __m256i);
WORD(dot_add, __m256i, __m256i, __m256i, __m256i);
WORD(mac16, __m256i, __m256i, __m256i, __m256i);
WORD(wi_set, wi, int32_t);
WORD(wi_load, wi, const void *);
WORD(wi_add, wi, wi, wi);
WORD(wi_sub, wi, wi, wi);
WORD(wi_mul, wi, wi, wi);
WORD(wi_dot, wi, wi, wi, wi);
WORD(wi_dot_ws, wi, wi, wi, wi);
WORD(wi_mac16, wi, wi, wi, wi);
WORD(wf_set, wf, float);
WORD(wf_load, wf, const void *);
WORD(wf_add, wf, wf, wf);
WORD(wf_sub, wf, wf, wf);
WORD(wf_mul, wf, wf, wf);
WORD(wf_fma, wf, wf, wf, wf);
WORD(wf_fnma, wf, wf, wf, wf);
WORD(wf_from, wf, wi);
WORD(wf_put, void, float *, wf, int);
#endif
