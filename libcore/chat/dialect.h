/* chat/dialect.h - the formats of tool calls and reasoning, one row per dialect; find the row of a
 * template. */
#ifndef CHAT_DIALECT_H
#define CHAT_DIALECT_H
#include <stddef.h>
#include <stdint.h>

/* Patterns for the text before a call: literal bytes and these. */
#define DIALECT_WS "\001"   /* white space, or none */
#define DIALECT_NAME "\002" /* the name of a given tool */
#define DIALECT_ANY "\003"  /* any text up to the next byte of the pattern, on one line */
#define DIALECT_IDB "\004"  /* the id of the call, or the name of a parameter, begins ... */
#define DIALECT_IDE "\005"  /* ... and ends here */
#define DIALECT_PEEK "\006" /* the rest must match, but belongs to the arguments */

/* Patterns of a dialect_form, which is written: DIALECT_NAME and these. */
#define DIALECT_ARGS "\007"   /* the arguments */
#define DIALECT_DIGITS "\016" /* a number of one or two digits */
#define DIALECT_ID "\017"     /* nine letters and digits */

enum dialect_args {
	ARGS_ENVELOPE = 1, /* {"name": ..., "arguments": {...}}, or a list of such */
	ARGS_KEYED,        /* {"NAME": {...}}, or a list of such */
	ARGS_JSON,         /* {...} */
	ARGS_TAGS,         /* a tag for each argument */
	ARGS_PYTHON,       /* (a=1, b="c") */
	ARGS_GEMMA,        /* {a:1,b:<|"|>c<|"|>} */
	ARGS_CODE,         /* the rest of the answer, for a tool that runs Python */
};
/* The text before the arguments of a call, as a pattern.  only_first 1: only at the beginning of
 * the answer */
struct dialect_head {
	const char *as;
	enum dialect_args args;
	int only_first;
};

/* How calls are written: open, call, (between, call) ..., close. */
struct dialect_form {
	const char *sign; /* occurs in the source of templates that write this form; NULL: any */
	const char *call, *open, *close;
	const char *between; /* text between calls; NULL: one call only */
	const char *begin;   /* opens calls within text; NULL: the first tag of `open` and `call` */
	const char *before;  /* written before `open` if there is no content; NULL: nothing */
	enum dialect_args args; /* 0: ARGS_JSON */
};

enum dialect_flag {
	DIALECT_ENDS = 1 << 0, /* a call ends reasoning that was not closed */
	/* a newline before and after the value of a parameter is not part of it */
	DIALECT_NEWLINES = 1 << 1,
	DIALECT_UNFRAMED = 1 << 2,  /* values are written without those newlines */
	DIALECT_TIGHT = 1 << 3,     /* parameters are written with nothing between them */
	DIALECT_NAMED_IDS = 1 << 4, /* the id of a call is "functions.NAME:NUMBER" */
};

/* An answer that consists of messages.  Each has a header that names its recipient, and perhaps a
 * channel. */
struct dialect_messages {
	const char *start;                /* begins a header */
	int channels;                     /* 1: headers name a channel (harmony) */
	const char *reasoning, *finished; /* rest of a reasoning header; its end text */
	const char *final;                /* the rest of the header of the final answer */
	const char *ends[4];              /* texts that end a message */
};
struct dialect {
	const char *name;
	/* both occur in the template's rendered call, or in its source */
	const char *sign[2];
	struct dialect_head head[6];
	struct dialect_form form[3]; /* the first one whose sign occurs is written */
	/* ARGS_TAGS: the tag before a value.  If [1] is set, it is before a JSON value, and [0]
	 * before a text */
	const char *param[2];
	const char *param_end, *tags_end; /* after each value (DIALECT_IDB: its name); after all */
	const char *cdata[2]; /* around a value that contains "<"; [1] includes param_end */
	/* text before each nested tag: objects have a tag named after each member, arrays an <item>
	 * for each element.  NULL: objects and arrays are JSON */
	const char *nest;
	const char *close[4]; /* removed after a call */
	const char *drop[4];  /* removed anywhere in the content */
	const char *begun;    /* end of a prompt, parsed as part of the answer */
	const char *plain;    /* an answer without calls begins with this, after `begun` */
	const struct dialect_messages *messages; /* NULL: answers are not messages */
	uint32_t flags;
};

enum dialect_think_flag {
	DIALECT_AGAIN = 1 << 0, /* reasoning may open anywhere; stray tags are removed */
	DIALECT_KEEP = 1 << 1,  /* the opening tag is part of the reasoning */
	DIALECT_HIDE = 1 << 2,  /* reasoning that stays in the content is shown without its tags */
};
struct dialect_think {
	const char *open, *close, *stray;
	uint32_t flags;
	const char *also; /* ends reasoning as `close` does; NULL: nothing else does */
};

/* Return row i, or NULL after the last one. */
const struct dialect *dialect_at(size_t i);
/* Find the rows of a template.  Returns 1 if its turn or source contains the tag that ends
 * reasoning.
 * turn: the turn that the template renders for an assistant that calls a tool, or empty */
int dialect_recognise(const char *turn, size_t turn_n, const char *source, size_t n,
                      const struct dialect **format, const struct dialect_think **think);
#endif
