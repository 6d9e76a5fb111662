/* schema/keyword.h - (private) the table of JSON Schema keywords.  Immutable. */
#ifndef SCHEMA_KEYWORD_H
#define SCHEMA_KEYWORD_H
#include "base/json.h"
#include "ir/ir.h"

struct schema;
struct branch;
struct todo;

/* Types of values, as bits of enum alt_type. */
enum types {
	ON_NUMBER = 1 << ALT_NUMBER,
	ON_STRING = 1 << ALT_STRING,
	ON_ARRAY = 1 << ALT_ARRAY,
	ON_OBJECT = 1 << ALT_OBJECT,
	ON_ALL = 127
};

/* The value that a keyword takes. */
enum keyword_value {
	V_ANY,
	V_SCHEMA,
	V_SCHEMAS,      /* array of at least one schema */
	V_SCHEMA_MAP,   /* object whose members are schemas */
	V_ITEMS,        /* schema; before 2020-12 also an array of schemas */
	V_DEPENDENCIES, /* object whose members are schemas or arrays of strings */
	V_REFERENCE,    /* URI reference of a schema */
	V_COUNT,        /* integer >= 0 */
	V_NUMBER,
	V_POSITIVE,  /* number > 0 */
	V_EXCLUSIVE, /* number; in draft 4 a boolean that modifies minimum or maximum */
	V_STRING,
	V_FORMAT, /* string */
	V_ID,     /* string in draft 4, where it is a keyword; else any value */
	V_STRINGS,
	V_STRINGS_MAP, /* object whose members are arrays of strings */
	V_ARRAY,
	V_BOOL,
	V_FALSE, /* accepted only if false: nullable */
	V_TYPE   /* name of a type, or an array of names */
};

/* Drafts: one bit each. */
enum {
	IN_4 = 1,
	IN_6 = 2,
	IN_7 = 4,
	IN_2019 = 8,
	IN_2020 = 16,
	ALL_DRAFTS = 31,
	FROM_6 = ALL_DRAFTS - IN_4,
	FROM_7 = FROM_6 - IN_6,
	FROM_2019 = IN_2019 + IN_2020,
	TO_2019 = ALL_DRAFTS - IN_2020
};

/* How many branches a keyword makes. Keywords that make several are applied after the others, which
 * may rule branches out. */
enum keyword_branches {
	ONE_BRANCH = 0,
	BRANCHES_PLAIN = 1,   /* several, unless negated */
	BRANCHES_NEGATED = 2, /* several, if negated */
	BRANCHES = BRANCHES_PLAIN | BRANCHES_NEGATED,
	UNEVALUATED = 4 /* applied before the others, which mark what they evaluate */
};

/* Do values of one type satisfy a schema? */
enum verdict { UNDECIDED = -1, HOLDS_NEVER, HOLDS_ALWAYS };

/* Make the branches of c->branch in which the keyword it->v holds, or does not if it->neg. They are
 * appended to c->made.  INFER_EUNSUP, INFER_EINVAL  with the JSON pointer of the keyword; the
 * budget */
typedef int keyword_apply(struct schema *c, const struct todo *it);
/* Keyword v of the schema at `location`, to be decided for values of c->type. */
struct question {
	struct schema *c;
	const struct json *v;
	uint32_t location, depth; /* depth: schemas entered so far */
};
typedef enum verdict keyword_verdict(const struct question *q);

struct keyword_row {
	const char *name;
	keyword_apply *apply;
	keyword_verdict *verdict; /* NULL: always UNDECIDED */
	uint8_t types, value, drafts, branches;
};

#define KEYWORD(prefix, name, drafts, types, value, branches, verdict) \
	keyword_apply kw_##name##_apply;
#define ANNOTATION(prefix, name, drafts, value)
#define UNSUPPORTED(prefix, name)
#include "schema/keyword_list.h"
#undef KEYWORD
#undef ANNOTATION
#undef UNSUPPORTED

/* The function of all annotations, which every value satisfies. */
keyword_apply kw_annotation_apply;
keyword_verdict verdict_of_type, verdict_of_const, verdict_of_enum, verdict_of_ref, verdict_of_not,
	verdict_of_all_of, verdict_of_any_of, verdict_of_format, verdict_of_unique_items;

/* True if the keyword can reject a value. */
static inline int keyword_constrains(const struct keyword_row *row)
{
	return row->apply != kw_annotation_apply;
}

/* True if the keyword may evaluate members or elements, itself or by a subschema. */
static inline int keyword_evaluates(const struct keyword_row *row)
{
	return row->value >= V_SCHEMA && row->value <= V_REFERENCE;
}

/* True if the keyword constrains values of this type. */
static inline int keyword_is_on(const struct keyword_row *row, enum alt_type type)
{
	return row->types >> type & 1;
}

/* Return the row of a schema's member, or NULL if its name is not that of a keyword. */
const struct keyword_row *keyword_find(const struct json *member);
/* Return the keyword that the member's name resembles most (at most 3 edits), or that other languages
 * call so; or NULL. Annotations that no keyword reads do not count. */
const char *keyword_near(const struct json *member);
/* True if the member has this name. */
int keyword_is_named(const struct json *member, const char *name);
/* True if the member's name begins with _ or x-: no keyword, and not meant to be one. */
int keyword_is_extension(const struct json *member);
/* Return what is wrong with a keyword's value ("must be ..."), or NULL if nothing is. */
const char *keyword_mistake(const struct json *v, enum keyword_value value);
/* Return the types that a name allows, as bits of enum alt_type; 0: not the name of a type. */
unsigned keyword_type_bits(const struct json *name);
/* Return the type of a constant as a bit of enum alt_type. */
unsigned keyword_value_bits(const struct json *v);
/* True if v is an array of strings. */
int keyword_is_strings(const struct json *v);

/* -- verdict.c: decisions without expanding */
/* Decide a literal for values of c->type. */
enum verdict schema_verdict(struct schema *c, uint32_t lit, uint32_t depth);
/* Decide keyword v of the schema at `location`. */
enum verdict schema_keyword_verdict(struct schema *c, uint32_t loc, const struct json *v,
                                    const struct keyword_row *row, uint32_t depth);
/* Return the row of member m of the schema at `location` if it constrains values in that schema's
 * draft. */
const struct keyword_row *schema_constraint(const struct schema *c, uint32_t loc,
                                            const struct json *m);
#endif
