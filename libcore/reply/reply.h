/* reply/reply.h (private) - the machine that reads answers by a dialect.  */
#ifndef REPLY_REPLY_H
#define REPLY_REPLY_H
#include <infer/reply.h>
#include "base/buf.h"
#include "chat/dialect.h"
#include "chat/tools.h"

/* ---- the machine ---- */

/* bytes in which it must be decided whether a call begins */
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
	size_t end;     /* of what was read */
	int tool, args; /* MARK_CALL */
	size_t id, id_n;
	size_t given, given_n; /* arguments that came before the name */
	/* 1: the object goes on behind `end`, 2: with the arguments; it is one of a list */
	int in_object, list;
	int part; /* MARK_PART */
};

struct reply_call {
	int tool, whole;
	struct buf id, args;
};

/* of a call's arguments */
struct reply_state {
	int what; /* 0: text is read; else enum dialect_args, or one of the steps in args.c */
	int args; /* enum dialect_args of the call */
	int envelope, silent, depth, string, escape, any;
	int expect, lead, kinds;
	const char *quote; /* what ends the string that is read; NULL: none is */
	int key, word, broken, repr;
	uint64_t object, some; /* a bit per level */
};

struct infer_reply {
	const struct dialect *f;
	const struct dialect_think *t;
	const struct infer_tools *tools; /* never NULL */
	uint32_t flags;
	unsigned char first[256]; /* 1: something other than text may begin with this byte */
	/* in: base ... solid is text not yet given; ... at white space that goes where what follows
	 * goes */
	struct buf in;
	size_t base, solid, at, begun; /* begun: bytes at the front that the prompt wrote */
	int part, fresh, thought, again, trim, after, list, fence, over, rc;
	struct reply_state s;
	struct reply_call *calls;
	size_t n_calls, cap_calls;
	struct buf content, reasoning;
};

static inline int reply_space(int c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/* mark.c: what stands at p, and whether bytes are missing to know it */
int reply_literal(const struct infer_reply *r, size_t p, const char *s);
int reply_pattern(const struct infer_reply *r, size_t p, const char *pattern, struct reply_mark *m);
int reply_mark_at(const struct infer_reply *r, size_t p, struct reply_mark *m);
/* p: at the opening quote */
int reply_string_end(const struct infer_reply *r, size_t p, size_t most, size_t *end);
/* "key": and the white space around it, p comes to stand at the value; what kind of key */
int reply_member(const struct infer_reply *r, size_t start, size_t *p, size_t *key, size_t *n);
enum { KEY_OTHER, KEY_NAME, KEY_ARGUMENTS, KEY_ID };
int reply_key(const struct infer_reply *r, size_t p, size_t n);

/* args.c: steps return 1 where they got on, 0 where bytes are missing */
void reply_args_begin(struct infer_reply *r, const struct reply_mark *m);
int reply_args_step(struct infer_reply *r);
void reply_args_end(struct infer_reply *r); /* nothing more comes */
void reply_call_end(struct infer_reply *r); /* of the last call: text again from `at` */
/* loose.c */
void reply_loose_begin(struct infer_reply *r);
int reply_loose_step(struct infer_reply *r);
/* 1: a list or dictionary of Python's, put as JSON; 0: nothing is put */
int reply_loose_value(struct buf *to, const char *s, size_t n);
/* tags.c */
int reply_tags_step(struct infer_reply *r);
void reply_tags_end(struct infer_reply *r);
void reply_escape(struct buf *to, const char *s, size_t n); /* inside of a JSON string */
#endif
