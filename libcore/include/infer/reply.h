/* infer/reply.h - what a model answered, read back: content, reasoning, calls.   floor: reply
 *
 * How an answer is written is recognised from the chat template, when it is opened: from the turn
 * it writes for a small call, else from its source; never from a model's name.  The parts only grow
 * while bytes come, so what is new of a part is what lies behind the length it had; in whatever
 * pieces the bytes come, the parts end the same.
 * What cannot be read as a call of a tool that was given stays content.  White space around what is
 * not shown goes with it.
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
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_reply infer_reply; /* confined */

enum {
	/* reasoning stays in the content, as it was written, behind what the prompt wrote of it */
	INFER_REPLY_INLINE = 1 << 0,
	/* a JSON value was asked for: a ```json fence around it goes */
	INFER_REPLY_JSON = 1 << 1,
};
struct infer_reply_options {
	/* must outlive the reply; NULL: nothing is read as a call */
	const infer_tools *tools;
	/* with control tokens; its last 64 bytes are enough: they may open the reasoning */
	const char *prompt;
	size_t prompt_n;
	uint32_t flags;
};

/* chat: borrowed, must outlive *out.  o: NULL is all defaults; copied, but for the tools.
 * INFER_ENOMEM */
int infer_reply_new(infer_reply **out, const infer_chat *chat, const struct infer_reply_options *o,
                    infer_error *err);
void infer_reply_free(infer_reply *r);

/* Any bytes, in any pieces, with the text of control tokens.  Bytes that may begin something else
 * are held back until that is decided.  Linear in the bytes; memory as much as the bytes, and a
 * little.  INFER_ENOMEM: only _free may follow. */
int infer_reply_put(infer_reply *r, const char *bytes, size_t n, infer_error *err);
/* No more will come: what was held back goes where it belongs.  A call that was cut off stays as
 * far as it came. */
int infer_reply_end(infer_reply *r, infer_error *err);

/* what follows so many is content */
enum { INFER_REPLY_MAX_CALLS = 1024 };
struct infer_reply_parts {
	struct infer_str content, reasoning;
	size_t n_calls;
};
struct infer_reply_call {
	struct infer_str name; /* one of the tools' */
	struct infer_str id;   /* as the model wrote it; empty where it did not, or not yet */
	/* JSON text, an object; as far as it came, and as broken as the model wrote it */
	struct infer_str arguments;
	int whole;   /* 1: its end was seen */
	int settled; /* 1: the id stays what it is */
};
/* Borrowed until the next call with r. */
void infer_reply_get(const infer_reply *r, struct infer_reply_parts *parts);
/* i < n_calls */
void infer_reply_call(const infer_reply *r, size_t i, struct infer_reply_call *call);

/* 1: some of the tags are control tokens of this vocabulary, so a request needs
 * INFER_REQ_SPECIAL_TEXT.  O(vocabulary). */
int infer_reply_special(const infer_chat *chat, const infer_tokenizer *t);
/* The end of a prompt as text, for infer_reply_options; its bytes. */
enum { INFER_REPLY_TAIL = 256 };
size_t infer_reply_tail(const infer_tokenizer *t, const int32_t *ids, size_t n,
                        char text[INFER_REPLY_TAIL]);

/* Names of how calls are written and of the tag that opens reasoning, for people: "qwen3-coder",
 * "<think>". */
void infer_reply_format(const infer_chat *chat, const char **calls, const char **reasoning);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
