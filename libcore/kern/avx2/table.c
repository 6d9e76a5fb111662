#include "kern/avx2/int.h"
#include "kern/avx2/simd.h"

#define F(TYPE, name) KERN_ROW(TYPE, name, quant_f32, KERN_FORM_F32, MM_T, MM_PANEL)
#define Q32(TYPE, name) KERN_ROW(TYPE, name, quant_q8, KERN_FORM_Q8, TILE_T, NR)
#define Q256(TYPE, name) KERN_ROW(TYPE, name, quant_q8k, KERN_FORM_Q8K, TILE_T, NR)
#define S(slot, args) .slot = KERN_FN(slot),
const struct kern kern_avx2 = {
	.name = "avx2",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C,
	KERN_SLOTS(S).peak_dot = KERN_FN(peak_dot),
	.mm = { KERN_ROWS_F(F) KERN_ROWS_32(Q32) KERN_ROWS_256(Q256) KERN_ROWS_GRID(Q256)
	                KERN_ROWS_TERNARY(Q256) },
};
