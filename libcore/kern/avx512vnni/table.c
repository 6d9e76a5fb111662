/* kern/avx512vnni/table.c - 512 bits with products of bytes.
 *
 *   types                          loops                  file
 *   blocks of 32                   rows pack tile         mm_q32.c, x86/mm_q32.h
 *                                  few turn               mm_few.c, few.h
 *   Q4_K Q6_K                      pack tile              mm_k46.c, k46.h, x86/pack256.h
 *                                  few turn               mm_few_k46.c, few.h, k46.h
 *   Q5_K Q2_K Q3_K IQ4_XS          pack tile              mm_q256_tile.c, x86/mm_q256_tile.h
 *   Q6_K Q5_K Q2_K Q3_K            rows                   mm_q256.c, x86/mm_q256.h
 *   Q4_K IQ4_XS                    rows                   mm_quads.c
 *   IQ1 IQ2, ternary               rows                   mm_grid.c, x86/mm_grid.h
 *   IQ3                            rows                   mm_codes.c
 *   codebooks, ternary             pack tile              mm_grid_tile.c, x86/mm_grid_tile.h
 *   forms Q8, Q8K                  quant; peak_dot        quant.c, x86/quant.h, x86/peak.h
 *   KERN_SLOTS: attention          attn attn_merge        attn.c, codes.h, avx512/simd.h */
#include "kern/way.h"
#include "kern/avx512vnni/int.h"

/* KERN_MM_WAYS of each type, as measured over weights from memory */
#define WAYS_Q8_0 4, KERN_FROM_TO(5, 16) | KERN_FROM_TO(24, 33)
#define WAYS_Q4_0 4, KERN_FROM_TO(12, 16) | KERN_FROM_TO(26, 33)
#define WAYS_Q4_1 4, KERN_FROM_TO(30, 33)
#define WAYS_Q5_0 2, KERN_FROM_TO(15, 16) | KERN_FROM_TO(30, 33)
#define WAYS_Q5_1 2, KERN_FROM_TO(30, 33)
#define WAYS_IQ4_NL 4, KERN_FROM_TO(28, 33)
#define WAYS_MXFP4 4, 0
#define WAYS_Q4_K 6, KERN_FROM_TO(7, 34)
#define WAYS_Q6_K 6, KERN_FROM_TO(7, 17) | KERN_FROM_TO(26, 33)
#define WAYS_Q5_K 5, 0
#define WAYS_Q2_K 5, 0
#define WAYS_Q3_K 6, 0
#define WAYS_IQ4_XS 6, 0

#define MM(TYPE, name, quant, form, ...) \
	[INFER_##TYPE] = { KERN_MM_QUANT(quant, form) KERN_MM_ROWS(name) \
		                   KERN_MM_TILE(name, TILE_T, NR) __VA_ARGS__ },
#define Q32(TYPE, name) \
	MM(TYPE, name, quant_q8, Q8, KERN_MM_FEW(name, turn_q8, FEW_BAND) KERN_MM_WAYS(WAYS_##TYPE))
#define K46(TYPE, name) \
	MM(TYPE, name, quant_q8k, Q8K, \
	   KERN_MM_FEW(name, turn_q8k, FEW_BAND) KERN_MM_WAYS(WAYS_##TYPE))
#define Q256(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, KERN_MM_WAYS(WAYS_##TYPE))
#define GRID1(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, KERN_MM_WAYS(12, 0))
#define GRID2(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, KERN_MM_WAYS(6, 0))
#define GRID3(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, KERN_MM_WAYS(4, 0))
#define TERN(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, KERN_MM_WAYS(9, 0))
const struct kern kern_avx512vnni = {
	.name = "avx512vnni",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI,
	.attn = KERN_FN(attn),
	.attn_merge = KERN_FN(attn_merge),
	.peak_dot = KERN_FN(peak_dot),
	.mm = { KERN_ROWS_32(Q32) KERN_ROWS_K46(K46) KERN_ROWS_K235(Q256) KERN_ROWS_GRID1(GRID1)
	                KERN_ROWS_GRID2(GRID2) KERN_ROWS_GRID3(GRID3) KERN_ROWS_TERNARY(TERN) },
};
