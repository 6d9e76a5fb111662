/* chat/calls.h - the grammar of answers with tool calls, in the dialect of a template. */
#ifndef CHAT_CALLS_H
#define CHAT_CALLS_H
#include "chat/tools.h"
#include <infer/grammar.h>
#include "grammar/grammar.h"

/* maximum number of calls in one answer */
enum { CALLS_MOST = 8 };
struct calls_ask {
	const struct infer_tools *tools;
	int required; /* 1: only calls; 0: text, which calls may follow */
	int only;     /* index of the only tool that may be called; -1: any */
	int single;   /* at most one call */
	int closed;   /* calls only after reasoning is closed, which the engine may do */
	/* the answer is calls, or one of these texts; NULL: text is not constrained */
	const struct infer_grammar_source *answer;
	const char *prompt; /* the end of the prompt, with the text of control tokens */
	size_t prompt_n;
	/* the control tokens of the vocabulary that do not end an answer */
	const struct dfa_word *controls;
	size_t n_controls;
};

/* Build the grammar.  Reasoning is not constrained.  The arguments of a call satisfy the schema of
 * its tool, with only its properties, in its order.  Numbers have at most 18 digits before the
 * point and 12 after it, without trailing zeros.  Unless the tool has "strict": true, unknown
 * keywords are ignored and `format` is not enforced.  *out: ir_free.
 * INFER_EINVAL, INFER_EUNSUP  the parameters of a tool are not a schema, or cannot be enforced in
 *                             the dialect; the message names the tool.  Also if the budget `left`
 *                             is exceeded */
int calls_grammar(struct grammar **out, const infer_chat *chat, const struct calls_ask *ask,
                  struct budget *left, infer_error *err);
#endif
