/* text/chat.h - inside of a chat template. */
#ifndef TEXT_CHAT_H
#define TEXT_CHAT_H
#include <infer/chat.h>
#include "base/buf.h"
#include "text/jinja.h"

struct infer_chat {
	struct jinja *template;
	struct infer_chat_caps caps;
	int empty_tools;   /* where there are none it wants an empty list, not null */
	const struct reply_format *calls;   /* how answers are written (text/reply.h) */
	const struct reply_think *think;
};

/* chat_fit.c: INFER_EFORMAT, INFER_EUNSUP: no array of messages, by the index of the first that is none. */
int chat_check(const json_t *messages, infer_error *err);
/* chat_fit.c: messages that passed chat_check, made to fit what the template can do.  *out: json_decref is the caller's. */
int chat_fit(json_t **out, const json_t *messages, const struct infer_chat_caps *caps, infer_error *err);
/* chat_last.c: mark the end of the assistant's words where it has the last turn.  *last: what they are (json_decref), or NULL. */
int chat_mark(json_t **last, json_t *messages, infer_error *err);
/* chat_last.c: end a rendering where the mark stands.  from: bytes of where each is from, or empty.
 * INFER_EUNSUP  the template wrote neither, or not both */
int chat_cut(struct buf *text, struct buf *from, const json_t *last, infer_error *err);
/* chat.c: the template over a context. */
int chat_run(const struct infer_chat *c, const json_t *context, int64_t now, struct buf *text, struct buf *plain, infer_error *err);
/* chat_caps.c: try what the template can do, and how it writes calls.  INFER_OK or INFER_ENOMEM. */
int chat_probe(struct infer_chat *c, const char *source, size_t n, infer_error *err);
#endif
