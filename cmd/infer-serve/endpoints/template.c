/* infer-serve/endpoints/template.c - POST /apply-template: the prompt from the chat template. GET /props:
 * the model and its defaults. */
#include <infer/param.h>
#include "infer-serve/endpoints/table.h"
#include "infer-serve/http/request.h"
#include "common/chat.h"
#include "base/jwrite.h"

#include <stdio.h>

endpoint_fn ep_apply_template, ep_props;

static void answer_prompt(struct http_request *r, const infer_job *job)
{
	struct jwrite w;
	infer_error err;
	char *text;
	size_t n;
	int rc = infer_job_render(&text, &n, job, &err);

	if (rc) {
		api_refuse(&r->api, infer_fault_kind(rc), "messages", "%s", err.message);
		return;
	}
	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_strn(&w, "prompt", text, n);
	jw_end(&w);
	infer_chat_free(text);
	http_answer(r, 200, http_json);
}

void ep_apply_template(struct http_request *r)
{
	infer_job *job = endpoint_job(r);

	if (!job)
		return;
	answer_prompt(r, job);
	infer_job_free(job);
}

/* ---- /props ---- */

static void put_special_token(struct jwrite *w, const char *key, const infer_tokenizer *t,
                              int which)
{
	int32_t id = infer_token_special(t, which);
	const char *bytes = "";
	size_t n = 0;

	if (id >= 0)
		(void)infer_token_bytes(t, id, INFER_DECODE_SPECIAL, &bytes, &n, NULL);
	jw_strn(w, key, n ? bytes : "", n);
}

/* Append a float with 7 digits: 0.8, not 0.800000012. */
static void put_short_number(struct jwrite *w, const char *key, double v)
{
	char text[32];
	int n = snprintf(text, sizeof text, "%.7g", v);

	jw_raw(w, key, text, (size_t)n);
}

static void put_settings(struct jwrite *w, const struct served *m)
{
	struct infer_sample_opts o = m->sampling.o;
	const struct infer_sample_param *p;
	struct infer_engine_info e;

	infer_engine_info(m->engine, &e);
	infer_sample_resolve(&o);
	jw_object(w, "default_generation_settings");
	jw_int(w, "n_ctx", e.ctx);
	jw_object(w, "params");
	for (int i = 0; (p = infer_sample_param(i)); i++)
		put_short_number(w, p->name, infer_sample_get(&o, p));
	jw_int(w, "max_tokens", m->o.max_tokens);
	if (m->o.sampling.seed.given)
		jw_uint(w, "seed", m->o.sampling.seed.value);
	else
		jw_int(w, "seed", -1);
	jw_end(w);
	jw_end(w);
}

static void put_caps(struct jwrite *w, const struct served *m)
{
	struct infer_chat_caps c = { 0 };

	if (m->chat.template)
		infer_chat_caps(m->chat.template, &c);
	jw_object(w, "chat_template_caps");
	jw_bool(w, "supports_system_role", c.system);
	jw_bool(w, "supports_tools", c.tools);
	jw_bool(w, "supports_tool_calls", c.calls);
	jw_bool(w, "supports_tool_responses", c.results);
	jw_bool(w, "supports_thinking", c.thinking);
	jw_end(w);
}

void ep_props(struct http_request *r)
{
	const struct served *m = r->api.model;
	const infer_tokenizer *t = infer_model_tokenizer(m->model);
	const infer_file *f = infer_model_file(m->model);
	struct buf source;
	struct jwrite w;

	buf_init(&source, MEM_BASE);
	if (m->chat.template)
		(void)chat_source(&source, &m->o.chat, f, t, NULL);
	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	put_settings(&w, m);
	jw_int(&w, "total_slots", m->o.parallel);
	jw_str(&w, "model_path", infer_file_path(f));
	jw_str(&w, "model_alias", m->name);
	jw_strn(&w, "chat_template", source.len ? source.at : "", source.len);
	put_caps(&w, m);
	put_special_token(&w, "bos_token", t, INFER_BOS);
	put_special_token(&w, "eos_token", t, INFER_EOS);
	jw_object(&w, "modalities");
	jw_bool(&w, "vision", 0);
	jw_bool(&w, "audio", 0);
	jw_end(&w);
	jw_str(&w, "build_info", "b" INFER_VERSION);
	jw_end(&w);
	r->out.bad |= source.bad;
	buf_fini(&source);
	http_answer(r, 200, http_json);
}
