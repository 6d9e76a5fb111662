/* reply/reply.h (private) - the parser of answers: its state, and the steps that advance it.
 *
 * An answer is text with marks in it (mark.c): tags around reasoning, and the heads of calls.
 * After the head of a call, a reader consumes the arguments: one row per kind (args.c). */
#ifndef REPLY_REPLY_H
#define REPLY_REPLY_H
#include <infer/reply.h>
#include "base/buf.h"
#include "chat/dialect.h"
#include "chat/tools.h"

/* maximum bytes of the head of a call */
enum { HEAD_MOST = 1024 };
/* The result of a match: no; undecided without more bytes; yes. */
enum { P_NO, P_NEED, P_OK };
/* Return the result of a match unless it is P_OK. */
#define NEXT(call) \
	do { \
		int rc_ = (call); \
		if (rc_ != P_OK) \
			return rc_; \
	} while (0)

/* ---- marks ---- */

enum reply_part { PART_CONTENT, PART_REASONING, PART_NOBODY }; /* NOBODY: dropped */
enum reply_mark_kind {
	MARK_OPEN,  /* opens reasoning */
	MARK_CLOSE, /* ends reasoning */
	MARK_DROP,  /* is removed from the text */
	MARK_FENCE, /* ``` before a JSON value */
	MARK_AFTER, /* is removed after a call */
	MARK_PART,  /* the header of a message */
	MARK_CALL,  /* the head of a call */
};
/* The JSON object around the arguments of a call. */
enum reply_object {
	OBJECT_NONE,      /* no object */
	OBJECT_MEMBERS,   /* the name was read: other members follow */
	OBJECT_ARGUMENTS, /* the arguments follow */
};
struct reply_mark {
	enum reply_mark_kind kind;
	size_t end; /* offset after the mark in `in` */
	/* MARK_CALL: the tool's index, the kind of arguments, and offset and length (0: none) of
	 * the id, and of arguments that precede the name */
	int tool;
	enum dialect_args args;
	size_t id, id_n;
	size_t given, given_n;
	enum reply_object object;
	int list;             /* the call is an element of a list */
	enum reply_part part; /* MARK_PART */
};

/* ---- the arguments of a call ---- */

enum arg_state { ARG_VALUE, ARG_STRING, ARG_MEMBERS };
enum json_lexer { LEX_OUTSIDE, LEX_STRING, LEX_ESCAPE };
/* Arguments in JSON, copied as they are written. */
struct json_args {
	/* VALUE: in the arguments, or in a member to skip; STRING: in arguments encoded as a JSON
	 * string; MEMBERS: between members of the object around the arguments */
	enum arg_state state;
	int skips; /* the value belongs to a member that is not used */
	int begun; /* a byte of the value was read */
	int depth; /* open braces and brackets */
	enum json_lexer lexer;
};

enum tag_state { TAG_PARAM, TAG_TEXT, TAG_JSON };
/* A tag for each parameter. */
struct tag_args {
	enum tag_state state;      /* between parameters; in a text value; in a JSON value */
	int begun;                 /* a parameter was read */
	int at_start;              /* no byte of the value was read */
	int framed;                /* the newline before the value was removed */
	int cdata;                 /* the value is in CDATA */
	int depth;                 /* open tags in a nested value */
	int kinds;                 /* VALUE_... bits of the parameter's schema */
	const struct json *schema; /* of the parameter, or NULL */
};

enum loose_state { LOOSE_KEY, LOOSE_COLON, LOOSE_VALUE, LOOSE_NEXT };
enum loose_token { TOKEN_NONE, TOKEN_STRING, TOKEN_WORD };
/* Python's (a=1) or Gemma's {a:1}. */
struct loose_args {
	enum loose_state state; /* what is expected, or is being read */
	enum loose_token token; /* the token being read */
	const char *quote;      /* TOKEN_STRING: the text that ends the string */
	int broken;             /* malformed: the rest is content */
	int depth;
	uint64_t object, filled; /* bit per level: is an object; has a member or element */
};

/* How the arguments of a call are read: one row per kind. */
struct reply_reader {
	void (*begin)(struct infer_reply *r, const struct reply_mark *m);
	int (*step)(struct infer_reply *r); /* returns 1 if it advanced, 0 if it needs more bytes */
	void (*end)(struct infer_reply *r); /* the answer ended inside the arguments */
};

/* ---- the parser ---- */

struct reply_call {
	int tool, whole;
	struct buf id, args;
};

