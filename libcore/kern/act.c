#include "kern/act.h"
#include "base/err.h"

static size_t up64(size_t n) { return (n + 63) & ~(size_t)63; }

static void lay_out(struct kern_act *x, enum kern_form form, int k)
{
	*x = (struct kern_act){ .form = (uint8_t)form };
	switch (form) {
	case KERN_FORM_F32:
		x->q_row = up64((size_t)k * 4);
		break;
	case KERN_FORM_Q8:
		must(k % 32 == 0);
		x->q_row = up64((size_t)k);
		x->d_row = x->s_row = (size_t)k / 32;
		break;
	case KERN_FORM_Q8K:
		must(k % 256 == 0);
		x->q_row = (size_t)k;
		x->d_row = (size_t)k / 256;
		x->s_row = (size_t)k / 256 * ACT_SUMS_WORDS;
		break;
	case KERN_FORMS:
		must(!"a form");
	}
}

size_t kern_act_bytes(enum kern_form form, int m, int k)
{
	struct kern_act x;

	lay_out(&x, form, k);
	return up64((size_t)m * x.q_row) + up64((size_t)m * x.d_row * 4) + up64((size_t)m * x.s_row * 4);
}

void kern_act_init(struct kern_act *x, enum kern_form form, void *at, int m, int k)
{
	lay_out(x, form, k);
	x->q = at;
	if (form == KERN_FORM_F32)
		return;
	x->d = (float *)(void *)((char *)at + up64((size_t)m * x->q_row));
	x->s = (int32_t *)(void *)((char *)x->d + up64((size_t)m * x->d_row * 4));
}
