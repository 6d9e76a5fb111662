/* chat/chat.h - inside of a chat template. */
#ifndef CHAT_CHAT_H
#define CHAT_CHAT_H
#include <infer/chat.h>
#include "base/buf.h"
#include "jinja/jinja.h"

struct infer_chat {
	struct jinja *template;
	struct buf source;
	struct infer_chat_caps caps;
	int empty_tools;             /* 1: without tools it needs an empty list, not null */
	int asks_time;               /* 1: its output may depend on the time */
	char sha256[65];             /* of its source */
	const struct dialect *calls; /* the format of answers (reply/reply.h) */
	const struct dialect_think *think;
	int thinks; /* 1: it has the tag that ends reasoning */
	/* a rendering that ends with a call of the tool "@T@" with the argument "@V@" and its result
	 * "@R@", or empty; its first bytes are the prompt for this call, if any */
	struct buf turn;
	size_t turn_prompt;
};

/* The variables of a rendering: three objects, of which later ones take precedence. */
/* given, think: may be NULL; spent: jinja/jinja.h */
struct chat_vars {
	const struct json *own, *given, *think;
	int64_t now;
	int probe, *spent;
};

/* Values that were read, in the place of the texts of a conversation; NULL: there are none. */
struct chat_values {
	const struct json *messages, *args;
};
/* chat.c: those of c, read where v has none; borrowed from a, c and v. */
int chat_values(struct chat_values *v, struct arena *a, const struct infer_conversation *c,
                infer_error *err);
/* chat.c: infer_chat_encode, with v for messages and args; *spent: whether INFER_ENOMEM means that
 * the conversation is longer than templates may write. */
int chat_encode_json(const infer_chat *chat, const infer_tokenizer *t,
                     const struct infer_conversation *c, const struct chat_values *v, int32_t **ids,
                     size_t *n_ids, int *spent, infer_error *err);
/* fit.c: the messages: j itself, or those of an object that has nothing else. */
const struct json *chat_messages(const struct json *j);
/* fit.c: INFER_EFORMAT, INFER_EUNSUP: not an array of messages; names the index of the first
 * invalid one. */
int chat_check(const struct json *messages, infer_error *err);
/* fit.c: INFER_EINVAL: a role of messages that passed chat_check is none of OpenAI's, and the source
 * of the template has no such word in quotes: a slip would become a role that no model knows. */
int chat_check_roles(const struct json *messages, const struct buf *source, infer_error *err);
/* fit.c: adapt messages that passed chat_check and may be modified to the capabilities of the
 * template.  late: NULL, or the number of system turns with no following user turn to take their
 * text: these are unchanged; with NULL they become user turns. */
int chat_fit(struct arena *a, struct json *messages, const struct infer_chat_caps *caps,
             size_t *late, infer_error *err);
/* last.c: if the last turn is the assistant's, mark the end of its text.  *last: the text, or
 * NULL. */
int chat_mark(struct arena *a, const struct json **last, struct json *messages, infer_error *err);
/* last.c: white space of ASCII */
int chat_space(char c);
/* last.c: cut a rendering at the mark.  from: the origin of each byte, or empty.
 * INFER_EUNSUP  the template wrote neither the text nor the mark, or only one of them */
int chat_cut(struct buf *text, struct buf *from, const struct json *last, infer_error *err);
/* chat.c: run the template with its variables. */
int chat_run(const struct infer_chat *c, const struct chat_vars *vars, struct buf *text,
             struct buf *plain, infer_error *err);
/* caps.c: find the capabilities of the template and its format of calls.  INFER_OK or
 * INFER_ENOMEM. */
int chat_probe(struct infer_chat *c, const char *source, size_t n, infer_error *err);
#endif