struct infer_reply {
	const struct dialect *f;
	const struct dialect_think *t;
	const struct infer_tools *tools; /* never NULL */
	uint32_t flags;
	unsigned char first[256]; /* 1: a mark may begin with this byte */
	/* in: [base, solid) is text not yet delivered; [solid, at) is white space whose part
	 * depends on what follows */
	struct buf in;
	size_t base, solid, at;
	size_t begun; /* bytes at the front that come from the prompt */
	enum reply_part part;
	int fresh;     /* no content yet */
	int thought;   /* reasoning has ended, or a call was read */
	int again;     /* reasoning was closed before: a newline separates the next piece */
	int trim;      /* remove white space before the next text */
	int after;     /* right after a call */
	int list;      /* in a list of calls */
	int fence;     /* a JSON fence is open */
	int cut_short; /* a call ended the reasoning, and its closing tag has not followed */
	int over;      /* infer_reply_end was called */
	int rc;        /* INFER_ENOMEM, or 0 */
	const struct reply_reader *reader; /* of the open call; NULL: reading text */
	/* of the last call */
	enum dialect_args args;
	int enveloped; /* the arguments are in a JSON object */
	union {
		struct json_args json;
		struct tag_args tags;
		struct loose_args loose;
	} s;
	struct buf value_end; /* ARGS_TAGS: the text that ends the open value, NUL-terminated */
	struct reply_call *calls;
	size_t n_calls, cap_calls;
	struct buf content, reasoning;
};

static inline int reply_space(int c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
/* The arguments of the last call, as JSON. */
static inline struct buf *reply_args(const struct infer_reply *r)
{
	return &r->calls[r->n_calls - 1].args;
}

/* ---- mark.c: match at offset p of `in` ---- */

int reply_missing(const struct infer_reply *r); /* P_NEED, or P_NO at the end of the answer */
int reply_literal(const struct infer_reply *r, size_t p, const char *s);
int reply_pattern(const struct infer_reply *r, size_t p, const char *pattern, struct reply_mark *m);
int reply_mark_at(const struct infer_reply *r, size_t p, struct reply_mark *m);
/* True if the input from p on is the beginning of a tag that closes calls, or of a call that begins with a tag,
 * and more bytes are needed for the whole of it. */
int reply_tag_begun(const struct infer_reply *r, size_t p);
/* Match white space, then one byte of `want`; move *p after it. */
int reply_expect(const struct infer_reply *r, size_t start, size_t *p, const char *want);
int reply_is(const struct infer_reply *r, size_t p, size_t n, const char *s);
int reply_tool(const struct infer_reply *r, size_t p, size_t n); /* index of the tool, or -1 */
/* Match a JSON string of at most `most` bytes with its opening quote at p; set *end after it. */
int reply_string_end(const struct infer_reply *r, size_t p, size_t most, size_t *end);
/* Match "key": and white space around it; set *key and *n to the key, move *p to the value. */
int reply_member(const struct infer_reply *r, size_t start, size_t *p, size_t *key, size_t *n);
enum reply_key { KEY_OTHER, KEY_NAME, KEY_ARGUMENTS, KEY_ID };
enum reply_key reply_key(const struct infer_reply *r, size_t p, size_t n);
/* messages.c: the header of a message */
enum { MESSAGE_ENDS = sizeof((struct dialect_messages *)0)->ends / sizeof(char *) };
int reply_header_at(const struct infer_reply *r, size_t p, struct reply_mark *m);

/* ---- readers of arguments ---- */

/* args.c: begin the call of a mark; end the last call, and continue with text at `at` */
void reply_call_begin(struct infer_reply *r, const struct reply_mark *m);
void reply_call_end(struct infer_reply *r);
void reply_escape(struct buf *to, const char *s, size_t n); /* append, escaped for JSON */
extern const struct reply_reader reply_tags, reply_loose;   /* tags.c, loose.c */
/* loose.c: write a Python list or dictionary as JSON.  Returns 0, and writes nothing, if it is not
 * one. */
int reply_loose_value(struct buf *to, const char *s, size_t n);
/* tags.c: write an untyped value: as JSON if `kinds` admit JSON and it is well formed JSON, or
 * Python's True, False, None or a list; otherwise as a string. */
void reply_scalar(struct infer_reply *r, struct buf *to, int kinds, const char *s, size_t n);
/* nested.c: write a value of nested tags as JSON.  Returns 0, and writes nothing, if malformed. */
int reply_nested(struct infer_reply *r, struct buf *to, const char *s, size_t n);
#endif
