/* grammar/parts.h - constraints that are composed of parts: literal text, control tokens, JSON
 * values, free text.
 *
 *	parts_new(&p, controls, n, &left, &err);
 *	root = parts_sequence(p, 3, parts_string(p, "<call>"), parts_schema(p, schema, &opts),
 *	                     parts_string(p, "</call>"));
 *	parts_build(&grammar, p, root);
 *
 * A part is a number.  A part that cannot be made is PART_NONE, so is whatever contains it, and
 * parts_build says why: callers need not look at each.  A part may be used any number of times.
 *
 * Control tokens.  In a text that is followed, the byte 0xFF and the text of a control token stand
 * for it.  Where a literal contains the text of one of `controls`, it asks for the token (the
 * longest one).  Free text contains no control tokens, and what is excluded from it is excluded
 * when it is spelled by ordinary tokens too.
 *
 * The budget is that of the grammar which is built.  Confined. */
#ifndef GRAMMAR_PARTS_H
#define GRAMMAR_PARTS_H
#include "grammar/grammar.h"

struct parts;
enum { PART_NONE = 0 };

/* controls: the texts of control tokens, borrowed; left, err: used until parts_build */
int parts_new(struct parts **out, const struct dfa_word *controls, size_t n, struct budget *left,
              infer_error *err);
void parts_free(struct parts *p);
/* Frees p, also on failure.  INFER_EINVAL, INFER_EUNSUP: of a part; the budget */
int parts_build(struct grammar **out, struct parts *p, uint32_t root);
/* Make p fail with this message.  Returns PART_NONE. */
uint32_t parts_refuse(struct parts *p, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* If p has failed: put `what` and a colon before its message, once.  Returns PART_NONE. */
uint32_t parts_blame(struct parts *p, const char *what);

/* UTF-8 */
uint32_t parts_text(struct parts *p, const char *s, size_t n);
uint32_t parts_string(struct parts *p, const char *s);
/* The token itself, whether or not it is one of `controls`. */
uint32_t parts_control(struct parts *p, const char *s, size_t n);
/* n parts follow; none: the empty text, or no text at all */
uint32_t parts_sequence(struct parts *p, uint32_t n, ...);
uint32_t parts_either(struct parts *p, uint32_t n, ...);
uint32_t parts_all_of(struct parts *p, const uint32_t *of, uint32_t n);
uint32_t parts_one_of(struct parts *p, const uint32_t *of, uint32_t n);
/* lo ... hi times; hi DFA_FOREVER: any number from lo */
uint32_t parts_repeat(struct parts *p, uint32_t of, uint32_t lo, uint32_t hi);
uint32_t parts_regex(struct parts *p, const char *pattern);
/* The part, compiled once however often it is used. */
uint32_t parts_shared(struct parts *p, uint32_t of);
/* A JSON value; as schema_compile.  The schema is read here, and not kept. */
uint32_t parts_schema(struct parts *p, const struct json *schema, const struct schema_opts *opts);
/* Only objects that satisfy it. */
uint32_t parts_object(struct parts *p, const struct json *schema, const struct schema_opts *opts);

/* -- free text ------------------------------------------------------------------------------ */

/* Text that contains none of these. */
uint32_t parts_without(struct parts *p, const struct dfa_word *never, uint32_t n);
/* Text up to the first `stop`, and stop.  What thinking is free until: parts_until(p, "</think>"). */
uint32_t parts_until(struct parts *p, const char *stop);
/* Structural tags: where free text comes to `begin`, `then` follows.  At the first of several. */
struct part_tag {
	const char *begin;
	uint32_t then;
	int whole; /* then contains begin too, which ends with no beginning of itself */
};
enum {
	PART_TAGS_ONCE = 1 << 0, /* the text ends with the first of them */
	PART_TAGS_SOME = 1 << 1, /* there must be one */
};
/* between: what may stand between pieces of the free text, as control tokens; PART_NONE: nothing */
uint32_t parts_tags(struct parts *p, const struct part_tag *tag, uint32_t n, uint32_t between,
                    unsigned flags);

/* -- values that are not written as JSON ---------------------------------------------------- */

/* How the value of a member is written. */
enum part_value {
	PART_JSON,        /* JSON */
	PART_RAW,         /* strings, as they are, and nothing else */
	PART_RAW_OR_NULL, /* null, and strings except the words null, True, False, None */
	PART_TYPED,       /* strings as they are, others as JSON; their delimiters tell the type */
	PART_SPELLED,     /* by words and brackets */
};
/* Members come in the order of `properties`; names without a property of their own are left out. */
struct part_spelling {
	const char *object[2], *comma, *name[2];
	const char *raw[2], *json[2]; /* around the value of a member: as it is; any other */
	/* PART_TYPED: before a null, a boolean, a number, an array, an object, instead of json[0];
	 * all NULL: json[0] */
	const char *typed[5];
	/* PART_RAW: around strings that this expression matches, instead of raw; NULL: there are
	 * none of these strings */
	const char *special, *marked[2];
	const char *after[2]; /* PART_SPELLED: around the name, after the value; NULL: nothing */
	const char *item[2];  /* around an element; NULL: nothing */
	const char *end;      /* no string contains it; NULL: there is no such */
	/* PART_SPELLED: null, false, true; around strings and elements */
	const char *word[3], *quote, *list[2]; /* word[0] NULL: null cannot be written */
	int escapes; /* strings may contain a " behind a \, and no other \ */
	int bare;    /* names are without quotes where they are words */
	/* PART_SPELLED: a value that may be a string is one; 2: and no string looks like JSON, or
	 * begins with white space */
	int untyped;
	/* of objects that are values; NULL: this one */
	const struct part_spelling *nested;
	/* for a member of the outermost object; NULL: PART_SPELLED */
	enum part_value (*value)(const void *user, const char *name, size_t n);
	const void *user;
};
/* An object that satisfies the schema.  The ordering and the strings of opts are set here.
 * what: begins messages
 * INFER_EUNSUP  it cannot be written so */
uint32_t parts_spelled(struct parts *p, const struct json *schema, const struct schema_opts *opts,
                       const struct part_spelling *how, const char *what);
#endif
