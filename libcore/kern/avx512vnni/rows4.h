/* kern/avx512vnni/rows4.h - kernels of mm_rows4.c, mm_q256.c and mm_q32.c, to which the kernels of
 * 16 rows per register fall back. */
#ifndef KERN_AVX512VNNI_ROWS4_H
#define KERN_AVX512VNNI_ROWS4_H
#include "kern/avx512vnni/int.h"

/* like kern_mm.rows, for any m and n */
void KERN_FN(q4_k_by4_rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
                            const struct kern_act *x, int x_row, int m, int n, int k);
void KERN_FN(q2_k_by4_rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
                            const struct kern_act *x, int x_row, int m, int n, int k);
void KERN_FN(q6_k_by8_rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
                            const struct kern_act *x, int x_row, int m, int n, int k);
void KERN_FN(q8_0_by8_rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
                            const struct kern_act *x, int x_row, int m, int n, int k);
void KERN_FN(q4_0_by8_rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
                            const struct kern_act *x, int x_row, int m, int n, int k);
#endif
