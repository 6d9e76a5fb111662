/* kern/tmpl/lines.h - addressing up to 12 rows of x in a loop. */
#ifndef KERN_TMPL_LINES_H
#define KERN_TMPL_LINES_H
#include "kern/tmpl/decl.h"

/* The addresses of one block of up to 12 rows of x.  The compiler must not see the strides: it
 * would keep a pointer for each row, more than there are registers, where two and their sums with
 * the strides do. */
struct lines {
	const char *x0, *x4, *x8;
	size_t s, s3;
};
INLINE struct lines lines_at(const void *x, size_t stride)
{
	struct lines l = { x, (const char *)x + 4 * stride, (const char *)x + 8 * stride, stride,
		           3 * stride };

	__asm__("" : "+r"(l.x0), "+r"(l.x4), "+r"(l.x8), "+r"(l.s), "+r"(l.s3));
	return l;
}
/* n bytes further in every row; sums of the strides with places in a block are not to be kept for
 * all turns of a loop either */
INLINE void lines_move(struct lines *l, int n)
{
	l->x0 += n, l->x4 += n, l->x8 += n;
	__asm__("" : "+r"(l->x0), "+r"(l->x4), "+r"(l->x8), "+r"(l->s), "+r"(l->s3));
}
INLINE const void *line_at(const struct lines *l, int t)
{
	return (t < 4   ? l->x0
	        : t < 8 ? l->x4
	                : l->x8) +
	       (t % 4 == 3 ? l->s3 : (size_t)(t % 4) * l->s);
}

/* How many of the rows of x that are left a tile takes next: `most`, 4, 2 or 1; 4 and 4 go quicker
 * than 6 and 2. */
INLINE int tokens_next(int left, int most)
{
	if (left >= most && !(most == 6 && left == 8))
		return most;
	return left >= 4 && most > 4 ? 4 : left >= 2 && most > 2 ? 2 : 1;
}

/* Ask for what the caller reads next; called for every mr rows and each of `parts` of 256 of k.  A
 * few lines at a time come sooner by way of the first cache; many would hold up what a tile itself
 * wants through there, so they are only brought as far as the second. */
enum { ASK_FEW = 36 };
INLINE void ask_next(const struct kern_act *x, int parts)
{
	struct kern_next *a = x->next;
	int i = a ? (a->lines + parts - 1) / parts : 0;

	if (i && a->lines <= ASK_FEW)
		for (; i > 0 && a->at < a->end; i--, a->at += 64)
			__builtin_prefetch(a->at, 0, 3);
	for (; i > 0 && a->at < a->end; i--, a->at += 64)
		__builtin_prefetch(a->at, 0, 2);
}
#endif
