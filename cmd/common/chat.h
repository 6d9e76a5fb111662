/* common/chat.h - options for a conversation and the template that makes a prompt of it, spelled
 * alike in all programs. */
#ifndef COMMON_CHAT_H
#define COMMON_CHAT_H
#include <infer/chat.h>
#include <infer/file.h>
#include "base/buf.h"
#include "common/opt.h"

struct chat_args {
	const char *system, *messages, *tools, *template, *args;
	int think;
};
#define CHAT_ARGS \
	{ \
		.think = -1 \
	}
/* Rows for the table of a program; take the type of its options and the member that receives the
 * values.  TEMPLATE_ROWS: only those of the template, for conversations that come later. */
/* clang-format off */
#define CHAT_ROWS(T, m) \
	{ OPT_STR, 0, "system", "TEXT", "a system turn before the others", offsetof(T, m.system), \
	  .marks = OPT_COMMON | OPT_SERVER }, \
	{ OPT_STR, 0, "messages", "FILE", \
	  "a conversation, JSON as OpenAI's messages; - is standard input", \
	  offsetof(T, m.messages), .marks = OPT_SERVER, .values = "@file" }, \
	{ OPT_STR, 0, "tools", "FILE", "tools that the model may call, JSON as OpenAI's tools", \
	  offsetof(T, m.tools), .marks = OPT_SERVER, .values = "@file" }, \
	TEMPLATE_ROWS(T, m)
#define TEMPLATE_ROWS(T, m) \
	{ OPT_STR, 0, "template", "NAME|FILE", \
	  "chat template: one the model's file names, or a Jinja file", \
	  offsetof(T, m.template), .values = "@file" }, \
	{ OPT_STR, 0, "template-args", "JSON", "an object with more variables for the template", \
	  offsetof(T, m.args), .marks = OPT_SERVER }, \
	{ OPT_PICK, 0, "think", "on|off", \
	  "whether the model thinks before it answers (the template's default)", \
	  offsetof(T, m.think), .marks = OPT_SERVER }
/* clang-format on */

int chat_given(const struct chat_args *a); /* one of them is */

/* Seconds since 1970 by the local clock, as templates see them. */
int64_t chat_local_now(void);

/* The result of the options. */
struct chat {
	infer_chat *template;   /* NULL: neither the options nor the model file have one */
	infer_chat *with_tools; /* for requests with tools; NULL: the same */
	/* all but the user's turn, which is added here; borrows from the members below and from the
	 * options */
	struct infer_conversation c;
	struct buf messages;
	infer_tools *tools;
	int from_stdin; /* standard input was read */
};

/* The template, and the files read.  On failure too *out is the caller's to chat_fini.
 * file: the model's, which must stay open
 * INFER_EINVAL   --template-args is no object; messages and tools both from standard input
 * INFER_EFORMAT  a damaged template, by key or file
 * INFER_EUNSUP   an option is given, and there is no template, or it does not know what is asked
 * INFER_EIO INFER_ENOMEM */
int chat_take(struct chat *out, const struct chat_args *a, const infer_file *file,
              infer_error *err);
void chat_fini(struct chat *c);
/* Append the source of the template that a run would use to out; the template may be invalid.
 * INFER_EUNSUP  there is none */
int chat_source(struct buf *out, const struct chat_args *a, const infer_file *file,
                infer_error *err);
/* Where a message of the library is about the conversation, put the name of its file before it.
 * rc: returned.  messages: of --messages, or NULL */
int chat_named(const char *messages, int rc, infer_error *err);
/* Warn if the template for requests with tools writes calls in a form that is not known, so that
 * calls in answers are text.  name: of the model, or NULL */
int chat_warn_calls(const struct chat *c, const char *name, infer_error *err);
/* The template for a request with tools or without. */
const infer_chat *chat_for(const struct chat *c, int tools);
#endif
