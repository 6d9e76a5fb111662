/* infer-serve/endpoints/info.c - health, load, models, version and metrics of the server. */
#include "infer-serve/endpoints/table.h"
#include "infer-serve/http/request.h"
#include "infer-serve/ops/lora.h"
#include "infer-serve/ops/tenant.h"
#include "base/jwrite.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

endpoint_fn ep_health, ep_load, ep_models, ep_model, ep_version, ep_metrics;

void ep_health(struct http_request *r)
{
	struct server *s = r->api.server;
	struct jwrite w;
	int64_t busy = 0, all = 0;
	int failed = 0;

	pthread_mutex_lock(&s->lock);
	for (const struct served *m = s->models; m; m = m->next) {
		/* with --config, a model whose file was changed is reloaded when idle */
		failed |= m->failed && !s->o->config;
		busy += m->samples < m->o.parallel ? m->samples : m->o.parallel;
		all += m->state == SERVED_LOADED ? m->o.parallel : 0;
	}
	pthread_mutex_unlock(&s->lock);
	if (failed) {
		api_refuse(&r->api, INFER_FAULT_SERVER, NULL, "the model's file was changed");
		return;
	}
	if (s->draining) {
		api_refuse(&r->api, INFER_FAULT_UNAVAILABLE, NULL, "the server is shutting down");
		return;
	}
	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_str(&w, "status", "ok");
	jw_int(&w, "slots_idle", all > busy ? all - busy : 0);
	jw_int(&w, "slots_processing", busy);
	jw_end(&w);
	http_answer(r, 200, http_json);
}

/* Answer with the number of running and waiting requests, as vLLM does. */
void ep_load(struct http_request *r)
{
	struct server *s = r->api.server;
	struct jwrite w;
	int64_t n;

	pthread_mutex_lock(&s->lock);
	n = s->n_admitted;
	pthread_mutex_unlock(&s->lock);
	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_int(&w, "server_load", n);
	jw_end(&w);
	http_answer(r, 200, http_json);
}

/* Return llama.cpp's number for a kind of vocabulary. */
static int vocab_type(const char *kind)
{
	static const char *const kinds[] = { "", "spm", "bpe", "wpm", "unigram" };

	for (int i = 1; i < (int)(sizeof kinds / sizeof *kinds); i++)
		if (!strcmp(kinds[i], kind))
			return i;
	return 0;
}

static void put_meta(struct jwrite *w, const infer_model *model)
{
	struct infer_model_info m;

	infer_model_info(model, &m);
	jw_object(w, "meta");
	jw_int(w, "vocab_type", vocab_type(infer_tokenizer_kind(infer_model_tokenizer(model))));
	jw_int(w, "n_vocab", m.n_vocab);
	jw_int(w, "n_ctx_train", m.ctx_train);
	jw_int(w, "n_embd", m.n_embd);
	jw_uint(w, "n_params", m.n_params);
	jw_uint(w, "size", m.weight_bytes);
	jw_end(w);
}

/* Append the aliases and the state of m. Only called with --config. */
static void put_model_status(struct jwrite *w, const struct served *m)
{
	static const char *const words[] = { "unloaded", "loading", "loaded", "unloaded" };

	jw_array(w, "aliases");
	for (int i = 0; i < m->aliases.n; i++)
		jw_str(w, NULL, m->aliases.at[i]);
	jw_end(w);
	jw_object(w, "status");
	jw_str(w, "value", words[m->state]);
	jw_end(w);
}

/* Append the object of one model in /v1/models.  Caller holds the lock. */
static void put_model(struct jwrite *w, const struct server *s, const struct served *m)
{
	struct infer_engine_info e;

	jw_object(w, NULL);
	jw_str(w, "id", m->name);
	jw_str(w, "object", "model");
	jw_int(w, "created", s->started);
	jw_str(w, "owned_by", "inferutils");
	if (m->state == SERVED_LOADED) {
		infer_engine_info(m->engine, &e);
		jw_int(w, "max_model_len", e.ctx);
		put_meta(w, m->model);
	}
	if (s->o->config)
		put_model_status(w, m);
	jw_end(w);
}

/* The adapters of a model that are written. only: the name of one; NULL: all */
struct adapter_list {
	struct jwrite *w;
	const struct server *s;
	const struct served *m;
	const char *only;
	int written;
};

