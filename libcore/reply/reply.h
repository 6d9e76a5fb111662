/* reply/reply.h (private) - the state machine that parses answers by a dialect. */
#ifndef REPLY_REPLY_H
#define REPLY_REPLY_H
#include <infer/reply.h>
#include "base/buf.h"
#include "chat/dialect.h"
#include "chat/tools.h"

/* ---- the machine ---- */

/* number of bytes within which the start of a call must be decided */
enum { HEAD_MOST = 1024 };
enum { P_NO, P_NEED, P_OK };
/* Return the result of a call that is not P_OK. */
#define NEXT(call) \
	do { \
		int rc_ = (call); \
		if (rc_ != P_OK) \
			return rc_; \
	} while (0)

enum reply_part { PART_CONTENT, PART_REASONING, PART_NOBODY };
enum reply_mark_kind {
	MARK_OPEN,
	MARK_CLOSE,
	MARK_DROP,
	MARK_FENCE,
	MARK_AFTER,
	MARK_PART,
	MARK_CALL
};
struct reply_mark {
	int kind;
	size_t end;     /* end of the mark */
	int tool, args; /* MARK_CALL */
	size_t id, id_n;
	size_t given, given_n; /* arguments that precede the name */
	/* in_object 1: the object continues after `end`, 2: with the arguments; list: 1: a call in
	 * a list */
	int in_object, list;
	int part; /* MARK_PART */
};

struct reply_call {
	int tool, whole;
	struct buf id, args;
};

/* the state of parsing the arguments of a call */
struct reply_state {
	int what; /* 0: parsing text; otherwise enum dialect_args, or one of the steps in args.c */
	int args; /* enum dialect_args of the call */
	int envelope, silent, depth, string, escape, any;
	/* of the value of a parameter: the newline before it was removed; it is in cdata; the kinds
	 * of values that it may have, and its schema */
	int expect, lead, framed, cdata, kinds;
	const struct json *schema;
	const char *quote; /* the end of the current string; NULL: not in a string */
	int key, word, broken;
	uint64_t object, some; /* a bit per level */
};

struct infer_reply {
	const struct dialect *f;
	const struct dialect_think *t;
	const struct infer_tools *tools; /* never NULL */
	uint32_t flags;
	unsigned char first[256]; /* 1: a mark may begin with this byte */
	/* in: [base, solid) is text not yet delivered; [solid, at) is white space that belongs to
	 * whatever follows */
	struct buf in;
	size_t base, solid, at, begun; /* begun: bytes at the front that come from the prompt */
	int part, fresh, thought, again, trim, after, list, fence, over, rc;
	int cut_short; /* 1: a call ended the reasoning, and its closing tag did not follow yet */
	struct reply_state s;
	struct buf
		value_end; /* the text that ends the value of the current parameter, NUL-terminated */
	struct reply_call *calls;
	size_t n_calls, cap_calls;
	struct buf content, reasoning;
};

static inline int reply_space(int c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/* mark.c: the mark at p, and whether more bytes are needed to decide */
int reply_missing(const struct infer_reply *r); /* P_NEED, or P_NO at the end of the answer */
int reply_literal(const struct infer_reply *r, size_t p, const char *s);
int reply_pattern(const struct infer_reply *r, size_t p, const char *pattern, struct reply_mark *m);
int reply_mark_at(const struct infer_reply *r, size_t p, struct reply_mark *m);
int reply_head(const struct infer_reply *r, size_t p, struct reply_mark *m);
/* The first of n texts that is at p, as a mark of this kind; ends at NULL. */
int reply_one_of(const struct infer_reply *r, size_t p, const char *const *of, size_t n, int kind,
                 struct reply_mark *m);
/* Skip white space and one of the bytes of `want`; p is then after that byte. */
int reply_expect(const struct infer_reply *r, size_t start, size_t *p, const char *want);
int reply_is(const struct infer_reply *r, size_t p, size_t n, const char *s);
int reply_tool(const struct infer_reply *r, size_t p, size_t n); /* its index, or -1 */
/* p is at the opening quote */
int reply_string_end(const struct infer_reply *r, size_t p, size_t most, size_t *end);
/* "key": and the white space around it; p is then at the value; returns the kind of key */
int reply_member(const struct infer_reply *r, size_t start, size_t *p, size_t *key, size_t *n);
enum { KEY_OTHER, KEY_NAME, KEY_ARGUMENTS, KEY_ID };
int reply_key(const struct infer_reply *r, size_t p, size_t n);

/* messages.c: the header of a message */
enum { MESSAGE_ENDS = sizeof((struct dialect_messages *)0)->ends / sizeof(char *) };
int reply_header_at(const struct infer_reply *r, size_t p, struct reply_mark *m);

/* args.c: steps return 1 if they advanced, 0 if more bytes are needed */
void reply_args_begin(struct infer_reply *r, const struct reply_mark *m);
int reply_args_step(struct infer_reply *r);
void reply_args_end(struct infer_reply *r); /* end of the answer */
void reply_call_end(struct infer_reply *r); /* end of the last call: text continues at `at` */
/* loose.c */
void reply_loose_begin(struct infer_reply *r);
int reply_loose_step(struct infer_reply *r);
/* 1: a Python list or dictionary, written as JSON; 0: nothing is written */
int reply_loose_value(struct buf *to, const char *s, size_t n);
/* tags.c */
int reply_tags_step(struct infer_reply *r);
void reply_tags_end(struct infer_reply *r);
/* A value without a type of its own: JSON if it is well-formed and the kinds allow it, with
 * Python's words and lists too; otherwise a string. */
void reply_scalar(struct infer_reply *r, struct buf *to, int kinds, const char *s, size_t n);
/* nested.c: write a value of nested tags as JSON.  0: malformed, nothing is written */
int reply_nested(struct infer_reply *r, struct buf *to, const char *s, size_t n);
void reply_escape(struct buf *to, const char *s, size_t n); /* as the inside of a JSON string */
#endif
