/* job/constrain.c - compile the constraint of a job, after all fields are read */
#include "job/job.h"
#include "base/err.h"

/* Constrain the answer to calls of the tools, as tool_choice says. */
static int constrain_calls(struct job *j, const char **param, infer_error *err)
{
	const struct infer_calls_options o = {
		.tools = j->j.reply.tools,
		.tokenizer = infer_model_tokenizer(j->o->model),
		.choice = j->j.calls,
		.name = j->j.calls_name,
		.prompt = j->j.reply.prompt,
		.prompt_n = j->j.reply.prompt_n,
		.budget = j->constraint.budget,
		.single = j->single < 0 ? j->j.calls == INFER_CALLS_REQUIRED : j->single,
	};

	*param = "tool_choice";
	if (!o.tools)
		return j->j.calls < INFER_CALLS_REQUIRED || !j->choice_given
		               ? INFER_OK
		               : err_set(err, INFER_EINVAL, "tool_choice: there are no tools");
	TRY(infer_reply_constrain(&j->grammar, j->j.chat, &o, err));
	j->j.request.grammar = j->grammar;
	if (o.choice > INFER_CALLS_AUTO)
		j->j.request.reason_close = infer_reply_reasoning(j->j.chat, o.prompt, o.prompt_n,
		                                                  &j->j.request.reason_open);
	return INFER_OK;
}

int job_constrain_end(struct job *j, const char **param, infer_error *err)
{
	struct infer_request *q = &j->j.request;
	int rc;

	*param = j->constraint_key;
	if (j->constraint_key) {
		rc = infer_grammars_get(&j->grammar, j->reader->grammars, j->tenant, &j->constraint,
		                        NULL, err);
		if (rc)
			return rc;
		q->grammar = j->grammar;
		j->j.constraint = &j->constraint;
	} else if (j->o->grammar && !j->is_free) {
		q->grammar = j->o->grammar;
		j->j.constraint = &j->o->constraint;
	}
	if (!q->grammar)
		return j->j.calls < INFER_CALLS_AUTO ? INFER_OK : constrain_calls(j, param, err);
	if (j->j.reply.tools)
		return err_set(err, INFER_EUNSUP, "%s together with tools is not supported%s",
		               *param ? *param : infer_grammar_kind(q->grammar),
		               j->o->where ? j->o->where : "");
	if (j->j.chat) {
		q->free_until =
			infer_reply_until(j->j.chat, j->j.reply.prompt, j->j.reply.prompt_n);
		if (q->free_until.len)
			q->reason_close = infer_reply_reasoning(
				j->j.chat, j->j.reply.prompt, j->j.reply.prompt_n, &q->reason_open);
	}
	return INFER_OK;
}
