#include "kern/avxvnni/int.h"

#define Q32(TYPE, name) KERN_ROW(TYPE, name, quant_q8, KERN_FORM_Q8, TILE_T, NR)
#define Q256(TYPE, name) KERN_ROW(TYPE, name, quant_q8k, KERN_FORM_Q8K, TILE_T, NR)
const struct kern kern_avxvnni = {
	.name = "avxvnni",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVXVNNI,
	.mm = { KERN_ROWS_32(Q32) KERN_ROWS_256(Q256) },
};
