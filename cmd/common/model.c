#include "common/model.h"
#include "common/say.h"
#include <infer/hw.h>
#include "base/err.h"
#include "base/rng.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

int model_path(const char **path, const char *ref, enum model_default otherwise, infer_error *err)
{
	size_t n = ref ? strlen(ref) : 0;

	if (!ref && otherwise == MODEL_NAMED)
		return err_set(err, INFER_EINVAL, "no model: name one with -m or INFER_MODEL (-m demo: the built-in one)");
	if (!ref) {
		say_warning("no model is named with -m or INFER_MODEL: this is the built-in one");
		ref = "demo";
	}
	if (!strncmp(ref, "hf:", 3))
		return err_set(err, INFER_EUNSUP, "%s: models from the hub are not supported", ref);
	if (n > 4 && !strcmp(ref + n - 4, ".zst"))
		return err_set(err, INFER_EUNSUP, "%s: compressed models are not supported; unpack it with zstd -d", ref);
	*path = ref;
	return INFER_OK;
}

static int check_isa(const char *name, infer_error *err)
{
	struct infer_kernel_set s;
	char known[128] = "";
	size_t n = 0;

	for (int i = 0; infer_kernel_set(i, &s); i++) {
		if (!strcmp(s.name, name) && s.usable)
			return INFER_OK;
		if (!strcmp(s.name, name))
			return err_set(err, INFER_EINVAL, "--isa: this processor cannot run %s", name);
		if (s.usable && n < sizeof known)
			n += (size_t)snprintf(known + n, sizeof known - n, " %s", s.name);
	}
	return err_set(err, INFER_EINVAL, "--isa: '%.40s' is no kernel set; this machine runs%s", name, known);
}

/* "f16", "f32", or two of them with a comma: K, V. */
static int check_kv_type(int *k, int *v, const char *text, infer_error *err)
{
	static const struct { const char *name; int type; } types[] = { { "f16", INFER_F16 }, { "f32", INFER_F32 } };
	const char *comma = strchr(text, ',');
	const char *parts[] = { text, comma ? comma + 1 : text };
	size_t bytes[] = { strcspn(text, ","), strlen(parts[1]) };
	int *out[] = { k, v };

	for (int i = 0; i < 2; i++) {
		size_t t = 0;

		for (; t < sizeof types / sizeof *types; t++)
			if (bytes[i] == strlen(types[t].name) && !memcmp(parts[i], types[t].name, bytes[i]))
				break;
		if (t == sizeof types / sizeof *types)
			return err_set(err, INFER_EINVAL, "--kv-type: '%.40s' is none of f16, f32 (or two of them, K,V)", text);
		*out[i] = types[t].type;
	}
	return INFER_OK;
}

int engine_args_take(struct infer_engine_opts *out, const struct engine_args *a, infer_error *err)
{
	struct infer_engine_opts o = {
		.threads = (int32_t)a->threads, .isa = a->isa, .ctx = (int32_t)a->ctx, .kv_bytes = a->kv_bytes,
		.prefill_chunk = (int32_t)a->prefill_chunk, .step_ms = (int32_t)a->step_ms,
		.flags = a->no_prefix_cache ? INFER_ENGINE_NO_PREFIX_CACHE : 0,
	};

	if (a->isa)
		TRY(check_isa(a->isa, err));
	if (a->kv_type) {
		TRY(check_kv_type(&o.k_type, &o.v_type, a->kv_type, err));
		o.kv_set = 1;
	}
	*out = o;
	return INFER_OK;
}

/* What a model may recommend, and where it goes.  Names without the prefix general.sampling. */
static const struct recommended {
	const char *key;
	int    whole;           /* an int32_t, else a float */
	size_t at;
	double lo, hi;
	double off;             /* a value that says off where the field says 0; 0: none */
} recommended[] = {
#define FIELD(f) offsetof(struct infer_sample_opts, f)
	{ "temp", 0, FIELD(temp), 0, 100 },
	{ "top_k", 1, FIELD(top_k), -1, INT32_MAX, -1 },
	{ "top_p", 0, FIELD(top_p), 0, 1, 1 },
	{ "min_p", 0, FIELD(min_p), 0, 1 },
	{ "xtc_probability", 0, FIELD(xtc_probability), 0, 1 },
	{ "xtc_threshold", 0, FIELD(xtc_threshold), 0, 1 },
	{ "penalty_last_n", 1, FIELD(repeat_window), -1, INT32_MAX },
	{ "penalty_repeat", 0, FIELD(repeat), 0, 100 },
	{ "mirostat", 1, FIELD(mirostat), 0, 2 },
	{ "mirostat_tau", 0, FIELD(mirostat_tau), 0, 1000 },
	{ "mirostat_eta", 0, FIELD(mirostat_eta), 0, 1000 },
#undef FIELD
};

