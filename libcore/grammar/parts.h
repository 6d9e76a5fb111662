/* grammar/parts.h - build constraints from parts: literal text, control tokens, JSON values, free
 * text.
 *
 *	parts_new(&p, controls, n, &left, &err);
 *	root = parts_sequence(p, 3, parts_string(p, "<call>"), parts_schema(p, schema, &opts),
 *	                     parts_string(p, "</call>"));
 *	parts_build(&grammar, p, root);
 *
 * A part is a number.  Failure is sticky: a part that cannot be made, and each part that contains it, is
 * PART_NONE, and parts_build returns the error.  A part may be used any number of times.
 *
 * Control tokens.  A control token is read as the byte 0xFF and its text.  A literal that contains the
 * text of one of `controls` requires the token there (the longest).  Free text contains no control
 * tokens.  Words that it must not contain are excluded also if ordinary tokens form them.
 *
 * All parts share the budget of the grammar being built.  Confined. */
#ifndef GRAMMAR_PARTS_H
#define GRAMMAR_PARTS_H
#include "grammar/grammar.h"

struct parts;
enum { PART_NONE = 0 };

/* controls: the texts of control tokens; they, left and err are borrowed until parts_build or parts_free.
 * INFER_ENOMEM */
int parts_new(struct parts **out, const struct dfa_word *controls, size_t n, struct budget *left,
              infer_error *err);
void parts_free(struct parts *p); /* NULL is fine */
/* Compile the part `root` to a grammar that the caller frees.  Frees p, on failure too.
 * INFER_EINVAL, INFER_EUNSUP  of the part that failed first; the budget; INFER_ENOMEM */
int parts_build(struct grammar **out, struct parts *p, uint32_t root);
/* Make p fail with a code and message, unless it has failed.  Returns PART_NONE. */
uint32_t parts_refuse(struct parts *p, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* If p has failed, prefix its message with `what` and a colon, once.  Returns PART_NONE. */
uint32_t parts_blame(struct parts *p, const char *what);

/* a literal, UTF-8 */
uint32_t parts_text(struct parts *p, const char *s, size_t n);
uint32_t parts_string(struct parts *p, const char *s);
/* a control token, whether or not it is one of `controls` */
uint32_t parts_control(struct parts *p, const char *s, size_t n);
/* n parts, in sequence or one of them; n 0: the empty text, or no text at all */
uint32_t parts_sequence(struct parts *p, uint32_t n, ...);
uint32_t parts_either(struct parts *p, uint32_t n, ...);
uint32_t parts_all_of(struct parts *p, const uint32_t *of, uint32_t n);
uint32_t parts_one_of(struct parts *p, const uint32_t *of, uint32_t n);
/* a part lo ... hi times; hi DFA_FOREVER: without a bound */
uint32_t parts_repeat(struct parts *p, uint32_t of, uint32_t lo, uint32_t hi);
uint32_t parts_regex(struct parts *p, const char *pattern);
/* a reference to the part, which is compiled once however often it is used */
uint32_t parts_shared(struct parts *p, uint32_t of);
/* a JSON value, as schema_compile; the schema is not kept */
uint32_t parts_schema(struct parts *p, const struct json *schema, const struct schema_opts *opts);
/* the same, objects only */
uint32_t parts_object(struct parts *p, const struct json *schema, const struct schema_opts *opts);

/* the texts of a compiled grammar, which p takes, on failure too.  Texts of control tokens are ordinary
 * text in it.
 * INFER_EUNSUP  a Lark grammar: its terminals cannot be read next to other parts */
uint32_t parts_grammar(struct parts *p, struct grammar *g);

/* -- free text ------------------------------------------------------------------------------ */

/* text that contains none of these words */
uint32_t parts_without(struct parts *p, const struct dfa_word *never, uint32_t n);
/* text up to and with the first `stop`, such as "</think>" */
uint32_t parts_until(struct parts *p, const char *stop);
/* a structural tag: free text ends at the first `begin` of several, and `then` follows */
struct part_tag {
	const char *begin;
	uint32_t then;
	int whole; /* `then` contains `begin` too, and no suffix of it may be a prefix of `begin` */
};
enum {
	PART_TAGS_ONCE = 1 << 0, /* the text ends with the first of them */
	PART_TAGS_SOME = 1 << 1, /* at least one is required */
};
/* between: a part allowed between pieces of the free text, such as control tokens; PART_NONE: none */
uint32_t parts_tags(struct parts *p, const struct part_tag *tag, uint32_t n, uint32_t between,
                    unsigned flags);

/* -- values in formats other than JSON ----------------------------------------------------- */

/* the format of a member's value */
enum part_value {
	PART_JSON,        /* JSON */
	PART_RAW,         /* strings without quotes and escapes; no other values */
	PART_RAW_OR_NULL, /* null, or PART_RAW except null, True, False, None */
	PART_TYPED,       /* strings without quotes, others as JSON; delimiters show the type */
	PART_SPELLED,     /* with the words and brackets of part_spelling */
};
/* Members have the order of `properties`; others are not written. [2]: text before, after. */
struct part_spelling {
	const char *object[2], *comma, *name[2];
	const char *raw[2], *json[2]; /* around the value of a member: if raw; else */
	/* PART_TYPED: before a null, boolean, number, array, object; all NULL: json[0] */
	const char *typed[5];
	/* PART_RAW: around strings that this expression matches; marked[0] NULL: such strings cannot be
	 * written */
	const char *special, *marked[2];
	const char *after[2]; /* PART_SPELLED: around the name repeated after the value; or NULL */
	const char *item[2];  /* around an element; or NULL */
	const char *end;      /* strings must not contain it; or NULL */
	/* PART_SPELLED: null, false, true; around strings and elements */
	const char *word[3], *quote, *list[2]; /* word[0] NULL: null cannot be written */
	int escapes; /* a " in a string is written \", and a \ cannot be written */
	int bare;    /* names that are words have no quotes */
	/* PART_SPELLED, for readers without a schema: PART_AS_STRING: a value that may be a string is
	 * one; PART_NOT_LIKE_JSON: and the string must not look like JSON or begin with a space */
	enum part_untyped { PART_TYPES, PART_AS_STRING, PART_NOT_LIKE_JSON } untyped;
	/* the format of objects within values; NULL: this one */
	const struct part_spelling *nested;
	/* the format of a member of the outermost object; NULL: PART_SPELLED */
	enum part_value (*value)(const void *user, const char *name, size_t n);
	const void *user;
};
/* an object that satisfies the schema; opts->ordered and opts->strings are ignored
 * what: the subject of messages
 * INFER_EUNSUP  a value cannot be written in this format */
uint32_t parts_spelled(struct parts *p, const struct json *schema, const struct schema_opts *opts,
                       const struct part_spelling *how, const char *what);
#endif
