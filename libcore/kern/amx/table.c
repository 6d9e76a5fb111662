#include "kern/amx/int.h"

/* rows, quant and few stay */
#define ROW(TYPE, name, turn_fn) \
	[INFER_##TYPE] = { .pack = KERN_FN(name##_pack), \
		           .tile = KERN_FN(name##_tile), \
		           .pack_bytes = KERN_FN(name##_pack_bytes), \
		           .mr = TOKENS, \
		           .nr = NR, \
		           .tile_turned = 1, \
		           .turn = turn_fn },
#define Q32(TYPE, name) ROW(TYPE, name, kern_avx512vnni_turn_q8)
#define Q256(TYPE, name) ROW(TYPE, name, kern_avx512vnni_turn_q8k)
const struct kern kern_amx = {
	.name = "amx",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI | CPU_AVX512VBMI |
	         CPU_GFNI | CPU_AMX,
	.peak_tile = KERN_FN(peak_tile),
	.mm = { KERN_ROWS_32(Q32) KERN_ROWS_256(Q256) },
};
