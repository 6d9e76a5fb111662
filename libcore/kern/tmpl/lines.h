/* kern/tmpl/lines.h - addresses of up to 12 rows of x, kept in few registers; prefetching. */
#ifndef KERN_TMPL_LINES_H
#define KERN_TMPL_LINES_H
#include "kern/tmpl/decl.h"

/* The addresses of a block in up to 12 rows of x: three pointers and two strides.  The strides are
 * hidden from the compiler, which would otherwise keep a pointer for each row, more than it has
 * registers. */
struct x_rows {
	const char *x0, *x4, *x8;
	size_t s, s3;
};
INLINE struct x_rows x_rows_at(const void *x, size_t stride)
{
	struct x_rows l = { x, (const char *)x + 4 * stride, (const char *)x + 8 * stride, stride,
		            3 * stride };

	__asm__("" : "+r"(l.x0), "+r"(l.x4), "+r"(l.x8), "+r"(l.s), "+r"(l.s3));
	return l;
}
/* Advance n bytes in every row.  The result is hidden too, or the compiler would store sums of
 * strides and offsets across iterations. */
INLINE void x_rows_advance(struct x_rows *l, int n)
{
	l->x0 += n, l->x4 += n, l->x8 += n;
	__asm__("" : "+r"(l->x0), "+r"(l->x4), "+r"(l->x8), "+r"(l->s), "+r"(l->s3));
}
INLINE const void *x_row_at(const struct x_rows *l, int t)
{
	return (t < 4   ? l->x0
	        : t < 8 ? l->x4
	                : l->x8) +
	       (t % 4 == 3 ? l->s3 : (size_t)(t % 4) * l->s);
}

/* Return how many of the `left` rows of x a tile processes next: `most`, 4, 2 or 1.  For 8 rows, 4
 * + 4 is faster than 6 + 2. */
INLINE int tokens_next(int left, int most)
{
	if (left >= most && !(most == 6 && left == 8))
		return most;
	return left >= 4 && most > 4 ? 4 : left >= 2 && most > 2 ? 2 : 1;
}

/* Prefetch bytes that the caller reads next.  Call it for every mr rows and for each of `parts`
 * parts of 256 of k.  Few lines are prefetched to L1, which is faster; many would delay the loads
 * of the tile, so they are prefetched to L2 only. */
enum { L1_LINES = 36 };
INLINE void prefetch_next(const struct kern_act *x, int parts)
{
	struct kern_prefetch *a = x->prefetch;
	int i = a ? (a->lines + parts - 1) / parts : 0;

	if (i && a->lines <= L1_LINES)
		for (; i > 0 && a->at < a->end; i--, a->at += 64)
			__builtin_prefetch(a->at, 0, 3);
	for (; i > 0 && a->at < a->end; i--, a->at += 64)
		__builtin_prefetch(a->at, 0, 2);
}
#endif
