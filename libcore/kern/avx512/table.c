#include "kern/avx512/simd.h"

#define F(TYPE, name) KERN_ROW(TYPE, name, quant_f32, KERN_FORM_F32, MM_T, MM_PANEL)
#define S(slot, args) .slot = KERN_FN(slot),
const struct kern kern_avx512 = {
	.name = "avx512",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512,
	KERN_SLOTS(S).mm = { KERN_ROWS_F(F) },
};
