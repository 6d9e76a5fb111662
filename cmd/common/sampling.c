#include "common/sampling.h"
#include "base/err.h"
#include "base/rng.h"
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static int no_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for sampling options");
}

/* What a model may recommend, and where it goes.  Names without the prefix general.sampling. */
static const struct recommended {
	const char *key;
	int whole; /* an int32_t, else a float */
	size_t at;
	double lo, hi;
	double off; /* a value that says off where the field says 0; 0: none */
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

static int take_recommended(struct infer_sample_opts *o, const struct recommended *r,
                            const infer_file *file, infer_error *err)
{
	char key[64];
	double v = 0;
	int found = 0;

	snprintf(key, sizeof key, "general.sampling.%s", r->key);
	TRY(infer_meta_f64(file, key, &v, &found, err));
	if (!found)
		return INFER_OK;
	if (!(v >= r->lo && v <= r->hi))
		return err_set(err, INFER_EFORMAT, "%s: %s: %g is out of range (%g ... %g)",
		               infer_file_path(file), key, v, r->lo, r->hi);
	if (r->off != 0 && v == r->off)
		v = 0;
	if (r->whole)
		*(int32_t *)((char *)o + r->at) = (int32_t)v;
	else
		*(float *)((char *)o + r->at) = (float)v;
	return INFER_OK;
}

/* Names of stages, separated by commas or semicolons.  from, name: whose they are, for messages. */
static int take_stages(struct infer_sample_opts *o, const char *at, size_t n, int code,
                       const char *from, const char *name, infer_error *err)
{
	int count = 0;

	memset(o->order, 0, sizeof o->order);
	for (size_t i = 0; i < n;) {
		size_t len = 0;

		while (i + len < n && at[i + len] != ',' && at[i + len] != ';')
			len++;
		int stage = infer_stage_named(at + i, len);

		if (stage == INFER_STAGE_END)
			return err_set(err, code, "%s%s: no stage '%.*s'", from, name,
			               (int)(len < 40 ? len : 40), at + i);
		for (int k = 0; k < count; k++)
			if (o->order[k] == stage)
				return err_set(err, code, "%s%s names %s twice", from, name,
				               infer_stage_name(stage));
		/* none comes twice, so there is room for all and an end */
		o->order[count++] = (uint8_t)stage;
		i += len + 1;
	}
	return INFER_OK;
}

/* general.sampling.sequence */
static int take_sequence(struct infer_sample_opts *o, const infer_file *file, infer_error *err)
{
	static const char key[] = "general.sampling.sequence";
	struct infer_str s = { "", 0 };
	char from[256];

	TRY(infer_meta_str(file, key, &s, NULL, err));
	snprintf(from, sizeof from, "%s: ", infer_file_path(file));
	return take_stages(o, s.at, s.len, INFER_EUNSUP, from, key, err);
}

/* Numbers that were given, and where they go. */
static void take_numbers(struct infer_sample_opts *o, const struct sampling_args *a)
{
	const struct {
		double v;
		float *to;
		double off;
	} reals[] = {
		{ a->temp, &o->temp, -1 },
		{ a->dynatemp_range, &o->dynatemp_range, -1 },
		{ a->dynatemp_exp, &o->dynatemp_exp, -1 },
		{ a->top_p, &o->top_p, 1 },
		{ a->min_p, &o->min_p, -1 },
		{ a->typical, &o->typical, 1 },
		{ a->top_n_sigma, &o->top_n_sigma, -1 },
		{ a->xtc_probability, &o->xtc_probability, -1 },
		{ a->xtc_threshold, &o->xtc_threshold, -1 },
		{ a->repeat, &o->repeat, 1 },
		{ a->presence, &o->presence, -3 },
		{ a->frequency, &o->frequency, -3 },
		{ a->dry_multiplier, &o->dry_multiplier, -1 },
		{ a->dry_base, &o->dry_base, -1 },
		{ a->mirostat_tau, &o->mirostat_tau, -1 },
		{ a->mirostat_eta, &o->mirostat_eta, -1 },
	};
	const struct {
		int64_t v;
		int32_t *to;
	} wholes[] = {
		{ a->top_k, &o->top_k },
		{ a->repeat_last_n, &o->repeat_window },
		{ a->mirostat, &o->mirostat },
		{ a->dry_allowed_length, &o->dry_allowed_length },
		{ a->dry_last_n, &o->dry_window },
	};

	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
		if (!isnan(reals[i].v))
			*reals[i].to = reals[i].v == reals[i].off ? 0 : (float)reals[i].v;
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
		if (wholes[i].v != INT64_MIN)
			*wholes[i].to = (int32_t)wholes[i].v;
}

/* An id at the beginning of `text`, in the vocabulary; *end: behind it. */
static int take_id(int32_t *id, const char *text, char **end, const char *option,
                   const infer_model *model, infer_error *err)
{
	struct infer_model_info info;
	size_t digits = strspn(text, "0123456789");

	infer_model_info(model, &info);
	if (!digits)
		return err_set(err, INFER_EINVAL, "%s: '%.40s' does not begin with a token id",
		               option, text);
	long long v = digits < 12 ? strtoll(text, NULL, 10) : INT64_MAX;

	if (v >= info.n_vocab)
		return err_set(err, INFER_EINVAL, "%s: %.40s: the vocabulary has %d tokens", option,
		               text, (int)info.n_vocab);
	*id = (int32_t)v;
	*end = (char *)(size_t)(text + digits);
	return INFER_OK;
}

int sampling_ids(int32_t **ids, const struct opt_list *words, const char *option,
                 const infer_model *model, struct arena *mem, infer_error *err)
{
	char *end = NULL;

	*ids = arena_alloc(mem, (size_t)words->n, sizeof **ids);
	if (!*ids)
		return no_memory(err);
	for (int i = 0; i < words->n; i++) {
		TRY(take_id(&(*ids)[i], words->at[i], &end, option, model, err));
		if (*end)
			return err_set(err, INFER_EINVAL, "%s: '%.40s' is no token id", option,
			               words->at[i]);
	}
	return INFER_OK;
}

/* "ID=B" */
static int take_bias(struct infer_logit_bias *b, const char *text, const infer_model *model,
                     infer_error *err)
{
	char *at, *end = NULL;

	TRY(take_id(&b->token, text, &at, "--logit-bias", model, err));
	const char *number = *at == '=' ? at + 1 : "";
	double v = strcmp(number, "-inf") ? strtod(number, &end) : -INFINITY;

	if (!*number || (end && (*end || number[strspn(number, "0123456789+-.eE")])))
		return err_set(err, INFER_EINVAL,
		               "--logit-bias: '%.40s' is not ID=B, a token id and a number", text);
	if (v != -INFINITY && !(v >= -1e6 && v <= 1e6))
		return err_set(err, INFER_EINVAL,
		               "--logit-bias: %.40s is out of range (-1e6 ... 1e6, or -inf)", text);
	b->bias = (float)v;
	return INFER_OK;
}

static int take_biases(struct sampling *s, const struct opt_list *words, const infer_model *model,
                       infer_error *err)
{
	struct infer_logit_bias *bias = arena_alloc(&s->mem, (size_t)words->n, sizeof *bias);

	if (!bias)
		return no_memory(err);
	for (int i = 0; i < words->n; i++)
		TRY(take_bias(&bias[i], words->at[i], model, err));
	s->o.bias = bias;
	s->o.n_bias = words->n;
	return INFER_OK;
}

/* The texts; with DRY on their tokens too. */
static int take_breakers(struct sampling *s, const struct opt_list *words, const infer_model *model,
                         infer_error *err)
{
	static const struct infer_str usual[] = {
		{ "\n", 1 }, { ":", 1 }, { "\"", 1 }, { "*", 1 }
	};
	struct infer_str *given = arena_alloc(&s->mem, (size_t)words->n, sizeof *given);
	size_t n = 0;

	if (!given)
		return no_memory(err);
	s->breaker_texts = words->n ? given : usual;
	for (int i = 0; i < words->n; i++)
		if (!strcmp(words->at[i], "none"))
			n = 0;
		else
			given[n++] = (struct infer_str){ words->at[i], strlen(words->at[i]) };
	s->n_breaker_texts = words->n ? n : sizeof usual / sizeof *usual;
	if (!(s->o.dry_multiplier > 0))
		return INFER_OK;
	TRY(infer_breakers_new(&s->breakers, infer_model_tokenizer(model), s->breaker_texts,
	                       s->n_breaker_texts, err));
	infer_breakers_use(s->breakers, &s->o);
	return INFER_OK;
}

/* "Look nowhere", which the fields cannot say: their 0 stands for a default. */
static void take_nowhere(struct infer_sample_opts *o, const struct sampling_args *a)
{
	if (!o->repeat_window)
		o->repeat = o->presence = o->frequency = 0;
	if (!a->dry_last_n)
		o->dry_multiplier = 0;
}

int sampling_take(struct sampling *out, const struct sampling_args *a, const infer_model *model,
                  infer_error *err)
{
	struct infer_sample_opts *o = &out->o;
	const infer_file *file = infer_model_file(model);

	*out = (struct sampling){
		.o = { .temp = 0.8f,
		       .top_k = 40,
		       .top_p = 0.95f,
		       .min_p = 0.05f,
		       .repeat_window = 64,
		       .xtc_threshold = 0.1f },
	};
	arena_init(&out->mem, MEM_BASE);
	for (size_t i = 0; i < sizeof recommended / sizeof *recommended; i++)
		TRY(take_recommended(o, &recommended[i], file, err));
	TRY(take_sequence(o, file, err));
	take_numbers(o, a);
	take_nowhere(o, a);
	if (a->samplers)
		TRY(take_stages(o, a->samplers, strlen(a->samplers), INFER_EINVAL, "", "--samplers",
		                err));
	TRY(take_biases(out, &a->bias, model, err));
	TRY(take_breakers(out, &a->breakers, model, err));
	o->seed = a->seed.value;
	if (a->seed.given)
		return INFER_OK;
	TRY(rng_system(&o->seed, err));
	o->seed >>= 11; /* a number that every reader of JSON gives back as it is */
	return INFER_OK;
}

void sampling_fini(struct sampling *s)
{
	infer_breakers_free(s->breakers);
	arena_fini(&s->mem);
	*s = (struct sampling){ 0 };
}
