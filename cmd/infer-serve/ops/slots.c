/* infer-serve/ops/slots.c - the samples being computed, for /slots. */
#include "infer-serve/ops/slots.h"
#include "infer-serve/ops/server.h"

void slots_count(const struct api_request *r, int32_t index, int32_t tokens)
{
	int32_t want = r->gen.task ? infer_task_job(r->gen.task)->slot - 1 : -1;
	struct slot *idle = NULL;

	for (int i = 0; i < r->model->o.parallel; i++) {
		struct slot *l = &r->model->slots[i];

		if (l->of == r && l->index == index) {
			l->decoded += tokens;
			return;
		}
		if (!l->of && !idle)
			idle = l;
	}
	/* use the slot that the request asks for, if it is idle */
	if (want >= 0 && !index && !r->model->slots[want].of)
		idle = &r->model->slots[want];
	/* without an idle slot the sample is not shown: it waits for other samples */
	if (idle)
		*idle = (struct slot){ .of = r, .index = index, .decoded = tokens };
}

void slots_free_all(const struct api_request *r)
{
	for (int i = 0; i < r->model->o.parallel; i++)
		if (r->model->slots[i].of == r)
			r->model->slots[i].of = NULL;
}

void slots_free(const struct api_request *r, int32_t index)
{
	for (int i = 0; i < r->model->o.parallel; i++) {
		struct slot *l = &r->model->slots[i];

		if (l->of == r && l->index == index)
			l->of = NULL;
	}
}
