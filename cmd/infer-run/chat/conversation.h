/* infer-run/chat/conversation.h - a conversation: a list of messages in OpenAI's format, and its file.
 * Confined to one thread. */
#ifndef INFER_RUN_CHAT_CONVERSATION_H
#define INFER_RUN_CHAT_CONVERSATION_H
#include <stddef.h>
#include <infer/chat.h>
#include "base/buf.h"

struct conversation {
	infer_turns *turns; /* NULL before conversation_init */
};

enum { CONVERSATION_LONGEST = 64 << 20 }; /* most bytes of a file */

int conversation_init(struct conversation *c, infer_error *err);
void conversation_fini(struct conversation *c); /* a zeroed *c is fine */

/* Read a conversation from JSON text, or from a file. The caller calls conversation_fini; *out is zeroed on
 * failure.
 * what           name of the text, for messages
 * INFER_EFORMAT  not JSON, or not an array of objects with a role
 * INFER_EUNSUP   a content part that is not text
 * INFER_EIO INFER_ENOMEM */
int conversation_parse(struct conversation *out, const char *text, size_t n, const char *what,
                       infer_error *err);
int conversation_load(struct conversation *out, const char *path, infer_error *err);

/* Append the conversation as JSON, one message per line; or replace a file with it, atomically.
 * INFER_EIO INFER_ENOMEM */
int conversation_print(const struct conversation *c, struct buf *out, infer_error *err);
int conversation_save(const struct conversation *c, const char *path, infer_error *err);

size_t conversation_count(const struct conversation *c);
/* True if message i exists and has this role. */
int conversation_is(const struct conversation *c, size_t i, const char *role);
/* Append the content of message i: its text parts joined, other parts omitted. INFER_ENOMEM */
int conversation_content(const struct conversation *c, size_t i, struct buf *out, infer_error *err);
/* Return the index of the last message with this role, or -1. */
long conversation_last(const struct conversation *c, const char *role);

/* Append a turn. text: UTF-8. reasoning: stored with the text; NULL if there is none. INFER_ENOMEM */
int conversation_add(struct conversation *c, const char *role, const struct buf *text,
                     const struct buf *reasoning, infer_error *err);
/* Remove message i and all that follow. */
void conversation_cut(struct conversation *c, size_t i);
/* Set the system turn, the first message; text NULL removes it. INFER_ENOMEM */
int conversation_system(struct conversation *c, const char *text, infer_error *err);

/* Save the state of the messages; conversation_undo restores it. INFER_ENOMEM */
int conversation_keep(struct conversation *c, infer_error *err);
void conversation_undo(struct conversation *c);
#endif
