/* kern/ref/table.c - the reference set: all kernels for all types.  All other sets are overlaid on
 * it.
 *
 *   types                          kernels                file
 *   F32 F16 BF16                   quant rows pack tile   mm_f.c, tmpl/mm_f.h
 *   F8_E4M3 NF4                    rows pack tile         mm_f.c, fcode.h, tmpl/mm_f.h
 *   F16 BF16, x in bf16            quant rows pack tile   mm_bf16.c, tmpl/bf16.h
 *   blocks of 32, of 64            rows pack tile         mm_q32.c, mm.h
 *   Q4_K ... Q3_K, IQ4_XS          rows pack tile         mm_q256.c, mm.h
 *   codebooks, ternary             rows pack tile         mm_grid.c, mm.h
 *   forms Q8, Q8K                  quant; peak_dot        quant.c
 *   KERN_SLOTS: attention          attn attn_merge        attn.c, tmpl/attn.h
 *   KERN_SLOTS: the others                                elem.c, tmpl/elem.h, tmpl/state.h */
#include "kern/dispatch.h"
#include "kern/ref/simd.h"

/* panels are not faster here; the dispatch limits only let tests use them */
#define MM(TYPE, name, quant, form, mr, nr, most) \
	[INFER_##TYPE] = { KERN_MM_QUANT(quant, form) KERN_MM_ROWS(name) \
		                   KERN_MM_TILE(name, mr, nr) KERN_MM_DISPATCH(most, 0) },
#define F(TYPE, name) MM(TYPE, name, quant_f32, F32, MM_T, MM_PANEL, 64)
#define HALF(TYPE, name) MM(TYPE, name, quant_bf16, BF16, 1, 4, 64)
#define Q32(TYPE, name) MM(TYPE, name, quant_q8, Q8, 1, 4, 5)
#define Q256(TYPE, name) MM(TYPE, name, quant_q8k, Q8K, 1, 4, 5)
#define S(slot, args) .slot = KERN_FN(slot),
const struct kern kern_ref = {
	.name = "ref",
	KERN_SLOTS(S).peak_dot = KERN_FN(peak_dot),
	.mm = { KERN_ROWS_F(F) KERN_ROWS_CODED(F) KERN_ROWS_32(Q32) KERN_ROWS_64(Q32) KERN_ROWS_16(
		Q32) KERN_ROWS_256(Q256) KERN_ROWS_GRID(Q256) KERN_ROWS_TERNARY(Q256) },
	.mm_bf16 = { KERN_ROWS_HALF(HALF) },
};