static int take_recommended(struct infer_sample_opts *o, const struct recommended *r, const infer_file *file,
                            infer_error *err)
{
	char key[64];
	double v = 0;
	int found = 0;

	snprintf(key, sizeof key, "general.sampling.%s", r->key);
	TRY(infer_meta_f64(file, key, &v, &found, err));
	if (!found)
		return INFER_OK;
	if (!(v >= r->lo && v <= r->hi))
		return err_set(err, INFER_EFORMAT, "%s: %s: %g is out of range (%g ... %g)", infer_file_path(file), key, v,
		               r->lo, r->hi);
	if (r->off != 0 && v == r->off)
		v = 0;
	if (r->whole)
		*(int32_t *)((char *)o + r->at) = (int32_t)v;
	else
		*(float *)((char *)o + r->at) = (float)v;
	return INFER_OK;
}

/* A stage by its name, or by one of the other spellings in use; INFER_STAGE_END: none. */
static int stage_named(const char *s, size_t n)
{
	static const struct { const char *name; int stage; } others[] = {
		{ "temp", INFER_STAGE_TEMP }, { "typical", INFER_STAGE_TYPICAL }, { "typical_p", INFER_STAGE_TYPICAL },
	};
	char name[24] = "";

	if (n >= sizeof name)
		return INFER_STAGE_END;
	for (size_t i = 0; i < n; i++)
		name[i] = s[i] == '-' ? '_' : s[i];
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(others[i].name, name))
			return others[i].stage;
	for (int i = INFER_STAGE_END + 1; i < INFER_STAGE_COUNT; i++)
		if (!strcmp(infer_stage_name(i), name))
			return i;
	return INFER_STAGE_END;
}

/* general.sampling.sequence: names of stages, separated by semicolons. */
static int take_sequence(struct infer_sample_opts *o, const infer_file *file, infer_error *err)
{
	static const char key[] = "general.sampling.sequence";
	struct infer_str s = { "", 0 };
	int count = 0;

	TRY(infer_meta_str(file, key, &s, NULL, err));
	for (size_t i = 0; i < s.len;) {
		const char *end = memchr(s.at + i, ';', s.len - i);
		size_t n = (end ? (size_t)(end - s.at) : s.len) - i;
		int stage = stage_named(s.at + i, n);

		if (stage == INFER_STAGE_END)
			return err_set(err, INFER_EUNSUP, "%s: %s: no stage '%.*s'", infer_file_path(file), key,
			               (int)(n < 40 ? n : 40), s.at + i);
		if (count == INFER_STAGE_COUNT - 1)
			return err_set(err, INFER_EUNSUP, "%s: %s names more than %d stages", infer_file_path(file), key,
			               INFER_STAGE_COUNT - 1);
		o->order[count++] = (uint8_t)stage;
		i += n + 1;
	}
	return INFER_OK;
}

int sampling_take(struct infer_sample_opts *out, const struct sampling_args *a, const infer_file *file, infer_error *err)
{
	struct infer_sample_opts o = { .temp = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .repeat_window = 64 };

	for (size_t i = 0; i < sizeof recommended / sizeof *recommended; i++)
		TRY(take_recommended(&o, &recommended[i], file, err));
	if (!o.repeat_window)     /* the key says: look nowhere; the field would say: look 64 back */
		o.repeat = 0;
	TRY(take_sequence(&o, file, err));
	if (!isnan(a->temp))
		o.temp = (float)a->temp;
	if (a->top_k >= 0)
		o.top_k = (int32_t)a->top_k;
	if (!isnan(a->top_p))
		o.top_p = a->top_p < 1 ? (float)a->top_p : 0;
	if (!isnan(a->min_p))
		o.min_p = (float)a->min_p;
	o.seed = a->seed.value;
	if (!a->seed.given) {
		TRY(rng_system(&o.seed, err));
		o.seed >>= 11;     /* a number that every reader of JSON gives back as it is */
	}
	*out = o;
	return INFER_OK;
}
