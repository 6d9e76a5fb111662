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
	int expect, lead, kinds;
	const char *quote; /* the end of the current string; NULL: not in a string */
	int key, word, broken, repr;
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
	struct reply_state s;
	struct reply_call *calls;
	size_t n_calls, cap_calls;
	struct buf content, reasoning;
};

static inline int reply_space(int c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/* mark.c: the mark at p, and whether more bytes are needed to decide */
int reply_literal(const struct infer_reply *r, size_t p, const char *s);
int reply_pattern(const struct infer_reply *r, size_t p, const char *pattern, struct reply_mark *m);
int reply_mark_at(const struct infer_reply *r, size_t p, struct reply_mark *m);
/* p is at the opening quote */
int reply_string_end(const struct infer_reply *r, size_t p, size_t most, size_t *end);
/* "key": and the white space around it; p is then at the value; returns the kind of key */
int reply_member(const struct infer_reply *r, size_t start, size_t *p, size_t *key, size_t *n);
enum { KEY_OTHER, KEY_NAME, KEY_ARGUMENTS, KEY_ID };
int reply_key(const struct infer_reply *r, size_t p, size_t n);

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
void reply_escape(struct buf *to, const char *s, size_t n); /* as the inside of a JSON string */
#endif
