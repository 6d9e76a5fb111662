/* api/ollama_options.c - the fields `options` and `keep_alive` of Ollama's requests */
#include "api/ollama.h"
#include "base/err.h"

#include <string.h>

/* ---- options ---- */

/* Read the limit of the answer: 0 and less mean no limit. */
static int take_num_predict(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int32_t most;

	TRY(job_whole(&most, key, v, INT32_MIN, INT32_MAX, err));
	j->j.request.max_tokens = most > 0 ? most : -1;
	return INFER_OK;
}

/* Read the context that the request needs: a server has one for all requests, which must have room. */
static int take_num_ctx(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int32_t most;

	TRY(job_whole(&most, key, v, 1, INT32_MAX, err));
	return !j->o->ctx || most <= j->o->ctx
	               ? INFER_OK
	               : err_set(err, INFER_EUNSUP,
	                         "%s is %d: the context of this server has %d tokens", key,
	                         (int)most, (int)j->o->ctx);
}

static int take_newline(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int on;

	(void)j;
	TRY(job_take_bool(&on, key, v, err));
	return on ? INFER_OK : err_set(err, INFER_EUNSUP, "%s: only true is supported", key);
}

static int take_tail_free(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j;
	return json_is_number(v) && json_double(v) == 1
	               ? INFER_OK
	               : err_set(err, INFER_EUNSUP, "%s: only 1 is supported", key);
}

/* Refuse an option that loads less than the model. */
static int take_part_only(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int on;

	(void)j;
	TRY(job_take_bool(&on, key, v, err));
	return on ? err_set(err, INFER_EUNSUP, "%s is not supported", key) : INFER_OK;
}

/* Check and ignore a number that changes only how the model is loaded, or how fast it runs. */
static int pass_number(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int32_t any;

	(void)j;
	return job_whole(&any, key, v, INT32_MIN, INT32_MAX, err);
}

static const struct job_field options[] = {
	{ "num_predict", take_num_predict },
	{ "num_ctx", take_num_ctx },
	{ "stop", job_take_stop },
	{ "penalize_newline", take_newline },
	{ "tfs_z", take_tail_free },
	{ "vocab_only", take_part_only },
	{ "embedding_only", take_part_only },
	{ "num_keep", pass_number },
	{ "num_batch", pass_number },
	{ "num_gpu", pass_number },
	{ "main_gpu", pass_number },
	{ "num_thread", pass_number },
	{ "numa", job_pass_bool },
	{ "low_vram", job_pass_bool },
	{ "f16_kv", job_pass_bool },
	{ "logits_all", job_pass_bool },
	{ "use_mmap", job_pass_bool },
	{ "use_mlock", job_pass_bool },
	{ NULL, NULL },
};

int ollama_take_options(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_object(v))
		return err_set(err, INFER_EINVAL, "%s must be an object", key);
	json_each(one, v) {
		const struct job_field *f = options;
		int known = 1;
		char *name = arena_strndup(&j->mem, one->key, one->key_n);

		if (!name)
			return err_nomem(err);
		while (f->key && (strlen(name) != one->key_n || strcmp(f->key, name)))
			f++;
		if (json_is_null(one) && f->key)
			continue;
		TRY(f->key ? f->take(j, f->key, one, err)
		           : job_sampling(j, name, one, &known, err));
		if (!known)
			return err_set(err, INFER_EINVAL, "%s: '%.80s' is not an option", key,
			               name);
	}
	return INFER_OK;
}

/* ---- keep_alive ---- */

/* Return the length of the unit of time at `at` [n]; 0: none. */
static size_t unit_length(const char *at, size_t n)
{
	/* the sign of micro is U+00B5 or U+03BC */
	static const char *const units[] = { "ns", "us", "\xc2\xb5s", "\xce\xbcs",
		                             "ms", "s",  "m",         "h" };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		size_t k = strlen(units[i]);

		if (k <= n && !memcmp(at, units[i], k))
			return k;
	}
	return 0;
}

static size_t digits_length(const char *at, size_t n)
{
	size_t i = 0;

	while (i < n && at[i] >= '0' && at[i] <= '9')
		i++;
	return i;
}

/* True for a duration such as "1h30m" or "-1.5s", or 0. */
static int is_duration(const char *at, size_t n)
{
	size_t i = n && (*at == '-' || *at == '+');

	if (n - i == 1 && at[i] == '0')
		return 1;
	if (i == n)
		return 0;
	while (i < n) {
		size_t whole = digits_length(at + i, n - i), part = 0, unit;

		i += whole;
		if (i < n && at[i] == '.') {
			i++;
			part = digits_length(at + i, n - i);
			i += part;
		}
		unit = unit_length(at + i, n - i);
		if (!(whole + part) || !unit)
			return 0;
		i += unit;
	}
	return 1;
}

int ollama_take_keep_alive(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j;
	return json_is_number(v) || (json_is_string(v) && is_duration(v->s, v->n))
	               ? INFER_OK
	               : err_set(err, INFER_EINVAL,
	                         "%s must be a number of seconds or a duration such as \"5m\"",
	                         key);
}
