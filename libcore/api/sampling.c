/* api/sampling.c - the fields of sampling options, read and written */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"
#include "job/bad_words.h"
#include "sample/param.h"

#include <math.h>
#include <string.h>

/* Read a numeric option.  Formats of other servers have the limits of those servers. */
static int take_number(struct job *j, const struct infer_sample_param *p, const struct json *v,
                       infer_error *err)
{
	const struct infer_sample_range *r = !j->is_own && p->http.hi > 0 ? &p->http : &p->range;
	double x = json_double(v);
	int32_t whole;

	if (p->whole) {
		TRY(job_whole(&whole, p->name, v, (int64_t)r->lo, (int64_t)r->hi, err));
		x = whole;
	}
	if (!json_is_number(v))
		return err_set(err, INFER_EINVAL, "%s must be a number", p->name);
	TRY(sample_check(p, r, x, err));
	return infer_sample_set(&j->j.request.sample, p, x, err);
}

static int take_samplers(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	struct infer_sample_opts *o = &j->j.request.sample;
	size_t i = 0;

	if (!json_is_array(v) || !v->n)
		return err_set(err, INFER_EINVAL, "%s must be a list of names", key);
	memset(o->order, 0, sizeof o->order);
	json_each(name, v) {
		int stage = json_is_string(name) ? infer_stage_named(name->s, name->n)
		                                 : INFER_STAGE_END;

		if (stage == INFER_STAGE_END && json_is_string(name))
			return err_set(err, INFER_EINVAL, "%s: no stage '%.*s'", key,
			               name->n < 40 ? (int)name->n : 40, name->s);
		if (stage == INFER_STAGE_END)
			return err_set(err, INFER_EINVAL, "%s: no stage '(not a string)'", key);
		for (size_t k = 0; k < i; k++)
			if (o->order[k] == stage)
				return err_set(err, INFER_EINVAL, "%s names %s twice", key,
				               infer_stage_name(stage));
		/* no stage occurs twice, so all stages and the end mark fit */
		o->order[i++] = (uint8_t)stage;
	}
	return INFER_OK;
}

static int set_bias(struct infer_logit_bias *b, int64_t id, const struct json *v, int32_t n_vocab,
                    infer_error *err)
{
	double x = json_is(v, JSON_FALSE) ? -100 : json_double(v);

	if (id < 0 || id >= n_vocab)
		return err_set(err, INFER_EINVAL,
		               "logit_bias: token %lld is outside the vocabulary of %d",
		               (long long)id, (int)n_vocab);
	if (!(json_is_number(v) || json_is(v, JSON_FALSE)) || !(x >= -100 && x <= 100))
		return err_set(
			err, INFER_EINVAL,
			"logit_bias: token %lld: the bias must be from -100 to 100, or false",
			(long long)id);
	*b = (struct infer_logit_bias){ (int32_t)id, x <= -100 ? -INFINITY : (float)x };
	return INFER_OK;
}

/* Return the key of v as a token id, or -1. */
static int64_t id_of(const struct json *v)
{
	int64_t id = 0;

	if (!v->key_n || v->key_n > 10)
		return -1;
	for (uint32_t i = 0; i < v->key_n; i++) {
		if (v->key[i] < '0' || v->key[i] > '9')
			return -1;
		id = 10 * id + (v->key[i] - '0');
	}
	return id;
}

struct biases {
	struct infer_logit_bias *at;
	size_t *n;
	int32_t n_vocab;
};

/* Set the bias of each token of a text. */
static int put_text_bias(const struct biases *to, const struct job *j, struct infer_str text,
                         const struct json *v, infer_error *err)
{
	int32_t *ids;
	size_t n;
	int rc = infer_encode(infer_model_tokenizer(j->o->model), text.at, text.len,
	                      INFER_ENCODE_SPECIAL, &ids, &n, err);

	TRY(rc);
	for (size_t i = 0; i < n && !rc; i++)
		rc = set_bias(&to->at[(*to->n)++], ids[i], v, to->n_vocab, err);
	infer_ids_free(ids);
	return rc;
}

/* Set the bias of a token, given as an id or a text. */
static int put_bias(const struct biases *to, const struct job *j, const struct json *token,
                    const struct json *v, infer_error *err)
{
	if (json_is_string(token))
		return put_text_bias(to, j, (struct infer_str){ token->s, token->n }, v, err);
	if (!json_is_whole(token))
		return err_set(err, INFER_EINVAL, "logit_bias: a token must be an id or a string");
	return set_bias(&to->at[(*to->n)++], json_is(token, JSON_INT) ? token->i : INT64_MAX, v,
	                to->n_vocab, err);
}

