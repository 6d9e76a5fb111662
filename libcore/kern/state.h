/* kern/state.h - kernels of recurrent layers: arguments of the slots conv and delta of kern.h.
 *
 * conv: y[c] = silu(sum over t of x[t][c] w[t][c]), t ascending by fma from +0.  x [taps]: a
 * pointer to n floats for each tap, the oldest first; NULL: zeros, which are skipped.  w f32
 * [taps][n]. */
#ifndef KERN_STATE_H
#define KERN_STATE_H
#include <stddef.h>

/* Apply consecutive rows of one sequence to 16 columns of the state s of one head (gated delta rule).
 * For each row in order, lane by lane (i < dk, c < 16):
 *   m[c] = sum of s[i][c] k[i];  d[c] = beta (v[c] - g m[c]);  s[i][c] = fma(k[i], d[c], g s[i][c]);
 *   y[c] = scale (sum of s[i][c] q[i]); with a skip: y[c] = fma(skip, v[c], y[c])
 * plain: d[c] = beta v[c].
 * A sum over i is four chains, chain j of i = j mod 4, ascending by fma from +0; then
 * (0 + 2) + (1 + 3).  g m is rounded before the difference.  The result of a row does not depend on
 * the number of rows of a call, nor on other columns.
 * Yang+ 2024, arXiv:2412.06464, eq. 10; plain: Dao+ 2024, arXiv:2405.21060, eq. 1 by heads */
struct kern_delta {
	float *s;                    /* [dk][16] */
	const float *q, *k, *v;      /* first row of each: [dk], [dk], [cols] */
	const float *g, *beta;       /* [rows] */
	float *y;                    /* [cols] */
	size_t qk_row, v_row, y_row; /* floats from one row to the next */
	int rows, dk, cols;          /* cols 1 ... 16; other lanes use v = 0 */
	float scale, skip;           /* skip 0: none */
	int plain;
};
enum { KERN_DELTA = 16 };
/* Slots of KERN_SLOTS that encoders use.
 * layer_norm    z = x - mean x; y = z / sqrt(mean z^2 + eps) * g + b; y may be x; b NULL: 0; g NULL: 1
 * gelu_erf_mul  gate P(N < gate) up; y may be gate; up NULL: 1 */
#define KERN_SLOTS_ENCODER(S) \
	S(layer_norm, \
	  (float *y, const float *x, const float *g, const float *b, int n, float eps)) \
	S(gelu_erf_mul, (float *y, const float *gate, const float *up, int n))
#endif
