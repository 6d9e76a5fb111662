/* api/native_read.c - read requests in the format of llama.cpp's server: /completion and /infill */
#include "api/native.h"
#include "api/api.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

/* Read a temperature; below 0 means greedy, as 0 does. */
static int take_temperature(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	struct json zero = *v;
	int known;

	if (!json_is_number(v) || json_double(v) >= 0)
		return job_sampling(j, key, v, &known, err);
	zero.kind = JSON_INT;
	zero.i = 0;
	return job_sampling(j, key, &zero, &known, err);
}

static int take_probs(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_whole(&j->j.logprobs, key, v, 0, INFER_MAX_TOP, err);
}

/* Read whether probabilities are those after the sampler's stages, not those of the model. */
static int take_after(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int after;

	TRY(job_take_bool(&after, key, v, err));
	j->j.request.flags |= after ? INFER_REQ_AFTER : 0;
	return INFER_OK;
}

static int take_tokens(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_take_bool(&j->j.tokens, key, v, err);
}

static int take_cache(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int on;

	TRY(job_take_bool(&on, key, v, err));
	j->no_cache = !on;
	return INFER_OK;
}

/* Check and ignore the number of tokens to keep in a context shift: contexts are not shifted. */
static int pass_whole(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int32_t any;

	(void)j;
	return job_whole(&any, key, v, -1, INT32_MAX, err);
}

static int take_slot(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(job_whole(&j->j.slot, key, v, -1, INT32_MAX - 1, err));
	j->j.slot++;
	return INFER_OK;
}

static int take_response_fields(struct job *j, const char *key, const struct json *v,
                                infer_error *err)
{
	(void)j;
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be an array", key);
	json_each(name, v)
		if (!json_is_string(name))
			return err_set(err, INFER_EINVAL, "%s: every entry must be a string", key);
	return INFER_OK;
}

static int take_gap_text(const struct json **to, const char *key, const struct json *v,
                         infer_error *err)
{
	*to = v;
	return json_is_string(v) ? INFER_OK
	                         : err_set(err, INFER_EINVAL, "%s must be a string", key);
}

static int take_before(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return take_gap_text(&j->fim.before, key, v, err);
}

static int take_behind(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return take_gap_text(&j->fim.behind, key, v, err);
}

static int take_begun(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return take_gap_text(&j->fim.begun, key, v, err);
}

static int take_extra(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	size_t i = 0;

	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be an array", key);
	json_each(file, v) {
		const struct json *name = json_get(file, "filename");

		if (!json_is_string(json_get(file, "text")) ||
		    (name && !json_is_null(name) && !json_is_string(name)))
			return err_set(err, INFER_EINVAL,
			               "%s: entry %zu must be an object with a text", key, i);
		i++;
	}
	j->fim.extra = v;
	return INFER_OK;
}

#define NATIVE \
	{ "n_predict", job_take_max_tokens }, { "n_probs", take_probs }, \
		{ "post_sampling_probs", take_after }, { "temperature", take_temperature }, \
		{ "return_tokens", take_tokens }, { "cache_prompt", take_cache }, \
		{ "response_fields", take_response_fields }, { "id_slot", take_slot }, \
		{ "n_keep", pass_whole }, { "n_discard", pass_whole }, { "model", job_pass_text }, \
	{ \
		NULL, NULL \
	}

static const struct job_field known[] = { { "prompt", job_take_prompt }, NATIVE };
static const struct job_field known_gap[] = {
	{ "input_prefix", take_before },
	{ "input_suffix", take_behind },
	{ "input_extra", take_extra },
	{ "prompt", take_begun },
	NATIVE,
};
static const struct job_refused refused[] = {
	{ "stream", 0 },
	{ "stream_options", NAN },
	{ "t_max_predict_ms", 0 },
	{ "t_max_prompt_ms", 0 },
	{ "n_indent", 0 },
	{ "image_data", NAN },
	{ NULL, 0 },
};

/* Apply cache_prompt false, and check n. */
static int finish_native(struct job *j)
{
	j->j.include_usage = 0;
	if (j->no_cache)
		j->j.request.salt = job_salt(j);
	if (!(j->o->reads & INFER_JOB_STREAM) && j->j.n > 1) {
		err_set(&j->j.fault.error, INFER_EUNSUP,
		        "n: several answers in this format are not supported%s",
		        j->o->where ? j->o->where : "");
		return job_fault(j, "n");
	}
	return INFER_OK;
}

const struct job_fields native_fields = { known, refused, -1, NULL };

int native_read(struct job *j, const struct json *body)
{
	j->min_logprobs = 1;
	return job_read_fields(j, body, &native_fields) ? j->j.fault.error.code : finish_native(j);
}

static int ready(struct job *j, const char **param, infer_error *err)
{
	*param = j->fim.before ? "input_suffix" : "input_prefix";
	if (!j->fim.before || !j->fim.behind)
		return err_set(err, INFER_EINVAL, "%s is missing", *param);
	*param = NULL;
	return INFER_OK;
}

const struct job_fields gap_fields = { known_gap, refused, -1, ready };

int gap_read(struct job *j, const struct json *body)
{
	int rc;

	j->min_logprobs = 1;
	j->has_gap = 1;
	rc = job_read_fields(j, body, &gap_fields);
	if (rc && !j->j.fault.param && rc == INFER_EUNSUP)
		j->j.fault.kind = INFER_FAULT_OFF;
	return rc ? rc : finish_native(j);
}
