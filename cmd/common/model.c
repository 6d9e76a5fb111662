/* common/model.c - the options of the model and the engine. */
#include "common/model.h"
#include "common/env.h"
#include "common/progress.h"
#include "common/say.h"
#include <infer/hw.h>
#include "base/err.h"

#include <stdio.h>
#include <string.h>

int model_generates(const infer_model *m, const char *what, infer_error *err)
{
	struct infer_model_info info;

	infer_model_info(m, &info);
	return info.is_encoder || info.n_ranks
	               ? err_set(err, INFER_EUNSUP, "the model %s: %s is of models that generate",
	                         info.n_ranks ? "ranks texts" : "is an encoder", what)
	               : INFER_OK;
}

int model_path(const char **path, const char *ref, enum model_default otherwise, infer_error *err)
{
	if (!ref && otherwise == MODEL_NAMED)
		return err_set(err, INFER_EINVAL,
		               "no model: name one with -m or INFER_MODEL (demo: built in)");
	if (!ref) {
		say_warning("no -m and no INFER_MODEL: this is the built-in model");
		ref = "demo";
	}
	if (!strncmp(ref, "hf:", 3))
		return err_set(err, INFER_EUNSUP, "%s: models from the hub are not supported", ref);
	*path = ref;
	return INFER_OK;
}

static void unpacking(void *user, uint64_t done, uint64_t all)
{
	if (!done)
		progress_begin("unpacking", PROGRESS_BYTES, all);
	progress_at(user, done, all);
	if (done == all)
		progress_end();
}

const struct infer_watch model_watch = { unpacking, NULL };

int isa_check(const char *name, infer_error *err)
{
	const char *from = env_name(name) ? env_name(name) : "--isa";
	struct infer_kernel_set s;
	char known[128] = "";
	size_t n = 0;

	for (int i = 0; infer_kernel_set(i, &s); i++) {
		if (!strcmp(s.name, name) && s.usable)
			return INFER_OK;
		if (!strcmp(s.name, name))
			return err_set(err, INFER_EINVAL, "%s: this processor cannot run %s", from,
			               name);
		if (s.usable && n < sizeof known)
			n += (size_t)snprintf(known + n, sizeof known - n, " %s", s.name);
	}
	return err_set(err, INFER_EINVAL, "%s: '%.40s' is no kernel set; this machine runs%s", from,
	               name, known);
}

/* The cache type with this name, or NULL. */
static const struct infer_kv_type *kv_type(const char *name, size_t n)
{
	const struct infer_kv_type *t;

	for (int i = 0; (t = infer_kv_type(i)); i++)
		if (n == strlen(t->name) && !memcmp(name, t->name, n))
			break;
	return t;
}

/* Parse one type, or two separated by a comma: K, V. */
static int check_kv_type(int *k, int *v, const char *text, infer_error *err)
{
	const char *comma = strchr(text, ',');
	const char *parts[] = { text, comma ? comma + 1 : text };
	size_t bytes[] = { strcspn(text, ","), strlen(parts[1]) };
	int *out[] = { k, v };

	for (int i = 0; i < 2; i++) {
		const struct infer_kv_type *t = kv_type(parts[i], bytes[i]);

		if (!t)
			return err_set(err, INFER_EINVAL,
			               "--kv-type: '%.40s' is none of " KV_NAMES ", or two: K,V",
			               text);
		*out[i] = t->type;
	}
	return INFER_OK;
}

static int check_act_type(int *type, const char *text, infer_error *err)
{
	if (strcmp(text, "f32") && strcmp(text, "bf16"))
		return err_set(err, INFER_EINVAL, "--act-type: '%.40s' is none of f32, bf16", text);
	*type = strcmp(text, "f32") ? INFER_BF16 : INFER_F32;
	return INFER_OK;
}

int engine_args_take(struct infer_engine_opts *out, const struct engine_args *a, infer_error *err)
{
	struct infer_engine_opts o = {
		.threads = (int32_t)a->threads,
		.isa = a->isa,
		.ctx = (int32_t)a->ctx,
		.kv_bytes = a->kv_bytes,
		.swap_bytes = a->swap_bytes,
		.prefill_chunk = (int32_t)a->prefill_chunk,
		.step_ms = (int32_t)a->step_ms,
		.flags = a->no_prefix_cache ? INFER_ENGINE_NO_PREFIX_CACHE : 0,
	};

	if (a->isa)
		TRY(isa_check(a->isa, err));
	if (a->kv_type) {
		TRY(check_kv_type(&o.k_type, &o.v_type, a->kv_type, err));
		o.kv_set = 1;
	}
	if (a->act_type)
		TRY(check_act_type(&o.act_type, a->act_type, err));
	*out = o;
	return INFER_OK;
}
