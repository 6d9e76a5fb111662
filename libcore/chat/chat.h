/* chat/chat.h - inside of a chat template. */
#ifndef CHAT_CHAT_H
#define CHAT_CHAT_H
#include <infer/chat.h>
#include "base/buf.h"
#include "jinja/jinja.h"

struct infer_chat {
	struct jinja *template;
	struct infer_chat_caps caps;
	int empty_tools;             /* where there are none it wants an empty list, not null */
	const struct dialect *calls; /* how answers are written (reply/reply.h) */
	const struct dialect_think *think;
};

/* The variables of a rendering: three objects, of which the later ones go before the earlier. */
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
/* chat.c: infer_chat_encode, with v for messages and args; *spent: whether INFER_ENOMEM means that
 * the conversation is longer than templates may write. */
int chat_encode_json(const infer_chat *chat, const infer_tokenizer *t,
                     const struct infer_conversation *c, const struct chat_values *v, int32_t **ids,
                     size_t *n_ids, int *spent, infer_error *err);
/* fit.c: INFER_EFORMAT, INFER_EUNSUP: no array of messages, by the index of the first that is
 * none. */
int chat_check(const struct json *messages, infer_error *err);
/* fit.c: messages that passed chat_check, and are the caller's to change, made to fit what the
 * template can do. late   NULL, or how many system turns have no user's behind them to go into:
 * these stay as they are; else they become users'. */
int chat_fit(struct arena *a, struct json *messages, const struct infer_chat_caps *caps,
             size_t *late, infer_error *err);
/* last.c: mark the end of the assistant's words where it has the last turn.  *last: what they are,
 * or NULL. */
int chat_mark(struct arena *a, const struct json **last, struct json *messages, infer_error *err);
/* last.c: white space of ASCII */
int chat_space(char c);
/* last.c: end a rendering where the mark stands.  from: bytes of where each is from, or empty.
 * INFER_EUNSUP  the template wrote neither, or not both */
int chat_cut(struct buf *text, struct buf *from, const struct json *last, infer_error *err);
/* chat.c: the template over its variables. */
int chat_run(const struct infer_chat *c, const struct chat_vars *vars, struct buf *text,
             struct buf *plain, infer_error *err);
/* caps.c: try what the template can do, and how it writes calls.  INFER_OK or INFER_ENOMEM. */
int chat_probe(struct infer_chat *c, const char *source, size_t n, infer_error *err);
#endif
