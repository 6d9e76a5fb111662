#include "kern/neoni8mm/int.h"

void kern_neon_quant_q8(struct kern_act *x, int row, const float *src, int k);
void kern_neon_quant_q8k(struct kern_act *x, int row, const float *src, int k);
#define ROW(TYPE, name) \
	void kern_neondot_##name##_rows(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                                const struct kern_act *x, int x_row, int m, int n, int k);
KERN_ROWS_32(ROW)
KERN_ROWS_256(ROW)
KERN_ROWS_GRID(ROW)
KERN_ROWS_TERNARY(ROW)
#undef ROW

/* activations as neon makes them; a token alone gains nothing from matrices: rows as neondot's */
#define ROW(TYPE, name, quant, form) \
	[INFER_##TYPE] = { kern_neon_##quant, \
		           kern_neondot_##name##_rows, \
		           KERN_FN(name##_pack), \
		           KERN_FN(name##_tile), \
		           KERN_FN(name##_pack_bytes), \
		           form, \
		           TILE_T, \
		           8 },
#define Q32(TYPE, name) ROW(TYPE, name, quant_q8, KERN_FORM_Q8)
#define Q256(TYPE, name) ROW(TYPE, name, quant_q8k, KERN_FORM_Q8K)
const struct kern kern_neoni8mm = {
	.name = "neoni8mm",
	.needs = CPU_NEON | CPU_DOTPROD | CPU_I8MM,
	.mm = { KERN_ROWS_32(Q32) KERN_ROWS_256(Q256) KERN_ROWS_GRID(Q256)
	                KERN_ROWS_TERNARY(Q256) },
};
