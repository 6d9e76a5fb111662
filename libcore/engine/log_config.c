/* engine/log_config.c - log the configuration of an open engine. */
#include "engine/device.h"
#include "engine/engine.h"

#include <stdio.h>

/* Report what a device computes and holds, and the experts that it leaves to the host. */
static void tell_part(const struct place_part *p, const struct infer_engine_opts *o)
{
	const struct backend_model *m = &p->model;
	uint64_t host = weights_host_bytes(m->weights, m->n_weights);
	char line[200];
	int n = snprintf(line, sizeof line,
	                 "%s: %d layers from %d, %.1f MiB of weights, %.1f of cache, %.1f of "
	                 "workspace",
	                 backend_name(&p->on), p->to - p->from, p->from,
	                 (double)p->weights / (1 << 20), (double)p->kv / (1 << 20),
	                 (double)p->workspace / (1 << 20));

	if (p->host_experts)
		snprintf(line + n, sizeof line - (size_t)n, "; %.1f of experts on the CPU",
		         (double)host / (1 << 20));
	o->log(o->log_user, INFER_LOG_INFO, line);
}

static int keeps_experts(const struct place_plan *p)
{
	int n = 0;

	for (int i = 0; i < p->n_parts; i++)
		n += p->parts[i].host_experts;
	return n > 0;
}

void engine_tell(const infer_engine *e, const struct infer_engine_opts *o)
{
	char line[160];

	if (!o->log)
		return;
	if (e->threads < e->threads_wanted) {
		snprintf(line, sizeof line, "only %d of %d threads: the system gives no more",
		         (int)e->threads, (int)e->threads_wanted);
		o->log(o->log_user, INFER_LOG_WARN, line);
	}
	if (!o->ctx && e->ctx < e->model->h.ctx_train) {
		snprintf(line, sizeof line,
		         "the context is %d of the model's %d tokens: no more fits into memory",
		         (int)e->ctx, (int)e->model->h.ctx_train);
		o->log(o->log_user, INFER_LOG_WARN, line);
	}
	snprintf(line, sizeof line,
	         "a cache of %.1f MiB for %d sequence%s of up to %d tokens, and %.1f MiB of "
	         "workspace",
	         (double)e->place.kv_bytes / (1 << 20), (int)e->max_seqs,
	         e->max_seqs == 1 ? "" : "s", (int)e->ctx, (double)e->workspace_bytes / (1 << 20));
	o->log(o->log_user, INFER_LOG_INFO, line);
	for (int i = 0; i < e->place.n_parts; i++) {
		if (e->place.n_parts == 1 && device_is_host(&e->place.parts[i].on))
			break;
		tell_part(&e->place.parts[i], o);
	}
	if (o->flags & INFER_ENGINE_CPU_EXPERTS && !keeps_experts(&e->place))
		o->log(o->log_user, INFER_LOG_WARN,
		       "no experts to keep on the CPU: no layer on a GPU has any");
}
