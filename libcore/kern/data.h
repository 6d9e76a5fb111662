/* kern/data.h - sample data for the kernels: draw it, compare results.  For tests/kern and
 * infer-bench; allocates nothing, prints nothing.  Any thread. */
#ifndef KERN_DATA_H
#define KERN_DATA_H
#include <stddef.h>
#include <stdint.h>
#include "kern/kern.h"

enum kern_data_fill {
	KERN_DATA_PLAIN, /* about normal, deviation 1 */
	KERN_DATA_ODD    /* among them zeros of both signs, subnormals and numbers up to 2^60 */
};
/* f32 [n] drawn from seed */
void kern_data_floats(float *x, size_t n, enum kern_data_fill fill, uint64_t seed);
/* n rows of k weights of a type of the kernel tables, drawn from seed: any bytes, scales finite.
 * KERN_DATA_ODD: some scales are 0, subnormal or large. k is a multiple of the block of the
 * type. */
void kern_data_weights(void *w, int type, size_t n, int k, enum kern_data_fill fill, uint64_t seed);

/* Index of the first number whose bits differ between two f32 [n], or -1.  All NaN are equal. */
int64_t kern_data_differ(const float *a, const float *b, size_t n);

/* Convert one row of activations back to f64 [k]: d q. */
void kern_data_act(double *x, const struct kern_act *a, int row, int k);
#endif
