/* infer-inspect/plan.c - the subject plan: predicted speed and memory of a model on a machine. */
#include "plan.h"
#include "common/model.h"
#include "base/err.h"

#include <string.h>

/* Return the type that most bytes of the weights have. */
static int main_type(const struct infer_shape *s)
{
	double most = 0, bytes[INFER_TYPE_COUNT] = { 0 };
	int type = INFER_F16;

	for (int i = 0; i < s->n_work; i++) {
		const struct infer_work *w = &s->work[i];
		if (w->kind == INFER_WORK_MATRIX || w->kind == INFER_WORK_EXPERTS)
			bytes[w->type] += (double)w->n * (double)w->k * w->times *
			                  (w->experts ? w->experts : 1);
	}
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (bytes[t] > most) {
			most = bytes[t];
			type = t;
		}
	return type;
}

/* Fill *a from the options. */
static int take_ask(struct infer_plan_ask *a, const struct inspect_opts *o, infer_error *err)
{
	struct engine_args engine = { .kv_type = o->plan.kv_type, .device = o->plan.device };
	struct infer_engine_opts eo;

	TRY(engine_args_take(&eo, &engine, err));
	*a = (struct infer_plan_ask){
		.ctx = (int32_t)o->plan.ctx,
		.users = o->plan.users ? (int32_t)o->plan.users : 1,
		.prompt = o->plan.prompt ? (int32_t)o->plan.prompt : 512,
		.output = o->plan.output ? (int32_t)o->plan.output : 128,
		.shared = (int32_t)o->plan.shared,
		.chunk = (int32_t)o->plan.chunk,
		.ttft_ms = o->plan.ttft_ms,
		.tpot_ms = o->plan.tpot_ms,
		.budget_bytes = o->plan.budget,
		.price = o->plan.price,
		.how = { .k_type = eo.kv_set ? eo.k_type : INFER_F16,
		         .v_type = eo.kv_set ? eo.v_type : INFER_F16,
		         .threads = (int32_t)o->plan.threads },
	};
	if (!a->ctx)
		a->ctx = a->prompt + a->output;
	if (a->ctx < a->prompt + a->output)
		return err_set(err, INFER_EINVAL,
		               "--ctx: %d tokens cannot hold a prompt of %d and an output of %d",
		               (int)a->ctx, (int)a->prompt, (int)a->output);
	return INFER_OK;
}

/* Plan the model as it is: on all accelerators if the machine has any; otherwise on the host,
 * with the memory that the engine itself would need. */
static int plan_asked(struct planned *p, infer_error *err)
{
	struct infer_plan_ask *a = &p->asked.ask;
	struct infer_engine_need need;

	p->asked.type = TYPE_OF_FILE;
	if (p->m->gpu.count) {
		a->how.gpus = p->m->gpu.count;
		a->how.gpu_part = 1;
		a->how.split = p->m->gpu.count > 1 ? INFER_SPLIT_TENSOR : INFER_SPLIT_NONE;
		infer_plan_make(&p->asked.plan, &p->shape, p->m, a, NULL);
		return INFER_OK;
	}
	TRY(infer_plan_engine(&need, p->model, a, a->how.threads ? a->how.threads : p->m->threads,
	                      err));
	infer_plan_make(&p->asked.plan, &p->shape, p->m, a, &need);
	return INFER_OK;
}

/* With --device cuda: open the GPU, and compute the memory that the engine would need on it. */
static int plan_gpu(struct planned *p, infer_error *err)
{
	const struct infer_plan_ask *a = &p->asked.ask;
	const struct infer_engine_opts eo = { .device = p->o->plan.device,
		                              .ctx = a->ctx,
		                              .kv_set = 1,
		                              .k_type = a->how.k_type,
		                              .v_type = a->how.v_type,
		                              .prefill_chunk = a->chunk,
		                              .max_seqs = a->users };

	return engine_wants_gpu(&eo) ? infer_engine_need(p->model, &eo, &p->on_gpu, err) : INFER_OK;
}

/* Set the error that nothing fits: the memory needed, the memory available, and the nearest plan
 * that fits. */
static int refuse_plan(const struct planned *p, infer_error *err)
{
	const struct infer_plan_need *n = &p->asked.plan.need;
	int gpu = p->asked.ask.how.gpu_part > 0;
	double want = gpu ? n->gpu : n->host, there = gpu ? n->gpu_there : n->host_there;
	const struct strategy *s = &p->near;

	if (s->type == TYPE_NONE)
		return err_set(
			err, INFER_ENOMEM,
			"nothing fits: %d users of %d tokens take %.2f GiB%s; there is %.2f; "
			"not even a context of 2 tokens with the smallest types does",
			(int)p->asked.ask.users, (int)p->asked.ask.ctx, want / (1 << 30),
			gpu ? " of each accelerator" : "", there / (1 << 30));
	return err_set(err, INFER_ENOMEM,
	               "nothing fits: %d users of %d tokens take %.2f GiB%s; there is %.2f; the "
	               "nearest that fits: one user, a context of %d tokens, weights %s, cache %s",
	               (int)p->asked.ask.users, (int)p->asked.ask.ctx, want / (1 << 30),
	               gpu ? " of each accelerator" : "", there / (1 << 30), (int)s->ask.ctx,
	               s->type == TYPE_OF_FILE ? "as they are" : plan_type_name(s->type),
	               infer_type_info(s->ask.how.k_type)->name);
}

static int answer_plan(struct buf *out, struct planned *p, infer_error *err)
{
	TRY(plan_asked(p, err));
	TRY(plan_gpu(p, err));
	plan_best(p);
	if (!p->fits)
		return refuse_plan(p, err);
	(p->o->json ? plan_json : plan_text)(out, p);
	return INFER_OK;
}

int plan(struct buf *out, const struct inspect_opts *o, const infer_file *file,
         const struct opt_rest *words, infer_error *err)
{
	struct planned p = { .o = o, .m = o->on, .path = infer_file_path(file) };
	int rc;

	(void)words;
	TRY(take_ask(&p.asked.ask, o, err));
	TRY(infer_model_open_file(&p.model, file, NULL, err));
	rc = model_generates(p.model, "a plan", err);
	if (!rc)
		rc = infer_shape_of(&p.shape, p.model, err);
	p.type = main_type(&p.shape);
	if (!rc && o->plan.table)
		rc = plan_table(out, &p, err);
	else if (!rc)
		rc = answer_plan(out, &p, err);
	infer_model_close(&p.model);
	return rc;
}
