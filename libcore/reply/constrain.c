/* reply/constrain.c - the grammar of answers that call tools in the dialect of a template */
#include <infer/reply.h>
#include "base/err.h"
#include "base/jwrite.h"
#include "base/mem.h"
#include "chat/calls.h"
#include "chat/chat.h"
#include "chat/dialect.h"
#include "grammar/shared.h"

#include <string.h>

/* List the control tokens of a vocabulary, except those that end an answer; *out: mem_free. */
static int list_control_tokens(const infer_tokenizer *t, struct dfa_word **out, size_t *n,
                               infer_error *err)
{
	enum { CONTROL = 3, SHORTEST = 3 };
	const int32_t all = infer_tokenizer_count(t);
	struct infer_token_info info;

	*n = 0;
	*out = mem_alloc(MEM_REPLY, (size_t)all + 1, sizeof **out);
	if (!*out)
		return err_nomem(err);
	for (int32_t id = 0; id < all; id++)
		if (!infer_token_info(t, id, &info, NULL) && info.kind == CONTROL && !info.eog &&
		    info.piece.len >= SHORTEST)
			(*out)[(*n)++] = (struct dfa_word){ info.piece.at, info.piece.len };
	return INFER_OK;
}

static int find_tool(const infer_tools *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->at[i].name, name))
			return (int)i;
	return -1;
}

/* Write the text whose hash identifies the constraint in records. */
static int put_calls_source(struct buf *b, const infer_chat *chat,
                            const struct infer_calls_options *o, infer_error *err)
{
	struct jwrite w;

	jw_init(&w, b);
	jw_object(&w, NULL);
	jw_str(&w, "format", chat->calls->name);
	jw_int(&w, "choice", o->choice);
	jw_str(&w, "name", o->choice == INFER_CALLS_NAMED ? o->name : "");
	if (o->single)
		jw_bool(&w, "single", 1);
	if (o->closed)
		jw_bool(&w, "closed", 1);
	jw_value(&w, "tools", o->tools->list);
	if (o->answer)
		jw_str(&w, "answer", infer_grammar_sha256(o->answer));
	jw_end(&w);
	return b->bad ? err_nomem(err) : INFER_OK;
}

static int compile_calls(struct grammar **g, const infer_chat *chat,
                         const struct infer_calls_options *o, infer_error *err)
{
	const uint64_t steps = o->budget ? o->budget : INFER_GRAMMAR_BUDGET;
	struct budget left = { steps, steps < UINT64_MAX / 4 ? 4 * steps : UINT64_MAX };
	struct calls_ask ask = {
		.tools = o->tools,
		.required = o->choice != INFER_CALLS_AUTO,
		.only = -1,
		.single = o->single || o->choice == INFER_CALLS_NAMED,
		.closed = o->closed,
		.answer = o->answer ? o->answer_source : NULL,
		.prompt = o->prompt,
		.prompt_n = o->prompt_n,
	};
	struct dfa_word *words;
	int rc;

	*g = NULL;
	if (o->choice == INFER_CALLS_NAMED)
		ask.only = find_tool(o->tools, o->name);
	rc = list_control_tokens(o->tokenizer, &words, &ask.n_controls, err);
	if (rc)
		return rc;
	ask.controls = words;
	rc = calls_grammar(g, chat, &ask, &left, err);
	mem_free(words);
	if (rc == INFER_EINVAL || rc == INFER_EUNSUP) {
		rc = INFER_EEMPTY;
		if (err)
			err->code = rc;
	}
	return rc;
}

/* Copy the lists of what has no effect in `answer`. */
static int copy_lists(infer_grammar *g, const infer_grammar *answer, infer_error *err)
{
	if (answer && answer->ignored.len)
		buf_put(&g->ignored, answer->ignored.at, answer->ignored.len);
	if (answer && answer->annotations.len)
		buf_put(&g->annotations, answer->annotations.at, answer->annotations.len);
	return g->ignored.bad || g->annotations.bad ? err_nomem(err) : INFER_OK;
}

int infer_reply_constrain(infer_grammar **out, const infer_chat *chat,
                          const struct infer_calls_options *o, infer_error *err)
{
	struct grammar *g;
	struct buf text;
	int rc, reads;

	*out = NULL;
	if (o->choice == INFER_CALLS_NAMED && find_tool(o->tools, o->name) < 0)
		return err_set(err, INFER_EINVAL, "there is no tool %.100s", o->name);
	TRY(infer_reply_reads(chat, &reads, err));
	if (!reads && o->choice == INFER_CALLS_AUTO)
		return INFER_OK;
	if (!reads)
		return err_set(err, INFER_EEMPTY,
		               "tool_choice must be \"auto\" or \"none\": the chat template writes "
		               "calls in a form that is not known, so a call cannot be required");
	TRY(compile_calls(&g, chat, o, err));
	buf_init(&text, MEM_REPLY);
	rc = put_calls_source(&text, chat, o, err);
	if (!rc)
		rc = grammar_share(out, g, "tools", (struct infer_str){ text.at, text.len },
		                   o->budget, err);
	buf_fini(&text);
	if (rc) {
		ir_free(g);
		return rc;
	}
	rc = copy_lists(*out, o->answer, err);
	if (rc) {
		infer_grammar_free(*out);
		*out = NULL;
	}
	return rc;
}
