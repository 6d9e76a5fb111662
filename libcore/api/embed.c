/* api/embed.c - embeddings: requests and answers in OpenAI's format and in our own */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* INPUTS: maximum of one request; the others are values of embd_normalize */
enum { INPUTS = 2048, NOT_NORMAL = -1, EUCLIDEAN = 2 };

static const struct job_field *find_embed_field(const struct job_field *f, const char *key,
                                                size_t n)
{
	while (f->key && (strlen(f->key) != n || memcmp(f->key, key, n)))
		f++;
	return f->key ? f : NULL;
}

int embed_fields(struct job *j, const struct json *o, const struct job_field *known,
                 const struct job_field *other)
{
	static const struct job_field lora[] = { { "lora", job_take_lora }, { NULL, NULL } };
	infer_error *err = &j->j.fault.error;
	const char *param;

	json_each(v, o) {
		const struct job_field *f = find_embed_field(known, v->key, v->key_n);

		f = f ? f : find_embed_field(lora, v->key, v->key_n);
		if (f && !json_is_null(v) && f->take(j, f->key, v, err))
			return job_fault(j, f->key);
		if (!f && other && (f = find_embed_field(other, v->key, v->key_n))) {
			err_set(err, INFER_EUNSUP, "%s has no effect on an embedding", f->key);
			return job_fault(j, f->key);
		}
		if (!f && !(j->o->reads & INFER_JOB_LENIENT))
			return job_unknown(j, v->key, v->key_n);
	}
	return job_choose_adapters(j, o, &param, err) ? job_fault(j, param) : INFER_OK;
}

/* ---- inputs ---- */

/* Read a prompt, or a list of prompts. */
int embed_take_inputs(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const int one = json_count(v) ? !job_is_prompts(v) : !json_is_array(v);
	size_t n = one ? 1 : v->n, i = 0;
	struct infer_prompt *in = arena_alloc(&j->mem, n, sizeof *in);

	if (!n)
		return err_set(err, INFER_EINVAL, "%s is an empty list", key);
	if (n > INPUTS)
		return err_set(err, INFER_EINVAL, "%s has %zu entries: at most %d", key, n, INPUTS);
	if (!in)
		return err_nomem(err);
	if (one)
		TRY(job_read_prompt(in, j, key, v, err));
	else
		json_each(item, v)
			TRY(job_read_prompt(&in[i++], j, key, item, err));
	embed_set_prompts(j, in, n);
	return INFER_OK;
}

/* ---- OpenAI's format ---- */

static int take_encoding(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->j.base64 = json_equals(v, "base64");
	return j->j.base64 || json_equals(v, "float")
	               ? INFER_OK
	               : err_set(err, INFER_EINVAL, "%s must be float or base64", key);
}

int embed_take_dimensions(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	struct infer_model_info info;

	infer_model_info(j->o->model, &info);
	return job_whole(&j->j.dimensions, key, v, 1, info.n_embedding, err);
}

static int take_norm(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int32_t norm;

	TRY(job_whole(&norm, key, v, INT32_MIN, INT32_MAX, err));
	if (norm != EUCLIDEAN && norm != NOT_NORMAL)
		return err_set(err, INFER_EUNSUP, "%s is %d: %d is Euclidean, and %d none", key,
		               (int)norm, EUCLIDEAN, NOT_NORMAL);
	j->j.no_normalize = norm == NOT_NORMAL;
	return INFER_OK;
}

int job_take_normalize(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int on;

	TRY(job_take_bool(&on, key, v, err));
	j->j.no_normalize = !on;
	return INFER_OK;
}

int job_take_truncate(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(job_take_bool(&j->truncates, key, v, err));
	return !j->truncates || j->o->ctx ? INFER_OK
	                                  : err_set(err, INFER_EUNSUP,
	                                            "%s needs a server, because the size of the "
	                                            "context is not known here",
	                                            key);
}

int embed_end(struct job *j, const char *key)
{
	infer_error *err = &j->j.fault.error;

	if (j->j.request.embed == INFER_EMBED_RANK) {
		err_set(err, INFER_EUNSUP, "the model ranks texts: ask /v1/rerank or /v1/score");
		return job_fault(j, "model");
	}
	if (j->j.prompts && (j->truncates || j->extras.most) && embed_truncate(j, err))
		return job_fault(j, j->extras.most ? "truncate_prompt_tokens" : "truncate");
	if (j->j.prompts)
		return INFER_OK;
	err_set(err, INFER_EINVAL, "%s is missing", key);
	return job_fault(j, key);
}

