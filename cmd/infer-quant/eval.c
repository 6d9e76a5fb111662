/* infer-quant/eval.c - evaluate a model: perplexity, KL divergence from a reference,
 * multiple-choice questions. */
#include "quant.h"
#include "common/append.h"
#include "common/file.h"
#include "common/input.h"
#include "common/progress.h"
#include "common/sampling.h"
#include "common/say.h"
#include "common/sig.h"
#include <infer/certificate.h>
#include <infer/eval.h>
#include <infer/record.h>
#include "base/err.h"
#include "base/sha256.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 512, QUESTIONS_MOST = 1 << 30 };

struct eval {
	const struct quant_opts *o;
	const struct opt_rest *rest;
	/* the model, the reference, the second model */
	struct infer_eval_side sides[3];
	infer_model *models[3];
	infer_engine *engines[3];
	int n_models;
	infer_file *into;
	int32_t ctx;              /* context of the engines in tokens; 0: that of the model */
	struct sampling sampling; /* only stored in the record */
	struct append out;
	struct buf text;
	struct input_digest digest; /* digest of the files that the text was read from */
	struct infer_eval_text got;
	struct infer_eval_choices answered;
};

static int check_eval(const struct quant_opts *o, const struct opt_rest *rest, infer_error *err)
{
	if (rest->n_words)
		return err_set(err, INFER_EINVAL,
		               "eval takes no argument: '%.60s'; -m names the "
		               "model, -f a text",
		               rest->words[0]);
	if (quant_writes(o) || o->out || o->show || o->merge)
		return err_set(err, INFER_EINVAL,
		               "options for writing a model do not go with eval");
	if (!o->texts.n && !o->choices)
		return err_set(err, INFER_EINVAL,
		               "nothing to measure with: -f TEXT or --choices FILE");
	if (o->texts.n && o->choices)
		return err_set(err, INFER_EINVAL, "-f and --choices exclude each other");
	if (o->beside && !o->ref)
		return err_set(err, INFER_EINVAL,
		               "--ref is needed: --beside compares two models with it");
	if (o->choices && o->ref)
		return err_set(err, INFER_EINVAL, "--ref goes with -f only");
	if (o->choices && o->into)
		return err_set(err, INFER_EINVAL, "--into goes with -f only");
	return quant_check_out(o, "--record ", o->record, o->model, err);
}

/* Choose the context, in tokens: one window of the text. */
static int32_t choose_ctx(const struct eval *v)
{
	struct infer_model_info info;

	if (v->o->engine.ctx || v->o->choices)
		return (int32_t)v->o->engine.ctx;
	infer_model_info(v->models[0], &info);
	return info.ctx_train && info.ctx_train < WINDOW ? info.ctx_train : WINDOW;
}

static int open_model(struct eval *v, const char *ref, infer_error *err)
{
	const struct quant_opts *o = v->o;
	struct infer_model_opts mo = { .ctx = (int32_t)o->engine.ctx,
		                       .log = say_log,
		                       .watch = model_watch };
	const char *path;

	if (!mo.ctx && !o->choices)
		mo.ctx = WINDOW;
	TRY(model_path(&path, ref, MODEL_NAMED, err));
	sig_mapped(
		v->n_models
			? NULL
			: path); /* with several models, the file that SIGBUS is about is unknown */
	TRY(infer_model_open(&v->models[v->n_models], path, &mo, err));
	if (!infer_model_tokenizer(v->models[v->n_models]))
		return err_set(err, INFER_EUNSUP, "%s: has no vocabulary", path);
	v->n_models++;
	return INFER_OK;
}

/* Open the file of --into, and check that it is the model or a copy of it. */
static int open_into(struct eval *v, infer_error *err)
{
	char id[65], measured[65];

	if (!v->o->into)
		return INFER_OK;
	TRY(infer_file_open(&v->into, v->o->into, err));
	TRY(infer_certificate_check(v->into, err));
	infer_file_id(v->into, id);
	infer_file_id(infer_model_file(v->models[0]), measured);
	if (strcmp(id, measured))
		return err_set(err, INFER_EINVAL, "--into %s: is not the model that is measured",
		               v->o->into);
	return INFER_OK;
}

