/* kern/data.h - draw sample data for the kernels and compare results, for tests/kern and
 * infer-bench.  Allocates and prints nothing.  Any thread. */
#ifndef KERN_DATA_H
#define KERN_DATA_H
#include <stddef.h>
#include <stdint.h>
#include "kern/kern.h"

enum kern_data_fill {
	KERN_DATA_PLAIN, /* roughly normal: mean 0, deviation 1 */
	KERN_DATA_ODD    /* includes zeros of both signs, subnormals and numbers up to 2^60 */
};
/* Draw x f32 [n] from seed. */
void kern_data_floats(float *x, size_t n, enum kern_data_fill fill, uint64_t seed);
/* Draw n rows of k weights of a type that has kernels from seed: random bytes, with finite scales.
 * KERN_DATA_ODD: some scales are 0, subnormal or large.  k: a multiple of the type's block. */
void kern_data_weights(void *w, int type, size_t n, int k, enum kern_data_fill fill, uint64_t seed);

/* Return the first index at which the bits of two f32 [n] differ, or -1.  All NaN are equal. */
int64_t kern_data_differ(const float *a, const float *b, size_t n);

/* Convert one row of activations to f64: x[k] = d q. */
void kern_data_act(double *x, const struct kern_act *a, int row, int k);
#endif
