/* kern/neon/table.c - 128 bits.
 *
 *   types                          kernels                file
 *   F32 F16 BF16                   quant rows pack tile   mm_f.c, tmpl/mm_f.h
 *   F8_E4M3 NF4                    rows pack tile         mm_f.c, fcode.h, tmpl/mm_f.h
 *   F16 BF16, x in bf16            quant rows pack tile   mm_bf16.c, bf16.h, tmpl/mm_bf16.h
 *   all quantised                  rows                   mm_q_rows.c, arm/rows.h
 *                                  pack tile              mm_q_tile.c, arm/tile.h, arm/by4.h
 *   forms Q8, Q8K                  quant                  quant.c, arm/quant.h
 *   KERN_SLOTS: attention          attn attn_merge        attn.c, tmpl/attn.h, tmpl/codes.h
 *   KERN_SLOTS: the others                                elem.c, tmpl/elem.h, tmpl/state.h */
#include "kern/dispatch.h"
#include "kern/neon/int.h"
#include "kern/neon/bf16.h"

#define MM(TYPE, name, quant, form, mr, nr, most) \
	[INFER_##TYPE] = { KERN_MM_QUANT(quant, form) KERN_MM_ROWS(name) \
		                   KERN_MM_TILE(name, mr, nr) KERN_MM_DISPATCH(most, 0) },
#define F(TYPE, name) MM(TYPE, name, quant_f32, F32, MM_T, MM_PANEL, 64)
#define HALF(TYPE, name) MM(TYPE, name, quant_bf16, BF16, BF_T, 16 * BF_G, 4)
#define Q32(TYPE, name) MM(TYPE, name, quant_q8, Q8, TILE_T, 8, 5)
#define Q256(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, TILE_T, 8, 5)
#define S(slot, args) .slot = KERN_FN(slot),
const struct kern kern_neon = {
	.name = "neon",
	.needs = CPU_NEON,
	KERN_SLOTS(S).mm = { KERN_ROWS_F(F) KERN_ROWS_CODED(F) KERN_ROWS_32(Q32) KERN_ROWS_64(Q32)
	                             KERN_ROWS_16(Q32) KERN_ROWS_256(Q256) KERN_ROWS_GRID(Q256)
	                                     KERN_ROWS_TERNARY(Q256) },
	.mm_bf16 = { KERN_ROWS_HALF(HALF) },
};
