/* infer/reply.h - parsing answers into content, reasoning and tool calls.   floor: reply
 *
 * The format of answers is recognised when the chat template is opened, from the turn that it
 * renders for a small call, or else from its source; never from the name of the model.  Parts
 * only grow as bytes are added, so the new text of a part begins at its previous length.  The
 * final parts do not depend on how the bytes were divided.  Text that cannot be parsed as a call
 * of a given tool remains content.  White space around removed text is removed with it.
 *
 * 	infer_reply_new(&r, chat, &options, &err);
 * 	while (... bytes ...)
 * 		infer_reply_put(r, bytes, n, &err), infer_reply_get(r, &parts);
 * 	infer_reply_end(r, &err), infer_reply_get(r, &parts); */
#ifndef INFER_REPLY_H
#define INFER_REPLY_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/chat.h>
#include <infer/grammar.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_reply infer_reply; /* Confined */

enum {
	/* keep the reasoning in the content as written, beginning with its part in the prompt */
	INFER_REPLY_INLINE = 1 << 0,
	/* a JSON value was requested: remove a ```json fence around it */
	INFER_REPLY_JSON = 1 << 1,
	/* after reasoning, the answer is calls or text, never both (infer_calls_options.answer):
	 * text that has begun contains no tags */
	INFER_REPLY_EITHER = 1 << 2,
};
struct infer_reply_options {
	/* must outlive the reply; NULL: nothing is read as a call */
	const infer_tools *tools;
	/* the end of the prompt, at least 64 bytes, with the text of control tokens
	 * (infer_reply_tail): it may open the reasoning.  Copied.  NULL: no prompt */
	const char *prompt;
	size_t prompt_n;
	uint32_t flags;
};

/* Begin to parse an answer.  chat: borrowed, must outlive *out.  o: copied; NULL: all defaults.
 * INFER_ENOMEM */
int infer_reply_new(infer_reply **out, const infer_chat *chat, const struct infer_reply_options *o,
                    infer_error *err);
void infer_reply_free(infer_reply *r);

/* Parse more bytes of the answer, in pieces of any size, including the text of control
 * tokens.  Bytes that may begin a tag are held back until that is decided.  Time and memory are
 * linear in the number of bytes.
 * INFER_ENOMEM  r can only be freed */
int infer_reply_put(infer_reply *r, const char *bytes, size_t n, infer_error *err);
/* End the answer: add the bytes that were held back to their part.  A truncated call keeps the
 * arguments that were added.  After a call, a truncated tag, and a call truncated before its
 * arguments, are removed.
 * INFER_ENOMEM  as infer_reply_put */
int infer_reply_end(infer_reply *r, infer_error *err);

/* after this many calls, the rest of the answer is content */
enum { INFER_REPLY_MAX_CALLS = 1024 };
struct infer_reply_parts {
	struct infer_str content, reasoning;
	size_t n_calls;
};
struct infer_reply_call {
	struct infer_str name; /* the name of a given tool */
	struct infer_str id;   /* as the model wrote it; empty if it wrote none so far */
	/* JSON text of an object, as far as it was added; ill-formed if the model wrote it so */
	struct infer_str arguments;
	int whole;   /* 1: the call is complete */
	int settled; /* 1: the id is final */
};
/* Set *parts to the parts so far.  Borrowed until the next call with r. */
void infer_reply_get(const infer_reply *r, struct infer_reply_parts *parts);
/* Set *call to call i < n_calls.  Borrowed likewise. */
void infer_reply_call(const infer_reply *r, size_t i, struct infer_reply_call *call);

/* Return 1 if some of the tags are control tokens of this vocabulary: requests then need
 * INFER_REQ_SPECIAL_TEXT.  O(vocabulary). */
int infer_reply_special(const infer_chat *chat, const infer_tokenizer *t);
/* Write the end of a prompt, ids i32 [n], as text for infer_reply_options.  Returns its length in
 * bytes. */
enum { INFER_REPLY_TAIL = 256 };
size_t infer_reply_tail(const infer_tokenizer *t, const int32_t *ids, size_t n,
                        char text[INFER_REPLY_TAIL]);

/* Return the text after which the final answer begins: the tag that ends reasoning opened by the
 * prompt, or the header of the last message; len 0: the answer begins at once.  prompt [n]: its
 * end, as in infer_reply_options.  Static. */
struct infer_str infer_reply_until(const infer_chat *chat, const char *prompt, size_t n);

/* Return the text that ends the reasoning of an answer, len 0: answers have none.  *open: the text
 * that begins it, len 0: the prompt has opened it.  Static. */
struct infer_str infer_reply_reasoning(const infer_chat *chat, const char *prompt, size_t n,
                                       struct infer_str *open);

/* The form of an answer when tools are given. */
enum infer_calls {
	INFER_CALLS_FREE,     /* not constrained */
	INFER_CALLS_NONE,     /* the tools are left out of the prompt */
	INFER_CALLS_AUTO,     /* text; once a call is opened, calls and the end */
	INFER_CALLS_REQUIRED, /* calls, after reasoning if there is any */
	INFER_CALLS_NAMED,    /* one call, of the tool `name` */
};
struct infer_calls_options {
	const infer_tools *tools;
	const infer_tokenizer *tokenizer;
	int choice;         /* enum infer_calls: AUTO, REQUIRED or NAMED */
	const char *name;   /* INFER_CALLS_NAMED */
	const char *prompt; /* as in infer_reply_options */
	size_t prompt_n;
	uint64_t budget; /* as in infer_grammar_source */
	int single;      /* at most one call */
	int closed;      /* calls follow only after reasoning is closed, not within it */
	/* AUTO: a constraint for the answer if it has no call, and its source; NULL: none */
	const infer_grammar *answer;
	const struct infer_grammar_source *answer_source;
};
/* Compile the constraint for an answer with calls.  The arguments of each call satisfy the schema
 * of its tool, with only the properties of the schema, in their order.  Reasoning is not
 * constrained.  With `answer`, the rest of the answer is calls, or a text that satisfies it: parse it
 * with INFER_REPLY_EITHER.
 * *out: infer_grammar_free; NULL with INFER_OK if the format is unknown (infer_reply_reads) and
 * choice is INFER_CALLS_AUTO: the answer is then text.
 * INFER_EINVAL  there is no tool of that name
 * INFER_EEMPTY  a schema cannot be enforced in the format of the model (the message names the
 *               tool), or the format is unknown and a call is required
 * INFER_ENOMEM */
int infer_reply_constrain(infer_grammar **out, const infer_chat *chat,
                          const struct infer_calls_options *o, infer_error *err);

/* Set *yes to 1 if calls in answers under this template can be parsed: the call that the template
 * renders is read back, or, if it renders none, its source has the signs of a known format.
 * INFER_ENOMEM */
int infer_reply_reads(const infer_chat *chat, int *yes, infer_error *err);

/* Set *calls to the name of the format of calls, and *reasoning to the tag that opens reasoning,
 * for display: "qwen3-coder", "<think>"; of an unknown format "any", "<think>".  Never NULL. */
void infer_reply_format(const infer_chat *chat, const char **calls, const char **reasoning);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
