/* job/prompt.c - render the conversation of a job as text */
#include "job/job.h"
#include "base/err.h"

static void put_json_value(struct buf *to, const struct json *v)
{
	struct jwrite w;

	jw_init(&w, to);
	jw_value(&w, NULL, v);
}

int infer_job_render(char **text, size_t *n, const infer_job *job, infer_error *err)
{
	const struct job *j = (const struct job *)(const void *)job; /* job is its first member */
	struct infer_conversation c = j->conversation;
	struct buf messages, args;
	int rc;

	*text = NULL;
	*n = 0;
	if (!job->chat)
		return err_set(err, INFER_EINVAL, "the prompt is not a conversation");
	buf_init(&messages, MEM_JOB);
	buf_init(&args, MEM_JOB);
	if (j->messages) {
		put_json_value(&messages, j->messages);
		c.messages = messages.at;
		c.messages_n = messages.len;
	}
	if (j->args) {
		put_json_value(&args, j->args);
		c.args = args.at;
		c.args_n = args.len;
	}
	rc = messages.bad || args.bad
	             ? err_nomem(err)
	             : infer_chat_render(job->chat, infer_model_tokenizer(j->o->model), &c, text,
	                                 NULL, n, err);
	buf_fini(&messages);
	buf_fini(&args);
	return rc;
}
