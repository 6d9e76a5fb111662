/* kern/avx512vbmi/table.c - codebooks looked up in registers.
 *
 *   types                          loops                  file
 *   IQ2 IQ3                        rows                   mm_grid.c, points.h, book.h
 *   all the rest                   as avx512vnni, whose words these are */
#include "kern/avx512vbmi/int.h"

#define ROW(TYPE, name) [INFER_##TYPE] = { KERN_MM_ROWS(name) },
const struct kern kern_avx512vbmi = {
	.name = "avx512vbmi",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI | CPU_AVX512VBMI |
	         CPU_GFNI,
	.mm = { KERN_ROWS_GRID23(ROW) },
};
