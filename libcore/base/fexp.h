/* base/fexp.h - exp in double for long sums of probabilities.
 *
 * fm_exp calls fma, which is a library function unless the compiler may use the instruction; fexp
 * uses products and sums only, and takes a third of the time.  It gives the same bits on every
 * machine, by the rules of base/fmath.h.  Any thread. */
#ifndef BASE_FEXP_H
#define BASE_FEXP_H
#include <stdint.h>
#include <string.h>

/* e^x for x <= 700, error <= 1.0 ulp (tests/unit/base/test_fexp.c); 0 below -708 and for NaN. */
static inline double fexp(double x)
{
	static const double magic = 0x1.8p52, ln2_hi = 0x1.62e42feep-1,
			    ln2_lo = 0x1.a39ef35793c76p-33;
	double t, n, r, p, scale;
	uint64_t bits;

	if (!(x >= -708))
		return 0;
	t = x * 0x1.71547652b82fep+0 + magic; /* the last bits of t hold x / ln 2, rounded */
	n = t - magic;
	r = (x - n * ln2_hi) - n * ln2_lo; /* n * ln2_hi is exact */
	/* Taylor series; the first omitted term is below 2^-57 */
	p = 1.0 / 6227020800;
	p = p * r + 1.0 / 479001600;
	p = p * r + 1.0 / 39916800;
	p = p * r + 1.0 / 3628800;
	p = p * r + 1.0 / 362880;
	p = p * r + 1.0 / 40320;
	p = p * r + 1.0 / 5040;
	p = p * r + 1.0 / 720;
	p = p * r + 1.0 / 120;
	p = p * r + 1.0 / 24;
	p = p * r + 1.0 / 6;
	p = p * r + 0.5;
	p = p * r * r + r;
	memcpy(&bits, &t, sizeof bits);
	bits = (bits + 1023) << 52;
	memcpy(&scale, &bits, sizeof scale);
	return p * scale + scale;
}
#endif
