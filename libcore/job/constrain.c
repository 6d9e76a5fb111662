/* job/constrain.c - compile the constraint of a job, after all fields are read */
#include "job/job.h"
#include "base/err.h"

/* Constrain the answer to calls of the tools, as tool_choice says, or to a text that satisfies the
 * constraint of the request. */
static int constrain_calls(struct job *j, const char **param, infer_error *err)
{
	struct infer_request *q = &j->j.request;
	const struct infer_calls_options o = {
		.tools = j->j.reply.tools,
		.tokenizer = infer_model_tokenizer(j->o->model),
		.choice = j->j.calls < INFER_CALLS_AUTO ? INFER_CALLS_AUTO : j->j.calls,
		.name = j->j.calls_name,
		.prompt = j->j.reply.prompt,
		.prompt_n = j->j.reply.prompt_n,
		.budget = j->constraint.budget,
		.single = j->single < 0 ? j->j.calls == INFER_CALLS_REQUIRED : j->single,
		.closed = q->reason_limit > 0,
		.answer = j->j.calls <= INFER_CALLS_AUTO ? q->grammar : NULL,
		.answer_source = j->j.constraint,
	};
	infer_grammar *calls;

	*param = "tool_choice";
	TRY(infer_reply_constrain(&calls, j->j.chat, &o, err));
	if (!calls) /* the form of calls is not known: the answer is text */
		return INFER_OK;
	infer_grammar_free(j->grammar);
	q->grammar = j->grammar = calls;
	if (o.answer)
		j->j.reply.flags |= INFER_REPLY_EITHER;
	else
		j->j.constraint = NULL;
	if (o.answer || o.choice > INFER_CALLS_AUTO)
		q->reason_close =
			infer_reply_reasoning(j->j.chat, o.prompt, o.prompt_n, &q->reason_open);
	return INFER_OK;
}

/* Let the constraint begin after reasoning. */
static void free_reasoning(struct job *j)
{
	struct infer_request *q = &j->j.request;
	const struct infer_reply_options *r = &j->j.reply;

	q->free_until = infer_reply_until(j->j.chat, r->prompt, r->prompt_n);
	if (q->free_until.len)
		q->reason_close =
			infer_reply_reasoning(j->j.chat, r->prompt, r->prompt_n, &q->reason_open);
}

/* Set the tags of the reasoning if its length is limited. */
static void limit_reasoning(struct job *j)
{
	struct infer_request *q = &j->j.request;
	const struct infer_reply_options *r = &j->j.reply;

	if (q->reason_limit && j->j.chat && !q->reason_close.len)
		q->reason_close =
			infer_reply_reasoning(j->j.chat, r->prompt, r->prompt_n, &q->reason_open);
}

/* Compile the constraint of the request, or use that of the options. */
static int constrain_text(struct job *j, const char **param, infer_error *err)
{
	struct infer_request *q = &j->j.request;

	*param = j->constraint_key;
	if (j->constraint_key) {
		TRY(infer_grammars_get(&j->grammar, j->reader->grammars, j->tenant, &j->constraint,
		                       NULL, err));
		q->grammar = j->grammar;
		j->j.constraint = &j->constraint;
	} else if (j->o->grammar && !j->is_free) {
		q->grammar = j->o->grammar;
		j->j.constraint = &j->o->constraint;
	}
	return INFER_OK;
}

int job_constrain_end(struct job *j, const char **param, infer_error *err)
{
	const infer_grammar *text;

	TRY(constrain_text(j, param, err));
	text = j->j.request.grammar;
	if (j->j.reply.tools && (text || j->j.calls >= INFER_CALLS_AUTO))
		TRY(constrain_calls(j, param, err));
	*param = "tool_choice";
	if (!j->j.reply.tools && j->j.calls >= INFER_CALLS_REQUIRED && j->choice_given)
		return err_set(err, INFER_EINVAL, "tool_choice: there are no tools");
	if (text && text == j->j.request.grammar && j->j.chat)
		free_reasoning(j);
	limit_reasoning(j);
	return INFER_OK;
}
