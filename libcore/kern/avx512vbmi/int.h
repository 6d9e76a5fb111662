/* kern/avx512vbmi/int.h - the words of avx512vnni, whose names these are but for rows of its
 * own. */
#ifndef KERN_AVX512VBMI_INT_H
#define KERN_AVX512VBMI_INT_H
#include "kern/avx512vnni/points.h"
#undef KERN_FN
#define KERN_FN(x) kern_avx512vbmi_##x

#define ROW(TYPE, name) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k);
KERN_ROWS_GRID23(ROW)
#undef ROW

typedef __m512i vb;
INLINE vb vb_load(const void *p) { return _mm512_loadu_si512(p); }
#endif
