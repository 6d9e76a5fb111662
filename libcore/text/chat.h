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
};

/* chat_fit.c: messages, checked and made to fit what the template can do.  *out: json_decref is the caller's. */
int chat_fit(json_t **out, const json_t *messages, const struct infer_chat_caps *caps, infer_error *err);
/* chat.c: the template over a context. */
int chat_run(const struct infer_chat *c, const json_t *context, int64_t now, struct buf *text, struct buf *plain, infer_error *err);
/* chat_caps.c: try what the template can do.  INFER_OK or INFER_ENOMEM. */
int chat_probe(struct infer_chat *c, infer_error *err);
#endif
