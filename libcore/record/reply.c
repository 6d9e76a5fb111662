/* record/reply.c - the parts of an answer: reasoning and calls of tools, beside its content */
#include "record/record.h"
#include "base/rng.h"

#include <stdio.h>
#include <string.h>

/* The model's own id, else one made of the request's, so that the same request gives the same. */
static void put_id(struct jwrite *w, const struct infer_reply_call *call, const char *id,
                   int32_t index, size_t i)
{
	uint64_t of[2] = { (uint64_t)index, i };
	char made[32];

	snprintf(made, sizeof made, "call_%016llx",
	         (unsigned long long)rng_hash(rng_hash(0, id, strlen(id)), of, sizeof of));
	if (call->id.len)
		jw_strn(w, "id", call->id.at, call->id.len);
	else
		jw_str(w, "id", made);
}

/* As OpenAI has them, so that they can stand in the messages of the next request. */
static void put_calls(struct jwrite *w, const struct infer_completion *c, size_t n, const char *id,
                      int32_t index)
{
	jw_array(w, "tool_calls");
	for (size_t i = 0; i < n; i++) {
		struct infer_reply_call call;

		infer_reply_call(c->reply, i, &call);
		jw_object(w, NULL);
		put_id(w, &call, id ? id : "", index, i);
		jw_str(w, "type", "function");
		jw_object(w, "function");
		jw_strn(w, "name", call.name.at, call.name.len);
		jw_strn(w, "arguments", call.arguments.at, call.arguments.len);
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
}

static void put_parts(struct jwrite *w, const struct infer_completion *c, const char *reasoning,
                      const char *id, int32_t index)
{
	struct infer_reply_parts p;

	if (!c->reply)
		return;
	infer_reply_get(c->reply, &p);
	if (p.reasoning.len)
		jw_strn(w, reasoning, p.reasoning.at, p.reasoning.len);
	if (p.n_calls)
		put_calls(w, c, p.n_calls, id, index);
}

void record_reply(struct jwrite *w, const struct infer_completion *c, const char *id, int32_t index)
{
	put_parts(w, c, "reasoning", id, index);
}

void record_message(struct jwrite *w, const struct infer_completion *c, const char *id,
                    int32_t index)
{
	struct infer_reply_parts p = { .n_calls = 0 };

	if (c->reply)
		infer_reply_get(c->reply, &p);
	jw_object(w, "message");
	jw_str(w, "role", "assistant");
	if (!c->text_bytes && p.n_calls)
		jw_null(w, "content");
	else
		jw_strn(w, "content", c->text_bytes ? c->text : "", c->text_bytes);
	put_parts(w, c, "reasoning_content", id, index);
	jw_null(w, "refusal");
	jw_end(w);
}