/* Set the bias of an object's member: its key is an id, or, in llama.cpp's formats, a text. */
static int put_key_bias(const struct biases *to, const struct job *j, const char *key,
                        const struct json *b, infer_error *err)
{
	int64_t id = id_of(b);

	if (id >= 0)
		return set_bias(&to->at[(*to->n)++], id, b, to->n_vocab, err);
	if (j->j.api == &api_native || j->j.api == &api_infill)
		return put_text_bias(to, j, (struct infer_str){ b->key, b->key_n }, b, err);
	return err_set(err, INFER_EINVAL, "%s: '%.*s' is not a token id", key,
	               b->key_n < 40 ? (int)b->key_n : 40, b->key);
}

/* Read {"id": bias} or [[id or text, bias]]. */
static int take_bias(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	struct infer_logit_bias *bias = NULL;
	size_t n = 0, i = 0;
	int32_t n_vocab = job_vocabulary(j);

	if (!json_is_object(v) && !json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be an object or a list", key);
	/* a text has at most one token per byte, plus BOS */
	json_each(b, v)
		n += 2 + b->key_n + json_bytes(json_first(b));
	bias = arena_alloc(&j->mem, n, sizeof *bias);
	if (!bias || n > INT32_MAX)
		return err_nomem(err);
	n = 0;
	json_each(b, v) {
		const struct biases to = { bias, &n, n_vocab };

		if (json_is_object(v))
			TRY(put_key_bias(&to, j, key, b, err));
		else if (json_is_array(b) && b->n == 2)
			TRY(put_bias(&to, j, b->first, b->first->next, err));
		else
			return err_set(err, INFER_EINVAL,
			               "%s: entry %zu must be a token and a number", key, i);
		i++;
	}
	j->j.request.sample.bias = bias;
	j->j.request.sample.n_bias = (int32_t)n;
	return INFER_OK;
}

static int take_breakers(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	size_t n = json_is_array(v) ? v->n : 0, i = 0;
	struct infer_str *texts = arena_alloc(&j->mem, n, sizeof *texts);

	if (!texts)
		return err_nomem(err);
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be a list of strings", key);
	json_each(text, v) {
		if (!json_bytes(text))
			return err_set(err, INFER_EINVAL,
			               "%s: entry %zu must be a string that is not empty", key, i);
		texts[i++] = (struct infer_str){ text->s, text->n };
	}
	j->j.breaker_texts = texts;
	j->j.n_breaker_texts = n;
	return INFER_OK;
}

/* Read the texts that are never generated; job_ban_words encodes them. */
static int take_bad_words(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	size_t n = json_is_array(v) ? v->n : 0, i = 0;
	struct infer_str *texts = arena_alloc(&j->mem, n, sizeof *texts);

	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be a list of strings", key);
	if (n > JOB_BAD_WORDS)
		return err_set(err, INFER_EINVAL, "%s has %zu entries: must have at most %d", key,
		               n, JOB_BAD_WORDS);
	if (!texts)
		return err_nomem(err);
	json_each(text, v) {
		if (!json_bytes(text) || text->n > JOB_BAD_WORD_BYTES)
			return err_set(err, INFER_EINVAL,
			               "%s: entry %zu must be a string of 1 to %d bytes", key, i,
			               JOB_BAD_WORD_BYTES);
		texts[i++] = (struct infer_str){ text->s, text->n };
	}
	j->j.bad_words = texts;
	j->j.n_bad_words = n;
	return INFER_OK;
}

static int take_seed(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_whole(v))
		return err_set(err, INFER_EINVAL, "%s must be an integer", key);
	if (!j->is_own && json_is(v, JSON_UINT))
		return err_set(err, INFER_EINVAL, "%s is %llu: must be at most %lld", key,
		               (unsigned long long)v->u, (long long)INT64_MAX);
	if (!j->is_own && v->i == -1) /* a random seed */
		return INFER_OK;
	j->j.request.sample.seed = v->u;
	j->seeded = 1;
	return INFER_OK;
}

const struct job_field job_sampling_others[] = {
	{ "samplers", take_samplers, job_put_samplers },
	{ "logit_bias", take_bias, job_put_bias },
	{ "dry_sequence_breakers", take_breakers, job_put_breakers },
	{ "bad_words", take_bad_words, job_put_bad_words },
	{ "seed", take_seed, job_put_seed },
	{ NULL, NULL, NULL },
};

void job_put_sampling(struct jwrite *w, const struct job_asked *a)
{
	const struct infer_sample_param *p;

	for (int i = 0; (p = infer_sample_param(i)); i++)
		part_number(w, p, &a->sample);
	job_put_fields(w, job_sampling_others, a);
}

int job_sampling(struct job *j, const char *key, const struct json *v, int *known, infer_error *err)
{
	const struct job_field *o = job_sampling_others;
	const struct infer_sample_param *p;

	*known = 1;
	for (int i = 0; (p = infer_sample_param(i)); i++)
		if (!strcmp(key, p->name))
			return json_is_null(v) ? INFER_OK : take_number(j, p, v, err);
	for (; o->key; o++)
		if (!strcmp(key, o->key))
			return json_is_null(v) ? INFER_OK : o->take(j, key, v, err);
	*known = 0;
	return INFER_OK;
}
