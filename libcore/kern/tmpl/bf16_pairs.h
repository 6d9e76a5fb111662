/* kern/tmpl/bf16_pairs.h - load 16 rows of F16 or BF16 weights as pairs of bf16, one row per lane.
 * Include the folder's bf16.h first: it defines the vector operations. */
#ifndef KERN_TMPL_BF16_PAIRS_H
#define KERN_TMPL_BF16_PAIRS_H
#include <string.h>
#include "kern/tmpl/decl.h"

/* Convert 32 F16 numbers to pairs of bf16.  A folder with an instruction for this defines F16_PAIRS
 * itself. */
#ifndef F16_PAIRS
#define F16_PAIRS(h) vi_pack_b(v_round_b(v_load_h(h)), v_round_b(v_load_h((h) + 16)))
#endif
/* Load 32 weights as pairs: dword i has weight 2 i in its low half, 2 i + 1 in its high half. */
INLINE vi load_pairs(enum infer_type type, const unsigned char *p)
{
	const uint16_t *h = (const uint16_t *)(const void *)p;

	return type == INFER_F16 ? F16_PAIRS(h) : vi_load(p);
}
/* Load n <= 32 weights of each of 16 rows, which are `stride` bytes apart from `at` on: pair i of
 * row r to lane r of w[i].  Rows from `rows` on repeat the last. */
INLINE void load_block(vi w[16], enum infer_type type, const unsigned char *at, size_t stride,
                       int rows, int n, int prefetch)
{
	uint16_t part[16][32];

	if (n < 32 || rows < 16) {
		memset(part, 0, sizeof part);
		for (int r = 0; r < 16; r++)
			memcpy(part[r], at + (size_t)(r < rows ? r : rows - 1) * stride,
			       (size_t)n * 2);
		at = (const unsigned char *)part;
		stride = sizeof *part;
		prefetch = 0;
	}
	UNROLL
	for (int r = 0; r < 16; r++) {
		const unsigned char *p = at + (size_t)r * stride;
		if (prefetch)
			v_prefetch(p + KERN_AHEAD);
		w[r] = load_pairs(type, p);
	}
	vi_turn(w);
}
#endif
