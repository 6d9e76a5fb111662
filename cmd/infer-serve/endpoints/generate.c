/* infer-serve/endpoints/generate.c - endpoints that generate: read the body in its API format and pass
 * the job to the thread that steps engines. */
#include "infer-serve/endpoints/table.h"
#include "infer-serve/http/request.h"
#include "infer-serve/ops/tenant.h"
#include "base/jwrite.h"

#include <string.h>

endpoint_fn ep_generate, ep_count;

infer_job *endpoint_job(struct http_request *r)
{
	struct server *s = r->api.server;
	struct infer_fault f = { .kind = INFER_FAULT_SERVER };
	infer_job *job;
	int rc = infer_job_read(&job, r->api.model->reader, r->api.format, tenant_salt(&r->api, 0),
	                        r->api.name, r->api.body.at ? r->api.body.at : "", r->api.body.len,
	                        &f.error);

	/* keep the body only if the access log needs it */
	if (!s->o->log_requests || !*s->o->log_requests) {
		buf_fini(&r->api.body);
		buf_init(&r->api.body, MEM_BASE);
	}
	if (!rc && !job->fault.kind)
		return job;
	if (!rc) {
		f = job->fault;
		/* a template ran out of its memory limit: the conversation is too long */
		if (f.error.code == INFER_ENOMEM)
			f.kind = INFER_FAULT_TOO_LONG;
	}
	api_fault(&r->api, &f);
	infer_job_free(job);
	return NULL;
}

void ep_generate(struct http_request *r)
{
	infer_job *job = endpoint_job(r);

	if (!job)
		return;
	if (job->slot > r->api.model->o.parallel) {
		api_refuse(&r->api, INFER_FAULT_INVALID, "id_slot", "id_slot is %d: from -1 to %d",
		           (int)job->slot - 1, (int)r->api.model->o.parallel - 1);
		infer_job_free(job);
		return;
	}
	r->api.gen.job = job;
}

void ep_count(struct http_request *r)
{
	infer_job *job = endpoint_job(r);
	struct jwrite w;

	if (!job)
		return;
	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	if (!strcmp(r->endpoint->format, "responses"))
		jw_str(&w, "object", "response.input_tokens");
	jw_uint(&w, "input_tokens", job->request.n_prompt);
	jw_end(&w);
	infer_job_free(job);
	http_answer(r, 200, http_json);
}