static int open_sides(struct eval *v, infer_error *err)
{
	const struct quant_opts *o = v->o;
	struct sampling_args none = { .seed = { 0, 1 } };
	struct infer_engine_opts eo;

	TRY(append_open(&v->out, o->json, o->record, err));
	TRY(open_model(v, o->model, err));
	TRY(open_into(v, err));
	v->ctx = choose_ctx(v);
	if (o->ref)
		TRY(open_model(v, o->ref, err));
	if (o->beside)
		TRY(open_model(v, o->beside, err));
	TRY(sampling_take(&v->sampling, &none, v->models[0], err));
	TRY(engine_args_take(&eo, &o->engine, err));
	eo.ctx = v->ctx;
	eo.log = say_log;
	for (int i = 0; i < v->n_models; i++) {
		TRY(engine_open_shown(&v->engines[i], v->models[i], &eo, err));
		v->sides[i] = (struct infer_eval_side){ v->models[i], v->engines[i] };
	}
	return INFER_OK;
}

static int measure_text(struct eval *v, infer_error *err)
{
	const infer_tokenizer *tok = infer_model_tokenizer(v->models[0]);
	struct infer_eval_opts eo = { .window = v->ctx,
		                      .watch = { progress_at, NULL },
		                      .beside = v->n_models > 2 ? &v->sides[2] : NULL };
	int32_t *ids;
	int rc;

	TRY(infer_encode(tok, v->text.at ? v->text.at : "", v->text.len, INFER_ENCODE_ADD, &ids,
	                 &eo.n_ids, err));
	eo.ids = ids;
	progress_begin("evaluated", PROGRESS_TOKENS, eo.n_ids);
	progress_part(0, eo.n_ids);
	rc = infer_eval_text(&v->got, &v->sides[0], v->n_models > 1 ? &v->sides[1] : NULL, &eo,
	                     err);
	progress_end();
	infer_ids_free(ids);
	return rc;
}

static int measure_choices(struct eval *v, infer_error *err)
{
	const struct infer_watch watch = { progress_at, NULL };
	int rc;

	progress_begin("answered", PROGRESS_BYTES, v->text.len);
	progress_part(0, v->text.len);
	rc = infer_eval_choices(&v->answered, &v->sides[0], v->text.at ? v->text.at : "",
	                        v->text.len, v->o->choices, &watch, err);
	progress_end();
	return rc;
}

static int measure_model(struct eval *v, infer_error *err)
{
	const struct quant_opts *o = v->o;
	int rc;

	if (o->choices) {
		TRY(file_read(&v->text, o->choices, QUESTIONS_MOST, err));
		sha256_name(v->digest.sha256, v->text.at, v->text.len);
	} else {
		TRY(input_texts(&v->text, &o->texts, &v->digest, err));
	}
	if (!v->text.len)
		return err_set(err, INFER_EINVAL, "%s: is empty",
		               o->choices ? o->choices : o->texts.at[0]);
	rc = o->choices ? measure_choices(v, err) : measure_text(v, err);
	for (int i = 0; i < v->n_models; i++) {
		infer_error why;
		int changed = infer_file_check_unchanged(infer_model_file(v->models[i]), &why);

		if (changed)
			return err_set(err, changed, "%s", why.message);
	}
	return rc;
}

/* ---- text output ---- */

static void put_mean(struct buf *t, const char *name, const struct infer_eval_mean *m)
{
	buf_printf(t, "%-20s %11.6g +- %.3g\n", name, m->value, m->se);
}

static void put_range(struct buf *t, const char *name, const struct infer_eval_range *r)
{
	buf_printf(t, "%-20s %11.6g (%.6g ... %.6g)\n", name, r->value, r->lo, r->hi);
}

static void put_eval(struct buf *t, const struct infer_eval_text *g)
{
	buf_printf(t, "%-20s %11llu in %llu windows of %d, %llu scored\n", "tokens",
	           (unsigned long long)g->tokens, (unsigned long long)g->windows, (int)g->window,
	           (unsigned long long)g->scored);
	put_mean(t, "perplexity", &g->perplexity);
	if (!g->has_ref)
		return;
	put_mean(t, "of the reference", &g->ref_perplexity);
	put_mean(t, "ratio", &g->ratio);
	put_range(t, "divergence, mean", &g->kl_mean);
	put_range(t, "  median", &g->kl_median);
	put_range(t, "  90 %", &g->kl_p90);
	put_range(t, "  99 %", &g->kl_p99);
	buf_printf(t, "%-20s %11.6g\n", "  most", g->kl_max);
	put_mean(t, "change of p, mean", &g->dp);
	put_mean(t, "  root mean square", &g->dp_rms);
	put_range(t, "  1 %", &g->dp_p1);
	put_range(t, "  median", &g->dp_median);
	put_range(t, "  99 %", &g->dp_p99);
	put_range(t, "same first token", &g->top1);
	put_range(t, "same first five", &g->top5);
	if (!g->has_beside)
		return;
	put_mean(t, "beside: perplexity", &g->beside_perplexity);
	put_range(t, "  divergence, mean", &g->beside_kl);
	put_range(t, "  same first token", &g->beside_top1);
	put_range(t, "model less beside", &g->kl_difference);
}

