/* chat/dialect.h - how models write calls of tools and reasoning, one row a dialect, and which row
 * a template follows. */
#ifndef CHAT_DIALECT_H
#define CHAT_DIALECT_H
#include <stddef.h>
#include <stdint.h>

/* What stands before a call.  Besides literal bytes: */
#define DIALECT_WS "\001"   /* white space, or none */
#define DIALECT_NAME "\002" /* of a tool that was given */
#define DIALECT_ANY "\003"  /* up to what follows, on one line */
#define DIALECT_IDB "\004"  /* the id of the call, or the name of a parameter, begins ... */
#define DIALECT_IDE "\005"  /* ... and ends here */
#define DIALECT_PEEK "\006" /* what follows must stand there, but belongs to the arguments */

enum dialect_args {
	ARGS_ENVELOPE = 1, /* {"name": ..., "arguments": {...}}, or a list of such */
	ARGS_KEYED,        /* {"NAME": {...}}, or a list of such */
	ARGS_JSON,         /* {...} */
	ARGS_TAGS,         /* a tag for each */
	ARGS_PYTHON,       /* (a=1, b="c") */
	ARGS_GEMMA,        /* {a:1,b:<|"|>c<|"|>} */
	ARGS_CODE,         /* all that follows, of a tool that runs Python */
};
/* only_first: nothing was said before */
struct dialect_head {
	const char *as;
	int args, only_first;
};

enum dialect_flag {
	DIALECT_ENDS = 1 << 0,     /* a call ends reasoning that was not closed */
	DIALECT_NEWLINES = 1 << 1, /* the value of a parameter stands between two newlines */
	DIALECT_HARMONY = 1 << 2,  /* messages with headers that name a channel and a recipient */
};
struct dialect {
	const char *name;
	/* all are in the turn that the template writes for a call, or in its source */
	const char *sign[2];
	struct dialect_head head[5];
	/* ARGS_TAGS: before a value; [1]: before one that is JSON, [0] is text then */
	const char *param[2];
	const char *param_end, *tags_end;
	const char *close[4]; /* removed where they follow a call */
	const char *drop[4];  /* removed wherever the content has them */
	const char *begun;    /* the prompt ends with this, which belongs to the answer */
	uint32_t flags;
};

enum dialect_think_flag {
	DIALECT_AGAIN = 1 << 0, /* may open anywhere; and stray tags go */
	DIALECT_KEEP = 1 << 1,  /* what opens it is part of it */
};
struct dialect_think {
	const char *open, *close, *stray;
	uint32_t flags;
};

/* turn: what the template writes for an assistant that calls a tool, or empty */
void dialect_recognise(const char *turn, size_t turn_n, const char *source, size_t n,
                       const struct dialect **format, const struct dialect_think **think);
#endif