/* Append the object of an adapter, with the name of its model as in vLLM. */
static void put_adapter(void *user, const char *name, const char *path, const infer_lora *lora)
{
	struct adapter_list *l = user;
	struct infer_engine_info e;
	struct jwrite *w = l->w;

	if (l->only && strcmp(l->only, name) != 0)
		return;
	jw_object(w, NULL);
	jw_str(w, "id", name);
	jw_str(w, "object", "model");
	jw_int(w, "created", l->s->started);
	jw_str(w, "owned_by", "inferutils");
	jw_str(w, "root", path);
	jw_str(w, "parent", l->m->name);
	if (lora) {
		infer_engine_info(l->m->engine, &e);
		jw_int(w, "max_model_len", e.ctx);
	}
	jw_end(w);
	l->written++;
}

/* Append the adapters of m, or the one called `only` (NULL: all). Returns their number. Caller holds the
 * lock. */
static int put_adapters(struct jwrite *w, const struct server *s, const struct served *m,
                        const char *only)
{
	struct adapter_list l = { w, s, m, only, 0 };

	w->to->bad |= served_each_lora(m, put_adapter, &l) != INFER_OK;
	return l.written;
}

/* ---- models in Anthropic's form ---- */

/* adapter: the name of an adapter of m; NULL: m itself */
static void put_anthropic_model(struct jwrite *w, const struct server *s, const struct served *m,
                                const char *adapter)
{
	const time_t at = (time_t)s->started;
	struct infer_engine_info e;
	char text[40] = "";
	struct tm tm;

	if (!gmtime_r(&at, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
		*text = 0;
	jw_object(w, NULL);
	jw_str(w, "type", "model");
	jw_str(w, "id", adapter ? adapter : m->name);
	jw_str(w, "display_name", adapter ? adapter : m->called ? m->called : m->name);
	jw_str(w, "created_at", text);
	jw_str(w, "lifecycle", "active");
	if (m->state == SERVED_LOADED) {
		infer_engine_info(m->engine, &e);
		jw_int(w, "max_input_tokens", e.ctx);
		jw_int(w, "max_tokens", e.ctx);
	}
	jw_end(w);
}

/* A page of the models and their adapters: those with the numbers from ... to - 1. */
struct model_page {
	struct jwrite *w; /* NULL: they are only counted */
	const struct http_request *r;
	const struct served *m;
	int64_t i, from, to;
	char *first, *last; /* allocated */
};

static void put_page_entry(struct model_page *p, const char *adapter)
{
	const char *name = adapter ? adapter : p->m->name;
	const struct http_head *h = &p->r->head;

	if (!p->w) {
		p->from = h->after && !strcmp(name, h->after) ? p->i + 1 : p->from;
		p->to = h->before && !strcmp(name, h->before) ? p->i : p->to;
	} else if (p->i >= p->from && p->i < p->to) {
		put_anthropic_model(p->w, p->r->api.server, p->m, adapter);
		if (!p->first)
			p->first = mem_strndup(MEM_BASE, name, strlen(name));
		mem_free(p->last);
		p->last = mem_strndup(MEM_BASE, name, strlen(name));
		p->w->to->bad |= !p->first || !p->last;
	}
	p->i++;
}

static void put_page_adapter(void *user, const char *name, const char *path, const infer_lora *lora)
{
	(void)path;
	(void)lora;
	put_page_entry(user, name);
}

/* Visit the models and adapters in order. Returns their number. */
static int64_t visit_page(struct model_page *p, struct jwrite *w)
{
	int rc = INFER_OK;

	p->i = 0;
	p->w = w;
	for (p->m = p->r->api.server->models; p->m; p->m = p->m->next)
		if (!p->m->retired) {
			put_page_entry(p, NULL);
			rc = rc ? rc : served_each_lora(p->m, put_page_adapter, p);
		}
	if (w)
		w->to->bad |= rc != INFER_OK;
	return p->i;
}

/* Append a page of the models: after after_id, or before before_id. Caller holds the lock. */
static void put_anthropic_models(struct jwrite *w, const struct http_request *r)
{
	enum { MODELS_USUAL = 20 };
	const struct http_head *h = &r->head;
	const int64_t most = h->limit ? h->limit : MODELS_USUAL;
	struct model_page p = { .r = r, .to = INT64_MAX };
	const int64_t n = visit_page(&p, NULL);
	int has_more;

	p.to = p.to < n ? p.to : n;
	if (h->before && p.to - p.from > most)
		p.from = p.to - most;
	has_more = h->before ? p.from > 0 : p.from + most < p.to;
	p.to = p.to - p.from > most ? p.from + most : p.to;
	jw_array(w, "data");
	(void)visit_page(&p, w);
	jw_end(w);
	jw_bool(w, "has_more", has_more);
	jw_str(w, "first_id", p.first);
	jw_str(w, "last_id", p.last);
	mem_free(p.first);
	mem_free(p.last);
}

static void answer_anthropic_models(struct http_request *r)
{
	struct server *s = r->api.server;
	struct jwrite w;

	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	pthread_mutex_lock(&s->lock);
	put_anthropic_models(&w, r);
	pthread_mutex_unlock(&s->lock);
	jw_end(&w);
	http_answer(r, 200, http_json);
}

void ep_models(struct http_request *r)
{
	struct server *s = r->api.server;
	struct jwrite w;

	if (r->api.style == STYLE_ANTHROPIC) {
		answer_anthropic_models(r);
		return;
	}
	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_str(&w, "object", "list");
	jw_array(&w, "data");
	pthread_mutex_lock(&s->lock);
	for (const struct served *m = s->models; m; m = m->next)
		if (!m->retired) {
			put_model(&w, s, m);
			(void)put_adapters(&w, s, m, NULL);
		}
	pthread_mutex_unlock(&s->lock);
	jw_end(&w);
	jw_end(&w);
	http_answer(r, 200, http_json);
}

void ep_model(struct http_request *r)
{
	struct server *s = r->api.server;
	const struct served *m;
	struct jwrite w;

	jw_init(&w, &r->out);
	pthread_mutex_lock(&s->lock);
	m = served_by_name(s, r->rest, strlen(r->rest));
	if (m && r->api.style == STYLE_ANTHROPIC)
		put_anthropic_model(&w, s, m,
		                    served_is_called(m, r->rest, strlen(r->rest)) ? NULL : r->rest);
	else if (m && (served_is_called(m, r->rest, strlen(r->rest)) ||
	               !put_adapters(&w, s, m, r->rest)))
		put_model(&w, s, m);
	pthread_mutex_unlock(&s->lock);
	if (!m) {
		api_refuse(&r->api, INFER_FAULT_MODEL, "model", "there is no model '%.120s'",
		           r->rest);
		return;
	}
	http_answer(r, 200, http_json);
}

void ep_version(struct http_request *r)
{
	struct jwrite w;

	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_str(&w, "version", infer_version());
	jw_end(&w);
	http_answer(r, 200, http_json);
}

/* Return the resident bytes of the process; 0: unknown. */
static uint64_t read_resident_bytes(void)
{
	unsigned long long all = 0, there = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &all, &there) != 2)
		there = 0;
	fclose(f);
	return there * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Set *now to the present state of m.  Caller holds the lock. */
static void collect_metrics(struct metrics_now *now, const struct server *s, const struct served *m)
{
	struct infer_engine_stats e = { 0 };

	*now = (struct metrics_now){ .of = &m->metrics, .model = m->name };
	if (m->state == SERVED_LOADED)
		infer_engine_stats(m->engine, &e);
	if (e.kv_pages) {
		now->kv_used = (double)(e.kv_pages_used - e.kv_pages_idle) / (double)e.kv_pages;
		now->kv_idle = (double)e.kv_pages_idle / (double)e.kv_pages;
	}
	now->engines = m->engines;
	metrics_engine_add(&now->engines, &e);
	now->swap_bytes = e.swap_bytes;
	now->loaded = m->state == SERVED_LOADED;
	now->bytes = m->bytes;
	now->running = m->samples < m->o.parallel ? m->samples : m->o.parallel;
	now->waiting = m->samples - now->running + m->n_admitted - m->n_tasks;
	/* without --config, requests that no worker has read yet count as waiting for this model */
	if (!s->o->config)
		now->waiting = m->samples - now->running + s->n_admitted - m->n_tasks;
}

void ep_metrics(struct http_request *r)
{
	struct server *s = r->api.server;
	struct metrics_process p = { .resident_bytes = read_resident_bytes(),
		                     .started = s->started,
		                     .endpoint = endpoint_path };
	struct metrics_now *now;
	int n = 0, k = 0, all;

	pthread_mutex_lock(&s->lock);
	all = tenant_sees_all(&r->api);
	pthread_mutex_unlock(&s->lock);
	if (!all) {
		api_refuse(&r->api, INFER_FAULT_FORBIDDEN, NULL,
		           "/metrics counts the requests of all groups of keys: the key must "
		           "be an operator's");
		return;
	}
	pthread_mutex_lock(&s->lock);
	for (const struct served *m = s->models; m; m = m->next)
		n++;
	p.spans_dropped = s->spans_dropped;
	now = mem_alloc(MEM_BASE, (size_t)n + 1, sizeof *now);
	for (const struct served *m = s->models; now && m; m = m->next)
		if (!m->retired)
			collect_metrics(&now[k++], s, m);
	if (now) {
		now[k] = (struct metrics_now){ .of = &s->metrics, .model = "" };
		metrics_put(&r->out, now, k, &p);
	}
	pthread_mutex_unlock(&s->lock);
	r->out.bad |= !now;
	mem_free(now);
	http_answer(r, 200, "text/plain; version=0.0.4");
}
