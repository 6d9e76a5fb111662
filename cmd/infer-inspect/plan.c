/* infer-inspect/plan.c - the subject plan: predicted speed and memory of a model on a machine. */
#include "plan.h"
#include <infer/lora.h>
#include "common/model.h"
#include "common/say.h"
#include "base/err.h"

#include <stdio.h>
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

/* Measure a decode step of the model on this machine, if it is planned for the host.  If that fails, the plan is
 * made from the rates of the kernels alone. */
static void rehearse_decode(struct planned *p)
{
	struct infer_setup *how = &p->asked.ask.how;
	infer_error why;

	how->decode_times = 0;
	if (!p->model || p->o->machine || how->gpu_part > 0)
		return;
	if (infer_plan_rehearse(&how->decode_times, p->model, p->m, how, &why))
		say_note(1, "no decode step was rehearsed: %s", why.message);
	else
		say_note(1,
		         "a decode step was rehearsed: it took %.2f times what the rates of the "
		         "kernels predict",
		         how->decode_times);
}

/* Plan the model as it is, where it is placed best; on the host with the memory that the engine itself
 * would need. */
static int plan_asked(struct planned *p, infer_error *err)
{
	struct infer_plan_ask *a = &p->asked.ask;
	struct infer_engine_need need, *known = NULL;
	struct infer_setup how;

	p->asked.type = TYPE_OF_FILE;
	infer_plan_place(&how, &p->shape, p->m, a);
	if (p->lora_bytes > 0 && how.gpu_part > 0)
		return err_set(err, INFER_EUNSUP,
		               "--lora: adapters run on the CPU only, but the model is placed on "
		               "accelerators");
	a->how = how;
	rehearse_decode(p);
	p->asked.runs = plan_runs(p->m, &how);
	if (!(how.gpu_part > 0) && p->model) {
		TRY(infer_plan_engine(&need, p->model, a,
		                      a->how.threads ? a->how.threads : p->m->threads, err));
		need.weight_bytes += (uint64_t)p->lora_bytes;
		known = &need;
	}
	infer_plan_make(&p->asked.plan, &p->shape, p->m, a, known);
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
static int refuse_memory(const struct planned *p, infer_error *err)
{
	const struct infer_plan_need *n = &p->asked.plan.need;
	int gpu = p->asked.ask.how.gpu_part > 0, users = (int)p->asked.ask.users;
	double want = gpu ? n->gpu : n->host, there = gpu ? n->gpu_there : n->host_there;
	const struct strategy *s = &p->near;

	if (s->type == TYPE_NONE)
		return err_set(
			err, INFER_ENOMEM,
			"nothing fits: %d user%s of %d tokens take%s %.2f GiB%s; there is %.2f; "
			"not even a context of 2 tokens with the smallest types does (IQ1_S, a "
			"cache "
			"of q4_0)",
			users, users == 1 ? "" : "s", (int)p->asked.ask.ctx, users == 1 ? "s" : "",
			want / (1 << 30), gpu ? " of each accelerator" : "", there / (1 << 30));
	return err_set(err, INFER_ENOMEM,
	               "nothing fits: %d user%s of %d tokens take%s %.2f GiB%s; there is %.2f; the "
	               "nearest that fits: one user, a context of %d tokens, weights %s, cache %s",
	               users, users == 1 ? "" : "s", (int)p->asked.ask.ctx, users == 1 ? "s" : "",
	               want / (1 << 30), gpu ? " of each accelerator" : "", there / (1 << 30),
	               (int)s->ask.ctx,
	               s->type == TYPE_OF_FILE ? "as they are" : plan_type_name(s->type),
	               infer_type_info(s->ask.how.k_type)->name);
}

/* Set the error that what fits is slower than asked: the nearest plan, and the users at the latency. */
static int refuse_latency(const struct planned *p, infer_error *err)
{
	const struct strategy *s = &p->near;
	const struct infer_plan_ask *a = &s->ask;
	const char *type = s->type < 0 ? "as they are" : plan_type_name(s->type);
	int32_t users = p->asked.plan.users_latency > s->plan.users_latency
	                        ? p->asked.plan.users_latency
	                        : s->plan.users_latency;
	char fewer[64] = "";

	if (!(s->plan.all_tok_s > 0))
		return err_set(err, INFER_ENOMEM,
		               "no speed is known of %s, so no latency can be promised: leave out "
		               "--ttft and --tpot, or describe the machine",
		               p->m->name);
	if (users > 0 && users < a->users)
		snprintf(fewer, sizeof fewer, "; %d user%s would have that latency", (int)users,
		         users == 1 ? "" : "s");
	return err_set(
		err, INFER_ENOMEM,
		"nothing that fits is as quick as asked; the nearest: weights %s, cache %s: the "
		"first token after %.0f ms, then one each %.1f ms%s",
		type, infer_type_info(a->how.k_type)->name, s->plan.ttft_ms, s->plan.tpot_ms,
		fewer);
}

static void warn_context(const struct planned *p)
{
	int32_t ctx = p->asked.ask.ctx, most = p->shape.ctx_train;

	if (most > 0 && ctx > most)
		say_warning(
			"a context of %d tokens is beyond the %d that the model was trained for: "
			"answers get worse there",
			(int)ctx, (int)most);
}

static int answer_plan(struct buf *out, struct planned *p, infer_error *err)
{
	TRY(plan_asked(p, err));
	TRY(plan_gpu(p, err));
	plan_best(p);
	if (!p->fits)
		return refuse_memory(p, err);
	if (!p->n_best)
		return refuse_latency(p, err);
	warn_context(p);
	(p->o->json ? plan_json : plan_text)(out, p);
	return INFER_OK;
}

/* If no length is asked for, ask for no more than the model was trained for. */
static void fit_default_lengths(struct planned *p)
{
	struct infer_plan_ask *a = &p->asked.ask;
	const struct plan_args *o = &p->o->plan;
	int32_t most = p->shape.ctx_train;

	if (o->ctx || o->prompt || o->output || most < 8 || most >= a->ctx)
		return;
	a->ctx = most;
	a->output = most / 5;
	a->prompt = most - a->output;
}

/* Open the model of the file and set the shape and its type. */
static int take_model(struct planned *p, const infer_file *file, infer_error *err)
{
	p->path = p->named = infer_file_path(file);
	TRY(infer_model_open_file(&p->model, file, NULL, err));
	TRY(model_generates(p->model, "a plan", err));
	TRY(infer_shape_of(&p->shape, p->model, err));
	p->type = main_type(&p->shape);
	return INFER_OK;
}

/* Add the adapters to the shape. */
static int take_adapters(struct planned *p, infer_error *err)
{
	const struct opt_list *all = &p->o->plan.loras;

	if (all->n && !p->model)
		return err_set(err, INFER_EINVAL,
		               "--lora needs a model with weights, not its size");
	if (all->n && p->o->plan.device && !strncmp(p->o->plan.device, "cuda", 4))
		return err_set(err, INFER_EUNSUP, "--lora: adapters run on the CPU only, not on %s",
		               p->o->plan.device);
	if (all->n > INFER_LORA_USES)
		return err_set(err, INFER_EINVAL, "--lora: at most %d adapters", INFER_LORA_USES);
	for (int i = 0; i < all->n; i++) {
		struct infer_lora_info info;
		infer_lora *l;
		TRY(infer_lora_open(&l, p->model, all->at[i], NULL, NULL, err));
		infer_lora_info(l, &info);
		p->lora_bytes += (double)info.bytes;
		p->asked.ask.lora_rank += info.max_rank;
		int rc = infer_shape_adapt(&p->shape, l, err);
		infer_lora_close(&l);
		TRY(rc);
	}
	return INFER_OK;
}

int plan(struct buf *out, const struct inspect_opts *o, const infer_file *file,
         const struct opt_rest *words, infer_error *err)
{
	int all = o->machine && !strcmp(o->machine, "all");
	struct planned p = { .o = o, .m = o->on };
	struct buf path;
	int rc;

	TRY(take_ask(&p.asked.ask, o, err));
	buf_init(&path, MEM_BASE);
	rc = file ? take_model(&p, file, err)
	          : plan_take_dims(&p, words->n_words ? words->words[0] : o->model, &path, err);
	fit_default_lengths(&p);
	if (!rc)
		rc = take_adapters(&p, err);
	if (!rc && (o->plan.table || all)) {
		rehearse_decode(&p);
		rc = plan_table(out, &p, err);
	} else if (!rc) {
		rc = answer_plan(out, &p, err);
	}
	infer_model_close(&p.model);
	buf_fini(&path);
	return rc;
}
