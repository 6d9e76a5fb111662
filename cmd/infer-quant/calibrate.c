/* infer-quant/calibrate.c - the model and the text that GPTQ reads. */
#include "calibrate.h"
#include "common/input.h"
#include "common/say.h"
#include "base/err.h"

enum { WINDOW = 512 };

static int open_engine(struct calibrate *c, const struct quant_opts *o, infer_error *err)
{
	struct infer_model_info info;
	struct infer_engine_opts eo;

	infer_model_info(c->model, &info);
	TRY(engine_args_take(&eo, &o->engine, err));
	if (!eo.ctx)
		eo.ctx = info.ctx_train && info.ctx_train < WINDOW ? info.ctx_train : WINDOW;
	eo.log = say_log;
	eo.flags |= INFER_ENGINE_NO_PREFIX_CACHE;
	eo.observer = infer_gptq_observer(c->gptq);
	return infer_engine_open(&c->engine, c->model, &eo, err);
}

int calibrate_open(struct calibrate *c, const struct quant_opts *o, const char *path,
                   infer_error *err)
{
	const int32_t window = o->engine.ctx ? (int32_t)o->engine.ctx : WINDOW;
	const struct infer_model_opts mo = { .ctx = window, .log = say_log, .watch = model_watch };
	const struct infer_solver s = solver();
	struct infer_gptq_text t = { .log = say_log };
	const struct opt_rest none = { 0 };
	struct infer_engine_info e;

	*c = (struct calibrate){ 0 };
	buf_init(&c->text, MEM_BASE);
	TRY(input_read(&c->text, &none, &o->texts, INPUT_NO_STDIN | INPUT_MAYBE | INPUT_ONLY_TEXT,
	               NULL, err));
	if (!c->text.len)
		return err_set(err, INFER_EINVAL, "%s: is empty", o->texts.at[0]);
	TRY(infer_gptq_new(&c->gptq, &s, err));
	TRY(infer_model_open(&c->model, path, &mo, err));
	if (!infer_model_tokenizer(c->model))
		return err_set(err, INFER_EUNSUP, "%s: has no vocabulary", path);
	TRY(open_engine(c, o, err));
	infer_engine_info(c->engine, &e);
	TRY(infer_encode(infer_model_tokenizer(c->model), c->text.at, c->text.len, INFER_ENCODE_ADD,
	                 &c->ids, &t.n_ids, err));
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
