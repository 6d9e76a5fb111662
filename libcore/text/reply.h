/* text/reply.h - inside of reading answers: the table of how they are written, and the machine that reads by it. */
#ifndef TEXT_REPLY_H
#define TEXT_REPLY_H
#include <infer/reply.h>
#include "base/buf.h"
#include "base/json.h"

/* ---- the table ---- */

/* What stands before a call.  Besides literal bytes: */
#define WS   "\001"   /* white space, or none */
#define NAME "\002"   /* of a tool that was given */
#define ANY  "\003"   /* up to what follows, on one line */
#define IDB  "\004"   /* the id of the call, or the name of a parameter, begins ... */
#define IDE  "\005"   /* ... and ends here */
#define PEEK "\006"   /* what follows must stand there, but belongs to the arguments */

enum reply_args {
	ARGS_ENVELOPE = 1,   /* {"name": ..., "arguments": {...}}, or a list of such */
	ARGS_KEYED,          /* {"NAME": {...}}, or a list of such */
	ARGS_JSON,           /* {...} */
	ARGS_TAGS,           /* a tag for each */
	ARGS_PYTHON,         /* (a=1, b="c") */
	ARGS_GEMMA,          /* {a:1,b:<|"|>c<|"|>} */
	ARGS_CODE,           /* all that follows, of a tool that runs Python */
};
struct reply_head { const char *as; int args, only_first; };   /* only_first: nothing was said before */

enum reply_format_flag {
	RF_ENDS     = 1 << 0,   /* a call ends reasoning that was not closed */
	RF_NEWLINES = 1 << 1,   /* the value of a parameter stands between two newlines */
	RF_HARMONY  = 1 << 2,   /* messages with headers that name a channel and a recipient */
};
struct reply_format {
	const char *name;
	const char *sign[2];              /* all are in the turn that the template writes for a call, or in its source */
	struct reply_head head[5];
	const char *param[2];             /* ARGS_TAGS: before a value; [1]: before one that is JSON, [0] is text then */
	const char *param_end, *tags_end;
	const char *close[4];             /* go where they follow a call */
	const char *drop[4];              /* go wherever they stand in the content */
	const char *begun;                /* the prompt ends with this, which belongs to the answer */
	uint32_t flags;
};

enum reply_think_flag {
	RT_AGAIN = 1 << 0,   /* may open anywhere; and stray tags go */
	RT_KEEP  = 1 << 1,   /* what opens it is part of it */
};
struct reply_think { const char *open, *close, *stray; uint32_t flags; };

/* turn: what the template writes for an assistant that calls a tool, or empty */
void reply_recognise(const char *turn, size_t turn_n, const char *source, size_t n, const struct reply_format **format,
                     const struct reply_think **think);

/* ---- tools ---- */

struct reply_tool { const char *name; size_t len; const struct json *properties; };   /* a NUL behind the name */
struct reply_tools { struct arena arena; char *text; struct reply_tool *at; size_t n; };   /* text: what strings of the values borrow */

int  reply_tools_read(struct reply_tools *t, const char *json, size_t n, infer_error *err);
void reply_tools_fini(struct reply_tools *t);
/* What the schema says of a parameter's value, as bits; 0: nothing. */
enum { VALUE_TEXT = 1, VALUE_JSON = 2, VALUE_NULL = 4 };
int  reply_tools_value(const struct reply_tool *t, const char *key, size_t n);
/* The tool that runs Python code, or -1. */
int  reply_tools_python(const struct reply_tools *t);

/* ---- the machine ---- */

enum { HEAD_MOST = 1024 };   /* bytes in which it must be decided whether a call begins */
enum { P_NO, P_NEED, P_OK };

enum reply_part { PART_CONTENT, PART_REASONING, PART_NOBODY };
enum reply_mark_kind { MARK_OPEN, MARK_CLOSE, MARK_DROP, MARK_FENCE, MARK_AFTER, MARK_PART, MARK_CALL };
struct reply_mark {
	int    kind;
	size_t end;                /* of what was read */
	int    tool, args;         /* MARK_CALL */
	size_t id, id_n;
	size_t given, given_n;     /* arguments that came before the name */
	int    in_object, list;    /* 1: the object goes on behind `end`, 2: with the arguments; it is one of a list */
	int    part;               /* MARK_PART */
};

struct reply_call { int tool, whole; struct buf id, args; };

struct reply_state {            /* of a call's arguments */
	int    what;                /* 0: text is read; else enum reply_args, or one of the steps in reply_args.c */
	int    args;                /* enum reply_args of the call */
	int    envelope, silent, depth, string, escape, any;
	int    expect, lead, kinds;
	const char *quote;          /* what ends the string that is read; NULL: none is */
	int    key, word, broken, repr;
	uint64_t object, some;      /* a bit per level */
};

struct infer_reply {
	const struct reply_format *f;
	const struct reply_think *t;
	struct reply_tools tools;
	uint32_t flags;
	unsigned char first[256];   /* 1: something other than text may begin with this byte */
	/* in: base ... solid is text not yet given; ... at white space that goes where what follows goes */
	struct buf in;
	size_t base, solid, at, begun;   /* begun: bytes at the front that the prompt wrote */
	int    part, fresh, thought, again, trim, after, list, fence, over, rc;
	struct reply_state s;
	struct reply_call *calls;
	size_t n_calls, cap_calls;
	struct buf content, reasoning;
};

static inline int reply_space(int c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/* reply_head.c: what stands at p, and whether bytes are missing to know it */
int reply_literal(const struct infer_reply *r, size_t p, const char *s);
int reply_pattern(const struct infer_reply *r, size_t p, const char *pattern, struct reply_mark *m);
int reply_mark_at(const struct infer_reply *r, size_t p, struct reply_mark *m);
int reply_string_end(const struct infer_reply *r, size_t p, size_t most, size_t *end);   /* p: at the opening quote */
/* "key": and the white space around it, p comes to stand at the value; what kind of key */
int reply_member(const struct infer_reply *r, size_t start, size_t *p, size_t *key, size_t *n);
enum { KEY_OTHER, KEY_NAME, KEY_ARGUMENTS, KEY_ID };
int reply_key(const struct infer_reply *r, size_t p, size_t n);

/* reply_args.c: steps return 1 where they got on, 0 where bytes are missing */
void reply_args_begin(struct infer_reply *r, const struct reply_mark *m);
int  reply_args_step(struct infer_reply *r);
void reply_args_end(struct infer_reply *r);     /* nothing more comes */
void reply_call_end(struct infer_reply *r);     /* of the last call: text again from `at` */
/* reply_loose.c */
void reply_loose_begin(struct infer_reply *r);
int  reply_loose_step(struct infer_reply *r);
int  reply_loose_value(struct buf *to, const char *s, size_t n);   /* 1: a list or dictionary of Python's, put as JSON; 0: nothing is put */
/* reply_tags.c */
int  reply_tags_step(struct infer_reply *r);
void reply_tags_end(struct infer_reply *r);
void reply_escape(struct buf *to, const char *s, size_t n);   /* inside of a JSON string */
#endif
