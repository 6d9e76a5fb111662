/* infer/chat.h - conversations to prompts, by a model's chat template.   floor: chat
 *
 * The template is Jinja, run as transformers runs it, within budgets of time and memory.  What it
 * cannot take is made to fit: content parts joined, a developer turned to system, a system turn put
 * before the user's that follows, arguments of calls parsed; and templates that change lists while
 * they run, which transformers refuses, do so on copies.
 * Text that comes from the conversation never becomes a control token, nor a token of any kind that
 * ends generation. */
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

/* What a template was seen to do with small conversations: 1 or 0. */
struct infer_chat_caps {
	int system, developer; /* has that role */
	int parts;             /* takes content as a list of parts */
	int only_parts;        /* and not as a string */
	int tools;             /* writes the tools' names */
	int calls;             /* writes calls of earlier turns */
	int objects;           /* takes a call's arguments as an object; else as JSON text */
	int results;           /* has the role tool */
	int null_content;      /* takes content null beside calls */
	int thinking;          /* writes another prompt where thinking is on than where it is off */
};

/* n: bytes of Jinja source, copied.  name: for messages.
 * INFER_EFORMAT  not a template, with its line; INFER_EUNSUP  a tag that is refused, by name;
 * INFER_ENOMEM */
int infer_chat_open(infer_chat **out, const char *source, size_t n, const char *name,
                    infer_error *err);
void infer_chat_close(infer_chat **chat);
void infer_chat_caps(const infer_chat *chat, struct infer_chat_caps *caps);

/* A template that a model's file holds, borrowed from it; at NULL: it has none of that name.
 * name   NULL: its default one; files name others, as "tool_use" and "rag"
 * INFER_EFORMAT  a key of another type */
int infer_chat_source(const infer_file *f, const char *name, struct infer_str *source,
                      infer_error *err);

enum infer_think { INFER_THINK_DEFAULT, INFER_THINK_ON, INFER_THINK_OFF };
enum {
	INFER_CHAT_NO_PROMPT = 1 << 0, /* do not open the assistant's turn */
	/* where the assistant has the last turn, end inside it, behind its words */
	INFER_CHAT_CONTINUE = 1 << 1,
};

/* The tools that a model may call, read once.  Immutable: share freely. */
typedef struct infer_tools infer_tools;
/* json: an array [n], as OpenAI's; copied.
 * INFER_EFORMAT  not JSON, or an entry that is no function with a name; INFER_ENOMEM */
int infer_tools_read(infer_tools **out, const char *json, size_t n, infer_error *err);
void infer_tools_free(infer_tools *t);

/* `messages` and `args` are JSON texts, `system` and `user` UTF-8; all borrowed. */
struct infer_conversation {
	const char *system;
	size_t system_n; /* a system turn to put first, or NULL */
	const char *messages;
	size_t messages_n; /* array, as OpenAI's, or NULL */
	const char *user;
	size_t user_n;            /* a user's turn to put last, or NULL */
	const infer_tools *tools; /* or NULL */
	/* object with more variables for the template, or NULL */
	const char *args;
	size_t args_n;
	int think; /* enum infer_think */
	uint32_t flags;
	int64_t now; /* seconds since 1970 by the local clock, for templates that write a date */
};

/* Is all that is asked for in the template's power?  What it would pass over is refused:
 * INFER_EUNSUP   tools, or think, that it does not know */
int infer_chat_check(const infer_chat *chat, const struct infer_conversation *c, infer_error *err);

/* The prompt as text.
 * t      NULL, or whose BOS and EOS the template writes
 * text   out, *n bytes, a NUL behind them; infer_chat_free
 * plain  NULL, or out: *n bytes, 1 where the byte comes from the conversation; infer_chat_free
 * INFER_EINVAL   system or user is not UTF-8; a system turn where the messages begin with one
 * INFER_EFORMAT  JSON or a message that is not well formed, by its index; the template fails or
 * says no, or a budget is spent
 * INFER_EUNSUP   a content part that is not text, by its type
 * INFER_ENOMEM   memory failed, or the strings that the template makes, and the prompt, take more
 * than 64 MiB */
int infer_chat_render(const infer_chat *chat, const infer_tokenizer *t,
                      const struct infer_conversation *c, char **text, unsigned char **plain,
                      size_t *n, infer_error *err);
void infer_chat_free(void *p);

/* The prompt as ids: control tokens where the template writes them, never from what the
 * conversation says.  infer_ids_free.
 * As infer_chat_render, and as infer_encode. */
int infer_chat_encode(const infer_chat *chat, const infer_tokenizer *t,
                      const struct infer_conversation *c, int32_t **ids, size_t *n_ids,
                      infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
