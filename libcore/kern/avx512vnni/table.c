#include "kern/avx512vnni/int.h"

#define Q32(TYPE, name) KERN_ROW_FEW(TYPE, name, quant_q8, KERN_FORM_Q8, TILE_T, NR, turn_q8)
#define K46(TYPE, name) KERN_ROW_FEW(TYPE, name, quant_q8k, KERN_FORM_Q8K, TILE_T, NR, turn_q8k)
#define Q256(TYPE, name) KERN_ROW(TYPE, name, quant_q8k, KERN_FORM_Q8K, TILE_T, NR)
const struct kern kern_avx512vnni = {
	.name = "avx512vnni",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI,
	.attn = KERN_FN(attn),
	.attn_merge = KERN_FN(attn_merge),
	.peak_dot = KERN_FN(peak_dot),
	.mm = { KERN_ROWS_32(Q32) KERN_ROWS_K46(K46) KERN_ROWS_K235(Q256) KERN_ROWS_GRID(Q256)
	                KERN_ROWS_TERNARY(Q256) },
};
