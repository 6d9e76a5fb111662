/* infer/chat.h - render conversations as prompts with a chat template.   floor: chat
 *
 * Templates are Jinja, run as transformers runs them, with limits on time and memory.  A
 * conversation is adapted to what its template supports: content parts are joined, the role
 * developer becomes system, a system turn is prepended to the following user turn, and the
 * arguments of calls are parsed.  A template that modifies a list (an error in transformers)
 * modifies a copy.  Text of the conversation never becomes a control token or one that ends
 * generation. */
#ifndef INFER_CHAT_H
#define INFER_CHAT_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/file.h>
#include <infer/token.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_chat infer_chat; /* Immutable */

/* The capabilities of a template, found by rendering small conversations: 1 or 0. */
struct infer_chat_caps {
	int system, developer; /* supports that role */
	int parts;             /* accepts content as a list of parts */
	int only_parts;        /* does not accept content as a string */
	int tools;             /* renders the names of tools */
	int calls;             /* renders the calls of earlier turns */
	/* expects the arguments of a call as an object; otherwise as JSON text */
	int objects;
	int results;      /* supports the role tool */
	int null_content; /* accepts the content null in a message with calls */
	int thinking;     /* the prompt depends on whether thinking is on or off */
};

/* Compile a template.  source: Jinja [n], copied.  name: for messages, copied.
 * INFER_EFORMAT  not a template: the message names the line
 * INFER_EUNSUP   an unsupported tag, by name; INFER_ENOMEM */
int infer_chat_open(infer_chat **out, const char *source, size_t n, const char *name,
                    infer_error *err);
void infer_chat_close(infer_chat **chat);
void infer_chat_caps(const infer_chat *chat, struct infer_chat_caps *caps);

/* Set *source to a template in a model file, borrowed from f; at NULL: the file has none of that
 * name.
 * name   NULL: the default template; others have names such as "tool_use" and "rag"
 * INFER_EFORMAT  the key is not a string */
int infer_chat_source(const infer_file *f, const char *name, struct infer_str *source,
                      infer_error *err);

enum infer_think { INFER_THINK_DEFAULT, INFER_THINK_ON, INFER_THINK_OFF };
enum {
	INFER_CHAT_NO_PROMPT = 1 << 0, /* do not open the assistant's turn */
	/* if the last turn is the assistant's, end the prompt after its text, without closing it */
	INFER_CHAT_CONTINUE = 1 << 1,
};

/* The tools that a model may call, read once.  Immutable. */
typedef struct infer_tools infer_tools;
/* Read a list of tools.  json: an array in OpenAI's format, [n], copied.
 * INFER_EFORMAT  not JSON, or an entry is not a function with a name; INFER_ENOMEM */
int infer_tools_read(infer_tools **out, const char *json, size_t n, infer_error *err);
void infer_tools_free(infer_tools *t);

/* A conversation to which turns are appended: messages in OpenAI's format.  Confined. */
typedef struct infer_turns infer_turns;
int infer_turns_new(infer_turns **out, infer_error *err);
void infer_turns_free(infer_turns *t);
/* Replace all messages.  json: an array of messages [n], copied.  what: its name for error
 * messages. On failure t is unchanged.
 * INFER_EFORMAT INFER_EUNSUP INFER_ENOMEM  as infer_chat_render */
int infer_turns_read(infer_turns *t, const char *json, size_t n, const char *what,
                     infer_error *err);
size_t infer_turns_count(const infer_turns *t);
/* Return 1 if message i exists and has this role. */
int infer_turns_is(const infer_turns *t, size_t i, const char *role);
/* Return the index of the last message with this role, or -1. */
long infer_turns_last(const infer_turns *t, const char *role);
/* Set *text to the content of message i, with text parts joined: *n bytes and a NUL, empty if there
 * is no message i.  Free with infer_chat_free.  INFER_ENOMEM */
int infer_turns_text(const infer_turns *t, size_t i, char **text, size_t *n, infer_error *err);
/* Set *text to all messages as a JSON array, one message a line, as infer_turns_text. */
int infer_turns_print(const infer_turns *t, char **text, size_t *n, infer_error *err);
/* Append a turn.  role and texts are copied; they must be UTF-8, which is not checked.  reasoning:
 * NULL or empty: none.  INFER_ENOMEM */
int infer_turns_add(infer_turns *t, const char *role, const struct infer_str *text,
                    const struct infer_str *reasoning, infer_error *err);
/* Remove message i, if it exists, and all that follow. */
void infer_turns_cut(infer_turns *t, size_t i);
/* Set the system turn, which is the first; text: copied, NULL removes it.  INFER_ENOMEM */
int infer_turns_system(infer_turns *t, const char *text, infer_error *err);
/* Save the list of messages.  infer_turns_undo restores it once; if none is saved, it does nothing.
 * INFER_ENOMEM */
int infer_turns_keep(infer_turns *t, infer_error *err);
void infer_turns_undo(infer_turns *t);

/* The input of a rendering; borrowed.  `messages` and `args`: JSON; `system` and `user`: UTF-8. */
struct infer_conversation {
	const char *system;
	size_t system_n; /* a system turn to put first, or NULL */
	const char *messages;
	size_t messages_n;        /* an array in OpenAI's format, or NULL */
	const infer_turns *turns; /* instead of messages, or NULL */
	const char *user;
	size_t user_n;            /* a user's turn to put last, or NULL */
	const infer_tools *tools; /* or NULL */
	/* an object with additional variables for the template, or NULL */
	const char *args;
	size_t args_n;
	int think; /* enum infer_think */
	uint32_t flags;
	int64_t now; /* seconds since 1970 by the local clock, for templates that write a date */
};

/* Check that the template supports the tools and the thinking mode of c, so that neither is
 * ignored.
 * INFER_EUNSUP  the template does not support one of them */
int infer_chat_check(const infer_chat *chat, const struct infer_conversation *c, infer_error *err);

/* Render the prompt as text.
 * t      NULL, or the tokenizer whose BOS and EOS the template writes
 * text   out, *n bytes followed by a NUL; infer_chat_free
 * plain  NULL, or out: *n bytes, 1 for each byte copied from the conversation; infer_chat_free
 * INFER_EINVAL   system or user is not UTF-8; system is given, but the messages begin with a system
 *                turn
 * INFER_EFORMAT  ill-formed JSON, or an ill-formed message, by its index; the template raises an
 *                exception, or reaches a limit
 * INFER_EUNSUP   a content part that is not text, by its type
 * INFER_ENOMEM   allocation failed, or the strings of the template and the prompt exceed 64 MiB */
int infer_chat_render(const infer_chat *chat, const infer_tokenizer *t,
                      const struct infer_conversation *c, char **text, unsigned char **plain,
                      size_t *n, infer_error *err);
void infer_chat_free(void *p);

/* Render the prompt as ids, i32 [*n_ids]; infer_ids_free.  Only text of the template is parsed for
 * control tokens.  Fails as infer_chat_render and infer_encode do. */
int infer_chat_encode(const infer_chat *chat, const infer_tokenizer *t,
                      const struct infer_conversation *c, int32_t **ids, size_t *n_ids,
                      infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
