/* infer-bench/forecast.c - the predictions of infer-inspect plan, and the options that measure them. */
#include "forecast.h"
#include "common/env.h"
#include "common/file.h"
#include "base/err.h"
#include "base/jread.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 16 << 20, MAX_TOKENS = 1 << 24, MAX_USERS = 4096 };

/* Read a line. *out: the plan, or NULL if the line is another record. */
static int read_plan(const struct json **out, struct forecast *f, const char *from, size_t n,
                     const char *path, infer_error *err)
{
	const struct json *v;

	*out = NULL;
	TRY(jread(&v, &f->mem, from, n, path, err));
	if (json_equals(json_get(v, "kind"), "plan"))
		*out = v;
	return INFER_OK;
}

static int first_plan(const struct json **plan, struct forecast *f, const struct buf *text,
                      const char *path, infer_error *err)
{
	*plan = NULL;
	for (size_t at = 0, n; at < text->len && !*plan; at += n + 1) {
		const char *from = text->at + at, *end = memchr(from, '\n', text->len - at);

		n = end ? (size_t)(end - from) : text->len - at;
		if (n)
			TRY(read_plan(plan, f, from, n, path, err));
	}
	return *plan ? INFER_OK
	             : err_set(err, INFER_EFORMAT,
	                       "%s: has no plan: infer-inspect plan --json writes one", path);
}

static int take_type(char *to, size_t cap, const struct json *asked, const char *key,
                     const char *path, infer_error *err)
{
	const char *name = NULL;
	size_t n = 0;

	TRY(jread_str(asked, key, &name, &n, path, err));
	if (!name || n >= cap)
		return err_set(err, INFER_EFORMAT, "%s: the plan has no %s", path, key);
	for (size_t i = 0; i < n; i++)
		to[i] = (char)tolower((unsigned char)name[i]);
	to[n] = 0;
	return INFER_OK;
}

static int take_counts(struct forecast *f, const struct json *asked, const char *path,
                       infer_error *err)
{
	const struct {
		const char *key;
		int32_t *to;
		int64_t least, most;
	} counts[] = { { "users", &f->users, 1, MAX_USERS },
		       { "prompt", &f->prompt, 0, MAX_TOKENS },
		       { "output", &f->output, 0, MAX_TOKENS } };

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		int64_t v = -1;

		TRY(jread_i64(asked, counts[i].key, &v, counts[i].least, counts[i].most, path,
		              err));
		if (v < 0)
			return err_set(err, INFER_EFORMAT, "%s: the plan has no %s", path,
			               counts[i].key);
		*counts[i].to = (int32_t)v;
	}
	return INFER_OK;
}

static int take_step(struct forecast_step *s, const struct json *step, const char *path,
                     infer_error *err)
{
	TRY(jread_f64(step, "predicted_ms", &s->ms, 0, 1e15, path, err));
	return jread_f64(json_get(step, "parts_ms"), "memory", &s->memory_ms, 0, s->ms, path, err);
}

static int read_fields(struct forecast *f, const struct json *plan, const char *path,
                       infer_error *err)
{
	const struct json *asked = json_get(plan, "asked");
	const char *model = NULL;
	int64_t rank = 0;
	char k[24], v[24];
	size_t n = 0;

	TRY(jread_str(plan, "model", &model, &n, path, err));
	f->model = model ? arena_strndup(&f->mem, model, n) : NULL;
	if (!f->model || !json_is(asked, JSON_OBJECT))
		return err_set(err, INFER_EFORMAT, "%s: the plan has no %s", path,
		               f->model ? "asked" : "model");
	TRY(take_counts(f, asked, path, err));
	TRY(jread_i64(plan, "adapter_rank", &rank, 0, INT32_MAX, path, err));
	f->adapter_rank = (int32_t)rank;
	TRY(take_type(k, sizeof k, asked, "k_type", path, err));
	TRY(take_type(v, sizeof v, asked, "v_type", path, err));
	snprintf(f->kv_type, sizeof f->kv_type, "%s,%s", k, v);
	snprintf(f->prompt_text, sizeof f->prompt_text, "%d", (int)f->prompt);
	snprintf(f->output_text, sizeof f->output_text, "%d", (int)f->output);
	TRY(jread_f64(asked, "gpu_part", &f->gpu_part, 0, 1, path, err));
	TRY(jread_f64(asked, "prefill_tok_s", &f->prefill_tok_s, 0, 1e15, path, err));
	TRY(jread_f64(asked, "all_tok_s", &f->all_tok_s, 0, 1e15, path, err));
	TRY(jread_f64(asked, "limit_prefill_tok_s", &f->limit_prefill_tok_s, 0, 1e15, path, err));
	TRY(jread_f64(asked, "limit_all_tok_s", &f->limit_all_tok_s, 0, 1e15, path, err));
	TRY(jread_f64(plan, "memory_gb_s", &f->memory_gb_s, 0, 1e6, path, err));
	TRY(jread_f64(plan, "i8_gop_s", &f->i8_gop_s, 0, 1e9, path, err));
	TRY(take_step(&f->prefill, json_get(asked, "prefill"), path, err));
	TRY(take_step(&f->decode, json_get(asked, "decode"), path, err));
	f->decode_tok_s = f->decode.ms > 0 ? f->users * 1e3 / f->decode.ms : 0;
	return INFER_OK;
}

int forecast_read(struct forecast *f, const char *path, infer_error *err)
{
	const struct json *plan = NULL;
	struct buf text;
	int rc;

	*f = (struct forecast){ 0 };
	arena_init(&f->mem, MEM_BASE);
	buf_init(&text, MEM_BASE);
	rc = file_read_any(&text, path, MAX_BYTES, err);
	if (!rc)
		rc = first_plan(&plan, f, &text, path, err);
	if (!rc)
		rc = read_fields(f, plan, path, err);
	buf_fini(&text);
	return rc;
}

void forecast_fini(struct forecast *f) { arena_fini(&f->mem); }

int forecast_run(struct bench_opts *out, const struct forecast *f, const struct bench_opts *o,
                 infer_error *err)
{
	*out = *o;
	if (f->gpu_part > 0)
		return err_set(err, INFER_EUNSUP,
		               "%s: the plan is for accelerators, which run cannot measure",
		               o->plan);
	if (f->adapter_rank && !o->loras.n)
		return err_set(err, INFER_EINVAL,
		               "%s: the plan is with adapters of rank %d: give them by --lora",
		               o->plan, (int)f->adapter_rank);
	if (!out->model ||
	    env_name(out->model)) /* the plan takes precedence over the environment */
		out->model = f->model;
	if (!out->engine.kv_type)
		out->engine.kv_type = f->kv_type;
	return INFER_OK;
}

double forecast_longer(const struct forecast *f, const struct forecast_step *s, double memory_gb_s,
                       double i8_gop_s)
{
	double ms = 0;

	if (!(f->memory_gb_s > 0) || !(f->i8_gop_s > 0) || !(s->ms > 0) || !(i8_gop_s > 0))
		return 0;
	ms += s->memory_ms * (memory_gb_s > 0 ? f->memory_gb_s / memory_gb_s : 1);
	ms += (s->ms - s->memory_ms) * f->i8_gop_s / i8_gop_s;
	return ms / s->ms;
}

void forecast_serve(struct bench_opts *out, const struct forecast *f, const struct bench_opts *o)
{
	*out = *o;
	out->prompts = f->prompt_text;
	out->output = f->output_text;
	out->clients = f->users;
}
