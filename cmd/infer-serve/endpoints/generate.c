/* infer-serve/endpoints/generate.c - completions of text and of conversations: a wire form is read, and the
 * job handed to the engine (stepper.c), which answers. */
#include "infer-serve/serve.h"
#include "infer-serve/ops/tenant.h"
#include "base/jwrite.h"

#include <string.h>

endpoint_fn ep_generate, ep_count, ep_no_response;

infer_job *exchange_job(struct exchange *x)
{
	struct server *s = x->server;
	struct infer_fault f = { .kind = INFER_FAULT_SERVER };
	infer_job *job;
	int rc = infer_job_read(&job, x->model->reader, infer_api_named(x->endpoint->form),
	                        tenant_salt(x, 0), x->name, x->body.at ? x->body.at : "",
	                        x->body.len, &f.error);

	/* the log may want it */
	if (!s->o->log_requests || !*s->o->log_requests) {
		buf_fini(&x->body);
		buf_init(&x->body, MEM_BASE);
	}
	if (!rc && !job->fault.kind)
		return job;
	if (!rc) {
		f = job->fault;
		/* memory was not short: the conversation is longer than a template may write */
		if (f.error.code == INFER_ENOMEM)
			f.kind = INFER_FAULT_TOO_LONG;
	}
	exchange_fault(x, &f);
	infer_job_free(job);
	exchange_done(x);
	return NULL;
}

void ep_generate(struct exchange *x)
{
	infer_job *job = exchange_job(x);

	/* a refused body has been answered, and x may be gone */
	if (!job)
		return;
	if (job->slot > SERVE_SEQS) {
		exchange_refuse(x, INFER_FAULT_INVALID, "id_slot", "id_slot is %d: from -1 to %d",
		                (int)job->slot - 1, SERVE_SEQS - 1);
		infer_job_free(job);
		exchange_done(x);
		return;
	}
	x->job = job;
	stepper_put(x->server, x);
}

void ep_count(struct exchange *x)
{
	infer_job *job = exchange_job(x);
	struct jwrite w;

	if (!job)
		return;
	jw_init(&w, &x->out);
	jw_object(&w, NULL);
	if (!strcmp(x->endpoint->form, "responses"))
		jw_str(&w, "object", "response.input_tokens");
	jw_uint(&w, "input_tokens", job->request.n_prompt);
	jw_end(&w);
	infer_job_free(job);
	exchange_answer(x, 200, exchange_json);
	exchange_done(x);
}

/* Answers are not kept, so none can be asked for. */
void ep_no_response(struct exchange *x)
{
	exchange_refuse(x, INFER_FAULT_NOT_FOUND, "response_id", "there is no response %.80s",
	                x->rest);
}
