/* kern/avx2/table.c - 256 bits.
 *
 *   types                          kernels                file
 *   F32 F16 BF16                   quant rows pack tile   mm_f.c, tmpl/mm_f.h
 *   F8_E4M3 NF4                    rows pack tile         mm_f.c, fcode.h, tmpl/mm_f.h
 *   F16 BF16, x in bf16            quant rows pack tile   mm_bf16.c, bf16.h, tmpl/mm_bf16.h
 *   blocks of 32, of 64            rows pack tile         mm_q32.c, x86/mm_q32.h
 *   Q4_K ... Q3_K, IQ4_XS          rows                   mm_q256.c, x86/mm_q256.h
 *                                  pack tile              mm_q256_tile.c, x86/mm_q256_tile.h
 *   codebooks, ternary             rows                   mm_grid.c, x86/mm_grid.h
 *                                  pack tile              mm_grid_tile.c, x86/mm_grid_tile.h
 *   forms Q8, Q8K                  quant; peak_dot        quant.c, x86/quant.h, x86/peak.h
 *   KERN_SLOTS: attention          attn attn_merge        attn.c, tmpl/attn.h, tmpl/codes.h
 *   KERN_SLOTS: the others                                elem.c, tmpl/elem.h, tmpl/state.h */
#include "kern/dispatch.h"
#include "kern/avx2/int.h"
#include "kern/avx2/bf16.h"

/* KERN_MM_DISPATCH of each type, measured with weights in memory */
#define DISPATCH_F32 16, 0
#define DISPATCH_F16 40, 0
#define DISPATCH_BF16 40, 0
#define DISPATCH_F8_E4M3 40, 0
#define DISPATCH_NF4 40, 0
#define DISPATCH_Q8_0 4, 0
#define DISPATCH_Q4_0 4, 0
#define DISPATCH_Q4_1 4, 0
#define DISPATCH_Q5_0 2, 0
#define DISPATCH_Q5_1 2, 0
#define DISPATCH_IQ4_NL 2, 0
#define DISPATCH_MXFP4 2, 0
#define DISPATCH_Q4_F 4, 0
#define DISPATCH_Q8_F 4, 0
#define DISPATCH_NVFP4_F 4, 0
#define DISPATCH_Q4_K 4, 0
#define DISPATCH_Q6_K 4, 0
#define DISPATCH_Q5_K 4, 0
#define DISPATCH_Q2_K 5, 0
#define DISPATCH_Q3_K 16, 0
#define DISPATCH_IQ4_XS 4, 0

#define MM(TYPE, name, quant, form, mr, nr, ...) \
	[INFER_##TYPE] = { KERN_MM_QUANT(quant, form) KERN_MM_ROWS(name) \
		                   KERN_MM_TILE(name, mr, nr) KERN_MM_DISPATCH(__VA_ARGS__) },
#define F(TYPE, name) MM(TYPE, name, quant_f32, F32, MM_T, MM_PANEL, DISPATCH_##TYPE)
#define HALF(TYPE, name) MM(TYPE, name, quant_bf16, BF16, BF_T, 16 * BF_G, 4, 0)
#define Q32(TYPE, name) MM(TYPE, name, quant_q8, Q8, TILE_T, NR, DISPATCH_##TYPE)
#define Q256(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, TILE_T, NR, DISPATCH_##TYPE)
#define GRID1(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, TILE_T, NR, 12, 0)
#define GRID2(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, TILE_T, NR, 10, 0)
#define GRID3(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, TILE_T, NR, 4, 0)
#define TERN(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, TILE_T, NR, 48, 0)
#define S(slot, args) .slot = KERN_FN(slot),
const struct kern kern_avx2 = {
	.name = "avx2",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C,
	KERN_SLOTS(S).peak_dot = KERN_FN(peak_dot),
	.mm = { KERN_ROWS_F(F) KERN_ROWS_CODED(F) KERN_ROWS_32(Q32) KERN_ROWS_64(Q32) KERN_ROWS_16(
		Q32) KERN_ROWS_256(Q256) KERN_ROWS_GRID1(GRID1) KERN_ROWS_GRID2(GRID2)
	                KERN_ROWS_GRID3(GRID3) KERN_ROWS_TERNARY(TERN) },
	.mm_bf16 = { KERN_ROWS_HALF(HALF) },
};
