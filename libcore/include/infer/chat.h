/* infer/chat.h - rendering conversations as prompts with a chat template.   floor: chat
 *
 * Templates are Jinja, run as transformers runs them, with limits on time and memory.  A
 * conversation that a template does not support as it is is adapted: content parts are joined, the
 * role developer becomes system, a system turn is put in front of the following user turn, and the
 * arguments of calls are parsed.  A template that modifies lists while it runs, which transformers
 * refuses, works on copies.  Text from the conversation never becomes a control token, nor any
 * token that ends generation. */
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

typedef struct infer_chat infer_chat; /* immutable: share freely */

/* The capabilities of a template, found by rendering small conversations: 1 or 0. */
struct infer_chat_caps {
	int system, developer; /* has that role */
	int parts;             /* accepts content as a list of parts */
	int only_parts;        /* and not as a string */
	int tools;             /* renders the names of tools */
	int calls;             /* renders the calls of earlier turns */
	/* expects the arguments of a call as an object; otherwise as JSON text */
	int objects;
	int results;      /* has the role tool */
	int null_content; /* accepts the content null in a message with calls */
	int thinking;     /* the prompt depends on whether thinking is on or off */
};

/* n: bytes of Jinja source, copied.  name: for messages.
 * INFER_EFORMAT  not a template; names the line; INFER_EUNSUP an unsupported tag, by name;
 * INFER_ENOMEM */
int infer_chat_open(infer_chat **out, const char *source, size_t n, const char *name,
                    infer_error *err);
void infer_chat_close(infer_chat **chat);
void infer_chat_caps(const infer_chat *chat, struct infer_chat_caps *caps);

/* A template in a model file, borrowed from it; at is NULL if the file has none of that name.
 * name   NULL: the default template; files name others, such as "tool_use" and "rag"
 * INFER_EFORMAT  a key of another type */
int infer_chat_source(const infer_file *f, const char *name, struct infer_str *source,
                      infer_error *err);

enum infer_think { INFER_THINK_DEFAULT, INFER_THINK_ON, INFER_THINK_OFF };
enum {
	INFER_CHAT_NO_PROMPT = 1 << 0, /* do not open the assistant's turn */
	/* if the last turn is the assistant's, end inside it, after its words */
	INFER_CHAT_CONTINUE = 1 << 1,
};

/* The tools that a model may call, read once.  Immutable: share freely. */
typedef struct infer_tools infer_tools;
/* json: an array [n], as OpenAI's; copied.
 * INFER_EFORMAT  not JSON, or an entry that is no function with a name; INFER_ENOMEM */
int infer_tools_read(infer_tools **out, const char *json, size_t n, infer_error *err);
void infer_tools_free(infer_tools *t);

/* A conversation that is read once and grows: messages in OpenAI's form.  Confined. */
typedef struct infer_turns infer_turns;
int infer_turns_new(infer_turns **out, infer_error *err);
void infer_turns_free(infer_turns *t);
/* json: an array of messages [n], copied, that takes the place of those there are; on failure they
 * stay.  what: its name in messages
 * INFER_EFORMAT INFER_EUNSUP INFER_ENOMEM  as infer_chat_render */
int infer_turns_read(infer_turns *t, const char *json, size_t n, const char *what,
                     infer_error *err);
size_t infer_turns_count(const infer_turns *t);
/* 1: message i exists and has this role. */
int infer_turns_is(const infer_turns *t, size_t i, const char *role);
/* The index of the last message with this role; -1: there is none. */
long infer_turns_last(const infer_turns *t, const char *role);
/* Its content, parts of text joined: *n bytes, a NUL behind them; infer_chat_free. */
int infer_turns_text(const infer_turns *t, size_t i, char **text, size_t *n, infer_error *err);
/* All as JSON, a message a line, likewise. */
int infer_turns_print(const infer_turns *t, char **text, size_t *n, infer_error *err);
/* Append a turn: UTF-8, copied.  reasoning: NULL or empty: none */
int infer_turns_add(infer_turns *t, const char *role, const struct infer_str *text,
                    const struct infer_str *reasoning, infer_error *err);
/* Remove message i and all that follow. */
void infer_turns_cut(infer_turns *t, size_t i);
/* Set the system turn, which comes first; text NULL removes it. */
int infer_turns_system(infer_turns *t, const char *text, infer_error *err);
/* Remember the messages as they are now; undo puts back those that were remembered last. */
int infer_turns_keep(infer_turns *t, infer_error *err);
void infer_turns_undo(infer_turns *t);

/* `messages` and `args` are JSON texts, `system` and `user` UTF-8; all borrowed. */
struct infer_conversation {
	const char *system;
	size_t system_n; /* a system turn to put first, or NULL */
	const char *messages;
	size_t messages_n;        /* array, as OpenAI's, or NULL */
	const infer_turns *turns; /* in the place of messages, or NULL */
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

/* Check that the template supports everything that is asked for, so that nothing is ignored:
 * INFER_EUNSUP   tools or think, if it does not support them */
int infer_chat_check(const infer_chat *chat, const struct infer_conversation *c, infer_error *err);

/* The prompt as text.
 * t      NULL, or the tokenizer whose BOS and EOS the template writes
 * text   out, *n bytes followed by a NUL; infer_chat_free
 * plain  NULL, or out: *n bytes, 1 for each byte that comes from the conversation; infer_chat_free
 * INFER_EINVAL   system or user is not UTF-8; system is given although the messages begin with a
 *                system turn
 * INFER_EFORMAT  ill-formed JSON, or an ill-formed message, by its index; the template fails or
 *                raises an exception, or a limit is reached
 * INFER_EUNSUP   a content part that is not text, by its type
 * INFER_ENOMEM   allocation failed, or the strings of the template and the prompt exceed 64 MiB */
int infer_chat_render(const infer_chat *chat, const infer_tokenizer *t,
                      const struct infer_conversation *c, char **text, unsigned char **plain,
                      size_t *n, infer_error *err);
void infer_chat_free(void *p);

/* The prompt as ids: control tokens come only from the template, never from text of the
 * conversation.  infer_ids_free.  Fails as infer_chat_render and infer_encode do. */
int infer_chat_encode(const infer_chat *chat, const infer_tokenizer *t,
                      const struct infer_conversation *c, int32_t **ids, size_t *n_ids,
                      infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
