#include "kern/avx512vbmi/int.h"

/* all but rows as avx512vnni has it */
#define ROW(TYPE, name) \
	[INFER_##TYPE] = {kern_avx512vnni_quant_q8k, \
	                  KERN_FN(name##_rows), \
	                  kern_avx512vnni_##name##_pack, \
	                  kern_avx512vnni_##name##_tile, \
	                  kern_avx512vnni_##name##_pack_bytes, \
	                  KERN_FORM_Q8K, \
	                  TILE_T, \
	                  NR},
const struct kern kern_avx512vbmi = {
    .name = "avx512vbmi",
    .needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI | CPU_AVX512VBMI | CPU_GFNI,
    .mm = {KERN_ROWS_GRID23(ROW)},
};
