/* kern/avx512/table.c - 512 bits.
 *
 *   types                          kernels                file
 *   F32 F16 BF16                   quant rows pack tile   mm_f.c, tmpl/mm_f.h
 *   F8_E4M3 NF4                    rows pack tile         mm_f.c, fcode.h, tmpl/mm_f.h
 *   F16 BF16, x in bf16            quant rows pack tile   mm_bf16.c, bf16.h, tmpl/mm_bf16.h
 *   KERN_SLOTS: attention          attn attn_merge        attn.c, tmpl/attn.h, tmpl/codes.h
 *   KERN_SLOTS: the others                                elem.c, tmpl/elem.h, tmpl/state.h
 *   quantised types                as avx2 */
#include "kern/dispatch.h"
#include "kern/avx512/bf16.h"

/* KERN_MM_DISPATCH of each type, measured with weights in memory */
#define DISPATCH_F32 64, 0
#define DISPATCH_F16 36, 0
#define DISPATCH_BF16 36, 0
#define DISPATCH_F8_E4M3 36, 0
#define DISPATCH_NF4 36, 0

#define F(TYPE, name) \
	[INFER_##TYPE] = { KERN_MM_QUANT(quant_f32, F32) KERN_MM_ROWS(name) KERN_MM_TILE( \
		name, MM_T, MM_PANEL) KERN_MM_DISPATCH(DISPATCH_##TYPE) },
#define HALF(TYPE, name) \
	[INFER_##TYPE] = { KERN_MM_QUANT(quant_bf16, BF16) KERN_MM_ROWS(name) \
		                   KERN_MM_TILE(name, BF_T, 16 * BF_G) KERN_MM_DISPATCH(4, 0) },
#define S(slot, args) .slot = KERN_FN(slot),
const struct kern kern_avx512 = {
	.name = "avx512",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512,
	KERN_SLOTS(S).mm = { KERN_ROWS_F(F) KERN_ROWS_CODED(F) },
	.mm_bf16 = { KERN_ROWS_HALF(HALF) },
};
