/* infer/reply.h - parsing answers into content, reasoning and tool calls.   floor: reply
 *
 * The format of answers is recognised when the chat template is opened, from the turn that it
 * renders for a small call, or else from its source; never from the name of the model.  Parts only
 * grow as bytes arrive, so the new text of a part begins at its previous length.  The final parts
 * do not depend on how the bytes were divided.  Text that cannot be parsed as a call of a given
 * tool remains content.  White space around text that is not shown is removed with it.
 *
 *	infer_reply_new(&r, chat, &options, &err);
 *	while (... bytes ...)
 *		infer_reply_put(r, bytes, n, &err), infer_reply_get(r, &parts);
 *	infer_reply_end(r, &err), infer_reply_get(r, &parts); */
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

typedef struct infer_reply infer_reply; /* confined */

enum {
	/* leave the reasoning in the content, as it was written, after the part that the prompt
	 * contains */
	INFER_REPLY_INLINE = 1 << 0,
	/* a JSON value was requested: remove a ```json fence around it */
	INFER_REPLY_JSON = 1 << 1,
};
struct infer_reply_options {
	/* must outlive the reply; NULL: nothing is read as a call */
	const infer_tools *tools;
	/* with control tokens, because the prompt may open the reasoning; its last 64 bytes are
	 * enough */
	const char *prompt;
	size_t prompt_n;
	uint32_t flags;
};

/* chat: borrowed, must outlive *out.  o: NULL is all defaults; copied, but for the tools.
 * INFER_ENOMEM */
int infer_reply_new(infer_reply **out, const infer_chat *chat, const struct infer_reply_options *o,
                    infer_error *err);
void infer_reply_free(infer_reply *r);

/* Add bytes, in pieces of any size, including the text of control tokens.  Bytes that may begin a
 * tag are held back until that is decided.  Time and memory are linear in the number of bytes.
 * INFER_ENOMEM: only _free may follow. */
int infer_reply_put(infer_reply *r, const char *bytes, size_t n, infer_error *err);
/* End of input: bytes that were held back are added to their part.  A truncated call keeps the
 * arguments that arrived. */
int infer_reply_end(infer_reply *r, infer_error *err);

/* the rest of an answer with this many calls is content */
enum { INFER_REPLY_MAX_CALLS = 1024 };
struct infer_reply_parts {
	struct infer_str content, reasoning;
	size_t n_calls;
};
struct infer_reply_call {
	struct infer_str name; /* the name of a given tool */
	struct infer_str id;   /* as the model wrote it; empty if it wrote none so far */
	/* JSON text of an object, as far as it arrived, and ill-formed if the model wrote it so */
	struct infer_str arguments;
	int whole;   /* 1: complete */
	int settled; /* 1: the id is final */
};
/* Borrowed until the next call with r. */
void infer_reply_get(const infer_reply *r, struct infer_reply_parts *parts);
/* i < n_calls */
void infer_reply_call(const infer_reply *r, size_t i, struct infer_reply_call *call);

/* 1: some of the tags are control tokens of this vocabulary, so requests need
 * INFER_REQ_SPECIAL_TEXT.  O(vocabulary). */
int infer_reply_special(const infer_chat *chat, const infer_tokenizer *t);
/* Write the end of a prompt as text, for infer_reply_options; returns its length in bytes. */
enum { INFER_REPLY_TAIL = 256 };
size_t infer_reply_tail(const infer_tokenizer *t, const int32_t *ids, size_t n,
                        char text[INFER_REPLY_TAIL]);

/* The text that ends the reasoning which a prompt has opened (its end, as in
 * infer_reply_options), or behind which the answer proper begins; len 0: it begins at once.
 * Static. */
struct infer_str infer_reply_until(const infer_chat *chat, const char *prompt, size_t n);

/* What begins the reasoning that an answer may have, len 0: the prompt has begun it; returns what
 * ends it, len 0: there is none.  Static. */
struct infer_str infer_reply_reasoning(const infer_chat *chat, const char *prompt, size_t n,
                                       struct infer_str *open);

/* What an answer is with tools: text, with calls as the model writes them. */
enum infer_calls {
	INFER_CALLS_FREE,     /* as it comes */
	INFER_CALLS_NONE,     /* the model is not told about the tools */
	INFER_CALLS_AUTO,     /* text, until a call is opened; then calls, and the end */
	INFER_CALLS_REQUIRED, /* calls, behind reasoning */
	INFER_CALLS_NAMED,    /* one call, of the tool `name` */
};
struct infer_calls_options {
	const infer_tools *tools;
	const infer_tokenizer *tokenizer;
	int choice;         /* enum infer_calls, from INFER_CALLS_AUTO on */
	const char *name;   /* INFER_CALLS_NAMED */
	const char *prompt; /* as in infer_reply_options */
	size_t prompt_n;
	uint64_t budget; /* as in infer_grammar_source */
	int single;      /* at most one call */
};
/* The constraint for an answer whose calls are read back, each with arguments that satisfy the
 * parameters of its tool; their properties come in the order of the schema, and no others.
 * Reasoning is free.  infer_grammar_free.
 * INFER_EINVAL  there is no tool of that name
 * INFER_EEMPTY  cannot be enforced in the format of the model; the message names the tool, or says
 *               that calls are not read (infer_reply_reads), unless choice is INFER_CALLS_AUTO:
 *               then *out is NULL, and the answer is text
 * INFER_ENOMEM */
int infer_reply_constrain(infer_grammar **out, const infer_chat *chat,
                          const struct infer_calls_options *o, infer_error *err);

/* Find out whether calls in answers under this template are read: *yes is 1 if the call that the
 * template renders is read back, or, if it renders none, if it has the signs of a known format.
 * INFER_ENOMEM */
int infer_reply_reads(const infer_chat *chat, int *yes, infer_error *err);

/* The name of the format of calls, and the tag that opens reasoning, for display: "qwen3-coder",
 * "<think>". */
void infer_reply_format(const infer_chat *chat, const char **calls, const char **reasoning);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
