/* infer-serve/ep_info.c - what the server says of itself: health, models, version, metrics. */
#include "infer-serve/serve.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

endpoint_fn ep_health, ep_models, ep_model, ep_version, ep_metrics;

void ep_health(struct exchange *x)
{
	struct server *s = x->server;
	struct jwrite w;
	int64_t busy;

	if (s->failed) {
		exchange_refuse(x, INFER_FAULT_SERVER, NULL, "the model's file was changed");
		return;
	}
	if (s->draining) {
		exchange_refuse(x, INFER_FAULT_UNAVAILABLE, NULL, "the server is shutting down");
		return;
	}
	pthread_mutex_lock(&s->lock);
	busy = s->samples < SERVE_SEQS ? s->samples : SERVE_SEQS;
	pthread_mutex_unlock(&s->lock);
	jw_init(&w, &x->out);
	jw_object(&w, NULL);
	jw_str(&w, "status", "ok");
	jw_int(&w, "slots_idle", SERVE_SEQS - busy);
	jw_int(&w, "slots_processing", busy);
	jw_end(&w);
	exchange_answer(x, 200, exchange_json);
}

/* The number that other servers give the kind of a vocabulary. */
static int vocab_type(const char *kind)
{
	static const char *const kinds[] = { "", "spm", "bpe", "wpm", "unigram" };

	for (int i = 1; i < (int)(sizeof kinds / sizeof *kinds); i++)
		if (!strcmp(kinds[i], kind))
			return i;
	return 0;
}

static void put_model(struct jwrite *w, const struct server *s)
{
	struct infer_model_info m;
	struct infer_engine_info e;

	infer_model_info(s->model, &m);
	infer_engine_info(s->engine, &e);
	jw_object(w, NULL);
	jw_str(w, "id", s->called);
	jw_str(w, "object", "model");
	jw_int(w, "created", s->started);
	jw_str(w, "owned_by", "inferutils");
	jw_int(w, "max_model_len", e.ctx);
	jw_object(w, "meta");
	jw_int(w, "vocab_type", vocab_type(infer_tokenizer_kind(infer_model_tokenizer(s->model))));
	jw_int(w, "n_vocab", m.n_vocab);
	jw_int(w, "n_ctx_train", m.ctx_train);
	jw_int(w, "n_embd", m.n_embd);
	jw_uint(w, "n_params", m.n_params);
	jw_uint(w, "size", m.weight_bytes);
	jw_end(w);
	jw_end(w);
}

void ep_models(struct exchange *x)
{
	struct jwrite w;

	jw_init(&w, &x->out);
	jw_object(&w, NULL);
	jw_str(&w, "object", "list");
	jw_array(&w, "data");
	put_model(&w, x->server);
	jw_end(&w);
	jw_end(&w);
	exchange_answer(x, 200, exchange_json);
}

void ep_model(struct exchange *x)
{
	struct jwrite w;

	if (strcmp(x->rest, x->server->called)) {
		exchange_refuse(x, INFER_FAULT_MODEL, "model", "there is no model '%.120s'",
		                x->rest);
		return;
	}
	jw_init(&w, &x->out);
	put_model(&w, x->server);
	exchange_answer(x, 200, exchange_json);
}

void ep_version(struct exchange *x)
{
	struct jwrite w;

	jw_init(&w, &x->out);
	jw_object(&w, NULL);
	jw_str(&w, "version", infer_version());
	jw_end(&w);
	exchange_answer(x, 200, exchange_json);
}

/* Bytes of the process in memory; 0: the system does not say. */
static uint64_t resident(void)
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

void ep_metrics(struct exchange *x)
{
	struct server *s = x->server;
	struct infer_engine_stats e;
	struct metrics_now now = { .model = s->called };

	infer_engine_stats(s->engine, &e);
	if (e.kv_pages) {
		now.kv_used = (double)(e.kv_pages_used - e.kv_pages_idle) / (double)e.kv_pages;
		now.kv_idle = (double)e.kv_pages_idle / (double)e.kv_pages;
	}
	now.steps = e.steps;
	now.preemptions = e.preemptions;
	now.resident_bytes = resident();
	now.started = s->started;
	pthread_mutex_lock(&s->lock);
	now.running = s->samples < SERVE_SEQS ? s->samples : SERVE_SEQS;
	now.waiting = s->samples - now.running + s->n_admitted - s->n_tasks;
	metrics_put(&x->out, &s->metrics, &now);
	pthread_mutex_unlock(&s->lock);
	exchange_answer(x, 200, "text/plain; version=0.0.4");
}
