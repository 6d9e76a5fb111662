/* kern/act.c - bytes of rows of activations in each form. */
#include "kern/act.h"
#include "base/err.h"

static size_t row_bytes(enum kern_form form, int k)
{
	switch (form) {
	case KERN_FORM_F32:
		return (size_t)k * 4;
	case KERN_FORM_Q8:
		must(k % 32 == 0);
		return (size_t)k / 32 * sizeof(struct kern_q8);
	case KERN_FORM_Q8K:
		must(k % 256 == 0);
		return (size_t)k / 256 * sizeof(struct kern_q8k);
	case KERN_FORM_BF16: /* one cache line more: rows a power of two apart share few cache
	                      * sets */
		return (size_t)act_bf16_k(k) * (sizeof(float) + sizeof(uint16_t)) + 64;
	case KERN_FORMS:
		break;
	}
	must(!"a form");
	return 0;
}

size_t kern_act_bytes(enum kern_form form, int m, int k)
{
	return (size_t)m * ((row_bytes(form, k) + 63) & ~(size_t)63);
}

size_t kern_transposed_bytes(enum kern_form form, int m, int k)
{
	size_t w_groups = (size_t)((m + KERN_LANES - 1) / KERN_LANES);

	return w_groups * (form == KERN_FORM_Q8    ? (size_t)k / 32 * sizeof(struct kern_q8x16)
	                   : form == KERN_FORM_Q8K ? (size_t)k / 256 * sizeof(struct kern_q8kx16)
	                                           : 0);
}

void kern_act_init(struct kern_act *x, enum kern_form form, void *at, int m, int k)
{
	*x = (struct kern_act){ .form = (uint8_t)form,
		                .q = at,
		                .q_row = kern_act_bytes(form, 1, k) };
	(void)m;
}
