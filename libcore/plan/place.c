/* plan/place.c - where a model is placed on a machine */
#include <infer/plan.h>

/* Return 1 if the plan fits with this placement. */
static int fits_so(const struct infer_shape *s, const struct infer_machine *m,
                   const struct infer_plan_ask *a, const struct infer_setup *how)
{
	struct infer_plan_need need;
	struct infer_plan_ask with = *a;

	with.how = *how;
	infer_plan_fits(&need, s, m, &with);
	return need.fits;
}

double infer_plan_gpu_part(const struct infer_shape *s, const struct infer_machine *m,
                           const struct infer_plan_ask *a)
{
	struct infer_plan_ask with = *a;
	struct infer_plan_need need;
	int lo = 0, hi = s->layers;

	while (lo < hi) {
		int mid = lo + (hi - lo + 1) / 2;
		with.how.gpu_part = (double)mid / s->layers;
		infer_plan_fits(&need, s, m, &with);
		if (need.gpu <= need.gpu_there)
			lo = mid;
		else
			hi = mid - 1;
	}
	return (double)lo / s->layers;
}

int infer_plan_place(struct infer_setup *how, const struct infer_shape *s,
                     const struct infer_machine *m, const struct infer_plan_ask *a)
{
	struct infer_plan_ask with = *a;

	*how = a->how;
	how->gpus = 0;
	how->gpu_part = 0;
	how->split = INFER_SPLIT_NONE;
	if (!m->gpu.count)
		return fits_so(s, m, a, how);
	how->gpus = 1;
	how->gpu_part = 1;
	if (fits_so(s, m, a, how))
		return 1;
	if (m->gpu.count > 1) {
		how->gpus = m->gpu.count;
		how->split = INFER_SPLIT_PIPELINE;
		if (fits_so(s, m, a, how))
			return 1;
	}
	if (!m->memory_bytes)
		return 0;
	with.how = *how;
	with.how.gpu_part = infer_plan_gpu_part(s, m, &with);
	if (!(with.how.gpu_part > 0)) {
		with.how.gpus = 0;
		with.how.split = INFER_SPLIT_NONE;
	}
	if (!fits_so(s, m, a, &with.how))
		return 0;
	*how = with.how;
	return 1;
}
