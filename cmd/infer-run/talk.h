/* infer-run/talk.h - a conversation: a list of messages in OpenAI's form, and its file.
 * Confined. */
#ifndef INFER_RUN_TALK_H
#define INFER_RUN_TALK_H
#include <stddef.h>
#include <infer/status.h>
#include "base/buf.h"
#include "base/json.h"

/* Objects, each with a role; what else they hold is kept. */
struct talk {
	struct arena mem;
	struct json **at;
	size_t n, cap;
};

/* bytes of a file */
enum { TALK_LONGEST = 64 << 20 };

void talk_init(struct talk *t);
void talk_fini(struct talk *t); /* a zeroed *t is fine */

/* The same messages; what becomes of one list does not touch the other. */
int talk_copy(struct talk *out, const struct talk *t, infer_error *err);

/* From JSON text, or a file of it; *out is the caller's to talk_fini, zeroed on failure.   what:
 * for messages INFER_EFORMAT  not JSON, not an array of objects with a role; INFER_EIO;
 * INFER_ENOMEM */
int talk_parse(struct talk *out, const char *text, size_t n, const char *what, infer_error *err);
int talk_load(struct talk *out, const char *path, infer_error *err);

/* One message a line.  The file gets its name when it is whole. */
int talk_print(const struct talk *t, struct buf *out, infer_error *err);
int talk_save(const struct talk *t, const char *path, infer_error *err);

/* Whether there is a message i, and it is of this role. */
int talk_is(const struct talk *t, size_t i, const char *role);
/* Its content into *out, parts of text joined; what is no text is left out. */
int talk_content(const struct talk *t, size_t i, struct buf *out, infer_error *err);
/* Where the last message of this role stands; -1: nowhere. */
long talk_last(const struct talk *t, const char *role);

/* Add a turn.  text: UTF-8.  reasoning: NULL, or kept beside it. */
int talk_add(struct talk *t, const char *role, const struct buf *text, const struct buf *reasoning,
             infer_error *err);
/* Forget message i and all behind it. */
void talk_cut(struct talk *t, size_t i);
/* Make this the system's turn, at the front; text NULL: there is none any more. */
int talk_system(struct talk *t, const char *text, infer_error *err);
#endif
