/* infer-serve/endpoints/ollama.c - Ollama's API: requests that only load the model, lists of models, and
 * the version. The formats of its other requests are in libcore/api. */
#include <infer/param.h>
#include <infer/quant.h>
#include "infer-serve/endpoints/ollama.h"
#include "infer-serve/ops/lora.h"
#include "common/model.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

endpoint_fn ep_ollama_generate, ep_ollama_tags, ep_ollama_ps;

/* expires_at of a model that is never unloaded */
static const char never[] = "9999-12-31T23:59:59Z";

void ollama_time(struct jwrite *w, const char *key, int64_t seconds)
{
	time_t at = (time_t)seconds;
	char text[40];
	struct tm tm;

	if (!gmtime_r(&at, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
		jw_str(w, key, never);
	else
		jw_str(w, key, text);
}

/* ---- loading ---- */

static int is_empty(const struct json *v)
{
	return !v || json_is_null(v) || (json_is_string(v) && !v->n) || (json_is_array(v) && !v->n);
}

/* True if the body asks for no answer, only for the model to be loaded: it has no message or prompt. */
static int only_loads(const struct json *body, int is_chat)
{
	return json_is_object(body) && is_empty(json_get(body, is_chat ? "messages" : "prompt")) &&
	       is_empty(json_get(body, "suffix"));
}

static void answer_loaded(struct http_request *r, const struct json *body, int is_chat)
{
	const struct json *name = json_get(body, "model");
	struct jwrite w;

	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_strn(&w, "model", json_bytes(name) ? name->s : r->api.model->name,
	        json_bytes(name) ? name->n : strlen(r->api.model->name));
	ollama_time(&w, "created_at", (int64_t)time(NULL));
	if (is_chat) {
		jw_object(&w, "message");
		jw_str(&w, "role", "assistant");
		jw_str(&w, "content", "");
		jw_end(&w);
	} else {
		jw_str(&w, "response", "");
	}
	jw_bool(&w, "done", 1);
	jw_str(&w, "done_reason", "load");
	jw_end(&w);
	http_answer(r, 200, http_json);
}

void ep_ollama_generate(struct http_request *r)
{
	const int is_chat = !strcmp(r->endpoint->format, "ollama_chat");
	const struct buf *text = &r->api.body;
	const struct json *body, *keep;
	struct arena mem;

	arena_init(&mem, MEM_BASE);
	/* a body that is not JSON is refused when the request is read */
	if (jread(&body, &mem, text->at ? text->at : "", text->len, "request", NULL) ||
	    !only_loads(body, is_chat)) {
		arena_fini(&mem);
		ep_generate(r);
		return;
	}
	keep = json_get(body, "keep_alive");
	if (json_is_number(keep) && json_double(keep) == 0)
		api_refuse(&r->api, INFER_FAULT_OFF, "keep_alive",
		           "keep_alive is 0 without a prompt: a request cannot unload a model "
		           "here");
	else
		answer_loaded(r, body, is_chat);
	arena_fini(&mem);
}

/* ---- models ---- */

void ollama_name(struct jwrite *w, const char *key, const char *name)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	buf_puts(&text, name);
	if (!strchr(name, ':'))
		buf_puts(&text, ":latest");
	jw_strn(w, key, text.len ? text.at : "", text.len);
	w->to->bad |= text.bad;
	buf_fini(&text);
}

/* Write a number of parameters in Ollama's form: 8.0B, 137M, 260.00K is 260K. */
static void put_parameters(struct jwrite *w, uint64_t n)
{
	const double x = (double)n;
	char text[32];

	if (x >= 1e9)
		snprintf(text, sizeof text, "%.1fB", x / 1e9);
	else if (x >= 1e6)
		snprintf(text, sizeof text, n % 1000000 ? "%.2fM" : "%.0fM", x / 1e6);
	else if (x >= 1e3)
		snprintf(text, sizeof text, "%.0fK", x / 1e3);
	else
		snprintf(text, sizeof text, "%.0f", x);
	jw_str(w, "parameter_size", text);
}

/* Write the name of the file's general.file_type, in capitals; empty: it has none that is known. */
static void put_quantization(struct jwrite *w, const infer_file *f)
{
	const char *name = NULL;
	char text[32] = "";
	uint64_t type = 0;
	int found = 0, is;

	if (!infer_meta_u64(f, "general.file_type", &type, &found, NULL) && found)
		for (int i = 0; (name = infer_quant_name(i, &is)) && (uint64_t)is != type; i++)
			;
	for (size_t i = 0; name && name[i] && i + 1 < sizeof text; i++)
		text[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]);
	jw_str(w, "quantization_level", text);
}

void ollama_details(struct jwrite *w, const infer_model *model, const char *parent)
{
	struct infer_model_info m = { .arch = "" };
	struct infer_file_info f = { .format = "" };

	if (model) {
		infer_model_info(model, &m);
		infer_file_info(infer_model_file(model), &f);
	}
	jw_object(w, "details");
	if (parent)
		ollama_name(w, "parent_model", parent);
	else
		jw_str(w, "parent_model", "");
	jw_str(w, "format", f.format);
	jw_str(w, "family", m.arch);
	jw_array(w, "families");
	if (model)
		jw_str(w, NULL, m.arch);
	jw_end(w);
	put_parameters(w, m.n_params);
	if (model)
		put_quantization(w, infer_model_file(model));
	else
		jw_str(w, "quantization_level", "");
	jw_end(w);
}

