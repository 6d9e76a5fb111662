/* record/sampling.c - sampling options of a request, under the names that servers have for them */
#include "record/job.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int job_no_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "no memory for a request");
}

int job_whole(int32_t *to, const char *key, const json_t *v, int64_t lo, int64_t hi, infer_error *err)
{
	if (!json_is_integer(v))
		return err_set(err, INFER_EINVAL, "%s is not a whole number", key);
	json_int_t i = json_integer_value(v);

	if (i < lo || i > hi)
		return err_set(err, INFER_EINVAL, "%s is %lld: from %lld to %lld", key, (long long)i, (long long)lo,
		               (long long)hi);
	*to = (int32_t)i;
	return INFER_OK;
}

/* A value that says off where the field says 0 is `off`; above: lo itself is out of range. */
static const struct number { const char *key; size_t at; double lo, hi, off; int above; } numbers[] = {
#define FIELD(f) offsetof(struct infer_sample_opts, f)
	{ "temperature", FIELD(temp), 0, 100, 0, 0 },
	{ "dynatemp_range", FIELD(dynatemp_range), 0, 100, 0, 0 },
	{ "dynatemp_exponent", FIELD(dynatemp_exp), 0, 100, 0, 1 },
	{ "top_p", FIELD(top_p), 0, 1, 1, 1 },
	{ "min_p", FIELD(min_p), 0, 1, 0, 0 },
	{ "typical_p", FIELD(typical), 0, 1, 1, 1 },
	{ "top_n_sigma", FIELD(top_n_sigma), -1, 1000, -1, 0 },
	{ "xtc_probability", FIELD(xtc_probability), 0, 1, 0, 0 },
	{ "xtc_threshold", FIELD(xtc_threshold), 0, 1, 0, 0 },
	{ "repeat_penalty", FIELD(repeat), 0, 100, 1, 1 },
	{ "presence_penalty", FIELD(presence), -2, 2, 0, 0 },
	{ "frequency_penalty", FIELD(frequency), -2, 2, 0, 0 },
	{ "dry_multiplier", FIELD(dry_multiplier), 0, 100, 0, 0 },
	{ "dry_base", FIELD(dry_base), 1, 100, 0, 0 },
	{ "mirostat_tau", FIELD(mirostat_tau), 0, 100, 0, 1 },
	{ "mirostat_eta", FIELD(mirostat_eta), 0, 100, 0, 1 },
};
static const struct whole { const char *key; size_t at; int64_t lo, off; } wholes[] = {
	{ "top_k", FIELD(top_k), -1, -1 },
	{ "repeat_last_n", FIELD(repeat_window), -1, 0 },
	{ "dry_allowed_length", FIELD(dry_allowed_length), 1, 0 },
	{ "dry_penalty_last_n", FIELD(dry_window), -1, 0 },
	{ "mirostat", FIELD(mirostat), 0, 0 },
	{ "min_keep", FIELD(min_keep), 0, 0 },
#undef FIELD
};

static int take_number(struct job *j, const struct number *n, const json_t *v, infer_error *err)
{
	double x = json_number_value(v);

	if (!json_is_number(v))
		return err_set(err, INFER_EINVAL, "%s is not a number", n->key);
	if (!(n->above ? x > n->lo : x >= n->lo) || !(x <= n->hi))
		return err_set(err, INFER_EINVAL, "%s is %.9g: %s %g to %g", n->key, x,
		               n->above ? "above" : "from", n->lo, n->hi);
	*(float *)((char *)&j->j.request.sample + n->at) = x == n->off || x < 0 ? 0 : (float)x;
	if (n->lo == -2)         /* penalties: below 0 they are as good as above */
		*(float *)((char *)&j->j.request.sample + n->at) = (float)x;
	return INFER_OK;
}

static int take_whole(struct job *j, const struct whole *w, const json_t *v, infer_error *err)
{
	int32_t x, hi = strcmp(w->key, "mirostat") ? INT32_MAX : 2;

	TRY(job_whole(&x, w->key, v, w->lo, hi, err));
	*(int32_t *)((char *)&j->j.request.sample + w->at) = x == w->off ? 0 : x;
	j->dry_nowhere |= !x && !strcmp(w->key, "dry_penalty_last_n");
	return INFER_OK;
}

static int take_samplers(struct job *j, const char *key, const json_t *v, infer_error *err)
{
	struct infer_sample_opts *o = &j->j.request.sample;
	size_t n = json_array_size(v);

	if (!json_is_array(v) || !n)
		return err_set(err, INFER_EINVAL, "%s is not a list of names", key);
	memset(o->order, 0, sizeof o->order);
	for (size_t i = 0; i < n; i++) {
		const json_t *name = json_array_get(v, i);
		int stage = json_is_string(name) ? infer_stage_named(json_string_value(name), json_string_length(name))
		                                 : INFER_STAGE_END;

		if (stage == INFER_STAGE_END)
			return err_set(err, INFER_EINVAL, "%s: no stage '%.40s'", key,
			               json_is_string(name) ? json_string_value(name) : "(not a string)");
		for (size_t k = 0; k < i; k++)
			if (o->order[k] == stage)
				return err_set(err, INFER_EINVAL, "%s names %s twice", key, infer_stage_name(stage));
		o->order[i] = (uint8_t)stage;      /* none comes twice: there is room for all and an end */
	}
	return INFER_OK;
}

