/* kern/arm/words.h - the operations that the int.h of a neon folder defines, and a check of them:
 * the compiler names a missing one.  int.h includes <arm_neon.h>, then kern/arm/q.h, which has the
 * common part: weights are unpacked to signed bytes, so there are no zero points.
 *
 *   TILE_T                     rows of x of a tile, 4 or 8
 *   dot16(acc, w, x)           rows in place: acc and 16 products of signed bytes, in any of its 4
 *                              lanes; x above -128, as quant makes it; sums wrap around
 *   dot_lane(acc, w, x, lane)  panels by 4 (arm/by4.h): acc and in each lane the sum of 4 products
 *                              of w and the bytes of lane `lane`, a constant, of x: a macro
 * A folder without kernels in place needs no dot16; with panels by 8 (arm/by8.h) it needs no
 * dot_lane.
 *
 * by4.h and by8.h define, for arm/tile.h
 *   WIDE                       registers that one step of chain16 updates: 2, or 4 of pairs of rows
 *   transpose16(q, r)          16 weights of 8 rows to 128 bytes of a panel
 *   chain16(tn, acc, q, x, at) add to acc the products of q and tn rows of x, from byte `at` on
 *   unpair_rows(tn, acc)       rearrange the sums to two registers of 8 rows for each row of x */
#ifndef KERN_ARM_WORDS_H
#define KERN_ARM_WORDS_H

#define WORD(name, type, ...) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), type(__VA_ARGS__)), \
	               "kern/arm/words.h: int.h has another " #name)
_Static_assert(TILE_T == 4 || TILE_T == 8, "TILE_T: as tokens_next deals rows of x out");
#endif