static int read_embeddings(struct job *j, const struct json *body)
{
	static const struct job_field known[] = {
		{ "input", embed_take_inputs },
		{ "encoding_format", take_encoding },
		{ "dimensions", embed_take_dimensions },
		{ "embd_normalize", take_norm },
		{ "model", job_pass_text },
		{ "user", job_pass },
		{ "timeout", job_take_timeout },
		{ "truncate", job_take_truncate },
		{ "truncate_prompt_tokens", job_take_most },
		{ "truncation_side", job_take_side },
		{ "normalize", job_take_normalize },
		{ "use_activation", job_take_normalize },
		{ NULL, NULL },
	};
	infer_error *err = &j->j.fault.error;

	if (embed_begin(j, err))
		return job_fault(j, NULL);
	if (embed_fields(j, body, known, NULL))
		return err->code;
	return embed_end(j, "input");
}

void embed_put_values(struct jwrite *w, const char *key, const struct infer_choice *c)
{
	jw_array(w, key);
	for (int32_t i = 0; i < c->n_embedding; i++)
		jw_num(w, NULL, (double)c->embedding[i]);
	jw_end(w);
}

void embed_put_usage(struct jwrite *w, const struct api_answer *f)
{
	int64_t tokens = part_total(f->a).prompt_tokens;

	jw_object(w, "usage");
	jw_int(w, "prompt_tokens", tokens);
	jw_int(w, "total_tokens", tokens);
	jw_end(w);
	if (f->more)
		f->more(w, f->user);
}

static void put_embeddings(struct jwrite *w, const struct api_answer *f)
{
	const struct infer_answer *a = f->a;

	jw_str(w, "object", "list");
	jw_array(w, "data");
	for (int32_t i = 0; i < a->job->n; i++) {
		const struct infer_choice *c = &a->choices[i];

		jw_object(w, NULL);
		jw_str(w, "object", "embedding");
		jw_int(w, "index", i);
		if (a->job->base64)
			jw_base64(w, "embedding", c->embedding,
			          (size_t)c->n_embedding * sizeof *c->embedding);
		else
			embed_put_values(w, "embedding", c);
		jw_end(w);
	}
	jw_end(w);
	jw_strn(w, "model", a->model.at, a->model.len);
	embed_put_usage(w, f);
}

const struct infer_api api_embed = {
	.name = "embed",
	.path = "/v1/embeddings",
	.flags = API_WHOLE,
	.read = read_embeddings,
	.put = put_embeddings,
	.put_error = openai_put_error,
};

/* ---- our own format ---- */

static int take_prompt(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(job_take_prompt(j, key, v, err));
	if (json_is_array(v) && !json_is_whole(v->first))
		return err_set(err, INFER_EINVAL, "%s must be a list of token ids", key);
	return embed_take_inputs(j, key, v, err);
}

int embed_read_own(struct job *j, const struct json *body)
{
	static const struct job_field known[] = {
		{ "v", job_pass },       { "kind", job_pass },
		{ "id", job_pass },      { "prompt", take_prompt },
		{ "raw", job_take_raw }, { "model", job_pass_text },
		{ NULL, NULL },
	};
	infer_error *err = &j->j.fault.error;

	if (embed_begin(j, err))
		return job_fault(j, NULL);
	if (embed_fields(j, body, known, job_own))
		return err->code;
	if (j->j.prompts)
		return INFER_OK;
	err_set(err, INFER_EINVAL, "prompt is missing");
	return job_fault(j, "prompt");
}

void embed_put_own(struct jwrite *w, const struct api_answer *f)
{
	static const char *const names[] = { "none", "mean", "last", "cls", "rank" };
	const struct infer_answer *a = f->a;
	const struct infer_choice *c = a->choices;

	part_id(w, a->job);
	jw_int(w, "created", a->created);
	jw_str(w, "pooling", names[a->job->request.embed]);
	jw_bool(w, "normalized", !a->job->no_normalize);
	embed_put_values(w, "values", c);
	jw_object(w, "usage");
	jw_int(w, "prompt_tokens", c->usage.prompt_tokens);
	jw_int(w, "cached_tokens", c->usage.cached_tokens);
	jw_end(w);
	if (f->more)
		f->more(w, f->user);
}
