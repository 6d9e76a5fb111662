/* kern/kv.h - K and V of one KV head in one page of the cache: KERN_PAGE positions.  Any thread;
 * the caller owns the storage, aligned to 64.
 *
 * K is stored by dimension, so that a lane of the product with q is one position; V is stored by
 * position.
 *   K  F32, F16  [dk][32]
 *      Q8_0      u8 [dk / 4][32][4]: dimensions 4g, 4g + 2, 4g + 1, 4g + 3 of a position, plus
 *                128; f16 d [dk / 32][32]
 *      Q4_0      u8 [dk / 32][4][32][4]: low halves are dimensions 4g, 4g + 2,
 *                   4g + 1, 4g + 3 of the block, high halves the same + 16; f16 d [dk / 32][32]
 *   V  F32, F16  [32][dv]
 *      Q8_0      u8 [8][dv][4]: positions 4p, 4p + 2, 4p + 1, 4p + 3, plus 128;
 *                f16 d [dv / 32][32]
 *      Q4_0      u8 [8][dv / 32][16][4]: the same positions; low halves are dimensions 0 ... 15 of
 *                   the block, high halves 16 ... 31; f16 d [dv / 32][32]
 * Values and rounding of a block of 32 are those of the format (type/q8_0.c, type/q4_0.c) and of
 * ggml's reference, in f32:
 *   Q8_0  d = max |x| / 127;  q = x (1 / d), to the nearest, ties away from zero
 *   Q4_0  d = x of the largest |x| (the first of equals) / -8;
 *         q = min(15, floor(fma(x, 1 / d, 8.5)))
 *   |d| below the smallest normal counts as 0; a block with a number that is not finite reads as NaN.
 *   q is computed with the exact d; reads use d rounded to f16. */
#ifndef KERN_KV_H
#define KERN_KV_H
#include "kern/kern.h"

/* Return the bytes of K (or V) of one KV head in a page, KERN_PAGE times those of a position; 0 if
 * the type is not a cache type or dim is not a multiple of its block. */
size_t kern_kv_bytes(int type, int dim);
/* Return the elements of a block of the type; dim is a multiple of it.  0 if the type is not a
 * cache type. */
int kern_kv_block(int type);
/* Write x, f32 [dim], as position `at` of the page. */
void kern_k_put(const struct kern *kern, void *page, int type, int at, const float *x, int dim);
void kern_v_put(const struct kern *kern, void *page, int type, int at, const float *x, int dim);
/* Copy the first dv dimensions of a page of K to a page of V: the same values and scales in the
 * layout of V, without rounding. */
void kern_k_turn(void *v, const void *k, int type, int dk, int dv);
#endif
