/* common/chat.h - options for a conversation and its chat template, the same in all programs. */
#ifndef COMMON_CHAT_H
#define COMMON_CHAT_H
#include <infer/chat.h>
#include <infer/file.h>
#include "base/buf.h"
#include "common/opt.h"

struct chat_args {
	const char *system, *messages, *tools, *template, *args; /* NULL: not given */
	int think;                                               /* -1: not given; 0: on; 1: off */
	int64_t think_budget;                                    /* -1: not given */
};
#define CHAT_ARGS \
	{ \
		.think = -1, .think_budget = -1 \
	}
/* Rows for the table of a program. T: the type of its options, m: its member of type struct chat_args.
 * system_marks: more marks of --system. TEMPLATE_ROWS: only the rows of the template, for programs that receive
 * conversations in requests. */
/* clang-format off */
#define CHAT_ROWS(T, system_marks, m) \
	{ OPT_STR, 0, "system", "TEXT", "a system turn before the others", offsetof(T, m.system), \
	  .marks = (system_marks) | OPT_SERVER }, \
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
/* Only for programs that generate. */
#define THINK_BUDGET_ROW(T, m) \
	{ OPT_INT, 0, "think-budget", "N", \
	  "end its reasoning after N tokens; 0: also --think off, if possible (no limit)", \
	  offsetof(T, m.think_budget), 0, INT32_MAX - 1, .marks = OPT_SERVER }
/* clang-format on */

int chat_given(const struct chat_args *a); /* True if any of the options is given. */

/* Return the local time as seconds since 1970-01-01 00:00 local time, for templates. */
int64_t chat_local_now(void);

/* The template and the conversation that the options describe. */
struct chat {
	infer_chat *template;   /* NULL: no template is named, and ChatML was not asked for */
	infer_chat *with_tools; /* for requests with tools; NULL: `template` */
	int is_chatml;          /* 1: no template is named, so `template` is ChatML */
	/* The conversation without the user's turn, which the caller adds. Borrows from the members below
	 * and from the options. */
	struct infer_conversation c;
	struct buf messages;
	infer_tools *tools;
	int from_stdin;       /* 1: standard input was read */
	int32_t reason_limit; /* of infer_request, by --think-budget */
};

/* Open the template and read the files of the options. The caller calls chat_fini, on failure too.
 * file: the model file; must outlive *out
 * chatml: the model's tokenizer, to open ChatML if no template is named; NULL: leave out->template NULL
 * INFER_EINVAL   --template-args is not an object, or two options name standard input
 * INFER_EFORMAT  a damaged template or conversation; err names the key or the file
 * INFER_EUNSUP   an option is given and there is no template, or the template does not support it
 * INFER_EIO INFER_ENOMEM */
int chat_take(struct chat *out, const struct chat_args *a, const infer_file *file,
              const infer_tokenizer *chatml, infer_error *err);
void chat_fini(struct chat *c);
/* Append the source of the template that chat_take would open to `out`. The source is not checked.
 * INFER_EUNSUP  there is no template; INFER_EIO INFER_ENOMEM */
int chat_source(struct buf *out, const struct chat_args *a, const infer_file *file,
                const infer_tokenizer *chatml, infer_error *err);
/* If the error is about the file of --messages, put its name before the error message.
 * messages: the file of --messages, or NULL. Returns rc. */
int chat_named(const char *messages, int rc, infer_error *err);
/* Warn if the template for requests with tools writes tool calls in an unknown format: calls in answers
 * are then left as text. name: the model, or NULL. Errors: those of infer_reply_reads. */
int chat_warn_calls(const struct chat *c, const char *name, infer_error *err);
/* Do what --think-budget 0 says of thinking, for a program that has this one conversation: switch it off if
 * --think is not given and the template has such a switch. */
void chat_apply_budget(struct chat *c);
/* Return the template for a request with tools (1) or without (0), borrowed from c; NULL if none. */
const infer_chat *chat_for(const struct chat *c, int tools);
#endif
