#include "kern/neondot/int.h"

void kern_neon_quant_q8(struct kern_act *x, int row, const float *src, int k);
void kern_neon_quant_q8k(struct kern_act *x, int row, const float *src, int k);

/* activations as neon makes them */
#define Q32(TYPE, name) \
	KERN_LINE(TYPE, name, kern_neon_quant_q8, KERN_FORM_Q8, TILE_T, 8, NULL, NULL)
#define Q256(TYPE, name) \
	KERN_LINE(TYPE, name, kern_neon_quant_q8k, KERN_FORM_Q8K, TILE_T, 8, NULL, NULL)
const struct kern kern_neondot = {
	.name = "neondot",
	.needs = CPU_NEON | CPU_DOTPROD,
	.mm = { KERN_ROWS_32(Q32) KERN_ROWS_256(Q256) KERN_ROWS_GRID(Q256)
	                KERN_ROWS_TERNARY(Q256) },
};