static void put_choices(struct buf *t, const struct infer_eval_choices *c)
{
	buf_printf(t, "%-20s %11llu\n", "questions", (unsigned long long)c->questions);
	put_range(t, "accuracy", &c->accuracy);
	put_range(t, "  for each byte", &c->accuracy_norm);
}

static int show_eval(const struct eval *v, infer_error *err)
{
	struct buf t;
	int rc;

	buf_init(&t, MEM_BASE);
	if (v->o->choices)
		put_choices(&t, &v->answered);
	else
		put_eval(&t, &v->got);
	rc = t.bad ? err_set(err, INFER_ENOMEM, "out of memory for the table")
	           : say_out(t.at, t.len, err);
	buf_fini(&t);
	return rc;
}

static int report_eval(struct eval *v, infer_error *err)
{
	const struct infer_run_info info = { .model = v->models[0],
		                             .engine = v->engines[0],
		                             .sample = &v->sampling.o,
		                             .flags = v->rest->record.at,
		                             .n_flags = v->rest->record.n };
	const struct infer_eval e = { .text = v->o->choices ? NULL : &v->got,
		                      .choices = v->o->choices ? &v->answered : NULL,
		                      .sha256 = v->digest.sha256,
		                      .ref = v->models[1],
		                      .beside = v->models[2] };

	if (v->out.file)
		TRY(infer_write_eval(v->out.file, &e, &info, err));
	if (v->out.out)
		TRY(infer_write_eval(v->out.out, &e, &info, err));
	TRY(append_send(&v->out, err));
	TRY(v->out.out ? INFER_OK : show_eval(v, err));
	const struct infer_certificate c = { &v->got, v->digest.sha256, v->digest.bytes,
		                             v->engines[0],
		                             v->o->ref ? infer_model_file(v->models[1]) : NULL };

	return v->into ? infer_certificate_write(v->into, &c, err) : INFER_OK;
}

int eval(const struct quant_opts *o, const struct opt_rest *rest)
{
	struct eval v = { .o = o, .rest = rest, .out.fd = -1 };
	infer_error err = { 0 };
	int rc = check_eval(o, rest, &err), late;

	buf_init(&v.text, MEM_BASE);
	if (!rc)
		rc = open_sides(&v, &err);
	if (!rc)
		rc = measure_model(&v, &err);
	for (int i = 0; i < v.n_models; i++)
		quant_explain(rc, infer_model_file(v.models[i]), &err);
	if (!rc)
		rc = report_eval(&v, &err);
	late = append_close(&v.out, rc ? NULL : &err);
	for (int i = 0; i < 3; i++) {
		infer_engine_close(&v.engines[i]);
		infer_model_close(&v.models[i]);
	}
	infer_file_close(&v.into);
	sampling_fini(&v.sampling);
	buf_fini(&v.text);
	return rc || late ? say_fail(&err) : EXIT_DONE;
}

int eval_check(const struct quant_opts *o, const char *in, infer_error *err)
{
	struct eval v = { .o = o };
	int rc = open_model(&v, in, err);

	for (int i = 0; !rc && i < o->texts.n; i++)
		if (strcmp(o->texts.at[i], "-") && access(o->texts.at[i], R_OK))
			rc = err_errno(err, errno, "%s", o->texts.at[i]);
	infer_model_close(&v.models[0]);
	return rc;
}

int eval_written(const struct quant_opts *o, const struct opt_rest *rest, const char *in,
                 const char *out)
{
	const struct quant_opts mine = { .start = o->start,
		                         .engine = o->engine,
		                         .texts = o->texts,
		                         .json = o->json,
		                         .model = out,
		                         .ref = in,
		                         .into = out };
	struct opt_rest none = *rest;

	none.n_words = 0;
	return eval(&mine, &none);
}
