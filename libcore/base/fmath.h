/* base/fmath.h - exp, log, sin, cos and what follows from them, from correctly rounded operations only
 * (+ - * / sqrt fma and rounding), so that every machine gives the same bits.  Any thread.
 *
 * The float functions are mirrored operation by operation in kern/tmpl on vectors; a test compares bits.
 * Errors are the largest measured against float128 over the stated range (tests/unit/base/test_fmath.c). */
#ifndef BASE_FMATH_H
#define BASE_FMATH_H

float fm_expf(float x);      /* <= 1.0 ulp; below -104 gives 0, above 88.8 gives inf; NaN stays */
float fm_logf(float x);      /* <= 1.0 ulp for normal x > 0; 0 gives -inf, below 0 gives NaN */
float fm_tanhf(float x);     /* <= 2.0 ulp */
float fm_sigmoidf(float x);  /* 1 / (1 + e^-x), <= 2.5 ulp */

/* Double: for tables made once (RoPE), sampling and perplexity; not mirrored on vectors. */
double fm_exp(double x);             /* <= 1.0 ulp */
double fm_log(double x);             /* <= 1.0 ulp */
double fm_pow(double x, double y);   /* x > 0; <= 4 ulp where the result is normal and |y ln x| <= 100 */
double fm_sin(double x);             /* <= 1.5 ulp for |x| <= 2^30; beyond that NaN */
double fm_cos(double x);
#endif
