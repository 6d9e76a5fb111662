/* arch/tensor_tab.c - the tables of tensor_list.h. */
#include "arch/arch.h"

#include <stddef.h>

#define GROUP(name) const struct arch_tensor group_##name[] = {
#define TENSOR(slot, gguf, hf, other, ne0, ne1, ne2, need, how) \
	{ W_##slot, gguf, { hf, other }, { D_##ne0, D_##ne1, D_##ne2 }, ARCH_##need, T_##how },
#define GONE(without) { .slot = W_##without },
#define END_GROUP \
	{ \
		.slot = W_END \
	} \
	} \
	;
#include "arch/tensor_list.h"
