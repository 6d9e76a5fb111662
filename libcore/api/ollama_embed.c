/* api/ollama_embed.c - embeddings in Ollama's formats: /api/embed, and the older /api/embeddings */
#include "api/ollama.h"
#include "api/api.h"
#include "base/err.h"

/* Check the options: none has an effect on an embedding. */
static int take_idle_options(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct infer_request kept = j->j.request;

	TRY(ollama_take_options(j, key, v, err));
	j->j.request = kept;
	return INFER_OK;
}

static int take_one_text(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return json_is_string(v) ? embed_take_inputs(j, key, v, err)
	                         : err_set(err, INFER_EINVAL, "%s must be a string", key);
}

static int read_ollama_embed(struct job *j, const struct json *body)
{
	static const struct job_field known[] = {
		{ "model", job_pass_text },
		{ "input", embed_take_inputs },
		{ "truncate", job_take_truncate },
		{ "dimensions", embed_take_dimensions },
		{ "options", take_idle_options },
		{ "keep_alive", ollama_take_keep_alive },
		{ NULL, NULL },
	};

	if (embed_begin(j, &j->j.fault.error))
		return job_fault(j, NULL);
	j->j.body = body;
	j->truncates = j->o->ctx > 0;
	if (embed_fields(j, body, known, NULL))
		return j->j.fault.error.code;
	return embed_end(j, "input");
}

/* Embeddings of this format are not normalised. */
static int read_ollama_embeddings(struct job *j, const struct json *body)
{
	static const struct job_field known[] = {
		{ "model", job_pass_text },
		{ "prompt", take_one_text },
		{ "options", take_idle_options },
		{ "keep_alive", ollama_take_keep_alive },
		{ NULL, NULL },
	};

	if (embed_begin(j, &j->j.fault.error))
		return job_fault(j, NULL);
	j->truncates = j->o->ctx > 0;
	j->j.body = body;
	j->j.no_normalize = 1;
	if (embed_fields(j, body, known, NULL))
		return j->j.fault.error.code;
	return embed_end(j, "prompt");
}

static void put_ollama_embed(struct jwrite *w, const struct api_answer *f)
{
	const struct infer_answer *a = f->a;
	const struct json *asked = json_get(a->job->body, "model");
	int64_t ns = 0;

	if (json_bytes(asked))
		jw_strn(w, "model", asked->s, asked->n);
	else
		jw_strn(w, "model", a->model.at, a->model.len);
	jw_array(w, "embeddings");
	for (int32_t i = 0; i < a->job->n; i++) {
		const struct infer_usage *u = &a->choices[i].usage;

		embed_put_values(w, NULL, &a->choices[i]);
		ns = u->queue_ns + u->prefill_ns > ns ? u->queue_ns + u->prefill_ns : ns;
	}
	jw_end(w);
	jw_int(w, "total_duration", ns + (int64_t)(a->load_ms * 1e6));
	jw_int(w, "load_duration", (int64_t)(a->load_ms * 1e6));
	jw_int(w, "prompt_eval_count", part_total(a).prompt_tokens);
	if (f->more)
		f->more(w, f->user);
}

static void put_ollama_embedding(struct jwrite *w, const struct api_answer *f)
{
	embed_put_values(w, "embedding", f->a->choices);
	if (f->more)
		f->more(w, f->user);
}

const struct infer_api api_ollama_embed = {
	.name = "ollama_embed",
	.path = "/api/embed",
	.flags = API_WHOLE,
	.read = read_ollama_embed,
	.put = put_ollama_embed,
	.put_error = ollama_put_error,
};
const struct infer_api api_ollama_embeddings = {
	.name = "ollama_embeddings",
	.path = "/api/embeddings",
	.flags = API_WHOLE,
	.read = read_ollama_embeddings,
	.put = put_ollama_embedding,
	.put_error = ollama_put_error,
};
