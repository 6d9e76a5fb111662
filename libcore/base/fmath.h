/* base/fmath.h - exp, log, sin, cos and functions derived from them, using only correctly rounded
 * operations (+ - * / sqrt fma and rounding), so that every machine gives the same bits.  Any
 * thread.
 *
 * kern/tmpl repeats the float functions on vectors, operation by operation, with the constants of
 * base/fmath_consts.h; a test compares the bits.  They have no branches, except fm_logf for
 * arguments that are not normal numbers.  Errors are bounds measured against long double, over all
 * arguments unless a range is given (tests/unit/base/test_fmath.c); the error of a subnormal result
 * is in units of its last place. */
#ifndef BASE_FMATH_H
#define BASE_FMATH_H

float fm_expf(float x);     /* <= 1.0 ulp; below -104 gives 0, above 88.8 inf, NaN gives NaN */
float fm_logf(float x);     /* <= 1.0 ulp; 0 gives -inf, below 0 gives NaN */
float fm_tanhf(float x);    /* <= 1.5 ulp; for tests of the vector version */
float fm_sigmoidf(float x); /* 1 / (1 + e^-x), <= 2.5 ulp */

/* Double precision, for tables computed once (RoPE), sampling and perplexity; there are no vector
 * versions. */
double fm_exp(double x);           /* <= 1.0 ulp */
double fm_log(double x);           /* <= 1.0 ulp */
double fm_pow(double x, double y); /* <= 1.0 ulp for x >= 0; x < 0 gives NaN unless y is 0 */
double fm_sin(double x);           /* <= 1.0 ulp for |x| <= 2^30; beyond that NaN */
double fm_cos(double x);
#endif
