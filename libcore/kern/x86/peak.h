/* kern/x86/peak.h - measure the peak int8 rate with independent chains of products. */
#include "kern/x86/words.h"

void KERN_FN(peak_dot)(double *ops, int32_t *sink, int reps)
{
	enum { CHAINS = 12 };
	wi u = wi_set(0x01020304), x = wi_set(0x04030201), a[CHAINS];
	int32_t out[sizeof(wi) / 4];

	UNROLL
	for (int i = 0; i < CHAINS; i++)
		a[i] = wi_set(i);
	for (int t = 0; t < reps; t++) {
		UNROLL
		for (int i = 0; i < CHAINS; i++) {
			__asm__ volatile(
				""
				: "+v"(u)); /* hides u from the compiler, which may not precompute products */
			a[i] = wi_dot(a[i], u, x);
		}
	}
	UNROLL
	for (int i = 1; i < CHAINS; i++)
		a[0] = wi_add(a[0], a[i]);
	memcpy(out, &a[0], sizeof out);
	*sink = 0;
	for (size_t i = 0; i < sizeof(wi) / 4; i++)
		*sink = (int32_t)((uint32_t)*sink + (uint32_t)out[i]);
	*ops = 2.0 * (double)sizeof(wi) * CHAINS * reps;
}
