#include "kern/neon/int.h"
#include "kern/neon/simd.h"

#define F(TYPE, name) KERN_ROW(TYPE, name, quant_f32, KERN_FORM_F32, MM_T, MM_PANEL)
#define Q32(TYPE, name) KERN_ROW(TYPE, name, quant_q8, KERN_FORM_Q8, TILE_T, 8)
#define Q256(TYPE, name) KERN_ROW(TYPE, name, quant_q8k, KERN_FORM_Q8K, TILE_T, 8)
#define S(slot, args) .slot = KERN_FN(slot),
const struct kern kern_neon = {
	.name = "neon",
	.needs = CPU_NEON,
	KERN_SLOTS(S).mm = { KERN_ROWS_F(F) KERN_ROWS_32(Q32) KERN_ROWS_256(Q256)
	                             KERN_ROWS_GRID(Q256) KERN_ROWS_TERNARY(Q256) },
};