static int32_t vocabulary(const struct job *j)
{
	struct infer_model_info info;

	infer_model_info(j->o->model, &info);
	return info.n_vocab;
}

static int set_bias(struct infer_logit_bias *b, int64_t id, const json_t *v, int32_t n_vocab, infer_error *err)
{
	double x = json_is_false(v) ? -100 : json_number_value(v);

	if (id < 0 || id >= n_vocab)
		return err_set(err, INFER_EINVAL, "logit_bias: token %lld is outside the vocabulary of %d", (long long)id,
		               (int)n_vocab);
	if (!(json_is_number(v) || json_is_false(v)) || !(x >= -100 && x <= 100))
		return err_set(err, INFER_EINVAL, "logit_bias: token %lld: from -100 to 100, or false", (long long)id);
	*b = (struct infer_logit_bias){ (int32_t)id, x <= -100 ? -INFINITY : (float)x };
	return INFER_OK;
}

/* {"id": bias} or [[id, bias]] */
static int take_bias(struct job *j, const char *key, const json_t *v, infer_error *err)
{
	size_t n = json_is_object(v) ? json_object_size(v) : json_array_size(v), i = 0;
	struct infer_logit_bias *bias = arena_alloc(&j->mem, n, sizeof *bias);
	int32_t n_vocab = vocabulary(j);
	const char *id;
	json_t *b;

	if (!json_is_object(v) && !json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s is neither an object nor a list", key);
	if (!bias || n > INT32_MAX)
		return job_no_memory(err);
	json_object_foreach((json_t *)(size_t)v, id, b) {
		size_t digits = strspn(id, "0123456789");

		if (!digits || id[digits] || digits > 10)
			return err_set(err, INFER_EINVAL, "%s: '%.40s' is no token id", key, id);
		TRY(set_bias(&bias[i++], strtoll(id, NULL, 10), b, n_vocab, err));
	}
	for (; i < n; i++) {
		const json_t *pair = json_array_get(v, i), *first = json_array_get(pair, 0);

		if (json_array_size(pair) != 2 || !json_is_integer(first))
			return err_set(err, INFER_EINVAL, "%s: entry %zu is not a token id and a number", key, i);
		TRY(set_bias(&bias[i], json_integer_value(first), json_array_get(pair, 1), n_vocab, err));
	}
	j->j.request.sample.bias = bias;
	j->j.request.sample.n_bias = (int32_t)n;
	return INFER_OK;
}

static int take_breakers(struct job *j, const char *key, const json_t *v, infer_error *err)
{
	size_t n = json_array_size(v);
	struct infer_str *texts = arena_alloc(&j->mem, n, sizeof *texts);

	if (!texts)
		return job_no_memory(err);
	if (!n)
		return err_set(err, INFER_EINVAL, "%s is not a list of texts", key);
	for (size_t i = 0; i < n; i++) {
		const json_t *text = json_array_get(v, i);

		if (!json_is_string(text) || !json_string_length(text))
			return err_set(err, INFER_EINVAL, "%s: entry %zu is no text, or empty", key, i);
		texts[i] = (struct infer_str){ json_string_value(text), json_string_length(text) };
	}
	j->j.breaker_texts = texts;
	j->j.n_breaker_texts = n;
	return INFER_OK;
}

static int take_seed(struct job *j, const char *key, const json_t *v, infer_error *err)
{
	if (!json_is_integer(v))
		return err_set(err, INFER_EINVAL, "%s is not a whole number", key);
	j->j.request.sample.seed = (uint64_t)json_integer_value(v);
	j->seeded = 1;
	return INFER_OK;
}

int job_sampling(struct job *j, const char *key, const json_t *v, int *known, infer_error *err)
{
	static const struct { const char *key; job_take *take; } others[] = {
		{ "samplers", take_samplers }, { "logit_bias", take_bias },
		{ "dry_sequence_breakers", take_breakers }, { "seed", take_seed },
	};

	*known = 1;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!strcmp(key, numbers[i].key))
			return json_is_null(v) ? INFER_OK : take_number(j, &numbers[i], v, err);
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
		if (!strcmp(key, wholes[i].key))
			return json_is_null(v) ? INFER_OK : take_whole(j, &wholes[i], v, err);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(key, others[i].key))
			return json_is_null(v) ? INFER_OK : others[i].take(j, key, v, err);
	*known = 0;
	return INFER_OK;
}

int job_sampling_end(struct job *j, infer_error *err)
{
	struct infer_sample_opts *o = &j->j.request.sample;

	if (!o->repeat_window)       /* look nowhere; the field's 0 stands for a default */
		o->repeat = o->presence = o->frequency = 0;
	if (j->dry_nowhere)
		o->dry_multiplier = 0;
	o->dry_breakers = NULL;
	o->n_dry_breaker = NULL;
	o->n_dry_breakers = 0;
	if (!(o->dry_multiplier > 0))
		return INFER_OK;
	if (j->j.breaker_texts != j->o->breaker_texts)
		TRY(infer_breakers_new(&j->breakers, infer_model_tokenizer(j->o->model), j->j.breaker_texts,
		                       j->j.n_breaker_texts, err));
	if (j->breakers || j->o->breakers)
		infer_breakers_use(j->breakers ? j->breakers : j->o->breakers, o);
	return INFER_OK;
}
