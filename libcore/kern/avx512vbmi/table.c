#include "kern/avx512vbmi/int.h"

#define ROW(TYPE, name) [INFER_##TYPE] = { .rows = KERN_FN(name##_rows) },
const struct kern kern_avx512vbmi = {
	.name = "avx512vbmi",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI | CPU_AVX512VBMI |
	         CPU_GFNI,
	.mm = { KERN_ROWS_GRID23(ROW) },
};
