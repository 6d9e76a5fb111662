/* reply/reads.c - check that the parser reads the call that a template renders */
#include <infer/reply.h>
#include "base/err.h"
#include "chat/chat.h"
#include "chat/dialect.h"

#include <string.h>

/* the tool in the conversations that chat/caps.c renders */
static const char tool[] = "[{\"function\":{\"name\":\"@T@\",\"parameters\":{\"type\":\"object\","
			   "\"properties\":{\"@A@\":{\"type\":\"string\"}}}}}]";

static int is_the_call(const infer_reply *r)
{
	struct infer_reply_parts p;
	struct infer_reply_call c;

	infer_reply_get(r, &p);
	if (p.n_calls != 1)
		return 0;
	infer_reply_call(r, 0, &c);
	return c.whole && memmem(c.arguments.at, c.arguments.len, "\"@V@\"", 5) != NULL;
}

/* Return the offset at which the rendered turn ends: before the result of its call. */
static size_t turn_end(const struct infer_chat *chat)
{
	const char *from = chat->turn.at + chat->turn_prompt,
		   *result = memmem(from, chat->turn.len - chat->turn_prompt, "@R@", 3);

	return result ? (size_t)(result - chat->turn.at) : chat->turn.len;
}

int infer_reply_reads(const infer_chat *chat, int *yes, infer_error *err)
{
	const size_t from = chat->turn_prompt;
	struct infer_reply_options o = { .prompt = from ? chat->turn.at : NULL, .prompt_n = from };
	infer_tools *tools;
	infer_reply *r;
	int rc;

	*yes = chat->calls->sign[0] != NULL;
	if (!chat->turn.len)
		return INFER_OK;
	TRY(infer_tools_read(&tools, tool, sizeof tool - 1, err));
	o.tools = tools;
	rc = infer_reply_new(&r, chat, &o, err);
	if (!rc) {
		rc = infer_reply_put(r, chat->turn.at + from, turn_end(chat) - from, err);
		if (!rc)
			rc = infer_reply_end(r, err);
		*yes = !rc && is_the_call(r);
		infer_reply_free(r);
	}
	infer_tools_free(tools);
	return rc;
}
