/* kern/avx512vbmi/int.h - the operations of avx512vnni under the same names; only kernels in place
 * are new. */
#ifndef KERN_AVX512VBMI_INT_H
#define KERN_AVX512VBMI_INT_H
#include "kern/avx512vnni/points.h"

typedef __m512i vb;
INLINE vb vb_load(const void *p) { return _mm512_loadu_si512(p); }
#endif
