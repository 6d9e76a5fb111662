/* kern/avx512vbmi/table.c - codebooks looked up in registers.
 *
 *   types                          kernels                file
 *   F8_E4M3 NF4                    rows pack tile         mm_f.c, fcode.h, tmpl/mm_f.h
 *   F16 BF16                       rows, of avx512, whatever the number of rows of x
 *   IQ2 IQ3                        rows                   mm_grid.c, points.h, codebook.h
 *   all others                     of narrower sets; the fastest for each number of rows of x is below */
#include "kern/dispatch.h"
#include "kern/avx512/simd.h"
#include "kern/avx512vbmi/int.h"

/* KERN_MM_DISPATCH of types whose kernels are those of narrower sets, measured on Zen 4 with
 * weights in memory. */
#define DISPATCH_Q8_0 4, KERN_BITS(13, 18) | KERN_BITS(28, 34) | KERN_BITS(40, 63)
#define DISPATCH_Q4_0 5, KERN_BITS(13, 18) | KERN_BITS(28, 34) | KERN_BITS(44, 63)
#define DISPATCH_Q4_1 5, KERN_BITS(7, 9) | KERN_BITS(14, 16) | KERN_BITS(28, 34) | KERN_BITS(44, 63)
#define DISPATCH_Q5_0 4, KERN_BITS(7, 9) | KERN_BITS(14, 16) | KERN_BITS(28, 34)
#define DISPATCH_Q5_1 4, KERN_BITS(7, 9) | KERN_BITS(12, 16) | KERN_BITS(28, 34) | KERN_BITS(44, 63)
#define DISPATCH_IQ4_NL 4, KERN_BITS(6, 16) | KERN_BITS(26, 34) | KERN_BITS(44, 63)
#define DISPATCH_MXFP4 5, KERN_BITS(7, 9) | KERN_BITS(15, 16) | KERN_BITS(28, 34)
#define DISPATCH_Q4_K 16, KERN_BITS(17, 18) | KERN_BITS(29, 34)
#define DISPATCH_Q6_K 16, KERN_BITS(28, 34)
#define DISPATCH_Q5_K 5, 0
#define DISPATCH_Q2_K 5, 0
#define DISPATCH_Q3_K 11, 0
#define DISPATCH_IQ4_XS 12, 0

#define CODED(TYPE, name) \
	[INFER_##TYPE] = { KERN_MM_ROWS(name) KERN_MM_TILE(name, MM_T, MM_PANEL) \
		                   KERN_MM_DISPATCH(36, 0) },
#define POLICY(TYPE, name) [INFER_##TYPE] = { KERN_MM_DISPATCH(DISPATCH_##TYPE) },
#define HALF(TYPE, name) [INFER_##TYPE] = { KERN_MM_DISPATCH(KERN_ALWAYS, 0) },
#define GRID2(TYPE, name) [INFER_##TYPE] = { KERN_MM_ROWS(name) KERN_MM_DISPATCH(9, 0) },
#define GRID3(TYPE, name) [INFER_##TYPE] = { KERN_MM_ROWS(name) KERN_MM_DISPATCH(8, 0) },
const struct kern kern_avx512vbmi = {
	.name = "avx512vbmi",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI | CPU_AVX512VBMI |
	         CPU_GFNI,
	.mm = { KERN_ROWS_HALF(HALF) KERN_ROWS_CODED(CODED) KERN_ROWS_32(POLICY)
	                KERN_ROWS_256(POLICY) KERN_ROWS_GRID2(GRID2) KERN_ROWS_GRID3(GRID3) },
};