int64_t ollama_modified(const struct server *s, const struct served *m)
{
	struct stat st;

	return m->o.model && !stat(m->o.model, &st) ? (int64_t)st.st_mtime : s->started;
}

static void put_digest(struct jwrite *w, const infer_model *model)
{
	char hex[65] = "";

	if (model)
		infer_file_id(infer_model_file(model), hex);
	jw_str(w, "digest", hex);
}

static uint64_t count_bytes(const infer_model *model)
{
	struct infer_file_info f = { .file_bytes = 0 };

	if (model)
		infer_file_info(infer_model_file(model), &f);
	return f.file_bytes;
}

/* A model of a list, not unloaded while its entry is written. */
struct listed {
	struct served *m;
	int is_loaded;
	int64_t unloads_s; /* seconds until it is unloaded; -1: never */
};

/* The adapters of a listed model. */
struct adapter_tags {
	struct jwrite *w;
	const struct server *s;
	const struct listed *l;
};

static void put_adapter_tag(void *user, const char *name, const char *path, const infer_lora *lora)
{
	const struct adapter_tags *a = user;
	struct infer_lora_info info = { .sha256 = "" };
	struct stat st;

	if (lora)
		infer_lora_info(lora, &info);
	jw_object(a->w, NULL);
	ollama_name(a->w, "name", name);
	ollama_name(a->w, "model", name);
	ollama_time(a->w, "modified_at", stat(path, &st) ? a->s->started : (int64_t)st.st_mtime);
	jw_uint(a->w, "size", info.bytes);
	jw_str(a->w, "digest", info.sha256);
	ollama_details(a->w, lora ? a->l->m->model : NULL, a->l->m->name);
	jw_end(a->w);
}

static void put_tag(struct jwrite *w, const struct server *s, const struct listed *l)
{
	const infer_model *model = l->is_loaded ? l->m->model : NULL;
	struct adapter_tags a = { w, s, l };

	jw_object(w, NULL);
	ollama_name(w, "name", l->m->name);
	ollama_name(w, "model", l->m->name);
	ollama_time(w, "modified_at", ollama_modified(s, l->m));
	jw_uint(w, "size", count_bytes(model));
	put_digest(w, model);
	ollama_details(w, model, NULL);
	jw_end(w);
	pthread_mutex_lock(&l->m->server->lock);
	w->to->bad |= served_each_lora(l->m, put_adapter_tag, &a) != INFER_OK;
	pthread_mutex_unlock(&l->m->server->lock);
}

static void put_process(struct jwrite *w, const struct server *s, const struct listed *l)
{
	struct infer_model_info info;
	struct infer_engine_info e;
	uint64_t bytes; /* without --config only those of the weights are known */

	(void)s;
	if (!l->is_loaded)
		return;
	infer_engine_info(l->m->engine, &e);
	infer_model_info(l->m->model, &info);
	bytes = l->m->bytes ? l->m->bytes : info.weight_bytes;
	jw_object(w, NULL);
	ollama_name(w, "name", l->m->name);
	ollama_name(w, "model", l->m->name);
	jw_uint(w, "size", bytes);
	put_digest(w, l->m->model);
	ollama_details(w, l->m->model, NULL);
	if (l->unloads_s < 0)
		jw_str(w, "expires_at", never);
	else
		ollama_time(w, "expires_at", (int64_t)time(NULL) + l->unloads_s);
	jw_uint(w, "size_vram", engine_has_gpu(l->m->engine) ? bytes : 0);
	jw_int(w, "context_length", e.ctx);
	jw_end(w);
}

/* Answer with the models. They are held without the lock, because the first digest reads the file. */
static void answer_models(struct http_request *r,
                          void (*put)(struct jwrite *w, const struct server *s,
                                      const struct listed *l))
{
	struct server *s = r->api.server;
	struct listed *all;
	struct jwrite w;
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	for (const struct served *m = s->models; m; m = m->next)
		n++;
	all = mem_zalloc(MEM_BASE, n + 1, sizeof *all);
	n = 0;
	for (struct served *m = s->models; all && m; m = m->next) {
		if (m->retired)
			continue;
		m->refs++;
		all[n++] = (struct listed){ m, m->state == SERVED_LOADED,
			                    s->o->config && m->unload_s ? m->unload_s : -1 };
	}
	pthread_mutex_unlock(&s->lock);
	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_array(&w, "models");
	for (size_t i = 0; i < n; i++)
		put(&w, s, &all[i]);
	jw_end(&w);
	jw_end(&w);
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n; i++)
		all[i].m->refs--;
	pthread_mutex_unlock(&s->lock);
	r->out.bad |= !all;
	mem_free(all);
	http_answer(r, 200, http_json);
}

void ep_ollama_tags(struct http_request *r) { answer_models(r, put_tag); }

void ep_ollama_ps(struct http_request *r) { answer_models(r, put_process); }
