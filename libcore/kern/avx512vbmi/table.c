/* kern/avx512vbmi/table.c - codebooks looked up in registers.
 *
 *   types                          loops                  file
 *   F16 BF16                       of avx512, whatever the number of rows of x
 *   IQ2 IQ3                        rows                   mm_grid.c, points.h, codebook.h
 *   all the rest                   as avx512vnni, with the same words */
#include "kern/dispatch.h"
#include "kern/avx512vbmi/int.h"

#define HALF(TYPE, name) [INFER_##TYPE] = { KERN_MM_DISPATCH(KERN_ALWAYS, 0) },
#define GRID2(TYPE, name) [INFER_##TYPE] = { KERN_MM_ROWS(name) KERN_MM_DISPATCH(9, 0) },
#define GRID3(TYPE, name) [INFER_##TYPE] = { KERN_MM_ROWS(name) KERN_MM_DISPATCH(8, 0) },
const struct kern kern_avx512vbmi = {
	.name = "avx512vbmi",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI | CPU_AVX512VBMI |
	         CPU_GFNI,
	.mm = { KERN_ROWS_HALF(HALF) KERN_ROWS_GRID2(GRID2) KERN_ROWS_GRID3(GRID3) },
};
