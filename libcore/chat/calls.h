/* chat/calls.h - what an answer with tool calls may be: the form of the template's dialect, and in
 * it arguments that satisfy the parameters of each tool. */
#ifndef CHAT_CALLS_H
#define CHAT_CALLS_H
#include "chat/tools.h"
#include "grammar/grammar.h"

/* most calls of one answer */
enum { CALLS_MOST = 8 };
struct calls_ask {
	const struct infer_tools *tools;
	int required;       /* calls, nothing else; else text, until one is opened */
	int only;           /* the one tool that may be called, by its index; -1: any */
	int single;         /* one call */
	const char *prompt; /* its end, with the text of control tokens */
	size_t prompt_n;
	/* the control tokens of the vocabulary that do not end an answer */
	const struct dfa_word *controls;
	size_t n_controls;
};

/* Reasoning is free until it ends.  Numbers have at most 18 digits before the point and 12 behind
 * it, of which the last is no 0.  Properties come in the order of the schema; names of properties
 * that are not among them are left out.  Schemas are read with names that are no keywords, and
 * `format` is a remark, unless the tool says "strict": true.
 * INFER_EINVAL, INFER_EUNSUP  parameters that are no schema, or that cannot be enforced in the
 *                             dialect; the message names the tool.  The budget */
int calls_grammar(struct grammar **out, const infer_chat *chat, const struct calls_ask *ask,
                  struct budget *left, infer_error *err);
#endif
