/* kern/avxvnni/table.c - 256 bits with products of bytes, for processors without AVX-512.
 *
 *   types                          kernels                file
 *   blocks of 32, of 64            rows pack tile         mm_q32.c, x86/mm_q32.h
 *   Q4_K ... Q3_K, IQ4_XS          rows                   mm_q256.c, x86/mm_q256.h
 *                                  pack tile              mm_q256_tile.c, x86/mm_q256_tile.h
 *   forms Q8, Q8K                  quant                  quant.c, x86/quant.h
 *   codebooks and the rest         as avx2 */
#include "kern/dispatch.h"
#include "kern/avxvnni/int.h"

#define MM(TYPE, name, quant, form) \
	[INFER_##TYPE] = { KERN_MM_QUANT(quant, form) KERN_MM_ROWS(name) \
		                   KERN_MM_TILE(name, TILE_T, NR) KERN_MM_DISPATCH(5, 0) },
#define Q32(TYPE, name) MM(TYPE, name, quant_q8, Q8)
#define Q256(TYPE, name) MM(TYPE, name, quant_q8k, Q8K)
const struct kern kern_avxvnni = {
	.name = "avxvnni",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVXVNNI,
	.mm = { KERN_ROWS_32(Q32) KERN_ROWS_64(Q32) KERN_ROWS_16(Q32) KERN_ROWS_256(Q256) },
};
