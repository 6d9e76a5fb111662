/* chat/chat.h - a compiled chat template, and rendering with it. */
#ifndef CHAT_CHAT_H
#define CHAT_CHAT_H
#include <infer/chat.h>
#include "base/arena.h"
#include "base/buf.h"
#include "jinja/jinja.h"

struct infer_chat {
	struct jinja *template;
	struct buf source;
	struct infer_chat_caps caps;
	int empty_tools;                   /* 1: an empty list of tools must be [], not null */
	int functions;                     /* 1: it needs the variables of functions.c */
	int asks_time;                     /* 1: the output may depend on the time */
	char sha256[65];                   /* of the source */
	const struct dialect *calls;       /* the format of tool calls in answers */
	const struct dialect_think *think; /* the format of reasoning */
	int thinks; /* 1: the template contains the tag that ends reasoning */
	/* a rendered turn, or empty: a call of the tool "@T@" with the argument "@V@", and its
	 * result "@R@"; turn_prompt: length of the prompt at its beginning, or 0 */
	struct buf turn;
	size_t turn_prompt;
};

/* The variables of a rendering: three objects; later ones take precedence.  given, think: may be
 * NULL.
 * spent: as in jinja/jinja.h */
struct chat_vars {
	const struct json *own, *given, *think;
	int64_t now;
	int probe, *spent;
};

/* Parsed JSON, used instead of the texts of a conversation; NULL: the texts are used. */
struct chat_values {
	const struct json *messages, *args;
};
/* chat.c: parse the texts of c that v does not have; *v borrows from a and c. */
int chat_values(struct chat_values *v, struct arena *a, const struct infer_conversation *c,
                infer_error *err);
/* chat.c: infer_chat_encode with parsed messages and args.  *spent: 1 if INFER_ENOMEM means that
 * the prompt is longer than a template may write. */
int chat_encode_json(const infer_chat *chat, const infer_tokenizer *t,
                     const struct infer_conversation *c, const struct chat_values *v, int32_t **ids,
                     size_t *n_ids, int *spent, infer_error *err);
/* fit.c: return j, or its member `messages` if it is an object with no other member. */
const struct json *chat_messages(const struct json *j);
/* fit.c: check an array of messages.  INFER_EFORMAT, INFER_EUNSUP: invalid; the error has the index
 * of the first invalid message. */
int chat_check(const struct json *messages, infer_error *err);
/* fit.c: check the roles of messages that passed chat_check.
 * INFER_EINVAL  a role is not one of OpenAI's and does not occur in quotes in the source of the
 *               template */
int chat_check_roles(const struct json *messages, const struct buf *source, infer_error *err);
/* fit.c: adapt messages that passed chat_check, in place, to the capabilities of the template.
 * late: gets the number of system turns without a following user turn, which stay unchanged; NULL:
 * these become user turns. */
int chat_fit(struct arena *a, struct json *messages, const struct infer_chat_caps *caps,
             size_t *late, infer_error *err);
/* last.c: append a mark to the text of the last turn, if this is the assistant's.  *last: the text
 * without the mark, or NULL. */
int chat_mark(struct arena *a, const struct json **last, struct json *messages, infer_error *err);
/* last.c: true if c is ASCII white space */
int chat_space(char c);
/* last.c: truncate a rendering at the mark.  from: the origin of each byte, or empty.
 * INFER_EUNSUP  the template wrote neither the text nor the mark, or only one of them */
int chat_cut(struct buf *text, struct buf *from, const struct json *last, infer_error *err);
/* chat.c: run the template with its variables. */
int chat_run(const struct infer_chat *c, const struct chat_vars *vars, struct buf *text,
             struct buf *plain, infer_error *err);
/* functions.c: set *out to an object with the variables `functions` and `datetime`, made from the
 * variable `tools` of own and from now.
 * o: options of the rendering.  INFER_EFORMAT  a limit of the template; INFER_ENOMEM */
int chat_functions(const struct json **out, struct arena *a, const struct json *own,
                   const struct jinja_options *o, infer_error *err);
/* caps.c: find the capabilities of the template and its format of calls.  INFER_OK or
 * INFER_ENOMEM. */
int chat_probe(struct infer_chat *c, const char *source, size_t n, infer_error *err);
#endif
