/* kern/ref/mm.h - code that the reference products of quantised types share: weight rows in order,
 * up to TOKENS rows of x at a time; panels in the order of the file. */
#ifndef KERN_REF_MM_H
#define KERN_REF_MM_H
#include <string.h>
#include "kern/act.h"
#include "kern/ref/simd.h"

enum { TOKENS = 8, PANEL = 4 };

/* multiply one row of weights with tn <= TOKENS rows of x; results: y[t ldy] */
typedef void plain_part(float *y, size_t ldy, const uint8_t *w, const struct kern_act *x, int x_row,
                        int tn, int k);

static inline void plain_rows(float *y, size_t ldy, plain_part *part, const void *w,
                              size_t row_bytes, const struct kern_act *x, int x_row, int m, int n,
                              int k)
{
	for (int r = 0; r < n; r++)
		for (int t = 0; t < m; t += TOKENS)
			part(y + (size_t)t * ldy + r, ldy,
			     (const uint8_t *)w + (size_t)r * row_bytes, x, x_row + t,
			     m - t < TOKENS ? m - t : TOKENS, k);
}

/* Pack PANEL rows: copy them without changes. */
static inline void plain_pack(void *dst, const void *w, size_t row_bytes, int n, size_t bytes)
{
	for (int r = 0; r < PANEL; r++) {
		uint8_t *d = (uint8_t *)dst + (size_t)r * bytes;
		if (r < n)
			memcpy(d, (const uint8_t *)w + (size_t)r * row_bytes, bytes);
		else
			memset(d, 0, bytes);
	}
}

/* Define the kernels of a type from name_part.  struct name: a block of `block` weights. */
#define PLAIN_OF(name, block) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		plain_rows(y, ldy, name##_part, w, row_bytes, x, x_row, m, n, k); \
	} \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		plain_pack(dst, w, row_bytes, n, (size_t)k / (block) * sizeof(struct name)); \
	} \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		plain_rows(y, ldy, name##_part, packed, (size_t)k / (block) * sizeof(struct name), \
		           x, x_row, m, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)k / (block) * sizeof(struct name) * PANEL; \
	}
#endif
