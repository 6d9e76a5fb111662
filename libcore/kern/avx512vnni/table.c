/* kern/avx512vnni/table.c - 512 bits with products of bytes.
 *
 *   types                          kernels                file
 *   blocks of 32, of 64            rows pack tile         mm_q32.c, x86/mm_q32.h
 *   Q8_0 Q4_0                      rows                   mm_rows16_32.c, rows16.h, mm_q32.c
 *                                  skinny transpose       mm_skinny.c, skinny.h
 *   Q4_K Q6_K                      pack tile              mm_k46.c, k46.h, x86/pack256.h
 *                                  skinny transpose       mm_skinny_k46.c, skinny.h, k46.h
 *   Q5_K Q2_K Q3_K IQ4_XS          pack tile              mm_q256_tile.c, x86/mm_q256_tile.h
 *   Q5_K Q3_K                      rows                   mm_q256.c, x86/mm_q256.h
 *   Q6_K                           rows                   mm_rows16_k6.c, rows16.h, mm_q256.c
 *   Q4_K                           rows                   mm_rows16.c, rows16.h, mm_rows4.c
 *   Q2_K                           rows                   mm_rows16_k2.c, rows16.h, mm_rows4.c
 *   IQ4_XS                         rows                   mm_rows4.c
 *   IQ1 IQ2, ternary               rows                   mm_grid.c, x86/mm_grid.h
 *   IQ3                            rows                   mm_codes.c
 *   codebooks, ternary             pack tile              mm_grid_tile.c, x86/mm_grid_tile.h
 *   forms Q8, Q8K                  quant; peak_dot        quant.c, x86/quant.h, x86/peak.h
 *   KERN_SLOTS: attention          attn attn_merge        attn.c, codes.h, avx512/simd.h */
#include "kern/dispatch.h"
#include "kern/avx512vnni/int.h"

/* KERN_MM_DISPATCH of each type, measured with weights in memory */
#define DISPATCH_Q8_0 6, KERN_BITS(7, 16) | KERN_BITS(24, 33)
#define DISPATCH_Q4_0 6, KERN_BITS(12, 16) | KERN_BITS(26, 33)
#define DISPATCH_Q4_1 4, KERN_BITS(30, 33)
#define DISPATCH_Q5_0 2, KERN_BITS(15, 16) | KERN_BITS(30, 33)
#define DISPATCH_Q5_1 2, KERN_BITS(30, 33)
#define DISPATCH_IQ4_NL 4, KERN_BITS(28, 33)
#define DISPATCH_MXFP4 4, 0
#define DISPATCH_Q4_F 4, KERN_BITS(30, 33)
#define DISPATCH_Q8_F 4, KERN_BITS(30, 33)
#define DISPATCH_Q4_K 6, KERN_BITS(7, 34)
#define DISPATCH_Q6_K 6, KERN_BITS(7, 17) | KERN_BITS(26, 33)
#define DISPATCH_Q5_K 5, 0
#define DISPATCH_Q2_K 5, 0
#define DISPATCH_Q3_K 6, 0
#define DISPATCH_IQ4_XS 6, 0

#define MM(TYPE, name, quant, form, ...) \
	[INFER_##TYPE] = { KERN_MM_QUANT(quant, form) KERN_MM_ROWS(name) \
		                   KERN_MM_TILE(name, TILE_T, NR) __VA_ARGS__ },
#define Q32(TYPE, name) \
	MM(TYPE, name, quant_q8, Q8, \
	   KERN_MM_SKINNY(name, transpose_q8, SKINNY_BAND) KERN_MM_DISPATCH(DISPATCH_##TYPE))
#define Q16(TYPE, name) MM(TYPE, name, quant_q8, Q8, KERN_MM_DISPATCH(8, 0))
#define K46(TYPE, name) \
	MM(TYPE, name, quant_q8k, Q8K, \
	   KERN_MM_SKINNY(name, transpose_q8k, SKINNY_BAND) KERN_MM_DISPATCH(DISPATCH_##TYPE))
#define Q256(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, KERN_MM_DISPATCH(DISPATCH_##TYPE))
#define GRID1(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, KERN_MM_DISPATCH(12, 0))
#define GRID2(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, KERN_MM_DISPATCH(6, 0))
#define GRID3(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, KERN_MM_DISPATCH(4, 0))
#define TERN(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, KERN_MM_DISPATCH(9, 0))
const struct kern kern_avx512vnni = {
	.name = "avx512vnni",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI,
	.attn = KERN_FN(attn),
	.attn_merge = KERN_FN(attn_merge),
	.peak_dot = KERN_FN(peak_dot),
	.mm = { KERN_ROWS_32(Q32) KERN_ROWS_64(Q32) KERN_ROWS_16(Q16) KERN_ROWS_K46(K46)
	                KERN_ROWS_K235(Q256) KERN_ROWS_GRID1(GRID1) KERN_ROWS_GRID2(GRID2)
	                        KERN_ROWS_GRID3(GRID3) KERN_ROWS_TERNARY(TERN) },
};
