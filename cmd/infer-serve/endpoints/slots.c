/* infer-serve/endpoints/slots.c - GET /slots: the sequences being computed, without their texts. A
 * request of another group only shows as a busy slot. */
#include <infer/param.h>
#include "infer-serve/http/request.h"
#include "infer-serve/ops/tenant.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>

endpoint_fn ep_slots;

/* The data shown of a slot. */
struct slot_view {
	int busy, hidden; /* hidden 1: the request belongs to another group */
	char task[24];
	int64_t prompt;
	int32_t index, decoded, most;
	struct infer_sample_opts sample;
};

/* Copy a slot for the caller r. all: 1 if the caller may see every group. */
static void copy_slot(struct slot_view *to, const struct slot *l, const struct http_request *r,
                      int all)
{
	const infer_job *j = l->of && l->of->gen.task ? infer_task_job(l->of->gen.task) : NULL;

	*to = (struct slot_view){ .busy = j != NULL };
	to->hidden = j && !all && strcmp(l->of->caller.group, r->api.caller.group) != 0;
	if (!j || to->hidden)
		return;
	snprintf(to->task, sizeof to->task, "%s", l->of->name);
	to->index = l->index;
	to->decoded = l->decoded;
	to->most = j->request.max_tokens;
	to->sample = j->request.sample;
	to->prompt = (int64_t)infer_job_prompt(j, l->index).n;
}

static void put_params(struct jwrite *w, const struct slot_view *l)
{
	const struct infer_sample_param *p;
	struct infer_sample_opts o = l->sample;
	char text[32];

	infer_sample_resolve(&o);
	jw_object(w, "params");
	for (int i = 0; (p = infer_sample_param(i)); i++) {
		int n = snprintf(text, sizeof text, "%.7g", infer_sample_get(&o, p));

		jw_raw(w, p->name, text, (size_t)n);
	}
	jw_int(w, "max_tokens", l->most);
	jw_end(w);
}

/* Append a slot as JSON. model: its name; NULL without --config */
static void put_slot(struct jwrite *w, int id, const char *model, int32_t ctx,
                     const struct slot_view *l)
{
	jw_object(w, NULL);
	jw_int(w, "id", id);
	if (model)
		jw_str(w, "model", model);
	if (l->busy && !l->hidden)
		jw_str(w, "id_task", l->task);
	else
		jw_null(w, "id_task");
	jw_int(w, "n_ctx", ctx);
	jw_bool(w, "speculative", 0);
	jw_bool(w, "is_processing", l->busy);
	if (l->busy && !l->hidden) {
		put_params(w, l);
		jw_int(w, "index", l->index);
		jw_int(w, "n_prompt_tokens", l->prompt);
		jw_object(w, "next_token");
		jw_bool(w, "has_next_token", 1);
		jw_int(w, "n_remain", l->most < 0 ? -1 : l->most - l->decoded);
		jw_int(w, "n_decoded", l->decoded);
		jw_end(w);
	}
	jw_end(w);
}

/* Append the slots of all models.  Returns the number of idle ones. */
static int put_slots(struct jwrite *w, const struct http_request *r)
{
	struct server *s = r->api.server;
	const int all = tenant_sees_all(&r->api);
	struct infer_engine_info e;
	struct slot_view view;
	int n = 0, busy = 0;

	pthread_mutex_lock(&s->lock);
	for (const struct served *m = s->models; m; m = m->next) {
		if (m->state != SERVED_LOADED)
			continue;
		infer_engine_info(m->engine, &e);
		for (int64_t i = 0; i < m->o.parallel; i++) {
			copy_slot(&view, &m->slots[i], r, all);
			busy += view.busy;
			put_slot(w, n++, s->o->config ? m->name : NULL, e.ctx, &view);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return n - busy;
}

void ep_slots(struct http_request *r)
{
	struct server *s = r->api.server;
	struct jwrite w;
	int idle;

	if (s->o->no_slots) {
		api_refuse(&r->api, INFER_FAULT_OFF, NULL, "this server runs with --no-slots");
		return;
	}
	jw_init(&w, &r->out);
	jw_array(&w, NULL);
	idle = put_slots(&w, r);
	jw_end(&w);
	if (r->head.demands_slot && !idle)
		api_refuse(&r->api, INFER_FAULT_UNAVAILABLE, NULL, "no slot is idle");
	else
		http_answer(r, 200, http_json);
}
