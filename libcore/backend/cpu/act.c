/* backend/cpu/act.c - kernels by weight type, and the forms in which they read rows. */
#include "backend/cpu/cpu.h"

int cpu_has_loops(const struct backend *b, int type) { return b->kern.mm[type].rows != NULL; }

const struct kern_mm *cpu_mm(const struct backend *b, int type)
{
	return cpu_has_loops(b, type) ? &b->kern.mm[type] : &b->kern.mm[INFER_F32];
}

const struct kern_mm *cpu_plain_mm(const struct backend *b, int type)
{
	const struct kern_mm *mm = &b->kern.mm[type];

	if (type != INFER_F32 && type != INFER_F16 && type != INFER_BF16)
		return NULL;
	return mm->form == KERN_FORM_F32 ? mm : &b->kern.mm_bf16[type];
}

int cpu_transposed(const struct backend *b, int type, int m)
{
	return kern_loop_transposed(cpu_mm(b, type), m);
}

struct cpu_act *cpu_act_of_form(const struct backend_plan *p, int32_t node, enum kern_form form)
{
	for (int i = p->n_acts - 1; i >= 0; i--)
		if (p->acts[i].node == node && p->acts[i].form == form)
			return &p->acts[i];
	return NULL;
}

const struct cpu_act *cpu_act_find(const struct backend_plan *p, int32_t node, int type)
{
	return cpu_act_of_form(p, node, cpu_mm(p->b, type)->form);
}
