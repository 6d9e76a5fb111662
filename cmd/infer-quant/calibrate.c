/* infer-quant/calibrate.c - run the calibration text of GPTQ through the model. */
#include "calibrate.h"
#include "common/say.h"
#include "base/err.h"
#include "base/sha256.h"

enum { WINDOW = 512 };

static int open_engine(struct calibrate *c, const struct engine_args *args, infer_error *err)
{
	struct infer_model_info info;
	struct infer_engine_opts eo;

	infer_model_info(c->model, &info);
	TRY(engine_args_take(&eo, args, err));
	if (!eo.ctx)
		eo.ctx = info.ctx_train && info.ctx_train < WINDOW ? info.ctx_train : WINDOW;
	eo.log = say_log;
	eo.flags |= INFER_ENGINE_NO_PREFIX_CACHE;
	eo.observer = infer_gptq_observer(c->gptq);
	return infer_engine_open(&c->engine, c->model, &eo, err);
}

/* Return the engine options: each from the command line, else from the recipe. */
static struct engine_args args_of(const struct quant_opts *o, const struct infer_recipe_info *r)
{
	struct engine_args a = o->engine;

	a.ctx = a.ctx ? a.ctx : r->gptq_window ? r->gptq_window : 0;
	a.kv_type = a.kv_type ? a.kv_type : r->gptq_kv_type;
	a.act_type = a.act_type ? a.act_type : r->gptq_act_type;
	return a;
}

int calibrate_open(struct calibrate *c, const struct quant_opts *o,
                   const struct infer_recipe_info *recipe, const char *path, infer_error *err)
{
	const struct engine_args args = args_of(o, recipe);
	const int32_t window = args.ctx ? (int32_t)args.ctx : WINDOW;
	const struct infer_model_opts mo = { .ctx = window, .log = say_log, .watch = model_watch };
	const struct opt_list *texts = quant_calibration(o);
	const struct infer_solver s = solver();
	struct infer_gptq_text t = { .log = say_log };
	struct infer_engine_info e;

	*c = (struct calibrate){ 0 };
	buf_init(&c->text, MEM_BASE);
	TRY(input_texts(&c->text, texts, &c->digest, err));
	if (!c->text.len)
		return err_set(err, INFER_EINVAL, "%s: is empty", texts->at[0]);
	TRY(infer_gptq_new(&c->gptq, &s, err));
	TRY(infer_model_open(&c->model, path, &mo, err));
	if (!infer_model_tokenizer(c->model))
		return err_set(err, INFER_EUNSUP, "%s: has no vocabulary", path);
	TRY(open_engine(c, &args, err));
	infer_engine_info(c->engine, &e);
	TRY(infer_encode(infer_model_tokenizer(c->model), c->text.at, c->text.len, INFER_ENCODE_ADD,
	                 &c->ids, &t.n_ids, err));
	sha256_name(c->sha256, c->text.at, c->text.len);
	t.sha256 = c->sha256;
	t.files_sha256 = c->digest.sha256;
	t.model = c->model;
	t.engine = c->engine;
	t.ids = c->ids;
	t.window = e.ctx;
	return infer_gptq_read(c->gptq, &t, err);
}

void calibrate_close(struct calibrate *c)
{
	infer_engine_close(&c->engine);
	infer_model_close(&c->model);
	infer_gptq_free(c->gptq);
	infer_ids_free(c->ids);
	buf_fini(&c->text);
}
