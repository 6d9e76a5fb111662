/* kern/amx/table.c - panels in tile registers.
 *
 *   types                          kernels                file
 *   blocks of 32, of 64            pack tile              mm_q32.c, int.h, tiles.h
 *   Q4_K ... Q3_K, IQ4_XS          pack tile              mm_q256.c, int.h, tiles.h
 *   F16 BF16, x in bf16            rows pack tile         mm_bf16.c, avx512/bf16.h
 *   blocks of 32, of 256           transpose              of avx512vnni, also for types without skinny
 *   KERN_SLOTS                     peak_tile              peak.c
 *   other rows, quant, skinny      as avx512vnni */
#include "kern/dispatch.h"
#include "kern/amx/int.h"

/* KERN_MM_DISPATCH of each type, measured with weights in memory */
#define DISPATCH_Q8_0 4, KERN_BITS(5, 63)
#define DISPATCH_Q4_0 6, KERN_BITS(7, 63)
#define DISPATCH_Q4_1 4, KERN_BITS(5, 34)
#define DISPATCH_Q5_0 3, KERN_BITS(4, 34)
#define DISPATCH_Q5_1 3, KERN_BITS(4, 34)
#define DISPATCH_IQ4_NL 4, KERN_BITS(5, 34)
#define DISPATCH_MXFP4 4, KERN_BITS(5, 34)
#define DISPATCH_Q4_F 4, KERN_BITS(5, 34)
#define DISPATCH_Q8_F 4, KERN_BITS(5, 34)
#define DISPATCH_Q4_K 12, KERN_BITS(13, 34)
#define DISPATCH_Q6_K 8, KERN_BITS(9, 32)
#define DISPATCH_Q5_K 9, 0
#define DISPATCH_Q2_K 5, 0
#define DISPATCH_Q3_K 5, 0
#define DISPATCH_IQ4_XS 11, 0
#define DISPATCH_F16 4, 0
#define DISPATCH_BF16 6, 0

#define MM(TYPE, name, transpose_) \
	[INFER_##TYPE] = { KERN_MM_TILE(name, TOKENS, NR).tile_transposed = 1, \
		           .transpose = KERN_NAME(avx512vnni, transpose_), \
		           KERN_MM_DISPATCH(DISPATCH_##TYPE) },
#define Q32(TYPE, name) MM(TYPE, name, transpose_q8)
#define Q256(TYPE, name) MM(TYPE, name, transpose_q8k)
#define HALF_F32(TYPE, name) [INFER_##TYPE] = { KERN_MM_DISPATCH(36, 0) },
#define HALF(TYPE, name) \
	[INFER_##TYPE] = { KERN_MM_ROWS(name) KERN_MM_TILE(name, TOKENS / 2, NR) \
		                   KERN_MM_DISPATCH(DISPATCH_##TYPE) },
const struct kern kern_amx = {
	.name = "amx",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI | CPU_AVX512VBMI |
	         CPU_AVX512BF16 | CPU_GFNI | CPU_AMX,
	.peak_tile = KERN_FN(peak_tile),
	.mm = { KERN_ROWS_HALF(HALF_F32) KERN_ROWS_32(Q32) KERN_ROWS_64(Q32) KERN_ROWS_256(Q256) },
	.mm_bf16 = { KERN_ROWS_HALF(HALF) },
};
