/* kern/probe.h - cases for the kernels: fill, compare, time.  For tests/kern and infer-bench;
 * allocates nothing, prints nothing.  Any thread. */
#ifndef KERN_PROBE_H
#define KERN_PROBE_H
#include <stddef.h>
#include <stdint.h>
#include "kern/kern.h"

enum probe_fill {
	PROBE_PLAIN, /* about normal, deviation 1 */
	PROBE_ODD /* among them zeros of both signs, subnormals and numbers up to 2^60 */
};
/* f32 [n] drawn from seed */
void probe_floats(float *x, size_t n, enum probe_fill fill, uint64_t seed);
/* n rows of k weights of a type the tables may hold, drawn from seed: any bytes, scales finite.
 * PROBE_ODD: some scales 0, subnormal or large.  k a multiple of the type's block. */
void probe_weights(void *w, int type, size_t n, int k, enum probe_fill fill, uint64_t seed);

/* Index of the first bit that differs between f32 [n] and f32 [n], counted in numbers, or -1.  All
 * NaN are equal. */
int64_t probe_differ(const float *a, const float *b, size_t n);

/* One row of activations as a product reads it, back in f64 [k]: d q. */
void probe_act(double *x, const struct kern_act *a, int row, int k);

/* Seconds for one pass of rows over n rows of weights (whole matrix of m activations; y f32
 * [m][n]). */
double probe_time_rows(const struct kern *kern, int type, float *y, const void *w,
                       const struct kern_act *x, int m, size_t n, int k);
/* Seconds for `times` calls of tile over one packed panel. */
double probe_time_tile(const struct kern *kern, int type, float *y, const void *panel,
                       const struct kern_act *x, int m, int k, int times);
/* Seconds for `times` packings of a panel from n >= nr rows. */
double probe_time_pack(const struct kern *kern, int type, void *panel, const void *w, size_t n,
                       int k, int times);
/* Seconds to read bytes (a multiple of 512) once, as fast as goes; *sum takes their sum so that
 * nothing is left out. */
double probe_time_read(const void *p, size_t bytes, uint64_t *sum);
#endif
