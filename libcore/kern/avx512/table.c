/* kern/avx512/table.c - 512 bits.
 *
 *   types                          loops                  file
 *   F32 F16 BF16                   quant rows pack tile   mm_f.c, tmpl/mm_f.h
 *   KERN_SLOTS: attention          attn attn_merge        attn.c, tmpl/attn.h, tmpl/codes.h
 *   KERN_SLOTS: the others                                elem.c, tmpl/elem.h
 *   quantised types                as avx2 */
#include "kern/dispatch.h"
#include "kern/avx512/simd.h"

/* KERN_MM_DISPATCH of each type, measured with weights in memory */
#define DISPATCH_F32 64, 0
#define DISPATCH_F16 36, 0
#define DISPATCH_BF16 36, 0

#define F(TYPE, name) \
	[INFER_##TYPE] = { KERN_MM_QUANT(quant_f32, F32) KERN_MM_ROWS(name) KERN_MM_TILE( \
		name, MM_T, MM_PANEL) KERN_MM_DISPATCH(DISPATCH_##TYPE) },
#define S(slot, args) .slot = KERN_FN(slot),
const struct kern kern_avx512 = {
	.name = "avx512",
	.needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512,
	KERN_SLOTS(S).mm = { KERN_ROWS_F(F) },
};
