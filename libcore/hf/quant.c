/* hf/quant.c - find the quantisation configuration of a checkpoint and its method. */
#include "base/err.h"
#include "hf/packed.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int hf_bad_quant(const struct hf_dir *d, int code, infer_error *err, const char *fmt, ...)
{
	char why[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return hf_fail(d, d->quant.file, code, err, "%s%s%s", d->quant.key,
	               *d->quant.key ? ": " : "", why);
}

/* True if the values are equal; members of objects may have any order. */
static int values_equal(const struct json *a, const struct json *b)
{
	const struct json *y = json_first(b);

	if (json_is_number(a) && json_is_number(b))
		return json_double(a) == json_double(b);
	if (!a || !b || a->kind != b->kind)
		return 0;
	if (json_is_string(a))
		return a->n == b->n && !memcmp(a->s, b->s, a->n);
	if (json_count(a) != json_count(b))
		return 0;
	json_each(x, a) {
		if (!values_equal(x, x->key ? json_getn(b, x->key, x->key_n) : y))
			return 0;
		y = x->key ? y : y->next;
	}
	return 1;
}

/* Return the method implied by a configuration without quant_method; NULL: unknown. */
static const char *implied_method(const char *file, const char *key, const struct json *q)
{
	if (!strcmp(file, "hf_quant_config.json") || json_get(q, "quant_algo"))
		return "modelopt";
	if (!strcmp(file, "quantize_config.json"))
		return "gptq";
	if (!strcmp(file, "quant_config.json"))
		return "awq";
	if (!strcmp(key, "compression_config"))
		return "compressed-tensors";
	return json_get(q, "group_size") && (json_get(q, "bits") || json_get(q, "mode")) ? "mlx"
	                                                                                 : NULL;
}

/* Set d->quant to the configuration v.  A second one must be the same. */
static int add_quant_config(struct hf_dir *d, const char *file, const char *key,
                            const struct json *v, infer_error *err)
{
	const struct json *name = json_get(v, "quant_method");
	struct hf_quant q = { v, file, key, NULL };

	if (!v || json_is_null(v))
		return INFER_OK;
	if (!json_is_object(v))
		return hf_fail(d, file, INFER_EFORMAT, err, "\"%s\" must be an object", key);
	if (name && !json_is_null(name) && !(q.method = json_cstr(&d->brief, name)))
		return hf_fail(d, file, INFER_EFORMAT, err, "%s: \"quant_method\" must be a string",
		               key);
	if (!q.method)
		q.method = implied_method(file, key, v);
	if (!d->quant.at)
		d->quant = q;
	else if (!values_equal(d->quant.at, v))
		return hf_fail(d, file, INFER_EUNSUP, err,
		               "\"%s\" and \"%s\" are two different quantisations of the weights",
		               d->quant.key, key);
	return INFER_OK;
}

static int is_scalar(const struct json *v)
{
	return v && v->kind != JSON_NULL && v->kind < JSON_ARRAY;
}

/* Fail if q, the configuration in `file`, contradicts that of config.json. */
static int compare_quant_configs(struct hf_dir *d, const char *file, const struct json *q,
                                 infer_error *err)
{
	/* names in config.json and in other files */
	static const char *const keys[][2] = { { "bits", "w_bit" },
		                               { "group_size", "q_group_size" },
		                               { "quant_method", "quant_method" },
		                               { "quant_algo", "quant_algo" },
		                               { "desc_act", "desc_act" },
		                               { "sym", "sym" },
		                               { "zero_point", "zero_point" },
		                               { "checkpoint_format", "checkpoint_format" },
		                               { "version", "version" } };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct json *a = json_get(d->quant.at, keys[i][0]),
				  *b = json_get(q, keys[i][0]);
		a = a ? a : json_get(d->quant.at, keys[i][1]);
		b = b ? b : json_get(q, keys[i][1]);
		if (!is_scalar(a) || !is_scalar(b) || values_equal(a, b) ||
		    (json_is_string(a) && json_is_string(b) && a->n == b->n &&
		     !strncasecmp(a->s, b->s, a->n)))
			continue;
		return hf_fail(d, file, INFER_EUNSUP, err,
		               "\"%.*s\" contradicts \"%.*s\" of %s in config.json", (int)b->key_n,
		               b->key, (int)a->key_n, a->key, d->quant.key);
	}
	return INFER_OK;
}

/* Add the configurations of the files d->quants. */
static int add_files(struct hf_dir *d, infer_error *err)
{
	int in_config = d->quant.at != NULL;

	for (size_t i = 0; i < sizeof d->quants / sizeof *d->quants; i++) {
		const struct json *v, *q;
		TRY(hf_json_read(d, &d->quants[i], &v, err));
		if (!v)
			continue;
		if (!json_is_object(v))
			return hf_fail(d, d->quants[i].name, INFER_EFORMAT, err,
			               "must be a JSON object");
		q = json_is_object(json_get(v, "quantization")) ? json_get(v, "quantization") : v;
		if (in_config) {
			TRY(compare_quant_configs(d, d->quants[i].name, q, err));
			continue;
		}
		if (d->quant.at)
			return hf_fail(d, d->quants[i].name, INFER_EUNSUP, err,
			               "there is another quantisation, %s", d->quant.file);
		TRY(add_quant_config(d, d->quants[i].name, "", v, err));
	}
	return INFER_OK;
}

static int is_known(const struct hf_quant *q)
{
#define PACKING(x) &packing_##x,
	static const struct packing *const rows[] = {
#include "hf/packing_list.h"
		NULL
	};
#undef PACKING

	for (int i = 0; rows[i]; i++)
		if (hf_packing_takes(rows[i], q))
			return 1;
	return 0;
}

int hf_packing_takes(const struct packing *p, const struct hf_quant *q)
{
	for (size_t i = 0; q->method && i < sizeof p->methods / sizeof *p->methods && p->methods[i];
	     i++)
		if (!strcmp(p->methods[i], q->method))
			return !p->takes || p->takes(q->at);
	return 0;
}

int hf_quant_find(struct hf_dir *d, infer_error *err)
{
	static const char *const keys[] = { "quantization_config", "quantization",
		                            "compression_config" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		TRY(add_quant_config(d, "config.json", keys[i], json_get(d->config, keys[i]), err));
		json_each(part, d->config)
			TRY(add_quant_config(d, "config.json", keys[i], json_get(part, keys[i]),
			                     err));
	}
	TRY(add_files(d, err));
	return !d->quant.at || is_known(&d->quant) ? INFER_OK : hf_refuse_method(d, &d->quant, err);
}
