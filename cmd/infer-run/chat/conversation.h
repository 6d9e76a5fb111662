/* infer-run/chat/conversation.h - a conversation: messages in OpenAI's form, and their file.
 * Confined. */
#ifndef INFER_RUN_CHAT_CONVERSATION_H
#define INFER_RUN_CHAT_CONVERSATION_H
#include <stddef.h>
#include <infer/chat.h>
#include "base/buf.h"

/* The library reads the messages once; a template takes them as they are. */
struct conversation {
	infer_turns *turns; /* NULL: none was made */
};

/* bytes of a file */
enum { CONVERSATION_LONGEST = 64 << 20 };

int conversation_init(struct conversation *c, infer_error *err);
void conversation_fini(struct conversation *c); /* a zeroed *c is fine */

/* Read JSON text, or a file of it; *out is the caller's to conversation_fini, zeroed on failure.
 * what           the name of the text in error messages
 * INFER_EFORMAT  not JSON, or not an array of objects with a role
 * INFER_EUNSUP   a content part that is not text
 * INFER_EIO INFER_ENOMEM */
int conversation_parse(struct conversation *out, const char *text, size_t n, const char *what,
                       infer_error *err);
int conversation_load(struct conversation *out, const char *path, infer_error *err);

/* One message per line.  The file appears under its name only when it is complete. */
int conversation_print(const struct conversation *c, struct buf *out, infer_error *err);
int conversation_save(const struct conversation *c, const char *path, infer_error *err);

size_t conversation_count(const struct conversation *c);
/* 1: message i exists and has this role. */
int conversation_is(const struct conversation *c, size_t i, const char *role);
/* Append its content to *out; parts of text are joined, other parts are omitted. */
int conversation_content(const struct conversation *c, size_t i, struct buf *out, infer_error *err);
/* The index of the last message with this role, or -1. */
long conversation_last(const struct conversation *c, const char *role);

/* Append a turn.  text: UTF-8.  reasoning: NULL, or kept with the text. */
int conversation_add(struct conversation *c, const char *role, const struct buf *text,
                     const struct buf *reasoning, infer_error *err);
/* Remove message i and all that follow. */
void conversation_cut(struct conversation *c, size_t i);
/* Set the system turn, which comes first; text NULL removes it. */
int conversation_system(struct conversation *c, const char *text, infer_error *err);

/* Remember the messages as they are now; conversation_undo puts them back. */
int conversation_keep(struct conversation *c, infer_error *err);
void conversation_undo(struct conversation *c);
#endif
