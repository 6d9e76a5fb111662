/* kern/tmpl/rope.h - rotary position: a' = a c - b s, b' = b c + a s, where the product of s is
 * rounded first.  Su+ 2021, arXiv:2104.09864, eq. 34.  x [heads][dim]: the first rot columns of
 * each head are rotated; cs [rot / 2][2]: cosine, sine. */
#include <math.h>

static inline void rotate(float *a, float *b, float c, float s)
{
	float x = *a, y = *b;

	*a = fmaf(x, c, -(y * s));
	*b = fmaf(y, c, x * s);
}

void KERN_FN(rope_pairs)(float *x, const float *cs, int headers, int dim, int rot)
{
	for (int h = 0; h < headers; h++, x += dim)
		for (int i = 0; i < rot / 2; i++)
			rotate(x + 2 * i, x + 2 * i + 1, cs[2 * i], cs[2 * i + 1]);
}

void KERN_FN(rope_halves)(float *x, const float *cs, int headers, int dim, int rot)
{
	for (int h = 0; h < headers; h++, x += dim)
		for (int i = 0; i < rot / 2; i++)
			rotate(x + i, x + i + rot / 2, cs[2 * i], cs[2 * i + 1]);
}
