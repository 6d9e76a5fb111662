/* infer-run/chat/conversation.h - a conversation: a list of messages in OpenAI's form, and its
 * file.  Confined. */
#ifndef INFER_RUN_CHAT_CONVERSATION_H
#define INFER_RUN_CHAT_CONVERSATION_H
#include <stddef.h>
#include <infer/status.h>
#include "base/buf.h"
#include "base/json.h"

/* Objects, each with a role; other members are kept. */
struct conversation {
	struct arena mem;
	struct json **at;
	size_t n, cap;
};

/* bytes of a file */
enum { CONVERSATION_LONGEST = 64 << 20 };

void conversation_init(struct conversation *c);
void conversation_fini(struct conversation *c); /* a zeroed *c is fine */

/* Copy the messages; changes of one list do not affect the other. */
int conversation_copy(struct conversation *out, const struct conversation *c, infer_error *err);

/* Read JSON text, or a file of it; *out is the caller's to conversation_fini, zeroed on failure.
 * what           the name of the text in error messages
 * INFER_EFORMAT  not JSON, or not an array of objects with a role
 * INFER_EIO INFER_ENOMEM */
int conversation_parse(struct conversation *out, const char *text, size_t n, const char *what,
                       infer_error *err);
int conversation_load(struct conversation *out, const char *path, infer_error *err);

/* One message per line.  The file appears under its name only when it is complete. */
int conversation_print(const struct conversation *c, struct buf *out, infer_error *err);
int conversation_save(const struct conversation *c, const char *path, infer_error *err);

/* 1: message i exists and has this role. */
int conversation_is(const struct conversation *c, size_t i, const char *role);
/* Append its content to *out; parts of text are joined, other parts are omitted. */
int conversation_content(const struct conversation *c, size_t i, struct buf *out, infer_error *err);
/* The index of the last message with this role; -1: there is none. */
long conversation_last(const struct conversation *c, const char *role);

/* Append a turn.  text: UTF-8.  reasoning: NULL, or kept with the text. */
int conversation_add(struct conversation *c, const char *role, const struct buf *text,
                     const struct buf *reasoning, infer_error *err);
/* Remove message i and all that follow. */
void conversation_cut(struct conversation *c, size_t i);
/* Set the system turn, which comes first; text NULL removes it. */
int conversation_system(struct conversation *c, const char *text, infer_error *err);
#endif
