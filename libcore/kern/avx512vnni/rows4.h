/* kern/avx512vnni/rows4.h - a loop of mm_rows4.c that mm_rows16.c falls back to. */
#ifndef KERN_AVX512VNNI_ROWS4_H
#define KERN_AVX512VNNI_ROWS4_H
#include "kern/avx512vnni/int.h"

/* as kern_mm.rows of Q4_K, for any m and n */
void KERN_FN(q4_k_by4_rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
                            const struct kern_act *x, int x_row, int m, int n, int k);
#endif
